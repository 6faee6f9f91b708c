//! The command line options, and those of them that must be the same to continue from a checkpoint.

use crate::model::Architecture;
use clap::ValueEnum;
use gpufeed::Order;
use serde::{Deserialize, Serialize};
use std::error::Error;
use std::path::PathBuf;

/// Trains a small image classifier with Burn on batches from gpufeed.
#[derive(Clone, Debug, clap::Parser)]
#[command(name = "train", args_override_self = true)]
pub struct Options {
    /// Folder with `train` and `val` below, or with one folder for each class, or MNIST's or CIFAR's files, tar shards,
    /// an LMDB, a CSV list, numpy's arrays; a set of ten shapes and textures if not given
    #[arg(long, value_name = "PATH")]
    pub(crate) data: Option<PathBuf>,
    /// Share that validates, of each class in folders, else of all; where PATH is not divided already
    #[arg(long, value_name = "SHARE", default_value_t = 0.2)]
    pub(crate) val_share: f64,
    /// Where the set of shapes is kept between runs [default: the system's folder for temporary files]
    #[arg(long, value_name = "FOLDER")]
    pub(crate) set_folder: Option<PathBuf>,
    /// Images of each class in that set
    #[arg(long, value_name = "IMAGES", default_value_t = 150)]
    pub(crate) set_train: u32,
    /// Images of each class that validate
    #[arg(long, value_name = "IMAGES", default_value_t = 100)]
    pub(crate) set_val: u32,
    /// Seed of that set
    #[arg(long, value_name = "SEED", default_value_t = 0)]
    pub(crate) set_seed: u64,

    /// The model: a residual network, or a linear layer on all pixels or on their mean
    #[arg(long, value_enum, default_value_t = Architecture::Cnn)]
    pub(crate) model: Architecture,
    /// Channels of the network's first convolution; the last has four times as many
    #[arg(long, value_name = "CHANNELS", default_value_t = 16)]
    pub(crate) width: usize,
    /// Pixels a side that the model sees
    #[arg(long, value_name = "PIXELS", default_value_t = 32)]
    pub(crate) size: u32,
    /// Augmentation of the training images
    #[arg(long, value_enum, default_value_t = Augment::Full)]
    pub(crate) augment: Augment,

    /// Images in a training batch
    #[arg(long, value_name = "IMAGES", default_value_t = 32)]
    pub(crate) batch_size: usize,
    /// Order of the training images: full, or blocks:SAMPLES:WINDOW, as remote data are read
    #[arg(long, value_name = "ORDER", default_value_t = Order::Full)]
    pub(crate) order: Order,
    /// Passes over the training images
    #[arg(long, value_name = "EPOCHS", default_value_t = 30)]
    pub(crate) epochs: u64,
    /// The optimiser: Adam with decoupled weight decay, or gradient descent with momentum 0.9
    #[arg(long, value_enum, default_value_t = Optimizer::Adam)]
    pub(crate) optimizer: Optimizer,
    /// Highest learning rate [default: 0.003 for adam, 0.05 for sgd]
    #[arg(long, value_name = "RATE")]
    pub(crate) lr: Option<f64>,
    /// Epochs in which the learning rate rises to its highest value; then it falls to 0 along a cosine
    #[arg(long, value_name = "EPOCHS", default_value_t = 1.0)]
    pub(crate) warmup: f64,
    /// Weight decay
    #[arg(long, value_name = "FACTOR", default_value_t = 1e-4)]
    pub(crate) weight_decay: f32,
    /// Probability that the loss spreads over all classes
    #[arg(long, value_name = "SHARE", default_value_t = 0.1)]
    pub(crate) label_smoothing: f32,
    /// Seed of the first weights, the order of the images and every drawn number
    #[arg(long, value_name = "SEED", default_value_t = 0)]
    pub(crate) seed: u64,

    /// Threads that decode and augment [default: one for each core]
    #[arg(long, value_name = "THREADS")]
    pub(crate) workers: Option<usize>,
    /// Augment with shaders on a software GPU too, where native code is faster; elsewhere they do it anyway
    #[arg(long)]
    pub(crate) shaders: bool,
    /// Epochs between validations; the last one always ends with one
    #[arg(long, value_name = "EPOCHS", default_value_t = 1)]
    pub(crate) val_every: u64,
    /// Steps between two looks at the loss; each waits for the GPU
    #[arg(long, value_name = "STEPS", default_value_t = 10)]
    pub(crate) log_every: u64,
    /// Folder for the checkpoint, the curves and the table
    #[arg(long, value_name = "FOLDER", default_value = "train-out")]
    pub out: PathBuf,
    /// Go on from the checkpoint in that folder
    #[arg(long)]
    pub(crate) resume: bool,
    /// Steps between checkpoints, beside the one after each epoch
    #[arg(long, value_name = "STEPS")]
    pub(crate) checkpoint_every: Option<u64>,
    /// Stop after this many steps of this run, as Ctrl-C would
    #[arg(long, value_name = "STEPS")]
    pub(crate) stop_after: Option<u64>,
    /// Append a line of JSON for each batch: ids, drawn parameters, loss
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,
}

