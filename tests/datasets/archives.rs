//! Tar shards and LMDBs: archives that other tools write, indexes that cannot be trusted, and archives that are damaged
//! or hostile.

use crate::shard::{archive, header, with_header};
use gpufeed::dataset::{ShardIndexes, TarShards};
use gpufeed::{Backend, DataLoader, Dataset, Images, InMemory, Label, SampleData};
use gpufeed_testing::encoded;
use image::ImageFormat as Codec;
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};
use tar::{Builder, EntryType};
use tempfile::TempDir;

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/archives").join(name)
}

/// Returns the bytes and the label of each sample.
fn samples(data: &dyn Dataset) -> Vec<(Vec<u8>, Label)> {
    let mut buffer = b"left over".to_vec();
    let mut read = |index| {
        let sample = data.read(index, &mut buffer).unwrap();
        let SampleData::Encoded(bytes) = sample.data else { panic!("pixels") };
        (bytes.to_vec(), sample.label)
    };
    (0..data.len()).map(&mut read).collect()
}

fn in_memory() -> gpufeed::dataset::TarShardsBuilder {
    TarShards::builder().indexes(ShardIndexes::Memory)
}

fn stored(bytes: &[u8]) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.tar");
    fs::write(&path, bytes).unwrap();
    (folder, path)
}

fn refused(bytes: &[u8]) -> String {
    let (_folder, path) = stored(bytes);
    let error = TarShards::open(&path).unwrap_err().to_string();
    assert!(error.contains("x.tar: "), "{error}");
    assert!(!path.with_file_name(".x.tar.gpufeed-index").exists(), "an index of an archive that was refused");
    error
}

#[test]
fn archives_of_pythons_tarfile_are_read() {
    let expected: Value = serde_json::from_slice(&fs::read(golden("expected.json")).unwrap()).unwrap();
    let expected = expected.as_array().unwrap();
    for name in ["gnu.tar", "pax.tar"] {
        let path = golden(name);
        let refused = in_memory().extensions(["jpg", "png", "webp"]).open(&path).unwrap_err().to_string();
        assert!(refused.contains("photograph-000003 has a label but no image"), "{refused}");
        // One text is a caption, beside a class.
        let data = in_memory().text_labels(true).open(&path).unwrap();
        assert_eq!((data.len(), data.shards()), (expected.len(), 1));
        assert_eq!(data.classes(), ["cat", "dog", "wug"]);
        for (index, (sample, expected)) in samples(&data).iter().zip(expected).enumerate() {
            assert_eq!(data.key(index), Some((&*path, expected["key"].as_str().unwrap().to_owned())));
            let hash: String = Sha256::digest(&sample.0).iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(hash, expected["sha256"].as_str().unwrap());
            let label = match &expected["label"] {
                Value::Array(values) => {
                    Label::from(values.iter().map(|v| v.as_f64().unwrap() as f32).collect::<Vec<_>>())
                }
                label => Label::Class(label.as_u64().unwrap() as u32),
            };
            assert_eq!(sample.1, label, "{name} {index}");
        }
        assert!(data.name(2).ends_with(": ../../etc/000002"), "{}", data.name(2));
        assert_eq!((data.name(5), data.key(5)), ("sample 5".into(), None));
        assert!(data.read(5, &mut Vec::new()).is_err());
    }
}

#[test]
fn lmdbs_of_py_lmdb_are_read() {
    use gpufeed::dataset::Lmdb;

    let mut expected = samples(&in_memory().text_labels(true).open(golden("pax.tar")).unwrap());
    expected.retain(|(_, label)| matches!(label, Label::Class(_)));
    for name in ["numbered.mdb", "class_and_image.mdb"] {
        // The test opens a copy, and checks that this adds no file to the folder.
        let folder = tempfile::tempdir().unwrap();
        fs::copy(golden(name), folder.path().join("data.mdb")).unwrap();
        let data = Lmdb::open(folder.path()).unwrap();
        assert_eq!(samples(&data), expected, "{name}");
        let names: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, ["data.mdb"], "no lock file");
    }
}

/// Returns a shard of `count` samples, named by their number in the shard, with the classes from `first` on.
fn shard(first: u32, count: u32) -> Vec<u8> {
    shard_of("", first, count)
}

