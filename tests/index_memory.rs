//! Memory and time of opening many shards that have their indexes: 3 million samples in 300 shards; with GPUFEED_FULL=1
//! 100 million in 10,000. An allocator of the test's own counts every allocation.

#![expect(clippy::print_stdout, reason = "the measured numbers are worth a look")]

use gpufeed::{Dataset, Order, Sampler, TarShards};
use gpufeed_testing::counting::{self, peak_of};
use gpufeed_testing::sparse_shard::sparse_shard;
use std::fs;
use std::time::{Duration, Instant};

#[global_allocator]
static COUNTING: counting::Counting<1> = counting::Counting;

/// Samples of a shard.
const SHARD: usize = 10_000;
const LANES: usize = 64;
/// The most bytes of memory of a rank for the indexes in use, the list of shards and the order.
const MOST: usize = 64 << 20;

#[test]
fn many_shards_with_indexes_open_at_once_and_take_little_memory() {
    let full = std::env::var_os("GPUFEED_FULL").is_some();
    let shards = if full { 10_000 } else { 300 };
    let folder = tempfile::tempdir().unwrap();
    let at = |number: usize| folder.path().join(format!("{number:05}.tar"));
    let index = |number: usize| folder.path().join(format!(".{number:05}.tar.gpufeed-index"));
    sparse_shard(&at(0), SHARD);
    assert_eq!(TarShards::open(at(0)).unwrap().len(), SHARD);
    // Other names of that shard, each with an index of its own.
    for number in 1..shards {
        fs::hard_link(at(0), at(number)).unwrap();
        fs::copy(index(0), index(number)).unwrap();
    }
    let list = folder.path().join(format!("{{00000..{:05}}}.tar", shards - 1));
    for world in [64, 8] {
        let order = Order::Blocks { samples: 256, window: 64 };
        let (mut opened, mut first, mut held) = (Duration::ZERO, Duration::ZERO, 0);
        let mut read = 0;
        let ((), peak) = peak_of(|| {
            let clock = Instant::now();
            let data = TarShards::open(&list).unwrap();
            opened = clock.elapsed();
            held = data.len();
            let sampler = Sampler::new(data.len(), 512).unwrap().shuffle(true).order(order).unwrap();
            let epoch = sampler.lanes(LANES).unwrap().shard(world - 1, world).unwrap().epoch(1);
            let mut buffer = Vec::new();
            for batch in 0..40.min(epoch.batches()) {
                for position in epoch.batch(batch) {
                    data.read(position.index, &mut buffer).unwrap();
                    read += 1;
                }
                if batch == 0 {
                    first = clock.elapsed();
                }
            }
        });
        println!(
            "world {world}: {held} samples in {shards} shards opened in {opened:.2?}, the first 512 read after {first:.2?}, \
             {:.1} MiB of memory at {read} of them",
            peak as f64 / 1_048_576.0
        );
        assert_eq!(held, SHARD * shards);
        assert!(peak < MOST, "{peak} bytes");
        assert!(opened < Duration::from_secs(2), "{opened:?}");
        assert!(first < Duration::from_secs(5), "{first:?}");
    }
}
