//! Elastic deformation: `../../elastic.rs` says what it is. Numbers, blurs and pixels are made row by row, so that the
//! rows under way stay in a cache.

use super::Part;
use super::blur::reflect;
use crate::allocate::{AUGMENTING, product, reserve_like};
use crate::color::philox;
use crate::elastic::Elastic;
use crate::error::Result;
use crate::geometry::Rect;
use crate::plan::gather::grown;
use multiversion::multiversion;

/// Columns that are blurred together; rows are filled up to whole groups.
const GROUP: usize = 32;

/// The rows under way, for the displacements along x and along y.
#[derive(Debug, Default)]
pub(super) struct ElasticScratch {
    /// A row of numbers: those of two columns in each element.
    numbers: Vec<[f32; 4]>,
    /// The numbers with their reflections.
    padded: Vec<f32>,
    /// The latest rows, blurred across.
    across: [Vec<f32>; 2],
    /// A row of displacements in pixels.
    field: [Vec<f32>; 2],
    /// Where the rows above and below the row under way lie in `across`.
    pairs: Vec<[usize; 2]>,
}

impl ElasticScratch {
    fn floats(&self) -> [&Vec<f32>; 5] {
        [&self.padded, &self.across[0], &self.across[1], &self.field[0], &self.field[1]]
    }

    pub(super) fn reserve_like(&mut self, other: &ElasticScratch) {
        let ElasticScratch { numbers, padded, across: [x, y], field: [dx, dy], pairs } = self;
        for (vec, other) in [padded, x, y, dx, dy].into_iter().zip(other.floats()) {
            reserve_like(vec, other);
        }
        reserve_like(numbers, &other.numbers);
        reserve_like(pairs, &other.pairs);
    }

    /// Allocated bytes.
    pub(super) fn bytes(&self) -> usize {
        let floats: usize = self.floats().into_iter().map(Vec::capacity).sum();
        4 * floats + 16 * (self.numbers.capacity() + self.pairs.capacity())
    }
}

/// Writes `window` of the result in 8-bit numbers, rounded to nearest, ties to even.
pub(super) fn bytes(
    elastic: &Elastic,
    part: Part<'_, u8>,
    size: (u32, u32),
    window: Rect,
    scratch: &mut ElasticScratch,
    out: &mut Vec<[u8; 4]>,
) -> Result<()> {
    field(elastic, size, window, scratch, |y, displacements| {
        byte_row(elastic.nearest, elastic.fill, part, size, (window.left, y), displacements, out);
    })
}

/// Writes `window` of the result in floats.
pub(super) fn floats(
    elastic: &Elastic,
    part: Part<'_, f32>,
    size: (u32, u32),
    window: Rect,
    scratch: &mut ElasticScratch,
    out: &mut Vec<[f32; 4]>,
) -> Result<()> {
    field(elastic, size, window, scratch, |y, displacements| {
        float_row(elastic.nearest, elastic.fill, part, size, (window.left, y), displacements, out);
    })
}

/// Calls `row` with the displacements of each row of `window`, along x and along y in pixels.
///
/// # Errors
/// Those of [`Use::reserve`](crate::allocate::Use::reserve).
fn field(
    elastic: &Elastic,
    (width, height): (u32, u32),
    window: Rect,
    scratch: &mut ElasticScratch,
    mut row: impl FnMut(u32, [&[f32]; 2]),
) -> Result<()> {
    let ElasticScratch { numbers, padded, across, field, pairs } = scratch;
    let weights = [elastic.weights(0, (width, height)), elastic.weights(1, (width, height))];
    let radii = weights.each_ref().map(|axes| axes.each_ref().map(|weights| weights.len() - 1));
    let [across_radius, down_radius] = [0, 1].map(|axis| radii[0][axis].max(radii[1][axis]) as u32);
    let needed = grown(window, (across_radius, down_radius), (width, height));
    let (first, end) = (needed.left / 2 * 2, needed.left + needed.width);
    let columns = window.width as usize;
    let stride = columns.next_multiple_of(GROUP);
    // Reflections are nearer to a row than what they stand for, so the latest rows have all that are needed.
    let rows = (2 * down_radius + 1).min(needed.height);
    let slot = |y: u32| (y % rows) as usize * stride;
    AUGMENTING.resize(numbers, (end - first).div_ceil(2) as usize, [0.0; 4])?;
    let held = product(rows as usize, stride);
    across.iter_mut().try_for_each(|rows_across| AUGMENTING.resize(rows_across, held, 0.0))?;
    field.iter_mut().try_for_each(|field| AUGMENTING.resize(field, stride, 0.0))?;
    let longest = radii.as_flattened().iter().copied().max().unwrap_or(0);
    AUGMENTING.reserve(padded, stride + 2 * longest)?;
    AUGMENTING.reserve(pairs, longest + 1)?;
    let mut next = needed.top;
    for y in window.top..window.top + window.height {
        // The rows below the last one are reflections.
        let below = (y + down_radius).min(height - 1);
        for source in next..=below {
            draw(elastic.key, first / 2, source, numbers);
            for axis in [0, 1] {
                let radius = radii[axis][0];
                pad(numbers.as_flattened(), axis, (first, end), window, radius, width, padded);
                padded.resize(stride + 2 * radius, 0.0);
                blur_across(padded, &weights[axis][0], &mut across[axis][slot(source)..][..stride]);
            }
        }
        next = next.max(below + 1);
        for axis in [0, 1] {
            let at = |i: i64| slot(reflect(i64::from(y) + i, height));
            pairs.clear();
            pairs.extend((0..=radii[axis][1] as i64).map(|i| [at(-i), at(i)]));
            blur_down(&across[axis], pairs, &weights[axis][1], (elastic.alpha[axis] / 2.0) as f32, &mut field[axis]);
        }
        row(y, [&field[0][..columns], &field[1][..columns]]);
    }
    Ok(())
}

