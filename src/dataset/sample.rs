//! A sample: its image, its label and its fields.

use std::sync::Arc;

use super::{FieldValue, SampleData};

/// A sample as a [`Dataset`](super::Dataset) returns it: its image, encoded or as pixels, its label, and the values of
/// its fields.
///
/// ```
/// use gpufeed::{Label, Sample, SampleData};
///
/// let sample = Sample::new(SampleData::Encoded(b"\xff\xd8\xff"), Label::Class(4));
/// assert!(matches!(sample.data, SampleData::Encoded(bytes) if bytes.len() == 3));
/// ```
#[derive(Clone, Debug)]
pub struct Sample<'a> {
    /// The image, as a file or as pixels.
    pub data: SampleData<'a>,
    /// The label that goes with it.
    pub label: Label,
    /// A value for each of the data set's [fields](super::Dataset::fields), in their order; empty without fields.
    pub fields: Vec<FieldValue<'a>>,
}

impl<'a> Sample<'a> {
    /// A sample without fields. Allocates nothing.
    pub fn new(data: SampleData<'a>, label: Label) -> Self {
        Sample { data, label, fields: Vec::new() }
    }

    /// Adds the values of the data set's fields, in their order.
    pub fn with_fields(self, fields: Vec<FieldValue<'a>>) -> Self {
        Sample { fields, ..self }
    }
}

/// A sample's label. Cheap to clone.
///
/// ```
/// use gpufeed::Label;
///
/// assert_eq!(Label::default(), Label::None);
/// assert_eq!(Label::from(3), Label::Class(3));
/// assert_eq!(Label::from(vec![0.0, 1.0, 1.0]), Label::Multi([0.0, 1.0, 1.0].into()));
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Label {
    /// The sample has no label.
    #[default]
    None,
    /// A class, by its index.
    Class(u32),
    /// One number for each class or target: several classes at once, soft labels, regression.
    Multi(Arc<[f32]>),
}

impl From<u32> for Label {
    fn from(class: u32) -> Self {
        Label::Class(class)
    }
}

impl From<Vec<f32>> for Label {
    fn from(values: Vec<f32>) -> Self {
        Label::Multi(values.into())
    }
}
