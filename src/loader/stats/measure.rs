//! The time that the statistics themselves take, for `gpufeed bench`. A part of `internals`.

use super::lane::{DIVIDED, SHORT};
use super::{Counters, Stage};
use std::hint::black_box;
use std::time::{Duration, Instant};

/// Sections that a worker records for an image that takes `time`, on average, on the CPU backend.
pub fn sections(time: Duration) -> f64 {
    if time < SHORT { 5.0 / f64::from(DIVIDED) } else { 5.0 }
}

/// Time to record one image that takes `time`, as a worker does on the CPU backend: all its sections around empty work,
/// the bytes, the queues' lengths, and every 32nd image on the thread's CPU clock too. No queue makes it wait, as in a
/// pipeline that its workers limit.
pub fn recording(images: u32, time: Duration) -> Duration {
    let counters = Counters::new(1);
    let clock = counters.worker(0);
    let start = Instant::now();
    for image in 0..images {
        clock.look(black_box(1));
        clock.image.set(black_box(time));
        clock.item();
        for stage in [Stage::Read, Stage::Params, Stage::Decode, Stage::Augment] {
            clock.bytes(stage, black_box(1));
            clock.work(stage, 1, || black_box(image));
        }
        counters.images(black_box(1));
    }
    start.elapsed() / images.max(1)
}
