//! Holds the segments of indexes that were read last, up to a number of bytes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

use parking_lot::Mutex;

use super::entry::Segment;
use crate::error::Result;

/// A place in memory for each segment of all indexes of a set.
///
/// The places are a clock cache. When the memory is full, a hand goes round the places, and removes each segment that
/// was not asked for since the hand's last visit. Each place has a lock of its own. The lock is held while a pointer is
/// copied, or while the segment is read, so that several threads that want the segment read it once.
#[derive(Debug)]
pub(super) struct InUse {
    places: Box<[SegmentCell]>,
    bytes: AtomicUsize,
    most: usize,
    hand: AtomicUsize,
}

#[derive(Debug, Default)]
struct SegmentCell {
    segment: Mutex<Option<Arc<Segment>>>,
    /// True if the segment was asked for since the hand's last visit.
    asked: AtomicBool,
}

impl InUse {
    /// Makes places for `segments` segments, which take at most `most` bytes together. A segment that is larger is held
    /// alone.
    pub(super) fn new(segments: usize, most: usize) -> InUse {
        let places = (0..segments).map(|_| SegmentCell::default()).collect();
        InUse { places, bytes: AtomicUsize::new(0), most, hand: AtomicUsize::new(0) }
    }

    /// Returns segment `number`, which `read` reads if it is not in memory.
    pub(super) fn get(&self, number: usize, read: impl FnOnce() -> Result<Segment>) -> Result<Arc<Segment>> {
        let place = &self.places[number];
        let mut held = place.segment.lock();
        place.asked.store(true, Relaxed);
        if let Some(segment) = &*held {
            return Ok(Arc::clone(segment));
        }
        let segment = Arc::new(read()?);
        *held = Some(Arc::clone(&segment));
        drop(held);
        let added = segment.bytes();
        let bytes = self.bytes.fetch_add(added, Relaxed) + added;
        if bytes > self.most {
            self.make_room(number);
        }
        Ok(segment)
    }

    /// Removes segments until the others fit. Two rounds meet every segment that no other thread holds or asks for.
    fn make_room(&self, but: usize) {
        for _ in 0..2 * self.places.len() {
            if self.bytes.load(Relaxed) <= self.most {
                return;
            }
            let number = self.hand.fetch_add(1, Relaxed) % self.places.len();
            let place = &self.places[number];
            if number == but || place.asked.swap(false, Relaxed) {
                continue;
            }
            if let Some(segment) = place.segment.try_lock().and_then(|mut held| held.take()) {
                self.bytes.fetch_sub(segment.bytes(), Relaxed);
            }
        }
    }

    /// Returns the bytes of all segments in memory.
    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        self.bytes.load(Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;
    use std::collections::HashSet;

    fn segment(number: usize) -> Segment {
        let targets = vec![number as f32; 100].into();
        Segment { targets, ..Segment::default() }
    }

    #[test]
    fn memory_has_a_bound_and_what_is_asked_for_often_stays() {
        let each = segment(0).bytes();
        let most = 10 * each;
        let segments = InUse::new(1000, most);
        let mut read = HashSet::new();
        for turn in 0..3000 {
            for number in [turn % 1000, 7] {
                let mut from_file = false;
                let got = segments.get(number, || {
                    from_file = true;
                    Ok(segment(number))
                });
                assert_eq!(got.unwrap().targets[0], number as f32);
                assert!(segments.bytes() <= most, "{}", segments.bytes());
                assert!(number != 7 || !from_file || turn % 1000 <= 7, "segment 7 was taken out in turn {turn}");
                if from_file {
                    read.insert((turn, number));
                }
            }
        }
        assert!((2900..3100).contains(&read.len()), "{}", read.len());
    }

    #[test]
    fn a_segment_that_cannot_be_read_is_asked_for_again_and_one_above_the_bound_is_held() {
        let segments = InUse::new(2, 1);
        assert!(segments.get(0, || Err(Error::argument("index", "damaged"))).is_err());
        assert!(segments.get(0, || Ok(segment(0))).is_ok());
        assert!(segments.get(0, || panic!("it is in memory")).is_ok());
        assert!(segments.get(1, || Ok(segment(1))).is_ok());
        assert_eq!(segments.bytes(), segment(1).bytes());
    }

    #[test]
    fn threads_that_want_one_segment_read_it_once() {
        let segments = InUse::new(50, 20 * segment(0).bytes());
        let reads = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let (segments, reads) = (&segments, &reads);
                scope.spawn(move || {
                    for turn in 0..5000 {
                        let number = turn / 100 + thread % 2;
                        let got = segments.get(number % 50, || {
                            reads.fetch_add(1, Relaxed);
                            Ok(segment(number % 50))
                        });
                        assert_eq!(got.unwrap().targets[0], (number % 50) as f32);
                    }
                });
            }
        });
        assert!(segments.bytes() <= 20 * segment(0).bytes());
        assert!(reads.load(Relaxed) >= 50);
    }
}
