//! Reading from a server that misbehaves: the very same bytes, or an error that names the object, the bytes and what to
//! set; and never a read that hangs.

use super::*;
use crate::dataset::{Label, PixelFormat, Pixels, Sample, SampleData};
use crate::transforms::CenterCrop;
use crate::{Backend, DType, Layout, OnError};
use gpufeed_testing::store_server::{AUTHORITY, Fault, Request, StoreServer};
use std::time::Duration;

const MIB: usize = 1 << 20;
/// How long a server may send nothing in these tests.
const PATIENCE: Duration = Duration::from_millis(300);

/// Runs a test on a thread of its own, and fails if it hangs.
fn watched<T: Send + 'static>(test: impl FnOnce() -> T + Send + 'static) -> T {
    let (done, result) = crossbeam_channel::bounded(1);
    std::thread::spawn(move || {
        let _ = done.send(test());
    });
    result.recv_timeout(Duration::from_secs(60)).expect("no panic, and no read that hangs")
}

/// Bytes that are different everywhere.
fn content(len: usize, seed: u32) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state as u8
    };
    (0..len).map(|_| next()).collect()
}

fn options(server: &StoreServer) -> RemoteOptions {
    let options = RemoteOptions::new().timeout(PATIENCE).retries(4);
    server.s3_settings().into_iter().fold(options, |options, (name, value)| options.store(name, value))
}

/// Opens an object with a connection of its own.
fn open(address: &str, options: RemoteOptions) -> RemoteObject {
    let remote = Remote::new(&options).unwrap();
    let meta = remote.head(address).unwrap();
    remote.object(meta)
}

type Script = Box<dyn Fn(&Request) -> Fault + Send + Sync>;

/// This fault, always.
fn always(fault: Fault) -> impl Fn() -> Script + Send + 'static {
    move || Box::new(move |_| fault)
}

/// This fault in the first two reads.
fn twice(fault: Fault) -> impl Fn() -> Script + Send + 'static {
    move || {
        let reads = AtomicU64::new(0);
        let first = move |request: &Request| request.reads() && reads.fetch_add(1, Relaxed) < 2;
        Box::new(move |request| if first(request) { fault } else { Fault::None })
    }
}

/// Reads an object of 9 MiB under a script, from S3 and from the web, in pieces; each piece is right or an error.
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

/// The errors of reading under a fault; the texts hold all of `words`.
fn refused(fault: Fault, words: &[&str]) {
    for (result, _) in under(always(fault)) {
        let error = result.unwrap_err().to_string();
        for word in words {
            assert!(error.contains(word), "{word}: {error}");
        }
        assert!(error.starts_with("bytes 0..8388608: "), "{error}");
    }
}

/// Reading with this fault in the first two reads succeeds, with retries.
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
    refused(Fault::Status(503), &["503", "4 retries", "RemoteOptions::retries"]);
    refused(Fault::Stall(0), &["no byte came for 0.3 s", "RemoteOptions::timeout", "GPUFEED_REMOTE_TIMEOUT"]);
    refused(Fault::Close, &["connection", "retries"]);
    refused(Fault::ShortRange(1), &["came instead"]);
}

#[test]
fn a_server_that_ignores_ranges_is_an_error() {
    refused(Fault::IgnoreRange, &["ignores byte ranges"]);
}

