//! Reading a request.

use std::collections::BTreeMap;
use std::io::{ErrorKind, Read};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

/// A request, as a script sees it.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// How many came before it.
    pub number: usize,
    /// `GET`, `HEAD` or `PUT`.
    pub method: String,
    /// The path without its first slash: `bucket/folder/name`.
    pub key: String,
    /// The parameters after the question mark.
    pub query: BTreeMap<String, String>,
    /// The headers, by names in small letters.
    pub headers: BTreeMap<String, String>,
    /// The bytes asked for, if not all; the end may be beyond the object's.
    pub range: Option<Range<u64>>,
}

impl Request {
    /// Returns true for a request of an object's bytes.
    pub fn reads(&self) -> bool {
        self.method == "GET" && !self.query.contains_key("list-type")
    }

    fn parse(head: &str) -> Option<Request> {
        let mut lines = head.split("\r\n");
        let mut first = lines.next()?.split(' ');
        let (method, target) = (first.next()?, first.next()?);
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let mut request =
            Request { method: method.to_owned(), key: decoded(path.trim_start_matches('/')), ..Request::default() };
        for parameter in query.split('&').filter(|parameter| !parameter.is_empty()) {
            let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
            request.query.insert(decoded(name), decoded(value));
        }
        for line in lines.filter(|line| !line.is_empty()) {
            let (name, value) = line.split_once(':')?;
            request.headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
        }
        let range = request.headers.get("range").and_then(|range| range.strip_prefix("bytes=")?.split_once('-'));
        request.range = range.and_then(|(first, last)| Some(first.parse().ok()?..last.parse::<u64>().ok()? + 1));
        Some(request)
    }
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let hex = after.get(..2).filter(|_| *first == b'%').and_then(|hex| std::str::from_utf8(hex).ok());
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => (bytes.push(byte), rest = &after[2..]),
            None => (bytes.push(*first), rest = after),
        };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Reads a request and its body; `None` if the connection or the server ends.
pub(super) fn read(stream: &mut impl Read, unread: &mut Vec<u8>, stop: &AtomicBool) -> Option<(Request, Vec<u8>)> {
    let end = loop {
        if let Some(at) = unread.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
            break at;
        }
        more(stream, unread, stop)?;
    };
    let request = Request::parse(std::str::from_utf8(&unread[..end]).ok()?)?;
    let length: usize = request.headers.get("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    while unread.len() < end + 4 + length {
        more(stream, unread, stop)?;
    }
    let body = unread[end + 4..end + 4 + length].to_vec();
    unread.drain(..end + 4 + length);
    Some((request, body))
}

fn more(stream: &mut impl Read, unread: &mut Vec<u8>, stop: &AtomicBool) -> Option<()> {
    let mut buffer = [0; 64 << 10];
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => return None,
            Ok(read) => {
                unread.extend_from_slice(&buffer[..read]);
                return Some(());
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                if stop.load(Ordering::Relaxed) {
                    return None;
                }
            }
            Err(_) => return None,
        }
    }
}
