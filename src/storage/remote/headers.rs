//! Checks the headers of HTTP answers that describe an object or have its bytes. Errors name the header.

use super::failure::{RequestFailure, Retry};
use crate::quote::Shown;
use chrono::DateTime;
use object_store::client::{HttpRequest, HttpResponse};
use std::io;
use std::ops::Range;

/// The headers of an answer that are read, by this library or by `object_store`.
const READ: [&str; 5] = ["content-encoding", "content-length", "content-range", "etag", "last-modified"];
/// The words in the header `Content-Encoding` that say that the bytes are compressed. Other words, such as Amazon's
/// `aws-chunked`, change no byte.
const COMPRESSED: [&str; 7] = ["br", "compress", "deflate", "gzip", "x-compress", "x-gzip", "zstd"];

/// Returns the range of bytes that a request asks for; `None` if it does not ask for a range with two ends.
pub(super) fn range_of(request: &HttpRequest) -> Option<Range<u64>> {
    let (first, last) = request.headers().get("range")?.to_str().ok()?.strip_prefix("bytes=")?.split_once('-')?;
    let [first, last]: [u64; 2] = [first.parse().ok()?, last.parse().ok()?];
    Some(first..last.checked_add(1)?)
}

/// Checks the headers of an answer that describes an object or has its bytes. `range` is the range of bytes that the
/// request asked for, if any. Removes headers that are not ASCII and that nobody reads: the library `object_store`
/// would refuse them.
///
/// # Errors
/// An error that names the header, or says which bytes came instead of the range.
pub(super) fn check(answer: &mut HttpResponse, range: Option<Range<u64>>) -> Result<(), RequestFailure> {
    let foreign = answer.headers().iter().filter(|(_, value)| value.to_str().is_err());
    let foreign: Vec<_> = foreign.map(|(name, _)| name.clone()).collect();
    for name in foreign {
        if let Some(name) = READ.iter().find(|read| **read == name.as_str()) {
            let reason = format!("the server's header {} has characters that are not ASCII", written(name));
            return Err(RequestFailure::new(io::ErrorKind::InvalidData, Retry::Never, reason));
        }
        answer.headers_mut().remove(name);
    }
    let value = |name: &str| answer.headers().get(name).and_then(|value| value.to_str().ok());
    let encodings = value("content-encoding").unwrap_or_default();
    if let Some(found) = encodings.split(',').map(str::trim).find(|word| is_compressed(word)) {
        let reason = format!(
            "the server or a proxy before it sends the file compressed (Content-Encoding: {found}), and other bytes than the file's cannot be read; end that for these files, or take the header off the object"
        );
        return Err(RequestFailure::new(io::ErrorKind::InvalidData, Retry::Never, reason));
    }
    if range.is_some() && answer.status().as_u16() != 206 {
        return Err(RequestFailure::ignores_ranges());
    }
    if value("content-length").is_none() {
        let reason = "the server does not say how many bytes the object has (Content-Length)";
        return Err(RequestFailure::new(io::ErrorKind::Unsupported, Retry::Never, reason));
    }
    if let Some(date) = value("last-modified").filter(|date| DateTime::parse_from_rfc2822(date).is_err()) {
        let reason = format!("the server's header Last-Modified is no date ({})", Shown(date));
        return Err(RequestFailure::new(io::ErrorKind::InvalidData, Retry::Never, reason));
    }
    let Some(asked) = range else { return Ok(()) };
    let Some(header) = value("content-range") else { return Ok(()) };
    let Some((found, size)) = parsed(header) else {
        let reason = format!("the server's header Content-Range is no range of an object's bytes ({})", Shown(header));
        // Tries again a few times, because a proxy may have cut the header short.
        return Err(RequestFailure::new(io::ErrorKind::InvalidData, Retry::Few, reason));
    };
    if found != (asked.start..asked.end.min(size)) {
        let reason = format!("other bytes came instead ({found:?} for {asked:?} of {size})");
        return Err(RequestFailure::new(io::ErrorKind::InvalidData, Retry::Yes, reason));
    }
    Ok(())
}

fn is_compressed(word: &str) -> bool {
    COMPRESSED.iter().any(|known| word.eq_ignore_ascii_case(known))
}

/// Parses the value of `Content-Range`, such as `bytes 0-99/1000`. Returns the range of bytes and the size of the
/// object; `None` if the value has another form or the range ends beyond the size.
fn parsed(value: &str) -> Option<(Range<u64>, u64)> {
    let (range, size) = value.trim().strip_prefix("bytes ")?.split_once('/')?;
    let (first, last) = range.split_once('-')?;
    let [first, last, size]: [u64; 3] = [first.parse().ok()?, last.parse().ok()?, size.parse().ok()?];
    (first <= last && last < size).then(|| (first..last + 1, size))
}

/// Returns the name of a header with its usual capital letters.
fn written(name: &str) -> String {
    match name {
        "etag" => "ETag".to_owned(),
        _ => name.split('-').map(|word| word[..1].to_ascii_uppercase() + &word[1..]).collect::<Vec<_>>().join("-"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_has_two_ends_and_a_size_beyond_them() {
        for range in ["bytes 0-0/1", " bytes 5-9/10", "bytes 0-18446744073709551614/18446744073709551615"] {
            assert!(parsed(range).is_some(), "{range}");
        }
        for none in [
            "bytes 0-18446744073709551615/18446744073709551615",
            "bytes 0-9/*",
            "bytes */10",
            "bytes 9-0/10",
            "bytes 0-10/10",
            "bytes 0-/10",
            "bytes=0-9/10",
            "items 0-9/10",
            "",
        ] {
            assert!(parsed(none).is_none(), "{none}");
        }
        assert_eq!(READ.map(written), ["Content-Encoding", "Content-Length", "Content-Range", "ETag", "Last-Modified"]);
    }
}
