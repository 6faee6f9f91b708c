//! Tests of servers that redirect requests. No credentials go to another server, and not every redirect is followed.

use super::*;
use std::time::Instant;

fn to(address: &str) -> Fault {
    redirect("302 Found", address)
}

fn redirect(status: &str, address: &str) -> Fault {
    Fault::Raw(leaked(format!(
        "HTTP/1.1 {status}\r\nLocation: {address}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
    )))
}

#[test]
fn a_redirect_to_another_server_is_followed_without_credentials() {
    watched(|| {
        let (first, second) = (StoreServer::start(), StoreServer::start());
        for server in [&first, &second] {
            server.put("bucket/a", content(100, 1));
        }
        let fault = to(&second.web("bucket/a"));
        let web = first.web("bucket/a?sig=hushhush").replace("http://", "http://user:hushhush@");
        let keys = [
            ("AWS_ACCESS_KEY_ID", "hushhushkey"),
            ("AWS_SECRET_ACCESS_KEY", "hushhush"),
            ("AWS_SESSION_TOKEN", "hushhush"),
        ];
        let keys = keys.into_iter().fold(options(&first), |options, (name, value)| options.store(name, value));
        for (address, options) in
            [(web, options(&first)), (first.s3("bucket/a"), keys.store("AWS_SKIP_SIGNATURE", "false"))]
        {
            first.script(move |_| fault);
            let object = open(&address, options);
            let mut buffer = [0; 10];
            object.read_exact(&mut buffer, 5).unwrap();
            assert!(buffer == content(100, 1)[5..15]);
            assert!(
                first.log().iter().all(|request| request.headers.contains_key("authorization")),
                "the server itself"
            );
        }
        assert!(second.requests() >= 4);
        for request in second.log() {
            let shown = format!("{request:?}");
            assert!(!shown.contains("hush") && !shown.contains("dXNlcj"), "{shown}");
            let names = ["authorization", "referer", "cookie", "x-amz-security-token", "x-amz-date"];
            assert!(names.iter().all(|name| !request.headers.contains_key(*name)), "{shown}");
        }
        let reads: Vec<_> = second.log().into_iter().filter(Request::reads).collect();
        assert!(reads.iter().all(|request| request.range.is_some() && request.headers.contains_key("if-match")));
    });
}

#[test]
fn a_redirect_within_a_server_keeps_credentials() {
    watched(|| {
        let server = StoreServer::start();
        server.put("bucket/b", content(100, 1));
        let fault = to("/bucket/b");
        server.script(move |request| if request.key == "bucket/a" { fault } else { Fault::None });
        let object = open(&server.web("bucket/a").replace("http://", "http://user:hushhush@"), options(&server));
        object.read_exact(&mut [0; 10], 5).unwrap();
        assert!(server.log().iter().all(|request| request.headers.contains_key("authorization")));
    });
}

#[test]
fn a_redirect_may_have_other_characters_than_ascii() {
    watched(|| {
        let server = StoreServer::start();
        server.put("bucket/ü.tar", content(100, 1));
        let fault = to("/bucket/ü.tar");
        server.script(move |request| if request.key == "bucket/a" { fault } else { Fault::None });
        for address in both(&server, "bucket/a") {
            let mut buffer = [0; 10];
            open(&address, options(&server)).read_exact(&mut buffer, 5).unwrap();
            assert!(buffer == content(100, 1)[5..15]);
        }
    });
}

