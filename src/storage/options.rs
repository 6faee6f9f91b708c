//! The settings for reading from object stores and web servers.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

/// The settings for reading from object stores and web servers: time limits, a least rate, retries, the number of
/// requests at once, certificates, and the stores' own settings. A build without the feature `remote` has this type,
/// but refuses every address.
///
/// The stores' settings come from the environment, under the names that their own tools have: `AWS_ACCESS_KEY_ID`,
/// `AWS_SECRET_ACCESS_KEY`, `AWS_SESSION_TOKEN`, `AWS_REGION`, `AWS_ENDPOINT_URL`, `AWS_ALLOW_HTTP`,
/// `AWS_SKIP_SIGNATURE`; `GOOGLE_APPLICATION_CREDENTIALS` and similar ones; `AZURE_STORAGE_ACCOUNT_NAME`,
/// `AZURE_STORAGE_ACCOUNT_KEY`, `AZURE_STORAGE_SAS_TOKEN` and similar ones. S3 settings that the environment lacks come
/// from the profile `AWS_PROFILE` of `~/.aws/credentials` and `~/.aws/config`. [`store`](Self::store) sets one of these
/// settings for one data set alone. `Debug` shows no values of the stores' settings.
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
    pub(super) requests: Option<u32>,
    /// The time over which the rate of an answer is averaged. Tests set a shorter time.
    pub(super) rate_window: Duration,
    pub(super) certificates: Option<PathBuf>,
    pub(super) cache: Option<(PathBuf, u64)>,
    pub(super) store: BTreeMap<String, String>,
}

/// The time over which the rate of an answer is averaged, before it is compared with the least rate.
const RATE_WINDOW: Duration = Duration::from_secs(30);

impl Default for RemoteOptions {
    fn default() -> Self {
        Self::new()
    }
}

impl RemoteOptions {
    /// Returns the default options. For an option that is not set, an environment variable may replace the default.
    pub fn new() -> Self {
        RemoteOptions {
            timeout: None,
            retries: None,
            min_rate: None,
            requests: None,
            rate_window: RATE_WINDOW,
            certificates: None,
            cache: None,
            store: BTreeMap::new(),
        }
    }

    /// Sets the longest time for which a server may send nothing, before its answer begins and between two parts of it. A
    /// request that takes longer is made again, from the first missing byte on. Default: the variable
    /// `GPUFEED_REMOTE_TIMEOUT`, in seconds, else 30 seconds.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Sets the number of retries of a request that failed for a reason that may pass: no connection, no answer in time, a
    /// cut, status 408, 429 or 5xx. Pauses between attempts grow from 0.05 to 10 seconds. Default: the variable
    /// `GPUFEED_REMOTE_RETRIES`, else 10.
    pub fn retries(mut self, retries: u32) -> Self {
        self.retries = Some(retries);
        self
    }

    /// Sets the least rate of an answer, in bytes a second, averaged over 30 seconds: a server that sends a byte now
    /// and then would else be read for ever. A request whose answer is slower is made again twice, from the first
    /// missing byte on; then reading ends with an error. 0 takes any rate. Default: the variable
    /// `GPUFEED_REMOTE_MIN_RATE`, else 1024.
    pub fn min_rate(mut self, bytes_per_second: u64) -> Self {
        self.min_rate = Some(bytes_per_second);
        self
    }

    /// Sets the number of requests that run at once for the blocks of the next samples, 1 to 256. A request fetches up to
    /// four blocks of 8 MiB. More requests hide more latency: 8 of them read a GB a second if each waits 50 ms for its first
    /// byte. Blocks that a worker waits for are requested in addition. Default: the variable `GPUFEED_REMOTE_REQUESTS`,
    /// else 8.
    ///
    /// Another number is an [`ErrorKind::Argument`](crate::ErrorKind::Argument) when a data set is opened.
    pub fn requests(mut self, requests: u32) -> Self {
        self.requests = Some(requests);
        self
    }

    /// Sets a file of certificates (PEM) that are trusted besides the system's, for servers with certificates of their
    /// own. By default, the environment variable `SSL_CERT_FILE` names the file.
    pub fn certificates(mut self, file: impl Into<PathBuf>) -> Self {
        self.certificates = Some(file.into());
        self
    }

    /// Keeps fetched data in the folder `folder` on this machine, at most `bytes` bytes, so that a later epoch or run
    /// does not fetch these data again; off by default. Processes that name the same folder share it: only one of them
    /// fetches each block. When the folder is full, the least recently used objects are removed.
    /// [`DataLoaderBuilder::remote_cache`](crate::DataLoaderBuilder::remote_cache) sets the same for a data set that is
    /// open already.
    pub fn cache(mut self, folder: impl Into<PathBuf>, bytes: u64) -> Self {
        self.cache = Some((folder.into(), bytes));
        self
    }

    /// Sets a setting of a store. `name` is the name of the setting's environment variable; its value is then not used.
    pub fn store(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.store.insert(name.into().to_ascii_uppercase(), value.into());
        self
    }

    /// Sets the time over which the rate of an answer is averaged, instead of 30 seconds.
    #[cfg(test)]
    pub(super) fn rate_window(mut self, window: Duration) -> Self {
        self.rate_window = window;
        self
    }
}

impl fmt::Debug for RemoteOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.store.keys().collect();
        let RemoteOptions { timeout, retries, min_rate, requests, rate_window, certificates, cache, store: _ } = self;
        let mut fields = f.debug_struct("RemoteOptions");
        fields
            .field("timeout", timeout)
            .field("retries", retries)
            .field("min_rate", min_rate)
            .field("requests", requests)
            .field("rate_window", rate_window)
            .field("certificates", certificates)
            .field("cache", cache);
        fields.field("store", &names).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_shows_no_values_of_a_store() {
        let options = RemoteOptions::new().store("aws_secret_access_key", "hush-hush");
        let shown = format!("{options:?}");
        assert!(shown.contains("AWS_SECRET_ACCESS_KEY") && !shown.contains("hush"), "{shown}");
    }
}