#[test]
fn refused_credentials_are_an_error_that_names_them() {
    refused(Fault::Status(403), &["403", "AccessDenied", "expired", "AWS_"]);
    refused(Fault::Status(401), &["401", "RemoteOptions::store"]);
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
            // The same length, other bytes.
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
fn a_name_that_does_not_resolve_is_an_error_soon() {
    watched(|| {
        let remote = Remote::new(&RemoteOptions::new().timeout(Duration::from_secs(5))).unwrap();
        let error = remote.head("https://nowhere.invalid/a.tar").unwrap_err().to_string();
        assert!(error.contains("https://nowhere.invalid/a.tar") && error.contains("resolve"), "{error}");
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
fn a_read_beyond_the_end_is_an_end_of_file() {
    watched(|| {
        let server = StoreServer::start();
        server.put("bucket/a", content(100, 1));
        let object = open(&server.s3("bucket/a"), options(&server));
        let kind = |offset| object.read_exact(&mut [0; 10], offset).unwrap_err().kind();
        assert_eq!((kind(91), kind(u64::MAX)), (io::ErrorKind::UnexpectedEof, io::ErrorKind::UnexpectedEof));
        object.read_exact(&mut [0; 10], 90).unwrap();
    });
}

#[test]
fn what_is_expected_is_fetched_ahead_once_and_within_the_budget() {
    watched(|| {
        let bytes = content(40 * MIB, 9);
        let server = StoreServer::start();
        server.put("bucket/a", bytes.clone());
        let object = open(&server.s3("bucket/a"), options(&server).timeout(Duration::from_secs(20)));
        object.remote().set_read_ahead(24 << 20);
        let before = server.requests();
        object.expect(0..u64::MAX);
        while object.remote().stats().blocks < 3 {
            std::thread::yield_now();
        }
        assert!(server.sent() < 25 << 20, "{}", server.sent());
        let mut buffer = vec![0; 8 * MIB];
        for block in 0..5 {
            object.read_exact(&mut buffer, (block * 8 * MIB) as u64).unwrap();
            assert!(buffer == bytes[block * 8 * MIB..][..8 * MIB]);
        }
        let stats = object.remote().stats();
        assert_eq!((stats.blocks, stats.evicted_unread), (5, 0), "{stats}");
        assert!(server.requests() - before <= 3, "neighbours come in one request");
        assert_eq!(server.sent(), 40 << 20);
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

#[test]
fn a_listing_has_all_pages_sorted() {
    watched(|| {
        let server = StoreServer::start();
        for number in (0..250).rev() {
            server.put(&format!("bucket/train/{number:04}.tar"), vec![0; number]);
        }
        server.put("bucket/trained.tar", vec![0]);
        let remote = Remote::new(&options(&server)).unwrap();
        let found = remote.list("s3://bucket/train").unwrap();
        assert_eq!(found.len(), 250);
        assert!(found.iter().enumerate().all(|(number, meta)| meta.size == number as u64));
        assert_eq!((found[7].address.as_str(), found[7].file_name()), ("s3://bucket/train/0007.tar", "0007.tar"));
        let head = remote.head("s3://bucket/train/0007.tar").unwrap();
        assert_eq!((head.size, &head.etag, head.modified), (7, &found[7].etag, found[7].modified));
        assert!(remote.list("s3://bucket/nothing").unwrap().is_empty());
        let error = remote.list(&server.web("bucket/train")).unwrap_err().to_string();
        assert!(error.contains("brace list"), "{error}");
        server.script(|_| Fault::Status(403));
        let error = remote.list("s3://bucket/train").unwrap_err().to_string();
        assert!(error.contains("s3://bucket/train") && error.contains("403"), "{error}");
    });
}

#[test]
fn small_objects_are_read_whole_or_not_there() {
    watched(|| {
        let server = StoreServer::start();
        server.put("bucket/a.json", content(1000, 1));
        server.script(|request| if request.number % 2 == 1 { Fault::Cut(10) } else { Fault::None });
        let remote = Remote::new(&options(&server)).unwrap();
        for address in [server.s3("bucket/a.json"), server.web("bucket/a.json")] {
            for _ in 0..3 {
                let (bytes, meta) = remote.get_small(&address, 1000).unwrap().unwrap();
                assert!(bytes == content(1000, 1) && meta.size == 1000);
            }
            let error = remote.get_small(&address, 999).unwrap_err().to_string();
            assert!(error.contains("999"), "{error}");
        }
        server.heal();
        assert!(remote.get_small(&server.s3("bucket/none"), 10).unwrap().is_none());
        assert!(remote.get_small(&server.web("bucket/none"), 10).unwrap().is_none());
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
fn objects_are_written_whole_and_again_after_a_fault() {
    watched(|| {
        let server = StoreServer::start();
        let remote = Remote::new(&options(&server)).unwrap();
        server.script(|request| if request.number == 0 { Fault::Status(503) } else { Fault::None });
        remote.put("s3://bucket/out/a b.tar", content(MIB, 3)).unwrap();
        assert!(server.object("bucket/out/a b.tar").unwrap() == content(MIB, 3));
        assert_eq!(remote.stats().retries, 1);
        server.script(|_| Fault::Status(403));
        let error = remote.put("s3://bucket/b", vec![1]).unwrap_err().to_string();
        assert!(error.contains("s3://bucket/b") && error.contains("403"), "{error}");
        assert!(server.object("bucket/b").is_none());
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
        // One of which nothing is in memory.
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

#[test]
fn dropping_the_last_owner_ends_the_thread_in_mid_read() {
    watched(|| {
        let server = StoreServer::start();
        server.put("bucket/a", content(100, 1));
        let object = open(&server.web("bucket/a"), options(&server).timeout(Duration::from_secs(3600)));
        server.script(|_| Fault::Stall(3));
        let reader = object.clone();
        let thread = std::thread::spawn(move || reader.read_exact(&mut [0; 10], 0));
        while server.requests() < 2 {
            std::thread::yield_now();
        }
        drop(object);
        // The reader still owns the connection; the server's end lets it go.
        drop(server);
        assert!(thread.join().unwrap().is_err());
    });
}

#[test]
fn what_the_disk_has_is_not_fetched_again() {
    watched(|| {
        let folder = tempfile::tempdir().unwrap();
        let bytes = content(20 * MIB, 4);
        let server = StoreServer::start();
        server.put("bucket/a", bytes.clone());
        let mut buffer = vec![0; MIB];
        for run in 0..2 {
            let options = options(&server).timeout(Duration::from_secs(20)).cache(folder.path(), 1 << 30);
            let object = open(&server.s3("bucket/a"), options);
            let sent = server.sent();
            object.expect(0..u64::MAX);
            for step in [7, 0, 19, 12, 3] {
                object.read_exact(&mut buffer, (step * MIB) as u64).unwrap();
                assert!(buffer == bytes[step * MIB..][..MIB], "other bytes");
            }
            let stats = object.remote().stats();
            match run {
                0 => assert_eq!((server.sent() - sent, stats.cache_hits), (20 << 20, 0), "{stats}"),
                _ => assert_eq!((server.sent() - sent, stats.cache_hits, stats.blocks), (0, 5, 0), "{stats}"),
            }
            // The writer ends with the connection, and what it had is on the disk then.
            drop(object);
        }
    });
}

/// Gray images of 32x32 pixels, one after the other in an object.
struct Raw(RemoteObject);

const RAW: usize = 32 * 32;

impl crate::Dataset for Raw {
    fn len(&self) -> usize {
        self.0.len() as usize / RAW
    }

    fn read<'a>(&'a self, index: usize, buffer: &'a mut Vec<u8>) -> Result<Sample<'a>> {
        buffer.resize(RAW, 0);
        self.0.read_exact(buffer, (index * RAW) as u64).map_err(|error| Error::io(self.0.name(), error))?;
        let pixels = Pixels::new(32, 32, PixelFormat::R8, buffer)?;
        Ok(Sample { data: SampleData::Pixels(pixels), label: Label::None })
    }

    fn name(&self, index: usize) -> String {
        format!("{} {index}", self.0.name())
    }

    fn channels(&self) -> u32 {
        1
    }

    fn prefetch_samples(&self) -> usize {
        self.0.remote().samples_ahead(RAW as u64)
    }

    fn prefetch(&self, indices: &[usize]) {
        for index in indices {
            self.0.expect((index * RAW) as u64..((index + 1) * RAW) as u64);
        }
    }

    fn remotes(&self) -> Vec<Remote> {
        vec![self.0.remote().clone()]
    }
}

fn loader(object: RemoteObject, on_error: OnError) -> crate::DataLoader {
    let builder = crate::DataLoader::builder(Raw(object))
        .transform(CenterCrop::new(32))
        .output(Layout::Nhwc, DType::U8)
        .batch_size(64);
    builder.read_ahead(32 << 20).workers(2).on_error(on_error).build(&Backend::Cpu).unwrap()
}

#[test]
fn a_loader_reads_ahead_of_its_workers_over_the_end_of_an_epoch() {
    watched(|| {
        let bytes = content(20 * MIB, 11);
        let server = StoreServer::start();
        server.put("bucket/a", bytes.clone());
        let object = open(&server.s3("bucket/a"), options(&server).timeout(Duration::from_secs(20)));
        let before = server.requests();
        let loader = loader(object, OnError::Fail);
        for epoch in 0..2 {
            let mut all = Vec::new();
            for batch in loader.epoch(epoch).unwrap() {
                all.extend_from_slice(&batch.unwrap().to_host().unwrap());
            }
            assert!(all == bytes, "other pixels");
        }
        assert!(
            loader.explain().contains("from afar: 32 MiB read ahead, nothing kept on disk\n"),
            "{}",
            loader.explain()
        );
        let stats = loader.stats();
        let remote = stats.remote.clone().unwrap();
        assert_eq!(remote.evicted_unread, 0, "{remote}");
        assert_eq!(remote.bytes, 20 << 20, "what is in memory is not fetched again: {remote}");
        assert_eq!(server.requests() - before, remote.requests as usize);
        assert!(remote.requests <= 3 && format!("{stats}").contains("from afar: 20 MB"), "{stats}");
    });
}

#[test]
fn a_network_that_fails_ends_the_run_and_replaces_no_sample() {
    watched(|| {
        let server = StoreServer::start();
        server.put("bucket/a", content(20 * MIB, 11));
        let object = open(&server.s3("bucket/a"), options(&server).retries(1));
        let loader = loader(object, OnError::Skip { max_share: 1.0 });
        server.script(|request| match request.range.as_ref() {
            Some(range) if range.end > 9 << 20 => Fault::Status(503),
            _ => Fault::None,
        });
        let error = loader.epoch(0).unwrap().find_map(Result::err).expect("the second block never comes").to_string();
        for word in ["s3://bucket/a", "bytes ", "503", "RemoteOptions::retries"] {
            assert!(error.contains(word), "{word}: {error}");
        }
        assert_eq!(loader.stats().failed, 0);
    });
}
