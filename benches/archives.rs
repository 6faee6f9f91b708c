//! Measures data sets of 100,000 samples, in tar shards and, with the feature `lmdb`, in an LMDB: the time to open them
//! for the first time and again, and the memory that ten epochs of shuffled reading take.
//! `cargo bench --bench archives [-- SAMPLES [BYTES]]`. The memory is reported on Linux only.

#![allow(clippy::print_stdout, clippy::unwrap_used)]

use gpufeed::dataset::TarShards;
use gpufeed::{Dataset, Sampler};
use std::fs::{self, File};
use std::io::BufWriter;
use std::path::Path;
use std::time::Instant;
use tar::{Builder, Header};

/// The number of samples in each tar shard.
const SHARD: usize = 10_000;
const EPOCHS: u64 = 10;

fn main() {
    let numbers: Vec<usize> = std::env::args().skip(1).filter_map(|argument| argument.parse().ok()).collect();
    let samples = numbers.first().copied().unwrap_or(100_000);
    let bytes = numbers.get(1).copied().unwrap_or(3000);
    let folder = tempfile::tempdir().unwrap();
    println!("{samples} samples of {bytes} bytes in {}", folder.path().display());
    write_shards(folder.path(), samples, bytes);
    let shards = folder.path().join(format!("{{0000..{:04}}}.tar", samples.div_ceil(SHARD) - 1));
    measure("tar, first opening", samples, || TarShards::open(&shards).unwrap());
    let index: u64 = fs::read_dir(folder.path())
        .unwrap()
        .flatten()
        .filter_map(|entry| {
            let is_index = entry.file_name().to_string_lossy().ends_with("-index");
            is_index.then(|| entry.metadata().unwrap().len())
        })
        .sum();
    println!("  the indexes have {index} bytes, {:.0} a sample", index as f64 / samples as f64);
    let data = measure("tar, with indexes", samples, || TarShards::open(&shards).unwrap());
    epochs(&data);
    #[cfg(feature = "lmdb")]
    {
        use gpufeed::dataset::{Lmdb, LmdbLayout, LmdbWriter};

        let numbered = folder.path().join("numbered");
        let start = Instant::now();
        let mut writer = LmdbWriter::open(&numbered).unwrap();
        let mut buffer = Vec::new();
        for index in 0..samples {
            let sample = data.read(index, &mut buffer).unwrap();
            let gpufeed::SampleData::Encoded(image) = sample.data else { unreachable!("files") };
            writer.put(image, &sample.label).unwrap();
        }
        writer.finish(&[]).unwrap();
        drop(data);
        println!("LMDB written in {:.1} s", start.elapsed().as_secs_f64());
        for (name, layout) in [("LMDB, numbered", LmdbLayout::Auto), ("LMDB, keys listed", LmdbLayout::Image)] {
            measure(name, samples, || Lmdb::builder().layout(layout).open(&numbered).unwrap());
        }
        epochs(&Lmdb::open(&numbered).unwrap());
    }
}

fn write_shards(folder: &Path, samples: usize, bytes: usize) {
    let mut image = vec![0x5A; bytes];
    image[..3].copy_from_slice(&[0xFF, 0xD8, 0xFF]);
    for first in (0..samples).step_by(SHARD) {
        let file = File::create(folder.join(format!("{:04}.tar", first / SHARD))).unwrap();
        let mut archive = Builder::new(BufWriter::new(file));
        for number in first..samples.min(first + SHARD) {
            let label = (number % 1000).to_string();
            for (extension, content) in [("jpg", &image[..]), ("cls", label.as_bytes())] {
                let mut header = Header::new_ustar();
                header.set_size(content.len() as u64);
                archive.append_data(&mut header, format!("{number:09}.{extension}"), content).unwrap();
            }
        }
        archive.into_inner().unwrap().into_inner().unwrap();
    }
}

fn measure<D: Dataset>(what: &str, samples: usize, open: impl FnOnce() -> D) -> D {
    let before = anonymous();
    let start = Instant::now();
    let data = open();
    let milliseconds = start.elapsed().as_secs_f64() * 1e3;
    assert!(data.len() >= samples);
    let grown = anonymous().saturating_sub(before);
    println!("{what}: {milliseconds:.1} ms, {grown} KiB more memory");
    data
}

/// Reads all samples in shuffled order, for `EPOCHS` epochs.
fn epochs(data: &dyn Dataset) {
    let sampler = Sampler::new(data.len(), 256).unwrap().shuffle(true);
    let mut buffer = Vec::new();
    for epoch in 0..EPOCHS {
        let start = Instant::now();
        let mut bytes = 0;
        let order = sampler.epoch(epoch);
        for slot in (0..order.batches()).flat_map(|batch| order.batch(batch)) {
            bytes += match data.read(slot.index, &mut buffer).unwrap().data {
                gpufeed::SampleData::Encoded(image) => image.len(),
                gpufeed::SampleData::Pixels(pixels) => pixels.bytes().len(),
            };
        }
        let each = start.elapsed().as_secs_f64() * 1e6 / data.len() as f64;
        println!("  epoch {epoch}: {bytes} bytes, {each:.2} us a sample, {} KiB of own memory", anonymous());
    }
}

/// Returns the KiB of resident memory that is not backed by a file; 0 if the system does not report it.
fn anonymous() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or_default()
}