/// The displacement of one pixel of an image of `size`, along x and along y in pixels.
///
/// # Errors
/// Those of [`Use::reserve`](crate::allocate::Use::reserve).
pub(crate) fn displacement(elastic: &Elastic, size: (u32, u32), (left, top): (u32, u32)) -> Result<[f32; 2]> {
    let (mut scratch, mut found) = (ElasticScratch::default(), [0.0; 2]);
    let window = Rect { left, top, width: 1, height: 1 };
    field(elastic, size, window, &mut scratch, |_, rows| found = rows.map(|row| row[0]))?;
    Ok(found)
}

/// Makes the numbers of row `y` from column `2 * first` on, uniform in \[-1, 1).
#[multiversion(targets("x86_64+avx2"))]
fn draw(key: [u32; 2], first: u32, y: u32, out: &mut [[f32; 4]]) {
    for (x, out) in (first..).zip(out) {
        *out = philox([x, y, 0, 0], key).map(|word| (word >> 8) as i32 as f32 * (1.0 / 8_388_608.0) - 1.0);
    }
}

/// The numbers of an axis in the columns of a window, with `radius` more on each side, reflected at the image's edges.
/// `numbers` has those of both axes in columns `first` to `end`, in turns.
#[multiversion(targets("x86_64+avx2"))]
fn pad(
    numbers: &[f32],
    axis: usize,
    (first, end): (u32, u32),
    window: Rect,
    radius: usize,
    width: u32,
    out: &mut Vec<f32>,
) {
    let start = i64::from(window.left) - radius as i64;
    let count = window.width as usize + 2 * radius;
    // The columns that are no reflections.
    let before = (i64::from(first) - start).clamp(0, count as i64) as usize;
    let after = (i64::from(end) - start).clamp(before as i64, count as i64) as usize;
    let reflected = |i: usize| numbers[2 * (reflect(start + i as i64, width) - first) as usize + axis];
    out.clear();
    out.extend((0..before).map(reflected));
    if before < after {
        let from = (start + before as i64 - i64::from(first)) as usize;
        out.extend(numbers.as_chunks::<2>().0[from..][..after - before].iter().map(|pair| pair[axis]));
    }
    out.extend((after..count).map(reflected));
}

#[multiversion(targets("x86_64+avx2"))]
fn blur_across(padded: &[f32], weights: &[f32], out: &mut [f32]) {
    let radius = weights.len() - 1;
    for (group, out) in out.as_chunks_mut::<GROUP>().0.iter_mut().enumerate() {
        let middle = GROUP * group + radius;
        let mut sum = [0.0; GROUP];
        let row = &padded[middle..][..GROUP];
        (0..GROUP).for_each(|i| sum[i] = weights[0] * row[i]);
        for (distance, &weight) in weights.iter().enumerate().skip(1) {
            let (left, right) = (&padded[middle - distance..][..GROUP], &padded[middle + distance..][..GROUP]);
            (0..GROUP).for_each(|i| sum[i] += weight * (left[i] + right[i]));
        }
        *out = sum;
    }
}

