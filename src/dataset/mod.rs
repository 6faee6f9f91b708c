//! Where samples come from: the [`Dataset`] trait, what it hands out, and two data sets.
//!
//! [`ImageFolder`] reads a folder of class folders, [`InMemory`] holds encoded files or pixels.

mod folder;
mod memory;
mod pixels;

use std::path::Path;
use std::sync::Arc;

use crate::error::{Error, Result};

pub use folder::{ImageFolder, ImageFolderBuilder};
pub use memory::InMemory;
pub use pixels::{PixelFormat, Pixels};

/// A collection of samples that many threads read by index.
///
/// A data set knows nothing of batches, order or decoding: it hands out one sample's bytes and label.
/// Its length must not change while a loader uses it.
///
/// ```
/// use gpufeed::{Dataset, Label, PixelFormat, Pixels, Result, Sample, SampleData};
///
/// /// Gray ramps, made on the spot.
/// struct Ramps;
///
/// impl Dataset for Ramps {
///     fn len(&self) -> usize {
///         10
///     }
///
///     fn read<'a>(&'a self, index: usize, buffer: &'a mut Vec<u8>) -> Result<Sample<'a>> {
///         buffer.clear();
///         buffer.extend((0..8 * 4).map(|pixel| (pixel * index) as u8));
///         let pixels = Pixels::new(8, 4, PixelFormat::R8, buffer)?;
///         Ok(Sample { data: SampleData::Pixels(pixels), label: Label::Class(index as u32) })
///     }
///
///     fn name(&self, index: usize) -> String {
///         format!("ramp {index}")
///     }
///
///     fn channels(&self) -> u32 {
///         1
///     }
/// }
///
/// let mut buffer = Vec::new();
/// assert_eq!(Ramps.read(3, &mut buffer)?.label, Label::Class(3));
/// # Ok::<(), gpufeed::Error>(())
/// ```
pub trait Dataset: Send + Sync {
    /// How many samples there are; indices run from 0 to `len() - 1`.
    fn len(&self) -> usize;

    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Reads sample `index`.
    ///
    /// What has to be read from somewhere goes into `buffer`, whose old content is discarded. Each
    /// worker passes the same buffer again and again, so that once it has grown to the largest file
    /// nothing is allocated. A data set that already holds the bytes returns them and leaves `buffer`
    /// alone.
    ///
    /// # Errors
    ///
    /// Whatever keeps the sample from being read, usually [`ErrorKind::Io`](crate::ErrorKind::Io);
    /// the data sets of this crate return [`ErrorKind::Argument`](crate::ErrorKind::Argument) for an
    /// `index` out of range.
    fn read<'a>(&'a self, index: usize, buffer: &'a mut Vec<u8>) -> Result<Sample<'a>>;

    /// What to call sample `index` in a report: its path, or "sample 7". Never panics.
    fn name(&self, index: usize) -> String;

    /// The sample's stable identity, which keys its random draws: by default its index.
    ///
    /// Override it when samples can be added or removed without the others changing their draws.
    fn id(&self, index: usize) -> u64 {
        index as u64
    }

    /// Channels of the batches made from this data set: 3 by default, or 1.
    ///
    /// With 1, every sample is [`PixelFormat::R8`] or one-channel [`PixelFormat::F32`].
    fn channels(&self) -> u32 {
        3
    }

    /// Names of the classes: [`Label::Class`] is an index into them. Empty by default.
    fn classes(&self) -> &[String] {
        &[]
    }

    /// The folder beside whose files a loader keeps what it has learnt of them: [`SeekIndexes`](crate::decode::SeekIndexes). `None` by default.
    fn folder(&self) -> Option<&Path> {
        None
    }
}