/// Like [`shard`], with `prefix` before the numbers.
fn shard_of(prefix: &str, first: u32, count: u32) -> Vec<u8> {
    let mut archive = Builder::new(Vec::new());
    for number in 0..count {
        let image = encoded::encode(encoded::picture(20 + first + number, 15), Codec::Jpeg);
        archive.append_data(&mut header(image.len() as u64), format!("{prefix}{number:06}.jpg"), &image[..]).unwrap();
        let label = (first + number).to_string();
        archive
            .append_data(&mut header(label.len() as u64), format!("{prefix}{number:06}.cls"), label.as_bytes())
            .unwrap();
    }
    archive.into_inner().unwrap()
}

fn classes(data: &dyn Dataset) -> Vec<u32> {
    let class = |(_, label): (_, Label)| match label {
        Label::Class(class) => class,
        other => panic!("{other:?}"),
    };
    samples(data).into_iter().map(class).collect()
}

#[test]
fn shards_are_opened_by_lists_folders_and_names() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    // The third shard is empty.
    for (name, first, count) in [("t-00.tar", 0, 3), ("t-01.tar", 3, 1), ("t-02.tar", 4, 0), ("t-03.tar", 4, 2)] {
        fs::write(at(name), shard(first, count)).unwrap();
    }
    assert_eq!(classes(&TarShards::open(at("t-{00..03}.tar")).unwrap()), [0, 1, 2, 3, 4, 5]);
    assert_eq!(classes(&TarShards::open(folder.path()).unwrap()), [0, 1, 2, 3, 4, 5]);
    assert_eq!(classes(&TarShards::open(at("t-{03,00}.tar")).unwrap()), [4, 5, 0, 1, 2]);
    assert_eq!(classes(&TarShards::open(at("t-01.tar")).unwrap()), [3]);
    fs::rename(at("t-01.tar"), at("{1}.tar")).unwrap();
    assert_eq!(classes(&TarShards::open(at("{1}.tar")).unwrap()), [3], "a name, not a list");
    let missing = TarShards::open(at("t-{00..01}.tar")).unwrap_err().to_string();
    assert!(missing.contains("t-01.tar"), "{missing}");
    let twice = TarShards::open(at("t-{00,00}.tar")).unwrap_err().to_string();
    assert!(twice.contains("is listed twice"), "{twice}");
    assert!(TarShards::open(at("t-{00..03.tar")).unwrap_err().to_string().starts_with("shards: "));
    assert!(TarShards::open(at("t-02.tar")).unwrap_err().to_string().contains("no samples"));
    fs::write(at(".gpufeed-pack-unfinished"), "").unwrap();
    let unfinished = TarShards::open(folder.path()).unwrap_err().to_string();
    assert!(unfinished.contains("has not finished"), "{unfinished}");
    let nothing = TarShards::open(tempfile::tempdir().unwrap().path()).unwrap_err().to_string();
    assert!(nothing.contains("*.tar"), "{nothing}");
}

#[test]
fn more_shards_than_stay_open_are_read_by_a_loader() {
    let folder = tempfile::tempdir().unwrap();
    let mut same = InMemory::new();
    for number in 0..150 {
        let shard = shard(number % 7, 1);
        fs::write(folder.path().join(format!("{number:03}.tar")), &shard).unwrap();
    }
    let data = TarShards::open(folder.path().join("{000..149}.tar")).unwrap();
    for (bytes, label) in samples(&data) {
        same.push_encoded(bytes, label).unwrap();
    }
    let batches = |data: Box<dyn Dataset>| {
        let loader = DataLoader::builder(data)
            .transform(gpufeed::transforms::RandomResizedCrop::new(16))
            .batch_size(50)
            .shuffle(true)
            .build(&Backend::Cpu)
            .unwrap();
        let bytes = |batch: gpufeed::Result<gpufeed::Batch>| {
            let batch = batch.unwrap();
            let Images::Host(bytes) = batch.images() else { panic!("on a GPU") };
            (bytes.to_vec(), batch.labels().to_vec())
        };
        loader.epoch(1).unwrap().map(bytes).collect::<Vec<_>>()
    };
    let (of_shards, of_memory) = (batches(Box::new(data)), batches(Box::new(same)));
    assert_eq!(of_shards.len(), 3);
    assert!(of_shards == of_memory, "the batches differ");
}