/// The augmentation of the training images, in addition to resizing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Augment {
    /// Crops, flips, colours.
    Full,
    /// Crops and colours; a mirrored digit is none.
    Digits,
    /// Nothing.
    None,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Optimizer {
    Adam,
    Sgd,
}

impl Options {
    /// Returns the highest learning rate.
    pub(crate) fn lr(&self) -> f64 {
        self.lr.unwrap_or(match self.optimizer {
            Optimizer::Adam => 0.003,
            Optimizer::Sgd => 0.05,
        })
    }

    /// Checks the values that clap, gpufeed and Burn either accept or refuse without naming the option.
    pub(crate) fn check(&self) -> Result<(), Box<dyn Error>> {
        let positive = |value: f64| value.is_finite() && value > 0.0;
        let rules = [
            (self.val_share > 0.0 && self.val_share < 1.0, "--val-share: more than 0 and less than 1 works"),
            (self.set_train > 0 && self.set_val > 0, "--set-train and --set-val: 1 at least"),
            (self.width > 0, "--width: 1 at least"),
            (self.size >= 8, "--size: 8 at least"),
            (self.batch_size >= 2, "--batch-size: 2 at least, as batches are normalised"),
            (self.epochs > 0, "--epochs: 1 at least"),
            (positive(self.lr()), "--lr: more than 0 works"),
            (self.warmup.is_finite() && self.warmup >= 0.0, "--warmup: 0 or more works"),
            (self.weight_decay.is_finite() && self.weight_decay >= 0.0, "--weight-decay: 0 or more works"),
            ((0.0..1.0).contains(&self.label_smoothing), "--label-smoothing: 0 or more and less than 1 works"),
            (self.val_every > 0, "--val-every: 1 at least"),
            (self.log_every > 0, "--log-every: 1 at least"),
            (self.checkpoint_every != Some(0), "--checkpoint-every: 1 at least"),
            (self.stop_after != Some(0), "--stop-after: 1 at least"),
        ];
        rules.into_iter().find(|(holds, _)| !holds).map_or(Ok(()), |(_, rule)| Err(rule.into()))
    }
}

/// The options and facts about the data that determine the rest of a run. A checkpoint can be continued only by a run
/// with an equal identity. The fields are named like the options. Of the images only the classes and the numbers of
/// images are known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct Identity {
    model: Architecture,
    width: usize,
    size: u32,
    augment: Augment,
    batch_size: usize,
    /// Checkpoints before there was a choice have none.
    #[serde(default = "full")]
    order: String,
    epochs: u64,
    optimizer: Optimizer,
    /// The learning rate as text, because `serde_json` does not read every f64 back exactly.
    lr: String,
    warmup: String,
    weight_decay: f32,
    label_smoothing: f32,
    seed: u64,
    /// The seed of the set of shapes; `None` if `--data` names another data set.
    set_seed: Option<u64>,
    #[serde(rename = "data (its classes)")]
    classes: Vec<String>,
    #[serde(rename = "data (its training images)")]
    images: usize,
    #[serde(rename = "data (its validation images)")]
    val_images: usize,
}

fn full() -> String {
    Order::Full.to_string()
}

impl Identity {
    pub(crate) fn new(options: &Options, classes: &[String], images: usize, val_images: usize) -> Identity {
        Identity {
            model: options.model,
            width: options.width,
            size: options.size,
            augment: options.augment,
            batch_size: options.batch_size,
            order: options.order.to_string(),
            epochs: options.epochs,
            optimizer: options.optimizer,
            lr: options.lr().to_string(),
            warmup: options.warmup.to_string(),
            weight_decay: options.weight_decay,
            label_smoothing: options.label_smoothing,
            seed: options.seed,
            set_seed: options.data.is_none().then_some(options.set_seed),
            classes: classes.to_vec(),
            images,
            val_images,
        }
    }

    /// Returns the number of epochs of the whole run.
    pub(crate) fn epochs(&self) -> u64 {
        self.epochs
    }

    /// Returns a line for each option that differs: `--seed was 1, is 2`.
    pub(crate) fn differences(&self, now: &Identity) -> Result<Vec<String>, Box<dyn Error>> {
        let (was, is) = (serde_json::to_value(self)?, serde_json::to_value(now)?);
        let named = was.as_object().into_iter().flatten().filter(|(name, value)| is.get(name) != Some(value));
        Ok(named.map(|(name, value)| format!("--{name} was {value}, is {}", is[name])).collect())
    }
}
