use super::*;
use crate::error::{Error, ErrorKind};

/// A language that writes every setting as "X".
struct Alike;

impl Language for Alike {
    fn argument(&self, name: &'static str) -> Cow<'static, str> {
        format!("<{name}>").into()
    }

    fn setting(&self, _: Setting, _: Option<Value>) -> Option<Cow<'static, str>> {
        Some("X".into())
    }
}

/// A language that has no word for any setting, so that errors in it have no advice.
struct Mute;

impl Language for Mute {
    fn argument(&self, name: &'static str) -> Cow<'static, str> {
        name.into()
    }

    fn setting(&self, _: Setting, _: Option<Value>) -> Option<Cow<'static, str>> {
        None
    }
}

#[test]
fn every_phrase_has_a_place_for_each_of_its_settings() {
    let pieces = every_piece();
    assert!(pieces.len() > 100, "{}", pieces.len());
    for advice in pieces {
        let (one, some) = (advice.phrase.matches(ONE).count(), advice.phrase.matches(SOME).count());
        assert!((one == advice.settings.len() && some == 0) || (one == 0 && some == 1), "{}", advice.phrase);
        let text = advice.in_words_of(&Alike).unwrap();
        assert!(text.contains('X') && !text.contains(['{', '}']), "{text}");
        assert_eq!(advice.in_words_of(&Mute), None, "{text}");
        assert!(!advice.to_string().contains("{}"), "{advice}");
    }
}

/// Returns one error of each kind. After a new kind is added, the `match` below does not compile until it has the kind.
fn one_of_each_kind() -> Vec<ErrorKind> {
    let inner = || Error::from(ErrorKind::TruncatedImage { format: "JPEG", reason: "no end".into() });
    let kinds = vec![
        ErrorKind::Io { path: "a.tar".into(), source: std::io::Error::other("gone") },
        ErrorKind::DataFile { path: "a.idx".into(), place: "byte 4".into(), reason: "no magic".into() },
        ErrorKind::Argument { setting: "batch_size", reason: "0 is none".into() },
        ErrorKind::Foreign { source: "gone".into() },
        ErrorKind::Fatal { source: "gone".into() },
        ErrorKind::EmptyDataset { what: "a".into(), hint: "looked for .jpg".into() },
        ErrorKind::FileTooLarge { name: "a.jpg".into(), bytes: 2, max_file_bytes: 1 },
        ErrorKind::Decode { format: "PNG", reason: "damaged".into() },
        ErrorKind::TruncatedImage { format: "JPEG", reason: "no end".into() },
        ErrorKind::TooManyPixels { width: 9, height: 9, max_pixels: 80 },
        ErrorKind::TooMuchMemory { format: "PNG", width: 9, height: 9, needed: 9, max_decode_bytes: 8 },
        ErrorKind::NoMemory { bytes: 9 },
        ErrorKind::NoHostMemory { what: "a batch", bytes: 9, settings: &[Setting::BatchSize] },
        ErrorKind::IntermediateTooLarge {
            transforms: "Resize".into(),
            source_width: 9,
            source_height: 9,
            width: 99,
            height: 99,
            needed: 9,
            memory_budget: 8,
        },
        ErrorKind::Transform { transform: "Resize", width: 9, height: 9, reason: "too small".into() },
        ErrorKind::Snippet { transform: "tint", reason: "no function".into() },
        ErrorKind::HostCode { name: "own".into(), source: inner() },
        ErrorKind::Sample { id: 3, name: "a.jpg".into(), source: inner() },
        ErrorKind::TooManyFailures { failed: 3, seen: 4, max_share: 0.1, last: inner() },
        ErrorKind::NoAdapter { reason: "none is called RTX".into() },
        ErrorKind::Device { stage: "submit", reason: "lost".into() },
        ErrorKind::OutOfMemory { what: "a slot", bytes: 9 },
        ErrorKind::DoesNotFit {
            what: "a batch",
            needed: 9,
            limit: 8,
            whose: "the adapter",
            settings: &[Setting::Views],
        },
        ErrorKind::OutputsHeld { held: 4, budget: 9 },
        ErrorKind::Pack { path: "packed".into(), setting: Some("to"), reason: "it lies in the source".into() },
        ErrorKind::OtherSettings { path: "packed".into(), what: "a pack", settings: vec![("prefix", "a".into())] },
        ErrorKind::Stopped { what: "packing" },
        ErrorKind::Panic { stage: "decode", message: "index".into() },
    ];
    let number = |kind: &ErrorKind| match kind {
        ErrorKind::Io { .. } => 0,
        ErrorKind::DataFile { .. } => 1,
        ErrorKind::Argument { .. } => 2,
        ErrorKind::Foreign { .. } => 3,
        ErrorKind::Fatal { .. } => 4,
        ErrorKind::EmptyDataset { .. } => 5,
        ErrorKind::FileTooLarge { .. } => 6,
        ErrorKind::Decode { .. } => 7,
        ErrorKind::TruncatedImage { .. } => 8,
        ErrorKind::TooManyPixels { .. } => 9,
        ErrorKind::TooMuchMemory { .. } => 10,
        ErrorKind::NoMemory { .. } => 11,
        ErrorKind::NoHostMemory { .. } => 12,
        ErrorKind::IntermediateTooLarge { .. } => 13,
        ErrorKind::Transform { .. } => 14,
        ErrorKind::Snippet { .. } => 15,
        ErrorKind::HostCode { .. } => 16,
        ErrorKind::Sample { .. } => 17,
        ErrorKind::TooManyFailures { .. } => 18,
        ErrorKind::NoAdapter { .. } => 19,
        ErrorKind::Device { .. } => 20,
        ErrorKind::OutOfMemory { .. } => 21,
        ErrorKind::DoesNotFit { .. } => 22,
        ErrorKind::OutputsHeld { .. } => 23,
        ErrorKind::Pack { .. } => 24,
        ErrorKind::OtherSettings { .. } => 25,
        ErrorKind::Stopped { .. } => 26,
        ErrorKind::Panic { .. } => 27,
    };
    assert!(kinds.iter().map(number).eq(0..28));
    kinds
}

