//! Words the library's errors for users of the command: settings of the API become options or keys of the recipe.

use crate::units;
use gpufeed::internals::{Shown, sample_called};
use gpufeed::{Error, ErrorKind};
use std::borrow::Cow;

/// Advice in the library's errors that only Rust code can follow. It is cut, because no option does the same.
const FOR_RUST: [&str; 17] = [
    "; choose one with TarShardsBuilder::extensions",
    "; set the layout with LmdbBuilder::layout",
    " raise max_page_bytes, or",
    "; LmdbBuilder::allow_unlabelled ignores it",
    ", or LmdbWriter::finish",
    ", or use Idx::emnist",
    ": Numpy::new().npz(path, images, labels) takes any",
    "; set which with Numpy::new().layout(..)",
    " (Dataset::channels)",
    " (ImageList::builder().class_names(true) takes numbers as names)",
    "; ImageList::builder().label_columns([..]) names one, or all that make a vector",
    "; ImageList::builder().delimiter(..) names it",
    "; ImageList::builder().header(true) takes that line for names",
    "; ImageList::builder().header(true) takes it for names, and header(false) for a sample",
    "; TarShardsBuilder::text_labels says whether they are",
    "; TarShardsBuilder::text_labels says which",
    ", and that ending can be chosen with TarShardsBuilder::extensions",
];

/// Describes an error of the library.
pub(crate) fn describe(error: &Error) -> String {
    let bytes = |bytes: &u64| units::bytes(*bytes as f64);
    match error.kind() {
        ErrorKind::Argument { setting, reason } => format!("{}: {}", option(setting), Shown(reason)),
        ErrorKind::TruncatedImage { format, reason } => format!("truncated {format}: {}", Shown(reason)),
        ErrorKind::TooManyPixels { width, height, max_pixels } => {
            format!("an image of {width}x{height} pixels; the limit is {max_pixels}")
        }
        ErrorKind::TooMuchMemory { format, width, height, needed, max_decode_bytes } => {
            let (needed, limit) = (bytes(needed), bytes(max_decode_bytes));
            format!("decoding this {format} of {width}x{height} pixels takes {needed} of memory; the limit is {limit}")
        }
        ErrorKind::FileTooLarge { name, bytes: found, max_file_bytes } => {
            format!("{}: {}; the limit is {}", Shown(name), bytes(found), bytes(max_file_bytes))
        }
        ErrorKind::Sample { id, name, source } => {
            let source = describe(source);
            format!("{}: {source}", sample_called(*id, name, &source))
        }
        ErrorKind::TooManyFailures { failed, seen, last, .. } => format!(
            "{failed} of the first {seen} samples cannot be used (`gpufeed doctor` names them); the last: {}",
            describe(last)
        ),
        ErrorKind::NoAdapter { reason } => {
            format!("no GPU adapter: {} (`gpufeed doctor` lists the adapters)", Shown(reason))
        }
        ErrorKind::OutOfMemory { what, bytes: wanted } => format!(
            "the GPU is out of memory: it has no {} left for {what}; lower --batch-size or the recipe's sizes",
            bytes(wanted)
        ),
        ErrorKind::DoesNotFit { what, needed, limit, whose, .. } => {
            let whose = if whose.contains("memory_budget") { "the loader's memory budget" } else { whose };
            let (needed, limit) = (bytes(needed), bytes(limit));
            format!(
                "{what} needs {needed} but the limit is {limit} ({whose}); lower the recipe's sizes or views, or --batch-size"
            )
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
                "{} on an image of {source_width}x{source_height} takes {needed} of memory on the way, for {width}x{height} pixels, but the limit is {limit} (the loader's memory budget); lower the recipe's sizes",
                Shown(transforms)
            )
        }
        ErrorKind::NoHostMemory { what, bytes: wanted, .. } => format!(
            "{what} takes {} of memory that the system does not have; lower --workers, --batch-size or the recipe's sizes",
            bytes(wanted)
        ),
        _ => {
            let text = error.to_string();
            FOR_RUST.iter().fold(text, |text, advice| text.replace(advice, ""))
        }
    }
}

/// Describes any error, which may be one of the library.
pub(crate) fn describe_any(error: &(dyn std::error::Error + 'static)) -> String {
    error.downcast_ref::<Error>().map_or_else(|| Shown(error).to_string(), describe)
}

/// Returns the option that stands for a setting of the API, or the setting's own name.
fn option(setting: &str) -> Cow<'_, str> {
    if ["workers", "batch_size", "cache", "seek_indexes", "max_pixels", "shuffle", "seed"].contains(&setting) {
        return format!("--{}", setting.replace('_', "-")).into();
    }
    match setting {
        "transforms" | "views" => format!("{setting} in the recipe").into(),
        _ => setting.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reason that is worded anew in the library must not bring its advice back into the command.
    #[test]
    fn the_library_still_has_each_advice_that_is_cut() {
        fn read(folder: &std::path::Path, text: &mut String) {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    read(&path, text);
                } else {
                    text.push_str(&std::fs::read_to_string(&path).unwrap_or_default());
                }
            }
        }
        let mut library = String::new();
        read(&std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../src"), &mut library);
        // A line of source text may end inside of a message: `\` and the next line's spaces are not part of it.
        let library: String = library.split("\\\n").map(str::trim_start).collect();
        for advice in FOR_RUST {
            assert!(library.contains(advice), "{advice}");
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
            whose: "memory_budget",
            setting: "batch_size, or raise memory_budget",
        };
        let twice = std::io::Error::other(
            "at byte 0: the sample has an image already; choose one with TarShardsBuilder::extensions",
        );
        for (kind, expected) in [
            (argument("batch_size"), "--batch-size: 0 is none"),
            (argument("transforms"), "transforms in the recipe: 0 is none"),
            (argument("size"), "size: 0 is none"),
            (sample, "sample 3 (a.jpg): truncated JPEG: no end"),
            (
                budget,
                "a run of the loader needs 5 GB but the limit is 4.29 GB (the loader's memory budget); lower the recipe's sizes or views, or --batch-size",
            ),
            (
                ErrorKind::Io { path: "x.tar".into(), source: twice },
                "x.tar: at byte 0: the sample has an image already",
            ),
        ] {
            assert_eq!(describe(&kind.into()), expected);
        }
    }
}
