//! Tar shards and Parquet files in a store that fails again and again: the very same batches as from this machine.

use crate::stores::{batches, both, options, rows, shard};
use gpufeed::dataset::{Parquet, ShardIndexes, TarShards};
use gpufeed::storage::is_network_failure;
use gpufeed::{Dataset, dataset};
use gpufeed_testing::store_server::{Fault, Request, StoreServer};
use parquet::basic::Compression;
use std::sync::Arc;

/// One answer in ten is 503 and one in twenty ends in mid-body; some ranges are short, some too long.
fn faults(request: &Request) -> Fault {
    let dice = (request.number as u32).wrapping_mul(0x9e37_79b9) >> 16;
    match dice % 100 {
        0..10 => Fault::Status(503),
        10..15 if request.reads() => Fault::Cut(u64::from(dice % 900)),
        15..18 if request.reads() => Fault::ShortRange(7),
        18..20 if request.reads() => Fault::LongBody(3),
        _ => Fault::None,
    }
}

#[test]
fn batches_from_a_store_that_fails_are_those_of_this_machine() {
    let (server, folder) = (StoreServer::start(), tempfile::tempdir().unwrap());
    // Many small objects, so that many requests are made.
    let shards: Vec<_> = (0..40).map(|n| (format!("t-{n:02}.tar"), shard(n * 5..n * 5 + 5))).collect();
    let tables: Vec<_> =
        (0..40).map(|n| (format!("p-{n:02}.parquet"), rows(n * 5..n * 5 + 5, Compression::SNAPPY))).collect();
    for files in [&shards, &tables] {
        let files: Vec<_> = files.iter().map(|(name, bytes)| (name.as_str(), bytes.clone())).collect();
        both(&server, folder.path(), &files);
    }
    let local: [Arc<dyn Dataset>; 2] = [
        Arc::new(TarShards::open(folder.path().join("t-{00..39}.tar")).unwrap()),
        Arc::new(Parquet::open(folder.path().join("p-{00..39}.parquet")).unwrap()),
    ];
    let (cache, indexes) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let open = |cached: bool| -> [Arc<dyn Dataset>; 2] {
        let options = || match cached {
            true => options(&server).retries(20).cache(cache.path(), 1 << 30),
            false => options(&server).retries(20),
        };
        let place = || ShardIndexes::Folder(indexes.path().into());
        let (tar, parquet) = (TarShards::builder().indexes(place()), Parquet::builder().indexes(place()));
        [
            Arc::new(tar.remote(options()).open(server.s3("bucket/set/t-{00..39}.tar")).unwrap()),
            Arc::new(parquet.remote(options()).open(server.s3("bucket/set/p-{00..39}.parquet")).unwrap()),
        ]
    };
    server.script(faults);
    // The first opening reads all for the indexes; later ones have nothing in memory.
    drop(open(false));
    for cached in [false, true] {
        for (local, far) in local.iter().zip(open(cached)) {
            let before = server.requests();
            assert!(batches(local.clone()) == batches(far), "cached: {cached}");
            assert!(server.requests() >= before + 40, "cached: {cached}: each object is fetched");
        }
    }
    let faulty = server.log().iter().filter(|request| faults(request) != Fault::None).count();
    assert!(faulty > 40, "{faulty} of {} answers were faulty", server.requests());
}

#[test]
fn a_folder_is_opened_with_the_settings_that_are_given() {
    let server = StoreServer::start();
    for (folder, files) in [
        ("rows", [("train-00000-of-00001.parquet", rows(0..9, Compression::UNCOMPRESSED))]),
        ("rows-v1.0", [("train-00000-of-00001.parquet", rows(0..9, Compression::UNCOMPRESSED))]),
        ("tars-v1.0", [("0.tar", shard(0..9))]),
    ] {
        for (name, bytes) in files {
            server.put(&format!("my.bucket/{folder}/{name}"), bytes);
        }
        for end in ["", "/"] {
            let address = server.s3(&format!("my.bucket/{folder}{end}"));
            let opened =
                dataset::open_with(&address, options(&server)).unwrap_or_else(|error| panic!("{address}: {error}"));
            assert_eq!(opened.train.len(), 9, "{address}");
        }
    }
    // The store's own words, instead of a set without shards.
    server.script(|_| Fault::Status(403));
    let error = dataset::open_with(server.s3("my.bucket/rows"), options(&server)).unwrap_err().to_string();
    assert!(error.contains("403") && error.contains("brace list"), "{error}");
}

/// An archive of several of the blocks in which a store is read: images, and a label that lies far behind the first one.
fn archive_of_many_blocks() -> Vec<u8> {
    let mut archive = tar::Builder::new(Vec::new());
    let large = vec![7; 9 << 20];
    for (name, bytes) in [("0.jpg", &large[..]), ("0.cls", b"1"), ("1.jpg", &large), ("1.cls", b"0")] {
        let mut header = tar::Header::new_ustar();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        archive.append_data(&mut header, name, bytes).unwrap();
    }
    archive.into_inner().unwrap()
}

/// A read may fail at the beginning, at a header or a label, and at the mark of the end: none of it is damage.
#[test]
fn a_scan_of_an_archive_whose_reads_fail_is_a_failure_of_the_network() {
    let server = StoreServer::start();
    server.put("bucket/0.tar", archive_of_many_blocks());
    let open = || TarShards::builder().remote(options(&server).retries(0)).open(server.s3("bucket/0.tar"));
    open().unwrap();
    let requests = server.requests();
    assert!(requests > 3, "a block each: {requests}");
    for good in 0..requests {
        let before = server.requests();
        server.script(move |request| match request.number >= before + good {
            true => Fault::Status(503),
            false => Fault::None,
        });
        let error = open().map(drop).unwrap_err();
        assert!(is_network_failure(&error) && error.to_string().contains("503"), "{good} of {requests}: {error}");
    }
}
