//! The speed of a core while other cores work, too. Two virtual cores may be one real one, a busy machine clocks lower,
//! and caches and memory are shared. A prediction that assumes the speed of a lone core for every core is too high.

use super::isolated_stages;
use crate::bench::setup::hash::hash;
use crate::bench::setup::samples::Samples;
use gpufeed::internals::Native;
use gpufeed::{Plan, decode};
use std::error::Error;
use std::hint::black_box;
use std::thread::available_parallelism;
use std::time::Duration;

/// Images that a thread decodes before it augments them.
pub(crate) const IMAGES_AT_ONCE: usize = 4;

/// The workers' decoding and augmenting, without the pipeline around it.
pub(crate) struct WorkerTask<'a> {
    pub(crate) plan: Plan,
    pub(crate) samples: &'a Samples,
    /// True if workers augment, too.
    pub(crate) augment: bool,
}

/// The buffers that one thread reuses.
struct State {
    scratch: decode::Scratch,
    native: Native,
}

impl WorkerTask<'_> {
    /// Runs the task on `threads` threads for about `time`. Returns the images per second of each core that they use.
    pub(crate) fn per_core(&self, threads: usize, time: Duration) -> Result<f64, Box<dyn Error>> {
        let WorkerTask { plan, samples, augment } = self;
        let state = |thread: usize| {
            let params = (0..IMAGES_AT_ONCE).map(|i| {
                samples.params[hash((thread + i * threads) as u64, 3) as usize % samples.params.len()].clone()
            });
            let native = Native::new(plan, &params.collect::<Vec<_>>(), samples.pixel)?;
            Ok(State { scratch: decode::Scratch::default(), native })
        };
        let rate = isolated_stages::rate(threads, time, state, |state, number| {
            if !samples.files.is_empty() {
                for i in 0..IMAGES_AT_ONCE {
                    let file = &samples.files[(number * IMAGES_AT_ONCE + i) % samples.files.len()];
                    black_box(decode::decode(
                        &file.bytes,
                        &file.probe,
                        file.region,
                        &samples.options,
                        &mut state.scratch,
                    )?);
                }
            }
            if *augment || samples.files.is_empty() {
                black_box(state.native.run()?);
            }
            Ok(IMAGES_AT_ONCE as u64)
        })?;
        let cores = available_parallelism().map_or(threads, usize::from);
        Ok(rate / threads.min(cores) as f64)
    }
}
