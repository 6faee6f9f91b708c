//! Training on what stays in memory: a network of four layers, and how much of its time goes into the batches.

use burn::module::Module;
use burn::nn::loss::CrossEntropyLossConfig;
use burn::nn::{Linear, LinearConfig};
use burn::optim::{AdamConfig, GradientsParams};
use burn::tensor::activation::relu;
use burn::tensor::{Device, Tensor};
use gpufeed::{DataLoader, Dataset, Label};
use std::error::Error;
use std::time::{Duration, Instant};

/// Pixels → 600 → 300 → 100 → classes.
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

/// How many classes there are: as many as have names, else as the labels say.
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

/// Trains for so many epochs without a pause between them.
pub(crate) fn run(loader: &DataLoader, epochs: u64, device: &Device) -> Result<(), Box<dyn Error>> {
    // The cache is filled, and the kernels compiled, before anything is measured.
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

    // The batches alone.
    let start = Instant::now();
    loader.epochs(1..1 + epochs)?.try_for_each(|batch| batch.map(drop))?;
    let alone = start.elapsed();

    let (mut start, mut waited, mut handing) = (Instant::now(), Duration::ZERO, Duration::ZERO);
    let mut last = f32::NAN;
    let mut steps = 0;
    // One more, which warms up and is not counted.
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
            // Waits for the device.
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
