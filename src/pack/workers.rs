//! Lets several threads work on samples, and passes their results on in order.

use crate::error::{Error, Result};
use crossbeam_channel::unbounded;
use std::collections::HashMap;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use super::events::{SetOnDrop, TICK, Watch};

/// The most samples in memory for each thread. Because this is more than one, a slow sample does not stop the other
/// threads.
const EACH: usize = 8;

/// Calls `work` for all `numbers` on `threads` threads, each of which has a `State` of its own. Calls `put` with the
/// results, in order. `before` is called with each number, in order, before the work on it begins.
///
/// # Errors
/// The first error of `work` or `put`, a panic of `work`, or the caller's stop.
pub(super) fn in_order<State: Default, T: Send>(
    threads: usize,
    numbers: Range<usize>,
    watch: &Watch,
    before: impl Fn(usize),
    work: impl Fn(&mut State, usize) -> Result<T> + Sync,
    mut put: impl FnMut(usize, T) -> Result<()>,
) -> Result<()> {
    let (jobs, taken) = unbounded::<usize>();
    let (done, finished) = unbounded();
    let ended = AtomicBool::new(false);
    let worker = || {
        let (taken, done) = (taken.clone(), done.clone());
        let mut state = State::default();
        for number in taken {
            if ended.load(Ordering::Relaxed) {
                return;
            }
            let worked = catch_unwind(AssertUnwindSafe(|| work(&mut state, number)));
            let worked = worked.unwrap_or_else(|payload| Err(Error::panic("pack", &*payload)));
            if done.send((number, worked)).is_err() {
                return;
            }
        }
    };
    thread::scope(|scope| {
        // Moves both channels into this closure, so that they are dropped whenever it returns, and the threads stop
        // waiting.
        let (jobs, finished) = (jobs, finished);
        let _ends = SetOnDrop(&ended);
        for number in 0..threads.min(numbers.len()) {
            let named = thread::Builder::new().name(format!("gpufeed-pack-{number}"));
            named.spawn_scoped(scope, worker).map_err(|source| Error::io("a thread to pack", source))?;
        }
        let (mut next, mut early) = (numbers.start, HashMap::new());
        for number in numbers.clone() {
            while next < numbers.end && next - number < EACH * threads {
                before(next);
                // Sending cannot fail, because the receiver `taken` lives until all threads have ended.
                let _ = jobs.send(next);
                next += 1;
            }
            let result = loop {
                watch.check()?;
                if let Some(result) = early.remove(&number) {
                    break result;
                }
                if let Ok((number, result)) = finished.recv_timeout(TICK) {
                    early.insert(number, result);
                }
            };
            put(number, result?)?;
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;
    use std::time::Duration;

    /// Runs [`in_order`] on the numbers 10 to 509. Returns its result, and the numbers that `put` got, in order.
    fn put(threads: usize, work: impl Fn(&mut usize, usize) -> Result<usize> + Sync) -> (Result<()>, Vec<usize>) {
        let mut numbers = Vec::new();
        let done = in_order(
            threads,
            10..510,
            &Watch::unheard(),
            |_| {},
            work,
            |number, result| {
                assert_eq!(number, result);
                numbers.push(number);
                Ok(())
            },
        );
        (done, numbers)
    }

    #[test]
    fn results_come_in_order_from_each_number_once() {
        for threads in [1, 2, 7, 1000] {
            let (done, numbers) = put(threads, |calls, number| {
                *calls += 1;
                if number % 50 == 0 {
                    thread::sleep(Duration::from_millis(2));
                }
                Ok(number)
            });
            assert!(done.is_ok() && numbers.into_iter().eq(10..510), "{threads}");
        }
    }

    #[test]
    fn the_first_error_ends_the_work() {
        let (done, numbers) = put(3, |_, number| match number {
            0..100 => Ok(number),
            100.. => Err(Error::argument("number", format!("{number} is too large"))),
        });
        assert_eq!((done.unwrap_err().to_string(), numbers.len()), ("number: 100 is too large".into(), 90));
        let (done, _) = put(3, |_, number| if number < 30 { Ok(number) } else { panic!("a bug at {number}") });
        assert!(matches!(done.unwrap_err().kind(), ErrorKind::Panic { message, .. } if message == "a bug at 30"));
    }

    #[test]
    fn few_results_wait_for_a_slow_one() {
        let most = std::sync::atomic::AtomicUsize::new(0);
        let (done, _) = put(2, move |_, number| {
            let ahead = most.fetch_max(number, Ordering::Relaxed);
            if number == 10 {
                thread::sleep(Duration::from_millis(100));
                assert!(most.load(Ordering::Relaxed) < 10 + 2 * EACH, "{ahead}");
            }
            Ok(number)
        });
        done.unwrap();
    }
}
