//! Tests of layouts, wrong settings and cut files.

mod fields;

use super::layout::{COUNT, IMAGE};
use super::*;
use std::fs;
use tempfile::TempDir;

const JPEG: &[u8] = b"\xff\xd8\xff\xe0 not all of it";

/// Writes an LMDB of these pairs.
fn stored(pairs: &[(&[u8], &[u8])]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = LmdbWriter::open(folder.path()).unwrap();
    writer.write(pairs, &[]).unwrap();
    writer.close().unwrap();
    folder
}

fn refused(pairs: &[(&[u8], &[u8])]) -> String {
    let error = Lmdb::open(stored(pairs).path()).unwrap_err().to_string();
    assert!(error.contains("data.mdb"), "{error}");
    error
}

fn samples(data: &Lmdb) -> Vec<(Vec<u8>, Label)> {
    let mut buffer = b"left over".to_vec();
    let mut read = |index| {
        let sample = data.read(index, &mut buffer).unwrap();
        let SampleData::Encoded(bytes) = sample.data else { panic!("pixels") };
        (bytes.to_vec(), sample.label)
    };
    (0..data.len()).map(&mut read).collect()
}

#[test]
fn what_was_written_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let labels = [Label::Class(1), Label::from(vec![0.1, 1e-30]), Label::Class(0)];
    let mut writer = LmdbWriter::open(folder.path()).unwrap();
    writer.put(b"one", &labels[0]).unwrap();
    writer.put(&[7; 100_000], &labels[1]).unwrap();
    writer.commit().unwrap();
    writer.put(b"lost, as it is not committed", &Label::None).unwrap();
    assert_eq!(writer.len(), 3);
    drop(writer);
    let unfinished = Lmdb::open(folder.path()).unwrap_err().to_string();
    assert!(unfinished.contains("not finished"), "{unfinished}");

    let mut writer = LmdbWriter::open(folder.path()).unwrap();
    assert_eq!(writer.len(), 2);
    writer.put(b"", &labels[2]).unwrap();
    writer.finish(&["cat".into(), "dog".into()]).unwrap();
    let names: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["data.mdb"]);
    assert!(LmdbWriter::open(folder.path()).unwrap_err().to_string().contains("exists already"));

    let data = Lmdb::open(folder.path()).unwrap();
    let [one, two, three] = labels;
    assert_eq!(samples(&data), [(b"one".to_vec(), one), (vec![7; 100_000], two), (Vec::new(), three)]);
    assert_eq!((data.classes(), data.folder()), (&["cat".to_owned(), "dog".to_owned()][..], Some(folder.path())));
    assert!(data.name(1).ends_with("data.mdb: image-000000002"), "{}", data.name(1));
    assert!(data.read(3, &mut Vec::new()).is_err());
    // A second opening by another path shares the first's map, and outlives it.
    let again = Lmdb::open(folder.path().join("./data.mdb")).unwrap();
    drop(data);
    assert_eq!(samples(&again).len(), 3);
    drop(again);
    assert_eq!(Lmdb::open(folder.path()).unwrap().len(), 3);
}

#[test]
fn the_map_grows() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = LmdbWriter::open(folder.path()).unwrap();
    // Filling the real map of 1 GiB would take too long, so the test makes the map small.
    writer.shrink_map(1 << 20);
    for number in 0..60 {
        writer.put(&[number; 100_000], &Label::Class(0)).unwrap();
    }
    writer.finish(&[]).unwrap();
    let data = Lmdb::open(folder.path()).unwrap();
    assert!(samples(&data).iter().zip(0..).all(|((bytes, _), number)| *bytes == [number; 100_000]));
    assert_eq!(data.len(), 60);
}

#[test]
fn samples_that_could_not_be_written_wait_for_the_next_try() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = LmdbWriter::open(folder.path()).unwrap();
    writer.put(b"one", &Label::Class(0)).unwrap();
    let other = stored(&[(b"k", JPEG)]);
    let mut full = environment::map_to_read(&other.path().join("data.mdb")).unwrap();
    writer.swap_env(&mut full);
    assert!(writer.commit().is_err());
    assert_eq!(writer.len(), 1);
    writer.swap_env(&mut full);
    writer.put(b"two", &Label::Class(1)).unwrap();
    writer.finish(&[]).unwrap();
    let expected = [(b"one".to_vec(), Label::Class(0)), (b"two".to_vec(), Label::Class(1))];
    assert_eq!(samples(&Lmdb::open(folder.path()).unwrap()), expected);
}

#[test]
fn long_labels_are_committed_as_long_files_are() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = LmdbWriter::open(folder.path()).unwrap();
    // Each label is some 10 MB of digits.
    let label = Label::from(vec![0.123_456_7; 1_000_000]);
    (0..4).for_each(|_| writer.put(b"", &label).unwrap());
    drop(writer);
    assert_eq!(LmdbWriter::open(folder.path()).unwrap().len(), 4);
}

