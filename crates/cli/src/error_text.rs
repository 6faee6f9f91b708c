//! The library's errors in the command's words: its flags, and keys of recipes.

use crate::units;
use clap::CommandFactory;
use gpufeed::advice::{Language, Setting, Value};
use gpufeed::internals::{Shown, sample_called, share_failed};
use gpufeed::{Error, ErrorKind};
use std::borrow::Cow;
use std::sync::{Mutex, PoisonError};

/// The flags of a subcommand, the keys of recipes, and those of a file of settings where the subcommand takes one.
pub(crate) struct Flags {
    known: Vec<String>,
}

/// The subcommand that runs in this process.
static RUNNING: Mutex<String> = Mutex::new(String::new());

/// Makes errors name the flags of this subcommand from now on.
pub(crate) fn speak_for(subcommand: &str) {
    subcommand.clone_into(&mut RUNNING.lock().unwrap_or_else(PoisonError::into_inner));
}

impl Flags {
    fn of_running() -> Flags {
        Flags::of(&RUNNING.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn of(subcommand: &str) -> Flags {
        let command = crate::Arguments::command();
        let found = command.find_subcommand(subcommand);
        let flags = found.into_iter().flat_map(|command| command.get_arguments());
        Flags { known: flags.filter_map(|argument| argument.get_long()).map(str::to_owned).collect() }
    }

    fn has(&self, flag: &str) -> bool {
        self.known.iter().any(|known| known == flag)
    }

    /// A key of a file of settings, if the subcommand takes one.
    fn of_file(&self, key: &'static str, value: Option<Value>) -> Option<Cow<'static, str>> {
        let words = match value {
            None => key.to_owned(),
            Some(Value::Word { word, .. }) => format!("{key} = \"{word}\""),
            Some(Value::Number(number)) => format!("{key} = {number}"),
            Some(Value::Blocks { samples, window }) => format!("{key} = [\"blocks\", {samples}, {window}]"),
            Some(_) => return None,
        };
        self.has("settings").then(|| format!("{words} in the file of --settings").into())
    }
}

impl Language for Flags {
    fn argument(&self, name: &'static str) -> Cow<'static, str> {
        let flag = match name {
            "seek_indexes" => "seek-index".to_owned(),
            "shard" => "part".to_owned(),
            "RemoteOptions::certificates" => return "SSL_CERT_FILE".into(),
            "transforms" | "views" | "output" | "semantics" | "batch_transform" | "group" => {
                return format!("{name} in the recipe").into();
            }
            _ => match name.strip_prefix("RemoteOptions::") {
                Some(name) => return format!("GPUFEED_REMOTE_{}", name.to_ascii_uppercase()).into(),
                None => name.replace('_', "-"),
            },
        };
        if self.has(&flag) { format!("--{flag}").into() } else { name.into() }
    }

    fn argument_with(&self, name: &'static str, value: &str) -> String {
        format!("{} {value}", self.argument(name))
    }

    fn setting(&self, setting: Setting, value: Option<Value>) -> Option<Cow<'static, str>> {
        let flag = match setting {
            Setting::Views => return Some("the recipe's views".into()),
            Setting::OutputSize | Setting::ListSizes => return Some("the recipe's sizes".into()),
            Setting::DType => return of_recipe("dtype", value),
            Setting::Semantics => return of_recipe("semantics", value),
            Setting::Shard => return self.has("part").then(|| "--part I/N".into()),
            Setting::BatchSize => "batch-size",
            Setting::Workers if self.has("threads") => "threads",
            Setting::Workers => "workers",
            Setting::MaxPixels if !self.has("max-pixels") => return self.of_file("max_pixels", value),
            Setting::MaxPixels => "max-pixels",
            Setting::CacheBytes => "cache-mib",
            Setting::ScaledDecode => "scaled-decode",
            Setting::Backend if matches!(value, Some(Value::Word { word: "NAME", .. })) => "adapter",
            Setting::Backend => "backend",
            Setting::QueueDepth => return self.of_file("queue_depth", value),
            Setting::MemoryBudget => return self.of_file("memory_budget", value),
            Setting::SlotBytes => return self.of_file("slot_bytes", value),
            Setting::Order => return self.of_file("order", value),
            Setting::Lanes => return self.of_file("lanes", value),
            Setting::LastBatch => return self.of_file("last_batch", value),
            Setting::Execute => return self.of_file("execute", value),
            Setting::Truncated => return self.of_file("truncated", value),
            Setting::OnError => return self.of_file("on_error", value),
            Setting::MaxDecodeBytes => return self.of_file("max_decode_bytes", value),
            Setting::PackPart => {
                let parts = if let Some(Value::Number(parts)) = value { format!(" I/{parts}") } else { String::new() };
                return self.has("join").then(|| format!("--part{parts}").into());
            }
            Setting::PackPlan if value.is_some() && self.has("plan") => {
                return Some("gpufeed pack SOURCE OUT --plan --parts N".into());
            }
            Setting::PackAgain => return self.has("plan").then(|| "the same command".into()),
            Setting::PackPlan => "plan",
            Setting::PackJoin => "join",
            Setting::PackVerify => "verify",
            Setting::PackScratch => "scratch",
            Setting::PackMaxSide => "max-side",
            // The command has no flags for the settings of data sets.
            _ => return None,
        };
        if !self.has(flag) {
            return None;
        }
        match value {
            None | Some(Value::Flag(_)) => Some(format!("--{flag}").into()),
            Some(Value::Word { word, .. }) => Some(format!("--{flag} {word}").into()),
            Some(Value::Number(number)) => Some(format!("--{flag} {number}").into()),
            Some(_) => None,
        }
    }
}

/// A key of a recipe, whose words are the names of Rust's variants.
fn of_recipe(key: &'static str, value: Option<Value>) -> Option<Cow<'static, str>> {
    match value {
        None => Some(format!("{key} in the recipe").into()),
        Some(Value::Word { rust, .. }) => {
            let variant = rust.rsplit("::").next().unwrap_or(rust);
            Some(format!("{key} = \"{variant}\" in the recipe").into())
        }
        Some(_) => None,
    }
}

/// Describes an error of the library.
pub(crate) fn describe(error: &Error) -> String {
    described(error, &Flags::of_running())
}

fn described(error: &Error, flags: &Flags) -> String {
    let bytes = |bytes: &u64| units::bytes(*bytes as f64);
    // Kinds with numbers of bytes get units, and those that `gpufeed doctor` explains name it.
    let facts = match error.kind() {
        ErrorKind::TooMuchMemory { format, width, height, needed, max_decode_bytes } => {
            let (needed, limit) = (bytes(needed), bytes(max_decode_bytes));
            format!("decoding this {format} of {width}x{height} pixels takes {needed} of memory; the limit is {limit}")
        }
        ErrorKind::FileTooLarge { name, bytes: found, max_file_bytes } => {
            format!("{}: {}; the limit is {}", Shown(name), bytes(found), bytes(max_file_bytes))
        }
        ErrorKind::OutOfMemory { what, bytes: wanted } => {
            format!("the GPU is out of memory: it has no {} left for {what}", bytes(wanted))
        }
        ErrorKind::DoesNotFit { what, needed, limit, whose, .. } => {
            format!("{what} needs {} but the limit is {} ({whose})", bytes(needed), bytes(limit))
        }
        ErrorKind::IntermediateTooLarge {
            transforms,
            source_width,
            source_height,
            width,
            height,
            needed,
            memory_budget,
        } => {
            let [needed, limit] = [needed, memory_budget].map(bytes);
            format!(
                "{} on an image of {source_width}x{source_height} takes {needed} of memory on the way, for {width}x{height} pixels, but the limit is {limit} (the memory budget)",
                Shown(transforms)
            )
        }
        ErrorKind::NoHostMemory { what, bytes: wanted, .. } => {
            format!("{what} takes {} of memory that the system does not have", bytes(wanted))
        }
        ErrorKind::Sample { id, name, source } => {
            let source = described(source, flags);
            return format!("{}: {source}", sample_called(*id, name, &source));
        }
        ErrorKind::TooManyFailures { failed, seen, max_share, last } => format!(
            "{} (`gpufeed doctor` names them); the last: {}",
            share_failed(*failed, *seen, *max_share),
            described(last, flags)
        ),
        ErrorKind::NoAdapter { .. } => {
            return format!("{}; `gpufeed doctor` lists the adapters", error.in_words_of(flags));
        }
        _ => return error.in_words_of(flags),
    };
    gpufeed::advice::advised(&facts, error.advice(), flags)
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpufeed::internals::every_piece;

    /// Advice in Rust's words, or in Python's.
    fn is_foreign(text: &str) -> bool {
        text.contains("::")
            || text.contains("(true)")
            || text.contains("(false)")
            || text.contains("=\"")
            || called(text)
    }

    /// True for `.name(`.
    fn called(text: &str) -> bool {
        text.match_indices('(').any(|(at, _)| {
            let word: Vec<_> = text[..at].chars().rev().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            !word.is_empty() && text[..at - word.len()].ends_with('.')
        })
    }

    const SUBCOMMANDS: [&str; 6] = ["bench", "doctor", "explain", "index", "pack", "preview"];

    #[test]
    fn advice_is_in_flags_and_keys_of_the_subcommand() {
        let recipe = gpufeed::recipe::load("imagenet-randaugment").unwrap();
        let recipe = gpufeed::recipe::to_toml(recipe).unwrap();
        let settings = serde_json::to_string(&gpufeed::LoaderSettings::default()).unwrap();
        let mut said = 0;
        for flags in SUBCOMMANDS.map(Flags::of) {
            assert!(flags.known.len() > 2, "{:?}", flags.known);
            for text in every_piece().iter().filter_map(|advice| advice.in_words_of(&flags)) {
                assert!(!is_foreign(&text), "{text}");
                for flag in text.split([' ', ',', ';', '(']).filter_map(|word| word.strip_prefix("--")) {
                    assert!(
                        flags.known.iter().any(|known| known == flag),
                        "{text}: no --{flag} among {:?}",
                        flags.known
                    );
                }
                for (at, _) in text.match_indices(" = ") {
                    let key = text[..at].rsplit(' ').next().unwrap();
                    let file = if text[at..].contains("in the recipe") { &recipe } else { &settings };
                    assert!(file.contains(key), "{text}: no key {key}");
                }
                said += 1;
            }
        }
        assert!(said > 100, "{said}");
        assert!(
            is_foreign("use Semantics::Uint8") && is_foreign("call .lanes(4)") && is_foreign("scaled_decode(true)")
        );
    }

    #[test]
    fn arguments_are_flags_where_the_subcommand_has_them() {
        assert_eq!(Flags::of("bench").argument("batch_size"), "--batch-size");
        assert_eq!(Flags::of("explain").argument("seek_indexes"), "seek_indexes");
        assert_eq!(Flags::of("pack").argument("shard"), "--part");
        assert_eq!(Flags::of("bench").argument("shard"), "shard");
        assert_eq!(Flags::of("bench").argument("RemoteOptions::timeout"), "GPUFEED_REMOTE_TIMEOUT");
    }

    #[test]
    fn errors_name_options_instead_of_settings() {
        let argument = |setting| ErrorKind::Argument { setting, reason: "0 is none".into() };
        let cut = || ErrorKind::TruncatedImage { format: "JPEG", reason: "no end".into() };
        let sample = ErrorKind::Sample { id: 3, name: "a.jpg".into(), source: cut().into() };
        let budget = ErrorKind::DoesNotFit {
            what: "a run of the loader",
            needed: 5_000_000_000,
            limit: 4 << 30,
            whose: "the memory budget",
            settings: &[
                Setting::BatchSize,
                Setting::QueueDepth,
                Setting::Views,
                Setting::OutputSize,
                Setting::ListSizes,
            ],
        };
        for (kind, expected) in [
            (argument("batch_size"), "--batch-size: 0 is none"),
            (argument("transforms"), "transforms in the recipe: 0 is none"),
            (argument("size"), "size: 0 is none"),
            (
                sample,
                "sample 3 (a.jpg): truncated JPEG: no end; truncated = \"fill\" in the file of --settings accepts such images",
            ),
            (
                budget,
                "a run of the loader needs 5 GB but the limit is 4.29 GB (the memory budget); lower --batch-size, queue_depth in the file of --settings, the recipe's views or the recipe's sizes",
            ),
        ] {
            assert_eq!(described(&kind.into(), &Flags::of("bench")), expected);
        }
    }
}
