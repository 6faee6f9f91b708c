//! How the images of a batch lie beside each other: all of one size, padded to one, or each in its own.

use super::Plan;
use crate::advice::{self, Reason};
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// How the images of a batch lie in memory, where their sizes may differ.
///
/// In settings and recipes it is written as `"uniform"`, `"padded"`, `["padded", multiple_of]`,
/// `["padded", multiple_of, [height, width]]`, `"listed"` or `["listed", [height, width]]`.
///
/// ```
/// use gpufeed::transforms::Resize;
/// use gpufeed::{Arrangement, Backend, DataLoader, InMemory, Label, PixelFormat};
///
/// let mut data = InMemory::new();
/// data.push_pixels(8, 4, PixelFormat::Rgb8, vec![255; 96], Label::None)?;
/// data.push_pixels(4, 8, PixelFormat::Rgb8, vec![255; 96], Label::None)?;
/// let loader = DataLoader::builder(data)
///     .transform(Resize::new(2).max_size(6))
///     .arrangement(Arrangement::padded())
///     .batch_size(2)
///     .build(&Backend::Cpu)?;
/// let batch = loader.epoch(0)?.next().unwrap()?;
/// assert_eq!(batch.shape(), [2, 3, 4, 4]);
/// assert_eq!([batch.image_size(0), batch.image_size(1)], [Some((4, 2)), Some((2, 4))]);
/// # Ok::<(), gpufeed::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "Value", into = "Value")]
pub enum Arrangement {
    /// Images of one size, which the list of transforms fixes.
    #[default]
    Uniform,
    /// Images of any size, each at the upper left of a rectangle that holds the largest one of the batch; the rest is 0, also after
    /// `Normalize`. DETR and torchvision's detectors pad so.
    ///
    /// The rows of an image lie as far apart as those of the largest image that can come, so that nothing is moved once
    /// the sizes of a batch are known: [`strides`](crate::Batch::strides) has the distances.
    Padded {
        /// The batch's height and width are rounded up to multiples of this: 32 where a network halves them five times.
        /// At least 1, which leaves them.
        multiple_of: u32,
        /// Height and width of the largest image; `None` takes what the transforms bound, such as a
        /// [`max_size`](crate::transforms::Resize::max_size).
        largest: Option<(u32, u32)>,
    },
    /// Images of any size, each by itself, without padding: [`offset`](crate::BatchGroup::offset) has the place of each.
    Listed {
        /// Height and width of the largest image; `None` takes what the transforms bound.
        largest: Option<(u32, u32)>,
    },
}

/// The place of each image in a batch whose images differ in size: one that holds the largest image.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Frame {
    /// Width and height of the largest image, or of the padded one.
    pub(crate) size: (u32, u32),
    /// True if the rows of every image lie as far apart as those of an image that fills the frame.
    pub(crate) is_padded: bool,
}

impl Arrangement {
    /// Images of any size, padded to the largest of each batch.
    pub fn padded() -> Arrangement {
        Arrangement::Padded { multiple_of: 1, largest: None }
    }

    /// Images of any size, each by itself.
    pub fn listed() -> Arrangement {
        Arrangement::Listed { largest: None }
    }

    /// Rounds the height and width of a padded batch up to multiples of this; others stay as they are.
    pub fn multiple_of(self, multiple_of: u32) -> Arrangement {
        match self {
            Arrangement::Padded { largest, .. } => Arrangement::Padded { multiple_of, largest },
            other => other,
        }
    }

    /// Sets the height and width of the largest image: a larger one is an error of its sample. Batches of images of one size
    /// stay as they are.
    ///
    /// ```
    /// use gpufeed::Arrangement;
    ///
    /// let detection = Arrangement::padded().multiple_of(32).largest(1333, 1333);
    /// let written = serde_json::to_string(&detection)?;
    /// assert_eq!(written, r#"["padded",32,[1333,1333]]"#);
    /// assert_eq!(serde_json::from_str::<Arrangement>(&written)?, detection);
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn largest(self, height: u32, width: u32) -> Arrangement {
        let largest = Some((height, width));
        match self {
            Arrangement::Uniform => Arrangement::Uniform,
            Arrangement::Padded { multiple_of, .. } => Arrangement::Padded { multiple_of, largest },
            Arrangement::Listed { .. } => Arrangement::Listed { largest },
        }
    }

