//! Tests of servers whose answers have no end, or claim any length. None of them makes the client take memory without a
//! bound.

use super::*;

const CLAIM: &str = "Content-Length: 1099511627776\r\n\r\n";
/// The most bytes that a server may send in one of these tests. Most of these bytes only fill the buffers of sockets.
const MOST_SENT: u64 = 64 << 20;

/// Returns two answers with this status whose bodies never end: one claims a length of 1 TiB, and one states no length.
fn endless(status: &str) -> [Fault; 2] {
    let head = format!("HTTP/1.1 {status}\r\n");
    [Fault::Endless(leaked(format!("{head}{CLAIM}"))), Fault::Endless(leaked(format!("{head}\r\n")))]
}

#[test]
fn an_error_body_without_end_takes_64_kib_whatever_length_it_claims() {
    watched(|| {
        let server = StoreServer::start();
        server.put("bucket/a", content(100, 1));
        for address in both(&server, "bucket/a") {
            for fault in endless("404 Not Found") {
                server.heal();
                // Restores the object, because the server has stored what an earlier `put` of this test sent.
                server.put("bucket/a", content(100, 1));
                let object = open(&address, options(&server));
                server.script(move |request| if request.method == "HEAD" { Fault::Status(404) } else { fault });
                let (remote, before) = (object.remote(), server.sent());
                assert!(remote.get_small(&address, 1 << 20).unwrap().is_none());
                let error = object.read_exact(&mut [0; 10], 5).unwrap_err().to_string();
                assert!(error.contains("there is no such object"), "{error}");
                let error = remote.head(&address).unwrap_err().to_string();
                assert!(error.contains("there is no such object"), "{error}");
                if address.starts_with("s3") {
                    let error = remote.list("s3://bucket/f").unwrap_err().to_string();
                    assert!(error.contains("no such"), "{error}");
                }
                remote.put(&address, vec![1]).unwrap_err();
                assert!(server.sent() - before < MOST_SENT, "{} bytes were sent", server.sent() - before);
            }
            for fault in endless("503 Slow") {
                server.heal();
                // Restores the object, because the server has stored what an earlier `put` of this test sent.
                server.put("bucket/a", content(100, 1));
                let object = open(&address, options(&server).retries(1));
                let before = server.sent();
                server.script(move |_| fault);
                let error = object.read_exact(&mut [0; 10], 5).unwrap_err().to_string();
                assert!(error.contains("503") && error.len() < 1000, "{error}");
                assert!(server.sent() - before < MOST_SENT, "{} bytes were sent", server.sent() - before);
            }
        }
    });
}

#[test]
fn an_object_that_claims_more_bytes_than_memory_is_an_error_and_no_allocation() {
    watched(|| {
        let server = StoreServer::start();
        let head =
            format!("HTTP/1.1 200 OK\r\nETag: \"a\"\r\nLast-Modified: Tue, 24 Nov 2026 00:00:00 GMT\r\n{CLAIM}short");
        let fault = Fault::Raw(leaked(head));
        server.script(move |_| fault);
        let remote = Remote::new(&options(&server).retries(1)).unwrap();
        for address in both(&server, "bucket/a") {
            let error = remote.get_small(&address, 2 << 40).unwrap_err().to_string();
            assert!(error.contains("the connection ended"), "{error}");
            let error = remote.get_small(&address, 1 << 20).unwrap_err().to_string();
            assert!(error.contains("more than the 1048576 bytes"), "{error}");
        }
    });
}

#[test]
fn a_page_of_a_listing_without_end_is_an_error() {
    watched(|| {
        for fault in endless("200 OK\r\nContent-Type: application/xml") {
            let server = StoreServer::start();
            server.script(move |_| fault);
            let remote = Remote::new(&options(&server).timeout(Duration::from_secs(20))).unwrap();
            let error = remote.list("s3://bucket/f").unwrap_err().to_string();
            assert!(error.contains("is longer than 64 MiB"), "{error}");
            assert_eq!(remote.stats().retries, 0);
            assert!(server.sent() < 96 << 20, "{} bytes were sent", server.sent());
        }
    });
}

fn page(token: &str, rest: &str) -> Fault {
    let body = format!(
        "<?xml version=\"1.0\"?><ListBucketResult><Name>bucket</Name><IsTruncated>true</IsTruncated>\
         <NextContinuationToken>{token}</NextContinuationToken>{rest}</ListBucketResult>"
    );
    Fault::Raw(leaked(format!("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}", body.len())))
}

