//! Images of one size in one array.
//!
//! `values.rs` has the values of an array, bytes or floats.

mod values;

use crate::advice::{self, Reason};
use bytes::Bytes;

use super::labels::Labels;
use super::{Dataset, Label, Notice, PixelFormat, Pixels, Sample, SampleData, out_of_range};
use crate::error::{Error, Result};
use values::interleaved;

pub use values::ArrayValues;

/// Images of one size in one array, with labels: the case of torch's `TensorDataset`.
///
/// Values are bytes, or floats from 0 for black to 1 for white. Images have 1 channel (gray) or 3 (red, green, blue).
/// Images of bytes may have 4; the last one, alpha, is dropped when they are used. [`nhwc`](Self::nhwc) takes over an
/// array without a copy; reading a sample copies and allocates nothing.
///
/// ```
/// use gpufeed::{Arrays, Dataset, Label};
///
/// // Two RGB images of 4x3 pixels (width x height) and their classes.
/// let images = Arrays::nhwc([2, 3, 4, 3], vec![128u8; 2 * 3 * 4 * 3])?.with_labels([7, 1])?;
/// assert_eq!((images.len(), images.width(), images.height()), (2, 4, 3));
/// assert_eq!(images.read(1, &mut Vec::new())?.label, Label::Class(1));
///
/// // In torch's layout, channels first, with floats; two targets for each image.
/// let tensors = Arrays::nchw([2, 3, 4, 4], vec![0.5f32; 2 * 3 * 4 * 4])?.with_targets(vec![0.0, 1.0, 1.0, 0.0])?;
/// assert_eq!(tensors.read(1, &mut Vec::new())?.label, Label::from(vec![1.0, 0.0]));
/// # Ok::<(), gpufeed::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Arrays {
    /// All images, one after the other.
    bytes: Bytes,
    len: usize,
    width: u32,
    height: u32,
    format: PixelFormat,
    labels: Labels,
    classes: Vec<String>,
    /// Where the images come from; used in sample names.
    source: Option<String>,
    /// What the reader of a file noticed.
    notices: Vec<Notice>,
}

impl Arrays {
    /// Makes a data set of `values`, channels last. `shape` is the number of images, their height, their width and
    /// their channels, the last changing fastest. Copies nothing.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Argument`](crate::ErrorKind::Argument) if the number of values does not fit the shape, if height or
    /// width is 0 or above 2^32 - 1, or if there are not 1 or 3 channels (bytes: 1, 3 or 4).
    pub fn nhwc(shape: [usize; 4], values: impl Into<ArrayValues>) -> Result<Self> {
        let values = values.into();
        let [len, height, width, channels] = shape;
        let needed = shape.iter().try_fold(1usize, |product, &size| product.checked_mul(size));
        if needed.is_none_or(|needed| needed.checked_mul(values.size()) != Some(values.bytes.len())) {
            let reason = format!("{shape:?} (images, height, width, channels), but there are {} values", values.len());
            return Err(Error::argument("shape", reason));
        }
        let format = match (channels, values.float) {
            (1, false) => PixelFormat::R8,
            (3, false) => PixelFormat::Rgb8,
            (4, false) => PixelFormat::Rgba8,
            (1, true) => PixelFormat::F32 { channels: 1 },
            (3, true) => PixelFormat::F32 { channels: 3 },
            _ => {
                let reason = format!(
                    "{channels} channels in {shape:?} (images, height, width, channels), but an image has 1 or 3, or \
                     4 of bytes"
                );
                return Err(Error::argument("shape", Reason::new(reason).advise(advice::ARRAYS_NCHW)));
            }
        };
        let side = |size: usize, name: &str| match u32::try_from(size) {
            Ok(side @ 1..) => Ok(side),
            _ => Err(Error::argument("shape", format!("{name} {size} in {shape:?}, but it must be 1 to {}", u32::MAX))),
        };
        let (height, width) = (side(height, "height")?, side(width, "width")?);
        Ok(Arrays {
            bytes: values.bytes,
            len,
            width,
            height,
            format,
            labels: Labels::None,
            classes: Vec::new(),
            source: None,
            notices: Vec::new(),
        })
    }

    /// Makes a data set of `values`, channels first. `shape` is the number of images, their channels, their height and
    /// their width, the last changing fastest. With more than one channel, values are copied once, into the order of
    /// [`nhwc`](Self::nhwc).
    ///
    /// # Errors
    ///
    /// The errors of [`nhwc`](Self::nhwc).
    pub fn nchw(shape: [usize; 4], values: impl Into<ArrayValues>) -> Result<Self> {
        let values = values.into();
        let [len, channels, height, width] = shape;
        let plane = height.saturating_mul(width);
        if channels > 1 && plane > 0 && !matches!(channels, 3 | 4) {
            let reason = format!(
                "{channels} channels in {shape:?} (images, channels, height, width), but an image has 1 or 3, or 4 \
                 of bytes"
            );
            return Err(Error::argument("shape", Reason::new(reason).advise(advice::ARRAYS_NHWC)));
        }
        let ordered = [len, height, width, channels];
        if channels < 2 || plane == 0 {
            return Self::nhwc(ordered, values);
        }
        let whole = channels.checked_mul(plane).and_then(|size| size.checked_mul(len));
        if whole.is_none_or(|whole| whole != values.len()) {
            let reason = format!("{shape:?} (images, channels, height, width), but there are {} values", values.len());
            return Err(Error::argument("shape", reason));
        }
        let values = match values.float {
            false => ArrayValues::from(interleaved::<1>(&values.bytes, channels, plane)),
            true => ArrayValues::floats(interleaved::<4>(&values.bytes, channels, plane)),
        };
        Self::nhwc(ordered, values)
    }

