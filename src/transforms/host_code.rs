//! `HostCode`: a function of the user's between the transforms, which the workers call with the pixels of an image.

use super::op::Op;
use super::params::{Context, Numbers};
use super::{Effect, Key, Operator, Slots};
use crate::error::{Error, ErrorKind, Result};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de, ser};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

type Function = dyn Fn(HostImage, &Key, &mut Numbers) -> Result<HostImage> + Send + Sync;

/// Code of your own between the transforms: a function that gets an image's pixels in host memory, as the transforms
/// before it have left them, and returns the pixels with which the transforms after it go on. It may return another
/// size.
///
/// ```
/// use gpufeed::transforms::{HostCode, HostImage, HostValues, Key, Normalize, Resize};
/// use gpufeed::{Backend, Output, PixelFormat, Pixels, Plan, Processor, Semantics};
///
/// // Adds a level of 0 to 9, the same one to all of an image.
/// let lift = HostCode::new("lift", |mut image: HostImage, _: &Key, numbers| {
///     let by = numbers.below(10) as u8;
///     if let HostValues::U8(levels) = image.values_mut() {
///         levels.iter_mut().for_each(|level| *level = level.saturating_add(by));
///     }
///     Ok(image)
/// });
/// let list = [Resize::new((8, 8)).into(), lift.into(), Normalize::IMAGENET.into()];
/// let plan = Plan::compile_as(Semantics::Uint8, 3, &list, &Output::default())?;
/// let params = plan.make_params(16, 16, &Key { seed: 42, ..Key::default() })?;
/// let pixels = Pixels::new(16, 16, PixelFormat::Rgb8, &[127; 16 * 16 * 3])?;
/// let image = Processor::new(&plan, &Backend::Cpu)?.run(&[(pixels, &params)])?;
/// # assert_eq!(image.len(), 4 * 3 * 8 * 8);
/// # Ok::<(), gpufeed::Error>(())
/// ```
///
/// # What it gets
///
/// The whole image, rows from the top, channels interleaved. With [`Semantics::Uint8`](crate::Semantics::Uint8) and
/// before `ToDtype` and `Normalize` these are [`HostValues::U8`], and otherwise [`HostValues::F32`]: 0 for black to 1 for
/// white, or what a `Normalize` has made of them. Images have the channels of the list at that place, 1 or 3.
///
/// # What it returns
///
/// An image of any size with as many channels. Where it gets 8-bit numbers, it may return floats: the transforms after
/// it then compute in floats. Where it gets floats, bytes count as 0 for 0 to 1 for 255. The list has to give all
/// images one size in spite of it: by a transform after it (`CenterCrop`, `Resize((height, width))`), by the size before
/// it if the code keeps that, or by [`size`](Self::size). An image that then has another size fails.
///
/// An error becomes that of the sample, with the name of the code ([`ErrorKind::HostCode`]), and the loader's `on_error`
/// says what becomes of it; an [`ErrorKind::Fatal`] ends the run. A panic ends the run.
///
/// # Random numbers
///
/// Take them from the given generator, or from the key: it is that of the image's view. Then batches are the same for any
/// number of workers. The transforms of the list draw what they would draw with any other transform in its place.
///
/// # What runs where
///
/// All transforms of a loader that has such code run on the CPU, in the workers, also on a GPU backend, to which finished
/// batches are copied. The workers call the function at once, each with an image of its own. A cache stores at most what
/// stands before the code: it runs in every epoch, also if it draws nothing.
///
/// It stands in the list itself, not inside `RandomApply`, `RandomChoice` or `RandomOrder`, and not beside `FiveCrop` or
/// `TenCrop`; a group that follows another one needs a list without it. A recipe file cannot have it. The parameters of an
/// image ([`Params`](super::Params)) end at the code: what the transforms after it draw depends on the size that it
/// returns, and is drawn again from the key in the parameters when an image is replayed.
#[derive(Clone)]
pub struct HostCode {
    name: Arc<str>,
    function: Arc<Function>,
    /// Width and height of all images that it returns.
    size: Option<(u32, u32)>,
    spent: Arc<Spent>,
}

/// What the calls have taken so far.
#[derive(Debug, Default)]
struct Spent {
    calls: AtomicU64,
    nanoseconds: AtomicU64,
}

impl HostCode {
    /// Makes the code of a function. `name` stands in errors and in [`explain`](crate::DataLoader::explain).
    pub fn new(
        name: impl Into<Arc<str>>,
        function: impl Fn(HostImage, &Key, &mut Numbers) -> Result<HostImage> + Send + Sync + 'static,
    ) -> Self {
        HostCode { name: name.into(), function: Arc::new(function), size: None, spent: Arc::default() }
    }

    /// Says that all images that the code returns have this (height, width). One of another size fails. Default: the code
    /// keeps the size, or transforms after it make one of any.
    pub fn size(self, (height, width): (u32, u32)) -> Self {
        HostCode { size: Some((width, height)), ..self }
    }

    /// The name in errors and `explain`.
    pub fn called(&self) -> &str {
        &self.name
    }

    /// The number of calls so far, of this code and its clones, and the time that they took together.
    pub fn spent(&self) -> (u64, Duration) {
        let Spent { calls, nanoseconds } = &*self.spent;
        (calls.load(Ordering::Relaxed), Duration::from_nanos(nanoseconds.load(Ordering::Relaxed)))
    }

    /// Width and height of all images that it returns, if it says so.
    pub(crate) fn fixed_size(&self) -> Option<(u32, u32)> {
        self.size
    }

