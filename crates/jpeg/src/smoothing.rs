//! Block smoothing: estimates of coefficients that a progressive file lacks, or of which it lacks bits, from the DC
//! coefficients of the blocks around, by libjpeg-turbo's rules (since 2.1, with a window of five by five blocks).
//!
//! A file that ends before its last scan shows its blocks without it. libjpeg smooths by default, and so does Pillow.

use crate::bits::Block;
use crate::frame::{Frame, MAX_COMPONENTS, Scan};

/// The coefficients that are estimated, in zigzag order from 1.
const ESTIMATED: usize = 9;

/// The state of each coefficient of a component: -1 before its first scan, then the bit that its scans went down to.
type Bits = [i8; 64];

/// Which bits of the coefficients a file's scans have had so far.
#[derive(Clone, Debug)]
pub(crate) struct KnownBits {
    known: [Bits; MAX_COMPONENTS],
    /// The state before the last scan of each component.
    before: [Bits; MAX_COMPONENTS],
    scans: usize,
    /// The last row of MCUs, of a scan of all components, that the last scan had data for.
    pub(crate) last_good_row: usize,
}

impl KnownBits {
    /// Before the first scan.
    pub(crate) fn new() -> Self {
        let none = [[-1; 64]; MAX_COMPONENTS];
        KnownBits { known: none, before: none, scans: 0, last_good_row: usize::MAX }
    }

    /// Adds a scan.
    pub(crate) fn add(&mut self, scan: &Scan<'_>) {
        self.scans += 1;
        let band = scan.band;
        for &component in scan.component_indices() {
            let (known, before) = (&mut self.known[component], &mut self.before[component]);
            let noted = band.first.min(1)..=band.last.max(ESTIMATED);
            for (before, known) in before[noted.clone()].iter_mut().zip(&known[noted]) {
                *before = if self.scans > 1 { *known } else { 0 };
            }
            known[band.first..=band.last].fill(band.low as i8);
        }
    }

    /// Returns true if the scans lacked a bit of a coefficient of `frame`.
    pub(crate) fn lacks_bits(&self, frame: &Frame) -> bool {
        self.known[..frame.components().len()].iter().flatten().any(|&bit| bit != 0)
    }

    /// Returns the estimates for a frame that lacks some bits; `None` where libjpeg does not smooth.
    pub(crate) fn smoothing(&self, frame: &Frame) -> Option<[Smoothing; MAX_COMPONENTS]> {
        if !frame.progressive {
            return None;
        }
        let mut is_useful = false;
        let mut all = [Smoothing::default(); MAX_COMPONENTS];
        for (i, (component, smoothing)) in frame.components().iter().zip(&mut all).enumerate() {
            let quantization = component.quantization?;
            if quantization[..=ESTIMATED].contains(&0) || self.known[i][0] < 0 {
                return None;
            }
            let states = |bits: &Bits| std::array::from_fn(|k| bits[k]);
            smoothing.known = states(&self.known[i]);
            smoothing.before = if self.scans > 1 { states(&self.before[i]) } else { [-1; ESTIMATED + 1] };
            is_useful |= smoothing.known[1..].iter().any(|&bit| bit != 0);
            smoothing.quantization = std::array::from_fn(|k| i64::from(quantization[k]));
            smoothing.factor = component.declared_vertical;
            smoothing.blocks = frame.image_blocks(i);
            smoothing.mcu_rows = frame.declared_mcu_rows();
            smoothing.last_good_row = self.last_good_row;
        }
        is_useful.then_some(all)
    }
}

/// What the estimates of a component depend on.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Smoothing {
    /// The known bits of the DC coefficient and of those that are estimated, in zigzag order.
    known: [i8; ESTIMATED + 1],
    /// The same before the last scan, for rows that the last scan had no data for.
    before: [i8; ESTIMATED + 1],
    last_good_row: usize,
    quantization: [i64; ESTIMATED + 1],
    /// The component's vertical sampling factor, its columns and rows of blocks, and the rows of MCUs.
    factor: usize,
    blocks: (usize, usize),
    mcu_rows: usize,
}

/// The five rows of an estimate's kernel, from the second row above the block to the second one below.
type Kernel = [[i64; 5]; 5];

/// A coefficient: its place in natural order, and the kernels of its estimate where the block has AC coefficients and where it
/// has none (all zeros: no estimate).
type Estimate = (usize, Kernel, Kernel);

const NONE: Kernel = [[0; 5]; 5];

