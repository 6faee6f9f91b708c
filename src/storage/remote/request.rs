//! Makes the requests that read: a range of an object, a store's description of it, or a small object as a whole. Each
//! request is made again until it succeeds, or cannot succeed.

use super::cache::CachedObject;
use super::counters::{Counters, count};
use super::failure::{RequestFailure, Retry};
use super::pace::Pace;
use super::service::OfObject;
use super::settings::Settings;
use super::store::Store;
use futures_util::StreamExt;
use object_store::path::Path;
use object_store::{GetOptions, GetRange, GetResult, ObjectMeta as Meta};
use std::io;
use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// After a failure, a request gets all its retries again if this many bytes have come since it began or last got them.
const PROGRESS: u64 = 1 << 20;
/// The number of retries after a failure that rarely passes within seconds, as when a name does not resolve.
const FEW: u32 = 2;

/// The settings and counters with which a connection makes requests.
#[derive(Clone)]
pub(super) struct Requests {
    pub(super) settings: Settings,
    pub(super) counters: Arc<Counters>,
}

/// An object as it was when the data set was opened.
pub(super) struct OpenedObject {
    /// The number of the object in its connection, by which its blocks are named.
    pub(super) number: u64,
    /// The address, without credentials.
    pub(super) address: String,
    /// The hash of the part of the address after `?`. Two objects of a web server may differ in that part alone.
    pub(super) query: u64,
    pub(super) store: Arc<Store>,
    pub(super) key: Path,
    pub(super) size: u64,
    pub(super) etag: Option<String>,
    /// The time of the last change, in seconds since 1970.
    pub(super) modified: Option<u64>,
    /// The object in the cache on disk; set by the first read with a cache.
    pub(super) cached: OnceLock<CachedObject>,
}

impl OpenedObject {
    /// Checks that an answer is about the content that was opened, because some servers ignore the header `If-Match`.
    fn check(&self, meta: &Meta) -> Result<(), RequestFailure> {
        if meta.size != self.size {
            return Err(RequestFailure::replaced(&format!("it has {} bytes instead of {}", meta.size, self.size)));
        }
        match (&self.etag, &meta.e_tag) {
            (Some(expected), Some(found)) if bare(expected) != bare(found) => {
                return Err(RequestFailure::replaced("its ETag differs"));
            }
            (Some(_), Some(_)) => return Ok(()),
            _ => {}
        }
        match (self.modified, modified(meta)) {
            (Some(expected), Some(found)) if expected != found => {
                Err(RequestFailure::replaced("its Last-Modified differs"))
            }
            _ => Ok(()),
        }
    }

    /// Returns the ETag for the header `If-Match`; `None` without an ETag, and for a weak one, which never matches.
    fn if_match(&self) -> Option<String> {
        self.etag.clone().filter(|etag| !etag.starts_with("W/"))
    }
}

/// Returns an ETag without quotes, and without the prefix `W/` that a proxy adds. The same ETag may have them in an
/// answer and lack them in a listing.
fn bare(etag: &str) -> &str {
    etag.trim_start_matches("W/").trim_matches('"')
}

/// Returns the time of an object's last change in whole seconds since 1970; `None` if it is not known. Fractions are
/// left out, because listings have them and other answers do not.
pub(super) fn modified(meta: &Meta) -> Option<u64> {
    u64::try_from(meta.last_modified.timestamp()).ok().filter(|seconds| *seconds > 0)
}

/// Counts the retries of a request, and pauses before each.
pub(super) struct Retries<'a> {
    requests: &'a Requests,
    pub(super) made: u32,
    /// The retries since the request began or last got all its retries again.
    recent: u32,
}

impl<'a> Retries<'a> {
    pub(super) fn new(requests: &'a Requests) -> Self {
        Retries { requests, made: 0, recent: 0 }
    }

    /// Pauses before the next attempt, and counts it. `range` is the range of bytes that did not come, for the error.
    ///
    /// # Errors
    /// The failure, if no retries are left.
    pub(super) async fn again(&mut self, failure: RequestFailure, range: Option<Range<u64>>) -> io::Result<()> {
        let most = match failure.again {
            Retry::Never => 0,
            Retry::Few => FEW.min(self.requests.settings.retries),
            Retry::Yes => self.requests.settings.retries,
        };
        if self.recent >= most {
            return Err(failure.into_error(range.as_ref(), self.made));
        }
        tracing::debug!(retry = self.made + 1, reason = failure.reason.text, "a request is made again");
        tokio::time::sleep(pause(self.recent)).await;
        self.recent += 1;
        self.made += 1;
        count(&self.requests.counters.retries);
        Ok(())
    }
}

