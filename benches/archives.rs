//! Measures data sets of 100,000 samples, in tar shards and, with the feature `lmdb`, in an LMDB: the time to open them
//! for the first time and again, and the memory that ten epochs of shuffled reading take. With the feature `parquet` also
//! the rate of shuffled reading from tar shards and from Parquet files with the same images, in turns.
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
    #[cfg(feature = "parquet")]
    in_turns(&data, folder.path());
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

/// Reads the shards and Parquet files with the same images in the same random order, in turns, and prints the samples a
/// second of each: the middle of nine turns, and the smallest and the largest.
#[cfg(feature = "parquet")]
fn in_turns(tar: &TarShards, folder: &Path) {
    use gpufeed::dataset::Parquet;
    use gpufeed_testing::parquet_files::{Row, Style, file};

    const TURNS: usize = 9;
    let mut buffer = Vec::new();
    for first in (0..tar.len()).step_by(SHARD) {
        let mut row = |index: usize| {
            let sample = tar.read(index, &mut buffer).unwrap();
            let gpufeed::SampleData::Encoded(image) = sample.data else { unreachable!("files") };
            let gpufeed::Label::Class(class) = sample.label else { unreachable!("classes") };
            Row { image: Some(image.to_vec()), path: Some(format!("{index:09}.jpg")), label: Some(class.into()) }
        };
        let rows: Vec<_> = (first..tar.len().min(first + SHARD)).map(&mut row).collect();
        let style = Style { rows_a_group: 1000, rows_a_page: 100, ..Style::default() };
        fs::write(folder.join(format!("{:04}.parquet", first / SHARD)), file(&rows, &style)).unwrap();
    }
    let samples = tar.len();
    let files = (0..samples.div_ceil(SHARD)).map(|number| folder.join(format!("{number:04}.parquet")));
    let files: Vec<_> = files.collect();
    // Both written by one call each: how a file was written decides how large the pieces are in which the system has it
    // in memory, and so how fast it is read.
    let shards: Vec<_> = files.iter().map(|file| file.with_extension("again.tar")).collect();
    for (file, shard) in files.iter().zip(&shards) {
        fs::write(shard, fs::read(file.with_extension("tar")).unwrap()).unwrap();
    }
    let tar = &TarShards::builder().open_list(&shards).unwrap();
    measure("Parquet, first opening", samples, || Parquet::builder().open_list(&files).unwrap());
    let parquet = measure("Parquet, with indexes", samples, || Parquet::builder().open_list(&files).unwrap());
    let sampler = Sampler::new(samples, 256).unwrap().shuffle(true);
    let mut rates = [Vec::new(), Vec::new()];
    for turn in 0..TURNS {
        for (data, rates) in [tar as &dyn Dataset, &parquet].into_iter().zip(&mut rates) {
            let epoch = sampler.epoch(turn as u64);
            let start = Instant::now();
            for batch in 0..epoch.batches() {
                epoch.batch(batch).for_each(|position| drop(data.read(position.index, &mut buffer).unwrap()));
            }
            rates.push(samples as f64 / start.elapsed().as_secs_f64());
        }
    }
    rates.iter_mut().for_each(|rates| rates.sort_by(f64::total_cmp));
    for (name, rates) in ["tar", "Parquet"].into_iter().zip(&rates) {
        println!("{name}: {:.0} samples/s ({:.0} to {:.0})", rates[TURNS / 2], rates[0], rates[TURNS - 1]);
    }
    println!("Parquet / tar: {:.3}", rates[1][TURNS / 2] / rates[0][TURNS / 2]);
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
