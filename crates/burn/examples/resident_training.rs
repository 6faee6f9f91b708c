//! Trains a network of four layers on small images that stay in memory, and measures the share of the time that the
//! batches take.
//!
//! `cargo run --release -p gpufeed-burn --example resident_training [-- --data MNIST --batch 300 --plain]`: MNIST's or
//! CIFAR's files, or any other data set of small images (`gpufeed::dataset::open`). Without `--data` it draws stripes.
//! gpufeed's own example `resident` measures the same batches without a network, and without Burn.

#![allow(clippy::print_stdout, clippy::print_stderr)]

use burn::module::Module;
use burn::nn::loss::CrossEntropyLossConfig;
use burn::nn::{Linear, LinearConfig};
use burn::optim::{AdamConfig, GradientsParams};
use burn::tensor::activation::relu;
use burn::tensor::{Device, Tensor};
use clap::Parser;
use gpufeed::transforms::{Normalize, RandomCrop, RandomHorizontalFlip, Transform};
use gpufeed::{
    Backend, Cache, DataLoader, Dataset, Execute, InMemory, Label, LastBatch, PixelFormat, SampleData, dataset,
};
use gpufeed_burn::{BackendExt, BatchExt};
use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Trains a network of four layers on small images that stay in memory.
#[derive(Parser)]
struct Arguments {
    /// Where the data set is, in any format that gpufeed reads
    #[arg(long)]
    data: Option<PathBuf>,
    /// Images in a batch
    #[arg(long, default_value_t = 512)]
    batch: usize,
    /// Epochs that are measured, after one that warms up
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
        eprintln!("resident_training: {error}");
        std::process::exit(1);
    }
}

fn run(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let data: Arc<dyn Dataset> = match &arguments.data {
        Some(path) => Arc::from(dataset::open(path)?.train),
        None => Arc::new(stripes(10_000)?),
    };
    let side = side(&*data)?;
    println!("{} images of {side}x{side}, {} channels", data.len(), data.channels());
    let (backend, device) = Backend::for_burn()?;
    println!("backend: {backend}");
    let mut transforms: Vec<Transform> = Vec::new();
    if arguments.plain {
        transforms.push(RandomCrop::new(side).into());
    } else {
        transforms.push(RandomCrop::new(side).padding(side / 8).into());
        transforms.push(RandomHorizontalFlip::new(0.5).into());
    }
    transforms.push(Normalize::new([0.5; 3], [0.25; 3]).into());
    let loader = DataLoader::builder(data)
        .recipe(transforms)
        .batch_size(arguments.batch)
        .shuffle(true)
        .last_batch(LastBatch::Drop)
        .cache(Cache::Device(arguments.budget << 20))
        .execute(if arguments.shaders { Execute::Gpu } else { Execute::Auto })
        .build(&backend)?;
    train(&loader, arguments.epochs, &device)
}

/// Draws images of stripes, 32 × 32 pixels each. The ten classes differ in the stripes' direction and width.
fn stripes(images: u32) -> gpufeed::Result<InMemory> {
    let mut data = InMemory::new();
    for number in 0..images {
        let class = number % 10;
        let (across, down) = (1 + class % 5, 1 + class / 5 * 3);
        let value = |i: u32| {
            let wave = (across * (i / 3 % 32) + down * (i / 96) + number / 10 + 40 * (i % 3)) % 64;
            (4 * wave.min(63 - wave) + 8 * (number * 7919 % 13)) as u8
        };
        data.push_pixels(
            32,
            32,
            PixelFormat::Rgb8,
            (0..32 * 32 * 3).map(value).collect::<Vec<_>>(),
            Label::Class(class),
        )?;
    }
    Ok(data)
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

/// Four linear layers: pixels → 600 → 300 → 100 → classes.
#[derive(Module, Debug)]
struct Network {
    layers: Vec<Linear>,
}

impl Network {
    fn new(pixels: usize, classes: usize, device: &Device) -> Network {
        let sizes = [pixels, 600, 300, 100, classes];
        Network { layers: sizes.windows(2).map(|pair| LinearConfig::new(pair[0], pair[1]).init(device)).collect() }
    }

    fn forward(&self, images: Tensor<4>) -> Tensor<2> {
        let (last, hidden) = self.layers.split_last().expect("four layers");
        last.forward(hidden.iter().fold(images.flatten(1, 3), |x, layer| relu(layer.forward(x))))
    }
}

/// Returns the number of classes: the number of class names, or, without names, one more than the largest label.
fn classes(data: &dyn Dataset) -> Result<usize, Box<dyn Error>> {
    if !data.classes().is_empty() {
        return Ok(data.classes().len());
    }
    let (mut most, mut buffer) = (0, Vec::new());
    for index in 0..data.len() {
        match data.read(index, &mut buffer)?.label {
            Label::Class(class) if class < 10_000 => most = most.max(class),
            label => return Err(format!("--data: {} is none of 10,000 classes but {label:?}", data.name(index)).into()),
        }
    }
    Ok(most as usize + 1)
}

/// Trains for `epochs` epochs without a pause between them, and prints where the time went.
fn train(loader: &DataLoader, epochs: u64, device: &Device) -> Result<(), Box<dyn Error>> {
    // Fills the cache and compiles the kernels before the measurement.
    let first = loader.epoch(0)?.next().ok_or("no batch")??;
    let [_, channels, height, width] = first.shape();
    drop(first);
    loader.epoch(0)?.try_for_each(|batch| batch.map(drop))?;
    let classes = classes(loader.dataset())?;
    let device = device.clone().autodiff();
    device.seed(0);
    let mut network = Network::new(channels * height * width, classes, &device);
    let mut optimizer = AdamConfig::new().init();
    let loss = CrossEntropyLossConfig::new().init(&device);

    // Measures the batches without a network.
    let start = Instant::now();
    loader.epochs(1..1 + epochs)?.try_for_each(|batch| batch.map(drop))?;
    let alone = start.elapsed();

    let (mut start, mut waited, mut handing) = (Instant::now(), Duration::ZERO, Duration::ZERO);
    let mut last = f32::NAN;
    let mut steps = 0;
    // Epoch 0 is a warm-up and is not counted.
    let mut run = loader.epochs(0..1 + epochs)?;
    loop {
        let asked = Instant::now();
        let Some(batch) = run.next() else { break };
        let batch = batch?;
        let received = Instant::now();
        let (images, labels) = (batch.to_tensor(&device)?, batch.class_tensor(&device)?);
        drop(batch);
        waited += received - asked;
        handing += received.elapsed();
        let value = loss.forward(network.forward(images), labels);
        let gradients = GradientsParams::from_grads(value.backward(), &network);
        network = optimizer.step(1e-3, network, gradients);
        steps += 1;
        if steps % loader.len() == 0 {
            // Reading the value waits until the device has finished the step.
            last = value.into_scalar();
            if steps == loader.len() {
                (start, waited, handing) = (Instant::now(), Duration::ZERO, Duration::ZERO);
            }
        }
    }
    let time = start.elapsed().as_secs_f64();
    let share = |part: Duration| 100.0 * part.as_secs_f64() / time;
    println!(
        "training {} -> 600 -> 300 -> 100 -> {classes}, batches of {}: {:.2} s an epoch, loss {last:.4}",
        channels * height * width,
        loader.sampler().epoch(0).batch(0).len(),
        time / epochs as f64
    );
    println!(
        "the same batches alone take {:.1} % of that time; training waits for them {:.2} %, the hand-over takes {:.2} %",
        share(alone),
        share(waited),
        share(handing)
    );
    Ok(())
}
