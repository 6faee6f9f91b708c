//! Names of files and folders by which each format is known, and what else may be there.

use super::*;

#[test]
fn each_format_is_known_by_its_names() {
    let root = tempfile::tempdir().unwrap();
    let at = |name: &str| root.path().join(name);
    for (file, folder, format) in [
        ("tars/1.tar", "tars", Format::Tar),
        ("lmdb/data.mdb", "lmdb", Format::Lmdb),
        ("mnist/train-images-idx3-ubyte.gz", "mnist", Format::Idx),
        ("MNIST/raw/t10k-images-idx3-ubyte", "MNIST", Format::Idx),
        ("c10/cifar-10-batches-py/data_batch_1", "c10", Format::Cifar),
        ("c100/test.bin", "c100", Format::Cifar),
        ("folder/cat/1.jpg", "folder", Format::Folder),
        ("images/1.jpg", "images", Format::Images),
        ("list.jsonl", "list.jsonl", Format::List),
        ("list.json", "list.json", Format::List),
        ("a/instances_val2017.json", "a/instances_val2017.json", Format::Coco),
        ("person_keypoints_x.JSON", "person_keypoints_x.JSON", Format::Coco),
        ("b/_annotations.coco.json", "b/_annotations.coco.json", Format::Coco),
        ("instances_val2017.jsonl", "instances_val2017.jsonl", Format::List),
        ("VOC2007/JPEGImages/1.jpg", "VOC2007", Format::Folder),
        ("VOC2012/ImageSets/Main/val.txt", "VOC2012/ImageSets/Main/val.txt", Format::Voc),
        ("coco8.yaml", "coco8.yaml", Format::Yolo),
        ("data.YML", "data.YML", Format::Yolo),
        ("x.npz", "x.npz", Format::Numpy),
        ("x.mdb", "x.mdb", Format::Lmdb),
        ("x.parquet", "x.parquet", Format::Parquet),
        #[cfg(feature = "parquet")]
        ("hub/data/train-00000-of-00001.parquet", "hub", Format::Parquet),
    ] {
        fs::create_dir_all(at(file).parent().unwrap()).unwrap();
        fs::write(at(file), b"not read").unwrap();
        assert_eq!(Format::detect(at(folder)), format, "{folder}");
    }
    assert_eq!(Format::detect(at("no-{0..3}.tar")), Format::Tar);
    // A missing path is not taken for an image folder, and the error names it.
    assert!(open(at("nothing")).unwrap_err().to_string().contains("nothing"));
}

#[test]
fn an_address_of_no_known_store_is_refused_without_its_credentials() {
    let error = open("ftp://user:secret@host/a.tar").unwrap_err().to_string();
    assert!(error.starts_with("address: ftp://host/a.tar: this scheme is not known"), "{error}");
}

#[test]
fn folders_with_something_else_in_them() {
    let root = tempfile::tempdir().unwrap();
    let detect = |folder: &str, files: &[&str]| {
        for file in files {
            let path = root.path().join(folder).join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, b"not read").unwrap();
        }
        Format::detect(root.path().join(folder))
    };
    assert_eq!(detect("classes", &["cat/1.jpg", "dog/2.jpg", "download.tar"]), Format::Folder);
    assert_eq!(detect("images", &["1.jpg", ".thumbnails/1.png", ".git/HEAD"]), Format::Images);
    assert_eq!(detect("shards", &["1.tar", ".git/HEAD"]), Format::Tar);
    // img2dataset's, where it was stopped.
    assert_eq!(detect("laion", &["00000.tar", "00000.parquet", "00000_stats.json", "_tmp/1.feather"]), Format::Tar);
    assert_eq!(detect("hidden", &["1.jpg", ".1.tar"]), Format::Images);
    // Images in hidden folders do not count.
    assert_eq!(open(root.path().join("images")).unwrap().train.len(), 1);
}

#[test]
fn what_is_not_finished_says_so() {
    for mark in [UNFINISHED, ".data.mdb.part"] {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join(mark), b"").unwrap();
        fs::write(root.path().join("1.jpg"), b"").unwrap();
        let error = open(root.path()).unwrap_err().to_string();
        assert!(error.contains("finished"), "{mark}: {error}");
    }
}

