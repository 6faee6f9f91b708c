//! Locations of an LMDB's samples, stored when they are first read: reading a sample again takes one read of the file, and
//! no search in its tree.

use std::sync::atomic::{
    AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};

/// The location of a value in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Location {
    pub(super) offset: u64,
    pub(super) length: u64,
}

/// Above this number of samples no locations are stored; this number takes 96 MiB.
const MOST: usize = 4 << 20;

/// An entry for each sample. Threads may store the same sample at once, because they store equal numbers.
#[derive(Debug)]
pub(super) struct Locations(Vec<Noted>);

#[derive(Debug, Default)]
struct Noted {
    /// The offset of the value; 0 if no location is stored.
    offset: AtomicU64,
    length: AtomicU64,
    /// The sample's class plus 1; 0 if no class is stored.
    class: AtomicU64,
}

impl Locations {
    /// Makes entries for a number of samples.
    pub(super) fn new(samples: usize) -> Locations {
        Locations((0..if samples > MOST { 0 } else { samples }).map(|_| Noted::default()).collect())
    }

    pub(super) fn get(&self, sample: usize) -> Option<Location> {
        let noted = self.0.get(sample)?;
        let offset = noted.offset.load(Acquire);
        (offset != 0).then(|| Location { offset, length: noted.length.load(Relaxed) })
    }

    pub(super) fn note(&self, sample: usize, location: Location) {
        if let Some(noted) = self.0.get(sample) {
            noted.length.store(location.length, Relaxed);
            noted.offset.store(location.offset, Release);
        }
    }

    /// Returns the class of a sample whose label has its own key.
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
        let locations = Locations::new(3);
        let location = Location { offset: 1 << 40, length: 0 };
        assert_eq!((locations.get(1), locations.class(1)), (None, None));
        locations.note(1, location);
        locations.note_class(1, u32::MAX);
        locations.note_class(2, 0);
        assert_eq!((locations.get(1), locations.class(1)), (Some(location), Some(u32::MAX)));
        assert_eq!((locations.get(2), locations.class(2)), (None, Some(0)));
        let none = Locations::new(MOST + 1);
        none.note(1, location);
        assert_eq!((none.get(1), locations.get(3)), (None, None));
    }
}
