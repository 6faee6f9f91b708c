//! Tests of servers that fail, send wrong answers, or have replaced an object: each read returns the right bytes or an
//! error.

use super::*;

type Script = Box<dyn Fn(&Request) -> Fault + Send + Sync>;

/// Returns a function that makes a script for the test server: it answers every request with this fault.
fn always(fault: Fault) -> impl Fn() -> Script + Send + 'static {
    move || Box::new(move |_| fault)
}

/// Returns a function that makes a script for the test server: it answers the first two reads with this fault.
fn twice(fault: Fault) -> impl Fn() -> Script + Send + 'static {
    move || {
        let reads = AtomicU64::new(0);
        let first = move |request: &Request| request.reads() && reads.fetch_add(1, Relaxed) < 2;
        Box::new(move |request| if first(request) { fault } else { Fault::None })
    }
}

/// Reads an object of 9 MiB in pieces from a test server that follows a script, once from S3 and once from the web.
/// Each piece has to be right or an error. Returns, for S3 and for the web, the result of reading and the counters.
fn under(script: impl Fn() -> Script + Send + 'static) -> Vec<(io::Result<()>, RemoteStats)> {
    watched(move || {
        let bytes = content(9 * MIB, 7);
        let server = StoreServer::start();
        server.put("bucket/a/b.bin", bytes.clone());
        let mut results = Vec::new();
        for address in [server.s3("bucket/a/b.bin"), server.web("bucket/a/b.bin")] {
            server.heal();
            let object = open(&address, options(&server));
            server.script(script());
            let mut buffer = vec![0; MIB];
            let mut read = || {
                for (offset, len) in [(5, MIB), (8 * MIB - 1, 100_000), (9 * MIB - 1, 1), (0, 0)] {
                    object.read_exact(&mut buffer[..len], offset as u64)?;
                    assert!(buffer[..len] == bytes[offset..offset + len], "other bytes");
                }
                Ok(())
            };
            results.push((read(), object.remote().stats()));
        }
        results
    })
}

/// Checks that reading fails if the server answers every request with this fault, and that the error has all of
/// `words`.
fn refused(fault: Fault, words: &[&str]) {
    refused_by_each(fault, words, [&[], &[]]);
}

/// Does the same as [`refused`]. The error for S3 also has to have the words `own[0]`, and the error for the web
/// `own[1]`.
fn refused_by_each(fault: Fault, words: &[&str], own: [&[&str]; 2]) {
    for ((result, _), own) in under(always(fault)).into_iter().zip(own) {
        // Wraps the error as a data set does, so that its text has the advice, too.
        let error = Error::io("object", result.unwrap_err()).to_string();
        for word in words.iter().chain(own) {
            assert!(error.contains(word), "{word}: {error}");
        }
        assert!(error.starts_with("object: bytes 0..8388608: "), "{error}");
    }
}

/// Checks that reading succeeds, with retries, if the server answers the first two reads with this fault.
fn overcome(fault: Fault) {
    for (result, stats) in under(twice(fault)) {
        result.unwrap();
        assert!(stats.retries > 0 && stats.requests > stats.retries, "{fault:?}: {stats}");
    }
}

#[test]
fn all_bytes_come_from_a_server_that_behaves() {
    for (result, stats) in under(always(Fault::None)) {
        result.unwrap();
        assert_eq!((stats.retries, stats.blocks, stats.bytes), (0, 2, 9 << 20), "{stats}");
    }
}

#[test]
fn statuses_that_pass_are_asked_again() {
    for status in [429, 500, 503] {
        overcome(Fault::Status(status));
    }
}

#[test]
fn a_cut_body_goes_on_where_it_ended() {
    overcome(Fault::Cut(70_000));
    overcome(Fault::Cut(0));
    overcome(Fault::Close);
}

#[test]
fn a_body_that_stalls_is_asked_again() {
    overcome(Fault::Stall(70_000));
    overcome(Fault::Delay(4 * PATIENCE));
}

#[test]
fn ranges_that_lie_are_asked_again() {
    overcome(Fault::ShortRange(1));
    overcome(Fault::LongRange(1));
    overcome(Fault::ShortBody(1));
    overcome(Fault::LongBody(1));
}

#[test]
fn a_server_that_never_recovers_is_an_error_with_the_number_of_retries() {
    refused(Fault::Status(503), &["503", "4 retries", "raise RemoteOptions::retries", "GPUFEED_REMOTE_RETRIES"]);
    refused(Fault::Stall(0), &["no byte came for 0.3 s", "raise RemoteOptions::timeout", "GPUFEED_REMOTE_TIMEOUT"]);
    refused(Fault::Close, &["connection", "retries"]);
    refused(Fault::ShortRange(1), &["came instead"]);
}

#[test]
fn a_server_that_ignores_ranges_is_an_error() {
    refused(Fault::IgnoreRange, &["ignores byte ranges", "NO_PROXY"]);
}

#[test]
fn refused_credentials_are_an_error_that_names_them() {
    let own: [&[&str]; 2] =
        [&["AWS_ACCESS_KEY_ID", "AWS_PROFILE", "RemoteOptions::store"], &["https://user:password@"]];
    refused_by_each(Fault::Status(403), &["403", "AccessDenied", "expired"], own);
    refused_by_each(Fault::Status(401), &["401"], own);
    for code in ["ExpiredToken", "InvalidToken", "RequestExpired"] {
        refused_by_each(Fault::Code(400, code), &["refuses access", code, "have expired"], own);
    }
}

