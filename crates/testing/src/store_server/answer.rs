//! The answers of the server: right ones, or those of its script.

use super::{Object, PAGE, Request, State};
use std::fmt::Write as _;
use std::io::Write;
use std::ops::Range;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// A fault of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Nothing.
    None,
    /// This status instead of the answer, with the code that S3 has for it.
    Status(u16),
    /// This status and this code instead of the answer.
    Code(u16, &'static str),
    /// The answer comes later.
    Delay(Duration),
    /// The connection ends after so many bytes of the body.
    Cut(u64),
    /// After so many bytes of the body nothing comes for an hour, and the connection stays.
    Stall(u64),
    /// The connection ends before any answer.
    Close,
    /// The range ends so many bytes too early, and the headers say so.
    ShortRange(u64),
    /// The range ends so many bytes too late, and the headers say so.
    LongRange(u64),
    /// The body ends so many bytes too early, and only its length says so.
    ShortBody(u64),
    /// The body has so many bytes too many, and only its length says so.
    LongBody(u64),
    /// The whole object comes with status 200, as from a proxy that ignores `Range`.
    IgnoreRange,
    /// The answer bears another ETag, and `If-Match` is not looked at.
    OtherEtag,
    /// The answer has no ETag, and `If-Match` is not looked at.
    NoEtag,
    /// The answer has neither ETag nor time.
    Nameless,
    /// The answer has this header, in place of its own of that name.
    Header(&'static str, &'static str),
    /// These bytes come instead of the answer, and then the connection ends.
    Raw(&'static [u8]),
    /// These bytes come instead of the answer, so many at once and the others one by one, with a pause before each. Then the
    /// connection ends.
    RawSlowly(&'static [u8], u64, Duration),
    /// These bytes come instead of the answer, and then others for as long as somebody reads them.
    Endless(&'static [u8]),
    /// The answer, its head too, comes byte by byte, with a pause before each.
    TrickleAll(Duration),
    /// After so many bytes of the body, it comes byte by byte, with a pause before each.
    Trickle(u64, Duration),
}

/// The bytes that are repeated in an answer that does not end.
static FILLING: [u8; 64 << 10] = [b'x'; 64 << 10];

/// An answer: its head, then its body.
pub(super) struct Answer {
    head: String,
    body: Vec<u8>,
    fault: Fault,
}

impl Answer {
    pub(super) fn of(request: &Request, body: Vec<u8>, fault: Fault, state: &State) -> Answer {
        let mut answer = Answer::with_body(request, body, fault, state);
        if let Fault::Header(name, value) = fault {
            answer.replace_header(name, value);
        }
        if request.method == "HEAD" {
            answer.body.clear();
        }
        answer
    }

    fn with_body(request: &Request, body: Vec<u8>, fault: Fault, state: &State) -> Answer {
        match fault {
            Fault::Status(status) => return Answer::status(status, fault),
            Fault::Code(status, code) => return Answer::code(status, code, fault),
            _ => {}
        }
        match request.method.as_str() {
            "PUT" => {
                state.put(&request.key, body);
                let object = state.objects.lock().unwrap()[&request.key].clone();
                Answer::ok(format!("ETag: {}\r\n", object.etag()), Vec::new(), fault)
            }
            "GET" if request.query.contains_key("list-type") => {
                let xml = list(request, state).into_bytes();
                Answer::ok("Content-Type: application/xml\r\n".to_owned(), xml, fault)
            }
            "GET" | "HEAD" => match state.objects.lock().unwrap().get(&request.key) {
                Some(object) => Answer::object(request, object, fault),
                None => Answer::status(404, fault),
            },
            _ => Answer::status(405, fault),
        }
    }

    fn replace_header(&mut self, name: &str, value: &str) {
        let other = |line: &&str| !line.split(':').next().is_some_and(|found| found.eq_ignore_ascii_case(name));
        let kept: Vec<_> = self.head.trim_end().split("\r\n").filter(other).collect();
        self.head = format!("{}\r\n{name}: {value}\r\n\r\n", kept.join("\r\n"));
    }

    fn status(status: u16, fault: Fault) -> Answer {
        let code = match status {
            403 => "AccessDenied",
            404 => "NoSuchKey",
            412 => "PreconditionFailed",
            416 => "InvalidRange",
            429 | 503 => "SlowDown",
            _ => "InternalError",
        };
        Answer::code(status, code, fault)
    }

    fn code(status: u16, code: &str, fault: Fault) -> Answer {
        let body = format!("<?xml version=\"1.0\"?><Error><Code>{code}</Code></Error>").into_bytes();
        Answer { head: format!("HTTP/1.1 {status} {code}\r\nContent-Length: {}\r\n\r\n", body.len()), body, fault }
    }

    fn ok(headers: String, body: Vec<u8>, fault: Fault) -> Answer {
        Answer { head: format!("HTTP/1.1 200 OK\r\n{headers}Content-Length: {}\r\n\r\n", body.len()), body, fault }
    }

    fn object(request: &Request, object: &Object, fault: Fault) -> Answer {
        let size = object.bytes.len() as u64;
        let looks = !matches!(fault, Fault::OtherEtag | Fault::NoEtag | Fault::Nameless);
        if looks && request.headers.get("if-match").is_some_and(|etag| *etag != object.etag()) {
            return Answer::status(412, fault);
        }
        let mut headers = "Accept-Ranges: bytes\r\n".to_owned();
        match fault {
            Fault::OtherEtag => headers += "ETag: \"other\"\r\n",
            Fault::NoEtag | Fault::Nameless => {}
            _ => _ = write!(headers, "ETag: {}\r\n", object.etag()),
        }
        if fault != Fault::Nameless {
            _ = write!(headers, "Last-Modified: {}\r\n", object.modified());
        }
        let range = request.range.clone().filter(|_| fault != Fault::IgnoreRange);
        let Some(Range { start, end }) = range else {
            return Answer::ok(headers, object.bytes.to_vec(), fault);
        };
        if start >= size {
            return Answer::status(416, fault);
        }
        let end = match fault {
            Fault::ShortRange(less) => end.saturating_sub(less).max(start + 1),
            Fault::LongRange(more) => end + more,
            _ => end,
        };
        let end = end.min(size);
        let mut body = object.bytes[start as usize..end as usize].to_vec();
        match fault {
            Fault::ShortBody(less) => body.truncate(body.len().saturating_sub(less as usize)),
            Fault::LongBody(more) => body.extend(std::iter::repeat_n(0, more as usize)),
            _ => {}
        }
        _ = write!(headers, "Content-Range: bytes {start}-{}/{size}\r\n", end - 1);
        let head = format!("HTTP/1.1 206 Partial Content\r\n{headers}Content-Length: {}\r\n\r\n", body.len());
        Answer { head, body, fault }
    }

    /// Sends the answer; `false` if the connection ends with it.
    pub(super) fn send(self, stream: &mut impl Write, state: &State) -> bool {
        let until = match self.fault {
            Fault::Close => return false,
            Fault::Raw(bytes) => {
                _ = stream.write_all(bytes).and_then(|()| stream.flush());
                return false;
            }
            Fault::Endless(head) => {
                let mut sent = stream.write_all(head);
                while sent.is_ok() && !state.stop.load(Ordering::Relaxed) {
                    sent = stream.write_all(&FILLING);
                    state.sent.fetch_add(FILLING.len() as u64, Ordering::Relaxed);
                }
                return false;
            }
            Fault::RawSlowly(bytes, at_once, pause) => {
                trickle(stream, state, bytes, &[], at_once as usize, pause);
                return false;
            }
            Fault::TrickleAll(pause) => return trickle(stream, state, self.head.as_bytes(), &self.body, 0, pause),
            Fault::Trickle(bytes, pause) => {
                let at_once = self.head.len() + bytes as usize;
                return trickle(stream, state, self.head.as_bytes(), &self.body, at_once, pause);
            }
            Fault::Delay(time) => {
                if !state.sleep(time) {
                    return false;
                }
                None
            }
            Fault::Cut(bytes) | Fault::Stall(bytes) => Some((bytes as usize).min(self.body.len())),
            _ => None,
        };
        let body = &self.body[..until.unwrap_or(self.body.len())];
        // Before the client can have it.
        state.sent.fetch_add(body.len() as u64, Ordering::Relaxed);
        if stream.write_all(self.head.as_bytes()).is_err() || stream.write_all(body).is_err() || stream.flush().is_err()
        {
            return false;
        }
        if matches!(self.fault, Fault::Stall(_)) {
            state.sleep(Duration::from_secs(3600));
        }
        until.is_none()
    }
}

/// Sends so many bytes at once, then one after each pause; `false` if the connection ends with it.
fn trickle(stream: &mut impl Write, state: &State, head: &[u8], body: &[u8], at_once: usize, pause: Duration) -> bool {
    let all = [head, body].concat();
    let (first, rest) = all.split_at(at_once.min(all.len()));
    if stream.write_all(first).is_err() || stream.flush().is_err() {
        return false;
    }
    rest.iter().all(|byte| {
        state.sent.fetch_add(1, Ordering::Relaxed);
        state.sleep(pause) && stream.write_all(&[*byte]).is_ok() && stream.flush().is_ok()
    })
}

/// A page of S3's ListObjectsV2.
fn list(request: &Request, state: &State) -> String {
    let text = |name: &str| request.query.get(name).cloned().unwrap_or_default();
    let (bucket, after) = (request.key.trim_end_matches('/'), text("continuation-token"));
    let prefix = format!("{bucket}/{}", text("prefix"));
    let objects = state.objects.lock().unwrap();
    let mut found = objects.iter().filter(|(key, _)| key.starts_with(&prefix) && **key > after);
    let page: Vec<_> = found.by_ref().take(PAGE).collect();
    let more = found.next().is_some();
    let mut xml =
        format!("<?xml version=\"1.0\"?><ListBucketResult><Name>{bucket}</Name><IsTruncated>{more}</IsTruncated>");
    if let (true, Some((last, _))) = (more, page.last()) {
        _ = write!(xml, "<NextContinuationToken>{last}</NextContinuationToken>");
    }
    for (key, object) in page {
        let key = &key[bucket.len() + 1..];
        let (hour, minute) = (object.version / 60 % 24, object.version % 60);
        _ = write!(
            xml,
            "<Contents><Key>{key}</Key><LastModified>2026-11-24T{hour:02}:{minute:02}:00.000Z</LastModified><ETag>{}</ETag><Size>{}</Size></Contents>",
            object.etag().replace('"', "&quot;"),
            object.bytes.len()
        );
    }
    xml + "</ListBucketResult>"
}
