//! A data set repeated several times.

use super::ids::stride;
use super::{of_one_set, translated};
use crate::dataset::Dataset;
use crate::error::{Error, Result};

/// A data set repeated several times, for long epochs of a small set.
///
/// The first repetition keeps the ids of the samples. Later ones add multiples of a number that depends only on the ids
/// and the number of repetitions, so that each repetition has its own random numbers.
///
/// ```
/// use gpufeed::dataset::Repeat;
/// use gpufeed::{Dataset, InMemory, Label};
///
/// let files: InMemory = (0..10).map(|i| (vec![i], Label::None)).collect();
/// assert_eq!(Repeat::new(files, 3)?.len(), 30);
/// # Ok::<(), gpufeed::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Repeat<D> {
    data: D,
    len: usize,
    stride: u64,
    weights: Option<Vec<f64>>,
}

impl<D: Dataset> Repeat<D> {
    /// Repeats `data` `times` times. Takes 8 bytes a sample of `data` while it compares ids. Afterwards only weights
    /// take memory: 8 bytes for each of the repeated samples.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Argument`](crate::ErrorKind::Argument) if `times` is 0, or so large that the samples cannot be
    /// counted or told apart.
    pub fn new(data: D, times: usize) -> Result<Self> {
        if times == 0 {
            return Err(Error::argument("repeat", "0 times leaves no samples; give at least 1"));
        }
        let too_many =
            || Error::argument("repeat", format!("{times} times {} samples are too many; lower `times`", data.len()));
        let len = data.len().checked_mul(times).ok_or_else(too_many)?;
        let ids = (0..data.len()).map(|index| data.id(index));
        let stride = stride(ids, times as u64).ok_or_else(too_many)?;
        let weights = data.weights().map(|weights| weights.repeat(times));
        Ok(Repeat { data, len, stride, weights })
    }

    /// Returns the repetition of sample `index`, and the sample's index in `data`.
    fn locate(&self, index: usize) -> Option<(usize, usize)> {
        (index < self.len).then(|| (index / self.data.len(), index % self.data.len()))
    }

    /// Returns the index of a sample in the data set that this one is made of.
    fn inner_index(&self, index: usize) -> Option<usize> {
        Some(self.locate(index)?.1)
    }
}

impl<D: Dataset> Dataset for Repeat<D> {
    fn len(&self) -> usize {
        self.len
    }

    fn id(&self, index: usize) -> u64 {
        match self.locate(index) {
            Some((time, inner)) => self.data.id(inner).wrapping_add(self.stride.wrapping_mul(time as u64)),
            None => index as u64,
        }
    }

    of_one_set!();
}

translated!(Repeat);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::{InMemory, Label, SampleData};
    use std::collections::HashSet;

    fn files(count: u8) -> InMemory {
        (0..count).map(|byte| (vec![byte], Label::None)).collect::<InMemory>().with_classes(["a"])
    }

    fn distinct(data: &dyn Dataset) -> usize {
        (0..data.len()).map(|index| data.id(index)).collect::<HashSet<_>>().len()
    }

    #[test]
    fn repetitions_have_ids_of_their_own() {
        let thrice = files(4).repeat(3).unwrap();
        assert_eq!((thrice.len(), thrice.name(6), thrice.classes().len()), (12, "sample 2".into(), 1));
        assert_eq!((0..4).map(|index| thrice.id(index)).collect::<Vec<_>>(), [0, 1, 2, 3]);
        assert_eq!(distinct(&thrice), 12);
        let mut buffer = Vec::new();
        assert!(matches!(thrice.read(11, &mut buffer).unwrap().data, SampleData::Encoded([3])));
        assert!(thrice.read(12, &mut Vec::new()).is_err());
        assert_eq!((thrice.name(12), thrice.id(12)), ("sample 12".into(), 12));
    }

    #[test]
    fn adaptors_of_adaptors_have_distinct_ids() {
        let nested = files(4).repeat(3).unwrap().repeat(5).unwrap();
        assert_eq!(distinct(&nested), 60);
        let mixed = nested.concat(files(4).repeat(7).unwrap()).unwrap().repeat(2).unwrap();
        assert_eq!(distinct(&mixed), mixed.len());
        let some = mixed.subset((0..176).chain(0..50)).unwrap();
        assert_eq!(distinct(&some), 226);
        assert_eq!(distinct(&some.repeat(100).unwrap()), 22_600);
    }

    #[test]
    fn weights_are_repeated() {
        let weighted = files(2).with_weights([1.0, 2.0]).unwrap().repeat(2).unwrap();
        assert_eq!(weighted.weights(), Some(&[1.0, 2.0, 1.0, 2.0][..]));
    }

    #[test]
    fn refuses_none_and_too_many() {
        let refused = |times| files(4).repeat(times).unwrap_err().to_string();
        assert!(refused(0).starts_with("repeat: 0 times"));
        assert!(refused(usize::MAX).starts_with("repeat: "));
        assert!(refused(usize::MAX / 4).ends_with("4 samples are too many; lower `times`"));
        assert!(files(0).repeat(3).unwrap().is_empty());
    }
}
