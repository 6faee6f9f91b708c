//! Measures how batches of `Order::Blocks` differ from those of a full shuffle, on a data set that is sorted by class: the
//! chi-squared of the classes in a batch, against equal shares, divided by its degrees of freedom. A full shuffle gives 1,
//! batches of one class each the batch's size.
//!
//! `cargo run --example orders`

#![allow(clippy::print_stdout)]

use gpufeed::{Order, Result, Sampler};

const CLASSES: usize = 1024;
const OF_EACH: usize = 1280;
const SAMPLES: usize = CLASSES * OF_EACH;
const BLOCK: usize = 256;
const LANES: usize = 8;
/// Samples of a global batch.
const BATCH: usize = 1024;
const EPOCHS: u64 = 4;

fn main() -> Result<()> {
    println!(
        "{SAMPLES} samples of {CLASSES} classes in order, blocks of {BLOCK}, {LANES} lanes, global batches of {BATCH}"
    );
    println!("{:<24}{:>22}{:>26}", "", "one batch", "8 batches together");
    println!("{:<24}{:>11}{:>11}{:>13}{:>13}", "order", "predicted", "measured", "predicted", "measured");
    for window in [None, Some(64), Some(16), Some(4)] {
        let order = window.map_or(Order::Full, |window| Order::Blocks { samples: BLOCK, window });
        let mut columns = String::new();
        for batches in [1, 8] {
            let (predicted, measured) = (predicted(window, batches * BATCH), measured(order, batches)?);
            let width = 9 + 2 * batches.min(2);
            columns += &format!("{predicted:>width$.2}{measured:>width$.2}");
        }
        println!("{:<24}{columns}", order.to_string());
    }
    Ok(())
}

/// The mean of chi-squared over its degrees of freedom, for `taken` samples that follow each other in one window of each
/// lane. It grows with the probability that two of them have one class: within a lane, `taken / LANES` samples come from
/// `window` blocks, and two of one block always do.
fn predicted(window: Option<usize>, taken: usize) -> f64 {
    let (taken, classes, blocks) = (taken as f64, CLASSES as f64, (SAMPLES / BLOCK) as f64);
    let alike = match window {
        None => (OF_EACH - 1) as f64 / (SAMPLES - 1) as f64,
        Some(window) => {
            let of_lane = (taken / LANES as f64).min((window * BLOCK) as f64);
            let other_block = (blocks / classes - 1.0) / (blocks - 1.0);
            let same_block = (BLOCK - 1) as f64 / (window * BLOCK - 1) as f64;
            let same_lane = (of_lane - 1.0) / (taken - 1.0);
            other_block + same_lane * same_block * (1.0 - other_block)
        }
    };
    (classes + classes * (taken - 1.0) * alike - taken) / (classes - 1.0)
}

/// The measured value, over all runs of `batches` global batches in several epochs.
fn measured(order: Order, batches: usize) -> Result<f64> {
    let sampler = Sampler::new(SAMPLES, BATCH)?.shuffle(true).seed(1).lanes(LANES)?.order(order)?;
    let (mut sum, mut runs) = (0.0, 0);
    for epoch in 0..EPOCHS {
        let epoch = sampler.epoch(epoch);
        for first in (0..=epoch.batches() - batches).step_by(batches) {
            let mut counts = vec![0u32; CLASSES];
            let positions = (first..first + batches).flat_map(|batch| epoch.batch(batch));
            positions.for_each(|position| counts[position.index / OF_EACH] += 1);
            let expected = (batches * BATCH) as f64 / CLASSES as f64;
            let chi_squared: f64 = counts.iter().map(|&count| (f64::from(count) - expected).powi(2) / expected).sum();
            sum += chi_squared / (CLASSES - 1) as f64;
            runs += 1;
        }
    }
    Ok(sum / f64::from(runs))
}