    /// The width and height that every output of a plan has in a batch, and the frame of images that may be smaller.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`](crate::ErrorKind::Argument) where the transforms neither fix nor bound the size, and for numbers
    /// that do not work.
    pub(crate) fn frame(self, plan: &Plan) -> Result<((u32, u32), Option<Frame>)> {
        let refuse = |reason: String| Err(Error::argument("arrangement", reason));
        let (is_padded, largest) = match self {
            Arrangement::Uniform => return Ok((plan.output_size().ok_or_else(|| plan.sizes_differ())?, None)),
            Arrangement::Padded { multiple_of: 0, .. } => {
                return refuse("a multiple of 0; at least 1 works".to_owned());
            }
            Arrangement::Padded { largest, .. } => (true, largest),
            Arrangement::Listed { largest } => (false, largest),
        };
        if plan.code().is_some() {
            return refuse(
                "the list has own code, whose images have sizes that are not known before; images of one size work with it"
                    .to_owned(),
            );
        }
        if let Some((height, width)) = largest.filter(|(height, width)| *height == 0 || *width == 0) {
            return refuse(format!("a largest image of {width}x{height} pixels; at least 1x1 works"));
        }
        let largest = largest.map(|(height, width)| (width, height));
        let most = match (plan.largest_output(), largest) {
            (Some(bound), Some(largest)) => (bound.0.min(largest.0), bound.1.min(largest.1)),
            (Some(most), None) | (None, Some(most)) => most,
            (None, None) => {
                let reason = "the transforms do not bound the size of their images, whose memory is reserved before the first \
                              one is read";
                return Err(Error::argument("arrangement", Reason::new(reason).advise(advice::BOUND_SIZES)));
            }
        };
        let size = self.rounded(most);
        let fills = plan.output_size() == Some(size);
        Ok((size, (!fills).then_some(Frame { size, is_padded })))
    }

    /// The width and height of a padded batch whose largest ones are these.
    pub(crate) fn rounded(self, (width, height): (u32, u32)) -> (u32, u32) {
        let Arrangement::Padded { multiple_of, .. } = self else { return (width, height) };
        let up = |side: u32| side.checked_next_multiple_of(multiple_of).unwrap_or(side);
        (up(width), up(height))
    }
}

impl From<Arrangement> for Value {
    fn from(arrangement: Arrangement) -> Value {
        match arrangement {
            Arrangement::Uniform => json!("uniform"),
            Arrangement::Padded { multiple_of: 1, largest: None } => json!("padded"),
            Arrangement::Padded { multiple_of, largest: None } => json!(["padded", multiple_of]),
            Arrangement::Padded { multiple_of, largest: Some(largest) } => json!(["padded", multiple_of, largest]),
            Arrangement::Listed { largest: None } => json!("listed"),
            Arrangement::Listed { largest: Some(largest) } => json!(["listed", largest]),
        }
    }
}

impl TryFrom<Value> for Arrangement {
    type Error = String;

    fn try_from(value: Value) -> Result<Arrangement, String> {
        let (word, numbers) = match &value {
            Value::Array(list) => match list.split_first() {
                Some((word, numbers)) => (word.as_str(), numbers),
                None => (None, &[][..]),
            },
            word => (word.as_str(), &[][..]),
        };
        let side = |number: &Value| number.as_u64().and_then(|number| u32::try_from(number).ok());
        let sides = |largest: &Value| match largest.as_array()?.as_slice() {
            [height, width] => Some((side(height)?, side(width)?)),
            _ => None,
        };
        let read = match (word.map(str::to_ascii_lowercase).as_deref(), numbers) {
            (Some("uniform"), []) => Some(Arrangement::Uniform),
            (Some("padded"), []) => Some(Arrangement::padded()),
            (Some("padded"), [multiple_of]) => side(multiple_of).map(|side| Arrangement::padded().multiple_of(side)),
            (Some("padded"), [multiple_of, largest]) => side(multiple_of)
                .zip(sides(largest))
                .map(|(side, (height, width))| Arrangement::padded().multiple_of(side).largest(height, width)),
            (Some("listed"), []) => Some(Arrangement::listed()),
            (Some("listed"), [largest]) => {
                sides(largest).map(|(height, width)| Arrangement::listed().largest(height, width))
            }
            _ => None,
        };
        read.ok_or_else(|| {
            format!(
                "{value}; \"uniform\", \"padded\", [\"padded\", multiple_of], [\"padded\", multiple_of, [height, width]], \"listed\" and \
                 [\"listed\", [height, width]] work"
            )
        })
    }
}

impl Plan {
    /// This plan with outputs that lie in frames of a batch.
    pub(crate) fn framed(mut self, frame: Option<Frame>) -> Plan {
        self.frame = frame;
        self.most = frame.map_or(self.most, |frame| Some(frame.size));
        self
    }

    /// This plan with outputs that lie one after the other, also where it comes from a loader that has frames.
    pub(crate) fn unframed(&self) -> Plan {
        Plan { frame: None, ..self.clone() }
    }

    /// The frame of each output; `None` for outputs of one size.
    pub(crate) fn frame(&self) -> Option<Frame> {
        self.frame
    }

    /// Width and height of the place that an output of this size takes in a batch.
    pub(crate) fn place(&self, size: (u32, u32)) -> (u32, u32) {
        self.frame.map_or(size, |frame| frame.size)
    }

    /// Width and height of the image by which the rows and planes of an output of this size are spaced.
    pub(crate) fn spacing(&self, size: (u32, u32)) -> (u32, u32) {
        self.padded_to().unwrap_or(size)
    }

    /// The frame's width and height, if rows lie as far apart as its own.
    pub(crate) fn padded_to(&self) -> Option<(u32, u32)> {
        self.frame.filter(|frame| frame.is_padded).map(|frame| frame.size)
    }

