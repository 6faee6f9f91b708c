//! Where the images of groups come from: the sample's own image, or the image of a field.

use crate::dataset::{Absent, Dataset, Field, FieldKind, FieldValue, Sample, SampleData};
use crate::decode::ReadMode;
use crate::error::{Error, ErrorKind, Result};

/// The image of a sample that some groups read. Those of one source share what is decoded.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Source {
    /// The number of the field; `None` for the sample's own image.
    field: Option<usize>,
    /// The name of the field; empty for the sample's own image.
    name: String,
    pub(super) mode: ReadMode,
}

impl Source {
    /// The sample's own image.
    pub(super) const OWN: Source = Source { field: None, name: String::new(), mode: ReadMode::Color };

    /// The image of the field with this name.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`] for a name that no field has, and for a field that has no images.
    pub(super) fn of_field(fields: &[Field], name: &str, mode: ReadMode) -> Result<Source> {
        let refuse = |reason: String| Err(Error::argument("source", reason));
        let Some(number) = fields.iter().position(|field| field.name() == name) else {
            let names: Vec<_> = fields.iter().map(Field::to_string).collect();
            let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            return refuse(format!("the data set has no field {name:?}; it has {names}"));
        };
        match fields[number].values() {
            Some(FieldKind::Image) => Ok(Source { field: Some(number), name: name.to_owned(), mode }),
            other => {
                let kind = other.map_or_else(|| "of any kind".to_owned(), |kind| kind.to_string());
                refuse(format!(
                    "the values of {name:?} are {kind}, but images are needed; a field of files has the kind \"image\""
                ))
            }
        }
    }

    /// The number of the field; `None` for the sample's own image.
    pub(super) fn field(&self) -> Option<usize> {
        self.field
    }

    /// The name of the field; `None` for the sample's own image.
    pub(super) fn name(&self) -> Option<&str> {
        self.field.map(|_| self.name.as_str())
    }

    /// Channels of the images.
    pub(super) fn channels(&self, dataset: &dyn Dataset) -> u32 {
        if self.field.is_none() { dataset.channels() } else { self.mode.channels() }
    }

    /// The image of a sample, whose data set has these fields.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`] if the sample has no such image.
    pub(super) fn image<'a>(&self, fields: &'a [Field], sample: &Sample<'a>) -> Result<SampleData<'a>> {
        let Some(number) = self.field else { return Ok(sample.data) };
        let (value, name) = (sample.fields.get(number), &self.name);
        match (value, fields.get(number).map(Field::absent)) {
            (Some(FieldValue::Image(data)), _) => Ok(*data),
            (None | Some(FieldValue::Absent), Some(Absent::Value(FieldValue::Image(data)))) => Ok(*data),
            (None | Some(FieldValue::Absent), _) => {
                Err(Error::argument("fields", format!("the sample has no {name:?}, of which a group makes its images")))
            }
            (Some(other), _) => {
                let (found, expected) = (other.what(), FieldKind::Image);
                Err(Error::argument(
                    "fields",
                    format!("{name:?} of the sample is {found}, but of the data set {expected}"),
                ))
            }
        }
    }

    /// The error of an image of this source, which names the field.
    pub(super) fn named(&self, error: Error) -> Error {
        let Some(name) = self.name() else { return error };
        let with_name = |reason: &str| format!("{name:?}: {reason}");
        let advice = error.advice().to_vec();
        // The advice of a kind comes with the kind.
        let kind = match error.kind() {
            ErrorKind::Decode { format, reason } => ErrorKind::Decode { format, reason: with_name(reason) },
            ErrorKind::TruncatedImage { format, reason } => {
                ErrorKind::TruncatedImage { format, reason: with_name(reason) }
            }
            ErrorKind::Transform { transform, width, height, reason } => {
                let (width, height, reason) = (*width, *height, with_name(reason));
                ErrorKind::Transform { transform, width, height, reason }
            }
            ErrorKind::Argument { setting, reason } => {
                let named = Error::argument(setting, with_name(reason));
                return advice.into_iter().fold(named, Error::advise);
            }
            ErrorKind::TooManyPixels { .. }
            | ErrorKind::TooMuchMemory { .. }
            | ErrorKind::NoMemory { .. }
            | ErrorKind::NoHostMemory { .. }
            | ErrorKind::IntermediateTooLarge { .. } => {
                let named = Error::argument("fields", with_name(&error.kind().to_string()));
                return advice.into_iter().fold(named, Error::advise);
            }
            // Those of a user's function, which may end the run.
            _ => return error,
        };
        kind.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::Label;

    fn fields() -> [Field; 3] {
        static BLACK: [u8; 1] = [0];
        let pixels = crate::Pixels::new(1, 1, crate::PixelFormat::R8, &BLACK).unwrap();
        let black = FieldValue::Image(SampleData::Pixels(pixels));
        let images = |name: &str| Field::new(name).kind(FieldKind::Image);
        [Field::new("caption").kind(FieldKind::Text), images("right").optional(), images("mask").default_value(black)]
    }

    #[test]
    fn only_fields_of_images_are_sources() {
        let fields = fields();
        let refused = |name: &str| Source::of_field(&fields, name, ReadMode::Color).unwrap_err().to_string();
        assert!(refused("caption").contains("the values of \"caption\" are text, but images are needed"));
        assert!(refused("left").contains("has no field \"left\"; it has caption (text), right (images"));
        let error = Source::of_field(&[], "left", ReadMode::Color).unwrap_err().to_string();
        assert!(error.ends_with("it has none"), "{error}");
    }

    #[test]
    fn an_image_that_is_absent_is_the_default_or_an_error() {
        let fields = fields();
        let source = |name: &str| Source::of_field(&fields, name, ReadMode::Color).unwrap();
        let sample = |right: FieldValue<'static>| {
            let fields = vec![FieldValue::from("x"), right, FieldValue::Absent];
            Sample::new(SampleData::Encoded(&[1, 2]), Label::None).with_fields(fields)
        };
        let right = sample(FieldValue::Image(SampleData::Encoded(&[3, 4, 5])));
        assert_eq!(source("right").image(&fields, &right).unwrap().len(), 3);
        assert_eq!(source("mask").image(&fields, &right).unwrap().len(), 1);
        assert_eq!(Source::OWN.image(&fields, &right).unwrap().len(), 2);
        let error = source("right").image(&fields, &sample(FieldValue::Absent)).unwrap_err().to_string();
        assert!(error.contains("the sample has no \"right\""), "{error}");
        let error = source("right").image(&fields, &sample(FieldValue::from("y"))).unwrap_err().to_string();
        assert!(error.contains("\"right\" of the sample is text, but of the data set images"), "{error}");
    }

    #[test]
    fn errors_keep_their_kind_and_their_advice() {
        let source = Source::of_field(&fields(), "right", ReadMode::Color).unwrap();
        let cut = || Error::from(ErrorKind::TruncatedImage { format: "PNG", reason: "row 3".to_owned() });
        let named = source.named(cut());
        assert!(matches!(named.kind(), ErrorKind::TruncatedImage { .. }));
        assert!(named.to_string().contains("truncated PNG: \"right\": row 3"), "{named}");
        assert_eq!(named.advice(), cut().advice());
        let large = || Error::from(ErrorKind::TooManyPixels { width: 9, height: 9, max_pixels: 80 });
        assert!(source.named(large()).to_string().starts_with("fields: \"right\": the image has 9x9 pixels"));
        assert_eq!(source.named(large()).advice(), large().advice());
        assert_eq!(Source::OWN.named(large()).to_string(), large().to_string());
    }
}
