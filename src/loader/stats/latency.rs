//! The latency of batches, as a histogram of atomics: eight buckets for each power of two.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The number of buckets of the histogram, which range from 1 microsecond to 38 hours.
const BUCKETS: usize = 8 * 35;

/// A histogram of durations: the count of each bucket.
#[derive(Debug)]
pub(super) struct Histogram([AtomicU64; BUCKETS]);

impl Default for Histogram {
    fn default() -> Self {
        Histogram(std::array::from_fn(|_| AtomicU64::new(0)))
    }
}

impl Histogram {
    pub(super) fn add(&self, time: Duration) {
        self.0[bucket(time)].fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn read(&self) -> Latency {
        let count = |(number, bucket): (usize, &AtomicU64)| (edge(number), bucket.load(Ordering::Relaxed));
        Latency::new(self.0.iter().enumerate().map(count).filter(|(_, count)| *count > 0).collect())
    }
}

/// The bucket of a duration: below 8 microseconds one each, then by the three bits after the leading one.
fn bucket(time: Duration) -> usize {
    let micros = time.as_micros().clamp(1, u128::from(u64::MAX)) as u64;
    let power = micros.ilog2() as usize;
    let number = if power < 3 { micros as usize } else { 8 * (power - 2) + ((micros >> (power - 3)) & 7) as usize };
    number.min(BUCKETS - 1)
}

/// The upper edge of a bucket. The command's chart computes the lower edge from it (`render/charts/latency.rs`).
fn edge(number: usize) -> Duration {
    let micros = if number < 8 { number as u64 + 1 } else { (8 + (number as u64 & 7) + 1) << (number / 8 - 1) };
    Duration::from_micros(micros)
}

/// The latency of batches, from the announcement of a batch to its arrival in the queue of ready batches. Percentiles
/// are upper edges of buckets, at most 12.5 % and a microsecond too large.
///
/// ```no_run
/// # fn show(loader: &gpufeed::DataLoader) {
/// let latency = loader.stats().latency;
/// println!("{} batches: half within {:?}, 99 % within {:?}", latency.batches, latency.p50, latency.p99);
/// # }
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Latency {
    /// The number of batches.
    pub batches: u64,
    /// The median: half of the batches took no longer.
    pub p50: Duration,
    /// Nine of ten batches took at most so long.
    pub p90: Duration,
    /// 99 of 100 batches took at most so long.
    pub p99: Duration,
    /// The longest latency of a batch.
    pub max: Duration,
    /// Upper edges of buckets, with the number of batches in each; empty buckets are left out.
    pub histogram: Vec<(Duration, u64)>,
}

impl Latency {
    fn new(histogram: Vec<(Duration, u64)>) -> Latency {
        let batches = histogram.iter().map(|(_, count)| count).sum();
        let within = |share: f64| {
            let wanted = (share * batches as f64).ceil() as u64;
            let mut seen = 0;
            let reached = histogram.iter().find(|(_, count)| {
                seen += count;
                seen >= wanted
            });
            reached.map_or(Duration::ZERO, |(edge, _)| *edge)
        };
        let (p50, p90, p99, max) = (within(0.5), within(0.9), within(0.99), within(1.0));
        Latency { batches, p50, p90, p99, max, histogram }
    }

    /// The latencies of batches after `earlier`.
    pub(super) fn since(&self, earlier: &Latency) -> Latency {
        let before = |edge: Duration| earlier.histogram.iter().find(|(other, _)| *other == edge).map_or(0, |(_, n)| *n);
        let rest = self.histogram.iter().map(|(edge, count)| (*edge, count.saturating_sub(before(*edge))));
        Latency::new(rest.filter(|(_, count)| *count > 0).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_follow_each_other_and_hold_what_is_below_their_edge() {
        let mut last = 0;
        for micros in (1..100_000).chain((0..17 * 64).map(|step| (100_000.0 * 1.01f64.powi(step)) as u64)) {
            let time = Duration::from_micros(micros);
            let number = bucket(time);
            assert!(number == last || number == last + 1, "{micros}: bucket {number} after {last}");
            assert!(time < edge(number) && (number == 0 || time >= edge(number - 1)), "{micros} in bucket {number}");
            assert!(edge(number).as_secs_f64() <= 1.125 * (micros + 1) as f64 * 1e-6, "{micros}: {:?}", edge(number));
            last = number;
        }
        assert_eq!(bucket(Duration::MAX), BUCKETS - 1);
    }

    #[test]
    fn percentiles() {
        let histogram = Histogram::default();
        (1..=100).for_each(|ms| histogram.add(Duration::from_millis(ms)));
        let all = histogram.read();
        assert_eq!(all.batches, 100);
        for (found, true_ms) in [(all.p50, 50.0), (all.p90, 90.0), (all.p99, 99.0), (all.max, 100.0)] {
            let ms = 1e3 * found.as_secs_f64();
            assert!((true_ms..=1.13 * true_ms).contains(&ms), "{ms} for {true_ms}");
        }
        histogram.add(Duration::from_secs(2));
        let later = histogram.read().since(&all);
        assert_eq!((later.batches, later.p50), (1, later.max));
        assert!(later.max >= Duration::from_secs(2));
    }
}