#[test]
fn a_redirect_to_a_metadata_address_or_another_scheme_is_refused_at_once() {
    watched(|| {
        let server = StoreServer::start();
        server.put("bucket/a", content(100, 1));
        for (target, says) in [
            ("http://169.254.169.254/latest/meta-data/", "169.254.169.254"),
            ("http://2852039166/", "169.254.169.254"),
            ("http://[fd00:ec2::254]/", "fd00:ec2::254"),
            ("http://[::ffff:169.254.169.254]/", "metadata"),
            ("http://metadata.google.internal./computeMetadata/v1/", "metadata.google.internal"),
            ("http://[fe80::1]/", "fe80::1"),
            ("file:///etc/passwd", "file:"),
            ("ftp://127.0.0.1/a", "ftp:"),
            ("data:text/plain,a", "data:"),
        ] {
            for address in both(&server, "bucket/a") {
                server.heal();
                let object = open(&address, options(&server));
                let (fault, before, clock) = (to(target), server.requests(), Instant::now());
                server.script(move |_| fault);
                let errors = [
                    object.read_exact(&mut [0; 10], 5).unwrap_err().to_string(),
                    object.remote().head(&address).unwrap_err().to_string(),
                    object.remote().get_small(&address, 100).unwrap_err().to_string(),
                ];
                for error in errors {
                    assert!(error.contains("sends requests on to") && error.contains(says), "{target}: {error}");
                    assert!(!error.contains("credentials") && !error.contains("passwd"), "{error}");
                }
                assert_eq!(server.requests() - before, 3, "{target}");
                assert!(clock.elapsed() < Duration::from_secs(2), "{target}");
            }
        }
    });
}

#[test]
fn a_redirect_that_ends_nowhere_takes_eleven_requests_at_most() {
    watched(|| {
        let server = StoreServer::start();
        server.put("bucket/a", content(100, 1));
        for address in both(&server, "bucket/a") {
            for around in [true, false] {
                server.heal();
                let object = open(&address, options(&server));
                let before = server.requests();
                let here = to("/bucket/a");
                server
                    .script(move |request| if around { here } else { to(&format!("/bucket/a?n={}", request.number)) });
                let error = object.read_exact(&mut [0; 10], 5).unwrap_err().to_string();
                assert!(error.contains(if around { "in a circle" } else { "more than 10 times" }), "{error}");
                assert!(server.requests() - before <= 11, "{}", server.requests() - before);
                object.remote().head(&address).unwrap_err();
                assert!(server.requests() - before <= 22, "{}", server.requests() - before);
            }
        }
    });
}

#[test]
fn a_file_that_is_written_is_not_believed_to_be_where_a_redirect_leads() {
    watched(|| {
        let server = StoreServer::start();
        server.put("bucket/login", content(100, 1));
        let remote = Remote::new(&options(&server)).unwrap();
        for address in both(&server, "bucket/a") {
            let fault = to("/bucket/login");
            server.script(move |request| if request.key == "bucket/a" { fault } else { Fault::None });
            let error = remote.put(&address, vec![1]).unwrap_err().to_string();
            assert!(error.contains("302"), "{error}");
            // A redirect with the status 307 keeps the method and the bytes of the request, so the `PUT` is redirected.
            let fault = redirect("307 Temporary Redirect", "/bucket/b");
            server.script(move |request| if request.key == "bucket/a" { fault } else { Fault::None });
            remote.put(&address, vec![7]).unwrap();
            assert_eq!(server.object("bucket/b").unwrap(), [7]);
            server.remove("bucket/b");
        }
    });
}

#[test]
fn credentials_come_from_the_machines_metadata_server() {
    watched(|| {
        let server = StoreServer::start();
        server.put("bucket/a", content(100, 1));
        let text = |body: &str| {
            Fault::Raw(leaked(format!(
                "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
                body.len()
            )))
        };
        let token = text("token");
        let role = text("role");
        let key = text(
            "{\"AccessKeyId\":\"machines\",\"SecretAccessKey\":\"secret\",\"Token\":\"session\",\"Expiration\":\"2100-01-01T00:00:00Z\",\"Code\":\"Success\",\"LastUpdated\":\"2020-01-01T00:00:00Z\",\"Type\":\"AWS-HMAC\"}",
        );
        server.script(move |request| match &*request.key {
            "latest/api/token" => token,
            "latest/meta-data/iam/security-credentials/" => to("/latest/meta-data/iam/roles"),
            "latest/meta-data/iam/roles" => role,
            "latest/meta-data/iam/security-credentials/role" => key,
            _ => Fault::None,
        });
        let options = options(&server).store("AWS_SKIP_SIGNATURE", "false");
        let object =
            open("s3://bucket/a", options.store("AWS_METADATA_ENDPOINT", server.web("").trim_end_matches('/')));
        object.read_exact(&mut [0; 10], 5).unwrap();
        let read = server.log().into_iter().rfind(Request::reads).unwrap();
        assert!(read.headers["authorization"].contains("machines"), "{read:?}");
    });
}
