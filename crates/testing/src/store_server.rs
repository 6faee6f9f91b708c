//! A small server of objects on this machine: byte ranges with ETags, S3's listing and writing, and faults by a script.
//! It counts what it is asked for and what it sends.

mod answer;
mod request;
#[cfg(feature = "tls")]
mod tls;

pub use answer::Fault;
pub use request::Request;
#[cfg(feature = "tls")]
pub use tls::AUTHORITY;

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

/// How long a thread sleeps before it looks whether the server ends.
const LOOK: Duration = Duration::from_millis(20);
/// Keys on one page of a listing.
const PAGE: usize = 100;

type Script = Box<dyn Fn(&Request) -> Fault + Send + Sync>;

/// An object: its bytes, and the number of the write that made it, from which its ETag and time come.
#[derive(Clone)]
struct Object {
    bytes: Arc<Vec<u8>>,
    version: u64,
}

impl Object {
    fn etag(&self) -> String {
        format!("\"v{}\"", self.version)
    }

    fn modified(&self) -> String {
        format!("Tue, 24 Nov 2026 {:02}:{:02}:00 GMT", self.version / 60 % 24, self.version % 60)
    }
}

#[derive(Default)]
struct State {
    objects: Mutex<BTreeMap<String, Object>>,
    script: Mutex<Option<Script>>,
    log: Mutex<Vec<Request>>,
    versions: AtomicU64,
    connections: AtomicU64,
    sent: AtomicU64,
    stop: AtomicBool,
}

/// The server; it ends when this is dropped. Keys begin with a bucket: `bucket/folder/name`.
pub struct StoreServer {
    address: SocketAddr,
    scheme: &'static str,
    state: Arc<State>,
    listener: Option<JoinHandle<()>>,
}

impl StoreServer {
    /// Starts a server on a port by the system.
    pub fn start() -> Self {
        Self::start_with("http", serve)
    }

    /// Starts a server with TLS, by a certificate that only those know who trust [`AUTHORITY`].
    #[cfg(feature = "tls")]
    pub fn start_tls() -> Self {
        let config = tls::config();
        Self::start_with("https", move |stream, state| {
            if let Some(stream) = tls::accept(&config, stream) {
                serve(stream, state);
            }
        })
    }

    fn start_with(scheme: &'static str, answer: impl Fn(TcpStream, &State) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("loopback");
        let address = listener.local_addr().expect("an address");
        let state = Arc::new(State::default());
        let (shared, answer) = (state.clone(), Arc::new(answer));
        let listener = std::thread::spawn(move || {
            let mut threads = Vec::new();
            for stream in listener.incoming() {
                if shared.stop.load(Ordering::Relaxed) {
                    break;
                }
                let (Ok(stream), shared, answer) = (stream, shared.clone(), answer.clone()) else { continue };
                shared.connections.fetch_add(1, Ordering::Relaxed);
                let _ = stream.set_read_timeout(Some(LOOK));
                let _ = stream.set_nodelay(true);
                threads.push(std::thread::spawn(move || answer(stream, &shared)));
            }
            for thread in threads {
                let _ = thread.join();
            }
        });
        StoreServer { address, scheme, state, listener: Some(listener) }
    }

    /// Sets an object, and replaces one that is there: with another ETag and time.
    pub fn put(&self, key: &str, bytes: impl Into<Vec<u8>>) {
        self.state.put(key, bytes.into());
    }

    /// Removes an object.
    pub fn remove(&self, key: &str) {
        self.state.objects.lock().unwrap().remove(key);
    }

    /// The bytes of an object.
    pub fn object(&self, key: &str) -> Option<Vec<u8>> {
        self.state.objects.lock().unwrap().get(key).map(|object| object.bytes.to_vec())
    }

    /// Sets what goes wrong: called with every request that follows.
    pub fn script(&self, script: impl Fn(&Request) -> Fault + Send + Sync + 'static) {
        *self.state.script.lock().unwrap() = Some(Box::new(script));
    }

    /// Ends the script: all goes well.
    pub fn heal(&self) {
        *self.state.script.lock().unwrap() = None;
    }

