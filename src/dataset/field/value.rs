//! The value of a field in one sample.

use std::borrow::Cow;

use super::super::SampleData;
use super::{FieldKind, Numbers};
use crate::objects::Objects;

/// The value of a [`Field`](super::Field) in one sample.
///
/// ```
/// use gpufeed::dataset::{FieldValue, Numbers};
///
/// let caption = FieldValue::from("two dogs");
/// let score = FieldValue::from(0.25);
/// assert_eq!(score, FieldValue::Numbers(Numbers::from(0.25)));
/// # let _ = caption;
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub enum FieldValue<'a> {
    /// The sample has no value: the field's setting decides what that means.
    #[default]
    Absent,
    /// An image, as a file or as pixels.
    Image(SampleData<'a>),
    /// A text in UTF-8.
    Text(Cow<'a, str>),
    /// A JSON document as it is.
    Json(Cow<'a, str>),
    /// Bytes as they are.
    Bytes(Cow<'a, [u8]>),
    /// Numbers of one type, or a single number.
    Numbers(Numbers<'a>),
    /// The objects of the sample's own image.
    Objects(Cow<'a, Objects>),
}

impl<'a> FieldValue<'a> {
    /// The kind of the value; `None` for an absent one.
    pub fn kind(&self) -> Option<FieldKind> {
        Some(match self {
            FieldValue::Absent => return None,
            FieldValue::Image(_) => FieldKind::Image,
            FieldValue::Text(_) => FieldKind::Text,
            FieldValue::Json(_) => FieldKind::Json,
            FieldValue::Bytes(_) => FieldKind::Bytes,
            FieldValue::Numbers(_) => FieldKind::Numbers,
            FieldValue::Objects(_) => FieldKind::Objects,
        })
    }

    /// The kind for people.
    pub(crate) fn what(&self) -> String {
        self.kind().map_or_else(|| "absent".to_owned(), |kind| kind.to_string())
    }

    /// Bytes of the value.
    pub(crate) fn bytes(&self) -> u64 {
        let bytes = match self {
            FieldValue::Absent => 0,
            FieldValue::Image(data) => data.len(),
            FieldValue::Text(text) | FieldValue::Json(text) => text.len(),
            FieldValue::Bytes(bytes) => bytes.len(),
            FieldValue::Numbers(numbers) => numbers.bytes().len(),
            FieldValue::Objects(objects) => objects.bytes(),
        };
        bytes as u64
    }

    /// Copies the value out of the buffer that it was read into; `None` for an image, which is not copied.
    pub(crate) fn into_owned(self) -> Option<FieldValue<'static>> {
        Some(match self {
            FieldValue::Absent => FieldValue::Absent,
            FieldValue::Image(_) => return None,
            FieldValue::Text(text) => FieldValue::Text(Cow::Owned(text.into_owned())),
            FieldValue::Json(text) => FieldValue::Json(Cow::Owned(text.into_owned())),
            FieldValue::Bytes(bytes) => FieldValue::Bytes(Cow::Owned(bytes.into_owned())),
            FieldValue::Numbers(numbers) => FieldValue::Numbers(numbers.into_owned()),
            FieldValue::Objects(objects) => FieldValue::Objects(Cow::Owned(objects.into_owned())),
        })
    }
}

/// Two images are never equal, as their pixels are not compared.
impl PartialEq for FieldValue<'_> {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (FieldValue::Absent, FieldValue::Absent) => true,
            (FieldValue::Text(a), FieldValue::Text(b)) | (FieldValue::Json(a), FieldValue::Json(b)) => a == b,
            (FieldValue::Bytes(a), FieldValue::Bytes(b)) => a == b,
            (FieldValue::Numbers(a), FieldValue::Numbers(b)) => a == b,
            (FieldValue::Objects(a), FieldValue::Objects(b)) => a == b,
            _ => false,
        }
    }
}

impl<'a> From<&'a str> for FieldValue<'a> {
    fn from(text: &'a str) -> Self {
        FieldValue::Text(Cow::Borrowed(text))
    }
}

impl From<String> for FieldValue<'_> {
    fn from(text: String) -> Self {
        FieldValue::Text(Cow::Owned(text))
    }
}

impl<'a> From<&'a [u8]> for FieldValue<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        FieldValue::Bytes(Cow::Borrowed(bytes))
    }
}

impl From<f64> for FieldValue<'_> {
    fn from(number: f64) -> Self {
        FieldValue::Numbers(Numbers::from(number))
    }
}

impl From<i64> for FieldValue<'_> {
    fn from(number: i64) -> Self {
        FieldValue::Numbers(Numbers::from(number))
    }
}

impl From<bool> for FieldValue<'_> {
    fn from(number: bool) -> Self {
        FieldValue::Numbers(Numbers::from(number))
    }
}

impl From<Objects> for FieldValue<'_> {
    fn from(objects: Objects) -> Self {
        FieldValue::Objects(Cow::Owned(objects))
    }
}

impl<'a> From<&'a Objects> for FieldValue<'a> {
    fn from(objects: &'a Objects) -> Self {
        FieldValue::Objects(Cow::Borrowed(objects))
    }
}

impl<'a> From<Numbers<'a>> for FieldValue<'a> {
    fn from(numbers: Numbers<'a>) -> Self {
        FieldValue::Numbers(numbers)
    }
}
