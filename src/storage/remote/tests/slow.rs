//! Tests of servers that send a byte only now and then, in the headers or in the body of an answer.

use super::*;
use std::time::Instant;

/// Returns options that ask for 1000 bytes a second, averaged over half a second. The server sends 20 bytes a second.
fn slow(server: &StoreServer) -> RemoteOptions {
    options(server).timeout(Duration::from_secs(20)).rate_window(Duration::from_millis(500)).min_rate(1000)
}

const PAUSE: Duration = Duration::from_millis(50);

#[test]
fn headers_that_trickle_are_an_error() {
    watched(|| {
        let server = StoreServer::start();
        server.put("bucket/a", content(100, 1));
        let object = open(&server.web("bucket/a"), options(&server).retries(1));
        server.script(|_| Fault::TrickleAll(Duration::from_millis(50)));
        for error in [
            object.read_exact(&mut [0; 10], 5).unwrap_err().to_string(),
            object.remote().head(&server.web("bucket/a")).unwrap_err().to_string(),
            object.remote().list("s3://bucket/a").unwrap_err().to_string(),
            object.remote().put(&server.s3("bucket/a"), vec![1]).unwrap_err().to_string(),
        ] {
            assert!(error.contains("no answer came for 0.3 s"), "{error}");
        }
    });
}

#[test]
fn a_body_that_trickles_is_an_error_that_names_the_setting() {
    watched(|| {
        let server = StoreServer::start();
        server.put("bucket/a", content(10_000, 1));
        for address in both(&server, "bucket/a") {
            server.heal();
            let object = open(&address, slow(&server));
            server.script(|_| Fault::Trickle(100, PAUSE));
            let clock = Instant::now();
            let error = Error::io("object", object.read_exact(&mut [0; 10], 5).unwrap_err()).to_string();
            assert!(error.starts_with("object: bytes 3") && error.contains("after 2 retries"), "{error}");
            let whole = object.remote().get_small(&address, 1 << 20).unwrap_err().to_string();
            assert!(whole.contains(&address), "{whole}");
            for error in [error, whole] {
                assert!(error.contains("fewer than 1000 a second"), "{error}");
                assert!(error.contains("(GPUFEED_REMOTE_MIN_RATE; 0 takes any rate)"), "{error}");
                assert!(error.contains("; lower RemoteOptions::min_rate"), "{error}");
            }
            assert!(clock.elapsed() < Duration::from_secs(10), "{:?}", clock.elapsed());
        }
    });
}

#[test]
fn a_page_of_a_listing_that_trickles_is_an_error_that_names_the_setting() {
    watched(|| {
        let server = StoreServer::start();
        server.put("bucket/f/a", content(100, 1));
        server.script(|_| Fault::Trickle(100, PAUSE));
        let remote = Remote::new(&slow(&server)).unwrap();
        let error = remote.list("s3://bucket/f").unwrap_err().to_string();
        assert!(error.contains("s3://bucket/f") && error.contains("GPUFEED_REMOTE_MIN_RATE"), "{error}");
    });
}

#[test]
fn an_error_body_that_is_cut_short_leaves_the_status() {
    watched(|| {
        let server = StoreServer::start();
        let body = "x".repeat(10_000);
        let fault = Fault::Raw(leaked(format!("HTTP/1.1 403 Forbidden\r\nContent-Length: 20000\r\n\r\n{body}")));
        for fault in [fault, Fault::Code(403, "AccessDenied")] {
            server.script(move |_| fault);
            let error = Remote::new(&options(&server)).unwrap().list("s3://bucket/f").unwrap_err().to_string();
            assert!(error.contains("status 403") && error.len() < 1000, "{error}");
        }
        // The client does not wait for the rest of an error's body if the rest comes slowly.
        server.script(|_| Fault::Trickle(5, PAUSE));
        let clock = Instant::now();
        let remote = Remote::new(&options(&server)).unwrap();
        for address in both(&server, "bucket/none") {
            assert!(remote.get_small(&address, 100).unwrap().is_none());
        }
        assert!(clock.elapsed() < Duration::from_secs(2), "{:?}", clock.elapsed());
    });
}

