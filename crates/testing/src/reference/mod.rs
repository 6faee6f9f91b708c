//! Reference implementation of the operators, as direct as their definitions: each op by itself, every pixel by its
//! formula, in f64.
//!
//! It shares nothing with `src/`: no fusion, no tables, no row buffers. Only numbers that torch itself computes in f32
//! and then truncates (the pixel index of the nearest modes, the colours of bytes) are in f32 here.
//!
//! [`run`] interprets ops in floats. The public modules are torchvision's operators as functions of a [`Picture`], in
//! floats and in bytes; [`crate::named::run`] calls them by torchvision's names.

mod color;
mod dct;
mod resample;

pub mod affine;
pub mod bounds;
pub mod byte_resize;
pub mod elastic;
pub mod erase;
pub mod jpeg;
pub mod magnitudes;
pub mod moved;
pub mod neighborhood;
pub mod perspective;
pub mod picture;
pub mod pillow;
pub mod pointwise;
pub mod policy;
pub mod sampling;
pub mod statistics;
pub mod targets;

pub use picture::{Picture, Semantics};

use gpufeed::transforms::{Erased, Interpolation, Op, PaddingMode};

/// An image of 1 or 3 channels, stored as one plane after another.
#[derive(Clone, Debug, PartialEq)]
pub struct Image {
    pub channels: usize,
    pub height: usize,
    pub width: usize,
    pub planes: Vec<f64>,
}

impl Image {
    /// The image whose value in channel `c`, row `y`, column `x` is `value(c, y, x)`.
    pub fn build(
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

    pub fn shape(&self) -> (usize, usize, usize) {
        (self.channels, self.height, self.width)
    }

    fn at(&self, c: usize, y: usize, x: usize) -> f64 {
        self.planes[(c * self.height + y) * self.width + x]
    }
}

/// The result of applying a list of ops.
#[derive(Debug)]
pub struct Outcome {
    pub image: Image,
    /// For each value of `image`, whether it depends on a pixel at a step of `Solarize` or `Posterize`, or near 0 in
    /// `AdjustGamma`, so that rounding decides it.
    pub doubtful: Vec<bool>,
    /// Whether a pixel was where `Hue` jumps, so that rounding decides between two values (see `color::on_a_jump`), or
    /// a doubtful pixel went into the mean of `Contrast`.
    pub on_a_jump: bool,
}

/// The distance from a step below which rounding may decide the result.
const DOUBT: f64 = 1e-4;

/// Applies `ops`, one by one.
pub fn run<'a>(image: &Image, ops: impl IntoIterator<Item = &'a Op>) -> Outcome {
    let mut outcome = Outcome { image: image.clone(), doubtful: Vec::new(), on_a_jump: false };
    // A mask: 1 where rounding may decide a pixel. It goes through the same geometry as the image.
    let mut doubt = Image::build((1, image.height, image.width), |_, _, _| 0.0);
    // `exact`: whether f32 has had the same numbers so far; `gain`: the factor by which differences have grown.
    let (mut exact, mut gain) = (true, 1.0);
    for op in ops {
        match op {
            Op::Hue { factor } => outcome.on_a_jump |= color::on_a_jump(&outcome.image, (*factor).into()),
            Op::Contrast { .. } => outcome.on_a_jump |= doubt.planes.iter().any(|doubt| *doubt != 0.0),
            Op::Normalize { std, .. } => gain *= std.iter().map(|s| f64::from(s.abs()).recip()).fold(1.0, f64::max),
            Op::Solarize { .. } | Op::Posterize { .. } | Op::AdjustGamma { .. } if !exact => {
                let near = color::near_a_step(&outcome.image, op, DOUBT * gain);
                doubt.planes.iter_mut().zip(near.planes).for_each(|(doubt, near)| *doubt = doubt.max(near));
            }
            _ => {}
        }
        outcome.image = apply(&outcome.image, op);
        if let Op::Erase { top, left, height, width, .. } = *op {
            doubt = erase::erase(&doubt, [top, left, height, width], Erased::Color([0.0; 3]));
        }
        if is_geometry(op) {
            doubt = apply(&doubt, &without_fill(op));
            doubt.planes.iter_mut().for_each(|doubt| *doubt = f64::from(u8::from(*doubt != 0.0)));
        }
        exact = leaves_f32_exact(op, exact);
    }
    let doubtful = doubt.planes.iter().map(|doubt| *doubt != 0.0);
    outcome.doubtful = (0..outcome.image.channels).flat_map(|_| doubtful.clone()).collect();
    outcome
}

fn is_geometry(op: &Op) -> bool {
    matches!(op, Op::Crop { .. } | Op::Pad { .. } | Op::Resize { .. } | Op::HorizontalFlip | Op::VerticalFlip)
}

fn without_fill(op: &Op) -> Op {
    match *op {
        Op::Pad { left, top, right, bottom, mode, .. } => Op::Pad { left, top, right, bottom, mode, fill: [0.0; 3] },
        ref other => other.clone(),
    }
}

/// Tells whether `op` gives the same numbers in f32 as in f64, up to the representation of its input.
fn leaves_f32_exact(op: &Op, exact: bool) -> bool {
    match op {
        // The levels are multiples of 1/256, which f32 represents exactly, whatever the input was.
        Op::Posterize { .. } => true,
        Op::Resize { interpolation: Interpolation::Nearest | Interpolation::NearestExact, .. }
        | Op::Erase { value: Erased::Color(_), .. }
        | Op::PermuteChannels { .. } => exact,
        Op::Resize { .. } => false,
        other => exact && is_geometry(other),
    }
}

fn apply(image: &Image, op: &Op) -> Image {
    let (channels, height, width) = image.shape();
    let picture = || Picture { image: image.clone(), semantics: Semantics::Float };
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
        Op::GaussianNoise { mean, sigma, clip, key } => {
            let normals = erase::normals(key, image.shape());
            neighborhood::gaussian_noise(&picture(), mean, sigma, clip, &normals).image
        }
        Op::Erase { top, left, height, width, value } => erase::erase(image, [top, left, height, width], value),
        Op::Normalize { mean, std } => {
            Image::build(image.shape(), |c, y, x| (image.at(c, y, x) - f64::from(mean[c])) / f64::from(std[c]))
        }
        ref other => match pointwise::apply(&picture(), other) {
            Some(picture) => picture.image,
            None => panic!("the reference does not know {other:?}"),
        },
    }
}

/// Returns the index of the pixel that padding shows at coordinate `i` of a side of `len` pixels; `None` for the fill
/// colour.
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
