//! Draws a small data set that needs no download: landscapes with a shape in front.

use image::{Rgb, RgbImage};
use std::error::Error;
use std::path::{Path, PathBuf};

/// Returns true if a point is inside the shape. Coordinates start at the shape's centre, in units of its size.
type Inside = fn(f32, f32) -> bool;

/// The name and the shape of each class.
const SHAPES: [(&str, Inside); 4] = [
    ("diamond", |x, y| x.abs() + y.abs() < 1.0),
    ("disc", |x, y| x * x + y * y < 1.0),
    ("ring", |x, y| (0.4..1.0).contains(&(x * x + y * y))),
    ("square", |x, y| x.abs().max(y.abs()) < 0.9),
];

/// Writes `count` JPEG files of each class below `root`, and returns `root`.
pub(crate) fn write(root: &Path, count: u32) -> Result<PathBuf, Box<dyn Error>> {
    for (class, (name, inside)) in SHAPES.into_iter().enumerate() {
        let folder = root.join(name);
        std::fs::create_dir_all(&folder)?;
        for number in 0..count {
            picture(class as u32 * count + number, inside).save(folder.join(format!("{number:04}.jpg")))?;
        }
    }
    Ok(root.to_owned())
}

/// Returns a pseudo-random number in [0, 1), which depends on the arguments alone.
fn noise(a: u32, b: u32, c: u32) -> f32 {
    let mut h = a.wrapping_mul(0x9e37_79b1) ^ b.wrapping_mul(0x85eb_ca77) ^ c.wrapping_mul(0xc2b2_ae3d);
    h = (h ^ (h >> 15)).wrapping_mul(0x2c1b_3c6d);
    h = (h ^ (h >> 12)).wrapping_mul(0x297a_2d39);
    (h ^ (h >> 15)) as f32 / 4_294_967_296.0
}

fn mix(a: [f32; 3], b: [f32; 3], t: f32) -> [f32; 3] {
    [0, 1, 2].map(|c| a[c] + (b[c] - a[c]) * t)
}

fn picture(seed: u32, inside: Inside) -> RgbImage {
    let (width, height) = (320 + (noise(seed, 0, 1) * 160.0) as u32, 240 + (noise(seed, 0, 2) * 120.0) as u32);
    let draw = |i: u32| noise(seed, 1, i);
    let color = |i: u32| [draw(i), draw(i + 1), draw(i + 2)];
    let (horizon, hills) = (0.45 + 0.3 * draw(0), 6.0 + 10.0 * draw(1));
    let (zenith, haze) = ([0.2, 0.4 + 0.2 * draw(2), 0.9], [0.9, 0.8 + 0.2 * draw(3), 0.7]);
    let (near, far) = ([0.15, 0.3 * draw(4) + 0.15, 0.1], [0.35 + 0.3 * draw(5), 0.55, 0.25]);
    let (cx, cy, size, front) = (0.25 + 0.5 * draw(6), 0.3 + 0.4 * draw(7), 0.15 + 0.2 * draw(8), color(9));
    RgbImage::from_fn(width, height, |px, py| {
        let (x, y) = (px as f32 / height as f32, py as f32 / height as f32);
        let ridge = horizon + 0.04 * ((hills * x).sin() + (2.3 * hills * x + 6.0 * draw(12)).sin());
        let grain = noise(seed, px / 2, py / 2) - 0.5;
        let ground = (y - ridge) / (1.0 - ridge);
        let background = if ground < 0.0 {
            mix(zenith, haze, (y / horizon).min(1.0))
        } else {
            mix(far, near, ground).map(|v| v + 0.15 * grain)
        };
        let (dx, dy) = ((x - cx * width as f32 / height as f32) / size, (y - cy) / size);
        let shade = 1.0 - 0.25 * (dx + dy) + 0.06 * grain;
        let rgb = if inside(dx, dy) { front.map(|v| (0.2 + 0.7 * v) * shade) } else { background };
        Rgb(rgb.map(|v| (v * 255.0 + 2.0 * grain) as u8))
    })
}
