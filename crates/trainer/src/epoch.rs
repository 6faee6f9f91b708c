//! The steps of training and of validation: the code that a training loop of your own would also need.

use crate::history::{Partial, Score};
use crate::model::Model;
use crate::trace::{Trace, TracedBatch};
use burn::module::Module;
use burn::nn::loss::{CrossEntropyLoss, CrossEntropyLossConfig};
use burn::optim::{GradientsParams, ModuleOptimizer};
use burn::tensor::{Device, Int, Tensor};
use gpufeed::{Batch, DataLoader};
use gpufeed_burn::BatchExt;
use std::error::Error;
use std::time::Instant;

/// A model in training, with its optimiser and its loss.
pub(crate) struct Learner {
    pub(crate) model: Model,
    pub(crate) optimizer: ModuleOptimizer,
    pub(crate) loss: CrossEntropyLoss,
    pub(crate) device: Device,
}

impl Learner {
    /// Trains on one batch: forward pass, backward pass, update of the weights. On a GPU it returns before the GPU has
    /// done the work.
    pub(crate) fn step(&mut self, batch: &Batch, rate: f64, sums: &mut Partial) -> gpufeed::Result<Outcome> {
        let handing = Instant::now();
        let images = batch.to_tensor(&self.device)?;
        let classes = batch.class_tensor(&self.device)?;
        sums.time.handing += handing.elapsed();

        let logits = self.model.forward(images);
        let loss = self.loss.forward(logits.clone(), classes.clone());
        let outcome = Outcome::new(loss.clone().inner(), logits.inner(), classes);
        let gradients = GradientsParams::from_grads(loss.backward(), &self.model);
        self.model = self.optimizer.step(rate, self.model.clone(), gradients);
        Ok(outcome)
    }

    /// Computes loss and accuracy over every image of `loader`. The normalisation uses its running means, and labels
    /// are not smoothed.
    pub(crate) fn validate(&self, loader: &DataLoader) -> Result<Score, Box<dyn Error>> {
        let model = self.model.valid();
        let loss = CrossEntropyLossConfig::new().init(&self.device);
        let (mut sums, mut outcomes) = (Partial::default(), Outcomes::default());
        for batch in loader.epoch(0)? {
            let batch = batch?;
            let classes = batch.class_tensor(&self.device)?;
            let logits = model.forward(batch.to_tensor(&self.device)?);
            let loss = loss.forward(logits.clone(), classes.clone());
            outcomes.push(Outcome::new(loss, logits, classes), None);
        }
        outcomes.read(&mut sums, None)?;
        Ok(sums.score())
    }
}

/// The results of one step, not read from the device yet.
pub(crate) struct Outcome {
    images: usize,
    /// The mean loss over the batch.
    loss: Tensor<1>,
    correct: Tensor<1, Int>,
}

impl Outcome {
    fn new(loss: Tensor<1>, logits: Tensor<2>, classes: Tensor<1, Int>) -> Outcome {
        let [images] = classes.dims();
        let correct = logits.argmax(1).squeeze_dim::<1>(1).equal(classes).int().sum();
        Outcome { images, loss, correct }
    }
}

/// Outcomes that are not read yet. Reading a number makes the caller wait for the GPU, and then the GPU wait for the
/// caller, so outcomes are read several steps at a time. The sums are equal to those of reading each outcome at once.
#[derive(Default)]
pub(crate) struct Outcomes {
    pending: Vec<(Outcome, Option<TracedBatch>)>,
}

impl Outcomes {
    pub(crate) fn push(&mut self, outcome: Outcome, entry: Option<TracedBatch>) {
        self.pending.push((outcome, entry));
    }

    pub(crate) fn len(&self) -> usize {
        self.pending.len()
    }

    /// Reads the pending outcomes from the device and adds them to `sums`, in order.
    pub(crate) fn read(&mut self, sums: &mut Partial, mut trace: Option<&mut Trace>) -> Result<(), Box<dyn Error>> {
        if self.pending.is_empty() {
            return Ok(());
        }
        let losses = self.pending.iter().map(|(outcome, _)| outcome.loss.clone()).collect();
        let correct = self.pending.iter().map(|(outcome, _)| outcome.correct.clone()).collect();
        let (losses, correct) = (Tensor::cat(losses, 0).into_data(), Tensor::cat(correct, 0).into_data());
        let numbers = losses.iter::<f32>().zip(correct.iter::<i64>());
        for ((outcome, entry), (loss, correct)) in self.pending.drain(..).zip(numbers) {
            if !loss.is_finite() {
                return Err(
                    format!("the loss is {loss} in step {} of the epoch; --lr: try less", sums.steps + 1).into()
                );
            }
            sums.add(outcome.images as u64, loss, correct as u64);
            if let (Some(trace), Some(entry)) = (&mut trace, entry) {
                trace.write(entry, loss)?;
            }
        }
        trace.map_or(Ok(()), Trace::flush)
    }
}
