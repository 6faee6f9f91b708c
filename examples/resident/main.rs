//! Measures epochs over a data set that stays in memory: from the data set itself, from a cache in RAM, and from a
//! cache in GPU memory. The example `resident_training` of crates/burn trains a small network on such batches.
//!
//! `cargo run --release --example resident [-- --data FOLDER]`: the data can be MNIST's or CIFAR's files in any of
//! their layouts, or any other data set of small images (`gpufeed::dataset::open`). Without `--data` the example draws
//! its own pictures and writes them in CIFAR's binary layout.

#![allow(clippy::print_stdout, clippy::print_stderr)]

mod procedural;

use clap::Parser;
use gpufeed::transforms::{Normalize, RandomCrop, RandomHorizontalFlip, Transform};
use gpufeed::{Backend, Cache, DataLoader, Dataset, Execute, LastBatch, SampleData, dataset};
use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

/// Measures epochs of small images that stay in memory.
#[derive(Parser)]
struct Arguments {
    /// Where the data set is, in any format that gpufeed reads
    #[arg(long)]
    data: Option<PathBuf>,
    /// Images in a batch
    #[arg(long, default_value_t = 512)]
    batch: usize,
    /// Epochs that are measured, after one that fills the cache
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..))]
    epochs: u64,
    /// Bytes of the cache, in MiB
    #[arg(long, value_name = "MIB", default_value_t = 2048, value_parser = clap::value_parser!(u64).range(..1 << 40))]
    budget: u64,
    /// No augmentation but Normalize
    #[arg(long)]
    plain: bool,
    /// Augment with shaders on a software GPU too, where native code is faster
    #[arg(long)]
    shaders: bool,
}

fn main() {
    if let Err(error) = run(&Arguments::parse()) {
        eprintln!("resident: {error}");
        std::process::exit(1);
    }
}

fn run(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let path = match &arguments.data {
        Some(path) => path.clone(),
        None => procedural::cifar(folder.path(), 10_000)?,
    };
    let data: Arc<dyn Dataset> = Arc::from(dataset::open(path)?.train);
    let side = side(&*data)?;
    println!("{} images of {side}x{side}, {} channels", data.len(), data.channels());
    let backend = Backend::auto()?;
    println!("backend: {backend}");

    let on_gpu = matches!(&backend, Backend::Gpu(gpu) if arguments.shaders || !gpu.is_software());
    let budget = arguments.budget << 20;
    for (name, cache) in
        [("no cache", Cache::Off), ("host cache", Cache::Host(budget)), ("device cache", Cache::Device(budget))]
    {
        let loader = loader(&data, side, arguments, cache, &backend)?;
        // The first epoch fills the cache.
        for batch in loader.epoch(0)? {
            drop(batch?);
        }
        let start = Instant::now();
        let mut images = 0;
        for batch in loader.epochs(1..1 + arguments.epochs)? {
            images += batch?.len();
        }
        finish(&backend)?;
        let time = start.elapsed().as_secs_f64();
        let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
        let kept = match (cache, loader.cached()) {
            (Cache::Off, _) => "nothing kept".to_owned(),
            // On the CPU a cache keeps no copy of what the data set has in memory.
            (_, (0, _)) if data.is_in_memory() && !on_gpu => "kept by the data set itself".to_owned(),
            (_, (samples, bytes)) => format!("{samples} samples kept in {:.1} MiB", mib(bytes)),
        };
        println!(
            "{name:>12}: {:.3} s an epoch, {:.0} images/s; {kept}, buffers of {:.1} MiB",
            time / arguments.epochs as f64,
            images as f64 / time,
            mib(loader.memory()),
        );
    }
    Ok(())
}

fn loader(
    data: &Arc<dyn Dataset>,
    side: u32,
    arguments: &Arguments,
    cache: Cache,
    backend: &Backend,
) -> gpufeed::Result<DataLoader> {
    let mut transforms: Vec<Transform> = Vec::new();
    if !arguments.plain {
        transforms.push(RandomCrop::new(side).padding(side / 8).into());
        transforms.push(RandomHorizontalFlip::new(0.5).into());
    } else {
        transforms.push(RandomCrop::new(side).into());
    }
    transforms.push(Normalize::new([0.5; 3], [0.25; 3]).into());
    DataLoader::builder(Arc::clone(data))
        .recipe(transforms)
        .batch_size(arguments.batch)
        .shuffle(true)
        .last_batch(LastBatch::Drop)
        .cache(cache)
        .execute(if arguments.shaders { Execute::Gpu } else { Execute::Auto })
        .build(backend)
}

/// Returns the shorter side of the first image in pixels; all other images must be at least as large.
fn side(data: &dyn Dataset) -> Result<u32, Box<dyn Error>> {
    match data.read(0, &mut Vec::new())?.data {
        SampleData::Pixels(pixels) => Ok(pixels.width().min(pixels.height())),
        SampleData::Encoded(bytes) => {
            let probe = gpufeed::decode::probe(bytes, &Default::default())?;
            Ok(probe.width.min(probe.height))
        }
    }
}

/// Waits until the GPU has finished all submitted work.
fn finish(backend: &Backend) -> Result<(), Box<dyn Error>> {
    if let Backend::Gpu(gpu) = backend {
        gpu.device().poll(gpufeed::wgpu::PollType::wait_indefinitely())?;
    }
    Ok(())
}