#[test]
fn a_finished_file_that_only_lacks_its_name_is_not_begun_anew() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = LmdbWriter::open(folder.path()).unwrap();
    writer.put(b"one", &Label::Class(0)).unwrap();
    writer.commit().unwrap();
    // Everything that `finish` does, except for the rename.
    writer.write(&[(COUNT, b"1")], &[layout::WRITTEN]).unwrap();
    drop(writer);
    let writer = LmdbWriter::open(folder.path()).unwrap();
    assert_eq!(writer.len(), 1);
    writer.finish(&["cat".into()]).unwrap();
    assert_eq!(samples(&Lmdb::open(folder.path()).unwrap()), [(b"one".to_vec(), Label::Class(0))]);
}

#[test]
fn keys_and_files_or_classes_and_files() {
    let folder = stored(&[(b"b", JPEG), (b"a", JPEG), (b"\xff\x01", JPEG), (b"__len__", b"3")]);
    let data = Lmdb::open(folder.path()).unwrap();
    assert_eq!(samples(&data), vec![(JPEG.to_vec(), Label::None); 3]);
    let path = folder.path().join("data.mdb");
    let names: Vec<_> = (0..4).map(|index| data.name(index)).collect();
    let expected = ["a", "b", "0xff01"].map(|key| format!("{}: {key}", path.display()));
    assert_eq!((&names[..3], names[3].as_str()), (&expected[..], "sample 3"));

    let with_class = |class: u32| [&class.to_le_bytes()[..], JPEG].concat();
    let folder = stored(&[(b"a", &with_class(7)), (b"b", &with_class(1)), (b"classes", b"[\"x\"]")]);
    let wrong = Lmdb::open(folder.path()).unwrap_err().to_string();
    assert!(wrong.contains("of class 7, but only 1 have names"), "{wrong}");
    let data = Lmdb::builder().classes(["?"; 8]).open(folder.path()).unwrap();
    let labels: Vec<_> = samples(&data).into_iter().map(|(bytes, label)| (bytes == JPEG, label)).collect();
    assert_eq!(labels, [(true, Label::Class(7)), (true, Label::Class(1))]);
    let forced = Lmdb::builder().layout(LmdbLayout::Image).open(folder.path()).unwrap();
    assert_eq!(samples(&forced)[0], (with_class(7), Label::None));
}

#[test]
fn sets_that_contradict_themselves_are_refused() {
    let image = (numbered_key(IMAGE, 1), numbered_key(LABEL, 1));
    let (image, label) = (image.0.as_bytes(), image.1.as_bytes());
    let count = (COUNT, b"1".as_slice());
    for (pairs, says) in [
        (&[count, (image, JPEG)][..], "there is no label label-000000001; LmdbBuilder::allow_unlabelled(true)"),
        (&[count, (image, JPEG), (label, b"a word")], "\"a word\", is neither a class nor a list"),
        (
            &[count, (image, JPEG), (label, "long word ".repeat(9).as_bytes())],
            "\"long word long word long word long word ...\", is neither",
        ),
        (&[count, (label, b"1")], "there is no image-000000001"),
        (&[(COUNT, b"2"), (image, JPEG), (label, b"1")], "there is no image-000000002"),
        (&[(COUNT, b"1000"), (image, JPEG)], "num-samples is 1000, but there are only 1 other keys"),
        (&[(COUNT, b"many"), (image, JPEG)], "num-samples is not a number"),
        (&[(COUNT, b"0")], "no samples"),
        (&[], "no samples"),
        (&[(b"k", b"\x80\x04\x95\x10")], "a Python pickle"),
        (&[(b"k", b"text")], "the value of the key k is not an image file"),
        (&[count, (image, JPEG), (label, b"1"), (b"classes", b"cat")], "not a list of names"),
    ] {
        let error = refused(pairs);
        assert!(error.contains(says), "{error}");
    }
    let folder = stored(&[count, (image, JPEG), (label, b"a word")]);
    let words = Lmdb::builder().allow_unlabelled(true).open(folder.path()).unwrap();
    assert_eq!(samples(&words), [(JPEG.to_vec(), Label::None)]);
    let wrong = Lmdb::builder().layout(LmdbLayout::Numbered).open(stored(&[(b"k", JPEG)]).path()).unwrap_err();
    assert!(wrong.to_string().contains("no key num-samples"), "{wrong}");
}

