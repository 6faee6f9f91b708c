//! Reading from a server that misbehaves: the very same bytes, or an error that names the object, the bytes and what to
//! set; and never a read that hangs.

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

/// How long a server may send nothing in these tests.
const PATIENCE: Duration = Duration::from_millis(300);

/// Runs a test on a thread of its own, and fails if it hangs.
fn watched<T: Send + 'static>(test: impl FnOnce() -> T + Send + 'static) -> T {
    let (done, result) = crossbeam_channel::bounded(1);
    std::thread::spawn(move || {
        let _ = done.send(test());
    });
    result.recv_timeout(Duration::from_secs(60)).expect("no panic, and no read that hangs")
}

/// Bytes that are different everywhere.
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

/// Opens an object with a connection of its own.
fn open(address: &str, options: RemoteOptions) -> RemoteObject {
    let remote = Remote::new(&options).unwrap();
    let meta = remote.head(address).unwrap();
    remote.object(meta)
}

/// A text that lives as long as the script of a server.
fn leaked(text: String) -> &'static [u8] {
    text.into_bytes().leak()
}

/// The addresses of an object as one of S3 and as one on the web.
fn both(server: &StoreServer, key: &str) -> [String; 2] {
    [server.s3(key), server.web(key)]
}
