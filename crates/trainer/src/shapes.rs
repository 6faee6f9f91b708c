//! Draws a data set that needs no download: ten classes of shapes and textures.
//!
//! Classes differ in the form only. The colours have the same distribution in every class, the form is lighter than the
//! background as often as darker, and position, size, angle and width vary. So a linear model learns little from single
//! pixels and nothing from colours, and a network needs many pictures, or fewer and augmentation.

use image::codecs::jpeg::JpegEncoder;
use image::{Rgb, RgbImage};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use std::error::Error;
use std::fmt::Display;
use std::path::Path;

/// The names of the classes, in the order of their labels, which is the alphabetical order of the folders.
pub(crate) const CLASSES: [&str; 10] =
    ["checks", "crescent", "cross", "disc", "dots", "ring", "square", "star", "stripes", "triangle"];

/// Returns true if a point is inside the form. Coordinates start at the centre; shapes reach to 1, and textures repeat
/// with a period of 2.
type Inside = fn(f32, f32) -> bool;

/// For each class, its form, and true if it is a texture.
const FORMS: [(Inside, bool); CLASSES.len()] = [
    (|x, y| (fold(x) < 0.0) == (fold(y) < 0.0), true),
    (|x, y| x * x + y * y < 1.0 && (x - 0.55) * (x - 0.55) + y * y > 0.6, false),
    (|x, y| x.abs().min(y.abs()) < 0.28 && x.abs().max(y.abs()) < 0.95, false),
    (|x, y| x * x + y * y < 0.9, false),
    (|x, y| fold(x) * fold(x) + fold(y) * fold(y) < 0.4, true),
    (|x, y| (0.36..1.0).contains(&(x * x + y * y)), false),
    (|x, y| x.abs().max(y.abs()) < 0.8, false),
    // Five lines bound a pentagon. A point of the star is beyond at most one of them: inside the pentagon beyond none,
    // in a tip beyond one.
    (|x, y| STAR.into_iter().filter(|[a, b]| a * x + b * y > 0.34).count() < 2, false),
    (|x, _| fold(x) < 0.0, true),
    (|x, y| y > -0.55 && 0.866 * x.abs() + 0.5 * y < 0.55, false),
];

/// The directions of the pentagon's five sides, 72 degrees apart.
const STAR: [[f32; 2]; 5] = [[0.0, 1.0], [0.9511, 0.309], [0.5878, -0.809], [-0.5878, -0.809], [-0.9511, 0.309]];

/// Maps a coordinate into -1 to 1 with a period of 2, for textures.
fn fold(x: f32) -> f32 {
    x - 2.0 * (x * 0.5).floor() - 1.0
}

/// Writes `train` and `val` JPEG files of each class to `root/train/CLASS` and `root/val/CLASS`.
///
/// A file's content depends on the seed, its split, its class and its number, and not on the number of files.
pub(crate) fn write(root: &Path, train: u32, val: u32, seed: u64) -> Result<(), Box<dyn Error>> {
    for (split, (folder, count)) in [("train", train), ("val", val)].into_iter().enumerate() {
        for (class, name) in CLASSES.into_iter().enumerate() {
            let folder = root.join(folder).join(name);
            std::fs::create_dir_all(&folder).map_err(|error| failed(&folder, error))?;
            for number in 0..count {
                let file = folder.join(format!("{number:04}.jpg"));
                let bytes = jpeg(class, &mut Numbers::new(seed, split as u32, class as u32, number))
                    .map_err(|error| failed(&file, error))?;
                std::fs::write(&file, bytes).map_err(|error| failed(&file, error))?;
            }
        }
    }
    Ok(())
}

fn failed(path: &Path, error: impl Display) -> String {
    format!("cannot write {}: {error}", path.display())
}

/// The random number generator of one file.
struct Numbers(ChaCha8Rng);

impl Numbers {
    fn new(seed: u64, split: u32, class: u32, number: u32) -> Self {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&seed.to_le_bytes());
        for (bytes, value) in key[8..].chunks_exact_mut(4).zip([split, class, number]) {
            bytes.copy_from_slice(&value.to_le_bytes());
        }
        Numbers(ChaCha8Rng::from_seed(key))
    }

    fn below(&mut self, bound: u32) -> u32 {
        ((u64::from(self.0.next_u32()) * u64::from(bound)) >> 32) as u32
    }

    fn uniform(&mut self, low: f32, high: f32) -> f32 {
        low + (high - low) * ((self.0.next_u32() >> 8) as f32 / 16_777_216.0)
    }

    fn color(&mut self) -> [f32; 3] {
        [0; 3].map(|_| self.uniform(0.0, 1.0))
    }

    /// Returns a random direction as cosine and sine. They are computed by `libm`, because the functions of different
    /// platforms differ in the last bit.
    fn direction(&mut self) -> [f32; 2] {
        let (sine, cosine) = libm::sincosf(self.uniform(0.0, std::f32::consts::TAU));
        [cosine, sine]
    }
}

