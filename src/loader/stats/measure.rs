//! What the statistics themselves take, for `gpufeed bench`. Exists only with the feature `bench-internals`, and comes without
//! any promise.

use super::{Counters, Stage};
use std::hint::black_box;
use std::time::{Duration, Instant};

/// Sections that a worker records for an image on the CPU backend.
pub const SECTIONS: u32 = 6;

/// Time to record one image, as a worker does on the CPU backend: all its sections around work that takes none, the bytes,
/// the queue, and every 32nd image on the thread's CPU clock too.
pub fn recording(images: u32) -> Duration {
    let counters = Counters::new(1);
    let clock = counters.worker(0);
    let start = Instant::now();
    for image in 0..images {
        clock.look(black_box(1));
        clock.starved(|| black_box(image));
        clock.item();
        for stage in [Stage::Read, Stage::Draw, Stage::Decode, Stage::Augment] {
            clock.bytes(stage, black_box(1));
            clock.work(stage, 1, || black_box(image));
        }
        counters.images(black_box(1));
        clock.blocked(|| black_box(image));
    }
    start.elapsed() / images.max(1)
}
