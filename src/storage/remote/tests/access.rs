//! Tests of credentials, certificates, names of servers, and settings: what is refused, and that no secret is shown.

use super::*;
use gpufeed_testing::store_server::AUTHORITY;

#[test]
fn a_name_that_does_not_resolve_is_an_error_soon() {
    watched(|| {
        let remote = Remote::new(&RemoteOptions::new().timeout(Duration::from_secs(5))).unwrap();
        let error = remote.head("https://nowhere.invalid/a.tar").unwrap_err().to_string();
        assert!(
            error.contains("https://nowhere.invalid/a.tar")
                && error.contains("resolve")
                && error.contains("and correct the address"),
            "{error}"
        );
    });
}

#[test]
fn a_name_that_no_longer_resolves_in_mid_run_is_asked_for_as_often_as_the_settings_allow() {
    watched(|| {
        let server = StoreServer::start();
        server.put("bucket/a", content(100, 1));
        let remote = Remote::new(&options(&server)).unwrap();
        let mut meta = remote.head(&server.web("bucket/a")).unwrap();
        // Moves the object to a server whose name does not resolve, as if the name had been lost since.
        meta.store = remote.locate("https://nowhere.invalid/bucket/a").unwrap().number;
        let error = remote.object(meta).read_exact(&mut [0; 10], 5).unwrap_err().to_string();
        assert!(error.contains("resolve") && error.contains("after 4 retries"), "{error}");
    });
}

#[test]
fn what_lies_beside_an_object_is_read_with_the_same_credentials() {
    watched(|| {
        let server = StoreServer::start();
        server.put("bucket/f/a.tar", content(10, 1));
        server.put("bucket/f/.a.index", content(10, 2));
        let user = |address: String| address.replace("http://", "http://user:hushhush@");
        for address in [server.s3("bucket/f/a.tar"), user(server.web("bucket/f/a.tar"))] {
            let remote = Remote::new(&options(&server)).unwrap();
            let beside = remote.beside(&remote.head(&address).unwrap(), ".a.index").unwrap();
            let (bytes, meta) = remote.get_small(&beside, 100).unwrap().unwrap();
            assert!(bytes == content(10, 2) && !meta.address.contains("hush"), "{}", meta.address);
        }
        assert!(server.log().last().unwrap().headers.contains_key("authorization"));
        let remote = Remote::new(&options(&server)).unwrap();
        let signed = remote.head(&server.web("bucket/f/a.tar?sig=1")).unwrap();
        assert_eq!(remote.beside(&signed, ".a.index"), None);
    });
}

#[test]
fn googles_and_azures_clients_read_the_same_bytes_and_notice_a_replaced_object() {
    watched(|| {
        let server = StoreServer::start();
        let bytes = content(9 * MIB, 3);
        let google = server.google_settings().to_vec();
        let azure = server.azure_settings().to_vec();
        for (address, settings, variable) in [
            ("gs://bucket/f/a b.tar", google, "GOOGLE_APPLICATION_CREDENTIALS"),
            ("az://bucket/f/a b.tar", azure, "AZURE_STORAGE_ACCOUNT_KEY"),
        ] {
            server.put("bucket/f/a b.tar", bytes.clone());
            let options = RemoteOptions::new().timeout(PATIENCE).retries(4);
            let options = settings.into_iter().fold(options, |options, (name, value)| options.store(name, value));
            let object = open(address, options.clone());
            assert_eq!(object.name(), address);
            let mut buffer = vec![0; MIB];
            object.read_exact(&mut buffer, 8 * MIB as u64 - 5).unwrap();
            assert!(buffer == bytes[8 * MIB - 5..9 * MIB - 5], "{address}");
            let unread = open(address, options.clone());
            let before = server.requests();
            server.script(move |request| match request.number - before {
                0 => Fault::Status(503),
                1 => Fault::Cut(70_000),
                _ => Fault::None,
            });
            unread.read_exact(&mut buffer, 0).unwrap();
            assert!(buffer == bytes[..MIB] && unread.remote().stats().retries == 2, "{address}");
            server.heal();
            let unread = open(address, options);
            server.put("bucket/f/a b.tar", content(9 * MIB, 4));
            let error = unread.read_exact(&mut buffer, 0).unwrap_err().to_string();
            assert!(error.contains("replaced"), "{error}");
            server.script(|_| Fault::Status(403));
            let error = object.remote().head(address).unwrap_err().to_string();
            assert!(error.contains(variable) && !error.contains("AWS_") && error.contains(address), "{error}");
            server.heal();
        }
        let options =
            server.google_settings().into_iter().fold(RemoteOptions::new(), |o, (name, value)| o.store(name, value));
        let listed = Remote::new(&options).unwrap().list("gs://bucket/f").unwrap();
        assert_eq!(listed.iter().map(|meta| &*meta.address).collect::<Vec<_>>(), ["gs://bucket/f/a b.tar"]);
    });
}

