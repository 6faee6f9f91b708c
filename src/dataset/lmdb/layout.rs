//! Layouts: which keys are samples, and the content of their values.

use crate::dataset::{Label, label_numbers};
use crate::decode::ImageFormat;

/// How the samples of an [`Lmdb`](super::Lmdb) are stored.
///
/// ```
/// assert_eq!(gpufeed::dataset::LmdbLayout::default(), gpufeed::dataset::LmdbLayout::Auto);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum LmdbLayout {
    /// Detected: [`Numbered`](Self::Numbered) if there is a key `num-samples`, else the layout that fits the first
    /// value.
    #[default]
    Auto,
    /// `num-samples`: the number of samples in decimal digits; `image-000000001` and so on: the image files;
    /// `label-000000001` and so on: a class in decimal digits, or a list of numbers (JSON, or separated by spaces or
    /// commas); `caption-000000001` and so on: values of [fields](super::LmdbBuilder::fields).
    Numbered,
    /// Any key: the class as 4 bytes, little-endian, followed by the image file. Samples are in the keys' order.
    ClassAndImage,
    /// Any key: the image file. No labels. Samples are in the keys' order.
    Image,
}

/// Key of the number of samples in the layout [`LmdbLayout::Numbered`].
pub(super) const COUNT: &[u8] = b"num-samples";
/// Key of the names of the classes, a JSON list.
pub(super) const CLASSES: &[u8] = b"classes";
/// Key of the number of samples in an unfinished file.
#[cfg(feature = "lmdb")]
pub(super) const WRITTEN: &[u8] = b"gpufeed-written";

/// The sources of images and of labels: the part of a key before the number.
pub(super) const IMAGE: &str = "image";
pub(super) const LABEL: &str = "label";
/// The digits of a number in a key, at the least.
const DIGITS: usize = 9;

/// The most bytes of what stands before the number. A key has at most 511, of which a hyphen and the number are up to 21.
pub(crate) const LONGEST_SOURCE: usize = 490;

/// Returns the key of sample `number`, from 1 on, for an image, a label or a field.
pub(super) fn numbered_key(source: &str, number: u64) -> String {
    format!("{source}-{number:0DIGITS$}")
}

/// Returns what stands before the number in the key of a numbered sample; `None` for other keys.
pub(super) fn source_of(key: &[u8]) -> Option<&str> {
    let (source, number) = std::str::from_utf8(key).ok()?.rsplit_once('-')?;
    let is_number = number.len() >= DIGITS && number.bytes().all(|byte| byte.is_ascii_digit());
    (is_number && !source.is_empty()).then_some(source)
}

impl LmdbLayout {
    /// Detects the layout from the start of a value.
    ///
    /// # Errors
    /// The content of the value, if it fits no layout.
    pub(super) fn of(value: &[u8]) -> Result<LmdbLayout, &'static str> {
        let [plain, after_class] = [0, 4].map(|at| value.get(at..).and_then(ImageFormat::recognise));
        match (plain, after_class) {
            // The first bytes of a bitmap or PNM could be a class.
            (Some(format), _) if !matches!(format, ImageFormat::Bmp | ImageFormat::Pnm) => Ok(LmdbLayout::Image),
            (_, Some(_)) => Ok(LmdbLayout::ClassAndImage),
            (Some(_), None) => Ok(LmdbLayout::Image),
            (None, None) => Err(match value {
                [0x80, 2..=5, ..] => "a Python pickle, which only Python can read",
                _ => "not an image file, neither at its start nor after 4 bytes",
            }),
        }
    }
}

/// Returns true for keys that are not samples: metadata of the writers.
pub(super) fn is_no_sample(key: &[u8]) -> bool {
    key.starts_with(b"__") || key == CLASSES || key == COUNT
}

/// A text that is not a label.
#[derive(Debug, PartialEq)]
pub(super) enum NoLabel {
    /// It is something else, such as a word.
    Word,
    /// It is a list of numbers, one of which f32 does not hold; the reason.
    Number(String),
}

/// Parses a label.
///
/// # Errors
/// The text is not a label.
pub(super) fn parse(text: &[u8]) -> Result<Label, NoLabel> {
    let text = std::str::from_utf8(text).map_err(|_| NoLabel::Word)?.trim();
    if let Ok(class) = text.parse() {
        return Ok(Label::Class(class));
    }
    let inside = text.strip_prefix('[').and_then(|text| text.strip_suffix(']'));
    if inside.is_none() && !text.contains([' ', ',']) {
        return Err(NoLabel::Word);
    }
    let words = inside.unwrap_or(text).split([' ', ',']).filter(|word| !word.is_empty());
    let numbers = words.map(number).collect::<Option<Vec<_>>>().ok_or(NoLabel::Word)?;
    numbers.into_iter().collect::<Result<Vec<f32>, _>>().map(Label::from).map_err(NoLabel::Number)
}

