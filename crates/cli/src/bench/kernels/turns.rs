//! Lets small measurements take turns, so that other work on the machine disturbs all of them equally.

use std::error::Error;
use std::time::{Duration, Instant};

/// The least and the largest number of turns.
const TURNS: std::ops::RangeInclusive<usize> = 5..=101;
/// The least time of a turn. Short work is repeated in a turn, because reading clocks and submitting take time
/// themselves.
const TURN: Duration = Duration::from_millis(5);
/// The most repetitions in a turn.
const MOST_REPETITIONS: u64 = 256;

/// Does some work the given number of times, and returns the time that it took.
pub(crate) type Work<'a> = Box<dyn FnMut(u64) -> gpufeed::Result<Duration> + 'a>;

/// Lets all works take turns for about `time`. For each work and each turn, returns the seconds that doing the work
/// once took.
pub(crate) fn take_turns(works: &mut [Work<'_>], time: Duration) -> Result<Vec<Vec<f64>>, Box<dyn Error>> {
    let mut times = Vec::new();
    for work in works.iter_mut() {
        work(1)?;
        let once = work(1)?.max(Duration::from_micros(1));
        times.push((TURN.as_secs_f64() / once.as_secs_f64()).ceil().clamp(1.0, MOST_REPETITIONS as f64) as u64);
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
