//! Tar shards and Parquet files in stores and on web servers: the same ids, bytes, labels and batches as on this machine,
//! indexes beside objects and in folders, and errors that say what to write instead.

use crate::shard::{archive, header};
use gpufeed::dataset::{FieldChoice, Format, Parquet, RemoteOptions, ShardIndexes, TarShards};
use gpufeed::transforms::RandomResizedCrop;
use gpufeed::{Backend, DataLoader, Dataset, Images, Label, Order, SampleData, dataset};
use gpufeed_testing::encoded;
use gpufeed_testing::parquet_files::{Row, Style, file};
use gpufeed_testing::store_server::{Fault, StoreServer};
use image::ImageFormat as Codec;
use parquet::basic::Compression;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

pub(crate) fn options(server: &StoreServer) -> RemoteOptions {
    let options = RemoteOptions::new().timeout(Duration::from_secs(20)).retries(2);
    server.s3_settings().into_iter().fold(options, |options, (name, value)| options.store(name, value))
}

fn image(number: u32) -> Vec<u8> {
    encoded::encode(encoded::picture(20 + number % 9, 15 + number % 4), Codec::Jpeg)
}

/// Returns a shard of the samples with these numbers.
pub(crate) fn shard(numbers: std::ops::Range<u32>) -> Vec<u8> {
    let mut archive = tar::Builder::new(Vec::new());
    for number in numbers {
        let (image, label) = (image(number), (number % 5).to_string());
        archive.append_data(&mut header(image.len() as u64), format!("{number:06}.jpg"), &image[..]).unwrap();
        archive.append_data(&mut header(label.len() as u64), format!("{number:06}.cls"), label.as_bytes()).unwrap();
    }
    archive.into_inner().unwrap()
}

/// Returns a Parquet file of the samples with these numbers.
pub(crate) fn rows(numbers: std::ops::Range<u32>, compression: Compression) -> Vec<u8> {
    let row = |number: u32| Row {
        image: Some(image(number)),
        path: Some(format!("{number:06}.jpg")),
        label: Some(i64::from(number % 5)),
    };
    let classes = ["a", "b", "c", "d", "e"].map(String::from).to_vec();
    file(&numbers.map(row).collect::<Vec<_>>(), &Style { compression, classes, ..Style::default() })
}

/// Everything that a data set says of its samples.
pub(crate) fn samples(data: &dyn Dataset) -> Vec<(u64, Vec<u8>, Label)> {
    let mut buffer = Vec::new();
    let mut read = |index| {
        let sample = data.read(index, &mut buffer).unwrap_or_else(|error| panic!("{index}: {error}"));
        let SampleData::Encoded(bytes) = sample.data else { panic!("pixels") };
        (data.id(index), bytes.to_vec(), sample.label)
    };
    (0..data.len()).map(&mut read).collect()
}

pub(crate) type Batches = Vec<(Vec<u8>, Vec<Label>)>;

pub(crate) fn batches(data: Arc<dyn Dataset>) -> Batches {
    let loader = DataLoader::builder(data)
        .transform(RandomResizedCrop::new(16))
        .batch_size(16)
        .shuffle(true)
        .order(Order::Blocks { samples: 8, window: 3 })
        .build(&Backend::Cpu)
        .unwrap();
    let bytes = |batch: gpufeed::Result<gpufeed::Batch>| {
        let batch = batch.unwrap();
        let Images::Host(bytes) = batch.images() else { panic!("on a GPU") };
        (bytes.to_vec(), batch.labels().to_vec())
    };
    loader.epoch(1).unwrap().map(bytes).collect()
}

/// Puts files into the bucket and a folder of this machine.
pub(crate) fn both(server: &StoreServer, folder: &Path, files: &[(&str, Vec<u8>)]) {
    for (name, bytes) in files {
        server.put(&format!("bucket/set/{name}"), bytes.clone());
        std::fs::write(folder.join(name), bytes).unwrap();
    }
}

fn compare(what: &str, local: &Arc<dyn Dataset>, remote: Arc<dyn Dataset>) {
    assert!(samples(local) == samples(&remote), "{what}");
    assert_eq!(local.classes(), remote.classes(), "{what}");
    let access = remote.access().expect(what);
    assert!(access.is_remote() && local.access().is_none() && remote.folder().is_none(), "{what}");
    assert_eq!(access.remotes().len(), 1, "{what}");
    assert!(access.prefetch_samples() > 0, "{what}");
    assert!(batches(local.clone()) == batches(remote), "{what}: batches");
}