/// The facts in an error must contain neither Rust code nor Rust's names of settings, because the command and the
/// Python package show the facts as they are.
#[test]
fn the_facts_of_every_kind_are_no_code() {
    for kind in one_of_each_kind() {
        let error = Error::from(kind);
        let facts = error.in_words_of(&Mute);
        for code in ["::", "(true)", "(false)", "(..)", "builder()"] {
            assert!(!facts.contains(code), "{facts}");
        }
        for setting in Setting::ALL.iter().filter(|setting| setting.in_rust().contains(['_', ':'])) {
            let argument =
                matches!(error.kind(), ErrorKind::Argument { setting: name, .. } if *name == setting.in_rust());
            assert!(argument || !facts.contains(setting.in_rust()), "{facts}");
        }
        let text = error.to_string();
        assert!(text.starts_with(facts.split("; the last").next().unwrap()), "{text}");
        assert_eq!(
            text == facts,
            error.advice().is_empty() && !matches!(error.kind(), ErrorKind::Sample { .. } | ErrorKind::HostCode { .. }),
            "{text}"
        );
    }
}

#[test]
fn an_error_inside_another_keeps_its_advice_in_the_readers_words() {
    let cut = || Error::from(ErrorKind::TruncatedImage { format: "JPEG", reason: "no end".into() });
    let sample = Error::from(ErrorKind::Sample { id: 3, name: "a.jpg".into(), source: cut() });
    assert_eq!(sample.to_string(), "sample 3 (a.jpg): truncated JPEG: no end; Truncated::Fill accepts such images");
    assert_eq!(sample.in_words_of(&Alike), "sample 3 (a.jpg): truncated JPEG: no end; X accepts such images");
    let failures = Error::from(ErrorKind::TooManyFailures { failed: 3, seen: 4, max_share: 0.1, last: cut() });
    let said = "3 of the first 4 samples failed, more than a share of 0.1; the last: truncated JPEG: no end; X accepts such \
                images; raise the share of X";
    assert_eq!(failures.in_words_of(&Alike), said);
    let reason = Reason::from(cut()).after("line 3: ");
    assert_eq!(
        Error::argument("recipe", reason).in_words_of(&Alike),
        "<recipe>: line 3: truncated JPEG: no end; X accepts such images"
    );
}

#[test]
fn the_reason_of_a_failed_read_keeps_its_advice() {
    let reason = Reason::new("no label").advise(TAR_UNLABELLED);
    let error = Error::io("a.tar", std::io::Error::other(reason));
    assert_eq!(error.to_string(), "a.tar: no label; TarShardsBuilder::allow_unlabelled(true) accepts that");
    assert_eq!(error.in_words_of(&Mute), "a.tar: no label");
}

#[test]
fn a_list_names_the_settings_that_a_language_has() {
    struct Two;
    impl Language for Two {
        fn argument(&self, name: &'static str) -> Cow<'static, str> {
            name.into()
        }
        fn setting(&self, setting: Setting, _: Option<Value>) -> Option<Cow<'static, str>> {
            match setting {
                Setting::Workers => Some("W".into()),
                Setting::OutputSize | Setting::ListSizes => Some("S".into()),
                _ => None,
            }
        }
    }
    let advice = lower(&[Setting::QueueDepth, Setting::Workers, Setting::OutputSize, Setting::ListSizes]);
    assert_eq!(advice.in_words_of(&Two).unwrap(), "lower W or S");
    assert_eq!(lower(&[Setting::Workers]).in_words_of(&Two).unwrap(), "lower W");
    assert_eq!(lower(&[Setting::Views]).in_words_of(&Two), None);
    assert_eq!(
        advice.to_string(),
        "lower queue_depth, workers, the output size or the sizes in the list of transforms"
    );
}
