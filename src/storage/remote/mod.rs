//! Reads objects in stores and on web servers, by many threads at any position. Also writes objects to stores.
//!
//! | file | has |
//! |---|---|
//! | `address.rs` | which store and key an address names |
//! | `provider.rs` | whose store it is, and where its credentials are set |
//! | `settings.rs` | the settings in force: options, environment, defaults |
//! | `store.rs`, `profile.rs`, `client.rs` | makes the store that an address names, with a client of HTTP |
//! | `service.rs`, `redirect.rs` | passes each request on, counts it, and follows redirects where that is allowed |
//! | `headers.rs`, `pace.rs` | what an answer's headers may say, and how slowly an answer may come |
//! | `seen.rs` | the status and the body of an answer that refuses a request |
//! | `request.rs`, `list.rs`, `failure.rs` | requests, repeated until they succeed or cannot succeed; failures |
//! | `network_error.rs` | marks errors of the network, so that the loader can tell them from damaged samples |
//! | `object.rs`, `scan.rs` | an object: its description, and reads at any offset, or from front to back |
//! | `blocks.rs`, `fetch.rs` | which blocks are in memory, are fetched next, or leave it; how workers wait for blocks |
//! | `cache/` | blocks on disk, which the processes of a machine share |
//! | `upload.rs` | writes objects, large files in parts, and removes objects |
//! | `counters.rs` | what a connection has read |
//! | `runtime.rs` | the thread on which all asynchronous code runs |

mod address;
mod blocks;
mod cache;
mod client;
mod counters;
mod failure;
mod fetch;
mod headers;
mod list;
mod network_error;
mod object;
mod pace;
mod profile;
mod provider;
mod redirect;
mod request;
mod runtime;
mod scan;
mod seen;
mod service;
mod settings;
#[cfg(test)]
mod shared_cache_tests;
mod store;
#[cfg(test)]
mod tests;
mod upload;

use super::{Address, RemoteOptions, RemoteStats};
use crate::advice::Reason;
use crate::credentials::without_credentials;
use crate::error::{Error, Result};
use address::ObjectAddress;
use blocks::{BLOCK, READ_AHEAD};
use counters::Counters;
use fetch::Fetcher;
use network_error::NetworkError;
use object_store::path::Path as Key;
use parking_lot::Mutex;
use request::{OpenedObject, Requests};
use runtime::Runtime;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use store::Store;

pub use network_error::is_network_failure;
use object::describe;
pub(crate) use object::{ObjectMeta, RemoteObject};
pub(crate) use scan::ObjectScan;

/// Returns an error for an address whose scheme is not supported.
///
/// # Errors
/// An argument error.
pub(crate) fn check(address: &Address) -> Result<()> {
    address.check_scheme()
}

/// The connection of a data set to the stores of its objects. [`Access::remotes`](crate::dataset::Access::remotes)
/// returns it, so that a loader can set how much is read ahead, and read the counters. Clones share one connection.
///
/// ```
/// use gpufeed::{Dataset, InMemory};
///
/// assert!(InMemory::new().access().is_none(), "it has no connection");
/// ```
#[derive(Clone)]
pub struct Remote(Arc<Connection>);

/// Stands for a run of a loader that announces its reads to a connection. The run ends when this value is dropped.
pub(crate) struct RemoteRun(Remote);

impl Drop for RemoteRun {
    fn drop(&mut self) {
        self.0.0.runs.fetch_sub(1, Relaxed);
    }
}

struct Connection {
    options: RemoteOptions,
    requests: Requests,
    /// The stores of the addresses that were opened, each with the part of an address that names the store. Locked
    /// while a data set is opened.
    stores: Mutex<Vec<(url::Url, Arc<Store>)>>,
    /// The number that the next opened object gets.
    objects: AtomicU64,
    /// The number of runs of loaders that are under way.
    runs: AtomicU64,
    /// The folder of the cache on disk, and the most bytes that the cache may take.
    cache: OnceLock<(PathBuf, u64)>,
    fetcher: Fetcher,
    runtime: Runtime,
}

/// The store and the key that an address names.
struct Located {
    store: Arc<Store>,
    /// The index of the store in `Connection::stores`.
    number: usize,
    address: ObjectAddress,
    key: Key,
}

/// The name of the object that marks a folder in which `gpufeed pack` has not finished. On a disk, a file with the name
/// `dataset::UNFINISHED` is the mark.
const UNFINISHED: &str = ".gpufeed-pack-unfinished";

/// The most samples that are announced ahead, whatever their size. This limits the length of the table of blocks.
const MOST_AHEAD: u64 = 1 << 16;

