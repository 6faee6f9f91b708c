//! Memory and time of opening many shards that a web server has, with their indexes beside them: 3 million samples in 300
//! shards; with GPUFEED_FULL=1 100 million in 10,000. `scripts/test-remote.sh` starts nginx for it. An allocator of the
//! test's own counts every allocation; times are printed, since they are the server's, too.

#![cfg(feature = "remote")]
#![expect(clippy::print_stdout, reason = "the measured numbers are worth a look")]

use gpufeed::dataset::ShardIndexes;
use gpufeed::{Dataset, Order, Sampler, TarShards};
use gpufeed_testing::counting::{self, peak_of};
use gpufeed_testing::sparse_shard::sparse_shard;
use std::fs;
use std::path::Path;
use std::time::Instant;

#[global_allocator]
static COUNTING: counting::Counting<1> = counting::Counting;

/// Samples of a shard.
const SHARD: usize = 10_000;
const LANES: usize = 64;
/// The most bytes of memory of a rank for the indexes in use, the list of shards and the order.
const MOST: usize = 64 << 20;

fn told(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set: scripts/test-remote.sh starts the server"))
}

#[test]
fn many_shards_of_a_server_take_little_memory() {
    let full = std::env::var_os("GPUFEED_FULL").is_some();
    let shards = if full { 10_000 } else { 300 };
    let folder = Path::new(&told("GPUFEED_TEST_WEB_ROOT")).join("many");
    fs::create_dir(&folder).unwrap();
    let at = |number: usize| folder.join(format!("{number:05}.tar"));
    let web = format!("{}/many", told("GPUFEED_TEST_HTTP"));
    sparse_shard(&at(0), SHARD);
    let indexes = tempfile::tempdir().unwrap();
    let builder = || TarShards::builder().indexes(ShardIndexes::Folder(indexes.path().into()));
    assert_eq!(builder().open(format!("{web}/00000.tar")).unwrap().len(), SHARD);
    let index = fs::read_dir(indexes.path()).unwrap().next().unwrap().unwrap().path();
    // One shard under all names: nginx's ETag is that of its time and size.
    for number in 0..shards {
        if number > 0 {
            fs::hard_link(at(0), at(number)).unwrap();
        }
        fs::copy(&index, folder.join(format!(".{number:05}.tar.gpufeed-index"))).unwrap();
    }
    let sizes: Vec<_> = (0..shards).map(|number| format!("\"{number:05}.tar\": {SHARD}")).collect();
    fs::write(folder.join("sizes.json"), format!("{{{}}}", sizes.join(", "))).unwrap();
    let list = format!("{web}/{{00000..{:05}}}.tar", shards - 1);
    for (world, counts) in [(64, true), (8, true), (64, false)] {
        let classes = (0..1000).map(|class| class.to_string());
        let builder = TarShards::builder().classes(classes);
        let builder = if counts { builder.counts(format!("{web}/sizes.json")) } else { builder };
        let clock = Instant::now();
        let ((data, epoch, opened), peak) = peak_of(|| {
            let data = builder.open(&list).unwrap();
            let opened = clock.elapsed();
            let sampler = Sampler::new(data.len(), 512).unwrap().shuffle(true);
            let sampler = sampler.order(Order::Blocks { samples: 256, window: 64 }).unwrap();
            let epoch = sampler.lanes(LANES).unwrap().shard(world - 1, world).unwrap().epoch(1);
            // Reads the indexes of the samples alone: bytes of images are a matter of `read_ahead`.
            for batch in 0..40.min(epoch.batches()) {
                for position in epoch.batch(batch) {
                    assert!(data.key(position.index).is_some());
                }
            }
            (data, epoch, opened)
        });
        let mut buffer = Vec::new();
        let clock = Instant::now();
        // As a loader does. Each sample is in another block of 8 MiB, so the time is that of so many bytes.
        data.access().unwrap().prefetch(&epoch.batch(0).map(|position| position.index).collect::<Vec<_>>());
        for position in epoch.batch(0) {
            data.read(position.index, &mut buffer).unwrap();
        }
        let first = clock.elapsed();
        println!(
            "world {world}, {}: {} samples in {shards} objects opened in {opened:.2?}, the first batch read in {first:.2?}, \
             {:.1} MiB of memory for indexes and order",
            if counts { "counts from a JSON" } else { "two requests an object" },
            data.len(),
            peak as f64 / 1_048_576.0
        );
        assert_eq!(data.len(), SHARD * shards);
        assert!(peak < MOST, "{peak} bytes");
    }
}