#[test]
fn with_indexes_in_memory_alone_none_beside_an_object_is_read() {
    let server = StoreServer::start();
    server.put("bucket/t-0.tar", shard(0..20));
    let open = |indexes| {
        let builder = TarShards::builder().remote(options(&server)).indexes(indexes);
        samples(&builder.open(server.web("bucket/t-{0..0}.tar")).unwrap())
    };
    for (indexes, asked) in [(ShardIndexes::Memory, false), (ShardIndexes::Beside, true)] {
        let before = server.requests();
        assert_eq!(open(indexes.clone()).len(), 20);
        let log = server.log();
        let beside = log[before..].iter().any(|request| request.key.ends_with(".gpufeed-index"));
        assert_eq!(beside, asked, "{indexes:?}");
    }
}

#[test]
fn fields_of_parquet_files_in_stores_are_those_on_this_machine() {
    let (server, folder) = (StoreServer::start(), tempfile::tempdir().unwrap());
    let files = crate::parquet_fields::files();
    both(&server, folder.path(), &[("p-0.parquet", files[0].clone()), ("p-1.parquet", files[1].clone())]);
    let builder = || Parquet::builder().fields(FieldChoice::All).allow_unlabelled(true).remote(options(&server));
    let local = builder().open(folder.path().join("p-{0..1}.parquet")).unwrap();
    let remote = builder().open(server.s3("bucket/set/p-{0..1}.parquet")).unwrap();
    assert_eq!(local.fields(), remote.fields());
    assert!(local.access().is_none());
    let access = remote.access().expect("in a store");
    let all: Vec<_> = (0..remote.len()).collect();
    assert!(access.is_remote() && access.prefetch_samples() > 0 && all.len() == 12);
    access.prefetch(&all);
    for index in all {
        let found = crate::parquet_fields::values(&remote, index);
        assert_eq!(found, crate::parquet_fields::values(&local, index), "{index}");
    }
}

#[test]
fn tar_shards_in_stores_are_those_on_this_machine() {
    let (server, folder) = (StoreServer::start(), tempfile::tempdir().unwrap());
    let files = [("t-0.tar", shard(0..40)), ("t-1.tar", shard(40..41)), ("t-2.tar", shard(41..100))];
    both(&server, folder.path(), &files);
    let names = b"one\ntwo\nthree\nfour\nfive\n";
    both(&server, folder.path(), &[("classes.txt", names.to_vec())]);
    server.put("bucket/set/.hidden.tar", "no archive");
    let local: Arc<dyn Dataset> = Arc::new(TarShards::open(folder.path().join("t-{0..2}.tar")).unwrap());
    assert_eq!(local.classes().len(), 5);
    for address in [
        server.s3("bucket/set"),
        server.s3("bucket/set/"),
        server.s3("bucket/set/t-{0..2}.tar"),
        server.web("bucket/set/t-{0..2}.tar"),
    ] {
        let remote = TarShards::builder().remote(options(&server)).open(&address).unwrap();
        assert_eq!((remote.len(), remote.shards()), (100, 3));
        let (shard, key) = remote.key(50).unwrap();
        assert!(shard.to_str().unwrap().ends_with("/set/t-2.tar"), "{}", shard.display());
        assert_eq!(key, "000050");
        compare(&address, &local, Arc::new(remote));
    }
    let list = [server.web("bucket/set/t-2.tar"), server.web("bucket/set/t-0.tar")];
    let some = TarShards::builder().open_list(&list).unwrap();
    assert!(samples(&some)[0].1 == samples(&*local)[41].1);
    // By `dataset::open`, whose settings are those of the environment.
    let opened = dataset::open(server.web("bucket/set/t-{0..2}.tar")).unwrap();
    compare("dataset::open", &local, Arc::from(opened.train));
}

#[test]
fn parquet_files_in_stores_are_those_on_this_machine() {
    for compression in [Compression::UNCOMPRESSED, Compression::SNAPPY] {
        let (server, folder) = (StoreServer::start(), tempfile::tempdir().unwrap());
        let files = [
            ("train-00000-of-00002.parquet", rows(0..45, compression)),
            ("train-00001-of-00002.parquet", rows(45..90, compression)),
            ("test-00000-of-00001.parquet", rows(90..100, compression)),
        ];
        both(&server, folder.path(), &files);
        let (train, test) = Parquet::parts(folder.path()).unwrap();
        let (train, test): (Arc<dyn Dataset>, Arc<dyn Dataset>) = (Arc::new(train), Arc::new(test.unwrap()));
        let builder = || Parquet::builder().remote(options(&server));
        let (far_train, far_test) = builder().parts(server.s3("bucket/set")).unwrap();
        compare("train", &train, Arc::new(far_train));
        compare("test", &test, Arc::new(far_test.unwrap()));
        let list = "bucket/set/train-{00000..00001}-of-00002.parquet";
        compare("web", &train, Arc::new(Parquet::open(server.web(list)).unwrap()));
        compare("split", &test, Arc::new(builder().split("test").open(server.s3("bucket/set")).unwrap()));
        let opened = dataset::open(server.web(list)).unwrap();
        assert!(opened.test.is_none());
        compare("dataset::open", &train, Arc::from(opened.train));
        let error = builder().open(server.s3("bucket/set")).unwrap_err().to_string();
        assert!(error.contains("s3://bucket/set has the splits test, train: choose one"), "{error}");
    }
}

