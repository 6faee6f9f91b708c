//! Small files of both sets in both layouts, and files that are not whole.

use super::*;
use crate::{Dataset, ErrorKind, Label};
use std::fs;

fn images(heads: &[&[u8]]) -> Vec<u8> {
    let planes = [[10; 1024], [20; 1024], [30; 1024]].concat();
    heads.iter().flat_map(|labels| [labels, &planes[..]].concat()).collect()
}

fn refused(result: Result<Arrays>) -> String {
    let error = result.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::DataFile { .. }), "{error}");
    error.to_string()
}

fn label(data: &Arrays, index: usize) -> Label {
    data.read(index, &mut Vec::new()).unwrap().label
}

#[test]
fn binary_files_of_both_sets() {
    let root = tempfile::tempdir().unwrap();
    let missing = Cifar::open(root.path(), Split::Train).unwrap_err();
    assert!(missing.to_string().contains("cifar-10-batches-py/data_batch_1, cifar-100-python/train, "), "{missing}");
    let folder = root.path().join("cifar-10-batches-bin");
    fs::create_dir(&folder).unwrap();
    for file in 1..=5u8 {
        fs::write(folder.join(format!("data_batch_{file}.bin")), images(&[&[file], &[0]])).unwrap();
    }
    let train = Cifar::open(root.path(), Split::Train).unwrap();
    assert_eq!((train.len(), train.channels(), train.width(), train.height()), (10, 3, 32, 32));
    assert_eq!(train.targets(), Some(&[1, 0, 2, 0, 3, 0, 4, 0, 5, 0][..]));
    assert!(train.pixels().chunks_exact(3).all(|pixel| pixel == [10, 20, 30]));
    assert!(train.classes().is_empty());
    fs::write(folder.join("batches.meta.txt"), "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\n\n").unwrap();
    assert_eq!(Cifar::open(&folder, Split::Train).unwrap().classes()[9], "j");
    fs::write(folder.join("batches.meta.txt"), "a\nb\n").unwrap();
    assert!(refused(Cifar::open(&folder, Split::Train)).contains("batches.meta.txt, lines: 2 names"));
    fs::remove_file(folder.join("data_batch_4.bin")).unwrap();
    let missing = Cifar::open(&folder, Split::Train).unwrap_err();
    assert!(matches!(missing.kind(), ErrorKind::Io { path, .. } if path.ends_with("data_batch_4.bin")));

    let hundred = root.path().join("hundred");
    fs::create_dir(&hundred).unwrap();
    fs::write(hundred.join("train.bin"), images(&[&[19, 99], &[3, 5]])).unwrap();
    assert_eq!(label(&Cifar::open(&hundred, Split::Train).unwrap(), 0), Label::Class(99));
    assert_eq!(label(&Cifar::coarse(&hundred, Split::Train).unwrap(), 1), Label::Class(3));
}

#[test]
fn binary_files_that_are_not_whole_or_have_other_labels() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("test_batch.bin");
    let whole = images(&[&[1], &[2]]);
    let read = |bytes: &[u8]| {
        fs::write(&path, bytes).unwrap();
        Cifar::open(root.path(), Split::Test)
    };
    assert_eq!(read(&whole).unwrap().len(), 2);
    for end in (0..whole.len()).step_by(61).chain([1, 3072, 3074, 6145]).filter(|end| *end != 3073) {
        refused(read(&whole[..end]));
    }
    assert!(refused(read(&whole[..3073 + 5])).contains("byte 3073: 5 bytes, but an image and its labels take 3073"));
    let error = refused(read(&images(&[&[1], &[10]])));
    assert!(error.ends_with("test_batch.bin, byte 3073: label 10 of image 1, but there are 10 classes"), "{error}");
}

