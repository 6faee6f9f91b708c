//! Writes files to stores as objects, large files in parts, and removes objects.

use super::address::ObjectAddress;
use super::failure::RequestFailure;
use super::request::{Requests, Retries};
use super::service::COMPLETED;
use super::store::Store;
use super::{Address, Located, Remote, RemoteOptions};
use crate::error::{Error, ErrorKind, Result};
use crate::storage::local::regular_file;
use futures_util::{StreamExt, stream};
use object_store::multipart::{MultipartStore, PartId};
use object_store::path::Path as Key;
use object_store::{Error as StoreError, MultipartId, ObjectStoreExt, PutPayload};
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

/// The least bytes of a part. A file of up to this length is written by one request.
const PART: u64 = 16 << 20;
/// The most parts that S3 accepts for one object.
const MOST_PARTS: u64 = 10_000;
/// The most parts that are uploaded at once. Each of them is in memory.
const AT_ONCE: usize = 4;
/// The most objects that are removed at once.
const REMOVED_AT_ONCE: usize = 16;

/// Returns the number of bytes in each part of an object of `length` bytes. Only the last part may be shorter: some
/// stores want parts of equal length.
fn part_bytes(length: u64) -> u64 {
    length.div_ceil(MOST_PARTS).next_multiple_of(1 << 20).max(PART)
}

impl Remote {
    /// Makes a connection for writing to the store of an address. Sends nothing yet.
    ///
    /// # Errors
    /// An argument error for a text that is no address, and for the address of a web server.
    pub(crate) fn to_write(address: &Address, options: &RemoteOptions) -> Result<Remote> {
        if ObjectAddress::parse(address.with_credentials())?.is_web() {
            let reason =
                "a web server cannot be written to; name a bucket (s3://, gs:// or az://), or a folder to copy from";
            return Err(address.refused(reason));
        }
        let remote = Remote::new(options)?;
        remote.locate(address.with_credentials())?;
        Ok(remote)
    }

    /// Lists the objects of a folder and of the folders in it: the name of each below the folder, and its length in
    /// bytes.
    ///
    /// # Errors
    /// An I/O error with the address.
    pub(crate) fn list_names(&self, folder: &str) -> Result<Vec<(String, u64)>> {
        let prefix = ObjectAddress::parse(folder)?.key;
        let prefix = if prefix.is_empty() { prefix } else { prefix + "/" };
        let found = self.list_all(folder).map_err(|error| match error.kind() {
            ErrorKind::Io { path, source } if source.kind() == io::ErrorKind::NotFound => {
                let reason = "there is no such bucket; make it, or name another";
                Error::io(path, io::Error::new(io::ErrorKind::NotFound, reason))
            }
            _ => error,
        })?;
        let name = |key: &str| key.strip_prefix(&prefix).map(str::to_owned);
        Ok(found.iter().filter_map(|meta| Some((name(meta.key.as_ref())?, meta.size))).collect())
    }

    /// Writes a file as an object, whole or not at all. A large file goes in parts, of which at most four are in
    /// memory.
    ///
    /// # Errors
    /// An I/O error with the file, or with the address.
    pub(crate) fn put_file(&self, address: &str, path: &Path) -> Result<()> {
        let failed = |source| Error::io(path, source);
        let (mut file, metadata) = regular_file::open(path).map_err(failed)?;
        let length = metadata.len();
        if length <= PART {
            let mut bytes = Vec::with_capacity(length as usize);
            file.read_to_end(&mut bytes).map_err(failed)?;
            return self.put(address, bytes);
        }
        let Located { store, key, .. } = self.locate(address)?;
        let requests = self.0.requests.clone();
        let upload = self.run(address, async move {
            let id = requests.begin(&store, &key).await?;
            Ok(Arc::new(Upload { requests, store, key, id }))
        })?;
        let sent = self.send_parts(&upload, &mut file, part_bytes(length)).and_then(|(parts, bytes)| {
            if bytes != length {
                return Err(io::Error::other(format!("{}: it was changed while it was uploaded", path.display())));
            }
            let upload = upload.clone();
            self.0.runtime.run(async move { upload.complete(parts, length).await })
        });
        if sent.is_err() {
            // Without this request the store would keep the parts for ever. Its error is ignored, because the first
            // error says more.
            let _ = self.run(address, async move { upload.abort().await });
        }
        sent.map_err(|source| Error::io(address, source))
    }