impl Remote {
    /// Makes a connection, for all objects of a data set. Sends nothing yet.
    ///
    /// # Errors
    /// An argument error if the options, or the variables of the environment that complete them, cannot work.
    pub(crate) fn new(options: &RemoteOptions) -> Result<Remote> {
        let settings = options.settings(|name| std::env::var(name).ok())?;
        let runtime = Runtime::start().map_err(|source| Error::io("the thread of the network", source))?;
        let requests = Requests { settings, counters: Arc::new(Counters::default()) };
        let fetcher = Fetcher::new(READ_AHEAD, requests.clone(), runtime.handle().clone());
        let (stores, objects, runs) = (Mutex::default(), AtomicU64::new(0), AtomicU64::new(0));
        let cache = OnceLock::new();
        let remote = Remote(Arc::new(Connection {
            options: options.clone(),
            requests,
            stores,
            objects,
            runs,
            cache,
            fetcher,
            runtime,
        }));
        if let Some((folder, bytes)) = &options.cache {
            remote.set_cache(folder, *bytes);
        }
        Ok(remote)
    }

    /// Finds the store and the key of an address. Makes the store's client if this is the first address in the store.
    fn locate(&self, address: &str) -> Result<Located> {
        let parsed = ObjectAddress::parse(address)?;
        let shown = without_credentials(address);
        let key = Key::parse(&parsed.key).map_err(|error| Error::argument("address", format!("{shown}: {error}")))?;
        let mut stores = self.0.stores.lock();
        if let Some(number) = stores.iter().position(|(base, _)| *base == parsed.base) {
            return Ok(Located { store: stores[number].1.clone(), number, address: parsed, key });
        }
        let Connection { options, requests, .. } = &*self.0;
        let store = store::connect(&parsed, &shown, options, &requests.settings, requests.counters.clone())?;
        let (store, number) = (Arc::new(store), stores.len());
        stores.push((parsed.base.clone(), store.clone()));
        Ok(Located { store, number, address: parsed, key })
    }

