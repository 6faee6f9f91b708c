//! Sets whose numbers of samples a JSON file says: nothing of their files is read before a sample is.

use crate::stores::{batches, both, options, rows, samples, shard};
use gpufeed::dataset::{Parquet, ShardIndexes, TarShards};
use gpufeed::{Dataset, Label};
use gpufeed_testing::store_server::StoreServer;
use parquet::basic::Compression;
use std::fs;
use std::sync::Arc;

const SIZES: &str = r#"{"t-0.tar": 40, "t-1.tar": 1, "t-2.tar": 59}"#;

/// Shards in a bucket and in a folder, with their sizes.
fn shards(server: &StoreServer, folder: &std::path::Path) {
    let files = [("t-0.tar", shard(0..40)), ("t-1.tar", shard(40..41)), ("t-2.tar", shard(41..100))];
    both(server, folder, &files);
    both(server, folder, &[("sizes.json", SIZES.into())]);
}

/// The objects that were asked for since the last call, in order and without repetitions.
fn asked(server: &StoreServer, seen: &mut usize) -> Vec<String> {
    let log = server.log();
    let mut names: Vec<_> =
        log[*seen..].iter().map(|request| request.key.rsplit('/').next().unwrap().to_owned()).collect();
    *seen = log.len();
    names.dedup();
    names
}

#[test]
fn shards_on_this_machine_are_opened_when_their_samples_are_read() {
    let (server, folder) = (StoreServer::start(), tempfile::tempdir().unwrap());
    shards(&server, folder.path());
    let at = |name: &str| folder.path().join(name);
    let expected = samples(&TarShards::builder().indexes(ShardIndexes::Memory).open(folder.path()).unwrap());
    let open = || TarShards::builder().counts(at("sizes.json")).classes(["a", "b", "c", "d", "e"]).open(folder.path());
    let data = open().unwrap();
    let indexes = || {
        fs::read_dir(folder.path())
            .unwrap()
            .filter(|entry| entry.as_ref().unwrap().file_name().to_string_lossy().ends_with("index"))
            .count()
    };
    assert_eq!((data.len(), data.shards(), indexes()), (100, 3, 0));
    assert_eq!(data.shard(2).unwrap(), at("t-2.tar"));
    data.read(40, &mut Vec::new()).unwrap();
    assert_eq!(indexes(), 1, "one shard was opened");
    assert!(samples(&data) == expected);
    assert_eq!((data.key(99).unwrap().1, indexes()), ("000099".to_owned(), 3));
    // A shard that has gone is an error of its samples alone.
    fs::remove_file(at("t-1.tar")).unwrap();
    let data = TarShards::builder().counts(at("sizes.json")).open(at("t-{0,1,2}.tar")).unwrap();
    let error = data.read(40, &mut Vec::new()).unwrap_err().to_string();
    assert!(error.contains("t-1.tar"), "{error}");
    assert_eq!(data.read(41, &mut Vec::new()).unwrap().label, expected[41].2);
    assert!(data.key(40).is_none() && data.name(40).ends_with("t-1.tar: sample 0"), "{}", data.name(40));
}

#[test]
fn nothing_is_asked_of_a_store_before_a_sample_is_read() {
    let (server, folder) = (StoreServer::start(), tempfile::tempdir().unwrap());
    shards(&server, folder.path());
    let builder = || TarShards::builder().remote(options(&server));
    let list = server.s3("bucket/set/t-{0..2}.tar");
    let local: Arc<dyn Dataset> = Arc::new(TarShards::open(folder.path().join("t-{0..2}.tar")).unwrap());
    builder().put_indexes(true).open(&list).unwrap();
    let mut seen = server.log().len();
    for json in [server.s3("bucket/set/sizes.json"), folder.path().join("sizes.json").display().to_string()] {
        let data = builder().counts(&json).classes(["a", "b", "c", "d", "e"]).open(&list).unwrap();
        let expected: &[&str] = if json.starts_with("s3") { &["sizes.json"] } else { &[] };
        assert_eq!(
            (data.len(), asked(&server, &mut seen)),
            (100, expected.iter().map(|name| (*name).to_owned()).collect()),
            "{json}"
        );
        data.read(40, &mut Vec::new()).unwrap();
        assert_eq!(asked(&server, &mut seen), ["t-1.tar", ".t-1.tar.gpufeed-index", "t-1.tar"]);
        assert!(samples(&data) == samples(&*local));
        asked(&server, &mut seen);
    }
    // Without names of classes, a file beside the first shard may have them, or the first shard.
    let data: Arc<dyn Dataset> = Arc::new(builder().counts(server.s3("bucket/set/sizes.json")).open(&list).unwrap());
    assert_eq!(
        asked(&server, &mut seen),
        ["sizes.json", "classes.txt", "classes.json", "t-0.tar", ".t-0.tar.gpufeed-index"]
    );
    assert!(batches(data) == batches(local), "a loader's batches, with shards opened as they are expected");
}

