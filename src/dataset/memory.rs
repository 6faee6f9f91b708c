//! A data set in memory.

use bytes::Bytes;

use super::{Dataset, Field, FieldValue, Label, PixelFormat, Pixels, Sample, SampleData, out_of_range};
use crate::error::{Error, Result};

/// Samples held in memory: encoded files, pixels, or both.
///
/// All samples have the same number of channels as the first one: 1 for [`PixelFormat::R8`] or one-channel
/// [`PixelFormat::F32`], else 3. Encoded files count as 3, gray ones too, because they are not decoded here. Sample `i`
/// is the `i`-th one pushed.
///
/// ```
/// use gpufeed::{Dataset, InMemory, Label, PixelFormat};
///
/// let mut digits = InMemory::new();
/// for digit in 0..10 {
///     digits.push_pixels(28, 28, PixelFormat::R8, vec![0; 28 * 28], Label::Class(digit))?;
/// }
/// assert_eq!((digits.len(), digits.channels()), (10, 1));
///
/// // Encoded files can be collected with their labels.
/// let files: InMemory = [(vec![0xff, 0xd8], Label::Class(0)), (vec![0x89], Label::None)]
///     .into_iter()
///     .collect();
/// assert_eq!((files.len(), files.channels()), (2, 3));
/// # Ok::<(), gpufeed::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct InMemory {
    samples: Vec<MemorySample>,
    classes: Vec<String>,
    fields: Vec<Field>,
}

/// A sample of the data set: its file, or its pixels.
#[derive(Clone, Debug)]
struct MemorySample {
    bytes: Bytes,
    shape: Option<Shape>,
    label: Label,
    /// The values of the fields; empty until they are given.
    fields: Vec<FieldValue<'static>>,
}

/// Size and format of pixels; encoded samples have none.
#[derive(Clone, Copy, Debug)]
struct Shape {
    width: u32,
    height: u32,
    format: PixelFormat,
}

impl MemorySample {
    fn channels(&self) -> u32 {
        self.shape.map_or(3, |shape| shape.format.channels())
    }
}

impl InMemory {
    /// Makes a data set without samples or class names.
    pub fn new() -> Self {
        Self::default()
    }

    /// Names the classes of [`Label::Class`]. By default they have no names.
    #[must_use]
    pub fn with_classes<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.classes = names.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the fields of the samples: [`push_fields`](Self::push_fields) gives their values.
    #[must_use]
    pub fn with_fields(mut self, fields: impl IntoIterator<Item = Field>) -> Self {
        self.fields = fields.into_iter().collect();
        self
    }

    /// Gives the sample that was pushed last the values of its fields, in the order of
    /// [`with_fields`](Self::with_fields). A sample that is given none has none.
    ///
    /// ```
    /// use gpufeed::dataset::{Field, FieldKind, FieldValue};
    /// use gpufeed::{InMemory, Label};
    ///
    /// let mut data = InMemory::new().with_fields([Field::new("caption").kind(FieldKind::Text)]);
    /// data.push_encoded(vec![0xff, 0xd8], Label::None)?;
    /// data.push_fields([FieldValue::from("a cat")])?;
    /// # Ok::<(), gpufeed::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Argument`](crate::ErrorKind::Argument) if there is no sample, for more or fewer values than fields,
    /// and for images, which a field in memory cannot hold.
    pub fn push_fields(&mut self, values: impl IntoIterator<Item = FieldValue<'static>>) -> Result<()> {
        let values: Vec<_> = values.into_iter().collect();
        let Some(last) = self.samples.last_mut() else {
            return Err(Error::argument("fields", "there is no sample yet: push its image first".to_owned()));
        };
        if values.len() != self.fields.len() || values.iter().any(|value| matches!(value, FieldValue::Image(_))) {
            let (found, fields) = (values.len(), self.fields.len());
            return Err(Error::argument(
                "fields",
                format!("{found} values, but there are {fields} fields, and none may be an image"),
            ));
        }
        last.fields = values;
        Ok(())
    }

    /// Adds a whole image file. A `Vec<u8>` or [`Bytes`] is moved in, not copied. The file is not decoded: a damaged
    /// one is an error when a loader decodes it.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Argument`](crate::ErrorKind::Argument) if the samples so far have one channel.
    pub fn push_encoded(&mut self, bytes: impl Into<Bytes>, label: Label) -> Result<()> {
        self.push(MemorySample { bytes: bytes.into(), shape: None, label, fields: Vec::new() })
    }

    /// Adds `height` rows of `width` pixels in the given [`PixelFormat`]. A `Vec<u8>` or [`Bytes`] is moved in, not
    /// copied.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Argument`](crate::ErrorKind::Argument) if the bytes do not fit ([`Pixels::new`]), or if the samples
    /// so far have another number of channels.
    pub fn push_pixels(
        &mut self,
        width: u32,
        height: u32,
        format: PixelFormat,
        bytes: impl Into<Bytes>,
        label: Label,
    ) -> Result<()> {
        let bytes = bytes.into();
        Pixels::new(width, height, format, &bytes)?;
        self.push(MemorySample { bytes, shape: Some(Shape { width, height, format }), label, fields: Vec::new() })
    }