    fn run<T: Send + 'static>(
        &self,
        address: &str,
        request: impl Future<Output = io::Result<T>> + Send + 'static,
    ) -> Result<T> {
        self.0.runtime.run(request).map_err(|source| Error::io(without_credentials(address), source))
    }

    /// Lists the objects of a folder and of the folders in it, sorted by address.
    ///
    /// # Errors
    /// An argument error for web servers, which have no listing; an I/O error with the address, also for a folder in
    /// which `gpufeed pack` has not finished.
    pub(crate) fn list(&self, folder: &str) -> Result<Vec<ObjectMeta>> {
        let found = self.list_all(folder)?;
        match found.iter().find(|meta| meta.file_name() == UNFINISHED) {
            None => Ok(found),
            Some(mark) => {
                let folder = mark.address.trim_end_matches(UNFINISHED);
                let reason = "`gpufeed pack` has not finished it; run it again, and it continues or names the obstacle";
                Err(Error::io(folder, io::Error::new(io::ErrorKind::InvalidData, reason)))
            }
        }
    }

    /// Lists the objects of a folder as [`list`](Self::list) does, but accepts a folder in which `gpufeed pack` has not
    /// finished.
    ///
    /// # Errors
    /// The errors of the request. In many public buckets objects may be read but not listed: then the error says how to
    /// write the address instead.
    fn list_all(&self, folder: &str) -> Result<Vec<ObjectMeta>> {
        let Located { store, number, address, key: prefix } = self.locate(folder)?;
        if address.is_web() {
            let shown = without_credentials(folder);
            return Err(Error::argument(
                "address",
                format!(
                    "{shown}: a web server has no listing; write the files as a brace list, as in {}/part-{{000..041}}.tar",
                    shown.trim_end_matches('/')
                ),
            ));
        }
        let requests = self.0.requests.clone();
        let found = self.run(folder, async move {
            requests.list(&store, &prefix).await.map_err(|error| match error.kind() {
                io::ErrorKind::PermissionDenied => {
                    let instead = "where objects may be read and not listed, write them as a brace list, as in part-{000..041}.tar";
                    let Reason { text, advice } = NetworkError::reason_of(&error);
                    let reason = Reason { text: format!("{text}; {instead}"), advice };
                    io::Error::new(error.kind(), NetworkError(reason))
                }
                _ => error,
            })
        })?;
        let found = found.into_iter().map(|meta| describe(&address, number, meta));
        let mut found = found.collect::<Result<Vec<_>>>()?;
        found.sort_by(|a, b| a.address.cmp(&b.address));
        Ok(found)
    }

    /// Returns a store's description of an object.
    ///
    /// # Errors
    /// An I/O error with the address, of the kind `NotFound` if there is no such object.
    pub(crate) fn head(&self, address: &str) -> Result<ObjectMeta> {
        let Located { store, number, address: parsed, key } = self.locate(address)?;
        let (requests, web) = (self.0.requests.clone(), parsed.is_web());
        let meta = self.run(address, async move { requests.head(&store, &key, web).await })?;
        describe(&parsed, number, meta)
    }

    /// Reads a whole object of at most `limit` bytes; `None` if there is no such object.
    ///
    /// # Errors
    /// An I/O error with the address.
    pub(crate) fn get_small(&self, address: &str, limit: u64) -> Result<Option<(Vec<u8>, ObjectMeta)>> {
        let Located { store, number, address: parsed, key } = self.locate(address)?;
        let requests = self.0.requests.clone();
        let answer = self.run(address, async move { requests.whole(&store, &key, limit).await })?;
        answer.map(|(bytes, meta)| Ok((bytes, describe(&parsed, number, meta)?))).transpose()
    }

    /// Writes an object whole or not at all.
    ///
    /// # Errors
    /// An I/O error with the address.
    pub(crate) fn put(&self, address: &str, bytes: Vec<u8>) -> Result<()> {
        let Located { store, key, .. } = self.locate(address)?;
        let requests = self.0.requests.clone();
        self.run(address, async move { requests.put(&store, &key, bytes.into()).await })
    }

    /// Returns the address of the object `name` in the same folder as the object `meta`, with its credentials, so
    /// nothing may show it. `None` if the address has a signature, which is valid for one object alone.
    pub(crate) fn beside(&self, meta: &ObjectMeta, name: &str) -> Option<String> {
        let base = self.0.stores.lock()[meta.store].0.clone();
        ObjectAddress { base, key: meta.key.as_ref().to_owned() }.beside(name)
    }

    /// Does the same as [`beside`](Self::beside) for an object that is given by its address.
    ///
    /// # Errors
    /// An argument error for an address that cannot be read.
    pub(crate) fn beside_address(object: &str, name: &str) -> Result<Option<String>> {
        Ok(ObjectAddress::parse(object)?.beside(name))
    }

    /// Returns an object that can be read. Each read gives the content that `meta` describes, or fails.
    pub(crate) fn object(&self, meta: ObjectMeta) -> RemoteObject {
        let store = self.0.stores.lock()[meta.store].1.clone();
        let ObjectMeta { address, size, etag, modified, key, query, .. } = meta.clone();
        let number = self.0.objects.fetch_add(1, Relaxed);
        let source = OpenedObject { number, address, query, store, key, size, etag, modified, cached: OnceLock::new() };
        RemoteObject { remote: self.clone(), meta: Arc::new(meta), source: Arc::new(source) }
    }

    /// Returns the counters of what was read so far.
    pub(crate) fn stats(&self) -> RemoteStats {
        let evicted_unread = self.0.fetcher.blocks().evicted_unread();
        RemoteStats { evicted_unread, ..self.0.requests.counters.stats() }
    }

    /// Sets the read-ahead budget: the most bytes of blocks that are in memory or being fetched.
    pub(crate) fn set_read_ahead(&self, bytes: u64) {
        self.0.fetcher.blocks().budget = bytes;
    }

    /// Returns the read-ahead budget: the most bytes of blocks that are in memory or being fetched.
    pub(crate) fn read_ahead(&self) -> u64 {
        self.0.fetcher.blocks().budget
    }

    /// Returns the folder of the cache on disk, and the most bytes that the cache may take; `None` if there is no
    /// cache.
    pub(crate) fn cache(&self) -> Option<(PathBuf, u64)> {
        self.0.cache.get().cloned()
    }

    /// Sets the folder of the cache on disk, which processes of a machine may share, and the most bytes in the cache. A
    /// connection that has a cache keeps it. If the folder cannot be used, blocks are fetched each time, and a warning
    /// says so.
    pub(crate) fn set_cache(&self, folder: &Path, bytes: u64) {
        self.0.cache.get_or_init(|| {
            self.0.fetcher.set_cache(|| cache::BlockCache::open(folder, bytes, BLOCK));
            (folder.to_owned(), bytes)
        });
    }

    /// Returns how many samples of this mean size fit into the memory for reading ahead.
    /// [Announcing](RemoteObject::expect) more samples is of no use.
    pub(crate) fn samples_ahead(&self, mean_bytes: u64) -> usize {
        (self.0.fetcher.blocks().budget / mean_bytes.max(1)).clamp(1, MOST_AHEAD) as usize
    }

    /// Starts requests for the announced blocks. Call this after all reads that are known were announced, so that
    /// neighbouring blocks share a request.
    pub(crate) fn fetch_expected(&self) {
        self.0.fetcher.start();
    }

    /// Begins a run, which lasts until the returned value is dropped. If no other run is under way, forgets the reads
    /// that were announced before: they are left from a run that ended early, and nobody will make them.
    pub(crate) fn begin_run(&self) -> RemoteRun {
        if self.0.runs.fetch_add(1, Relaxed) == 0 {
            self.0.fetcher.blocks().forget();
        }
        RemoteRun(self.clone())
    }

    /// Returns true if `other` is the same connection as this one.
    pub(crate) fn is(&self, other: &Remote) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl fmt::Debug for Remote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Remote").field("options", &self.0.options).finish_non_exhaustive()
    }
}
