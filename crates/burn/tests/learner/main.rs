//! Tests that Burn's own `Learner` accepts a `BurnLoader` without changes, and learns from it.

use burn::module::Module;
use burn::nn::loss::CrossEntropyLossConfig;
use burn::nn::{Linear, LinearConfig};
use burn::optim::AdamConfig;
use burn::optim::lr_scheduler::constant::ConstantLr;
use burn::tensor::Device;
use burn::train::logger::InMemoryMetricLogger;
use burn::train::metric::{AccuracyMetric, LossMetric};
use burn::train::renderer::CliMetricsRenderer;
use burn::train::{ClassificationOutput, InferenceStep, Learner, SupervisedTraining, TrainOutput, TrainStep};
use gpufeed::transforms::{Normalize, RandomCrop};
use gpufeed::{Backend, DataLoader, Execute, Gpu, InMemory, Label, PixelFormat};
use gpufeed_burn::{BurnLoader, GpuExt, ImageBatch};
use std::sync::Arc;

/// A linear classifier of red, green and blue images.
#[derive(Module, Debug)]
struct Model {
    linear: Linear,
}

impl Model {
    fn new(device: &Device) -> Model {
        Model { linear: LinearConfig::new(3 * 8 * 8, 3).init(device) }
    }

    fn classify(&self, batch: ImageBatch) -> ClassificationOutput {
        let output = self.linear.forward(batch.images.flatten::<2>(1, 3));
        let loss = CrossEntropyLossConfig::new().init(&output.device()).forward(output.clone(), batch.classes.clone());
        ClassificationOutput::new(loss, output, batch.classes)
    }
}

impl TrainStep for Model {
    type Input = ImageBatch;
    type Output = ClassificationOutput;

    fn step(&self, batch: ImageBatch) -> TrainOutput<ClassificationOutput> {
        let output = self.classify(batch);
        TrainOutput::new(self, output.loss.backward(), output)
    }
}

impl InferenceStep for Model {
    type Input = ImageBatch;
    type Output = ClassificationOutput;

    fn step(&self, batch: ImageBatch) -> ClassificationOutput {
        self.classify(batch)
    }
}

/// Draws images in which one channel is brighter than the others. The class is the number of that channel.
fn data(samples: u32) -> InMemory {
    let mut data = InMemory::new();
    for number in 0..samples {
        let class = number % 3;
        let value = |i: u32| (i * 37 + number * 101) % 120 + if i % 3 == class { 100 } else { 0 };
        let pixels: Vec<u8> = (0..10 * 10 * 3).map(|i| value(i) as u8).collect();
        data.push_pixels(10, 10, PixelFormat::Rgb8, pixels, Label::Class(class)).unwrap();
    }
    data
}

fn accuracy(model: &Model, loader: &dyn burn::data::dataloader::DataLoader<ImageBatch>) -> f64 {
    let (mut right, mut all) = (0, 0);
    for batch in loader.iter() {
        let output = model.classify(batch.unwrap());
        let hits = output.output.argmax(1).flatten::<1>(0, 1).equal(output.targets).int().sum();
        right += hits.into_scalar::<i64>();
        all += 1;
    }
    right as f64 / (all * 16) as f64
}

fn learns(name: &str, backend: &Backend, device: &Device, execute: Execute) {
    let loader = |samples, shuffle| {
        let builder = DataLoader::builder(data(samples))
            .transform(RandomCrop::new(8))
            .transform(Normalize::IMAGENET)
            .batch_size(16)
            .shuffle(shuffle)
            .execute(execute);
        // The learner itself calls `to_device` with its own device.
        Arc::new(BurnLoader::new(builder.build(backend).unwrap(), device.clone()))
    };
    let device = device.clone().autodiff();
    device.seed(1);
    let learner = Learner::new(Model::new(&device), AdamConfig::new().init(), ConstantLr::new(0.02));
    let folder = tempfile::tempdir().unwrap();
    let result = SupervisedTraining::new(folder.path(), loader(96, true), loader(48, false))
        .num_epochs(4)
        .metrics((AccuracyMetric::new(), LossMetric::new()))
        .with_metric_logger(InMemoryMetricLogger::new())
        .with_application_logger(None)
        .renderer(Box::new(CliMetricsRenderer::new()))
        .launch(learner);
    let accuracy = accuracy(&result.model, &*loader(48, false));
    assert!(accuracy > 0.9, "{name}: {accuracy}");
}

#[test]
fn a_learner_learns() {
    learns("CPU", &Backend::Cpu, &Device::flex(), Execute::Auto);
    for adapter in Gpu::enumerate() {
        let (gpu, device) = Gpu::for_burn(&adapter).unwrap();
        learns(&gpu.to_string(), &Backend::Gpu(gpu.clone()), &device, Execute::Gpu);
    }
}