    fn push(&mut self, sample: MemorySample) -> Result<()> {
        let (new, old) = (sample.channels(), self.channels());
        if !self.is_empty() && new != old {
            return Err(Error::argument(
                "channels",
                format!(
                    "this sample has {new} and the {} before it have {old} (encoded files count as 3); \
                     make one InMemory for each",
                    self.len()
                ),
            ));
        }
        self.samples.push(sample);
        Ok(())
    }
}

impl Dataset for InMemory {
    fn len(&self) -> usize {
        self.samples.len()
    }

    fn inner(&self) -> Option<&dyn Dataset> {
        None
    }

    fn read<'a>(&'a self, index: usize, _buffer: &'a mut Vec<u8>) -> Result<Sample<'a>> {
        let sample = self.samples.get(index).ok_or_else(|| out_of_range(index, self.len()))?;
        let data = match sample.shape {
            None => SampleData::Encoded(&sample.bytes),
            Some(Shape { width, height, format }) => {
                SampleData::Pixels(Pixels::new(width, height, format, &sample.bytes)?)
            }
        };
        let fields = match sample.fields.len() < self.fields.len() {
            true => vec![FieldValue::Absent; self.fields.len()],
            false => sample.fields.clone(),
        };
        Ok(Sample::new(data, sample.label.clone()).with_fields(fields))
    }

    fn label(&self, index: usize) -> Option<Label> {
        self.samples.get(index).map(|sample| sample.label.clone())
    }

    fn name(&self, index: usize) -> String {
        format!("sample {index}")
    }

    fn channels(&self) -> u32 {
        self.samples.first().map_or(3, MemorySample::channels)
    }

    fn classes(&self) -> &[String] {
        &self.classes
    }

    fn fields(&self) -> &[Field] {
        &self.fields
    }

    fn is_in_memory(&self) -> bool {
        true
    }
}

/// Collects encoded files with their labels.
impl<B: Into<Bytes>> FromIterator<(B, Label)> for InMemory {
    fn from_iter<I: IntoIterator<Item = (B, Label)>>(files: I) -> Self {
        let sample =
            |(bytes, label): (B, Label)| MemorySample { bytes: bytes.into(), shape: None, label, fields: Vec::new() };
        InMemory { samples: files.into_iter().map(sample).collect(), ..InMemory::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GRAY: PixelFormat = PixelFormat::R8;
    const GRAY_FLOAT: PixelFormat = PixelFormat::F32 { channels: 1 };

    #[test]
    fn reads_what_was_pushed() {
        let mut data = InMemory::new().with_classes(["cat", "dog"]);
        data.push_encoded(vec![1, 2, 3], Label::Class(1)).unwrap();
        data.push_pixels(1, 2, PixelFormat::Rgb8, vec![4; 6], Label::from(vec![0.5])).unwrap();
        data.push_pixels(1, 1, PixelFormat::Rgba8, vec![5; 4], Label::None).unwrap();
        assert_eq!((data.len(), data.channels()), (3, 3));
        assert_eq!(data.classes(), ["cat", "dog"]);

        let mut buffer = Vec::new();
        let first = data.read(0, &mut buffer).unwrap();
        assert_eq!(first.label, Label::Class(1));
        assert!(matches!(first.data, SampleData::Encoded([1, 2, 3])));
        let second = data.read(1, &mut buffer).unwrap();
        assert_eq!(second.label, Label::Multi([0.5].into()));
        let SampleData::Pixels(pixels) = second.data else { panic!("encoded") };
        assert_eq!((pixels.width(), pixels.height(), pixels.bytes()), (1, 2, &[4; 6][..]));
        assert_eq!(buffer.capacity(), 0, "nothing is copied");

        let refused = data.read(3, &mut buffer).unwrap_err().to_string();
        assert_eq!(refused, "index: 3 is not below the data set's length, 3");
        assert_eq!(data.name(3), "sample 3");
    }

    #[test]
    fn refuses_a_mix_of_channels_and_keeps_what_it_has() {
        let mut gray = InMemory::new();
        gray.push_pixels(1, 1, GRAY, vec![0], Label::None).unwrap();
        gray.push_pixels(1, 1, GRAY_FLOAT, vec![0; 4], Label::None).unwrap();
        let refused = gray.push_encoded(vec![1], Label::None).unwrap_err().to_string();
        assert!(refused.contains("has 3 and the 2 before it have 1"), "{refused}");
        assert!(gray.push_pixels(1, 1, PixelFormat::Rgb8, vec![0; 3], Label::None).is_err());
        assert_eq!((gray.len(), gray.channels()), (2, 1));

        let mut color = InMemory::from_iter([(vec![1], Label::None)]);
        assert!(color.push_pixels(1, 1, GRAY, vec![0], Label::None).is_err());
        assert_eq!((color.len(), color.channels()), (1, 3));
    }

    #[test]
    fn refuses_bytes_that_do_not_fit() {
        let mut data = InMemory::new();
        assert!(data.push_pixels(2, 2, GRAY, vec![0; 3], Label::None).is_err());
        assert!(data.is_empty());
    }
}
