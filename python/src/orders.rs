//! The order of a loader that is no setting: gpufeed's own by their numbers, and those that Python gives epoch by epoch.

use gpufeed::dataset::known_classes;
use gpufeed::internals::given_orders;
use gpufeed::{DataLoader, Dataset, ErrorKind, Orders, Result};
use serde::Deserialize;

/// An order as `gpufeed/samplers.py` writes it.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Written {
    /// Lists that Python gives epoch by epoch.
    Given {
        len: usize,
        batches: bool,
        whole: bool,
        name: String,
    },
    RepeatedAugmentation {
        repeats: usize,
        round_to: usize,
    },
    ClassBalanced {
        samples_per_epoch: Option<usize>,
        labels: Option<Vec<u32>>,
    },
    Blend {
        lengths: Vec<usize>,
        weights: Vec<f64>,
        samples_per_epoch: usize,
    },
}

/// Reads an order of JSON, for a data set.
pub(crate) fn read(order: &str, data: &dyn Dataset) -> Result<Orders> {
    let refused = |error: serde_json::Error| ErrorKind::Argument { setting: "sampler", reason: error.to_string() };
    match serde_json::from_str(order).map_err(refused)? {
        Written::Given { len, batches, whole, name } => Ok(given_orders::new(len, batches, whole, name)),
        Written::RepeatedAugmentation { repeats, round_to } => {
            Orders::repeated_augmentation(data.len(), repeats, round_to)
        }
        Written::ClassBalanced { samples_per_epoch, labels } => {
            let samples = samples_per_epoch.unwrap_or(data.len());
            match labels {
                Some(labels) => Orders::class_balanced(&labels, samples),
                None => Orders::class_balanced(&known_classes(data)?, samples),
            }
        }
        Written::Blend { lengths, weights, samples_per_epoch } => Orders::blend(&lengths, weights, samples_per_epoch),
    }
}

/// Gives an epoch of a blend whose weights are a function of the epoch: `weights` are those of all epochs up to this one.
pub(crate) fn give_blend(
    loader: &DataLoader,
    epoch: u64,
    lengths: &[usize],
    weights: Vec<Vec<f64>>,
    samples_per_epoch: usize,
) -> Result<()> {
    let weights = move |epoch: u64| weights.get(epoch as usize).cloned().unwrap_or_default();
    let orders = Orders::blend_by(lengths, weights, samples_per_epoch)?;
    let indices = given_orders::indices(&orders, loader.dataset().len(), loader.seed(), epoch)?;
    given_orders::give_samples(loader, epoch, indices)
}
