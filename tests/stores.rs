//! Data sets in stores that are not our own: moto as S3, and nginx with a certificate that it made itself.
//! `scripts/test-remote.sh` starts them, and names them in the environment; `cargo test` leaves these tests out.

use gpufeed::dataset::{Parquet, RemoteOptions, RemoteStats, ShardIndexes, TarShards};
use gpufeed::{Backend, DataLoader, DataLoaderBuilder, Dataset, Label, SampleData, dataset, recipe};
use gpufeed_testing::parquet_files::{Row, Style, file};
use gpufeed_testing::pipeline::{Seen, assert_same, encoded, picture, seen, within};
use object_store::aws::AmazonS3Builder;
use object_store::path::Path as Key;
use object_store::{ObjectStoreExt, PutPayload};
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use tempfile::TempDir;

const SHARDS: u32 = 3;
const SAMPLES: u32 = 20;
/// Bytes of a member of each shard that belongs to no sample. It makes a shard longer than one block.
const OTHER: usize = 9 << 20;

/// The address of a server that `scripts/test-remote.sh` has started.
fn told(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set: scripts/test-remote.sh starts the servers"))
}

/// The data sets by name, each with its files.
fn files() -> BTreeMap<&'static str, BTreeMap<String, Vec<u8>>> {
    let image = |number: u32| encoded(picture(number, 40 + number % 7, 30 + number % 5), image::ImageFormat::Jpeg);
    let (mut tars, mut tables) = (BTreeMap::new(), BTreeMap::new());
    for shard in 0..SHARDS {
        let mut archive = tar::Builder::new(Vec::new());
        let mut add = |name: String, content: &[u8]| {
            let mut header = tar::Header::new_ustar();
            header.set_size(content.len() as u64);
            archive.append_data(&mut header, name, content).unwrap();
        };
        let mut rows = Vec::new();
        for number in shard * SAMPLES..(shard + 1) * SAMPLES {
            let (image, label) = (image(number), number % 5);
            add(format!("{number:06}.jpg"), &image);
            add(format!("{number:06}.cls"), label.to_string().as_bytes());
            if number % SAMPLES == SAMPLES / 2 {
                add("other.bin".to_owned(), &vec![7; OTHER]);
            }
            rows.push(Row { image: Some(image), path: Some(format!("{number}.jpg")), label: Some(label.into()) });
        }
        tars.insert(format!("train-{shard}.tar"), archive.into_inner().unwrap());
        let classes = ["a", "b", "c", "d", "e"].map(str::to_owned).to_vec();
        tables.insert(format!("train-{shard}.parquet"), file(&rows, &Style { classes, ..Style::default() }));
    }
    BTreeMap::from([("tar", tars), ("parquet", tables)])
}

/// The files of a data set in a folder, and the address of a brace list of them there.
fn local(files: &BTreeMap<String, Vec<u8>>, folder: &Path) -> String {
    for (name, bytes) in files {
        std::fs::write(folder.join(name), bytes).unwrap();
    }
    list(&folder.display().to_string(), files)
}

fn list(folder: &str, files: &BTreeMap<String, Vec<u8>>) -> String {
    let ending = files.keys().next().unwrap().rsplit('.').next().unwrap();
    format!("{folder}/train-{{0..{}}}.{ending}", SHARDS - 1)
}