/// The estimated coefficients in zigzag order. The numbers are libjpeg-turbo's (`decompress_smooth_data` in jdcoefct.c).
#[rustfmt::skip]
const ESTIMATES: [Estimate; ESTIMATED] = [
    (1,
     [[0; 5], [0; 5], [-7, 50, 0, -50, 7], [0; 5], [0; 5]],
     [[-1, -1, 0, 1, 1], [-3, 13, 0, -13, 3], [-3, 38, 0, -38, 3], [-3, 13, 0, -13, 3], [-1, -1, 0, 1, 1]]),
    (8,
     [[0, 0, -7, 0, 0], [0, 0, 50, 0, 0], [0; 5], [0, 0, -50, 0, 0], [0, 0, 7, 0, 0]],
     [[-1, -3, -3, -3, -1], [-1, 13, 38, 13, -1], [0; 5], [1, -13, -38, -13, 1], [1, 3, 3, 3, 1]]),
    (16,
     [[0, 0, -1, 0, 0], [0, 0, 13, 0, 0], [0, 0, -24, 0, 0], [0, 0, 13, 0, 0], [0, 0, -1, 0, 0]],
     [[0, 0, 1, 0, 0], [0, 2, 7, 2, 0], [0, -5, -14, -5, 0], [0, 2, 7, 2, 0], [0, 0, 1, 0, 0]]),
    (9,
     [[0, -1, 0, 1, 0], [-1, 10, 0, -10, 1], [0; 5], [1, -10, 0, 10, -1], [0, 1, 0, -1, 0]],
     [[-1, 0, 0, 0, 1], [0, 9, 0, -9, 0], [0; 5], [0, -9, 0, 9, 0], [1, 0, 0, 0, -1]]),
    (2,
     [[0; 5], [0; 5], [-1, 13, -24, 13, -1], [0; 5], [0; 5]],
     [[0; 5], [0, 2, -5, 2, 0], [1, 7, -14, 7, 1], [0, 2, -5, 2, 0], [0; 5]]),
    (3, NONE, [[0; 5], [0, 1, 0, -1, 0], [0, 2, 0, -2, 0], [0, 1, 0, -1, 0], [0; 5]]),
    (10, NONE, [[0; 5], [0, 1, -3, 1, 0], [0; 5], [0, -1, 3, -1, 0], [0; 5]]),
    (17, NONE, [[0; 5], [0, 1, 0, -1, 0], [0, -3, 0, 3, 0], [0, 1, 0, -1, 0], [0; 5]]),
    (24, NONE, [[0; 5], [0, 1, 2, 1, 0], [0; 5], [0, -1, -2, -1, 0], [0; 5]]),
];

/// The average that replaces the DC coefficient where the block has no AC coefficients.
#[rustfmt::skip]
const AVERAGE: Kernel = [
    [-2, -6, -8, -6, -2],
    [-6, 6, 42, 6, -6],
    [-8, 42, 152, 42, -8],
    [-6, 6, 42, 6, -6],
    [-2, -6, -8, -6, -2],
];

impl Smoothing {
    /// Estimates coefficients of the block at a row and a column. `dc` gives the DC coefficient of the block at a row and a column; 0 where
    /// the component has no such row.
    pub(crate) fn estimate(&self, dc: impl Fn(usize, usize) -> i16, at: (usize, usize), block: &mut Block) {
        let mcu_row = at.0 / self.factor;
        let bits = if mcu_row > self.last_good_row { &self.before } else { &self.known };
        let has_no_ac = bits[1..].iter().all(|&bit| bit == -1);
        let dc = self.neighbours(dc, at);
        let sum = |kernel: &Kernel| -> i64 {
            kernel.iter().flatten().zip(dc.iter().flatten()).map(|(weight, dc)| weight * dc).sum::<i64>()
                * self.quantization[0]
        };
        // The quotient, rounded away from zero.
        let rounded = |sum: i64, divisor: i64| ((divisor << 7) + sum.abs()) / (divisor << 8);
        for (k, (place, kernel, kernel_without_ac)) in (1..).zip(&ESTIMATES) {
            let (kernel, bit) = (if has_no_ac { kernel_without_ac } else { kernel }, bits[k]);
            if bit == 0 || block[*place] != 0 || (k > 5 && !has_no_ac) {
                continue;
            }
            let sum = sum(kernel);
            let mut size = rounded(sum, self.quantization[k]);
            if bit > 0 && size >= 1 << bit {
                size = (1 << bit) - 1;
            }
            block[*place] = (if sum < 0 { -size } else { size }) as i16;
        }
        if has_no_ac {
            let sum = sum(&AVERAGE);
            let size = rounded(sum, self.quantization[0]);
            block[0] = (if sum < 0 { -size } else { size }) as i16;
        }
    }

    /// The DC coefficients of the five by five blocks around one. Beyond the edges the outermost ones are repeated.
    fn neighbours(&self, dc: impl Fn(usize, usize) -> i16, (row, column): (usize, usize)) -> [[i64; 5]; 5] {
        // libjpeg-turbo numbers the rows of the last row of MCUs by the rows of blocks that this one has.
        let mcu_row = row / self.factor;
        let in_mcu = match self.blocks.1 % self.factor {
            rows if rows > 0 && mcu_row + 1 == self.mcu_rows => rows,
            _ => self.factor,
        };
        let (number, count) = (mcu_row * in_mcu + row % self.factor, in_mcu * self.mcu_rows);
        let above = if number > 0 { row - 1 } else { row };
        let below = if number + 1 < count { row + 1 } else { row };
        let rows = [
            if number > 1 { row - 2 } else { above },
            above,
            row,
            below,
            if number + 2 < count { row + 2 } else { below },
        ];
        let columns = [-2, -1, 0, 1, 2].map(|step| column.saturating_add_signed(step).min(self.blocks.0 - 1));
        rows.map(|row| columns.map(|column| i64::from(dc(row, column))))
    }
}
