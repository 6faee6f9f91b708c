//! Histogram equalisation: torchvision's `equalize_image`, in integers. Floats become 8-bit numbers first.

use super::Part;
use super::autocontrast::each;
use crate::geometry::Rect;

/// The new number of each number of a channel.
fn table(histogram: &[u32; 256]) -> [u8; 256] {
    let pixels: u64 = histogram.iter().map(|&count| u64::from(count)).sum();
    let last = histogram.iter().rev().find(|&&count| count > 0).map_or(0, |&count| u64::from(count));
    let step = (pixels - last) / 255;
    let mut before = 0;
    std::array::from_fn(|k| {
        let sum = before;
        before += u64::from(histogram[k]);
        match step {
            0 => k as u8,
            _ if k == 0 => 0,
            step => ((sum + step / 2) / step).min(255) as u8,
        }
    })
}

fn tables(numbers: impl Iterator<Item = [u8; 4]>) -> [[u8; 256]; 3] {
    let mut histograms = [[0u32; 256]; 3];
    for pixel in numbers {
        for (histogram, &number) in histograms.iter_mut().zip(&pixel) {
            histogram[usize::from(number)] += 1;
        }
    }
    histograms.each_ref().map(table)
}

pub(super) fn bytes(part: Part<'_, u8>, window: Rect, out: &mut Vec<[u8; 4]>) {
    let tables = tables(part.pixels.iter().copied());
    each(part, window, |[r, g, b, _]| [tables[0][r as usize], tables[1][g as usize], tables[2][b as usize], 255], out);
}

pub(super) fn floats(part: Part<'_, f32>, window: Rect, out: &mut Vec<[f32; 4]>) {
    // `ToDtype(torch.uint8, scale=True)`.
    let number = |value: f32| (value.clamp(0.0, 1.0) * (256.0 - 0.001)) as u8;
    let numbers = |pixel: [f32; 4]| pixel.map(number);
    let tables = tables(part.pixels.iter().map(|&pixel| numbers(pixel)));
    let value = |c: usize, number: u8| f32::from(tables[c][usize::from(number)]) * (1.0 / 255.0);
    each(
        part,
        window,
        |pixel| {
            let [r, g, b, _] = numbers(pixel);
            [value(0, r), value(1, g), value(2, b), 1.0]
        },
        out,
    );
}