#[test]
fn credentials_of_an_address_go_to_the_server_and_nowhere_else() {
    watched(|| {
        let server = StoreServer::start();
        server.put("bucket/a", content(100, 1));
        let address = server.web("bucket/a?sig=hushhush").replace("http://", "http://user:hush%21hush@");
        let object = open(&address, options(&server));
        object.read_exact(&mut [0; 10], 5).unwrap();
        let request = server.log().pop().unwrap();
        assert_eq!(request.query["sig"], "hushhush");
        assert_eq!(request.headers["authorization"], "Basic dXNlcjpodXNoIWh1c2g=");
        let remote = object.remote();
        // An object of which no block is in memory, so that a read makes a request.
        let unread = open(&address, options(&server));
        server.script(|_| Fault::Status(403));
        let mut shown = vec![format!("{object:?} {:?} {remote:?} {}", object.meta(), object.name())];
        shown.push(unread.read_exact(&mut [0; 10], 5).unwrap_err().to_string());
        shown.push(remote.head(&address).unwrap_err().to_string());
        shown.push(remote.list(&address).unwrap_err().to_string());
        shown.push(remote.put(&address, vec![]).unwrap_err().to_string());
        shown.push(format!("{:?}", remote.head(&address).unwrap_err()));
        server.remove("bucket/a");
        server.heal();
        shown.push(remote.head(&address).unwrap_err().to_string());
        server.script(|_| Fault::Close);
        shown.push(format!("{:?}", remote.head(&address).unwrap_err()));
        for text in shown {
            assert!(!text.contains("hush") && !text.contains("dXNlcj"), "{text}");
        }
    });
}

#[test]
fn a_web_server_that_refuses_is_told_without_the_variables_of_stores() {
    watched(|| {
        let server = StoreServer::start();
        server.put("bucket/a", content(100, 1));
        let remote = Remote::new(&options(&server)).unwrap();
        let address = server.web("bucket/a");
        for status in [400, 401, 403] {
            server.script(move |_| Fault::Status(status));
            let error = remote.head(&address).unwrap_err().to_string();
            assert!(error.contains(&status.to_string()) && !error.contains("AWS_"), "{error}");
            assert_eq!(error.contains("https://user:password@"), status != 400, "{error}");
        }
        for status in [403, 404, 405, 501] {
            server.script(move |_| Fault::Status(status));
            let error = remote.put(&address, vec![1]).unwrap_err().to_string();
            assert!(error.contains("by PUT, which few") && !error.contains("no such"), "{error}");
        }
        assert_eq!(remote.stats().retries, 0);
    });
}

#[test]
fn an_untrusted_certificate_is_an_error_that_says_how_to_trust_it() {
    watched(|| {
        let server = StoreServer::start_tls();
        server.put("bucket/a", content(100, 1));
        for address in [server.web("bucket/a"), server.s3("bucket/a")] {
            let options = options(&server).timeout(Duration::from_secs(5));
            let remote = Remote::new(&options).unwrap();
            let error = remote.head(&address).unwrap_err().to_string();
            assert!(error.contains("certificate is not trusted"), "{error}");
            assert!(error.contains("RemoteOptions::certificates") && error.contains("SSL_CERT_FILE"), "{error}");
            assert_eq!(remote.stats().retries, 0);
            let file = tempfile::NamedTempFile::new().unwrap();
            std::fs::write(file.path(), AUTHORITY).unwrap();
            let object = open(&address, options.certificates(file.path()));
            let mut buffer = [0; 50];
            object.read_exact(&mut buffer, 50).unwrap();
            assert!(buffer == content(100, 1)[50..]);
        }
    });
}

#[test]
fn settings_that_cannot_work_are_errors() {
    let refused = |options: &RemoteOptions, address: &str| {
        let remote = Remote::new(options).map_err(|error| error.to_string());
        remote.and_then(|remote| remote.head(address).map_err(|error| error.to_string())).unwrap_err()
    };
    let none = RemoteOptions::new().certificates("/no/such/file.pem");
    let error = refused(&none, "https://127.0.0.1:9/a");
    assert!(error.contains("/no/such/file.pem") && error.contains("SSL_CERT_FILE"), "{error}");
    let error = refused(&RemoteOptions::new(), "s3:///a");
    assert!(error.contains("bucket"), "{error}");
    let error = refused(&RemoteOptions::new().timeout(PATIENCE), "s3://bucket/a//b");
    assert!(error.contains("s3://bucket/a//b"), "{error}");
    let plain = RemoteOptions::new().timeout(PATIENCE).retries(1);
    let plain = plain.store("AWS_ENDPOINT_URL", "http://127.0.0.1:9").store("AWS_SKIP_SIGNATURE", "true");
    let error = watched(move || refused(&plain, "s3://bucket/a"));
    assert!(error.contains("AWS_ALLOW_HTTP"), "{error}");
}