#[test]
fn indexes_are_used_and_never_trusted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.tar");
    let index = folder.path().join(".x.tar.gpufeed-index");
    let time = UNIX_EPOCH + Duration::from_secs(1_700_000_000);
    let write = |bytes: &[u8]| {
        fs::write(&path, bytes).unwrap();
        File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
    };
    write(&shard(0, 40));
    let first = samples(&TarShards::open(&path).unwrap());
    let written = fs::read(&index).unwrap();
    let made = fs::metadata(&index).unwrap().modified().unwrap();
    assert_eq!(samples(&TarShards::open(&path).unwrap()), first);
    assert_eq!(fs::metadata(&index).unwrap().modified().unwrap(), made, "it was built again");

    // An index that is damaged or cut anywhere is rebuilt, with the same samples.
    for at in (0..written.len()).step_by(97) {
        let mut bytes = written.clone();
        bytes[at] ^= 1 << (at % 8);
        if at >= 8 {
            fs::write(&index, &bytes).unwrap();
            assert_eq!(samples(&TarShards::open(&path).unwrap()), first, "byte {at}");
            assert_eq!(fs::read(&index).unwrap(), written, "byte {at}");
        }
        fs::write(&index, &written[..at]).unwrap();
        assert_eq!(samples(&TarShards::open(&path).unwrap()), first, "cut at {at}");
        assert_eq!(fs::read(&index).unwrap(), written, "cut at {at}");
    }
    // With other extensions, the `.cls` members count as before, but no member counts as an image.
    let refused = TarShards::builder().extensions(["png"]).open(&path).unwrap_err().to_string();
    assert!(refused.contains("has a label but no image (.png)"), "{refused}");

    // The old index is not used for another archive of the same length and modification time.
    let other = shard(40, 40);
    let mut longer = shard(0, 40);
    assert_eq!(samples(&TarShards::open(&path).unwrap()).len(), 40);
    let length = other.len().max(longer.len()) + 1024;
    longer.resize(length, 0);
    write(&longer);
    assert_eq!(classes(&TarShards::open(&path).unwrap())[39], 39);
    let mut other = other;
    other.resize(length, 0);
    write(&other);
    assert_eq!(classes(&TarShards::open(&path).unwrap())[39], 79, "a stale index");

    // A user's file that has the index's name stays as it is.
    fs::write(&index, "my thesis").unwrap();
    assert_eq!(classes(&TarShards::open(&path).unwrap())[0], 40);
    assert_eq!(fs::read(&index).unwrap(), b"my thesis");
    fs::remove_file(&index).unwrap();
    // No index is written where the settings forbid it, or where its folder does not exist.
    in_memory().open(&path).unwrap();
    let nowhere = ShardIndexes::Folder(folder.path().join("nowhere"));
    assert_eq!(TarShards::builder().indexes(nowhere).open(&path).unwrap().len(), 40);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    let elsewhere = tempfile::tempdir().unwrap();
    let there = || TarShards::builder().indexes(ShardIndexes::Folder(elsewhere.path().into())).open(&path).unwrap();
    assert_eq!((there().len(), there().len()), (40, 40));
    assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 1);
}

#[test]
fn a_shard_that_changes_under_the_reader_is_an_error() {
    let (_folder, path) = stored(&shard(0, 40));
    let data = TarShards::open(&path).unwrap();
    let before = samples(&data);
    let mut buffer = Vec::new();
    // The new archive's samples begin at the same offsets, but have other names.
    fs::write(&path, shard_of("x", 0, 40)).unwrap();
    for index in 0..40 {
        let error = data.read(index, &mut buffer).unwrap_err().to_string();
        assert!(error.contains(&format!("{index:06} has gone")), "{error}");
    }
    fs::write(&path, shard(0, 40)).unwrap();
    assert_eq!(samples(&data), before);
    fs::write(&path, "").unwrap();
    let error = data.read(3, &mut buffer).unwrap_err().to_string();
    assert!(error.contains("x.tar") && error.contains("000003 has gone"), "{error}");
}

#[test]
fn cut_archives_are_refused_wherever_they_are_cut() {
    let whole = shard(0, 3);
    // After the last member, one block of zeros is enough to end the archive.
    let end = whole.len() - 1024;
    for length in (0..end + 512).step_by(256).chain([1, end - 1, end + 511]) {
        let error = refused(&whole[..length]);
        assert!(error.contains("at byte "), "{length}: {error}");
        if length > 0 && length % 512 == 0 {
            assert!(error.contains("cut short"), "{length}: {error}");
        }
    }
    assert_eq!(classes(&in_memory().open(stored(&whole[..end + 512]).1).unwrap_or_else(|e| panic!("{e}"))).len(), 3);
}

