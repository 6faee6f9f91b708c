//! Trains a small residual network with Burn on batches from gpufeed. The function [`run`] does the whole training,
//! from the options to the curves.
//!
//! `options.rs` has the options, `data.rs` opens the data (`shapes.rs` draws some, `split.rs` divides a folder,
//! `numbered.rs` names classes), `model.rs` and `optimizer.rs` are what is trained. `epoch.rs` has the steps,
//! `history.rs` their results, `checkpoint.rs` what a run needs to continue; `progress.rs`, `curves.rs` and `trace.rs`
//! show and write them.

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
use crate::history::{EpochResults, Partial, Times};
use crate::model::Model;
use crate::options::{Identity, Options};
use crate::progress::Display;
use crate::trace::{Trace, TracedBatch};
use burn::module::Module;
use burn::nn::loss::CrossEntropyLossConfig;
use burn::tensor::Device;
use gpufeed::{Backend, DataLoader, State};
use gpufeed_burn::BackendExt;
use std::error::Error;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// The results of a run.
#[derive(Debug)]
pub struct Summary {
    /// The finished epochs, including those from before `--resume`.
    pub rows: Vec<EpochResults>,
    /// The number of steps of this run.
    pub steps: u64,
    /// Whether the run was stopped before its last epoch ended.
    pub stopped: bool,
}

/// Trains on the data that the options name, until the last epoch ends or `stop` is set.
pub fn run(options: &Options, stop: &AtomicBool) -> Result<Summary, Box<dyn Error>> {
    options.check()?;
    let display = Display::new(false);
    run_on(options, &Data::open(options)?, Backend::for_burn()?, display, stop)
}

/// Does the work of [`run`] with the caller's own data, backend, device and display.
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
    let run = Training { options, training, validation, display, trace, learner, state, steps: 0 };
    let summary = run.until(stop)?;
    curves::write(&options.out, "Loss and accuracy", &summary.rows)?;
    Ok(summary)
}

/// Returns the progress and the model to start with: new ones, or with `--resume` those of the checkpoint.
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
        let loader = State::at(options.seed, 0, 0);
        (checkpoint::Progress { identity, loader, rows: Vec::new(), partial: Partial::default() }, model, optimizer)
    };
    let smoothing = (options.label_smoothing > 0.0).then_some(options.label_smoothing);
    let loss = CrossEntropyLossConfig::new().with_smoothing(smoothing).init(&learning);
    Ok((state, Learner { model, optimizer, loss, device: device.clone() }))
}

/// A run in progress.
struct Training<'a> {
    options: &'a Options,
    training: DataLoader,
    validation: DataLoader,
    display: Display,
    trace: Option<Trace>,
    learner: Learner,
    state: checkpoint::Progress,
    /// The number of steps since this run started.
    steps: u64,
}

impl Training<'_> {
    fn until(mut self, stop: &AtomicBool) -> Result<Summary, Box<dyn Error>> {
        let (options, length) = (self.options, self.training.len() as u64);
        let warmup = options.warmup * length as f64;
        // Uses one loader run for all epochs, so that the first batches of the next epoch are prepared while the last
        // batches of this one are used.
        let mut batches = self.training.resume_until(&self.state.loader, options.epochs)?;
        let mut outcomes = Outcomes::default();
        let mut stopped = false;
        self.display.epoch(self.state.loader.epoch(), options.epochs, length);
        let mut since = Instant::now();
        while !stopped && let Some(batch) = batches.next() {
            let batch = batch?;
            self.state.partial.time.waiting += since.elapsed();
            let step = batch.epoch() * length + batch.index();
            let rate = optimizer::learning_rate(options.lr(), warmup, step, options.epochs * length);
            let outcome = self.learner.step(&batch, rate, &mut self.state.partial)?;
            outcomes.push(outcome, self.trace.is_some().then(|| TracedBatch::of(&batch)));
            self.steps += 1;
            self.state.loader = batches.state();
            stopped = stop.load(Ordering::Relaxed) || options.stop_after.is_some_and(|last| self.steps >= last);

            let ended = self.state.loader.epoch() > batch.epoch();
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
            // Restarts the clock here, so that validation and checkpoints do not count as training time.
            since = Instant::now();
        }
        stopped &= self.state.loader.epoch() < options.epochs;
        Ok(Summary { rows: self.state.rows, steps: self.steps, stopped })
    }

    /// Ends an epoch: validates if `--val-every` asks for it, and adds a row.
    fn end_epoch(&mut self) -> Result<(), Box<dyn Error>> {
        let epochs = self.options.epochs;
        let epoch = self.state.loader.epoch() - 1;
        let due = (epoch + 1).is_multiple_of(self.options.val_every) || epoch + 1 == epochs;
        let val = if due { Some(self.learner.validate(&self.validation)?) } else { None };
        let sums = std::mem::take(&mut self.state.partial);
        let row = EpochResults { epoch, images: sums.images, train: sums.score(), val, time: sums.time };
        self.display.finished(&row, epochs);
        if epoch + 1 < epochs {
            self.display.epoch(epoch + 1, epochs, self.training.len() as u64);
        }
        self.state.rows.push(row);
        Ok(())
    }
}

/// Returns the table of all epochs, and the shares of time over the whole run.
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