#[test]
fn what_is_no_whole_lmdb_is_refused() {
    let folder = stored(&[(b"a", &[JPEG, &[1; 50_000]].concat()), (b"b", JPEG)]);
    let whole = fs::read(folder.path().join("data.mdb")).unwrap();
    assert!(whole.len() > 50_000);
    for length in (0..whole.len()).step_by(500) {
        let cut = tempfile::tempdir().unwrap();
        fs::write(cut.path().join("data.mdb"), &whole[..length]).unwrap();
        let error = Lmdb::open(cut.path()).unwrap_err().to_string();
        assert!(error.contains("cut short"), "{length}: {error}");
    }
    let cut = tempfile::tempdir().unwrap();
    let file = cut.path().join("words.txt");
    fs::write(&file, "my thesis ".repeat(1000)).unwrap();
    let error = Lmdb::open(&file).unwrap_err().to_string();
    assert!(error.contains("words.txt: not an LMDB file"), "{error}");
    assert!(Lmdb::open(cut.path()).unwrap_err().to_string().contains("data.mdb"));
    assert!(Lmdb::open("/no/such/folder").is_err());
    assert_eq!(fs::read_dir(cut.path()).unwrap().count(), 1, "opening leaves files");
}

#[test]
fn keys_of_metadata_are_no_samples() {
    let pairs: [(&[u8], &[u8]); 5] =
        [(b"000", JPEG), (b"001", JPEG), (b"keys", b"\x80\x04]."), (b"length", b"2"), (b"z9", b"2")];
    let folder = stored(&pairs);
    let data = Lmdb::open(folder.path()).unwrap();
    assert_eq!(data.len(), 3, "a key with a digit is a sample, whatever its value");
    let said: Vec<_> = data.notices().iter().map(Notice::to_string).collect();
    assert_eq!(said, ["labels are none", "2 keys whose value is no image are not read; the first is keys"]);
    let folder = stored(&[(b"a", JPEG), (b"about", b"2")]);
    assert_eq!(Lmdb::open(folder.path()).unwrap().len(), 2, "all keys are words");
}

#[test]
fn length_and_keys_are_no_samples_whatever_the_other_keys_are() {
    let numbers: Vec<[u8; 4]> = (0..100u32).map(u32::to_be_bytes).collect();
    let words: Vec<String> = (b'a'..=b'z').flat_map(|a| [1, 2].map(|n| char::from(a).to_string().repeat(n))).collect();
    let binary: Vec<&[u8]> = numbers.iter().map(|number| &number[..]).collect();
    let named: Vec<&[u8]> = words.iter().map(|word| word.as_bytes()).collect();
    for keys in [&binary[..], &binary[..5], &named, &named[..1]] {
        let mut pairs: Vec<(&[u8], &[u8])> = keys.iter().map(|key| (*key, JPEG)).collect();
        pairs.extend([(&b"keys"[..], &b""[..]), (b"length", b"2")]);
        let data = Lmdb::open(stored(&pairs).path()).unwrap();
        assert_eq!(data.len(), keys.len());
        assert_eq!(data.notices()[1].to_string(), "2 keys whose value is no image are not read; the first is keys");
    }
    // Words among binary numbers.
    let pairs = [(&numbers[0][..], JPEG), (&numbers[1], JPEG), (b"about", b"a set"), (b"length", JPEG)];
    assert_eq!(Lmdb::open(stored(&pairs).path()).unwrap().len(), 3);
}

#[test]
fn labels_that_are_missing_and_images_beyond_are_counted() {
    let images: Vec<String> = (1..=20).map(|number| numbered_key(IMAGE, number)).collect();
    let mut pairs: Vec<(&[u8], &[u8])> = images.iter().map(|key| (key.as_bytes(), JPEG)).collect();
    pairs.extend([(COUNT, &b"3"[..]), (b"label-000000002", b"7")]);
    let folder = stored(&pairs);
    let data = Lmdb::builder().allow_unlabelled(true).open(folder.path()).unwrap();
    let said: Vec<_> = data.notices().iter().map(Notice::to_string).collect();
    assert_eq!(
        said,
        [
            "labels are class numbers from the keys label-000000001 and so on",
            "17 images beyond the 3 of num-samples are not read; the first is image-000000004",
            "2 of 3 samples have no label",
        ]
    );
}

#[test]
fn words_that_are_numbers_are_no_classes() {
    let words: [(&[u8], &[u8]); 5] = [
        (b"num-samples", b"2"),
        (b"image-000000001", JPEG),
        (b"image-000000002", JPEG),
        (b"label-000000001", b"2024"),
        (b"label-000000002", b"cafe"),
    ];
    let folder = stored(&words);
    let data = Lmdb::builder().allow_unlabelled(true).open(folder.path()).unwrap();
    assert_eq!(samples(&data), [(JPEG.to_vec(), Label::None), (JPEG.to_vec(), Label::None)]);
    assert!(data.notices()[0].to_string().contains("are words"));
    let folder = stored(&[&words[..4], &[(b"label-000000002", b"7"), (b"image-000000003", JPEG)]].concat());
    let data = Lmdb::builder().allow_unlabelled(true).open(folder.path()).unwrap();
    assert_eq!(data.read(0, &mut Vec::new()).unwrap().label, Label::Class(2024));
    let said = data.notices()[1].to_string();
    assert_eq!(said, "1 image beyond the 2 of num-samples is not read: image-000000003");
}