fn jpeg(class: usize, numbers: &mut Numbers) -> image::ImageResult<Vec<u8>> {
    let (picture, mut bytes) = (picture(class, numbers), Vec::new());
    JpegEncoder::new_with_quality(&mut bytes, 84 + numbers.below(8) as u8).encode_image(&picture)?;
    Ok(bytes)
}

/// A coordinate system in the picture: its centre in pixels, its direction, and the lengths of its two axes in pixels.
/// It maps pixels to coordinates.
struct Frame {
    center: [f32; 2],
    direction: [f32; 2],
    lengths: [f32; 2],
}

impl Frame {
    fn coordinates(&self, x: f32, y: f32) -> [f32; 2] {
        let ([x, y], [cosine, sine]) = ([x - self.center[0], y - self.center[1]], self.direction);
        [(cosine * x + sine * y) / self.lengths[0], (cosine * y - sine * x) / self.lengths[1]]
    }
}

/// An object drawn as a distraction: an ellipse, or a bar that is longer than the picture.
struct Clutter {
    frame: Frame,
    color: [f32; 3],
    bar: bool,
}

impl Clutter {
    fn new(bar: bool, [width, height]: [f32; 2], numbers: &mut Numbers) -> Self {
        let side = width.min(height);
        let lengths =
            if bar { [4.0, numbers.uniform(0.012, 0.03)] } else { [0; 2].map(|_| numbers.uniform(0.08, 0.3)) };
        let frame = Frame {
            center: [numbers.uniform(0.0, width), numbers.uniform(0.0, height)],
            direction: numbers.direction(),
            lengths: lengths.map(|length| length * side),
        };
        Clutter { frame, color: numbers.color(), bar }
    }

    fn covers(&self, x: f32, y: f32) -> bool {
        let [x, y] = self.frame.coordinates(x, y);
        if self.bar { x.abs().max(y.abs()) < 1.0 } else { x * x + y * y < 1.0 }
    }
}

fn mix(a: [f32; 3], b: [f32; 3], t: f32) -> [f32; 3] {
    [0, 1, 2].map(|c| a[c] + (b[c] - a[c]) * t)
}

fn luminance(color: [f32; 3]) -> f32 {
    0.3 * color[0] + 0.6 * color[1] + 0.1 * color[2]
}

fn picture(class: usize, numbers: &mut Numbers) -> RgbImage {
    let size = [0; 2].map(|_| 48 + numbers.below(33));
    let [width, height] = size.map(|pixels| pixels as f32);
    let (side, (inside, texture)) = (width.min(height), FORMS[class]);
    let length = side * if texture { numbers.uniform(0.1, 0.16) } else { numbers.uniform(0.3, 0.45) };
    let form = Frame {
        // The form stays within the centred square, because validation sees only that part of the picture.
        center: [width, height].map(|pixels| {
            let reach = 0.5 * side - if texture { 0.0 } else { 0.9 * length };
            0.5 * pixels + numbers.uniform(-reach, reach)
        }),
        direction: numbers.direction(),
        lengths: [length, length * numbers.uniform(0.7, 1.0)],
    };
    // The background is a gradient between two colours. The luminance of the form's colour differs from both by more
    // than 0.25.
    let behind = numbers.color();
    let behind = [behind, mix(behind, numbers.color(), 0.4)];
    let front = loop {
        let color = numbers.color();
        if behind.into_iter().all(|other| (luminance(color) - luminance(other)).abs() > 0.25) {
            break color;
        }
    };
    let slope = numbers.direction();
    let blobs: Vec<_> = (0..4).map(|_| Clutter::new(false, [width, height], numbers)).collect();
    let bars: Vec<_> = (0..1).map(|_| Clutter::new(true, [width, height], numbers)).collect();
    let grain = numbers.uniform(0.02, 0.08);

    let point = |x: f32, y: f32| {
        let t = 0.5 + ((x / width - 0.5) * slope[0] + (y / height - 0.5) * slope[1]) / std::f32::consts::SQRT_2;
        let mut color = mix(behind[0], behind[1], t);
        for blob in blobs.iter().filter(|blob| blob.covers(x, y)) {
            color = mix(color, blob.color, 0.25);
        }
        let [u, v] = form.coordinates(x, y);
        if inside(u, v) {
            color = mix(front, color, 0.15).map(|value| value * (1.1 - 0.2 * t));
        }
        bars.iter().find(|bar| bar.covers(x, y)).map_or(color, |bar| mix(color, bar.color, 0.8))
    };
    RgbImage::from_fn(size[0], size[1], |x, y| {
        // The mean of four points in each pixel makes the edges smooth.
        let points = [[0.25, 0.25], [0.75, 0.25], [0.25, 0.75], [0.75, 0.75]];
        let colors = points.map(|[dx, dy]| point(x as f32 + dx, y as f32 + dy));
        let gray = numbers.uniform(-1.0, 1.0);
        Rgb([0, 1, 2].map(|c| {
            let value = colors.iter().map(|color| color[c]).sum::<f32>() / 4.0;
            (255.0 * (value + grain * (gray + numbers.uniform(-1.0, 1.0)))) as u8
        }))
    })
}
