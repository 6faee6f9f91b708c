//! Some samples of a data set.

use super::ids::stride;
use super::{of_one_set, translated};
use crate::dataset::Dataset;
use crate::error::{Error, Result};

/// Samples of a data set by their indices: torch's `Subset`.
///
/// Samples keep their ids, and so their random numbers. An index that is repeated gets another id from its second time
/// on, which depends on the ids alone, so that its random numbers differ. [Weights](Dataset::weights) follow the
/// samples.
///
/// ```
/// use gpufeed::dataset::Subset;
/// use gpufeed::{Dataset, InMemory, Label};
///
/// let files: InMemory = (0..10).map(|i| (vec![i], Label::None)).collect();
/// let some = Subset::new(files, [7, 2, 2])?;
/// assert_eq!((some.name(1), some.name(2)), ("sample 2".to_owned(), "sample 2".to_owned()));
/// assert_ne!(some.id(1), some.id(2));
/// # Ok::<(), gpufeed::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Subset<D> {
    data: D,
    indices: Vec<usize>,
    again: Option<Again>,
    weights: Option<Vec<f64>>,
}

/// Repetitions, for subsets in which an index comes more than once.
#[derive(Clone, Debug)]
struct Again {
    /// For each position, how often its index has occurred at earlier positions.
    times: Vec<u32>,
    /// The number that is added to the id for each earlier occurrence.
    stride: u64,
}

impl<D: Dataset> Subset<D> {
    /// The samples of `data` at `indices`, in that order.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Argument`](crate::ErrorKind::Argument) if an index is not below the length of `data`.
    pub fn new(data: D, indices: impl IntoIterator<Item = usize>) -> Result<Self> {
        let indices: Vec<usize> = indices.into_iter().collect();
        let len = data.len();
        let mut counts = vec![0u32; len];
        let mut times = Vec::new();
        for (position, &index) in indices.iter().enumerate() {
            let count = counts.get_mut(index).ok_or_else(|| {
                Error::argument(
                    "indices",
                    format!("{index} at position {position}, but the data set has {len} samples"),
                )
            })?;
            if *count > 0 && times.is_empty() {
                times.resize(indices.len(), 0);
            }
            if let Some(times) = times.get_mut(position) {
                *times = *count;
            }
            *count = count.checked_add(1).ok_or_else(|| Error::argument("indices", format!("{index} too often")))?;
        }
        let again = match times.iter().max() {
            None => None,
            Some(&most) => {
                let ids = indices.iter().map(|&index| data.id(index));
                let stride = stride(ids, u64::from(most) + 1)
                    .ok_or_else(|| Error::argument("indices", "more repetitions than there are ids for"))?;
                Some(Again { times, stride })
            }
        };
        let weights = match data.weights() {
            Some(weights) if weights.len() == len => Some(indices.iter().map(|&index| weights[index]).collect()),
            Some(weights) => {
                let reason = format!("{} for a data set of {len} samples; give one for each", weights.len());
                return Err(Error::argument("weights", reason));
            }
            None => None,
        };
        Ok(Subset { data, indices, again, weights })
    }

    /// Returns the index of every sample in the whole data set, in order.
    pub fn indices(&self) -> &[usize] {
        &self.indices
    }

    /// Returns the whole data set.
    pub fn whole(&self) -> &D {
        &self.data
    }

    /// Returns the index of a sample in the data set that this one is made of.
    fn inner_index(&self, index: usize) -> Option<usize> {
        self.indices.get(index).copied()
    }
}

impl<D: Dataset> Dataset for Subset<D> {
    fn len(&self) -> usize {
        self.indices.len()
    }

    fn id(&self, index: usize) -> u64 {
        let Some(&inner) = self.indices.get(index) else { return index as u64 };
        let shift = self.again.as_ref().map_or(0, |again| again.stride.wrapping_mul(again.times[index].into()));
        self.data.id(inner).wrapping_add(shift)
    }

    of_one_set!();
}

translated!(Subset);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::{InMemory, Label, SampleData};
    use std::collections::HashSet;

    fn files(count: u8) -> InMemory {
        (0..count).map(|byte| (vec![byte], Label::None)).collect::<InMemory>().with_classes(["one"])
    }

    #[test]
    fn samples_keep_their_ids() {
        let some = files(9).subset([8, 0, 3]).unwrap();
        assert_eq!((0..3).map(|index| some.id(index)).collect::<Vec<_>>(), [8, 0, 3]);
        let mut buffer = Vec::new();
        assert!(matches!(some.read(2, &mut buffer).unwrap().data, SampleData::Encoded([3])));
        assert_eq!((some.len(), some.name(0), some.classes().len(), some.indices()[1]), (3, "sample 8".into(), 1, 0));
        assert_eq!((some.name(3), some.id(3), some.whole().len()), ("sample 3".into(), 3, 9));
        assert!(some.read(3, &mut Vec::new()).unwrap_err().to_string().contains("length, 3"));
        assert!(files(9).subset([]).unwrap().is_empty());
    }

    #[test]
    fn repeated_indices_have_ids_of_their_own() {
        let some = files(9).subset([5, 1, 5, 5, 1, 2]).unwrap();
        assert_eq!([some.id(0), some.id(1), some.id(5)], [5, 1, 2], "the first time");
        assert_eq!((0..6).map(|index| some.id(index)).collect::<HashSet<_>>().len(), 6);
        // The ids also differ if the data set already uses the first candidate for other ids.
        let all = some.subset((0..6).chain(0..6).chain([0])).unwrap();
        assert_eq!((0..13).map(|index| all.id(index)).collect::<HashSet<_>>().len(), 13);
    }

    #[test]
    fn weights_follow_the_samples() {
        let weighted = files(3).with_weights([0.0, 1.0, 2.0]).unwrap();
        assert_eq!(weighted.subset([2, 0, 2]).unwrap().weights(), Some(&[2.0, 0.0, 2.0][..]));
        assert_eq!(files(3).subset([1]).unwrap().weights(), None);
    }

    #[test]
    fn refuses_an_index_out_of_range() {
        let refused = files(3).subset([1, 3]).unwrap_err().to_string();
        assert_eq!(refused, "indices: 3 at position 1, but the data set has 3 samples");
    }
}
