//! Reads ahead for a program that reads a part of a data set once and in order: a pack, and the command's `doctor` and
//! `index`.

use super::{Access, Dataset};
use crate::storage::{Remote, RemoteRun};
use std::ops::Range;
use std::sync::Mutex;

/// The fewest samples that one call of [`Access::prefetch`] announces, except for the last call. Neighbours that are
/// announced together share a request.
const ANNOUNCED_AT_ONCE: usize = 32;

/// Announces to a data set which samples are read next. Many threads may call [`before`](Self::before): one of them
/// announces, and none waits.
pub struct InOrder<'a> {
    /// The access of the data set, if samples are to be announced.
    access: Option<&'a dyn Access>,
    /// How many samples are announced ahead.
    wanted: usize,
    end: usize,
    /// All samples below this index are announced.
    announced: Mutex<usize>,
    _runs: Vec<RemoteRun>,
}

impl<'a> InOrder<'a> {
    /// Makes an `InOrder` for a program that reads the samples `range` of `data`.
    pub fn new(data: &'a dyn Dataset, range: Range<usize>) -> Self {
        let wanted = data.access().map_or(0, |access| access.prefetch_samples());
        let access = data.access().filter(|_| wanted > 0);
        let _runs = access.map_or(Vec::new(), |access| access.remotes().iter().map(Remote::begin_run).collect());
        InOrder { access, wanted, end: range.end, announced: Mutex::new(range.start), _runs }
    }

    /// Announces the samples from `index` on, as far ahead as the data set asks for. Call it before sample `index` is
    /// read.
    pub fn before(&self, index: usize) {
        let Some(access) = self.access else { return };
        // If another thread has the lock, it is announcing samples already, and this thread does not wait.
        let Ok(mut announced) = self.announced.try_lock() else { return };
        let until = self.end.min(index.saturating_add(self.wanted));
        if *announced >= self.end || until < self.end.min(*announced + ANNOUNCED_AT_ONCE.min(self.wanted)) {
            return;
        }
        let next: Vec<usize> = (index.max(*announced)..until).collect();
        access.prefetch(&next);
        *announced = until;
    }
}

#[cfg(test)]
#[allow(clippy::single_range_in_vec_init, reason = "lists of ranges, of one now and then")]
mod tests {
    use super::*;
    use crate::dataset::{Sample, out_of_range};

    /// A data set that notes what is announced.
    #[derive(Default)]
    struct Noting {
        wanted: usize,
        calls: Mutex<Vec<Range<usize>>>,
    }

    impl Dataset for Noting {
        fn len(&self) -> usize {
            1000
        }

        fn read<'a>(&'a self, index: usize, _: &'a mut Vec<u8>) -> crate::Result<Sample<'a>> {
            Err(out_of_range(index, 0))
        }

        fn name(&self, index: usize) -> String {
            index.to_string()
        }

        fn inner(&self) -> Option<&dyn Dataset> {
            None
        }

        fn access(&self) -> Option<&dyn Access> {
            Some(self)
        }
    }

    impl Access for Noting {
        fn prefetch_samples(&self) -> usize {
            self.wanted
        }

        fn prefetch(&self, indices: &[usize]) {
            assert!(indices.is_sorted_by(|a, b| a + 1 == *b), "{indices:?}");
            self.calls.lock().unwrap().push(indices[0]..indices[indices.len() - 1] + 1);
        }
    }

    /// Returns the ranges that `before` announces while the samples `read` of the samples `range` are read.
    fn calls(wanted: usize, range: Range<usize>, read: impl Iterator<Item = usize>) -> Vec<Range<usize>> {
        let data = Noting { wanted, ..Noting::default() };
        let in_order = InOrder::new(&data, range);
        read.for_each(|index| in_order.before(index));
        drop(in_order);
        data.calls.into_inner().unwrap()
    }

    #[test]
    fn each_sample_is_announced_once_and_as_far_ahead_as_is_wanted() {
        assert_eq!(calls(100, 0..1000, 0..1), [0..100]);
        assert_eq!(calls(100, 0..1000, 0..70), [0..100, 100..132, 132..164]);
        assert_eq!(calls(100, 700..850, 700..850), [700..800, 800..832, 832..850]);
        // Few are wanted: each call announces as many.
        assert_eq!(calls(3, 10..17, 10..17), [10..13, 13..16, 16..17]);
        assert_eq!(calls(1, 0..3, 0..3), [0..1, 1..2, 2..3]);
    }

    #[test]
    fn samples_that_were_passed_over_are_not_announced() {
        assert_eq!(calls(50, 0..1000, [0, 400, 401].into_iter()), [0..50, 400..450]);
        // Threads come in any order.
        assert_eq!(calls(50, 0..1000, [3, 1, 2, 0].into_iter()), [3..53]);
    }

    #[test]
    fn nothing_is_announced_to_a_data_set_that_wants_nothing_and_of_an_empty_part() {
        assert_eq!(calls(0, 0..1000, 0..1000), []);
        assert_eq!(calls(50, 20..20, 20..21), []);
        assert_eq!(calls(usize::MAX, 0..1000, 0..1000), [0..1000]);
    }
}