#[test]
fn a_slow_server_is_read_where_the_rate_is_enough_or_none_is_set() {
    watched(|| {
        let server = StoreServer::start();
        server.put("bucket/a", content(200, 1));
        for least in [0, 5] {
            server.heal();
            let object = open(&server.web("bucket/a"), slow(&server).min_rate(least).timeout(Duration::from_secs(1)));
            server.script(|_| Fault::Trickle(170, PAUSE));
            let mut buffer = [0; 200];
            object.read_exact(&mut buffer, 0).unwrap();
            assert!(buffer == content(200, 1)[..]);
            assert_eq!(object.remote().stats().retries, 0);
        }
    });
}

#[test]
fn an_upload_whose_answer_does_not_come_ends() {
    watched(|| {
        let server = StoreServer::start();
        server.script(|_| Fault::TrickleAll(Duration::from_millis(50)));
        let remote = Remote::new(&options(&server).retries(0)).unwrap();
        for address in both(&server, "bucket/a") {
            // For each MB of an upload there is a second more than the time limit: for 2.1 MB, two seconds more than
            // 0.3 s.
            let error = remote.put(&address, content(2_100_000, 1)).unwrap_err().to_string();
            assert!(error.contains("no answer came for 2.3 s") && error.contains("GPUFEED_REMOTE_TIMEOUT"), "{error}");
        }
    });
}

/// Makes the server answer an upload in parts as S3 does. The last answer, which completes the upload, comes slowly:
/// byte by byte from its `spaces` spaces on, or from its very beginning if `head_too` is true.
fn parts_that_complete_slowly(server: &StoreServer, spaces: usize, head_too: bool) {
    let answer =
        |body: &str| format!("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    let begun = answer("<InitiateMultipartUploadResult><UploadId>7</UploadId></InitiateMultipartUploadResult>");
    let spaces = " ".repeat(spaces);
    let done = answer(&format!(
        "<?xml version=\"1.0\"?>{spaces}<CompleteMultipartUploadResult><ETag>\"a\"</ETag></CompleteMultipartUploadResult>"
    ));
    let at_once = if head_too { 0 } else { done.find("<Comp").unwrap() - spaces.len() };
    let (begun, done) = (Fault::Raw(leaked(begun)), Fault::RawSlowly(leaked(done), at_once as u64, PAUSE / 5));
    server.script(move |request| match (&*request.method, request.query.contains_key("uploads")) {
        ("POST", true) => begun,
        ("POST", false) => done,
        _ => Fault::None,
    });
}

#[test]
fn a_store_that_makes_an_object_of_parts_has_a_second_for_each_mb() {
    watched(|| {
        let server = StoreServer::start();
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), content((16 << 20) + 1, 1)).unwrap();
        // In the first case a space comes now and then. In the second, the headers take longer than the time limit of
        // other answers.
        for (options, head_too) in [(slow(&server), false), (options(&server), true)] {
            parts_that_complete_slowly(&server, if head_too { 1 } else { 100 }, head_too);
            let remote = Remote::new(&options.retries(0)).unwrap();
            remote.put_file(&server.s3("bucket/a"), file.path()).unwrap();
        }
    });
}

#[test]
fn an_answer_to_a_write_that_does_not_end_is_an_error() {
    watched(|| {
        let server = StoreServer::start();
        let head = "HTTP/1.1 200 OK\r\nETag: \"a\"\r\nContent-Length: 1000\r\n\r\n";
        let fault = Fault::RawSlowly(leaked(format!("{head}{}", " ".repeat(1000))), head.len() as u64, PAUSE);
        server.script(move |_| fault);
        let remote = Remote::new(&options(&server).retries(0)).unwrap();
        for address in both(&server, "bucket/a") {
            let clock = Instant::now();
            let error = remote.put(&address, vec![1]).unwrap_err().to_string();
            assert!(error.contains("no end of the answer came for 0.3 s"), "{error}");
            assert!(error.contains("GPUFEED_REMOTE_TIMEOUT"), "{error}");
            assert!(clock.elapsed() < Duration::from_secs(5), "{:?}", clock.elapsed());
        }
    });
}
