//! Reads the value of a field from the bytes of a file or a member, by its kind and its ending.

use std::borrow::Cow;

use crate::objects::from_json;
use crate::quote::shortened;

use super::{FieldKind, FieldValue, NumberType, Numbers, SampleData, numpy};

/// The endings of texts that `webdataset`'s decoder reads by Python's `int`.
const WHOLE: [&str; 7] = ["cls", "cls2", "class", "count", "index", "inx", "id"];

/// The endings of the members that `webdataset`'s decoder takes for texts, whole numbers and documents
/// (`webdataset/autodecode.py`, `basichandlers`), and those of images and arrays.
const KINDS: [(&[&str], FieldKind); 5] = [
    (&["txt", "text", "transcript", "caption"], FieldKind::Text),
    (&["json", "jsn"], FieldKind::Json),
    (&WHOLE, FieldKind::Numbers),
    (&["npy"], FieldKind::Numbers),
    (&["jpg", "jpeg", "png", "webp", "bmp", "gif", "tif", "tiff", "ppm", "pgm", "pbm", "pnm", "pam"], FieldKind::Image),
];

/// The characters of a text that an error shows.
const SHOWN: usize = 40;

/// The kind of the values in files with this ending, which may have several parts: the last one decides (`left.jpg`).
pub(crate) fn kind_of_ending(ending: &str) -> FieldKind {
    let last = last_part(ending);
    let known = KINDS.iter().find(|(endings, _)| endings.contains(&&*last));
    known.map_or(FieldKind::Bytes, |(_, kind)| *kind)
}

fn last_part(ending: &str) -> String {
    ending.rsplit('.').next().unwrap_or(ending).to_ascii_lowercase()
}

/// The type of a field's numbers that are texts in files with these endings; `None` where arrays in `.npy` have types of
/// their own. Endings decide it, and not the texts: `1` and `0.5` would be of two types, which no batch can hold.
pub(crate) fn type_of_texts(endings: &[impl AsRef<str>]) -> Option<NumberType> {
    let mut parts = endings.iter().map(|ending| last_part(ending.as_ref()));
    if parts.clone().any(|part| part == "npy") {
        return None;
    }
    Some(if parts.all(|part| WHOLE.contains(&&*part)) { NumberType::I64 } else { NumberType::F64 })
}

/// The value of this kind that the bytes of a file with this ending are. `texts` is the type of numbers that are texts,
/// as [`type_of_texts`] returns it.
///
/// # Errors
/// The reason for which the bytes are none.
pub(crate) fn value<'a>(
    (kind, texts): (FieldKind, Option<NumberType>),
    ending: &str,
    bytes: Cow<'a, [u8]>,
) -> Result<FieldValue<'a>, String> {
    Ok(match kind {
        FieldKind::Text => FieldValue::Text(text(bytes)?),
        FieldKind::Json => {
            let text = text(bytes)?;
            if let Err(error) = serde_json::from_str::<serde::de::IgnoredAny>(&text) {
                return Err(format!("is no JSON: {error}"));
            }
            FieldValue::Json(text)
        }
        FieldKind::Bytes => FieldValue::Bytes(bytes),
        FieldKind::Numbers if bytes.starts_with(numpy::MAGIC) || ending.rsplit('.').next() == Some("npy") => {
            FieldValue::Numbers(numpy::numbers(bytes)?)
        }
        FieldKind::Numbers => {
            let number_type = texts.or_else(|| type_of_texts(&[ending])).unwrap_or(NumberType::F64);
            FieldValue::Numbers(number_of_type(number_type, &text(bytes)?)?)
        }
        FieldKind::Objects => FieldValue::Objects(Cow::Owned(from_json(&text(bytes)?)?)),
        FieldKind::Image => match bytes {
            Cow::Borrowed(bytes) => FieldValue::Image(SampleData::Encoded(bytes)),
            Cow::Owned(_) => return Err("is an image that no buffer holds".to_owned()),
        },
    })
}

fn text(bytes: Cow<'_, [u8]>) -> Result<Cow<'_, str>, String> {
    let reason = |error: std::str::Utf8Error| format!("is not UTF-8 from byte {} on", error.valid_up_to());
    match bytes {
        Cow::Borrowed(bytes) => std::str::from_utf8(bytes).map(Cow::Borrowed).map_err(reason),
        Cow::Owned(bytes) => String::from_utf8(bytes).map(Cow::Owned).map_err(|error| reason(error.utf8_error())),
    }
}

/// A number that is written as a text, in the type that all samples have.
fn number_of_type(number_type: NumberType, text: &str) -> Result<Numbers<'static>, String> {
    let number = number(text)?;
    // Python's `int` takes neither `1.0` nor `1e3`.
    let is_other = number_type == NumberType::I64 && number.number_type() != number_type;
    let held = if is_other { None } else { number.in_type(number_type) };
    held.ok_or_else(|| {
        let (name, shown) = (number_type.name(), shortened(text.trim()));
        match number_type {
            NumberType::I64 => format!(
                "is no whole number, as texts in .{} are: {shown}; read it as text, or keep fractions in another ending",
                WHOLE.join(" .")
            ),
            _ => format!("is a whole number that {name}, the type of texts in other endings than .cls, does not hold: {shown}"),
        }
    })
}

