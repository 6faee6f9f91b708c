//! Tests of remote objects: they are read ahead, listed, read whole, written, and kept in the cache on disk.

use super::*;
use crate::storage::{Folder, Location};

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
        object.remote().fetch_expected();
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
        assert!(error.contains("write them as a brace list, as in part-{000..041}.tar"), "{error}");
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
        // The reading thread still owns the connection. When the server ends, the read fails, and the thread drops it.
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
            object.remote().fetch_expected();
            // The last of these reads needs two blocks.
            for at in [7 * MIB, 0, 19 * MIB, 12 * MIB, 3 * MIB, 8 * MIB - 1000] {
                object.read_exact(&mut buffer, at as u64).unwrap();
                assert!(buffer == bytes[at..][..MIB], "other bytes");
            }
            let stats = object.remote().stats();
            match run {
                0 => assert_eq!((server.sent() - sent, stats.cache_hits), (20 << 20, 0), "{stats}"),
                _ => assert_eq!((server.sent() - sent, stats.cache_hits, stats.blocks), (0, 7, 0), "{stats}"),
            }
            // Dropping the connection ends the cache's writer, which first writes all its blocks to the disk.
            drop(object);
        }
    });
}

#[test]
fn a_web_server_is_no_folder_to_write_to_and_no_credentials_are_shown() {
    let open = |address: &str| Folder::open(&Location::from(address), None);
    let error = open("https://user:secret@host/a?sig=secret").unwrap_err().to_string();
    assert!(error.contains("https://host/a: a web server cannot be written to"), "{error}");
    let error = open("s3://key:secret@bucket/a/").unwrap_err().to_string();
    assert!(error.contains("AWS_ACCESS_KEY_ID") && !error.contains("secret"), "{error}");
    let folder = open("s3://bucket/a/").unwrap();
    assert_eq!(folder.within("b").path("c").to_str(), Some("s3://bucket/a/b/c"));
    assert_eq!(folder.path("").to_str(), Some("s3://bucket/a"));
    assert_eq!(format!("{folder:?}"), "Folder(\"s3://bucket/a\")");
}

#[test]
fn the_folder_of_unfinished_files_is_named_by_the_address() {
    let scratch = |address: &str, scratch: Option<&str>| {
        let folder = Folder::open(&Location::from(address), scratch.map(Path::new)).unwrap();
        folder.local().to_owned()
    };
    let disk = Some("disk");
    assert_eq!(scratch("s3://bucket/a", disk), scratch("s3://bucket/a/", disk));
    assert_ne!(scratch("s3://bucket/a", disk), scratch("s3://bucket/b", disk));
    assert!(scratch("s3://bucket/a", disk).starts_with("disk"));
    assert!(scratch("s3://bucket/a", None).starts_with(std::env::temp_dir()));
}
