//! Settings of reading from afar.

use crate::error::{Error, Result};
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

/// How data sets are read from object stores and web servers: time limits, a least rate, retries, certificates, and the stores' own
/// settings.
///
/// The stores' settings come from the environment, under the names that their own tools have: `AWS_ACCESS_KEY_ID`,
/// `AWS_SECRET_ACCESS_KEY`, `AWS_SESSION_TOKEN`, `AWS_REGION`, `AWS_ENDPOINT_URL`, `AWS_ALLOW_HTTP`,
/// `AWS_SKIP_SIGNATURE`; `GOOGLE_APPLICATION_CREDENTIALS` and its like; `AZURE_STORAGE_ACCOUNT_NAME`,
/// `AZURE_STORAGE_ACCOUNT_KEY`, `AZURE_STORAGE_SAS_TOKEN` and its like. What these do not set of S3 comes from the
/// profile `AWS_PROFILE` of `~/.aws/credentials` and `~/.aws/config`. [`store`](Self::store) sets one for a data set
/// alone. `Debug` shows no values of these.
///
/// ```no_run
/// use gpufeed::dataset::RemoteOptions;
/// use std::time::Duration;
///
/// let options = RemoteOptions::new()
///     .timeout(Duration::from_secs(10))
///     .retries(4)
///     .store("AWS_ENDPOINT_URL", "http://127.0.0.1:9000")
///     .store("AWS_ALLOW_HTTP", "true");
/// # let _ = options;
/// ```
#[derive(Clone)]
pub struct RemoteOptions {
    pub(super) timeout: Option<Duration>,
    pub(super) retries: Option<u32>,
    pub(super) min_rate: Option<u64>,
    /// The time over which the rate is averaged: a test's is shorter.
    pub(super) rate_window: Duration,
    pub(super) certificates: Option<PathBuf>,
    pub(super) cache: Option<(PathBuf, u64)>,
    pub(super) store: BTreeMap<String, String>,
}

/// The default of [`RemoteOptions::min_rate`], in bytes a second.
const MIN_RATE: u64 = 1 << 10;
/// The time over which that rate is averaged.
const RATE_WINDOW: Duration = Duration::from_secs(30);

/// Longest time that a server may be given, in seconds: a longer one would overflow the clock.
const LONGEST: f64 = 1e6;

/// The settings in force: the options, then the environment, then the defaults.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    pub(super) timeout: Duration,
    pub(super) retries: u32,
    /// Bytes a second; 0 for any.
    pub(super) min_rate: u64,
    pub(super) rate_window: Duration,
    pub(super) certificates: Option<PathBuf>,
}

impl Default for RemoteOptions {
    fn default() -> Self {
        Self::new()
    }
}

impl RemoteOptions {
    /// The defaults, which the environment changes.
    pub fn new() -> Self {
        RemoteOptions {
            timeout: None,
            retries: None,
            min_rate: None,
            rate_window: RATE_WINDOW,
            certificates: None,
            cache: None,
            store: BTreeMap::new(),
        }
    }

    /// Sets how long a server may send nothing: until its answer begins, and between two parts of it. A request that
    /// takes longer is made again, from the byte that is missing. The variable `GPUFEED_REMOTE_TIMEOUT`, in seconds,
    /// else 30 seconds by default.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Sets how often a request is made again that failed for a reason that may pass: no connection, no answer in time,
    /// a cut, status 408, 429 or 5xx. Pauses between them grow from 0.05 to 10 seconds. The variable
    /// `GPUFEED_REMOTE_RETRIES`, else 10 by default.
    pub fn retries(mut self, retries: u32) -> Self {
        self.retries = Some(retries);
        self
    }

    /// Sets the least rate of an answer, in bytes a second, averaged over 30 seconds: a server that sends a byte now and
    /// then would else be read for ever. A request whose answer is slower is made again twice, from the byte that is
    /// missing; then reading ends with an error. 0 takes any rate. The variable `GPUFEED_REMOTE_MIN_RATE`, else 1024 by
    /// default.
    pub fn min_rate(mut self, bytes_per_second: u64) -> Self {
        self.min_rate = Some(bytes_per_second);
        self
    }

