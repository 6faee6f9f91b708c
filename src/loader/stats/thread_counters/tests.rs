//! Tests of the clock of a thread: compares its counters with work that takes a known time.

use super::*;
use crate::loader::stats::{Capacities, Counters, StageStats};

fn spin(time: Duration) {
    let start = Instant::now();
    while start.elapsed() < time {
        std::hint::spin_loop();
    }
}

/// Works on `images` images: decoding one takes `time`, and augmenting it takes three times as long. Returns the
/// counters of the two stages, the busy time of the workers' pool, and the elapsed time of all the work.
fn worked(time: Duration, images: u64) -> ([StageStats; 2], Duration, Duration) {
    let counters = Counters::new(1);
    let start = Instant::now();
    let clock = counters.worker(0);
    for _ in 0..images {
        clock.item();
        clock.work(Stage::Decode, 1, || spin(time));
        clock.work(Stage::Augment, 1, || spin(3 * time));
    }
    clock.before();
    let all = start.elapsed();
    let stats = counters.read(Capacities { jobs: 1, inbox: 1, ready: 1, announced: 1 });
    let stage = |stage| stats.stages[stage as usize].clone();
    ([stage(Stage::Decode), stage(Stage::Augment)], stats.pools[1].busy, all)
}

#[test]
fn no_time_is_lost_and_every_image_is_counted() {
    // Images of 80 µs are long: each is divided into stages. Images of 8 µs are short: one in eight is divided.
    for time in [Duration::from_micros(20), Duration::from_micros(2)] {
        let ([decode, augment], busy, all) = worked(time, 2000);
        assert_eq!((decode.items, augment.items), (2000, 2000));
        assert!(busy <= all && busy >= all.mul_f64(0.98), "{busy:?} of {all:?}");
        assert!(decode.busy + augment.busy <= busy + Duration::from_micros(1), "{decode:?} {augment:?} {busy:?}");
        assert!(decode.busy + augment.busy >= 2000 * 4 * time.mul_f64(0.9), "{decode:?} {augment:?}");
    }
}

#[test]
fn a_wait_counts_while_it_lasts() {
    let counters = Counters::new(1);
    let blocked = || counters.read(Capacities { jobs: 1, inbox: 1, ready: 1, announced: 1 }).pools[1].blocked;
    let time = Duration::from_millis(20);
    let clock = counters.worker(0);
    let (before, during) = clock.blocked(|| {
        let before = blocked();
        std::thread::sleep(time);
        (before, blocked())
    });
    let after = blocked();
    assert!(during - before >= time && after >= during, "{before:?} {during:?} {after:?}");
    // The wait has ended, so its counted time must not grow any more.
    std::thread::sleep(time);
    assert_eq!(blocked(), after);
}

#[test]
fn short_images_are_divided_one_in_eight() {
    let counters = Counters::new(1);
    let clock = counters.worker(0);
    let mut divided = 0;
    for _ in 0..80 {
        clock.image.set(Duration::from_micros(1));
        clock.item();
        divided += u32::from(clock.divided.get());
    }
    assert_eq!(divided, 10);
    clock.image.set(SHORT);
    clock.item();
    assert!(clock.divided.get());
}