    /// The address of a key as one on the web.
    pub fn web(&self, key: &str) -> String {
        format!("{}://{}/{key}", self.scheme, self.address)
    }

    /// The address of a key as one of S3, which needs [`s3_settings`](Self::s3_settings).
    pub fn s3(&self, key: &str) -> String {
        format!("s3://{key}")
    }

    /// The variables with which S3's client comes here.
    pub fn s3_settings(&self) -> [(&'static str, String); 4] {
        [
            ("AWS_ENDPOINT_URL", format!("{}://{}", self.scheme, self.address)),
            ("AWS_ALLOW_HTTP", "true".to_owned()),
            ("AWS_SKIP_SIGNATURE", "true".to_owned()),
            ("AWS_REGION", "us-east-1".to_owned()),
        ]
    }

    /// The variables with which Google's client comes here, for addresses such as `gs://bucket/key`.
    pub fn google_settings(&self) -> [(&'static str, String); 3] {
        [
            ("GOOGLE_BASE_URL", format!("{}://{}", self.scheme, self.address)),
            ("GOOGLE_ALLOW_HTTP", "true".to_owned()),
            ("GOOGLE_SKIP_SIGNATURE", "true".to_owned()),
        ]
    }

    /// The variables with which Azure's client comes here, for addresses such as `az://bucket/key`. This server has no
    /// listing for it.
    pub fn azure_settings(&self) -> [(&'static str, String); 4] {
        [
            ("AZURE_STORAGE_ENDPOINT", format!("{}://{}", self.scheme, self.address)),
            ("AZURE_STORAGE_ACCOUNT_NAME", "account".to_owned()),
            ("AZURE_ALLOW_HTTP", "true".to_owned()),
            ("AZURE_SKIP_SIGNATURE", "true".to_owned()),
        ]
    }

    /// The requests so far, in their order.
    pub fn log(&self) -> Vec<Request> {
        self.state.log.lock().unwrap().clone()
    }

    /// The number of requests so far.
    pub fn requests(&self) -> usize {
        self.state.log.lock().unwrap().len()
    }

    /// The bytes of bodies that were sent.
    pub fn sent(&self) -> u64 {
        self.state.sent.load(Ordering::Relaxed)
    }

    /// The number of connections so far.
    pub fn connections(&self) -> u64 {
        self.state.connections.load(Ordering::Relaxed)
    }
}

impl Drop for StoreServer {
    fn drop(&mut self) {
        self.state.stop.store(true, Ordering::Relaxed);
        let _ = TcpStream::connect(self.address);
        if let Some(listener) = self.listener.take() {
            let _ = listener.join();
        }
    }
}

impl State {
    fn put(&self, key: &str, bytes: Vec<u8>) {
        let version = self.versions.fetch_add(1, Ordering::Relaxed);
        self.objects.lock().unwrap().insert(key.to_owned(), Object { bytes: Arc::new(bytes), version });
    }

    fn fault(&self, request: &Request) -> Fault {
        self.script.lock().unwrap().as_ref().map_or(Fault::None, |script| script(request))
    }

    /// Sleeps; `false` if the server ends meanwhile.
    fn sleep(&self, time: Duration) -> bool {
        let begin = std::time::Instant::now();
        while begin.elapsed() < time {
            if self.stop.load(Ordering::Relaxed) {
                return false;
            }
            std::thread::sleep(LOOK.min(time));
        }
        true
    }
}

/// Answers the requests of a connection until it ends.
fn serve(mut stream: impl Read + Write, state: &State) {
    let mut unread = Vec::new();
    while let Some((mut request, body)) = request::read(&mut stream, &mut unread, &state.stop) {
        request.number = {
            let mut log = state.log.lock().unwrap();
            request.number = log.len();
            log.push(request.clone());
            request.number
        };
        let fault = state.fault(&request);
        let answer = answer::Answer::of(&request, body, fault, state);
        if !answer.send(&mut stream, state) {
            let _ = stream.flush();
            return;
        }
    }
}
