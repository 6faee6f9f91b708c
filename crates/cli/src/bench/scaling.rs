//! What a core does while the others work too. Two virtual cores may be one real one, a full machine clocks lower, and
//! caches and memory are shared: a prediction that counts on every core doing what one does alone is too high.

use super::alone;
use super::photographs::hash;
use super::samples::{Samples, options};
use gpufeed::internals::Native;
use gpufeed::{Plan, decode};
use std::error::Error;
use std::hint::black_box;
use std::thread::available_parallelism;
use std::time::Duration;

/// Images that a thread decodes in a row, and then augments.
pub(super) const IN_A_ROW: usize = 4;

/// The workers' work by itself, without a line.
pub(super) struct Work<'a> {
    pub(super) plan: Plan,
    pub(super) samples: &'a Samples,
    /// Whether workers augment, too.
    pub(super) augment: bool,
}

/// One thread's.
struct State {
    scratch: decode::Scratch,
    native: Native,
}

impl Work<'_> {
    /// Images a second of each core that so many threads use, for about `time`.
    pub(super) fn per_core(&self, threads: usize, time: Duration) -> Result<f64, Box<dyn Error>> {
        let Work { plan, samples, augment } = self;
        let state = |thread: usize| {
            let drawn = (0..IN_A_ROW).map(|i| {
                samples.params[hash((thread + i * threads) as u64, 3) as usize % samples.params.len()].clone()
            });
            let native = Native::new(plan, &drawn.collect::<Vec<_>>(), samples.pixel)?;
            Ok(State { scratch: decode::Scratch::default(), native })
        };
        let rate = alone::rate(threads, time, state, |state, number| {
            if !samples.files.is_empty() {
                for i in 0..IN_A_ROW {
                    let file = &samples.files[(number * IN_A_ROW + i) % samples.files.len()];
                    black_box(decode::decode(&file.bytes, &file.probe, file.region, &options(), &mut state.scratch)?);
                }
            }
            if *augment || samples.files.is_empty() {
                black_box(state.native.run());
            }
            Ok(IN_A_ROW as u64)
        })?;
        let cores = available_parallelism().map_or(threads, usize::from);
        Ok(rate / threads.min(cores) as f64)
    }
}
