//! Tests of servers that send malformed headers, or that speak another protocol than the client.

use super::*;
use std::time::Instant;

#[test]
fn a_header_that_is_none_is_named() {
    watched(|| {
        let server = StoreServer::start();
        server.put("bucket/a", content(100, 1));
        for (name, value, says) in [
            ("Last-Modified", "soon", "soon"),
            ("Last-Modified", "s\u{f6}\u{f6}n", "ASCII"),
            ("ETag", "\"s\u{f6}\"", "ASCII"),
            ("Content-Encoding", "\u{f6}", "ASCII"),
            ("Content-Encoding", "gzip", "gzip"),
            ("Content-Encoding", "br, identity", "br"),
            ("Content-Range", "bytes 5-", "bytes 5-"),
            ("Content-Range", "lines 5-6/100", "lines"),
            ("Content-Range", "bytes 0-18446744073709551615/18446744073709551615", "18446744073709551615"),
        ] {
            for address in both(&server, "bucket/a") {
                server.heal();
                let object = open(&address, options(&server));
                server.script(move |_| Fault::Header(name, value));
                let clock = Instant::now();
                let error = object.read_exact(&mut [0; 10], 5).unwrap_err().to_string();
                assert!(error.contains(name) && error.contains(says), "{name}: {value}: {error}");
                assert!(clock.elapsed() < Duration::from_secs(2), "{name}: {value}");
                if name != "Content-Range" {
                    let error = object.remote().head(&address).unwrap_err().to_string();
                    assert!(error.contains(name) && error.contains(says), "{name}: {value}: {error}");
                }
            }
        }
        for harmless in ["identity", "aws-chunked", ""] {
            server.script(move |_| Fault::Header("Content-Encoding", harmless));
            for address in both(&server, "bucket/a") {
                open(&address, options(&server)).read_exact(&mut [0; 10], 5).unwrap();
            }
        }
    });
}

#[test]
fn encryption_where_the_server_has_none_is_an_error_soon() {
    watched(|| {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("https://{}/a", listener.local_addr().unwrap());
        std::thread::spawn(move || {
            for stream in listener.incoming().take(2) {
                let _ = std::io::Write::write_all(&mut stream.unwrap(), b"HTTP/1.1 400 Bad Request\r\n\r\n");
            }
        });
        let clock = Instant::now();
        let remote = Remote::new(&RemoteOptions::new()).unwrap();
        let error = remote.head(&address).unwrap_err().to_string();
        assert!(error.contains("http://"), "{error}");
        assert!(clock.elapsed() < Duration::from_secs(5), "{:?}", clock.elapsed());
    });
}
