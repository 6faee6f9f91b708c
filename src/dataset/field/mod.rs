//! Named fields: what a sample has beside its image and its label.
//!
//! `value.rs` has the values of one sample, `numbers.rs` those that are numbers, `choice.rs` the setting that says which
//! fields are read.

mod choice;
mod numbers;
mod value;

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::quote::Shown;

pub use choice::FieldChoice;
pub use numbers::{NumberType, Numbers};
pub use value::FieldValue;

/// Default limit of the bytes of a field's value: 1 MiB.
///
/// ```
/// use gpufeed::dataset::MAX_FIELD_BYTES;
///
/// assert_eq!(MAX_FIELD_BYTES, 1 << 20);
/// ```
pub const MAX_FIELD_BYTES: u64 = 1 << 20;

/// A field of the samples of a data set: its name in a batch, the kind of its values, and what a sample without a value
/// gets.
///
/// Without a [`kind`](Self::kind) a data set decides by what it reads: a member `.txt` of a tar file is text, a column of
/// integers is numbers.
///
/// ```
/// use gpufeed::dataset::{Field, FieldKind, FieldValue};
///
/// let caption = Field::new("caption").kind(FieldKind::Text).default_value(FieldValue::from(""));
/// assert_eq!((caption.name(), caption.values()), ("caption", Some(FieldKind::Text)));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    name: String,
    kind: Option<FieldKind>,
    absent: Absent,
}

/// The kind of a field's values.
///
/// ```
/// use gpufeed::dataset::{FieldKind, FieldValue};
///
/// assert_eq!(FieldValue::from("a cat").kind(), Some(FieldKind::Text));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FieldKind {
    /// An image beside the sample's own. A batch has it in the groups of which it is the source
    /// ([`Views::source`](crate::Views::source)); the loader says once that no group has it as its source.
    Image,
    /// Text in UTF-8, as it is: nothing is stripped.
    Text,
    /// A JSON document, as it is.
    Json,
    /// Bytes, as they are.
    Bytes,
    /// Numbers of one type and one shape, a single number among them.
    Numbers,
    /// The objects that the sample's own image shows, with boxes and keypoints. A batch has them moved as the image's pixels are:
    /// [`Batch::targets`](crate::Batch::targets).
    Objects,
}

/// The setting for samples without a value: what a batch then has in its place.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) enum Absent {
    /// The sample fails, and another one replaces it.
    #[default]
    Fail,
    /// No value; not for numbers, as a batch has them in one array.
    None,
    Value(FieldValue<'static>),
}

impl Field {
    /// A field with this name in batches, of which every sample must have a value.
    pub fn new(name: impl Into<String>) -> Field {
        Field { name: name.into(), kind: None, absent: Absent::Fail }
    }

    /// Sets the kind of the values. Values of another kind make their sample fail.
    pub fn kind(self, kind: FieldKind) -> Field {
        Field { kind: Some(kind), ..self }
    }

    /// Lets samples lack the field: a batch then has no value for them. Without it such a sample fails.
    ///
    /// Numbers of a batch are one array, so they need a [`default_value`](Self::default_value) instead.
    pub fn optional(self) -> Field {
        Field { absent: Absent::None, ..self }
    }

    /// Sets the value of samples without one.
    pub fn default_value(self, value: FieldValue<'static>) -> Field {
        Field { absent: Absent::Value(value), ..self }
    }

    /// The name in batches.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The kind of the values; `None` where the data set decides. The fields that a
    /// [`Dataset`](super::Dataset::fields) returns have one.
    pub fn values(&self) -> Option<FieldKind> {
        self.kind
    }

    /// Returns true if a sample without a value fails: the field is neither optional nor has a default value.
    pub fn is_required(&self) -> bool {
        self.absent == Absent::Fail
    }

    pub(crate) fn absent(&self) -> &Absent {
        &self.absent
    }