/// Returns the pause before a retry. Its upper limit doubles with each retry, up to 10 s; the pause is a random time
/// between half of the limit and all of it, so that many readers do not come back at the same moment.
fn pause(retry: u32) -> Duration {
    let longest = Duration::from_millis(100).saturating_mul(1 << retry.min(10)).min(Duration::from_secs(10));
    let spread = std::time::SystemTime::UNIX_EPOCH.elapsed().map_or(0, |now| now.subsec_nanos() % 1000);
    longest.mul_f64(0.5 + f64::from(spread) / 2000.0)
}

impl Requests {
    /// Makes a request again and again, until it succeeds or cannot succeed.
    ///
    /// # Errors
    /// The last failure.
    pub(super) async fn until_it_succeeds<T, F>(&self, mut request: impl FnMut() -> F) -> io::Result<T>
    where
        F: Future<Output = Result<T, RequestFailure>>,
    {
        let mut retries = Retries::new(self);
        loop {
            match request().await {
                Ok(found) => return Ok(found),
                Err(failure) => retries.again(failure, None).await?,
            }
        }
    }

    /// Reads a range of an object. `take` gets each byte of the range once, and in order.
    ///
    /// # Errors
    /// An error that names the bytes that did not come, and the settings that may help.
    pub(super) async fn read(
        &self,
        source: &OpenedObject,
        range: Range<u64>,
        mut take: impl FnMut(&[u8]),
    ) -> io::Result<()> {
        let mut retries = Retries::new(self);
        let mut at = range.start;
        let mut progress = at;
        while at < range.end {
            let next = at..range.end;
            let mut counted = |bytes: &[u8]| {
                at += bytes.len() as u64;
                take(bytes);
            };
            let Err(mut failure) = self.read_once(source, next, &mut counted).await else { continue };
            // The server answered when this object was opened, so its name and the credentials are right. A failure of
            // the name or the credentials is likely to pass now, and gets all retries.
            let known = matches!(failure.kind, io::ErrorKind::HostUnreachable | io::ErrorKind::PermissionDenied);
            if failure.again == Retry::Few && known {
                failure.again = Retry::Yes;
            }
            if at >= progress + PROGRESS {
                (progress, retries.recent) = (at, 0);
            }
            retries.again(failure, Some(at..range.end)).await?;
        }
        Ok(())
    }

    async fn read_once(
        &self,
        source: &OpenedObject,
        range: Range<u64>,
        take: &mut impl FnMut(&[u8]),
    ) -> Result<(), RequestFailure> {
        let options = GetOptions {
            range: Some(GetRange::Bounded(range.clone())),
            if_match: source.if_match(),
            ..GetOptions::default()
        };
        let answer = get(&source.store, &source.key, options).await?;
        source.check(&answer.meta)?;
        if answer.range != range {
            let found = format!("bytes {}..{} came instead", answer.range.start, answer.range.end);
            return Err(RequestFailure::new(io::ErrorKind::InvalidData, Retry::Yes, found));
        }
        let mut left = range.end - range.start;
        self.body(answer.into_stream(), &source.store, |bytes| {
            if bytes.len() as u64 > left {
                return Err(RequestFailure::new(
                    io::ErrorKind::InvalidData,
                    Retry::Yes,
                    "more bytes came than were asked for",
                ));
            }
            left -= bytes.len() as u64;
            take(bytes);
            Ok(())
        })
        .await?;
        match left {
            0 => Ok(()),
            _ => Err(RequestFailure::new(io::ErrorKind::ConnectionAborted, Retry::Yes, "the answer ended too early")),
        }
    }

    /// Passes the body of an answer to `take`, part by part.
    async fn body<S>(
        &self,
        mut stream: S,
        store: &Store,
        mut take: impl FnMut(&[u8]) -> Result<(), RequestFailure>,
    ) -> Result<(), RequestFailure>
    where
        S: futures_util::Stream<Item = object_store::Result<bytes::Bytes>> + Unpin,
    {
        let mut pace = Pace::new(&self.settings);
        while let Some(part) = pace.next(stream.next()).await? {
            let part = part.map_err(|error| store.failure_in_body(&error))?;
            self.counters.bytes.fetch_add(part.len() as u64, Relaxed);
            take(&part)?;
            pace.came(part.len())?;
        }
        Ok(())
    }

