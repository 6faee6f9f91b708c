//! The library's errors in the command's words: what names a setting of the API there names an option or the recipe here.

use crate::report::units;
use gpufeed::internals::Shown;
use gpufeed::{Error, ErrorKind};
use std::borrow::Cow;

/// Advice for those who write Rust; no option does the same.
const FOR_RUST: [&str; 9] = [
    "; TarShardsBuilder::extensions says which to take",
    "; LmdbBuilder::layout says what is",
    "; LmdbBuilder::allow_unlabelled passes it over",
    ", or LmdbWriter::finish",
    ", or take Idx::emnist",
    ": Numpy::new().npz(path, images, labels) takes any",
    "; Numpy::new().layout(..) says which",
    " (Dataset::channels)",
    " (ImageList::builder().class_names(true) takes numbers as names)",
];

/// An error as the command says it.
pub(crate) fn said(error: &Error) -> String {
    let bytes = |bytes: &u64| units::bytes(*bytes as f64);
    match error.kind() {
        ErrorKind::Argument { setting, reason } => format!("{}: {}", option(setting), Shown(reason)),
        ErrorKind::TruncatedImage { format, reason } => format!("truncated {format}: {}", Shown(reason)),
        ErrorKind::TooManyPixels { width, height, max_pixels } => {
            format!("an image of {width}x{height} pixels; {max_pixels} are the most")
        }
        ErrorKind::TooMuchMemory { format, width, height, needed, max_decode_bytes } => {
            let (needed, most) = (bytes(needed), bytes(max_decode_bytes));
            format!("decoding this {format} of {width}x{height} pixels takes {needed} of memory; {most} are the most")
        }
        ErrorKind::FileTooLarge { name, bytes: found, max_file_bytes } => {
            format!("{}: {}; {} are the most", Shown(name), bytes(found), bytes(max_file_bytes))
        }
        ErrorKind::Sample { id, name, source } => format!("sample {id} ({}): {}", Shown(name), said(source)),
        ErrorKind::TooManyFailures { failed, seen, last, .. } => format!(
            "{failed} of the first {seen} samples cannot be used, and go on failing (`gpufeed doctor` names them); the last: {}",
            said(last)
        ),
        ErrorKind::NoAdapter { reason } => {
            format!("no GPU adapter: {} (`gpufeed doctor` lists those that there are)", Shown(reason))
        }
        ErrorKind::OutOfMemory { what, bytes: wanted } => format!(
            "the GPU is out of memory: no {} for {what}; lower --batch-size or the recipe's sizes",
            bytes(wanted)
        ),
        ErrorKind::DoesNotFit { what, needed, limit, whose, .. } => {
            let whose = if whose.contains("memory_budget") { "what a loader may take" } else { whose };
            let (needed, limit) = (bytes(needed), bytes(limit));
            format!("{what} needs {needed} but {limit} are {whose}; lower the recipe's sizes or views, or --batch-size")
        }
        _ => {
            let text = error.to_string();
            FOR_RUST.iter().fold(text, |text, advice| text.replace(advice, ""))
        }
    }
}

/// The text of any error, which may be one of the library.
pub(crate) fn any(error: &(dyn std::error::Error + 'static)) -> String {
    error.downcast_ref::<Error>().map_or_else(|| Shown(error).to_string(), said)
}

/// The option that stands for a setting of the API, or the setting's own name.
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

    #[test]
    fn errors_name_options_instead_of_settings() {
        let argument = |setting| ErrorKind::Argument { setting, reason: "0 is none".into() };
        let cut = || ErrorKind::TruncatedImage { format: "JPEG", reason: "no end".into() };
        let sample = ErrorKind::Sample { id: 3, name: "a.jpg".into(), source: cut().into() };
        let budget = ErrorKind::DoesNotFit {
            what: "the line",
            needed: 5_000_000_000,
            limit: 4 << 30,
            whose: "the memory_budget",
            setting: "memory_budget, or lower batch_size",
        };
        let twice = std::io::Error::other(
            "at byte 0: the sample has an image already; TarShardsBuilder::extensions says which to take",
        );
        for (kind, expected) in [
            (argument("batch_size"), "--batch-size: 0 is none"),
            (argument("transforms"), "transforms in the recipe: 0 is none"),
            (argument("size"), "size: 0 is none"),
            (sample, "sample 3 (a.jpg): truncated JPEG: no end"),
            (
                budget,
                "the line needs 5 GB but 4.29 GB are what a loader may take; lower the recipe's sizes or views, or --batch-size",
            ),
            (
                ErrorKind::Io { path: "x.tar".into(), source: twice },
                "x.tar: at byte 0: the sample has an image already",
            ),
        ] {
            assert_eq!(said(&kind.into()), expected);
        }
    }
}
