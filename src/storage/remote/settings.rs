//! Determines the settings of a connection to stores: each comes from [`RemoteOptions`], else from an environment
//! variable, else it is the default.

use crate::error::{Error, Result};
use crate::storage::RemoteOptions;
use std::path::PathBuf;
use std::time::Duration;

/// The default of [`RemoteOptions::min_rate`], in bytes a second.
const MIN_RATE: u64 = 1 << 10;
/// The default of [`RemoteOptions::requests`]. 8 requests at once read a GB a second even if each of them waits 50 ms
/// for its first byte.
pub(super) const REQUESTS: u32 = 8;
/// The largest number of requests at once that may be set. Each request may have 32 MiB under way.
const MOST_REQUESTS: u32 = 256;
/// The longest timeout in seconds. A longer timeout would overflow the clock, so it is reduced to this.
const LONGEST: f64 = 1e6;

/// The settings of a connection, with defaults filled in.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    pub(super) timeout: Duration,
    pub(super) retries: u32,
    /// The least rate at which an answer has to come, in bytes a second; 0 allows any rate.
    pub(super) min_rate: u64,
    pub(super) rate_window: Duration,
    /// The most requests that run at once for blocks that no worker waits for yet.
    pub(super) requests: usize,
    pub(super) certificates: Option<PathBuf>,
}

impl RemoteOptions {
    /// Returns the settings of a connection, with environment variables and defaults filled in. `variable` looks up an
    /// environment variable.
    ///
    /// # Errors
    /// An argument error for a value that cannot work.
    pub(super) fn settings(&self, variable: impl Fn(&str) -> Option<String>) -> Result<Settings> {
        let number = |name: &'static str| -> Result<Option<f64>> {
            let Some(text) = variable(name).filter(|text| !text.is_empty()) else { return Ok(None) };
            let number = text.parse().ok().filter(|number: &f64| number.is_finite() && *number >= 0.0);
            match number {
                Some(number) => Ok(Some(number)),
                None => Err(Error::argument(name, format!("{text:?} is not a number of 0 or more"))),
            }
        };
        let seconds = number("GPUFEED_REMOTE_TIMEOUT")?.map(|seconds| Duration::from_secs_f64(seconds.min(LONGEST)));
        let retries = number("GPUFEED_REMOTE_RETRIES")?.map(|retries| retries as u32);
        let rate = number("GPUFEED_REMOTE_MIN_RATE")?.map(|rate| rate as u64);
        let requests = match (self.requests, number("GPUFEED_REMOTE_REQUESTS")?) {
            (Some(requests), _) => at_once("RemoteOptions::requests", requests.into())?,
            (None, Some(requests)) => at_once("GPUFEED_REMOTE_REQUESTS", requests)?,
            (None, None) => REQUESTS,
        };
        let min_rate = self.min_rate.or(rate).unwrap_or(MIN_RATE);
        let timeout = self.timeout.or(seconds).unwrap_or(Duration::from_secs(30));
        if timeout.is_zero() {
            return Err(Error::argument("RemoteOptions::timeout", "0 leaves no time for any answer"));
        }
        let timeout = timeout.min(Duration::from_secs_f64(LONGEST));
        let certificates = self.certificates.clone().or_else(|| variable("SSL_CERT_FILE").map(PathBuf::from));
        let (retries, rate_window) = (self.retries.or(retries).unwrap_or(10), self.rate_window);
        Ok(Settings { timeout, retries, min_rate, rate_window, requests: requests as usize, certificates })
    }
}

/// Checks a number of requests at once, which the caller has set by `setting`.
fn at_once(setting: &'static str, requests: f64) -> Result<u32> {
    let works = requests.fract() == 0.0 && (1.0..=f64::from(MOST_REQUESTS)).contains(&requests);
    match works {
        true => Ok(requests as u32),
        false => Err(Error::argument(setting, format!("{requests} requests at once; 1 to {MOST_REQUESTS} work"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_come_before_variables_and_these_before_defaults() {
        let none = |_: &str| None;
        let some = |name: &str| match name {
            "GPUFEED_REMOTE_TIMEOUT" => Some("2.5".to_owned()),
            "GPUFEED_REMOTE_RETRIES" => Some("3".to_owned()),
            "GPUFEED_REMOTE_MIN_RATE" => Some("0".to_owned()),
            "GPUFEED_REMOTE_REQUESTS" => Some("256".to_owned()),
            _ => None,
        };
        let of = |settings: Settings| {
            (settings.timeout.as_secs_f64(), settings.retries, settings.min_rate, settings.requests)
        };
        let options = RemoteOptions::new();
        assert_eq!(of(options.settings(none).unwrap()), (30.0, 10, 1024, 8));
        assert_eq!(of(options.settings(some).unwrap()), (2.5, 3, 0, 256));
        let options = options.timeout(Duration::from_secs(1)).retries(0).min_rate(5000).requests(1);
        assert_eq!(of(options.settings(some).unwrap()), (1.0, 0, 5000, 1));
        let endless = RemoteOptions::new().timeout(Duration::MAX).settings(none).unwrap();
        assert_eq!(endless.timeout, Duration::from_secs(1_000_000));
        let error = options.settings(|_| Some("soon".to_owned())).unwrap_err().to_string();
        assert!(error.contains("GPUFEED_REMOTE_TIMEOUT") && error.contains("soon"), "{error}");
        assert!(options.timeout(Duration::ZERO).settings(none).is_err());
    }

    #[test]
    fn a_number_of_requests_that_cannot_work_is_an_error_that_names_where_it_was_set() {
        for requests in [0, 257, u32::MAX] {
            let error = RemoteOptions::new().requests(requests).settings(|_| None).unwrap_err().to_string();
            assert!(error.contains("RemoteOptions::requests") && error.contains("1 to 256"), "{error}");
        }
        for text in ["0", "0.5", "8.5", "257", "1e30", "-1", "many"] {
            let variable = |name: &str| (name == "GPUFEED_REMOTE_REQUESTS").then(|| text.to_owned());
            let error = RemoteOptions::new().settings(variable).unwrap_err().to_string();
            assert!(error.contains("GPUFEED_REMOTE_REQUESTS"), "{text}: {error}");
            let settings = RemoteOptions::new().requests(3).settings(|_| None).unwrap();
            assert_eq!(settings.requests, 3);
        }
    }
}