macro_rules! forward {
    ($pointer:ty) => {
        impl<D: Dataset + ?Sized> Dataset for $pointer {
            fn len(&self) -> usize {
                (**self).len()
            }

            fn is_empty(&self) -> bool {
                (**self).is_empty()
            }

            fn read<'a>(&'a self, index: usize, buffer: &'a mut Vec<u8>) -> Result<Sample<'a>> {
                (**self).read(index, buffer)
            }

            fn name(&self, index: usize) -> String {
                (**self).name(index)
            }

            fn id(&self, index: usize) -> u64 {
                (**self).id(index)
            }

            fn channels(&self) -> u32 {
                (**self).channels()
            }

            fn classes(&self) -> &[String] {
                (**self).classes()
            }

            fn folder(&self) -> Option<&Path> {
                (**self).folder()
            }
        }
    };
}

forward!(Arc<D>);
forward!(Box<D>);

/// One sample as a [`Dataset`] hands it out: its data, still encoded or as pixels, and its label.
///
/// ```
/// use gpufeed::{Label, Sample, SampleData};
///
/// let sample = Sample { data: SampleData::Encoded(b"\xff\xd8\xff"), label: Label::Class(4) };
/// assert!(matches!(sample.data, SampleData::Encoded(bytes) if bytes.len() == 3));
/// ```
#[derive(Clone, Debug)]
pub struct Sample<'a> {
    /// The image.
    pub data: SampleData<'a>,
    /// What it shows.
    pub label: Label,
}

/// The image of a [`Sample`].
///
/// ```
/// use gpufeed::{PixelFormat, Pixels, SampleData};
///
/// let data = SampleData::Pixels(Pixels::new(2, 1, PixelFormat::R8, &[0, 255])?);
/// assert!(!matches!(data, SampleData::Encoded(_)));
/// # Ok::<(), gpufeed::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub enum SampleData<'a> {
    /// A whole image file, of a format that is recognised from the bytes.
    Encoded(&'a [u8]),
    /// Pixels that need no decoding.
    Pixels(Pixels<'a>),
}

impl SampleData<'_> {
    /// Bytes of the file or of the pixels.
    pub(crate) fn len(&self) -> usize {
        match self {
            SampleData::Encoded(bytes) => bytes.len(),
            SampleData::Pixels(pixels) => pixels.bytes().len(),
        }
    }
}

/// What a sample shows. Cheap to clone.
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
    /// Nothing: unlabelled data.
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

/// The error for an index that the data set does not have.
fn out_of_range(index: usize, len: usize) -> Error {
    Error::argument("index", format!("{index} is not below the data set's length, {len}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Overrides every method, so that a forgotten one shows as a default.
    struct Odd {
        classes: Vec<String>,
    }

    impl Dataset for Odd {
        fn len(&self) -> usize {
            5
        }

        fn is_empty(&self) -> bool {
            true
        }

        fn read<'a>(&'a self, index: usize, buffer: &'a mut Vec<u8>) -> Result<Sample<'a>> {
            buffer.clear();
            buffer.push(index as u8);
            Ok(Sample { data: SampleData::Encoded(buffer), label: Label::None })
        }

        fn name(&self, index: usize) -> String {
            format!("odd {index}")
        }

        fn id(&self, index: usize) -> u64 {
            index as u64 * 100
        }

        fn channels(&self) -> u32 {
            1
        }

        fn classes(&self) -> &[String] {
            &self.classes
        }
    }

    fn check(dataset: impl Dataset) {
        assert_eq!(dataset.len(), 5);
        assert!(dataset.is_empty());
        assert_eq!(dataset.name(2), "odd 2");
        assert_eq!(dataset.id(2), 200);
        assert_eq!(dataset.channels(), 1);
        assert_eq!(dataset.classes(), ["a"]);
        let mut buffer = vec![9; 9];
        let sample = dataset.read(3, &mut buffer).unwrap();
        assert!(matches!(sample.data, SampleData::Encoded([3])));
    }

    #[test]
    fn pointers_forward_every_method() {
        let odd = || Odd { classes: vec!["a".into()] };
        check(Arc::new(odd()));
        check(Box::new(odd()));
        check(Box::new(odd()) as Box<dyn Dataset>);
        check(Arc::new(odd()) as Arc<dyn Dataset>);
    }
}