/// A large shard, so that reading it for its index shows in what the server sends.
fn large() -> Vec<u8> {
    let noise: Vec<u8> = (0..40_000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    let names: Vec<_> = (0..50).map(|i| (format!("{i:03}.jpg"), format!("{i:03}.cls"))).collect();
    let members = names.iter().flat_map(|(image, label)| [(&**image, &noise[..]), (&**label, &b"3"[..])]);
    archive(&members.collect::<Vec<_>>())
}

#[test]
fn an_index_is_beside_the_object_or_in_a_folder_and_never_trusted() {
    let server = StoreServer::start();
    let size = large().len() as u64;
    server.put("bucket/x.tar", large());
    let builder = || TarShards::builder().remote(options(&server));
    // What opening sends, and the number of samples.
    let opening = |builder: gpufeed::dataset::TarShardsBuilder| {
        let before = server.sent();
        let data = builder.open(server.s3("bucket/x.tar")).unwrap();
        assert_eq!(data.len(), 50);
        (server.sent() - before, data)
    };
    assert!(opening(builder()).0 > size / 2, "without an index the shard is read");
    assert!(server.object("bucket/.x.tar.gpufeed-index").is_none(), "nothing is written unless that is asked for");

    let folder = tempfile::tempdir().unwrap();
    let here = || builder().indexes(ShardIndexes::Folder(folder.path().into()));
    assert!(opening(here()).0 > size / 2);
    assert!(opening(here()).0 < 1000, "the index is on this machine");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    // In the folder of the cache on disk.
    let cache = tempfile::tempdir().unwrap();
    let cached = || TarShards::builder().remote(options(&server).cache(cache.path(), 1 << 30));
    opening(cached());
    assert_eq!(std::fs::read_dir(cache.path().join("indexes")).unwrap().count(), 1);

    // Put beside the object from what is on this machine, and read from there.
    let sent = opening(here().put_indexes(true)).0;
    assert!(sent < 1000, "{sent}");
    let index = server.object("bucket/.x.tar.gpufeed-index").unwrap();
    let (sent, data) = opening(builder());
    assert!(sent < index.len() as u64 + 1000, "{sent}");
    let expected = samples(&data);

    // Damaged, cut or foreign: the shard is read instead, and its samples are the same.
    for at in [0, 9, 40, 130, index.len() / 2, index.len() - 1] {
        let mut bytes = index.clone();
        bytes[at] ^= 0x10;
        server.put("bucket/.x.tar.gpufeed-index", bytes);
        assert!(samples(&opening(builder()).1) == expected, "byte {at}");
        server.put("bucket/.x.tar.gpufeed-index", &index[..at]);
        assert!(samples(&opening(builder()).1) == expected, "cut at {at}");
    }
    // The index of another content of the object.
    server.put("bucket/.x.tar.gpufeed-index", index);
    server.put("bucket/x.tar", large());
    assert!(opening(builder()).0 > size / 2, "an index of an object that was replaced");
    assert!(opening(here()).0 > size / 2, "an index of an object that was replaced");
    // Put again, by a scan.
    opening(builder().put_indexes(true));
    assert!(opening(builder()).0 < size / 2);

    // Where one may not write, that is an error; where one may not look for the index, it is made.
    server.remove("bucket/.x.tar.gpufeed-index");
    server.script(|request| if request.method == "PUT" { Fault::Status(403) } else { Fault::None });
    let error = builder().put_indexes(true).open(server.s3("bucket/x.tar")).unwrap_err().to_string();
    assert!(error.contains("s3://bucket/.x.tar.gpufeed-index"), "{error}");
    server.script(|request| if request.key.contains("gpufeed-index") { Fault::Status(403) } else { Fault::None });
    assert!(opening(builder()).0 > size / 2);
}

#[test]
fn an_object_that_is_replaced_is_an_error_and_never_other_bytes() {
    let server = StoreServer::start();
    server.put("bucket/x.tar", shard(0..30));
    server.put("bucket/x.parquet", rows(0..30, Compression::UNCOMPRESSED));
    let indexes = tempfile::tempdir().unwrap();
    // The first opening reads all for the index; the second has nothing of the object in memory.
    let open = || -> [Box<dyn Dataset>; 2] {
        let place = || ShardIndexes::Folder(indexes.path().into());
        let tar = TarShards::builder().indexes(place()).open(server.web("bucket/x.tar")).unwrap();
        let parquet = Parquet::builder().indexes(place()).open(server.web("bucket/x.parquet")).unwrap();
        [Box::new(tar), Box::new(parquet)]
    };
    drop(open());
    let sets = open();
    server.put("bucket/x.tar", shard(30..60));
    server.put("bucket/x.parquet", rows(30..60, Compression::UNCOMPRESSED));
    for data in sets {
        let error = data.read(3, &mut Vec::new()).unwrap_err().to_string();
        assert!(error.contains("bucket/x.") && error.contains("changed") || error.contains("replaced"), "{error}");
    }
}

#[test]
fn what_cannot_be_read_from_a_store_says_what_to_write_instead() {
    let server = StoreServer::start();
    server.put("bucket/set/readme.txt", "nothing to read");
    server.put("bucket/x.tar.gz", &b"\x1f\x8b\x08 and so on"[..]);
    let tar = |address: String| {
        let builder = TarShards::builder().remote(options(&server));
        builder.open(address).unwrap_err().to_string()
    };
    let parquet = |address: String| {
        let builder = Parquet::builder().remote(options(&server));
        builder.open(address).unwrap_err().to_string()
    };
    for (error, says) in [
        (tar("ftp://user:secret@host/x.tar".into()), "this scheme is not known"),
        (parquet("hdfs://host/x.parquet".into()), "this scheme is not known"),
        (tar(server.web("bucket/set")), "a web server has no listing; write the files as a brace list"),
        (parquet(server.web("bucket/set")), "a web server has no listing; write the files as a brace list"),
        (tar(server.s3("bucket/t-{0..1000000}.tar")), "it stands for more than a million names"),
        (parquet(server.s3("bucket/t-{0..1000000}.parquet")), "it stands for more than a million names"),
        (tar(server.s3("bucket/t-{0..9.tar")), "has no '}'"),
        (tar(server.s3("bucket/set")), "s3://bucket/set: no samples (looked for *.tar below it)"),
        (parquet(server.s3("bucket/set")), "s3://bucket/set: no samples (looked for *.parquet below it)"),
        (
            tar(server.s3("bucket/x.tar.gz")),
            "compressed with gzip: samples can be reached only in plain tar files, so unpack it",
        ),
        (tar(server.s3("bucket/no.tar")), "s3://bucket/no.tar"),
    ] {
        assert!(error.contains(says) && !error.contains("secret"), "{says}: {error}");
    }
    for name in ["x.csv", "x.npz", "x.mdb"] {
        let error = dataset::open(server.web(&format!("bucket/{name}"))).unwrap_err().to_string();
        assert!(error.contains("only tar shards and Parquet files are read from a store"), "{error}");
    }
    assert_eq!(Format::detect(server.web("bucket/x.tar.gz?signature=x.parquet")), Format::Tar);
    assert_eq!(Format::detect(server.web("bucket/x.parquet?signature=x.tar")), Format::Parquet);
    let mixed = [server.web("bucket/1.tar"), "2.tar".to_owned()];
    let error = TarShards::builder().open_list(&mixed).unwrap_err().to_string();
    assert!(error.contains("some are paths and some addresses"), "{error}");
    // On this machine, too.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.tar.gz");
    std::fs::write(&path, b"\x1f\x8b\x08 and so on").unwrap();
    let error = dataset::open(&path).unwrap_err().to_string();
    assert!(error.contains("compressed with gzip"), "{error}");
}

/// An index beside an object is fetched by what a server says it has: no more than the object's bytes and 1 MiB.
#[test]
fn an_index_that_is_larger_than_its_object_is_not_read() {
    let server = StoreServer::start();
    let object = shard(0..20);
    server.put("bucket/t-0.tar", object.clone());
    let open = || {
        TarShards::builder().remote(options(&server)).put_indexes(true).open(server.s3("bucket/t-{0..0}.tar")).unwrap()
    };
    let expected = samples(&open());
    let beside = "bucket/.t-0.tar.gpufeed-index";
    // Who waits for the rest of it waits in vain.
    server.script(|request| match request.key.ends_with(".gpufeed-index") {
        true => Fault::Stall(1 << 20),
        false => Fault::None,
    });
    for bytes in [object.len() + (1 << 20) + 1, 64 << 20] {
        let asked = server.requests();
        server.put(beside, vec![0; bytes]);
        let options = options(&server).timeout(Duration::from_secs(2)).retries(0);
        let data = TarShards::builder().remote(options).open(server.s3("bucket/t-{0..0}.tar")).unwrap();
        assert!(samples(&data) == expected);
        assert!(server.log()[asked..].iter().any(|request| request.key.ends_with(".gpufeed-index")));
    }
}