#[test]
fn the_files_of_a_part_are_bounded_together() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("data_batch_5.bin");
    let target = &LAYOUTS[2].fine;
    // Earlier files have left room for one image, not for two.
    let before = MOST_BYTES as usize - 4000;
    for (heads, fits) in [(&[&[1][..]][..], true), (&[&[1], &[2]], false)] {
        fs::write(&path, images(heads)).unwrap();
        let (mut planes, mut labels) = (vec![0; before], Vec::new());
        let read = records(&path, target, &mut planes, &mut labels);
        assert_eq!((read.is_ok(), labels.len()), (fits, usize::from(fits)));
        if let Err(error) = read {
            assert!(error.to_string().contains("a part of CIFAR, 256 MiB at most, should end here"), "{error}");
        }
    }
}

/// Writes a test batch of `count` images in pickle protocol 4.
fn pickled(count: u16, labels: &[u8], width: u16, key: &str) -> Vec<u8> {
    let text = |text: &str| [&[0x8C, text.len() as u8], text.as_bytes()].concat();
    let list: Vec<u8> = labels.iter().flat_map(|&label| [b'K', label]).collect();
    let pixels: Vec<u8> = (0..count).flat_map(|n| (0..width).map(move |i| (i / 1024 * 10 + n) as u8)).collect();
    let mut bytes = [b"\x80\x04}(", &text(key)[..], b"](", &list, b"e", &text("data")].concat();
    bytes.extend([text("numpy._core.multiarray"), text("_reconstruct"), b"\x93".to_vec()].concat());
    bytes.extend([text("numpy"), text("ndarray"), b"\x93K\x00\x85C\x01b\x87R(K\x01M".to_vec()].concat());
    bytes.extend([&count.to_le_bytes()[..], b"M", &width.to_le_bytes(), b"\x86"].concat());
    bytes.extend([&text("numpy")[..], &text("dtype"), b"\x93", &text("u1"), b"\x89\x88\x87R(K\x03"].concat());
    bytes.extend([&text("|")[..], b"NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb\x89B"].concat());
    bytes.extend([&(pixels.len() as u32).to_le_bytes()[..], &pixels, b"tbu."].concat());
    bytes
}

#[test]
fn pickles_of_both_sets() {
    let root = tempfile::tempdir().unwrap();
    let write = |file: &str, bytes: &[u8]| fs::write(root.path().join(file), bytes).unwrap();
    write("test_batch", &pickled(2, &[7, 9], 3072, "labels"));
    let data = Cifar::open(root.path(), Split::Test).unwrap();
    assert_eq!((data.len(), label(&data, 1)), (2, Label::Class(9)));
    assert_eq!(data.pixels()[3072..3078], [1, 11, 21, 1, 11, 21]);

    let other = |bytes: &[u8]| {
        write("test_batch", bytes);
        refused(Cifar::open(root.path(), Split::Test))
    };
    assert!(other(&pickled(2, &[7, 9], 3072, "fine_labels")).ends_with("test_batch, entry \"labels\": it is missing"));
    assert!(other(&pickled(2, &[7], 3072, "labels")).contains("1 labels, but there are 2 images"));
    assert!(other(&pickled(2, &[7, 10], 3072, "labels")).contains("labels 10 of image 1, but there are 10 classes"));
    assert!(other(&pickled(2, &[7, 9], 3071, "labels")).contains("shape [2, 3071]"));
    assert!(other(b"cposix\nsystem\n(S'true'\ntR.").contains("test_batch, byte 0: the class posix.system"));
    let whole = pickled(1, &[0], 3072, "labels");
    for end in (0..whole.len()).step_by(37) {
        other(&whole[..end]);
    }
    fs::remove_file(root.path().join("test_batch")).unwrap();

    write("test", &pickled(1, &[42], 3072, "fine_labels"));
    assert_eq!(label(&Cifar::open(root.path(), Split::Test).unwrap(), 0), Label::Class(42));
    assert!(refused(Cifar::coarse(root.path(), Split::Test)).contains("entry \"coarse_labels\": it is missing"));
    write("meta", b"}U\x10fine_label_names](U\x05appleU\x04bearesU\x01xNs.");
    assert!(refused(Cifar::open(root.path(), Split::Test)).contains("2 names, but there are 100 classes"));
    write("meta", b"}.");
    assert!(
        refused(Cifar::open(root.path(), Split::Test))
            .ends_with("entry \"fine_label_names\": it is not a list of names")
    );
}
