//! Memory and time of the order of 100 million samples, in blocks, as one rank has it. An allocator of the test's own
//! counts every allocation.

#![expect(clippy::print_stdout, reason = "the measured numbers are worth a look")]

use gpufeed::{Order, Sampler};
use gpufeed_testing::counting::{self, peak_of};
use std::time::{Duration, Instant};

#[global_allocator]
static COUNTING: counting::Counting<1> = counting::Counting;

const SAMPLES: usize = 100_000_000;
const BLOCK: usize = 256;
const WINDOW: usize = 64;
const LANES: usize = 64;

#[test]
fn an_order_of_100_million_samples_holds_its_blocks_and_a_window_of_each_of_its_lanes() {
    for world in [64, 8] {
        let order = Order::Blocks { samples: BLOCK, window: WINDOW };
        let sampler = Sampler::new(SAMPLES, 512).unwrap().shuffle(true).order(order).unwrap();
        let sampler = sampler.lanes(LANES).unwrap().shard(world - 1, world).unwrap();
        let (mut opened, mut first, mut middle, mut ahead) = Default::default();
        let ((), peak) = peak_of(|| {
            let clock = Instant::now();
            let epoch = sampler.epoch(3);
            opened = clock.elapsed();
            assert_eq!(epoch.batch(0).len(), 512);
            first = clock.elapsed();
            // Resumed in the middle: no batch before it is made.
            let clock = Instant::now();
            assert_eq!(epoch.batch(epoch.batches() / 2).len(), 512);
            middle = clock.elapsed();
            let clock = Instant::now();
            (0..1000).for_each(|batch| drop(epoch.batch(batch)));
            ahead = clock.elapsed() / 1000;
        });
        // Four bytes for each block, and for each sample of a window of each lane; 1 MiB for all the rest.
        let owned = LANES / world;
        let most = 4 * (SAMPLES.div_ceil(BLOCK) + owned * WINDOW * BLOCK) + (1 << 20);
        println!(
            "world {world}: {:.2} MiB of {:.2}, opened in {opened:.2?}, first batch after {first:.2?}, one in the middle \
             {middle:.2?}, {ahead:.2?} for each of 1000 of 512",
            peak as f64 / 1_048_576.0,
            most as f64 / 1_048_576.0
        );
        assert!(peak < most, "{peak} bytes instead of {most}");
        // It takes a hundredth of that; a list of all samples takes 400 MB and seconds.
        assert!(first < Duration::from_secs(2), "{first:?}");
        assert!(middle < Duration::from_secs(1), "{middle:?}");
    }
}