    /// Sends all parts of a file. Returns the id that the store has given each part, and the number of bytes in all
    /// parts.
    fn send_parts(&self, upload: &Arc<Upload>, file: &mut File, part_bytes: u64) -> io::Result<(Vec<PartId>, u64)> {
        let (mut parts, mut total, mut failed) = (Vec::new(), 0, None);
        let mut under_way = VecDeque::new();
        for number in 0.. {
            let mut bytes = Vec::with_capacity(part_bytes as usize);
            match file.take(part_bytes).read_to_end(&mut bytes) {
                Ok(0) => break,
                Ok(read) => total += read as u64,
                Err(error) => {
                    failed = Some(error);
                    break;
                }
            }
            if under_way.len() == AT_ONCE {
                let first = under_way.pop_front();
                match first.map_or_else(|| Err(super::runtime::gone()), received) {
                    Ok(part) => parts.push(part),
                    Err(error) => {
                        failed = Some(error);
                        break;
                    }
                }
            }
            let upload = upload.clone();
            under_way.push_back(self.0.runtime.spawn(async move { upload.put_part(number, bytes.into()).await }));
        }
        // Waits for all parts under way, also after an error: a part that came after the upload was aborted would stay
        // in the store.
        for part in under_way {
            match received(part) {
                Ok(part) => parts.push(part),
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        failed.map_or(Ok((parts, total)), Err)
    }

    /// Removes these objects of one store. An object that is not there counts as removed.
    ///
    /// # Errors
    /// An I/O error with the first address.
    pub(crate) fn remove(&self, addresses: &[String]) -> Result<()> {
        let Some(first) = addresses.first() else { return Ok(()) };
        let store = self.locate(first)?.store;
        let keys = addresses.iter().map(|address| self.locate(address).map(|located| located.key));
        let keys = keys.collect::<Result<Vec<_>>>()?;
        let requests = self.0.requests.clone();
        self.run(first, async move { requests.remove(&store, keys).await })
    }
}

fn received<T>(part: crossbeam_channel::Receiver<io::Result<T>>) -> io::Result<T> {
    part.recv().unwrap_or_else(|_| Err(super::runtime::gone()))
}

/// The upload of an object in parts.
struct Upload {
    requests: Requests,
    store: Arc<Store>,
    key: Key,
    id: MultipartId,
}

impl Upload {
    async fn put_part(&self, number: usize, bytes: bytes::Bytes) -> io::Result<PartId> {
        let parts = parts_of(&self.store)?;
        let put = || {
            let payload = PutPayload::from_bytes(bytes.clone());
            self.store.ask_to_write(parts.put_part(&self.key, &self.id, number, payload))
        };
        self.requests.until_it_succeeds(put).await
    }

    async fn complete(&self, parts: Vec<PartId>, length: u64) -> io::Result<()> {
        let mut retries = Retries::new(&self.requests);
        loop {
            let complete = parts_of(&self.store)?.complete_multipart(&self.key, &self.id, parts.clone());
            let failure = match self.store.ask_to_write(COMPLETED.scope(length, complete)).await {
                Ok(_) => return Ok(()),
                Err(failure) => failure,
            };
            // If the store has completed the upload before, and its answer was lost, it now says that there is no such
            // upload. Then the object exists, and has the right length.
            if retries.made > 0
                && failure.kind == io::ErrorKind::NotFound
                && self.requests.head(&self.store, &self.key, false).await.is_ok_and(|meta| meta.size == length)
            {
                return Ok(());
            }
            retries.again(failure, None).await?;
        }
    }

    async fn abort(&self) -> io::Result<()> {
        let parts = parts_of(&self.store)?;
        let abort = || self.store.ask_to_write(parts.abort_multipart(&self.key, &self.id));
        self.requests.until_it_succeeds(abort).await
    }
}

/// Returns the API through which a store takes objects in parts.
fn parts_of(store: &Store) -> io::Result<&dyn MultipartStore> {
    store.parts.as_deref().ok_or_else(|| io::Error::new(io::ErrorKind::Unsupported, "a web server takes no parts"))
}

impl Requests {
    /// Writes an object whole or not at all.
    pub(super) async fn put(&self, store: &Store, key: &Key, bytes: bytes::Bytes) -> io::Result<()> {
        let put = || store.ask_to_write(store.api.put(key, PutPayload::from_bytes(bytes.clone())));
        self.until_it_succeeds(put).await.map(|_| ())
    }

    async fn begin(&self, store: &Store, key: &Key) -> io::Result<MultipartId> {
        let parts = parts_of(store)?;
        self.until_it_succeeds(|| store.ask_to_write(parts.create_multipart(key))).await
    }

    async fn remove(&self, store: &Store, keys: Vec<Key>) -> io::Result<()> {
        self.until_it_succeeds(|| self.remove_once(store, keys.clone())).await
    }

    async fn remove_once(&self, store: &Store, keys: Vec<Key>) -> Result<(), RequestFailure> {
        // Makes one call for each object. The library's own stream of deletions makes several requests in one call, and
        // `seen.rs` would mix their answers.
        let remove = |key: Key| async move {
            let removed = store.api.delete(&key).await;
            match removed {
                Err(StoreError::NotFound { .. }) => Ok(()),
                removed => removed,
            }
        };
        let mut removed =
            stream::iter(keys).map(|key| store.ask_to_write(remove(key))).buffer_unordered(REMOVED_AT_ONCE);
        while let Some(removed) = removed.next().await {
            removed?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
