//! A data set whose samples come with different probabilities.

use crate::dataset::{Dataset, Label, Sample};
use crate::error::Result;
use crate::sampler::check_weights;

/// A data set with [weights](Dataset::weights), with which a loader chooses its samples: torch's
/// `WeightedRandomSampler` with replacement.
///
/// Weights are relative: they need not add up to 1. A sample of weight 0 never comes. They replace weights that the
/// data set already has.
///
/// ```
/// use gpufeed::dataset::Weighted;
/// use gpufeed::{Dataset, InMemory, Label, Sampler};
///
/// let files: InMemory = (0..3).map(|i| (vec![i], Label::None)).collect();
/// let weighted = Weighted::new(files, [1.0, 0.0, 9.0])?;
/// let sampler = Sampler::new(3, 3)?.weights(weighted.weights().unwrap())?;
/// assert!(sampler.epoch(0).batch(0).all(|slot| slot.index != 1));
/// # Ok::<(), gpufeed::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Weighted<D> {
    data: D,
    weights: Vec<f64>,
}

impl<D: Dataset> Weighted<D> {
    /// `data` with one weight for each sample.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Argument`](crate::ErrorKind::Argument) unless there is one weight for each sample, all weights are
    /// finite and at least 0, and one of them is above 0.
    pub fn new(data: D, weights: impl Into<Vec<f64>>) -> Result<Self> {
        let weights = weights.into();
        check_weights(&weights, data.len())?;
        Ok(Weighted { data, weights })
    }
}

impl<D: Dataset> Dataset for Weighted<D> {
    fn len(&self) -> usize {
        self.data.len()
    }

    fn read<'a>(&'a self, index: usize, buffer: &'a mut Vec<u8>) -> Result<Sample<'a>> {
        self.data.read(index, buffer)
    }

    fn name(&self, index: usize) -> String {
        self.data.name(index)
    }

    fn is_in_memory(&self) -> bool {
        self.data.is_in_memory()
    }

    fn label(&self, index: usize) -> Option<Label> {
        self.data.label(index)
    }

    fn inner(&self) -> Option<&dyn Dataset> {
        Some(&self.data)
    }

    fn weights(&self) -> Option<&[f64]> {
        Some(&self.weights)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::InMemory;

    fn files() -> InMemory {
        (0..3u8).map(|byte| (vec![byte], Label::None)).collect::<InMemory>().with_classes(["a"])
    }

    #[test]
    fn forwards_and_replaces() {
        let weighted = files().subset([2, 1]).unwrap().with_weights(vec![1.0, 0.0]).unwrap();
        assert_eq!((weighted.id(0), weighted.name(0), weighted.classes().len()), (2, "sample 2".into(), 1));
        assert_eq!((weighted.len(), weighted.channels(), weighted.folder()), (2, 3, None));
        let again = weighted.with_weights([5.0, 6.0]).unwrap();
        assert_eq!(again.weights(), Some(&[5.0, 6.0][..]));
    }

    #[test]
    fn refuses_what_cannot_be_drawn_by() {
        let refused = |weights: &[f64]| files().with_weights(weights).unwrap_err().to_string();
        assert_eq!(refused(&[1.0]), "weights: 1 for 3 samples; give one for each");
        assert!(refused(&[1.0, -0.5, 0.0]).starts_with("weights: -0.5 for sample 1"));
        assert!(refused(&[f64::NAN, 0.5, 0.0]).starts_with("weights: NaN for sample 0"));
        assert!(refused(&[0.0, 0.5, f64::INFINITY]).starts_with("weights: inf for sample 2"));
        assert!(refused(&[0.0; 3]).starts_with("weights: all are 0"));
    }
}
