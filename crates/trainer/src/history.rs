//! The results of an epoch, and the table of all epochs.

use serde::{Deserialize, Serialize};
use std::fmt::Write;
use std::time::Duration;

/// The sums over the steps of an unfinished epoch.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Partial {
    pub(crate) steps: u64,
    pub(crate) images: u64,
    pub(crate) correct: u64,
    /// The sum of the losses of all images.
    #[serde(with = "bits")]
    pub(crate) loss: f64,
    pub(crate) time: Times,
}

/// The time of training, and two of its parts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Times {
    /// The total time, without validation and checkpoints.
    pub whole: Duration,
    /// The time spent in `Epochs::next`, because no batch was ready.
    pub waiting: Duration,
    /// The time spent in `to_tensor` and `class_tensor`. On a GPU it is the time to submit the copies, not the time of
    /// the copies themselves.
    pub handing: Duration,
}

/// The loss, and the share of images that were classified correctly.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Score {
    /// The mean loss over the images.
    pub loss: f32,
    /// The share of correct images, from 0 to 1.
    pub accuracy: f32,
}

/// The results of a finished epoch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EpochResults {
    /// The epoch's number, from 0.
    pub epoch: u64,
    /// The number of images trained on in this epoch.
    pub images: u64,
    /// The score of training, with augmented images and smoothed labels.
    pub train: Score,
    /// The score of validation; `None` for epochs that `--val-every` skips.
    pub val: Option<Score>,
    /// The time of training in this epoch.
    pub time: Times,
}

impl Partial {
    /// Adds one batch: its mean loss and its correct answers.
    pub(crate) fn add(&mut self, images: u64, loss: f32, correct: u64) {
        self.steps += 1;
        self.images += images;
        self.correct += correct;
        self.loss += f64::from(loss) * images as f64;
    }

    pub(crate) fn score(&self) -> Score {
        let images = self.images.max(1) as f64;
        Score { loss: (self.loss / images) as f32, accuracy: (self.correct as f64 / images) as f32 }
    }
}

impl Times {
    /// Returns the images per second.
    pub(crate) fn rate(&self, images: u64) -> f64 {
        images as f64 / self.whole.as_secs_f64().max(1e-9)
    }

    /// Returns the data stall: the percentage of the time that was spent waiting for batches.
    pub fn stall(&self) -> f64 {
        self.percent(self.waiting)
    }

    /// Returns the percentage of the time that was spent turning batches into tensors.
    pub fn hand_over(&self) -> f64 {
        self.percent(self.handing)
    }

    fn percent(&self, part: Duration) -> f64 {
        100.0 * part.as_secs_f64() / self.whole.as_secs_f64().max(1e-9)
    }

    pub(crate) fn sum(rows: &[EpochResults]) -> Times {
        Times {
            whole: rows.iter().map(|row| row.time.whole).sum(),
            waiting: rows.iter().map(|row| row.time.waiting).sum(),
            handing: rows.iter().map(|row| row.time.handing).sum(),
        }
    }
}

/// Returns a text table with one line for each epoch.
pub(crate) fn table(rows: &[EpochResults]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let mut text = String::from(
        "epoch  train loss  train accuracy  val loss  val accuracy  images/s  data stall %  hand-over %\n",
    );
    for row in rows {
        let val = row.val.map_or(format!("{:>8}  {:>12}", "-", "-"), |val| {
            format!("{:>8.4}  {:>10.2} %", val.loss, 100.0 * val.accuracy)
        });
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{:>5}  {:>10.4}  {:>12.2} %  {val}  {:>8.0}  {:>12.2}  {:>11.2}",
            row.epoch + 1,
            row.train.loss,
            100.0 * row.train.accuracy,
            row.time.rate(row.images),
            row.time.stall(),
            row.time.hand_over(),
        );
    }
    text
}

/// Stores an f64 as its bits. By default `serde_json` does not read decimal numbers back exactly, and a resumed run
/// continues with this sum.
mod bits {
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(value: &f64, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u64(value.to_bits())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
        u64::deserialize(from).map(f64::from_bits)
    }
}