#[multiversion(targets("x86_64+avx2"))]
fn blur_down(rows: &[f32], pairs: &[[usize; 2]], weights: &[f32], scale: f32, out: &mut [f32]) {
    for (group, out) in out.as_chunks_mut::<GROUP>().0.iter_mut().enumerate() {
        let left = GROUP * group;
        let mut sum = [0.0; GROUP];
        let row = &rows[pairs[0][0] + left..][..GROUP];
        (0..GROUP).for_each(|i| sum[i] = weights[0] * row[i]);
        for (&[above, below], &weight) in pairs.iter().zip(weights).skip(1) {
            let (above, below) = (&rows[above + left..][..GROUP], &rows[below + left..][..GROUP]);
            (0..GROUP).for_each(|i| sum[i] += weight * (above[i] + below[i]));
        }
        (0..GROUP).for_each(|i| out[i] = scale * sum[i]);
    }
}

/// The displacements of a whole image, along x and along y in pixels.
///
/// # Errors
/// Those of [`Use::reserve`](crate::allocate::Use::reserve).
pub(crate) fn whole_field(elastic: &Elastic, (width, height): (u32, u32)) -> Result<[Vec<f32>; 2]> {
    let (mut scratch, mut whole) = (ElasticScratch::default(), [Vec::new(), Vec::new()]);
    let window = Rect { left: 0, top: 0, width, height };
    field(elastic, (width, height), window, &mut scratch, |_, rows| {
        whole.iter_mut().zip(rows).for_each(|(whole, row)| whole.extend_from_slice(row));
    })?;
    Ok(whole)
}

/// Moves the pixels of a whole image by given displacements, in 8-bit numbers.
pub fn given_bytes(
    pixels: &[[u8; 4]],
    size: (u32, u32),
    [dx, dy]: [&[f32]; 2],
    nearest: bool,
    fill: Option<[f32; 3]>,
) -> Vec<[u8; 4]> {
    let rect = Rect { left: 0, top: 0, width: size.0, height: size.1 };
    let part = Part { pixels, stride: size.0 as usize, rect };
    let rows = dx.chunks(size.0 as usize).zip(dy.chunks(size.0 as usize));
    let mut out = Vec::new();
    (0..).zip(rows).for_each(|(y, (dx, dy))| byte_row(nearest, fill, part, size, (0, y), [dx, dy], &mut out));
    out
}

/// Moves the pixels of a whole image by given displacements, in floats.
pub fn given_floats(
    pixels: &[[f32; 4]],
    size: (u32, u32),
    [dx, dy]: [&[f32]; 2],
    nearest: bool,
    fill: Option<[f32; 3]>,
) -> Vec<[f32; 4]> {
    let rect = Rect { left: 0, top: 0, width: size.0, height: size.1 };
    let part = Part { pixels, stride: size.0 as usize, rect };
    let rows = dx.chunks(size.0 as usize).zip(dy.chunks(size.0 as usize));
    let mut out = Vec::new();
    (0..).zip(rows).for_each(|(y, (dx, dy))| float_row(nearest, fill, part, size, (0, y), [dx, dy], &mut out));
    out
}

#[multiversion(targets("x86_64+avx2"))]
fn byte_row(
    nearest: bool,
    fill: Option<[f32; 3]>,
    part: Part<'_, u8>,
    size: (u32, u32),
    start: (u32, u32),
    displacements: [&[f32]; 2],
    out: &mut Vec<[u8; 4]>,
) {
    let fill = fill.map(|fill| fill.map(|value| value * 255.0));
    // The sum rounds, and its lowest bits are the whole number.
    let byte = |value: f32| (value.clamp(0.0, 255.0) + ROUND).to_bits() as u8;
    if nearest {
        let [r, g, b] = fill.unwrap_or_default().map(|value| value.round_ties_even() as u8);
        return nearest_row(part, size, start, displacements, [r, g, b, 255], out);
    }
    bilinear_row(part, size, start, displacements, fill, |pixel| pixel.map(f32::from), |pixel| pixel.map(byte), out);
}

#[multiversion(targets("x86_64+avx2"))]
fn float_row(
    nearest: bool,
    fill: Option<[f32; 3]>,
    part: Part<'_, f32>,
    size: (u32, u32),
    start: (u32, u32),
    displacements: [&[f32]; 2],
    out: &mut Vec<[f32; 4]>,
) {
    if nearest {
        let [r, g, b] = fill.unwrap_or_default();
        return nearest_row(part, size, start, displacements, [r, g, b, 1.0], out);
    }
    bilinear_row(part, size, start, displacements, fill, |pixel| pixel, |pixel| pixel, out);
}

