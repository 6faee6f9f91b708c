//! Where the samples of an LMDB lie, noted as they are first read: after that each takes one read of the file, and no
//! search in its tree.

use std::sync::atomic::{
    AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};

/// Bytes of the file that are a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) offset: u64,
    pub(super) length: u64,
}

/// With more samples than this no place is noted; this many take 96 MiB.
const MOST: usize = 4 << 20;

/// One for each sample; all threads note, and what they note of a sample is the same.
#[derive(Debug)]
pub(super) struct Places(Vec<Noted>);

#[derive(Debug, Default)]
struct Noted {
    /// 0: nothing is noted.
    offset: AtomicU64,
    length: AtomicU64,
    /// One more than the class.
    class: AtomicU64,
}

impl Places {
    /// For so many samples.
    pub(super) fn new(samples: usize) -> Places {
        Places((0..if samples > MOST { 0 } else { samples }).map(|_| Noted::default()).collect())
    }

    pub(super) fn get(&self, sample: usize) -> Option<Place> {
        let noted = self.0.get(sample)?;
        let offset = noted.offset.load(Acquire);
        (offset != 0).then(|| Place { offset, length: noted.length.load(Relaxed) })
    }

    pub(super) fn note(&self, sample: usize, place: Place) {
        if let Some(noted) = self.0.get(sample) {
            noted.length.store(place.length, Relaxed);
            noted.offset.store(place.offset, Release);
        }
    }

    /// The class of a sample whose label has a key of its own.
    pub(super) fn class(&self, sample: usize) -> Option<u32> {
        u32::try_from(self.0.get(sample)?.class.load(Relaxed).checked_sub(1)?).ok()
    }

    pub(super) fn note_class(&self, sample: usize, class: u32) {
        if let Some(noted) = self.0.get(sample) {
            noted.class.store(u64::from(class) + 1, Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_noted_is_known() {
        let places = Places::new(3);
        let place = Place { offset: 1 << 40, length: 0 };
        assert_eq!((places.get(1), places.class(1)), (None, None));
        places.note(1, place);
        places.note_class(1, u32::MAX);
        places.note_class(2, 0);
        assert_eq!((places.get(1), places.class(1)), (Some(place), Some(u32::MAX)));
        assert_eq!((places.get(2), places.class(2)), (None, Some(0)));
        let none = Places::new(MOST + 1);
        none.note(1, place);
        assert_eq!((none.get(1), places.get(3)), (None, None));
    }
}
