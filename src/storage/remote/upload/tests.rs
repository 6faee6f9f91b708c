//! Tests uploads into a store in memory that fails those requests that a test names.

use super::super::RemoteOptions;
use super::super::address::ObjectAddress;
use super::super::provider::Provider;
use super::*;
use object_store::memory::InMemory;
use object_store::{ObjectStoreExt, PutResult};
use parking_lot::Mutex;
use std::pin::Pin;

/// The name of a request that is to fail, such as "part 1", and a function that makes its error.
type Fault = (&'static str, fn() -> StoreError);

type Answer<'a, T> = Pin<Box<dyn Future<Output = object_store::Result<T>> + Send + 'a>>;

/// A store in memory. It notes the names of the requests of uploads, and fails those in `fails`, each entry once.
struct Unreliable {
    store: Arc<InMemory>,
    seen: Arc<Mutex<Vec<String>>>,
    fails: Mutex<Vec<Fault>>,
}

impl Unreliable {
    /// Notes the name of a request, and returns an error if the request is to fail.
    fn note(&self, request: String) -> object_store::Result<()> {
        let mut fails = self.fails.lock();
        let fault = fails.iter().position(|(name, _)| *name == request);
        self.seen.lock().push(request);
        fault.map_or(Ok(()), |fault| Err(fails.remove(fault).1()))
    }
}

impl MultipartStore for Unreliable {
    fn create_multipart<'a, 'b, 'c>(&'a self, path: &'b Key) -> Answer<'c, MultipartId>
    where
        'a: 'c,
        'b: 'c,
        Self: 'c,
    {
        Box::pin(async move {
            self.note("begin".to_owned())?;
            self.store.create_multipart(path).await
        })
    }

    fn put_part<'a, 'b, 'c, 'd>(
        &'a self,
        path: &'b Key,
        id: &'c MultipartId,
        number: usize,
        data: PutPayload,
    ) -> Answer<'d, PartId>
    where
        'a: 'd,
        'b: 'd,
        'c: 'd,
        Self: 'd,
    {
        Box::pin(async move {
            self.note(format!("part {number}"))?;
            self.store.put_part(path, id, number, data).await
        })
    }

    fn complete_multipart<'a, 'b, 'c, 'd>(
        &'a self,
        path: &'b Key,
        id: &'c MultipartId,
        parts: Vec<PartId>,
    ) -> Answer<'d, PutResult>
    where
        'a: 'd,
        'b: 'd,
        'c: 'd,
        Self: 'd,
    {
        Box::pin(async move {
            let gone = |_| StoreError::NotFound { path: path.to_string(), source: "no such upload".into() };
            let done = self.store.complete_multipart(path, id, parts).await.map_err(gone);
            // A failure comes after the upload is complete, as if only the store's answer were lost.
            self.note("complete".to_owned())?;
            done
        })
    }

    fn abort_multipart<'a, 'b, 'c, 'd>(&'a self, path: &'b Key, id: &'c MultipartId) -> Answer<'d, ()>
    where
        'a: 'd,
        'b: 'd,
        'c: 'd,
        Self: 'd,
    {
        Box::pin(async move {
            self.note("abort".to_owned())?;
            self.store.abort_multipart(path, id).await
        })
    }
}

fn busy() -> StoreError {
    StoreError::Generic { store: "S3", source: "Server returned non-2xx status code: 503 Slow down".into() }
}

fn denied() -> StoreError {
    StoreError::PermissionDenied { path: String::new(), source: "no".into() }
}

/// Uploads a file of `length` bytes. Returns the result, the names of the requests, the object's content (`None` if
/// there is no object), and the file's content.
fn upload(length: usize, fails: Vec<Fault>) -> (Result<()>, Vec<String>, Option<Vec<u8>>, Vec<u8>) {
    let bytes: Vec<u8> = (0..length as u32).map(|byte| (byte.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), &bytes).unwrap();
    let (store, seen) = (Arc::new(InMemory::new()), Arc::new(Mutex::new(Vec::new())));
    let parts = Unreliable { store: store.clone(), seen: seen.clone(), fails: Mutex::new(fails) };
    let connected = Store {
        api: Box::new(store.clone()),
        parts: Some(Box::new(parts)),
        pages: None,
        provider: Provider::Amazon,
        secrets: Vec::new(),
    };
    let remote = Remote::new(&RemoteOptions::new()).unwrap();
    let base = ObjectAddress::parse("s3://bucket/a").unwrap().base;
    remote.0.stores.lock().push((base, Arc::new(connected)));
    let result = remote.put_file("s3://bucket/a", file.path());
    let found = remote.0.runtime.run(async move {
        match store.get(&Key::from("a")).await {
            Ok(object) => Ok(Some(object.bytes().await.map_err(io::Error::other)?.to_vec())),
            Err(_) => Ok(None),
        }
    });
    let seen = seen.lock().clone();
    (result, seen, found.unwrap(), bytes)
}

#[test]
fn parts_are_few_enough_and_of_whole_mebibytes() {
    for length in [1, PART, PART + 1, 1 << 30, MOST_PARTS * PART, MOST_PARTS * PART + 1, 5 << 40] {
        let bytes = part_bytes(length);
        assert!(bytes >= PART && bytes.is_multiple_of(1 << 20), "{length}: {bytes}");
        assert!(length.div_ceil(bytes) <= MOST_PARTS, "{length}: {bytes}");
    }
    assert_eq!(part_bytes(1 << 30), PART);
}

#[test]
fn a_file_arrives_in_parts_or_by_one_request() {
    for (length, requests) in [(0, 0), (5, 0), (PART as usize, 0), (PART as usize + 1, 4), (6 * PART as usize + 7, 9)] {
        let (result, seen, found, bytes) = upload(length, Vec::new());
        result.unwrap();
        assert!(found.as_deref() == Some(&*bytes), "{length} bytes: others came");
        assert_eq!(seen.len(), requests, "{length} bytes: {seen:?}");
    }
}

#[test]
fn what_fails_for_a_moment_is_sent_again() {
    let fails: Vec<Fault> = vec![("begin", busy), ("part 1", busy), ("part 1", busy), ("complete", busy)];
    let (result, seen, found, bytes) = upload(3 * PART as usize, fails);
    result.unwrap();
    assert!(found.as_deref() == Some(&*bytes), "other bytes came");
    assert_eq!(seen.iter().filter(|request| *request == "part 1").count(), 3, "{seen:?}");
    assert!(!seen.contains(&"abort".to_owned()), "{seen:?}");
}

#[test]
fn an_upload_that_cannot_succeed_is_aborted_and_leaves_nothing() {
    for request in ["part 0", "part 5", "complete"] {
        let fails: Vec<Fault> = vec![(request, denied)];
        let (result, seen, found, _) = upload(6 * PART as usize, fails);
        let error = result.unwrap_err().to_string();
        assert!(error.starts_with("s3://bucket/a: the server refuses access"), "{error}");
        assert_eq!(seen.last().map(String::as_str), Some("abort"), "{seen:?}");
        assert!(found.is_none() || request == "complete", "{request}: there is an object");
    }
}
