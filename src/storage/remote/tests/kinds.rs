//! Tests of each kind of failure, which is known from the types of errors and from the status of an answer: the
//! `io::ErrorKind`, on which callers match, and whether the request is made again.

use super::*;
use gpufeed_testing::store_server::AUTHORITY;
use io::ErrorKind as Kind;

/// Reads an object from a server with a fault. Returns the kind of the error, and how often the request was made again.
fn of_reading(address: &str, server: &StoreServer, fault: Fault) -> (Kind, u64) {
    server.heal();
    let object = open(address, options(server).retries(1));
    let before = object.remote().stats().retries;
    server.script(move |_| fault);
    let error = object.read_exact(&mut [0; 10], 5).unwrap_err();
    (error.kind(), object.remote().stats().retries - before)
}

#[test]
fn an_answer_has_the_kind_of_its_status() {
    watched(|| {
        let server = StoreServer::start();
        server.put("bucket/a", content(100, 1));
        for (fault, kind, retries) in [
            (Fault::Status(401), Kind::PermissionDenied, 0),
            (Fault::Status(403), Kind::PermissionDenied, 0),
            (Fault::Code(400, "ExpiredToken"), Kind::PermissionDenied, 0),
            (Fault::Code(400, "RequestTimeout"), Kind::TimedOut, 1),
            (Fault::Status(400), Kind::InvalidInput, 0),
            (Fault::Code(301, "PermanentRedirect"), Kind::InvalidInput, 0),
            (Fault::Status(404), Kind::NotFound, 0),
            (Fault::Code(404, "NoSuchBucket"), Kind::NotFound, 0),
            (Fault::Status(412), Kind::InvalidData, 0),
            (Fault::Status(416), Kind::InvalidData, 0),
            (Fault::Status(501), Kind::Other, 0),
            (Fault::Status(409), Kind::Other, 0),
            (Fault::Status(408), Kind::Other, 1),
            (Fault::Status(429), Kind::Other, 1),
            (Fault::Status(503), Kind::Other, 1),
        ] {
            for address in both(&server, "bucket/a") {
                assert_eq!(of_reading(&address, &server, fault), (kind, retries), "{fault:?}: {address}");
            }
        }
    });
}

#[test]
fn an_answer_that_is_no_part_of_the_object_has_a_kind() {
    watched(|| {
        let server = StoreServer::start();
        server.put("bucket/a", content(100, 1));
        let unmeasured = "HTTP/1.1 206 Partial Content\r\nETag: \"v0\"\r\nContent-Range: bytes 0-99/100\r\n\r\n";
        for (fault, kind, retries) in [
            (Fault::IgnoreRange, Kind::Unsupported, 0),
            (Fault::Raw(unmeasured.as_bytes()), Kind::Unsupported, 0),
            (Fault::OtherEtag, Kind::InvalidData, 0),
            (Fault::Header("Last-Modified", "soon"), Kind::InvalidData, 0),
            (Fault::Header("Content-Encoding", "gzip"), Kind::InvalidData, 0),
            (Fault::Header("Content-Range", "bytes 5-"), Kind::InvalidData, 1),
            (Fault::ShortRange(1), Kind::InvalidData, 1),
            (Fault::Stall(0), Kind::TimedOut, 1),
            (Fault::Delay(4 * PATIENCE), Kind::TimedOut, 1),
            (Fault::Close, Kind::ConnectionReset, 1),
        ] {
            for address in both(&server, "bucket/a") {
                assert_eq!(of_reading(&address, &server, fault), (kind, retries), "{fault:?}: {address}");
            }
        }
    });
}

/// Asks for the size and ETag of an object (`HEAD`). Returns the kind of the error, and how often the request was made
/// again.
fn of_asking(address: &str, options: RemoteOptions) -> (Kind, u64) {
    let remote = Remote::new(&options.retries(1)).unwrap();
    let error = remote.head(address).unwrap_err();
    let crate::ErrorKind::Io { source, .. } = error.kind() else { panic!("{error}") };
    (source.kind(), remote.stats().retries)
}

#[test]
fn a_server_that_is_not_reached_has_a_kind() {
    watched(|| {
        let (plain, tls) = (StoreServer::start(), StoreServer::start_tls());
        tls.put("bucket/a", content(100, 1));
        let patient = || options(&tls).timeout(Duration::from_secs(5));
        assert_eq!(of_asking(&tls.web("bucket/a"), patient()), (Kind::PermissionDenied, 0), "untrusted");
        assert_eq!(of_asking(&tls.s3("bucket/a"), patient()), (Kind::PermissionDenied, 0), "untrusted");
        // With its certificate trusted, the same server answers that it does not have the object.
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), AUTHORITY).unwrap();
        let trusted = patient().certificates(file.path());
        assert_eq!(of_asking(&tls.web("bucket/none"), trusted), (Kind::NotFound, 0));

        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let not_encrypted = format!("https://{}/a", listener.local_addr().unwrap());
        std::thread::spawn(move || {
            for stream in listener.incoming().take(2) {
                let _ = std::io::Write::write_all(&mut stream.unwrap(), b"HTTP/1.1 400 Bad Request\r\n\r\n");
            }
        });
        assert_eq!(of_asking(&not_encrypted, patient()), (Kind::InvalidInput, 0), "no TLS");
        assert_eq!(of_asking("https://nowhere.invalid/a", patient()), (Kind::HostUnreachable, 1), "no such name");
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        assert_eq!(of_asking(&format!("http://127.0.0.1:{port}/a"), patient()), (Kind::ConnectionRefused, 1));
        let forbidden = options(&plain).store("AWS_ALLOW_HTTP", "false");
        assert_eq!(of_asking(&plain.s3("bucket/a"), forbidden), (Kind::InvalidInput, 0), "http:// is not allowed");
        assert_eq!(plain.requests(), 0, "nothing went out without encryption");
    });
}

#[test]
fn a_key_that_is_none_in_a_listing_has_a_kind() {
    watched(|| {
        let server = StoreServer::start();
        for key in ["f//a.tar", "f/../a.tar"] {
            let body = format!(
                "<ListBucketResult><Contents><Key>{key}</Key><LastModified>2026-11-24T00:00:00.000Z</LastModified>\
                 <Size>1</Size></Contents></ListBucketResult>"
            );
            let head = format!("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {}\r\n\r\n", body.len());
            let fault = Fault::Raw(leaked(head + &body));
            server.script(move |_| fault);
            let remote = Remote::new(&options(&server)).unwrap();
            let error = remote.list("s3://bucket/f").unwrap_err();
            let crate::ErrorKind::Io { source, .. } = error.kind() else { panic!("{error}") };
            assert_eq!((source.kind(), remote.stats().retries), (Kind::InvalidInput, 0), "{error}");
            assert!(error.to_string().contains("brace list"), "{error}");
        }
    });
}