/// Writes the files of a part: `count` images of 1x1 pixels, all of class `label`.
fn idx(folder: &Path, stem: &str, count: u8, label: u8) {
    let images = [&[0, 0, 8, 3, 0, 0, 0, count, 0, 0, 0, 1, 0, 0, 0, 1][..], &vec![9; count.into()]].concat();
    let labels = [&[0, 0, 8, 1, 0, 0, 0, count][..], &vec![label; count.into()]].concat();
    fs::create_dir_all(folder).unwrap();
    fs::write(folder.join(format!("{stem}-images-idx3-ubyte")), images).unwrap();
    fs::write(folder.join(format!("{stem}-labels-idx1-ubyte")), labels).unwrap();
}

#[test]
fn names_of_classes_are_those_of_the_data_set() {
    let root = tempfile::tempdir().unwrap();
    for (folder, names) in [("MNIST", Some("9 - nine")), ("FashionMNIST", Some("Ankle boot")), ("other", None)] {
        let folder = root.path().join(folder);
        idx(&folder.join("raw"), "train", 2, 9);
        for folder in [&folder, &folder.join("raw")] {
            let opened = open(folder).unwrap();
            assert_eq!(opened.train.classes().get(9).map(String::as_str), names, "{}", folder.display());
        }
    }
    // The label 30 is above the ten digits, so the classes get no names.
    idx(&root.path().join("symbols"), "train", 2, 30);
    assert!(open(root.path().join("symbols")).unwrap().train.classes().is_empty());
}

#[test]
fn a_part_of_emnist_is_known_by_its_names() {
    let root = tempfile::tempdir().unwrap();
    idx(&root.path().join("raw"), "emnist-letters-train", 3, 26);
    assert_eq!(Format::detect(root.path()), Format::Idx);
    let opened = open(root.path()).unwrap();
    assert_eq!((opened.train.len(), opened.train.classes().len(), opened.test.is_some()), (3, 27, false));
    idx(root.path(), "emnist-letters-test", 2, 1);
    assert_eq!(open(root.path()).unwrap().test.unwrap().len(), 2);
    idx(root.path(), "emnist-digits-test", 2, 1);
    let error = open(root.path()).unwrap_err().to_string();
    assert!(error.contains("the parts letters, digits of EMNIST"), "{error}");
}

#[test]
fn a_set_in_two_parts_may_lack_the_second() {
    let root = tempfile::tempdir().unwrap();
    let image = |class: u8| [&[class][..], &[9; 3072]].concat();
    fs::write(root.path().join("data_batch_1.bin"), image(3)).unwrap();
    for batch in 2..6 {
        fs::write(root.path().join(format!("data_batch_{batch}.bin")), image(4)).unwrap();
    }
    let opened = open(root.path()).unwrap();
    assert_eq!((opened.train.len(), opened.test.is_some()), (5, false));
    // The second part of another data set does not count.
    fs::create_dir(root.path().join("cifar-100-binary")).unwrap();
    fs::write(root.path().join("cifar-100-binary/test.bin"), [&[0][..], &image(5)].concat()).unwrap();
    assert!(open(root.path()).unwrap().test.is_none());
    fs::write(root.path().join("test_batch.bin"), image(5)).unwrap();
    assert_eq!(open(root.path()).unwrap().test.map(|test| test.len()), Some(1));
    // A damaged second part is an error.
    fs::write(root.path().join("test_batch.bin"), b"cut short").unwrap();
    assert!(open(root.path()).is_err());
    // A second part of which a file is missing is an error.
    let mnist = tempfile::tempdir().unwrap();
    idx(mnist.path(), "train", 2, 1);
    idx(mnist.path(), "t10k", 1, 1);
    assert_eq!(open(mnist.path()).unwrap().test.map(|test| test.len()), Some(1));
    fs::remove_file(mnist.path().join("t10k-labels-idx1-ubyte")).unwrap();
    assert!(open(mnist.path()).unwrap_err().to_string().contains("t10k-labels-idx1-ubyte"));
}