#[test]
fn hostile_members_are_refused_with_their_place() {
    let good: (&str, &[u8]) = ("a/1.cls", b"1");
    let jpeg: (&str, &[u8]) = ("a/1.jpg", b"\xff\xd8\xff");
    for (bytes, says) in [
        (with_header(&[good, jpeg], |h| h.set_size(1 << 30)), "at byte 1024: member a/1.jpg: claims 1073741824 bytes"),
        (with_header(&[good, jpeg], |h| h.set_size(u64::MAX)), "x.tar: at byte 1024"),
        (with_header(&[good, jpeg], |h| h.set_size(u64::MAX / 2)), "x.tar: at byte 1024"),
        (with_header(&[good, jpeg], |h| h.set_entry_type(EntryType::Symlink)), "member a/1.jpg: a link"),
        (with_header(&[good, jpeg], |h| h.set_entry_type(EntryType::Link)), "member a/1.jpg: a link"),
        (with_header(&[good, jpeg], |h| h.set_entry_type(EntryType::Fifo)), "not a regular file"),
        (with_header(&[good, jpeg], |h| h.set_entry_type(EntryType::GNUSparse)), "x.tar: at byte 1024"),
        (archive(&[jpeg, good, ("a/2.jpg", b"x"), ("a/1.txt", b"1")]), "member a/1.txt: its key came before"),
        (archive(&[jpeg, good, jpeg]), "the sample has an image already"),
        (archive(&[jpeg, good, ("a/1.png", b"")]), "the sample has an image already; choose one with TarShardsBuilder"),
        (archive(&[jpeg, good, good]), "the sample has one already"),
        (archive(&[good]), "at byte 0: sample a/1 has a label but no image (.jpg .jpeg"),
        (archive(&[("a/1.json", b"{\"label\": 1}")]), "sample a/1 has a label but no image"),
        (archive(&[jpeg, ("a/1.cls", b"cat")]), "at byte 1024: label of sample a/1, .cls: \"cat\" is not a class"),
        (archive(&[jpeg, ("a/1.json", b"{")]), "label of sample a/1, .json: no JSON"),
        (archive(&[jpeg, ("a/1.cls", &[b'1'; (1 << 20) + 1])]), "at most 1 MiB"),
        (archive(&[("classes.json", b"{}}"), jpeg, good]), "member classes.json: no JSON"),
        // A name that is longer than any path, which the crate would read whole.
        (
            with_header(&[good, ("././@LongLink", &[b'a'; 5 << 20])], |h| h.set_entry_type(EntryType::GNULongName)),
            "a member's headers have more than 4 MiB",
        ),
        (b"\x1f\x8b\x08 and so on".to_vec(), "compressed with gzip"),
        (b"no tar file, but long enough for a header: ".repeat(40), "at byte 0: not a header of a tar archive"),
        (Vec::new(), "cut short"),
    ] {
        let error = refused(&bytes);
        assert!(error.contains(says), "{says}: {error}");
    }
    // These archives are valid, so their indexes are written, but the settings refuse them.
    for (members, says) in [
        (
            &[jpeg][..],
            "at byte 0: sample a/1 has no label (.cls, .json, or a .txt if all of them are numbers); TarShardsBuilder::allow_unlabelled",
        ),
        (&[jpeg, good, ("classes.txt", b"cat")], "sample a/1 is of class 1, but only 1 classes have names"),
        (&[("notes.txt", b"no samples")], "no samples (looked for members that end in .jpg"),
    ] {
        let (_folder, path) = stored(&archive(members));
        let error = TarShards::open(&path).unwrap_err().to_string();
        assert!(error.contains(says), "{says}: {error}");
        assert_eq!(TarShards::open(&path).unwrap_err().to_string(), error, "with the index");
    }
    // Errors print a name with terminal control codes in hexadecimal; the data set returns it unchanged.
    let red: (&str, &[u8]) = ("\x1b[31m.jpg", jpeg.1);
    let error = refused(&with_header(&[red], |h| h.set_entry_type(EntryType::Link)));
    assert!(error.contains("member 0x1b5b33316d2e6a7067: a link"), "{error}");
    let (_folder, path) = stored(&archive(&[red]));
    let data = in_memory().allow_unlabelled(true).open(&path).unwrap();
    assert!(data.name(0).ends_with(": \x1b[31m") && data.key(0).unwrap().1 == "\x1b[31m", "{:?}", data.name(0));
    // A Pax header says that a member is sparse where the tar header does not.
    let mut sparse = Builder::new(Vec::new());
    sparse.append_pax_extensions([("GNU.sparse.major", b"1".as_slice())]).unwrap();
    sparse.append_data(&mut header(3), "a/1.jpg", jpeg.1).unwrap();
    let error = refused(&sparse.into_inner().unwrap());
    assert!(error.contains("sparse members cannot be read"), "{error}");
    // Members that belong to no sample may be of any type.
    let links = with_header(&[jpeg, good, ("a/latest", b"")], |h| h.set_entry_type(EntryType::Symlink));
    assert_eq!(in_memory().open(stored(&links).1).unwrap().len(), 1);
}