#[test]
fn parquet_files_are_opened_when_their_rows_are_read() {
    let (server, folder) = (StoreServer::start(), tempfile::tempdir().unwrap());
    let files =
        [("a.parquet", rows(0..45, Compression::UNCOMPRESSED)), ("b.parquet", rows(45..90, Compression::SNAPPY))];
    both(&server, folder.path(), &files);
    fs::write(
        folder.path().join("sizes.json"),
        r#"{"shards": [{"file": "a.parquet", "samples": 45}, {"file": "b.parquet", "samples": 45}]}"#,
    )
    .unwrap();
    let local: Arc<dyn Dataset> = Arc::new(Parquet::open(folder.path()).unwrap());
    let list = server.s3("bucket/set/{a,b}.parquet");
    let builder = Parquet::builder().remote(options(&server)).counts(folder.path().join("sizes.json"));
    let data: Arc<dyn Dataset> = Arc::new(builder.open(&list).unwrap());
    let mut seen = 0;
    // Only the first file: it has the names of the classes.
    assert!(!asked(&server, &mut seen).contains(&"b.parquet".to_owned()));
    assert_eq!(data.classes(), local.classes());
    assert!(batches(data.clone()) == batches(local.clone()) && samples(&data) == samples(&local));
}

#[test]
fn numbers_that_are_wrong_are_errors_that_name_the_file_and_the_json() {
    let (server, folder) = (StoreServer::start(), tempfile::tempdir().unwrap());
    shards(&server, folder.path());
    let at = |name: &str| folder.path().join(name);
    let open = |json: &str| {
        fs::write(at("counts.json"), json).unwrap();
        TarShards::builder().counts(at("counts.json")).classes(["a", "b", "c", "d", "e"]).open(folder.path())
    };
    let refused = |json: &str| open(json).unwrap_err().to_string();
    let error = refused(r#"{"t-0.tar": 40}"#);
    assert!(error.contains("t-1.tar is not in") && error.contains("counts.json"), "{error}");
    let error = refused(r#"{"t-0.tar": 0, "t-1.tar": 0, "t-2.tar": 0}"#);
    assert!(error.contains("no samples"), "{error}");
    let most = u64::MAX;
    let error = refused(&format!(r#"{{"t-0.tar": {most}, "t-1.tar": {most}, "t-2.tar": {most}}}"#));
    assert!(error.contains("counts.json: t-0.tar has 18446744073709551615 samples, but a file has at most"), "{error}");
    let error = TarShards::builder().counts(at("none.json")).open(folder.path()).unwrap_err().to_string();
    assert!(error.contains("none.json"), "{error}");
    let data = open(r#"{"t-0.tar": 40, "t-1.tar": 2, "t-2.tar": 59}"#).unwrap();
    let error = data.read(40, &mut Vec::new()).unwrap_err().to_string();
    for part in ["t-1.tar", "it has 1 samples", "counts.json says 2", "leave `counts` out"] {
        assert!(error.contains(part), "{error}");
    }
    assert_eq!(data.read(39, &mut Vec::new()).unwrap().label, Label::Class(4));
    // Labels are checked when their shard is opened.
    let data = TarShards::builder().counts(at("sizes.json")).classes(["a", "b", "c", "d"]).open(folder.path()).unwrap();
    let error = data.read(0, &mut Vec::new()).unwrap_err().to_string();
    assert!(error.contains("of class 4, but only 4 classes have names"), "{error}");
    assert!(data.read(40, &mut Vec::new()).is_ok(), "its one sample is of class 0");
}
