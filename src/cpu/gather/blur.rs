//! Gaussian blur: torchvision's `gaussian_blur_image`, a row of weights across, then down. torch multiplies the two
//! rows to one kernel; the sums are the same up to rounding.

use super::Part;
use crate::geometry::Rect;
use crate::plan::gather::blur_weights;
use multiversion::multiversion;

/// The pixel that coordinate `i` shows of `len`: reflected about the edge pixels, which are not repeated.
pub(super) fn reflect(i: i64, len: u32) -> u32 {
    let period = (2 * (i64::from(len) - 1)).max(1);
    let i = i.rem_euclid(period);
    if i < i64::from(len) { i as u32 } else { (period - i) as u32 }
}

/// Writes `window` of the blurred image of `size`, of which `part` is present.
pub(super) fn run(
    (kernel_size, sigma): ([u32; 2], [f64; 2]),
    part: Part<'_, f32>,
    (width, height): (u32, u32),
    window: Rect,
    (across, out): (&mut Vec<[f32; 4]>, &mut Vec<[f32; 4]>),
) {
    let [x, y] = [0, 1].map(|axis| blur_weights(kernel_size[axis], sigma[axis]));
    let columns = window.width as usize;
    // A row of the part with its reflections, then blurred.
    let mut row = Vec::with_capacity(columns + x.len());
    across.clear();
    across.resize(part.rect.height as usize * columns, [0.0; 4]);
    for (i, out) in across.chunks_exact_mut(columns.max(1)).enumerate() {
        let y = part.rect.top + i as u32;
        let first = i64::from(window.left) - (x.len() / 2) as i64;
        row.clear();
        row.extend((first..).take(columns + x.len() - 1).map(|i| part.at(reflect(i, width), y)));
        for (k, &weight) in x.iter().enumerate() {
            add(&row[k..][..columns], weight, out);
        }
    }
    out.clear();
    out.resize(columns * window.height as usize, [0.0; 4]);
    for (i, out) in out.chunks_exact_mut(columns.max(1)).enumerate() {
        let first = i64::from(window.top) + i as i64 - (y.len() / 2) as i64;
        for (i, &weight) in (first..).zip(&y) {
            let from = (reflect(i, height) - part.rect.top) as usize * columns;
            add(&across[from..][..columns], weight, out);
        }
    }
}

#[multiversion(targets("x86_64+avx2"))]
fn add(row: &[[f32; 4]], weight: f32, out: &mut [[f32; 4]]) {
    for (out, value) in out.as_flattened_mut().iter_mut().zip(row.as_flattened()) {
        *out += weight * value;
    }
}
