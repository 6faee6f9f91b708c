//! The library's errors in the command's words: its flags, and keys of recipes.

use crate::units;
use gpufeed::advice::{Language, Setting, Value};
use gpufeed::internals::Shown;
use gpufeed::{Error, ErrorKind};
use std::borrow::Cow;

/// The command's flags and the keys of recipes.
pub(crate) struct Flags;

impl Language for Flags {
    fn argument(&self, name: &'static str) -> Cow<'static, str> {
        match name {
            "workers" | "batch_size" | "cache" | "max_pixels" | "shuffle" | "seed" => {
                format!("--{}", name.replace('_', "-")).into()
            }
            "seek_indexes" => "--seek-index".into(),
            "shard" => "--part".into(),
            "transforms" | "views" | "output" | "semantics" | "batch_transform" => {
                format!("{name} in the recipe").into()
            }
            "RemoteOptions::certificates" => "SSL_CERT_FILE".into(),
            _ => match name.strip_prefix("RemoteOptions::") {
                Some(name) => format!("GPUFEED_REMOTE_{}", name.to_ascii_uppercase()).into(),
                None => name.into(),
            },
        }
    }

    fn setting(&self, setting: Setting, value: Option<Value>) -> Option<Cow<'static, str>> {
        let (flag, of_recipe) = match setting {
            Setting::BatchSize => ("--batch-size", false),
            Setting::Workers => ("--workers", false),
            Setting::MaxPixels => ("--max-pixels", false),
            Setting::CacheBytes => ("--cache-mib", false),
            Setting::ScaledDecode => return Some("--scaled-decode".into()),
            Setting::Backend => ("--backend", false),
            Setting::Shard => return Some("--part I/N".into()),
            Setting::Views => return Some("the recipe's views".into()),
            Setting::OutputSize | Setting::ListSizes => return Some("the recipe's sizes".into()),
            Setting::DType => ("dtype", true),
            Setting::Semantics => ("semantics", true),
            // Data sets are opened with the settings that suit most, and loaders have the library's defaults.
            _ => return None,
        };
        match value {
            None => Some(flag.into()),
            // Recipes have the names of Rust's variants.
            Some(Value::Word { rust, .. }) if of_recipe => {
                let variant = rust.rsplit("::").next().unwrap_or(rust);
                Some(format!("{flag} = \"{variant}\" in the recipe").into())
            }
            Some(Value::Word { word, .. }) => Some(format!("{flag} {word}").into()),
            Some(Value::Number(number)) => Some(format!("{flag} {number}").into()),
            Some(_) => None,
        }
    }
}

/// Describes an error of the library.
pub(crate) fn describe(error: &Error) -> String {
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
        ErrorKind::NoAdapter { .. } => {
            return format!("{}; `gpufeed doctor` lists the adapters", error.in_words_of(&Flags));
        }
        ErrorKind::TooManyFailures { .. } => {
            return format!("{}; `gpufeed doctor` names them", error.in_words_of(&Flags));
        }
        _ => return error.in_words_of(&Flags),
    };
    gpufeed::advice::advised(&facts, error.advice(), &Flags)
}

/// Describes any error, which may be one of the library.
pub(crate) fn describe_any(error: &(dyn std::error::Error + 'static)) -> String {
    error.downcast_ref::<Error>().map_or_else(|| Shown(error).to_string(), describe)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;
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

    #[test]
    fn advice_is_in_flags_and_keys_that_exist() {
        let command = crate::Arguments::command();
        let flags: Vec<_> = command.get_subcommands().flat_map(|command| command.get_arguments()).collect();
        let keys = gpufeed::recipe::to_toml(gpufeed::recipe::load("imagenet-randaugment").unwrap()).unwrap();
        let (mut said, mut left_out) = (0, 0);
        for advice in every_piece() {
            let Some(text) = advice.in_words_of(&Flags) else {
                left_out += 1;
                continue;
            };
            assert!(!is_foreign(&text), "{text}");
            for flag in text.split([' ', ',']).filter_map(|word| word.strip_prefix("--")) {
                assert!(flags.iter().any(|known| known.get_long() == Some(flag)), "{text}: no flag --{flag}");
            }
            for (at, _) in text.match_indices(" = \"") {
                let key = text[..at].rsplit(' ').next().unwrap();
                assert!(keys.contains(key), "{text}: no key {key}");
            }
            said += 1;
        }
        assert!(said > 10 && left_out > 10, "{said}, {left_out}");
        assert!(
            is_foreign("use Semantics::Uint8") && is_foreign("call .lanes(4)") && is_foreign("scaled_decode(true)")
        );
    }

    #[test]
    fn arguments_are_flags_that_exist() {
        let command = crate::Arguments::command();
        let flags: Vec<_> = command.get_subcommands().flat_map(|command| command.get_arguments()).collect();
        for name in ["workers", "batch_size", "cache", "max_pixels", "shuffle", "seed", "seek_indexes", "shard"] {
            let flag = Flags.argument(name);
            let known = flags.iter().any(|known| known.get_long() == flag.strip_prefix("--"));
            assert!(known, "{name}: no flag {flag}");
        }
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
            (sample, "sample 3 (a.jpg): truncated JPEG: no end"),
            (
                budget,
                "a run of the loader needs 5 GB but the limit is 4.29 GB (the memory budget); lower --batch-size, the recipe's views or the recipe's sizes",
            ),
        ] {
            assert_eq!(describe(&kind.into()), expected);
        }
    }
}
