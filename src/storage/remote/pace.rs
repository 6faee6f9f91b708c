//! Limits how slowly the answer of a server may come: by the longest time without a byte, and by the least rate.

use super::failure::{RequestFailure, Retry};
use super::settings::Settings;
use crate::advice::{self, Reason, Setting};
use std::io;
use std::pin::pin;
use std::time::Duration;
use tokio::time::{Instant, timeout};

/// Measures how fast the body of one answer comes.
pub(super) struct Pace {
    timeout: Duration,
    /// The least rate in bytes a second; 0 for any rate.
    least: u64,
    /// The time over which the rate is averaged.
    window: Duration,
    /// The time for which this process has waited for the server since the window began. Time in which the process
    /// works on bytes that have come does not count.
    waited: Duration,
    came: u64,
}

impl Pace {
    pub(super) fn new(settings: &Settings) -> Pace {
        let Settings { timeout, min_rate: least, rate_window: window, .. } = *settings;
        let window = if least == 0 { Duration::MAX } else { window };
        Pace { timeout, least, window, waited: Duration::ZERO, came: 0 }
    }

    /// Makes a `Pace` that has no least rate, but only the longest time without a byte.
    pub(super) fn of_any_rate(timeout: Duration) -> Pace {
        Pace { timeout, least: 0, window: Duration::MAX, waited: Duration::ZERO, came: 0 }
    }

    /// Waits for the next part of an answer.
    ///
    /// # Errors
    /// The failure, if nothing came in time, or too few bytes.
    pub(super) async fn next<T>(&mut self, part: impl Future<Output = T>) -> Result<T, RequestFailure> {
        let mut part = pin!(part);
        let mut idle = Duration::ZERO;
        loop {
            let left = self.timeout.saturating_sub(idle).min(self.window.saturating_sub(self.waited));
            let begin = Instant::now();
            let came = timeout(left, part.as_mut()).await;
            let waited = begin.elapsed();
            idle += waited;
            self.waited += waited;
            match came {
                Ok(part) => return Ok(part),
                Err(_) if idle >= self.timeout => {
                    return Err(RequestFailure::timed_out(self.timeout.as_secs_f64(), "no byte came"));
                }
                Err(_) => self.check_rate()?,
            }
        }
    }

    /// Counts the bytes of a part that has come.
    ///
    /// # Errors
    /// The failure if too few bytes came in this window.
    pub(super) fn came(&mut self, bytes: usize) -> Result<(), RequestFailure> {
        self.came += bytes as u64;
        self.check_rate()
    }

    /// At the end of a window, compares the rate in the window with the least rate, and begins the next window.
    fn check_rate(&mut self) -> Result<(), RequestFailure> {
        if self.waited < self.window {
            return Ok(());
        }
        let (came, least, seconds) = (self.came, self.least, self.waited.as_secs_f64());
        if (came as f64) < least as f64 * seconds {
            let reason = format!(
                "{came} bytes came in {seconds:.1} s, fewer than {least} a second (GPUFEED_REMOTE_MIN_RATE; 0 takes any rate)"
            );
            let reason = Reason::new(reason).advise(advice::lower(&[Setting::RemoteMinRate]));
            return Err(RequestFailure::new(io::ErrorKind::TimedOut, Retry::Few, reason));
        }
        (self.waited, self.came) = (Duration::ZERO, 0);
        Ok(())
    }
}