    /// The numbers of samples without a value.
    pub(crate) fn default_numbers(&self) -> Option<&Numbers<'static>> {
        match &self.absent {
            Absent::Value(FieldValue::Numbers(numbers)) => Some(numbers),
            _ => None,
        }
    }

    /// Gives a default value of numbers the type that the numbers of all samples have. Otherwise the type of a batch would
    /// depend on whether a sample of it lacks the field.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`](crate::ErrorKind::Argument) for a value that the type does not hold, or of another shape.
    pub(crate) fn with_numbers_of(mut self, number_type: NumberType, shape: Option<&[usize]>) -> Result<Field> {
        if let Some(default) = self.default_numbers() {
            let fits = shape.is_none_or(|shape| shape == default.shape());
            let Some(default) = default.in_type(number_type).filter(|_| fits) else {
                let (is, was) = (number_type.name(), default.number_type().name());
                let of =
                    |shape: &[usize]| if shape.is_empty() { String::new() } else { format!(" of shape {shape:?}") };
                let reason = format!(
                    "the default value of {:?}, {was}{}, is no {is}{}, which its numbers are in all samples",
                    self.name,
                    of(default.shape()),
                    of(shape.unwrap_or(default.shape()))
                );
                return Err(Error::argument("fields", reason));
            };
            self.absent = Absent::Value(FieldValue::Numbers(default));
        }
        Ok(self)
    }

    /// Checks a field with the name `image`, which is the sample's own image.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`](crate::ErrorKind::Argument) where samples may lack it, and for another kind.
    pub(crate) fn check_own_image(&self) -> Result<()> {
        if self.is_required() && self.kind.is_none_or(|kind| kind == FieldKind::Image) {
            return Ok(());
        }
        let reason =
            "the sample's own image is an image, and every sample has one; a further image is a field of another name";
        Err(Error::argument("fields", reason))
    }

    /// Checks the fields of a data set, which a loader is about to read: names that differ, kinds, defaults that fit.
    pub(crate) fn check(fields: &[Field]) -> Result<()> {
        for (number, field) in fields.iter().enumerate() {
            let name = &field.name;
            let refuse = |reason: String| Err(Error::argument("fields", reason));
            if name.is_empty() {
                return refuse("the name of a field is empty".to_owned());
            }
            if ["image", "label"].contains(&&**name) {
                return refuse(format!("{name:?} is the name of the sample's own {name}; give the field another name"));
            }
            if fields[..number].iter().any(|other| other.name == *name) {
                return refuse(format!("two fields have the name {name:?}"));
            }
            let Some(kind) = field.kind else {
                return refuse(format!("the data set does not say of which kind the values of {name:?} are"));
            };
            match &field.absent {
                Absent::None if kind == FieldKind::Numbers => {
                    return refuse(format!(
                        "{name:?} has numbers, which every sample of a batch must have; give a default value instead"
                    ));
                }
                Absent::Value(value) if value.kind() != Some(kind) => {
                    return refuse(format!(
                        "the default value of {name:?} is {}, but its values are {kind}",
                        value.what()
                    ));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

impl From<&str> for Field {
    fn from(name: &str) -> Self {
        Field::new(name)
    }
}

impl From<String> for Field {
    fn from(name: String) -> Self {
        Field::new(name)
    }
}

/// The name, the kind, and what a sample without a value gets: `caption (text, may be absent)`.
impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (", Shown(&self.name))?;
        match self.kind {
            Some(kind) => write!(f, "{kind}")?,
            None => f.write_str("any kind")?,
        }
        match &self.absent {
            Absent::Fail => f.write_str(")"),
            Absent::None => f.write_str(", may be absent)"),
            Absent::Value(_) => f.write_str(", with a default value)"),
        }
    }
}

impl fmt::Display for FieldKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            FieldKind::Image => "images",
            FieldKind::Text => "text",
            FieldKind::Json => "JSON",
            FieldKind::Bytes => "bytes",
            FieldKind::Numbers => "numbers",
            FieldKind::Objects => "objects",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(fields: &[Field]) -> String {
        Field::check(fields).unwrap_err().to_string()
    }

    #[test]
    fn fields_that_cannot_be_are_refused() {
        let text = |name: &str| Field::new(name).kind(FieldKind::Text);
        assert!(Field::check(&[text("caption"), text("title").optional()]).is_ok());
        assert!(refused(&[text("")]).contains("is empty"));
        assert!(refused(&[text("label")]).contains("the sample's own label"));
        assert!(refused(&[text("a"), text("b"), text("a")]).contains("two fields have the name \"a\""));
        assert!(refused(&[Field::new("a")]).contains("does not say of which kind"));
        let numbers = || Field::new("a").kind(FieldKind::Numbers);
        assert!(refused(&[numbers().optional()]).contains("give a default value"));
        assert!(Field::check(&[numbers().default_value(FieldValue::from(0.5))]).is_ok());
        let wrong = refused(&[numbers().default_value(FieldValue::from("x"))]);
        assert!(wrong.contains("is text, but its values are numbers"), "{wrong}");
    }

    #[test]
    fn a_default_has_the_type_of_the_other_numbers() {
        let score = |default: FieldValue<'static>| Field::new("score").kind(FieldKind::Numbers).default_value(default);
        let typed = score(FieldValue::from(-1_i64)).with_numbers_of(NumberType::F64, Some(&[])).unwrap();
        assert_eq!(typed, score(FieldValue::from(-1.0)));
        let refused = |number_type, shape: &[usize]| {
            score(FieldValue::from(0.5)).with_numbers_of(number_type, Some(shape)).unwrap_err().to_string()
        };
        let error = refused(NumberType::I64, &[]);
        assert!(error.contains("the default value of \"score\", float64, is no int64"), "{error}");
        assert!(refused(NumberType::F64, &[2]).contains("is no float64 of shape [2]"));
        let caption = Field::new("caption").default_value(FieldValue::from(""));
        assert_eq!(caption.clone().with_numbers_of(NumberType::F64, None).unwrap(), caption);
    }
}