#[test]
fn another_region_is_an_error_at_once_that_names_the_variable() {
    let own: [&[&str]; 2] = [&["AWS_REGION"], &[]];
    let malformed = "AuthorizationHeaderMalformed";
    refused_by_each(Fault::Code(400, malformed), &["400", malformed], own);
    // For a bucket in another region, Amazon answers with the status 301 and no `Location`.
    refused_by_each(Fault::Code(301, "PermanentRedirect"), &["elsewhere"], own);
    let texts = under(always(Fault::Code(301, "PermanentRedirect")));
    assert!(texts.iter().all(|(_, stats)| stats.retries == 0), "a retry would get the same answer");
}

#[test]
fn credentials_that_expire_while_an_object_is_read_end_it_with_an_error() {
    watched(|| {
        let bytes = content(20 * MIB, 7);
        let server = StoreServer::start();
        server.put("bucket/a", bytes.clone());
        let object = open(&server.s3("bucket/a"), options(&server));
        let mut buffer = vec![0; MIB];
        object.read_exact(&mut buffer, 5).unwrap();
        assert!(buffer == bytes[5..MIB + 5]);
        server.script(|_| Fault::Code(400, "ExpiredToken"));
        object.read_exact(&mut buffer, 6).unwrap();
        let error = object.read_exact(&mut buffer, 9 << 20).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
        let error = error.to_string();
        assert!(error.starts_with("bytes 8388608..") && error.contains("ExpiredToken"), "{error}");
        assert_eq!(object.remote().stats().retries, 0);
        // Once the server accepts the credentials again, reading continues.
        server.heal();
        object.read_exact(&mut buffer, 9 << 20).unwrap();
        assert!(buffer == bytes[9 << 20..10 << 20]);
    });
}

#[test]
fn an_object_that_has_gone_is_an_error_at_once() {
    refused(Fault::Status(404), &["there is no such object"]);
}

#[test]
fn an_object_that_ends_before_the_range_was_replaced() {
    refused(Fault::Status(416), &["replaced", "416"]);
}

#[test]
fn an_object_that_was_replaced_is_an_error_whatever_the_server_says() {
    refused(Fault::Status(412), &["replaced", "ETag", "open the data set again"]);
    refused(Fault::OtherEtag, &["replaced", "ETag"]);
    for fault in [Fault::None, Fault::NoEtag] {
        let (error, object) = watched(move || {
            let server = StoreServer::start();
            server.put("bucket/a", content(1000, 1));
            server.script(move |_| fault);
            let object = open(&server.web("bucket/a"), options(&server));
            // Replaces the object by other bytes of the same length.
            server.put("bucket/a", content(1000, 2));
            (object.read_exact(&mut [0; 10], 20).unwrap_err().to_string(), object)
        });
        assert!(error.contains("replaced") && error.contains("bytes"), "{error}");
        drop(object);
    }
}

#[test]
fn an_answer_without_etag_and_time_is_known_by_its_size() {
    watched(|| {
        let server = StoreServer::start();
        server.put("bucket/a", content(1000, 1));
        server.script(|_| Fault::Nameless);
        let object = open(&server.web("bucket/a"), options(&server));
        assert_eq!((object.meta().etag.as_deref(), object.meta().modified), (None, None));
        let mut byte = [0];
        object.read_exact(&mut byte, 999).unwrap();
        server.put("bucket/a", content(1001, 1));
        let object = open(&server.web("bucket/a"), options(&server));
        server.put("bucket/a", content(1002, 1));
        let error = object.read_exact(&mut byte, 5).unwrap_err().to_string();
        assert!(error.contains("1002 bytes instead of 1001"), "{error}");
    });
}

#[test]
fn a_port_where_nobody_listens_is_an_error_with_retries() {
    watched(|| {
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let remote = Remote::new(&RemoteOptions::new().timeout(PATIENCE).retries(2)).unwrap();
        let error = remote.head(&format!("http://127.0.0.1:{port}/a.tar")).unwrap_err().to_string();
        assert!(error.contains("no connection") && error.contains("2 retries"), "{error}");
        assert_eq!(remote.stats().retries, 2);
    });
}

#[test]
fn many_threads_read_the_same_bytes_under_faults() {
    watched(|| {
        let bytes = Arc::new(content(20 * MIB, 5));
        let server = StoreServer::start();
        server.put("bucket/a", bytes.to_vec());
        let patient = options(&server).timeout(Duration::from_secs(20)).retries(10);
        let object = open(&server.s3("bucket/a"), patient);
        object.remote().set_read_ahead(8 << 20);
        server.script(|request| match request.number % 4 {
            1 => Fault::Cut(3 << 20),
            2 => Fault::Status(503),
            _ => Fault::None,
        });
        let threads: Vec<_> = (0..4usize)
            .map(|thread| {
                let (object, bytes) = (object.clone(), bytes.clone());
                std::thread::spawn(move || {
                    let mut buffer = vec![0; 100_000];
                    for step in 0..12 {
                        let offset = (step * 7 + thread * 3) % 200 * 100_000;
                        object.read_exact(&mut buffer, offset as u64).unwrap();
                        assert!(buffer == bytes[offset..][..100_000], "other bytes");
                    }
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
}