/// A number that is written as a text: whole, or a float.
pub(crate) fn number(text: &str) -> Result<Numbers<'static>, String> {
    let trimmed = text.trim();
    if let Ok(whole) = trimmed.parse::<i64>() {
        return Ok(Numbers::from(whole));
    }
    // A float would be another number.
    let digits = trimmed.strip_prefix(['+', '-']).unwrap_or(trimmed);
    if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(format!("is a whole number that int64 does not hold: {}", &trimmed[..trimmed.len().min(SHOWN)]));
    }
    // Rust reads more than people write as numbers: "inf", "nan", "infinity".
    let is_written = trimmed.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte));
    match trimmed.parse::<f64>() {
        Ok(float) if is_written && float.is_finite() => Ok(Numbers::from(float)),
        _ => {
            let shown: String = trimmed.chars().take(SHOWN).collect();
            Err(format!("is no number: {shown:?}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(kind: FieldKind, ending: &str, bytes: &'static [u8]) -> Result<FieldValue<'static>, String> {
        value((kind, type_of_texts(&[ending])), ending, Cow::Borrowed(bytes))
    }

    #[test]
    fn the_last_part_of_an_ending_decides() {
        for (ending, kind) in [
            ("txt", FieldKind::Text),
            ("sci.TXT", FieldKind::Text),
            ("json", FieldKind::Json),
            ("cls", FieldKind::Numbers),
            ("score.npy", FieldKind::Numbers),
            ("left.jpg", FieldKind::Image),
            ("pyd", FieldKind::Bytes),
            ("jpg.bin", FieldKind::Bytes),
        ] {
            assert_eq!(kind_of_ending(ending), kind, "{ending}");
        }
    }

    #[test]
    fn texts_and_documents_stay_as_they_are() {
        assert_eq!(read(FieldKind::Text, "txt", b" two dogs\n").unwrap(), FieldValue::from(" two dogs\n"));
        assert_eq!(
            read(FieldKind::Json, "json", b"{ \"a\": 1 }\n").unwrap(),
            FieldValue::Json("{ \"a\": 1 }\n".into())
        );
        assert_eq!(read(FieldKind::Bytes, "bin", b"\xff").unwrap(), FieldValue::from(&b"\xff"[..]));
        let error = |kind, bytes| read(kind, "x", bytes).unwrap_err();
        assert_eq!(error(FieldKind::Text, b"caf\xe9"), "is not UTF-8 from byte 3 on");
        assert!(error(FieldKind::Json, b"{\"a\": }").starts_with("is no JSON: expected value at line 1"));
        assert!(error(FieldKind::Json, b"{} {}").contains("trailing"));
    }

    #[test]
    fn numbers_are_texts_or_arrays() {
        let read = |ending, bytes| read(FieldKind::Numbers, ending, bytes);
        assert_eq!(read("cls", b" 7\n").unwrap(), FieldValue::from(7_i64));
        assert_eq!(read("txt", b"-0.5").unwrap(), FieldValue::from(-0.5));
        assert_eq!(read("txt", b"1").unwrap(), FieldValue::from(1.0));
        for bad in [&b"seven"[..], b"", b"nan", b"inf", b"1e999", b"1 2"] {
            assert!(read("cls", bad).unwrap_err().starts_with("is no number: "), "{bad:?}");
        }
        assert!(read("cls", b"-9223372036854775809").unwrap_err().contains("that int64 does not hold: -922337"));
        assert!(read("npy", b"7").unwrap_err().contains("is no .npy array"));
    }

    #[test]
    fn the_endings_of_a_field_decide_the_type_of_its_texts() {
        for (endings, number_type) in [
            (&["cls"][..], Some(NumberType::I64)),
            (&["a.ID", "count"], Some(NumberType::I64)),
            (&["cls", "txt"], Some(NumberType::F64)),
            (&["score"], Some(NumberType::F64)),
            (&["cls", "score.npy"], None),
        ] {
            assert_eq!(type_of_texts(endings), number_type, "{endings:?}");
        }
        let read = |number_type, text: &'static str| {
            value((FieldKind::Numbers, Some(number_type)), "x", Cow::Borrowed(text.as_bytes()))
        };
        assert_eq!(read(NumberType::F64, "1").unwrap(), FieldValue::from(1.0));
        assert!(read(NumberType::I64, "0.5").unwrap_err().starts_with("is no whole number, as texts in .cls .cls2"));
        assert!(read(NumberType::I64, "1e3").is_err());
        let error = read(NumberType::F64, "9007199254740993").unwrap_err();
        assert!(error.contains("float64") && error.ends_with("9007199254740993"), "{error}");
    }
}