/// Reads a number. Digits alone may be those with which `to_string` writes an f32, as gpufeed once packed labels.
fn number(word: &str) -> Option<Result<f32, String>> {
    let written = word.parse().ok().filter(|near: &f32| near.to_string() == word);
    written.map(Ok).or_else(|| label_numbers::of_text(word))
}

/// Returns the text of a label.
#[cfg(feature = "lmdb")]
pub(super) fn to_text(label: &Label) -> Option<String> {
    match label {
        Label::None => None,
        Label::Class(class) => Some(class.to_string()),
        Label::Multi(values) => {
            // Digits alone are a whole number to the reader, which f32 has to hold.
            let word = |value: &f32| if value.abs() < 1e7 { value.to_string() } else { format!("{value:?}") };
            let words: Vec<_> = values.iter().map(word).collect();
            Some(format!("[{}]", words.join(",")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(feature = "lmdb")]
    #[test]
    fn labels_are_read_as_they_are_written() {
        let odd = vec![0.1, -1.5e-30, 3.0, f32::MAX, f32::INFINITY, 3.3e10, 1e7];
        for label in [Label::Class(0), Label::Class(u32::MAX), Label::from(odd), Label::from(vec![])] {
            let text = to_text(&label).unwrap();
            assert_eq!(parse(text.as_bytes()), Ok(label), "{text}");
        }
        assert_eq!(to_text(&Label::None), None);
        assert_eq!(parse(b" 12\n"), Ok(Label::Class(12)));
        assert_eq!(parse(b"0.5 1"), Ok(Label::from(vec![0.5, 1.0])));
        assert_eq!(parse(b"[0.5, 1]"), Ok(Label::from(vec![0.5, 1.0])));
        // As an earlier version wrote them.
        let earlier = vec![3.3e10, -1.5e38, f32::MAX];
        let text = format!("[{},{},{}]", earlier[0], earlier[1], earlier[2]);
        assert!(text.starts_with("[33000000000,-15000"), "{text}");
        assert_eq!(parse(text.as_bytes()), Ok(Label::from(earlier)));
        for text in ["", "cat", "a cat", "-1", "1.5", "[a]", "[1", "\u{fffd}"] {
            assert_eq!(parse(text.as_bytes()), Err(NoLabel::Word), "{text}");
        }
        assert_eq!(parse(b"\xff"), Err(NoLabel::Word));
        for text in ["[16777217]", "[-9007199254740993]", "0.5 1e40", "[1e400]"] {
            assert!(matches!(parse(text.as_bytes()), Err(NoLabel::Number(_))), "{text}");
        }
    }

    #[test]
    fn a_number_ends_a_key() {
        assert_eq!(numbered_key("depth.png", 7), "depth.png-000000007");
        for (key, source) in [
            (&b"image-000000001"[..], Some("image")),
            (b"left-2-0000000010", Some("left-2")),
            (b"-000000001", None),
            (b"image-00000001", None),
            (b"image-00000000x", None),
            (b"image000000001", None),
            (b"\xff-000000001", None),
        ] {
            assert_eq!(source_of(key), source, "{key:?}");
        }
    }

    #[test]
    fn the_layout_shows_in_a_value() {
        let (jpeg, png) = (b"\xff\xd8\xff\xe0\0\x10JFIF".as_slice(), b"\x89PNG\r\n\x1a\n".as_slice());
        let bmp = b"BM\x36\0\0\0\0\0\0\0\0\0";
        for (value, layout) in [
            (jpeg.to_vec(), LmdbLayout::Image),
            (bmp.to_vec(), LmdbLayout::Image),
            ([b"\x07\0\0\0", jpeg].concat(), LmdbLayout::ClassAndImage),
            // The first two bytes of this class are the same as a bitmap's.
            ([b"BM\0\0", png].concat(), LmdbLayout::ClassAndImage),
        ] {
            assert_eq!(LmdbLayout::of(&value), Ok(layout));
        }
        assert!(LmdbLayout::of(b"\x80\x04\x95...").unwrap_err().contains("pickle"));
        assert!(LmdbLayout::of(b"").is_err());
    }
}