    /// Sets a file of certificates (PEM) that are trusted besides the system's, for servers that made their own. The
    /// variable `SSL_CERT_FILE` by default.
    pub fn certificates(mut self, file: impl Into<PathBuf>) -> Self {
        self.certificates = Some(file.into());
        self
    }

    /// Keeps what is fetched in a folder on this machine, up to so many bytes, so that a later epoch or run fetches
    /// nothing of it; off by default. Processes that name the same folder share it, and each block is fetched by one of
    /// them. Least recently used objects make room. [`DataLoaderBuilder::remote_cache`](crate::DataLoaderBuilder::remote_cache)
    /// does the same for a data set that is open already.
    pub fn cache(mut self, folder: impl Into<PathBuf>, bytes: u64) -> Self {
        self.cache = Some((folder.into(), bytes));
        self
    }

    /// Sets one of the stores' settings, by the name of its variable. It replaces the variable.
    pub fn store(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.store.insert(name.into().to_ascii_uppercase(), value.into());
        self
    }

    /// Averages the rate over another time than 30 seconds.
    #[cfg(test)]
    pub(super) fn rate_window(mut self, window: Duration) -> Self {
        self.rate_window = window;
        self
    }

    /// The settings in force.
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
        let min_rate = self.min_rate.or(rate).unwrap_or(MIN_RATE);
        let timeout = self.timeout.or(seconds).unwrap_or(Duration::from_secs(30));
        if timeout.is_zero() {
            return Err(Error::argument("RemoteOptions::timeout", "0 leaves no time for any answer"));
        }
        let timeout = timeout.min(Duration::from_secs_f64(LONGEST));
        let certificates = self.certificates.clone().or_else(|| variable("SSL_CERT_FILE").map(PathBuf::from));
        let (retries, rate_window) = (self.retries.or(retries).unwrap_or(10), self.rate_window);
        Ok(Settings { timeout, retries, min_rate, rate_window, certificates })
    }
}

impl fmt::Debug for RemoteOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.store.keys().collect();
        let RemoteOptions { timeout, retries, min_rate, rate_window: _, certificates, cache, store: _ } = self;
        let mut fields = f.debug_struct("RemoteOptions");
        fields
            .field("timeout", timeout)
            .field("retries", retries)
            .field("min_rate", min_rate)
            .field("certificates", certificates)
            .field("cache", cache);
        fields.field("store", &names).finish()
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
            _ => None,
        };
        let of = |settings: Settings| (settings.timeout.as_secs_f64(), settings.retries, settings.min_rate);
        let options = RemoteOptions::new();
        assert_eq!(of(options.settings(none).unwrap()), (30.0, 10, 1024));
        assert_eq!(of(options.settings(some).unwrap()), (2.5, 3, 0));
        let options = options.timeout(Duration::from_secs(1)).retries(0).min_rate(5000);
        assert_eq!(of(options.settings(some).unwrap()), (1.0, 0, 5000));
        let endless = RemoteOptions::new().timeout(Duration::MAX).settings(none).unwrap();
        assert_eq!(endless.timeout, Duration::from_secs(1_000_000));
        let error = options.settings(|_| Some("soon".to_owned())).unwrap_err().to_string();
        assert!(error.contains("GPUFEED_REMOTE_TIMEOUT") && error.contains("soon"), "{error}");
        assert!(options.timeout(Duration::ZERO).settings(none).is_err());
    }

    #[test]
    fn debug_shows_no_values_of_a_store() {
        let options = RemoteOptions::new().store("aws_secret_access_key", "hush-hush");
        let shown = format!("{options:?}");
        assert!(shown.contains("AWS_SECRET_ACCESS_KEY") && !shown.contains("hush"), "{shown}");
    }
}