    /// Calls the function, and checks what it returns.
    ///
    /// # Errors
    /// [`ErrorKind::HostCode`] for an error of the function, for other channels and another size than it has said;
    /// [`ErrorKind::Fatal`] as it is.
    pub(crate) fn call(&self, image: HostImage, key: &Key, path: u64) -> Result<HostImage> {
        let (channels, began) = (image.channels, Instant::now());
        let returned = (self.function)(image, key, &mut key.numbers(path));
        self.spent.calls.fetch_add(1, Ordering::Relaxed);
        self.spent.nanoseconds.fetch_add(began.elapsed().as_nanos() as u64, Ordering::Relaxed);
        let checked = returned.and_then(|HostImage { width, height, channels: is, values }| {
            // The code may have changed their number.
            let image = HostImage::new(width, height, is, values)?;
            let size = (width, height);
            if is != channels {
                return Err(wrong(format!(
                    "returned an image of {is} channels; it got {channels}, and has to keep them"
                )));
            }
            match self.size {
                Some((width, height)) if size != (width, height) => {
                    let (w, h) = size;
                    Err(wrong(format!("returned {w}x{h} pixels, but said that all images have {width}x{height}")))
                }
                _ => Ok(image),
            }
        });
        checked.map_err(|error| self.named(error))
    }

    /// The error of a sample that the code has made fail.
    pub(crate) fn named(&self, source: Error) -> Error {
        if source.is_fatal() { source } else { ErrorKind::HostCode { name: self.name.to_string(), source }.into() }
    }
}

/// The error of code that has returned what cannot be.
pub(crate) fn wrong(text: String) -> Error {
    ErrorKind::Foreign { source: text.into() }.into()
}

impl Operator for HostCode {
    const NAME: &'static str = "HostCode";

    fn validate(&self) -> Result<()> {
        match self.size {
            Some((width, height)) if width == 0 || height == 0 => {
                Err(Error::argument("size", format!("{height}x{width} has no pixels; at least 1 x 1 works")))
            }
            _ => Ok(()),
        }
    }

    fn slots(&self, slots: &mut Slots) {
        slots.push(Self::NAME, Effect::HostCode);
    }

    fn make_params(&self, context: &mut Context<'_>, _: &mut Numbers) -> Result<()> {
        let key = context.key();
        context.emit(0, Op::HostCode { key })
    }
}

impl std::fmt::Debug for HostCode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("HostCode").field(&self.name).finish()
    }
}

impl PartialEq for HostCode {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.function, &other.function) && self.size == other.size
    }
}

/// Always returns an error, which names the code.
impl Serialize for HostCode {
    fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        let reason = "is code of the user's own and cannot be written; leave it out, and add it after reading the list";
        Err(ser::Error::custom(format!("{:?} {reason}", self.name)))
    }
}

/// Always returns an error.
impl<'de> Deserialize<'de> for HostCode {
    fn deserialize<D: Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
        Err(de::Error::custom("HostCode is code of the user's own and cannot be read; add it after reading the list"))
    }
}

/// An image in host memory, for [`HostCode`]: rows from the top, no gap between rows, channels interleaved.
///
/// ```
/// use gpufeed::transforms::{HostImage, HostValues};
///
/// let image = HostImage::new(2, 1, 3, HostValues::U8(vec![0, 0, 0, 255, 255, 255]))?;
/// assert_eq!((image.width(), image.height(), image.channels()), (2, 1, 3));
/// assert!(HostImage::new(2, 2, 3, HostValues::U8(vec![0; 6])).is_err());
/// # Ok::<(), gpufeed::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct HostImage {
    width: u32,
    height: u32,
    channels: u32,
    values: HostValues,
}

/// The numbers of a [`HostImage`].
///
/// ```
/// use gpufeed::transforms::HostValues;
///
/// assert_eq!(HostValues::F32(vec![0.5; 12]).len(), 12);
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum HostValues {
    /// 0 for black to 255 for white.
    U8(Vec<u8>),
    /// 0 for black to 1 for white, or normalised.
    F32(Vec<f32>),
}

impl HostValues {
    /// How many there are.
    pub fn len(&self) -> usize {
        match self {
            HostValues::U8(values) => values.len(),
            HostValues::F32(values) => values.len(),
        }
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl HostImage {
    /// Makes an image of `width` × `height` pixels with 1 or 3 channels.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`] for a side of 0, for other channels, and if there are not `width * height * channels` values.
    pub fn new(width: u32, height: u32, channels: u32, values: HostValues) -> Result<Self> {
        if width == 0 || height == 0 {
            return Err(Error::argument("size", format!("an image of {width}x{height} has no pixels")));
        }
        if channels != 1 && channels != 3 {
            return Err(Error::argument("channels", format!("{channels}; images of 1 or 3 channels work")));
        }
        let needed = u128::from(width) * u128::from(height) * u128::from(channels);
        if needed != values.len() as u128 {
            let given = values.len();
            let reason = format!("{given}; an image of {width}x{height} with {channels} channels has {needed}");
            return Err(Error::argument("values", reason));
        }
        Ok(HostImage { width, height, channels, values })
    }

    /// Pixels in a row, at least 1.
    pub fn width(&self) -> u32 {
        self.width
    }

    /// Rows, at least 1.
    pub fn height(&self) -> u32 {
        self.height
    }

    /// The number of channels: 1 or 3.
    pub fn channels(&self) -> u32 {
        self.channels
    }

    /// `width * height * channels` numbers.
    pub fn values(&self) -> &HostValues {
        &self.values
    }

    /// The numbers, to be changed in place. An image whose number of values changes fails.
    pub fn values_mut(&mut self) -> &mut HostValues {
        &mut self.values
    }

    /// Takes the numbers out of the image.
    pub fn into_values(self) -> HostValues {
        self.values
    }
}
