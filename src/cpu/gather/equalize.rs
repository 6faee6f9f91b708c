//! Histogram equalisation: torchvision's `equalize_image`, in integers. Floats become 8-bit numbers first.

use super::Part;
use super::bytes::ByteTable;
use crate::geometry::Rect;

/// Counts of each number of each channel; two of each, which neighbours take in turns: a count that was just written is
/// slow to read.
struct Histograms([[[u32; 256]; 3]; 2]);

impl Histograms {
    fn new() -> Histograms {
        Histograms([[[0; 256]; 3]; 2])
    }

    #[inline(always)]
    fn count(&mut self, turn: usize, [r, g, b, _]: [u8; 4]) {
        let [red, green, blue] = &mut self.0[turn];
        red[usize::from(r)] += 1;
        green[usize::from(g)] += 1;
        blue[usize::from(b)] += 1;
    }

    fn table(&self, channel: usize) -> ByteTable {
        let histogram: [u32; 256] = std::array::from_fn(|k| self.0[0][channel][k] + self.0[1][channel][k]);
        let numbers = numbers(&histogram);
        ByteTable::new(|k| numbers[usize::from(k)])
    }

    fn tables(&self) -> [ByteTable; 3] {
        [self.table(0), self.table(1), self.table(2)]
    }
}

/// The new number of each number of a channel.
fn numbers(histogram: &[u32; 256]) -> [u8; 256] {
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

pub(super) fn bytes(part: Part<'_, u8>, window: Rect, out: &mut Vec<[u8; 4]>) {
    let mut histograms = Histograms::new();
    for run in part.runs() {
        let (pairs, rest) = run.as_chunks::<2>();
        for &[first, second] in pairs {
            histograms.count(0, first);
            histograms.count(1, second);
        }
        rest.iter().for_each(|&pixel| histograms.count(0, pixel));
    }
    let tables = histograms.tables();
    out.clear();
    ByteTable::look_up_rows(tables.each_ref(), part.rows_of(window), out);
}

pub(super) fn floats(part: Part<'_, f32>, window: Rect, out: &mut Vec<[f32; 4]>) {
    // `ToDtype(torch.uint8, scale=True)`.
    let numbers = |pixel: [f32; 4]| pixel.map(|value| (value.clamp(0.0, 1.0) * (256.0 - 0.001)) as u8);
    let mut histograms = Histograms::new();
    part.pixels.iter().for_each(|&pixel| histograms.count(0, numbers(pixel)));
    let tables = histograms.tables();
    let value = |c: usize, number: u8| f32::from(tables[c].of(number)) * (1.0 / 255.0);
    let change = |&pixel: &[f32; 4]| {
        let [r, g, b, _] = numbers(pixel);
        [value(0, r), value(1, g), value(2, b), 1.0]
    };
    part.rows_of(window).for_each(|row| out.extend(row.iter().map(change)));
}
