//! What an epoch amounts to, and the table of all epochs.

use serde::{Deserialize, Serialize};
use std::fmt::Write;
use std::time::Duration;

/// The sums of an epoch under way.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Partial {
    pub(crate) steps: u64,
    pub(crate) images: u64,
    pub(crate) correct: u64,
    /// Of the images' losses.
    #[serde(with = "bits")]
    pub(crate) loss: f64,
    pub(crate) time: Times,
}

/// Where the time of training goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Times {
    /// All of it; validation and checkpoints do not count.
    pub whole: Duration,
    /// In `Epochs::next`: no batch was ready.
    pub waiting: Duration,
    /// In `to_tensor` and `class_tensor`. On a GPU this is the time to submit the copy, not that of the copy.
    pub handing: Duration,
}

/// Loss and share of correct answers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Score {
    /// The mean over the images.
    pub loss: f32,
    /// From 0 to 1.
    pub accuracy: f32,
}

/// An epoch that is over.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// From 0.
    pub epoch: u64,
    /// Images that were trained on.
    pub images: u64,
    /// With augmented images and smoothed labels.
    pub train: Score,
    /// Of the epochs that `--val-every` names.
    pub val: Option<Score>,
    /// Where its time went.
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
    /// Images a second.
    pub(crate) fn rate(&self, images: u64) -> f64 {
        images as f64 / self.whole.as_secs_f64().max(1e-9)
    }

    /// The data stall: percent of the time that went into waiting for batches.
    pub fn stall(&self) -> f64 {
        self.percent(self.waiting)
    }

    /// Percent of the time that the hand-over took.
    pub fn hand_over(&self) -> f64 {
        self.percent(self.handing)
    }

    fn percent(&self, part: Duration) -> f64 {
        100.0 * part.as_secs_f64() / self.whole.as_secs_f64().max(1e-9)
    }

    pub(crate) fn sum(rows: &[Row]) -> Times {
        Times {
            whole: rows.iter().map(|row| row.time.whole).sum(),
            waiting: rows.iter().map(|row| row.time.waiting).sum(),
            handing: rows.iter().map(|row| row.time.handing).sum(),
        }
    }
}

/// One line for each epoch.
pub(crate) fn table(rows: &[Row]) -> String {
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

/// A float as its bits: `serde_json` reads decimals to the last bit only if asked, and a resumed run goes on with this sum.
mod bits {
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(value: &f64, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u64(value.to_bits())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
        u64::deserialize(from).map(f64::from_bits)
    }
}
