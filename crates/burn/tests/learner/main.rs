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
use burn::train::{
    ClassificationOutput, ExecutionStrategy, InferenceStep, Learner, MultiDeviceOptim, SupervisedTraining, TrainOutput,
    TrainStep, TrainingStrategy,
};
use gpufeed::transforms::{Normalize, RandomCrop};
use gpufeed::{Backend, DataLoader, Execute, Gpu, InMemory, Label, PixelFormat};
use gpufeed_burn::{BurnLoader, GpuExt, ImageBatch};
use std::sync::Arc;

type Loader = dyn burn::data::dataloader::DataLoader<ImageBatch>;

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

fn accuracy(model: &Model, loader: &Loader) -> f64 {
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
    let loader = |samples, shuffle| -> Arc<Loader> {
        let builder = DataLoader::builder(data(samples))
            .transform(RandomCrop::new(8))
            .transform(Normalize::IMAGENET)
            .batch_size(16)
            .shuffle(shuffle)
            .execute(execute);
        // The learner itself calls `to_device` with its own device.
        Arc::new(BurnLoader::new(builder.build(backend).unwrap(), device.clone()))
    };
    let accuracy = train(loader(96, true), loader(48, false), device, None);
    assert!(accuracy > 0.9, "{name}: {accuracy}");
}

/// Trains for four epochs, and returns the accuracy on the validation set.
fn train(training: Arc<Loader>, validation: Arc<Loader>, device: &Device, strategy: Option<ExecutionStrategy>) -> f64 {
    let device = device.clone().autodiff();
    device.seed(1);
    let learner = Learner::new(Model::new(&device), AdamConfig::new().init(), ConstantLr::new(0.02));
    let folder = tempfile::tempdir().unwrap();
    let mut training = SupervisedTraining::new(folder.path(), training, Arc::clone(&validation));
    if let Some(strategy) = strategy {
        training = training.with_training_strategy(TrainingStrategy::Default(strategy));
    }
    let result = training
        .num_epochs(4)
        .metrics((AccuracyMetric::new(), LossMetric::new()))
        .with_metric_logger(InMemoryMetricLogger::new())
        .with_application_logger(None)
        .renderer(Box::new(CliMetricsRenderer::new()))
        .launch(learner);
    accuracy(&result.model, &*validation)
}

#[test]
fn a_learner_learns() {
    learns("CPU", &Backend::Cpu, &Device::flex(), Execute::Auto);
    for adapter in Gpu::enumerate() {
        let (gpu, device) = Gpu::for_burn(&adapter).unwrap();
        learns(&gpu.to_string(), &Backend::Gpu(gpu.clone()), &device, Execute::Gpu);
    }
}

/// Two devices of one process learn from the shards of one data set, with the gradients of both.
#[test]
fn a_learner_of_two_devices_learns() {
    let devices = vec![Device::flex(); 2];
    let builder = |samples| {
        DataLoader::builder(data(samples)).transform(RandomCrop::new(8)).transform(Normalize::IMAGENET).batch_size(16)
    };
    let shard = |(rank, device): (usize, &Device)| {
        let shard = builder(192).shuffle(true).workers(1).shard(rank, devices.len());
        (shard.build(&Backend::Cpu).unwrap(), device.clone())
    };
    for optimizer in [MultiDeviceOptim::OptimMainDevice, MultiDeviceOptim::OptimSharded] {
        let training = BurnLoader::on(devices.iter().enumerate().map(shard)).unwrap();
        let validation = BurnLoader::new(builder(48).build(&Backend::Cpu).unwrap(), Device::flex());
        let autodiff = devices.iter().map(|device| device.clone().autodiff()).collect();
        let strategy = ExecutionStrategy::multi(autodiff, optimizer);
        let accuracy = train(Arc::new(training), Arc::new(validation), &devices[0], Some(strategy));
        assert!(accuracy > 0.9, "{optimizer:?}: {accuracy}");
    }
}
