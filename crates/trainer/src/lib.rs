//! Trains a small residual network with Burn on batches from gpufeed. [`run`] is a run, from the options to the curves.

pub mod checkpoint;
mod curves;
pub mod data;
mod epoch;
pub mod history;
mod model;
mod numbered;
pub mod optimizer;
pub mod options;
pub mod progress;
mod shapes;
mod split;
mod trace;

use crate::checkpoint::Loaded;
use crate::data::Data;
use crate::epoch::{Learner, Outcomes};
use crate::history::{Partial, Row, Times};
use crate::model::Model;
use crate::options::{Identity, Options};
use crate::progress::Display;
use crate::trace::{Entry, Trace};
use burn::module::Module;
use burn::nn::loss::CrossEntropyLossConfig;
use burn::tensor::Device;
use gpufeed::{Backend, DataLoader, State};
use gpufeed_burn::BackendExt;
use std::error::Error;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// What a run has come to.
#[derive(Debug)]
pub struct Summary {
    /// Every epoch that is over, those before `--resume` too.
    pub rows: Vec<Row>,
    /// Steps of this run.
    pub steps: u64,
    /// Whether it was stopped before its end.
    pub stopped: bool,
}

/// Trains on what the options name until the last epoch, or until `stop` is set.
pub fn run(options: &Options, stop: &AtomicBool) -> Result<Summary, Box<dyn Error>> {
    options.check()?;
    let display = Display::new(false);
    run_on(options, &Data::open(options)?, Backend::for_burn()?, display, stop)
}

/// The same with data, a place and a display of the caller's.
pub fn run_on(
    options: &Options,
    data: &Data,
    (backend, device): (Backend, Device),
    display: Display,
    stop: &AtomicBool,
) -> Result<Summary, Box<dyn Error>> {
    options.check()?;
    let training = data.training(options, &backend)?;
    let validation = data.validation(options, &backend)?;
    let steps = training.len() as u64;

    let (state, learner) = prepare(options, data, &device)?;
    display.say(&format!(
        "{backend}: {} images of {} classes, {} to validate; {} weights and running means, {} epochs of {steps} steps",
        data.train.len(),
        data.train.classes().len(),
        data.val.len(),
        learner.model.num_params(),
        options.epochs,
    ));
    let trace = options.trace.as_deref().map(Trace::open).transpose()?;
    let run = Run { options, training, validation, display, trace, learner, state, steps: 0 };
    let summary = run.until(stop)?;
    curves::write(&options.out, "Loss and accuracy", &summary.rows)?;
    Ok(summary)
}

/// A new model, or that of the checkpoint.
fn prepare(options: &Options, data: &Data, device: &Device) -> Result<(checkpoint::Progress, Learner), Box<dyn Error>> {
    std::fs::create_dir_all(&options.out)
        .map_err(|error| format!("--out: cannot make {}: {error}", options.out.display()))?;
    let classes = data.train.classes();
    let identity = Identity::new(options, classes, data.train.len(), data.val.len());
    let learning = device.clone().autodiff();
    learning.seed(options.seed);
    let model = Model::new(options.model, options.width, options.size as usize, classes.len(), &learning);
    let optimizer = optimizer::new(options, device);
    let (state, model, optimizer) = if options.resume {
        Loaded::read(&checkpoint::path(&options.out))?.restore(&identity, model, optimizer)?
    } else {
        checkpoint::spare_unfinished(&options.out)?;
        let loader = State { seed: options.seed, epoch: 0, batch: 0 };
        (checkpoint::Progress { identity, loader, rows: Vec::new(), partial: Partial::default() }, model, optimizer)
    };
    let smoothing = (options.label_smoothing > 0.0).then_some(options.label_smoothing);
    let loss = CrossEntropyLossConfig::new().with_smoothing(smoothing).init(&learning);
    Ok((state, Learner { model, optimizer, loss, device: device.clone() }))
}

/// A run under way.
struct Run<'a> {
    options: &'a Options,
    training: DataLoader,
    validation: DataLoader,
    display: Display,
    trace: Option<Trace>,
    learner: Learner,
    state: checkpoint::Progress,
    /// Of this run.
    steps: u64,
}

impl Run<'_> {
    fn until(mut self, stop: &AtomicBool) -> Result<Summary, Box<dyn Error>> {
        let (options, length) = (self.options, self.training.len() as u64);
        let warmup = options.warmup * length as f64;
        // One run over all epochs: the next one's first batches are made while the last one's are used.
        let mut batches = self.training.resume_until(&self.state.loader, options.epochs)?;
        let mut outcomes = Outcomes::default();
        let mut stopped = false;
        self.display.epoch(self.state.loader.epoch, options.epochs, length);
        let mut since = Instant::now();
        while !stopped && let Some(batch) = batches.next() {
            let batch = batch?;
            self.state.partial.time.waiting += since.elapsed();
            let step = batch.epoch() * length + batch.index();
            let rate = optimizer::learning_rate(options.lr(), warmup, step, options.epochs * length);
            let outcome = self.learner.step(&batch, rate, &mut self.state.partial)?;
            outcomes.push(outcome, self.trace.is_some().then(|| Entry::of(&batch)));
            self.steps += 1;
            self.state.loader = batches.state();
            stopped = stop.load(Ordering::Relaxed) || options.stop_after.is_some_and(|last| self.steps >= last);

            let ended = self.state.loader.epoch > batch.epoch();
            let save = stopped || options.checkpoint_every.is_some_and(|every| (step + 1).is_multiple_of(every));
            let look = ended || save || outcomes.len() as u64 >= options.log_every;
            if look {
                outcomes.read(&mut self.state.partial, self.trace.as_mut())?;
            }
            self.state.partial.time.whole += since.elapsed();
            if look {
                self.display.show(&self.state.partial);
            }
            drop(batch);
            if ended {
                self.end_epoch()?;
            }
            if ended || save {
                let path = checkpoint::path(&options.out);
                checkpoint::save(&path, &self.state, &self.learner.model, &self.learner.optimizer)?;
            }
            // From here on, so that neither validation nor the checkpoint counts as training.
            since = Instant::now();
        }
        stopped &= self.state.loader.epoch < options.epochs;
        Ok(Summary { rows: self.state.rows, steps: self.steps, stopped })
    }

    /// Validates, if it is due, and adds a row.
    fn end_epoch(&mut self) -> Result<(), Box<dyn Error>> {
        let epochs = self.options.epochs;
        let epoch = self.state.loader.epoch - 1;
        let due = (epoch + 1).is_multiple_of(self.options.val_every) || epoch + 1 == epochs;
        let val = if due { Some(self.learner.validate(&self.validation)?) } else { None };
        let sums = std::mem::take(&mut self.state.partial);
        let row = Row { epoch, images: sums.images, train: sums.score(), val, time: sums.time };
        self.display.finished(&row, epochs);
        if epoch + 1 < epochs {
            self.display.epoch(epoch + 1, epochs, self.training.len() as u64);
        }
        self.state.rows.push(row);
        Ok(())
    }
}

/// The table, and the shares of the whole run.
pub fn report(summary: &Summary) -> String {
    let time = Times::sum(&summary.rows);
    let images = summary.rows.iter().map(|row| row.images).sum();
    format!(
        "{}all: {:.1} s of training, {:.0} images/s, data stall {:.2} %, hand-over {:.2} %",
        history::table(&summary.rows),
        time.whole.as_secs_f64(),
        time.rate(images),
        time.stall(),
        time.hand_over()
    )
}