/// Makes a bucket, which object_store cannot: with a request of two lines.
fn bucket(name: &str) {
    let server = told("GPUFEED_TEST_S3").replace("http://", "");
    let mut stream = TcpStream::connect(&server).unwrap();
    write!(stream, "PUT /{name} HTTP/1.1\r\nHost: {server}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

/// Puts files below a folder of a bucket.
fn put(bucket: &str, folder: &str, files: &BTreeMap<String, Vec<u8>>) {
    let store = AmazonS3Builder::from_env().with_bucket_name(bucket).build().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    for (name, bytes) in files {
        let key = Key::from(format!("{folder}/{name}"));
        runtime.block_on(store.put(&key, PutPayload::from(bytes.clone()))).unwrap();
    }
}

fn samples(data: &dyn Dataset) -> Vec<(Vec<u8>, Label)> {
    let mut buffer = Vec::new();
    let mut read = |index| {
        let sample = data.read(index, &mut buffer).unwrap();
        let SampleData::Encoded(bytes) = sample.data else { panic!("pixels") };
        (bytes.to_vec(), sample.label)
    };
    (0..data.len()).map(&mut read).collect()
}

/// Opens a data set in a store, with a cache on disk or without.
fn open(format: &str, address: &str, cache: Option<&Path>) -> Box<dyn Dataset> {
    let options = RemoteOptions::new();
    let options = match cache {
        Some(folder) => options.cache(folder, 1 << 30),
        None => options,
    };
    match format {
        "tar" => Box::new(TarShards::builder().remote(options).open(address).unwrap()),
        _ => Box::new(Parquet::builder().remote(options).open(address).unwrap()),
    }
}

/// The batches of two epochs, and the counters of remote reads for them.
fn batches(data: Box<dyn Dataset>) -> (Vec<Seen>, Option<RemoteStats>) {
    let builder = DataLoader::builder(data).recipe(recipe::named("imagenet-train").unwrap()).batch_size(7).workers(1);
    let loader = builder.build(&Backend::Cpu).unwrap();
    let seen = seen(loader.epochs(0..2).unwrap());
    (seen, loader.stats().remote.clone())
}

/// The data set at `address` gives what the one on the local disk gives: at once, and from the cache on disk.
fn same(format: &str, local: &str, address: &str) {
    let (here, there) = (dataset::open(local).unwrap().train, dataset::open(address).unwrap().train);
    assert_eq!(here.len(), (SHARDS * SAMPLES) as usize);
    assert_eq!((here.len(), here.classes()), (there.len(), there.classes()), "{address}");
    assert!(samples(&here) == samples(&there), "{address}: other bytes or labels");
    let (expected, none) = batches(here);
    assert_eq!(none, None, "{local} is not remote");
    let folder = tempfile::tempdir().unwrap();
    for (cache, what) in [(None, "streamed"), (Some(folder.path()), "cold"), (Some(folder.path()), "warm")] {
        let (found, stats) = batches(open(format, address, cache));
        assert_same(&expected, &found, &format!("{address}, {what}"));
        let stats = stats.expect("it is remote");
        assert!(what != "warm" || stats.bytes == 0 && stats.cache_hits > 0, "{address}, {what}: {stats}");
    }
}

fn in_a_bucket(format: &'static str) {
    within(150, format, move || {
        let files = &files()[format];
        let here: TempDir = tempfile::tempdir().unwrap();
        let local = local(files, here.path());
        bucket(&format!("same-{format}"));
        put(&format!("same-{format}"), "data", files);
        same(format, &local, &list(&format!("s3://same-{format}/data"), files));
        // The folder is listed.
        same(format, &local, &format!("s3://same-{format}/data/"));
    });
}

fn on_the_web(format: &'static str, server: &'static str) {
    within(150, format, move || {
        let files = &files()[format];
        let folder = format!("{format}-{}", server.to_ascii_lowercase());
        let root = Path::new(&told("GPUFEED_TEST_WEB_ROOT")).join(&folder);
        let here: TempDir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(&root).unwrap();
        local(files, &root);
        same(format, &local(files, here.path()), &list(&format!("{}/{folder}", told(server)), files));
    });
}

#[test]
fn tar_in_a_bucket_is_what_it_is_on_the_local_disk() {
    in_a_bucket("tar");
}

#[test]
fn parquet_in_a_bucket_is_what_it_is_on_the_local_disk() {
    in_a_bucket("parquet");
}

#[test]
fn tar_behind_https_is_what_it_is_on_the_local_disk() {
    on_the_web("tar", "GPUFEED_TEST_HTTPS");
}

#[test]
fn parquet_behind_https_is_what_it_is_on_the_local_disk() {
    on_the_web("parquet", "GPUFEED_TEST_HTTPS");
}

/// A loader whose batches are made one after the other, with nothing but the next block in memory.
fn slow(data: impl Dataset + 'static) -> DataLoaderBuilder {
    let builder = DataLoader::builder(data).recipe(recipe::named("imagenet-train").unwrap()).shuffle(false);
    builder.batch_size(4).workers(1).queue_depth(1).read_ahead(8 << 20)
}

#[test]
fn an_object_that_is_replaced_in_mid_epoch_is_an_error_that_names_it() {
    within(150, "replaced", || {
        let files = &files()["tar"];
        let (here, indexes) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let expected = slow(TarShards::open(local(files, here.path())).unwrap()).build(&Backend::Cpu).unwrap();
        let expected = seen(expected.epoch(0).unwrap());
        bucket("replaced");
        put("replaced", "data", files);
        let open = || {
            let builder = TarShards::builder().indexes(ShardIndexes::Folder(indexes.path().into()));
            builder.open(list("s3://replaced/data", files)).unwrap()
        };
        // The first opening reads all for the indexes; the second has nothing of the objects in memory.
        drop(open());
        let loader = slow(open()).build(&Backend::Cpu).unwrap();
        let mut batches = loader.epoch(0).unwrap();
        let mut found = vec![Seen::from(&batches.next().unwrap().unwrap())];
        // Other bytes, as many of them.
        let last = "train-2.tar".to_owned();
        let other = files[&last].iter().map(|byte| byte ^ 1).collect();
        put("replaced", "data", &BTreeMap::from([(last, other)]));
        let error = loop {
            match batches.next().expect("the last shard was replaced") {
                Ok(batch) => found.push(Seen::from(&batch)),
                Err(error) => break error.to_string(),
            }
        };
        assert!(error.contains("s3://replaced/data/train-2.tar") && error.contains("was replaced"), "{error}");
        assert!(found.len() <= 10, "{} batches, but ten have no sample of the last shard", found.len());
        assert_same(&expected[..found.len()], &found, "until then");
    });
}

/// `SSL_CERT_FILE` is for the whole process, so another one runs without it: this test again.
#[test]
fn an_untrusted_certificate_of_nginx_is_an_error_that_names_the_setting() {
    within(150, "untrusted", || {
        let address = format!("{}/none-{{0..1}}.tar", told("GPUFEED_TEST_HTTPS"));
        if std::env::var_os("SSL_CERT_FILE").is_some() {
            let mut child = Command::new(std::env::current_exe().unwrap());
            child.args(["an_untrusted_certificate_of_nginx_is_an_error_that_names_the_setting", "--exact"]);
            let child = child.env_remove("SSL_CERT_FILE").output().unwrap();
            assert!(child.status.success(), "{}", String::from_utf8_lossy(&child.stdout));
            let error = dataset::open(&address).unwrap_err().to_string();
            assert!(error.contains("no such object"), "with the certificate nginx answers: {error}");
            return;
        }
        let error = dataset::open(&address).unwrap_err().to_string();
        assert!(error.contains("certificate is not trusted"), "{error}");
        assert!(error.contains("RemoteOptions::certificates") && error.contains("SSL_CERT_FILE"), "{error}");
    });
}

/// Stands before a server, and counts the bytes that it sends. Its threads end with the process.
struct Gate {
    address: String,
    sent: Arc<AtomicU64>,
}

impl Gate {
    fn before(server: String) -> Gate {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let sent = Arc::new(AtomicU64::new(0));
        let counter = sent.clone();
        std::thread::spawn(move || {
            for client in listener.incoming() {
                let (mut client, counter) = (client.unwrap(), counter.clone());
                let mut upstream = TcpStream::connect(server.replace("http://", "")).unwrap();
                let (mut requests, mut server) = (client.try_clone().unwrap(), upstream.try_clone().unwrap());
                std::thread::spawn(move || std::io::copy(&mut requests, &mut upstream));
                std::thread::spawn(move || {
                    let mut buffer = [0; 1 << 16];
                    while let Ok(count @ 1..) = server.read(&mut buffer) {
                        counter.fetch_add(count as u64, Relaxed);
                        if client.write_all(&buffer[..count]).is_err() {
                            break;
                        }
                    }
                    let _ = client.shutdown(Shutdown::Both);
                });
            }
        });
        Gate { address, sent }
    }
}

#[test]
fn indexes_are_put_beside_the_objects_and_the_next_opening_reads_no_shard() {
    within(150, "indexes", || {
        bucket("indexed");
        let files = &files()["tar"];
        put("indexed", "data", files);
        let gate = Gate::before(told("GPUFEED_TEST_S3"));
        let opening = |put_indexes| {
            let options = RemoteOptions::new().store("AWS_ENDPOINT_URL", &*gate.address);
            let before = gate.sent.load(Relaxed);
            let builder = TarShards::builder().remote(options).put_indexes(put_indexes);
            let data = builder.open(list("s3://indexed/data", files)).unwrap();
            (gate.sent.load(Relaxed) - before, samples(&data))
        };
        let ((scan, scanned), (index, indexed)) = (opening(true), opening(false));
        let bytes: usize = files.values().map(Vec::len).sum();
        assert!(scan >= bytes as u64, "the first opening reads all {bytes} bytes, not {scan}");
        assert!(index < 50_000, "the second one reads descriptions and indexes, not {index} bytes");
        assert!(scanned == indexed, "other samples");
    });
}
