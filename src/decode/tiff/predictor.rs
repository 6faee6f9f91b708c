//! Undoes predictors, which store the differences of neighbours, and puts samples in big-endian order.

use super::layout::{Layout, Predictor};

/// Makes of the unpacked rows of a chunk samples whose highest byte comes first.
pub(super) fn undo(layout: &Layout<'_>, rows: &mut [u8]) {
    let samples = layout.samples_together();
    let bytes = layout.bits as usize / 8;
    let row = layout.bytes_of_rows(1);
    if layout.predictor == Predictor::Float {
        return rows.chunks_exact_mut(row).for_each(|row| float(row, samples));
    }
    if layout.tiff.little {
        match layout.bits {
            16 => rows.as_chunks_mut::<2>().0.iter_mut().for_each(|sample| sample.reverse()),
            32 => rows.as_chunks_mut::<4>().0.iter_mut().for_each(|sample| sample.reverse()),
            _ => {}
        }
    }
    if layout.predictor == Predictor::Horizontal {
        for row in rows.chunks_exact_mut(row) {
            match bytes {
                1 => (samples..row.len()).for_each(|at| row[at] = row[at].wrapping_add(row[at - samples])),
                2 => sums(row.as_chunks_mut().0, samples, |a, b| {
                    u16::from_be_bytes(a).wrapping_add(u16::from_be_bytes(b)).to_be_bytes()
                }),
                _ => sums(row.as_chunks_mut().0, samples, |a, b| {
                    u32::from_be_bytes(a).wrapping_add(u32::from_be_bytes(b)).to_be_bytes()
                }),
            }
        }
    }
}

fn sums<const N: usize>(row: &mut [[u8; N]], samples: usize, sum: impl Fn([u8; N], [u8; N]) -> [u8; N]) {
    (samples..row.len()).for_each(|at| row[at] = sum(row[at], row[at - samples]));
}

/// The rows of floats hold all first bytes, then all second ones; each byte as a difference.
fn float(row: &mut [u8], samples: usize) {
    (samples..row.len()).for_each(|at| row[at] = row[at].wrapping_add(row[at - samples]));
    let apart = row.to_vec();
    let count = row.len() / 4;
    for (at, sample) in row.as_chunks_mut::<4>().0.iter_mut().enumerate() {
        *sample = [0, 1, 2, 3].map(|byte| apart[byte * count + at]);
    }
}