#[test]
fn a_listing_that_comes_to_the_same_page_again_ends() {
    const KEY: &str = "<Contents><Key>f/a.tar</Key><LastModified>2026-11-24T00:00:00.000Z</LastModified><ETag>\"a\"</ETag><Size>1</Size></Contents>";
    watched(|| {
        for key in [KEY, ""] {
            let server = StoreServer::start();
            let fault = page("again", key);
            server.script(move |_| fault);
            let remote = Remote::new(&options(&server).timeout(Duration::from_secs(20))).unwrap();
            let error = remote.list("s3://bucket/f").unwrap_err().to_string();
            assert!(error.contains("the same page again") && error.contains("brace list"), "{error}");
            assert!(server.requests() < 4, "{}", server.requests());
        }
    });
}

#[test]
fn keys_and_tokens_that_fit_no_request_are_an_error() {
    let key = format!(
        "<Contents><Key>f/{}</Key><LastModified>2026-11-24T00:00:00.000Z</LastModified><Size>1</Size></Contents>",
        "k".repeat(9000)
    );
    watched(move || {
        for (fault, says) in [
            (page("next", &key), "a key has 9002 bytes, above 8192 (f/kkk"),
            (page(&"t".repeat(9000), ""), "the token of the next page has 9000 bytes"),
        ] {
            let server = StoreServer::start();
            server.script(move |_| fault);
            let remote = Remote::new(&options(&server)).unwrap();
            let error = remote.list("s3://bucket/f").unwrap_err().to_string();
            assert!(error.contains(says) && error.contains("brace list") && error.len() < 500, "{error}");
            assert_eq!(server.requests(), 1);
            let address = format!("s3://bucket/{}", "k".repeat(9000));
            let error = remote.head(&address).unwrap_err().to_string();
            assert!(error.contains("the key has 9000 bytes") && error.len() < 500, "{error}");
        }
    });
}

#[test]
fn a_listing_of_empty_pages_without_end_ends() {
    watched(|| {
        let server = StoreServer::start();
        server.script(move |request| page(&request.number.to_string(), ""));
        let remote = Remote::new(&options(&server).timeout(Duration::from_secs(20))).unwrap();
        let error = remote.list("s3://bucket/f").unwrap_err().to_string();
        assert!(error.contains("pages without an object"), "{error}");
        assert!(server.requests() < 2000, "{}", server.requests());
    });
}

#[test]
fn xml_that_grows_when_it_is_read_is_an_error() {
    let entities: String = (1..30).map(|n| format!("<!ENTITY e{n} \"&e{};&e{};\">", n - 1, n - 1)).collect();
    let bomb = format!("<!DOCTYPE a [<!ENTITY e0 \"xxxxxxxxxx\">{entities}]>");
    let nested = format!("{}{}", "<a>".repeat(1_000_000), "</a>".repeat(1_000_000));
    watched(move || {
        for (head, inner) in [(&*bomb, "<Contents><Key>&e29;</Key></Contents>"), ("", &*nested)] {
            let server = StoreServer::start();
            let body = format!("{head}<ListBucketResult>{inner}</ListBucketResult>");
            let fault = Fault::Raw(leaked(format!(
                "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
                body.len()
            )));
            server.script(move |_| fault);
            let remote = Remote::new(&options(&server).timeout(Duration::from_secs(20)).retries(0)).unwrap();
            // Unknown elements are skipped, so the nested elements may give an empty listing. The body with entities
            // has to give an error.
            match remote.list("s3://bucket/f") {
                Ok(found) => assert!(head.is_empty() && found.is_empty()),
                Err(error) => assert!(error.to_string().len() < 1000, "{error}"),
            }
        }
    });
}

#[test]
fn an_object_of_a_size_that_is_claimed_takes_no_table_in_the_cache_on_disk() {
    watched(|| {
        let server = StoreServer::start();
        server.put("bucket/a", content(100, 1));
        let claim = (200_u64 << 40).to_string();
        let claim: &'static str = claim.leak();
        let folder = tempfile::tempdir().unwrap();
        server.script(move |request| match request.method.as_str() {
            "HEAD" => Fault::Header("Content-Length", claim),
            _ => Fault::Header("Content-Range", "bytes 0-99/219902325555200"),
        });
        let object = open(&server.web("bucket/a"), options(&server).retries(0).cache(folder.path(), 1 << 30));
        assert_eq!(object.len(), 200 << 40);
        object.read_exact(&mut [0; 10], 100 << 40).unwrap_err();
        assert!(object.source.cached.get().is_none());
    });
}

#[test]
fn a_web_server_whose_head_says_no_length_is_asked_for_a_byte() {
    watched(|| {
        let server = StoreServer::start();
        server.put("bucket/a", content(100, 1));
        server.script(|request| match request.method.as_str() {
            "HEAD" => Fault::Raw(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"),
            _ => Fault::None,
        });
        let object = open(&server.web("bucket/a"), options(&server).retries(0));
        assert_eq!(object.len(), 100);
    });
}