    /// Returns the store's description of an object. If a web server refuses the method `HEAD`, it is asked for the
    /// object's first byte instead.
    pub(super) async fn head(&self, store: &Store, key: &Path, web: bool) -> io::Result<Meta> {
        self.until_it_succeeds(|| self.head_once(store, key, web)).await
    }

    async fn head_once(&self, store: &Store, key: &Path, web: bool) -> Result<Meta, RequestFailure> {
        let head = GetOptions { head: true, ..GetOptions::default() };
        let failure = match store.ask(store.api.get_opts(key, of_object(head))).await {
            Ok(answer) => return Ok(answer.meta),
            Err(failure) => failure,
        };
        // Some servers refuse `HEAD` with one of several statuses, also with 404, or answer it without the object's
        // length.
        let without_length = failure.kind == io::ErrorKind::Unsupported;
        if !web || failure.again != Retry::Never || (failure.status.is_none() && !without_length) {
            return Err(failure);
        }
        let byte = GetOptions { range: Some(GetRange::Bounded(0..1)), ..GetOptions::default() };
        get(store, key, byte).await.map(|answer| answer.meta).map_err(|_| failure)
    }

    /// Reads a whole object of at most `limit` bytes; `None` if there is no such object.
    pub(super) async fn whole(&self, store: &Store, key: &Path, limit: u64) -> io::Result<Option<(Vec<u8>, Meta)>> {
        let mut retries = Retries::new(self);
        loop {
            match self.whole_once(store, key, limit).await {
                Ok(found) => return Ok(Some(found)),
                Err(failure) if failure.missing => return Ok(None),
                Err(failure) => retries.again(failure, None).await?,
            }
        }
    }

    async fn whole_once(&self, store: &Store, key: &Path, limit: u64) -> Result<(Vec<u8>, Meta), RequestFailure> {
        let answer = get(store, key, GetOptions::default()).await?;
        let meta = answer.meta.clone();
        let too_large = || {
            let reason = format!("it has more than the {limit} bytes that such an object may have");
            RequestFailure::new(io::ErrorKind::FileTooLarge, Retry::Never, reason)
        };
        if meta.size > limit {
            return Err(too_large());
        }
        // The size is only the server's claim, so memory is taken only for bytes that have come.
        let mut bytes = Vec::new();
        self.body(answer.into_stream(), store, |part| {
            if (bytes.len() + part.len()) as u64 > limit {
                return Err(too_large());
            }
            if bytes.try_reserve(part.len()).is_err() {
                let reason = format!("there is no memory for more than {} of its {} bytes", bytes.len(), meta.size);
                return Err(RequestFailure::new(io::ErrorKind::OutOfMemory, Retry::Never, reason));
            }
            bytes.extend_from_slice(part);
            Ok(())
        })
        .await?;
        if bytes.len() as u64 != meta.size {
            return Err(RequestFailure::new(
                io::ErrorKind::ConnectionAborted,
                Retry::Yes,
                "the answer ended too early",
            ));
        }
        Ok((bytes, meta))
    }
}

/// Marks a request for an object or its description, so that `service.rs` does not read the body of the answer.
fn of_object(mut options: GetOptions) -> GetOptions {
    options.extensions.insert(OfObject);
    options
}

/// Requests an object, and waits for the headers of the answer, but not for its body.
async fn get(store: &Store, key: &Path, options: GetOptions) -> Result<GetResult, RequestFailure> {
    store.ask(store.api.get_opts(key, of_object(options))).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_ten_seconds() {
        for (retry, milliseconds) in [(0, 100), (1, 200), (5, 3200), (7, 10_000), (u32::MAX, 10_000)] {
            let pause = pause(retry).as_millis();
            assert!((milliseconds / 2..=milliseconds).contains(&pause), "{retry}: {pause} ms");
        }
    }

    #[test]
    fn etags_of_listings_and_answers_agree() {
        assert_eq!(bare("\"a\""), bare("a"));
        assert_eq!(bare("W/\"a\""), bare("\"a\""));
        assert_ne!(bare("\"a\""), bare("\"b\""));
    }
}