    /// Labels each image with a class.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Argument`](crate::ErrorKind::Argument) unless there is one class for each image.
    pub fn with_labels(mut self, classes: impl Into<Vec<u32>>) -> Result<Self> {
        let classes = classes.into();
        if classes.len() != self.len {
            let reason = format!("{} for {} images; give one for each", classes.len(), self.len);
            return Err(Error::argument("labels", reason));
        }
        self.labels = Labels::Classes(classes);
        Ok(self)
    }

    /// Labels each image with the same number of values, image by image: soft labels, several classes, regression.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Argument`](crate::ErrorKind::Argument) unless the number of `values` is a positive multiple of the
    /// number of images.
    pub fn with_targets(mut self, values: impl AsRef<[f32]>) -> Result<Self> {
        let values = values.as_ref();
        let each = values.len().checked_div(self.len).unwrap_or(0);
        if each * self.len != values.len() || (each == 0 && self.len > 0) {
            let reason = format!("{} values for {} images; give the same number for each", values.len(), self.len);
            return Err(Error::argument("targets", reason));
        }
        self.labels = Labels::Multi(values.chunks_exact(each.max(1)).map(Into::into).collect());
        Ok(self)
    }

    /// Names the classes. By default they have no names.
    #[must_use]
    pub fn with_classes<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.classes = names.into_iter().map(Into::into).collect();
        self
    }

    /// Adds what the reader of a file noticed.
    pub(super) fn add_notices(&mut self, notices: impl IntoIterator<Item = Notice>) {
        self.notices.extend(notices);
    }

    /// Names the source of the images: image 7 is then called "source, image 7" instead of "sample 7".
    #[must_use]
    pub fn with_source(mut self, source: impl Into<String>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// Exchanges the rows and columns of every image; labels stay. EMNIST's images need this to be upright.
    ///
    /// ```
    /// use gpufeed::Arrays;
    ///
    /// let turned = Arrays::nhwc([1, 2, 3, 1], vec![1u8, 2, 3, 4, 5, 6])?.transposed();
    /// assert_eq!(turned.pixels(), [1, 4, 2, 5, 3, 6]);
    /// assert_eq!((turned.width(), turned.height()), (2, 3));
    /// # Ok::<(), gpufeed::Error>(())
    /// ```
    #[must_use]
    pub fn transposed(mut self) -> Self {
        let (size, width) = (self.format.bytes_per_pixel(), self.width as usize);
        let mut turned = Vec::with_capacity(self.bytes.len());
        for image in self.bytes.chunks_exact(self.image_bytes()) {
            for x in 0..width {
                for row in image.chunks_exact(size * width) {
                    turned.extend_from_slice(&row[size * x..size * (x + 1)]);
                }
            }
        }
        self.bytes = turned.into();
        (self.width, self.height) = (self.height, self.width);
        self
    }

    /// Returns the width of every image.
    pub fn width(&self) -> u32 {
        self.width
    }

    /// Returns the height of every image.
    pub fn height(&self) -> u32 {
        self.height
    }

    /// Returns the pixel format of every image.
    pub fn format(&self) -> PixelFormat {
        self.format
    }

    /// Returns all images, one after the other, each [`image_bytes`](Self::image_bytes) long.
    pub fn pixels(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the size of one image in bytes.
    pub fn image_bytes(&self) -> usize {
        // Cannot overflow: `nhwc` has compared the product with the length of the bytes. Without images it may, hence
        // saturating.
        (self.width as usize).saturating_mul(self.height as usize).saturating_mul(self.format.bytes_per_pixel())
    }

    /// Returns the class of every image, in order; `None` without classes.
    pub fn targets(&self) -> Option<&[u32]> {
        match &self.labels {
            Labels::Classes(classes) => Some(classes),
            Labels::None | Labels::Multi(_) => None,
        }
    }
}

impl Dataset for Arrays {
    fn len(&self) -> usize {
        self.len
    }

    fn inner(&self) -> Option<&dyn Dataset> {
        None
    }

    fn read<'a>(&'a self, index: usize, _buffer: &'a mut Vec<u8>) -> Result<Sample<'a>> {
        if index >= self.len {
            return Err(out_of_range(index, self.len));
        }
        let size = self.image_bytes();
        let bytes = &self.bytes[index * size..(index + 1) * size];
        let pixels = Pixels::new(self.width, self.height, self.format, bytes)?;
        Ok(Sample::new(SampleData::Pixels(pixels), self.labels.get(index)))
    }

    fn label(&self, index: usize) -> Option<Label> {
        (index < self.len()).then(|| self.labels.get(index))
    }

    fn name(&self, index: usize) -> String {
        match &self.source {
            Some(source) => format!("{source}, image {index}"),
            None => format!("sample {index}"),
        }
    }

    fn channels(&self) -> u32 {
        self.format.channels()
    }

    fn classes(&self) -> &[String] {
        &self.classes
    }

    fn is_in_memory(&self) -> bool {
        true
    }

    fn notices(&self) -> Vec<Notice> {
        let what = match &self.labels {
            Labels::None => return self.notices.clone(),
            Labels::Classes(_) if self.classes.is_empty() => "class numbers".to_owned(),
            Labels::Classes(_) => format!("{} classes with names", self.classes.len()),
            Labels::Multi(values) => format!("vectors of {}", values.first().map_or(0, |values| values.len())),
        };
        [&[Notice::Labels { what }], &*self.notices].concat()
    }
}

#[cfg(test)]
mod tests;