/// Archives with flipped bits, with blocks repeated or lost, or with forged headers: an error or samples, never a
/// panic, and no sample as large as the file.
#[test]
fn damaged_archives_never_panic() {
    let random =
        |turn: u64, salt: u64| xxhash_rust::xxh3::xxh3_64(&[turn, salt].map(u64::to_le_bytes).concat()) as usize;
    let (mut refused, mut opened) = (0, 0);
    for (number, name) in ["gnu.tar", "pax.tar"].into_iter().enumerate() {
        let whole = fs::read(golden(name)).unwrap();
        let folder = tempfile::tempdir().unwrap();
        for turn in 0..1000 {
            let mut bytes = whole.clone();
            let turn = turn + 10_000 * number as u64;
            let blocks = bytes.len() / 512 - 4;
            let [a, b] = [1, 2].map(|salt| random(turn, salt) % blocks * 512);
            match turn % 4 {
                0 => (0..1 + random(turn, 3) % 4).for_each(|i| {
                    let at = random(turn, 10 + i as u64) % bytes.len();
                    bytes[at] ^= 1 << (i % 8);
                }),
                1 => bytes.copy_within(a..a + 512, b),
                2 => drop(bytes.drain(a..a + 512)),
                _ => {
                    // The header gets another content and a valid checksum.
                    let at = a + [0, 124, 156, 257][random(turn, 3) % 4];
                    bytes[at] = random(turn, 4) as u8;
                    let sum: u32 =
                        (0..512).map(|i| if (148..156).contains(&i) { 32 } else { u32::from(bytes[a + i]) }).sum();
                    bytes[a + 148..a + 156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
                }
            }
            // Every turn writes a new file, because ext4 waits for the disk when one is overwritten.
            let path = folder.path().join(format!("{turn}.tar"));
            fs::write(&path, &bytes).unwrap();
            match in_memory().allow_unlabelled(true).open(&path) {
                Ok(data) => {
                    assert!(samples(&data).iter().all(|(image, _)| image.len() < bytes.len()));
                    opened += 1;
                }
                Err(_) => refused += 1,
            }
            fs::remove_file(&path).unwrap();
        }
    }
    assert!(refused > 500 && opened > 500, "{refused} {opened}");
}

#[test]
fn samples_without_labels_are_a_setting() {
    let bytes = archive(&[
        ("1.jpg", b"one"),
        ("1.txt", b"a cat"),
        ("2.left.png", b"L"),
        ("2.right.png", b"R"),
        ("2.cls", b"9"),
    ]);
    let (_folder, path) = stored(&bytes);
    assert!(TarShards::open(&path).is_err());
    let builder = || TarShards::builder().allow_unlabelled(true).extensions([".JPG", "right.png"]);
    let data = builder().open(&path).unwrap();
    assert_eq!(samples(&data), [(b"one".to_vec(), Label::None), (b"R".to_vec(), Label::Class(9))]);
    let named = builder().classes((0..10).map(|class| class.to_string())).open(&path).unwrap();
    assert_eq!(named.classes().len(), 10);
    for bad in [&[][..], &[""], &["jpg", "cls"]] {
        let error = TarShards::builder().extensions(bad).open(&path).unwrap_err().to_string();
        assert!(error.starts_with("extensions: "), "{error}");
    }
}
