//! Small measurements that take turns, so that what else the machine does disturbs all alike.

use std::error::Error;
use std::time::{Duration, Instant};

/// Turns of each at the least, and at the most.
const TURNS: std::ops::RangeInclusive<usize> = 5..=101;
/// A turn takes so long at the least, by repetition: clocks and submissions have their cost.
const TURN: Duration = Duration::from_millis(5);
/// Repetitions of a turn at the most.
const MOST_TIMES: u64 = 256;

/// Something that can be done so many times, and says what it took.
pub(super) type Work<'a> = Box<dyn FnMut(u64) -> gpufeed::Result<Duration> + 'a>;

/// Seconds of each, done once, in every turn; the turns together take about `time`.
pub(super) fn take(works: &mut [Work<'_>], time: Duration) -> Result<Vec<Vec<f64>>, Box<dyn Error>> {
    let mut times = Vec::new();
    for work in works.iter_mut() {
        work(1)?;
        let once = work(1)?.max(Duration::from_micros(1));
        times.push((TURN.as_secs_f64() / once.as_secs_f64()).ceil().clamp(1.0, MOST_TIMES as f64) as u64);
    }
    let start = Instant::now();
    let mut seconds = vec![Vec::new(); works.len()];
    for turn in 0..*TURNS.end() {
        if turn >= *TURNS.start() && start.elapsed() >= time {
            break;
        }
        for ((work, &times), seconds) in works.iter_mut().zip(&times).zip(&mut seconds) {
            seconds.push(work(times)?.as_secs_f64() / times as f64);
        }
    }
    Ok(seconds)
}