/// 1.5 · 2^23: a sum with it rounds a number of up to 22 bits to a whole one, ties to even, in its lowest bits.
const ROUND: f32 = 12_582_912.0;

/// The whole pixels of a displacement, rounded down, and the rest. A sum of position and displacement would lose the
/// last bits of the rest in a large image.
#[inline(always)]
fn parts(displacement: f32) -> (i32, f32) {
    let rounded = displacement + ROUND;
    let nearest = rounded - ROUND;
    let above = nearest > displacement;
    let whole = (rounded.to_bits() as i32).wrapping_sub(ROUND.to_bits() as i32) - i32::from(above);
    (whole, displacement - (nearest - f32::from(above)))
}

#[inline(always)]
fn nearest_row<T: Copy>(
    part: Part<'_, T>,
    (width, height): (u32, u32),
    (left, y): (u32, u32),
    [dx, dy]: [&[f32]; 2],
    outside: [T; 4],
    out: &mut Vec<[T; 4]>,
) {
    // The nearest pixel; of two the even one.
    let nearest = |at: u32, displacement: f32| {
        let (whole, rest) = parts(displacement);
        let pixel = at as i32 + whole;
        (pixel + i32::from(rest > 0.5 || (rest == 0.5 && pixel & 1 == 1))) as u32
    };
    for (x, (&dx, &dy)) in (left..).zip(dx.iter().zip(dy)) {
        let (x, y) = (nearest(x, dx), nearest(y, dy));
        out.push(if x < width && y < height { part.at(x, y) } else { outside });
    }
}

/// Taps outside the image are 0. With a fill the result is `(value - fill) · mask + fill`, where the mask is the sum of
/// the weights inside; the value was weighted with it before, too, as in torchvision.
#[expect(clippy::too_many_arguments, reason = "two conversions, so that bytes and floats share it")]
#[inline(always)]
fn bilinear_row<T: Copy, U: Copy + Default>(
    part: Part<'_, T>,
    (width, height): (u32, u32),
    (left, y): (u32, u32),
    [dx, dy]: [&[f32]; 2],
    fill: Option<[f32; 3]>,
    read: impl Fn([T; 4]) -> [f32; 4],
    write: impl Fn([f32; 4]) -> [U; 4],
    out: &mut Vec<[U; 4]>,
) {
    let fill = fill.map(|[r, g, b]| [r, g, b, 1.0]);
    let done = out.len();
    out.resize(done + dx.len(), [U::default(); 4]);
    let stride = part.rect.width as usize;
    let between = |a: [f32; 4], b: [f32; 4], share: f32| {
        let mut result = [0.0; 4];
        for c in 0..4 {
            result[c] = a[c] + (b[c] - a[c]) * share;
        }
        result
    };
    for (x, ((&dx, &dy), out)) in (left..).zip(dx.iter().zip(dy).zip(&mut out[done..])) {
        let ((right, fx), (below, fy)) = (parts(dx), parts(dy));
        let (x, y) = ((x as i32 + right) as u32, (y as i32 + below) as u32);
        if x < width - 1 && y < height - 1 {
            let at = (y - part.rect.top) as usize * stride + (x - part.rect.left) as usize;
            let (upper, lower) = (&part.pixels[at..][..2], &part.pixels[at + stride..][..2]);
            let upper = between(read(upper[0]), read(upper[1]), fx);
            *out = write(between(upper, between(read(lower[0]), read(lower[1]), fx), fy));
            continue;
        }
        let taps = [(0, 0, (1.0 - fx) * (1.0 - fy)), (1, 0, fx * (1.0 - fy)), (0, 1, (1.0 - fx) * fy), (1, 1, fx * fy)];
        let (mut sum, mut mask) = ([0.0; 4], 0.0);
        for (dx, dy, weight) in taps {
            let (x, y) = (x.wrapping_add(dx), y.wrapping_add(dy));
            if x < width && y < height {
                let pixel = read(part.at(x, y));
                (0..4).for_each(|c| sum[c] += pixel[c] * weight);
                mask += weight;
            }
        }
        *out = write(match fill {
            Some(fill) => std::array::from_fn(|c| (sum[c] - fill[c]) * mask + fill[c]),
            None => sum,
        });
    }
}
