//! Tests of reading from a server that misbehaves. A read returns the right bytes, or an error that names the object,
//! the range of bytes and the setting to change. It never hangs.

mod access;
mod bodies;
mod faults;
mod kinds;
mod objects;
mod odd_headers;
mod redirects;
mod runs;
mod slow;

use super::*;
use gpufeed_testing::store_server::{Fault, Request, StoreServer};
use std::time::Duration;

const MIB: usize = 1 << 20;

/// The timeout in these tests: how long a server may send nothing.
const PATIENCE: Duration = Duration::from_millis(300);

/// Runs a test on a thread of its own, and fails if the test takes longer than a minute.
fn watched<T: Send + 'static>(test: impl FnOnce() -> T + Send + 'static) -> T {
    let (done, result) = crossbeam_channel::bounded(1);
    std::thread::spawn(move || {
        let _ = done.send(test());
    });
    result.recv_timeout(Duration::from_secs(60)).expect("no panic, and no read that hangs")
}

/// Returns `len` pseudo-random bytes, so that bytes from a wrong offset are noticed. Each `seed` gives other bytes.
fn content(len: usize, seed: u32) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state as u8
    };
    (0..len).map(|_| next()).collect()
}

fn options(server: &StoreServer) -> RemoteOptions {
    let options = RemoteOptions::new().timeout(PATIENCE).retries(4);
    server.s3_settings().into_iter().fold(options, |options, (name, value)| options.store(name, value))
}

/// Opens the object at an address, with a connection of its own.
fn open(address: &str, options: RemoteOptions) -> RemoteObject {
    let remote = Remote::new(&options).unwrap();
    let meta = remote.head(address).unwrap();
    remote.object(meta)
}

/// Returns the text as static bytes, because the faults of a test server live as long as its script. The memory is
/// never freed.
fn leaked(text: String) -> &'static [u8] {
    text.into_bytes().leak()
}

/// Returns two addresses of the same object: one by which it is read from S3, and one by which it is read from a web
/// server.
fn both(server: &StoreServer, key: &str) -> [String; 2] {
    [server.s3(key), server.web(key)]
}