    /// The greatest width and the greatest height that an output can have, as far as the list of transforms bounds them:
    /// by [`Resize::max_size`](crate::transforms::Resize::max_size), for example; of a loader's plan, that of its [`Arrangement`]. No
    /// output has more; one may have less.
    ///
    /// ```
    /// use gpufeed::transforms::{Resize, RandomShortestSize};
    /// use gpufeed::{Output, Plan};
    ///
    /// let of = |list: &[_]| Plan::compile(list, &Output::default()).unwrap().largest_output();
    /// assert_eq!(of(&[RandomShortestSize::new([480, 800]).max_size(1333).into()]), Some((1333, 1333)));
    /// assert_eq!(of(&[Resize::new(800).into()]), None); // a panorama may have any width
    /// ```
    pub fn largest_output(&self) -> Option<(u32, u32)> {
        self.size.or(self.most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::measure::Native;
    use crate::plan::device::DeviceTraits;
    use crate::plan::wgsl::validate;
    use crate::transforms::{Key, Normalize, Resize};
    use crate::{Backend, DType, Layout, Output, PixelFormat, Pixels, Processor};

    /// The texts of the last pass but packing, of plans on a device that stores numbers of 16 bits.
    fn stores(frame: Option<Frame>) -> Vec<String> {
        let list = [Resize::new(8).max_size(20).into(), Normalize::IMAGENET.into()];
        let mut texts = Vec::new();
        for layout in [Layout::Nchw, Layout::Nhwc] {
            for dtype in [DType::F32, DType::F16, DType::BF16] {
                let plan = Plan::compile(&list, &Output { layout, dtype }).unwrap().framed(frame);
                let shaders = plan.on_device(DeviceTraits { stores_16_bits: true, rows: None }, false).shaders();
                texts.extend(shaders.into_iter().map(|shader| shader.wgsl));
            }
        }
        texts
    }

    #[test]
    fn every_store_is_spaced_as_the_frame() {
        let frame = |is_padded| Some(Frame { size: (24, 40), is_padded });
        let (tight, padded) = (stores(None), stores(frame(true)));
        assert_eq!((tight.len(), &tight), (6, &stores(frame(false))));
        for (tight, padded) in tight.iter().zip(&padded) {
            let begin = tight.find("fn store(").unwrap();
            assert!(tight[begin..].contains("y * output_size.x + x"));
            let store = &padded[begin..][..padded[begin..].find("\n}").unwrap()];
            assert!(store.contains("(u32(y) * 24u + u32(x))") && !store.contains("output_size"), "{store}");
            assert_eq!(store.contains("let plane = 960u;"), store.contains("plane"), "{store}");
            validate(padded).unwrap();
        }
    }

    /// Whoever takes the plan out of a loader gets images that lie one after the other.
    #[test]
    fn outside_of_a_batch_images_have_no_frames() {
        let list = [Resize::new(8).max_size(20).into()];
        let tight = Plan::compile(&list, &Output::default()).unwrap();
        let plan = tight.clone().framed(Some(Frame { size: (32, 48), is_padded: true }));
        assert_eq!((tight.largest_output(), plan.largest_output()), (Some((20, 20)), Some((32, 48))));
        let params = plan.make_params(9, 16, &Key::default()).unwrap();
        let mut native = Native::new(&plan, &[params.clone(), params.clone()], 3).unwrap();
        native.run().unwrap();
        assert_eq!(native.output(), 2 * 3 * 4 * 8 * 14);
        let pixels = Pixels::new(9, 16, PixelFormat::Rgb8, &[7; 432]).unwrap();
        let run = |plan: &Plan| Processor::new(plan, &Backend::Cpu).unwrap().run(&[(pixels, &params)]).unwrap();
        assert_eq!(run(&plan), run(&tight));
    }

    #[test]
    fn arrangements_are_read_as_they_are_written() {
        for (text, expected) in [
            (r#""uniform""#, Arrangement::Uniform),
            (r#""padded""#, Arrangement::padded()),
            (r#"["padded",32]"#, Arrangement::padded().multiple_of(32)),
            (r#"["padded",1,[800,1333]]"#, Arrangement::padded().largest(800, 1333)),
            (r#""listed""#, Arrangement::listed()),
            (r#"["listed",[5,6]]"#, Arrangement::listed().largest(5, 6)),
        ] {
            assert_eq!(serde_json::from_str::<Arrangement>(text).unwrap(), expected);
            assert_eq!(serde_json::to_string(&expected).unwrap(), text);
        }
        assert_eq!(serde_json::from_str::<Arrangement>(r#""Padded""#).unwrap(), Arrangement::padded());
        for text in ["1", "null", "[]", r#""tiled""#, r#"["padded",-1]"#, r#"["padded",1,[2]]"#, r#"["listed",3]"#] {
            let error = serde_json::from_str::<Arrangement>(text).unwrap_err().to_string();
            assert!(error.contains(r#"; "uniform", "padded", ["padded", multiple_of], "#), "{error}");
        }
    }
}
