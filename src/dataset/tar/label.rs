//! Reads labels from a sample's `.cls`, `.json` or `.txt` member.

use std::collections::BTreeMap;

use serde::de::IgnoredAny;
use serde_json::Value;

use crate::dataset::{Label, label_numbers};
use crate::quote::shortened;

/// The extensions of members that can hold a label. The first one that a sample has counts.
pub(super) const KINDS: [&str; 3] = ["cls", "json", "txt"];
/// The indices of these extensions. A text may be a caption.
pub(super) const CLS: usize = 0;
pub(super) const JSON: usize = 1;
pub(super) const TEXT: usize = 2;

/// The keys of a JSON object that can have its label. The first that is not null counts.
const LABEL_KEYS: [&str; 2] = ["label", "cls"];
/// The most other keys of a document that are named.
const NAMED: usize = 32;

/// Parses the label in a member of this kind, which is an index of [`KINDS`]. Returns `None` if the member holds
/// something else, such as a caption.
///
/// # Errors
/// The reason if a `.cls` is not a class, or a `.json` cannot be parsed or has numbers that f32 does not hold.
pub(super) fn parse(kind: usize, bytes: &[u8]) -> Result<Option<Label>, String> {
    match KINDS.get(kind) {
        Some(&"cls") => {
            let text = String::from_utf8_lossy(bytes);
            let class = text.trim().parse().map(|class| Some(Label::Class(class)));
            class.map_err(|_| format!("{:?} is not a class: a number from 0 to 4294967295", shortened(text.trim())))
        }
        Some(&"json") => {
            let value = serde_json::from_slice(bytes).map_err(|error| format!("no JSON: {error}"))?;
            from_json(&value)
        }
        _ => Ok(std::str::from_utf8(bytes).ok().and_then(|text| text.trim().parse().ok()).map(Label::Class)),
    }
}

/// Returns the label that a reader of tar shards finds in a member `.json`; `None` if it has none.
///
/// # Errors
/// The reason, if it cannot be read as one.
pub(crate) fn label_of_json(bytes: &[u8]) -> Result<Option<Label>, String> {
    parse(JSON, bytes)
}

/// Returns the keys of a JSON object beside that of its label.
pub(super) fn other_keys(bytes: &[u8]) -> Vec<String> {
    let object: BTreeMap<String, IgnoredAny> = serde_json::from_slice(bytes).unwrap_or_default();
    object.into_keys().filter(|key| !LABEL_KEYS.contains(&&**key)).take(NAMED).collect()
}

/// Reads the `label` or `cls` of an object, or the value itself. A number is a class, and a list has one number for
/// each class or target.
fn from_json(value: &Value) -> Result<Option<Label>, String> {
    let value = match value {
        Value::Object(object) => {
            match LABEL_KEYS.iter().filter_map(|key| object.get(*key)).find(|value| !value.is_null()) {
                Some(label) => label,
                None => return Ok(None),
            }
        }
        value => value,
    };
    let refused = || {
        let text = shortened(&value.to_string());
        format!("{text} is not a label: a class (a number from 0 to 4294967295), a list of numbers, or null")
    };
    match value {
        Value::Null => Ok(None),
        Value::Array(values) => {
            let number = |value| label_numbers::of_json(value).unwrap_or_else(|| Err(refused()));
            let numbers = values.iter().map(number).collect::<Result<Vec<f32>, _>>()?;
            Ok(Some(Label::from(numbers)))
        }
        value => {
            let class = value.as_u64().and_then(|class| u32::try_from(class).ok());
            class.map(|class| Some(Label::Class(class))).ok_or_else(refused)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TXT: usize = TEXT;

    #[test]
    fn labels_of_each_kind() {
        let multi = Label::from(vec![0.5, 1.0]);
        for (kind, text, expected) in [
            (CLS, "17", Some(Label::Class(17))),
            (CLS, " 4294967295\n", Some(Label::Class(u32::MAX))),
            (JSON, "{\"label\": 3, \"cls\": 4}", Some(Label::Class(3))),
            (JSON, "{\"cls\": [0.5, 1]}", Some(multi.clone())),
            (JSON, "[0.5, 1]", Some(multi)),
            (JSON, "7", Some(Label::Class(7))),
            (JSON, "{\"caption\": \"a cat\"}", None),
            (JSON, "{\"label\": null}", None),
            (JSON, "{\"label\": null, \"cls\": 4}", Some(Label::Class(4))),
            (TXT, "12\n", Some(Label::Class(12))),
            (TXT, "a cat", None),
            (TXT, "\u{ff}", None),
        ] {
            assert_eq!(parse(kind, text.as_bytes()).unwrap(), expected, "{text}");
        }
        for (kind, text) in [
            (CLS, ""),
            (CLS, "-1"),
            (CLS, "4294967296"),
            (CLS, "1.5"),
            (CLS, "cat"),
            (JSON, "{"),
            (JSON, "{\"label\": \"cat\"}"),
            (JSON, "{\"label\": -1}"),
            (JSON, "{\"label\": 1.5}"),
            (JSON, "[1, \"2\"]"),
            (JSON, "[1, 16777217]"),
            (JSON, "[1e40]"),
        ] {
            assert!(parse(kind, text.as_bytes()).is_err(), "{text}");
        }
        let long = parse(CLS, &[b'x'; 1000]).unwrap_err();
        assert!(long.len() < 120, "{long}");
    }

    #[test]
    fn a_document_is_more_than_its_label() {
        assert_eq!(other_keys(b"{\"url\": 1, \"label\": 3, \"caption\": [2]}"), ["caption", "url"]);
        for label_alone in [&b"{\"label\": null, \"cls\": 4}"[..], b"7", b"[0.5]", b"{"] {
            assert_eq!(other_keys(label_alone), Vec::<String>::new());
        }
    }
}
