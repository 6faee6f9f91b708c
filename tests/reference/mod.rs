//! The operators as one would write them on a blackboard: each op by itself, every pixel by its formula, in f64.
//!
//! It shares nothing with `src/`: no fusion, no tables, no rows. Only what torch itself computes in f32 and then
//! truncates (the nearest modes' index) is in f32 here.

mod color;
mod resample;

use gpufeed::transforms::{Op, PaddingMode};

/// An image of 1 or 3 channels, plane after plane.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Image {
    pub(crate) channels: usize,
    pub(crate) height: usize,
    pub(crate) width: usize,
    pub(crate) planes: Vec<f64>,
}

impl Image {
    /// The image whose value in channel `c`, row `y`, column `x` is `value(c, y, x)`.
    pub(crate) fn build(
        (channels, height, width): (usize, usize, usize),
        value: impl Fn(usize, usize, usize) -> f64,
    ) -> Image {
        let mut planes = Vec::with_capacity(channels * height * width);
        for c in 0..channels {
            for y in 0..height {
                planes.extend((0..width).map(|x| value(c, y, x)));
            }
        }
        Image { channels, height, width, planes }
    }

    pub(crate) fn shape(&self) -> (usize, usize, usize) {
        (self.channels, self.height, self.width)
    }

    fn at(&self, c: usize, y: usize, x: usize) -> f64 {
        self.planes[(c * self.height + y) * self.width + x]
    }
}

/// What a run gave.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) image: Image,
    /// A pixel stood where `Hue` jumps, so that rounding decides between two values: see `color::on_a_jump`.
    pub(crate) on_a_jump: bool,
}

/// Applies `ops`, one by one.
pub(crate) fn run<'a>(image: &Image, ops: impl IntoIterator<Item = &'a Op>) -> Outcome {
    let mut outcome = Outcome { image: image.clone(), on_a_jump: false };
    for op in ops {
        if let Op::Hue { factor } = *op {
            outcome.on_a_jump |= color::on_a_jump(&outcome.image, factor.into());
        }
        outcome.image = apply(&outcome.image, op);
    }
    outcome
}

fn apply(image: &Image, op: &Op) -> Image {
    let (channels, height, width) = image.shape();
    match *op {
        Op::Crop { top, left, height, width } => {
            let (top, left) = (top as usize, left as usize);
            Image::build((channels, height as usize, width as usize), |c, y, x| image.at(c, y + top, x + left))
        }
        Op::Pad { left, top, right, bottom, mode, fill } => {
            let size = (channels, height + (top + bottom) as usize, width + (left + right) as usize);
            Image::build(size, |c, y, x| {
                let y = inside(y as i64 - i64::from(top), height as i64, mode);
                let x = inside(x as i64 - i64::from(left), width as i64, mode);
                match (y, x) {
                    (Some(y), Some(x)) => image.at(c, y, x),
                    _ => fill[c].into(),
                }
            })
        }
        Op::Resize { height, width, interpolation, antialias } => {
            resample::resize(image, (height as usize, width as usize), interpolation, antialias)
        }
        Op::HorizontalFlip => Image::build(image.shape(), |c, y, x| image.at(c, y, width - 1 - x)),
        Op::VerticalFlip => Image::build(image.shape(), |c, y, x| image.at(c, height - 1 - y, x)),
        Op::Brightness { factor } => color::brightness(image, factor.into()),
        Op::Contrast { factor } => color::contrast(image, factor.into()),
        Op::Saturation { factor } => color::saturation(image, factor.into()),
        Op::Hue { factor } => color::hue(image, factor.into()),
        Op::Grayscale { channels } => color::grayscale(image, channels as usize),
        Op::Normalize { mean, std } => {
            Image::build(image.shape(), |c, y, x| (image.at(c, y, x) - f64::from(mean[c])) / f64::from(std[c]))
        }
        ref other => panic!("the reference does not know {other:?}"),
    }
}

/// Which pixel of `len` stands at coordinate `i` beside the image; `None` for the fill colour.
fn inside(mut i: i64, len: i64, mode: PaddingMode) -> Option<usize> {
    while !(0..len).contains(&i) {
        i = match mode {
            PaddingMode::Constant => return None,
            PaddingMode::Edge => i.clamp(0, len - 1),
            PaddingMode::Reflect if len == 1 => 0,
            PaddingMode::Reflect if i < 0 => -i,
            PaddingMode::Reflect => 2 * (len - 1) - i,
            PaddingMode::Symmetric if i < 0 => -1 - i,
            PaddingMode::Symmetric => 2 * len - 1 - i,
        };
    }
    Some(i as usize)
}
