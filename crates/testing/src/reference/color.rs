//! Reference of the colour ops: the formulas of torchvision's `functional/_color.py` on floats.

use super::Image;
use gpufeed::transforms::Op;

fn gray(image: &Image, y: usize, x: usize) -> f64 {
    match image.channels {
        1 => image.at(0, y, x),
        _ => 0.2989 * image.at(0, y, x) + 0.587 * image.at(1, y, x) + 0.114 * image.at(2, y, x),
    }
}

fn blend(a: f64, b: f64, ratio: f64) -> f64 {
    (a * ratio + b * (1.0 - ratio)).clamp(0.0, 1.0)
}

pub(super) fn brightness(image: &Image, factor: f64) -> Image {
    Image::build(image.shape(), |c, y, x| (image.at(c, y, x) * factor).clamp(0.0, 1.0))
}

pub(super) fn contrast(image: &Image, factor: f64) -> Image {
    let (_, height, width) = image.shape();
    let sum: f64 = (0..height).map(|y| (0..width).map(|x| gray(image, y, x)).sum::<f64>()).sum();
    let mean = sum / (height * width) as f64;
    Image::build(image.shape(), |c, y, x| blend(image.at(c, y, x), mean, factor))
}

/// Returns an image of one channel as it is, because it has no saturation.
pub(super) fn saturation(image: &Image, factor: f64) -> Image {
    if image.channels == 1 {
        return image.clone();
    }
    Image::build(image.shape(), |c, y, x| blend(image.at(c, y, x), gray(image, y, x), factor))
}

pub(super) fn grayscale(image: &Image, channels: usize) -> Image {
    Image::build((channels, image.height, image.width), |_, y, x| gray(image, y, x))
}

/// Applies `gamma` and `gain`; a value below 0 counts as 0. Like torchvision, clamps only where it multiplies.
pub(super) fn adjust_gamma(image: &Image, gamma: f64, gain: f64) -> Image {
    Image::build(image.shape(), |c, y, x| {
        let power = image.at(c, y, x).max(0.0).powf(gamma);
        if gain == 1.0 { power } else { (gain * power).clamp(0.0, 1.0) }
    })
}

pub(super) fn posterize(image: &Image, bits: u32) -> Image {
    let levels = 2f64.powi(bits as i32);
    Image::build(image.shape(), |c, y, x| (image.at(c, y, x) * levels).floor().clamp(0.0, levels - 1.0) / levels)
}

/// Returns a mask: 1 where a channel lies so close to a step of `op`, or to where `op` is steep, that rounding may
/// decide the result; 0 elsewhere.
pub(super) fn near_a_step(image: &Image, op: &Op, distance: f64) -> Image {
    let near = |value: f64| match *op {
        Op::Solarize { threshold } => (value - f64::from(threshold)).abs() < distance,
        // With a gamma below 1 the curve is steep at 0; the value 0 itself is exact.
        Op::AdjustGamma { gamma, .. } => gamma < 1.0 && value != 0.0 && value.abs() < distance,
        // At or below 0 and at or above 1 there are no steps.
        Op::Posterize { bits } => {
            let levels = 2f64.powi(bits as i32);
            let step = (value * levels).round();
            (1.0..levels).contains(&step) && (value - step / levels).abs() < distance
        }
        _ => false,
    };
    let (channels, height, width) = image.shape();
    Image::build((1, height, width), |_, y, x| f64::from(u8::from((0..channels).any(|c| near(image.at(c, y, x))))))
}

/// Returns the largest of the three channels, the largest minus the smallest, and the hue as a fraction of a turn (0
/// where all channels are equal).
fn hue_of([r, g, b]: [f64; 3]) -> (f64, f64, f64) {
    let (value, least) = (r.max(g).max(b), r.min(g).min(b));
    let range = value - least;
    let divisor = if range == 0.0 { 1.0 } else { range };
    let [rc, gc, bc] = [r, g, b].map(|channel| (value - channel) / divisor);
    let sixths = if value == r {
        bc - gc
    } else if value == g {
        2.0 + rc - bc
    } else {
        4.0 + gc - rc
    };
    (value, range, (sixths / 6.0 + 1.0) % 1.0)
}

fn pixel(image: &Image, y: usize, x: usize) -> [f64; 3] {
    [0, 1, 2].map(|c| image.at(c, y, x))
}

fn turned([r, g, b]: [f64; 3], factor: f64) -> [f64; 3] {
    let (value, range, hue) = hue_of([r, g, b]);
    // torchvision divides by the largest channel unless all are equal; if it is 0 and the others are negative, that
    // would give NaN.
    let saturation = range / if range == 0.0 || value == 0.0 { 1.0 } else { value };
    let sixths = 6.0 * (hue + factor).rem_euclid(1.0);
    let (sector, f) = (sixths.floor(), sixths - sixths.floor());
    let p = (value * (1.0 - saturation)).clamp(0.0, 1.0);
    let q = (value * (1.0 - saturation * f)).clamp(0.0, 1.0);
    let t = (value * (1.0 - saturation * (1.0 - f))).clamp(0.0, 1.0);
    match sector as u32 % 6 {
        0 => [value, t, p],
        1 => [q, value, p],
        2 => [p, value, t],
        3 => [p, q, value],
        4 => [t, p, value],
        _ => [value, p, q],
    }
}

pub(super) fn hue(image: &Image, factor: f64) -> Image {
    if image.channels == 1 {
        return image.clone();
    }
    Image::build(image.shape(), |c, y, x| turned(pixel(image, y, x), factor)[c])
}

/// Tells whether some pixel's shifted hue lies so close to a boundary of two hue sectors that rounding decides the
/// sector, while its largest channel is outside [0, 1]: torchvision clamps p, q and t but not the largest channel, so
/// the result jumps there. Where rounding decides whether the largest channel is inside [0, 1], the jump is no larger
/// than the rounding.
pub(super) fn on_a_jump(image: &Image, factor: f64) -> bool {
    image.channels == 3
        && (0..image.height).any(|y| {
            (0..image.width).any(|x| {
                let (value, range, hue) = hue_of(pixel(image, y, x));
                let sixths = 6.0 * (hue + factor);
                let doubt = 1e-5 + 1e-5 / range.max(1e-9);
                !(-1e-6..=1.0 + 1e-6).contains(&value) && (sixths - sixths.round()).abs() < doubt
            })
        })
}
