//! Tests that a FIFO or a device under a data file's name is not read: it would hang a run, or fill the memory.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use gpufeed::dataset::{self, ShardIndexes};
use gpufeed::decode::SeekIndexes;
use gpufeed::transforms::CenterCrop;
use gpufeed::{
    Backend, Cifar, DataLoader, Dataset, ErrorKind, Idx, ImageFolder, ImageList, Numpy, OnError, Split, TarShards,
    recipe,
};
use gpufeed_testing::pipeline::{encoded, picture, within};
use image::ImageFormat;
use tempfile::TempDir;

fn fifo(path: &Path) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let made = Command::new("mkfifo").arg(path).status();
    assert!(made.is_ok_and(|made| made.success()), "mkfifo {}", path.display());
}

/// Makes a device that gives endless zeros, like /dev/zero; returns `false` where the user may not make one.
fn zeros(path: &Path) -> bool {
    Command::new("mknod").arg(path).args(["c", "1", "5"]).output().is_ok_and(|made| made.status.success())
}

fn jpeg(number: u32) -> Vec<u8> {
    encoded(picture(number, 40, 30 + number), ImageFormat::Jpeg)
}

/// Returns a folder of one class with twenty images and, under names of images, special files; and the path of each
/// special file with the kind that its error names.
fn folder() -> (TempDir, Vec<(PathBuf, &'static str)>) {
    let root = tempfile::tempdir().unwrap();
    let at = |name: &str| root.path().join("ape").join(name);
    fs::create_dir(root.path().join("ape")).unwrap();
    (0..20).for_each(|number| fs::write(at(&format!("{number:02}.jpg")), jpeg(number)).unwrap());
    fifo(&at("fifo.jpg"));
    symlink(at("fifo.jpg"), at("link to fifo.jpg")).unwrap();
    symlink(at("00.jpg"), at("link to file.jpg")).unwrap();
    let mut special = vec![(at("fifo.jpg"), "FIFO"), (at("link to fifo.jpg"), "FIFO")];
    if zeros(&at("zeros")) {
        symlink(at("zeros"), at("link to zeros.jpg")).unwrap();
        special.push((at("link to zeros.jpg"), "character device"));
    }
    (root, special)
}

#[test]
fn a_run_reports_what_is_no_file_and_goes_on() {
    let (root, special) = folder();
    within(60, "epoch", move || {
        let data = ImageFolder::open(root.path()).unwrap();
        let samples = data.len();
        assert_eq!(samples, 21 + special.len());
        let loader = DataLoader::builder(data).transform(CenterCrop::new(16)).batch_size(8).workers(2);
        let loader = loader.on_error(OnError::Skip { max_share: 1.0 }).seek_indexes(SeekIndexes::Memory);
        let loader = loader.build(&Backend::Cpu).unwrap();
        let batches: Vec<_> = loader.epoch(0).unwrap().map(Result::unwrap).collect();
        let mut failures: Vec<_> = batches.iter().flat_map(|batch| batch.failures()).collect();
        failures.sort_by(|a, b| a.name.cmp(&b.name));
        assert_eq!(failures.len(), special.len(), "the link to a file is none");
        for (failure, (path, kind)) in failures.iter().zip(&special) {
            let text = failure.error.to_string();
            assert!(matches!(failure.error.kind(), ErrorKind::Io { path: named, .. } if named == path), "{text}");
            assert!(text.contains(kind) && text.contains("not a regular file"), "{text}");
        }
    });
}

#[test]
fn a_file_beyond_max_file_bytes_is_not_read() {
    let root = tempfile::tempdir().unwrap();
    fs::create_dir(root.path().join("ape")).unwrap();
    fs::write(root.path().join("ape/1.jpg"), jpeg(1)).unwrap();
    // A sparse file of 1 TiB, which takes no space on the disk.
    fs::File::create(root.path().join("ape/2.jpg")).unwrap().set_len(1 << 40).unwrap();
    fs::write(root.path().join("list.csv"), "ape/1.jpg\nape/2.jpg\n").unwrap();
    let length = jpeg(1).len() as u64;
    let by_default: [Box<dyn Dataset>; 2] = [
        Box::new(ImageFolder::open(root.path()).unwrap()),
        Box::new(ImageList::open(root.path().join("list.csv")).unwrap()),
    ];
    let limited = |limit: u64| -> [Box<dyn Dataset>; 2] {
        [
            Box::new(ImageFolder::builder().max_file_bytes(limit).open(root.path()).unwrap()),
            Box::new(ImageList::builder().max_file_bytes(limit).open(root.path().join("list.csv")).unwrap()),
        ]
    };
    let mut buffer = Vec::new();
    for data in by_default.iter().chain(&limited(length)) {
        assert!(data.read(0, &mut buffer).is_ok());
        let error = data.read(1, &mut buffer).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::FileTooLarge { bytes, .. } if *bytes == 1 << 40), "{error}");
        assert!(buffer.len() < 1 << 20);
    }
    for data in limited(length - 1) {
        let text = data.read(0, &mut buffer).unwrap_err().to_string();
        let says = [
            format!("{length} bytes"),
            format!("at most {} are read; raise max_file_bytes", length - 1),
            "1.jpg".to_owned(),
        ];
        assert!(says.iter().all(|part| text.contains(part)), "{text}");
    }
    let mut archive = tar::Builder::new(Vec::new());
    archive.append_path_with_name(root.path().join("ape/1.jpg"), "1.jpg").unwrap();
    fs::write(root.path().join("1.tar"), archive.into_inner().unwrap()).unwrap();
    let shards = |limit: u64| {
        let shards = TarShards::builder().allow_unlabelled(true).indexes(ShardIndexes::Memory).max_file_bytes(limit);
        shards.open(root.path().join("1.tar")).unwrap()
    };
    assert!(shards(length).read(0, &mut buffer).is_ok());
    let error = shards(length - 1).read(0, &mut buffer).unwrap_err();
    assert!(
        error.to_string().contains("1.tar: 1") && matches!(error.kind(), ErrorKind::FileTooLarge { .. }),
        "{error}"
    );
}

/// Every reader of another program's files refuses a FIFO.
#[test]
fn data_files_of_every_format_are_regular_files() {
    let root = tempfile::tempdir().unwrap();
    let at = |name: &str| root.path().join(name);
    let names = [
        "list.csv",
        "list.jsonl",
        "shard.tar",
        "x.npy",
        "x.npz",
        "recipe.toml",
        "images",
        "labels",
        "good/classes.txt",
    ];
    names.iter().for_each(|name| fifo(&at(name)));
    let image = jpeg(1);
    let mut archive = tar::Builder::new(fs::File::create(at("good/0.tar")).unwrap());
    for (name, content) in [("1.jpg", &image[..]), ("1.cls", b"0")] {
        let mut header = tar::Header::new_ustar();
        header.set_size(content.len() as u64);
        archive.append_data(&mut header, name, content).unwrap();
    }
    archive.into_inner().unwrap().sync_all().unwrap();
    within(60, "opening", move || {
        let at = |name: &str| root.path().join(name);
        let recipe_file = at("recipe.toml");
        let refusals: Vec<(&str, gpufeed::Result<()>)> = vec![
            ("csv", ImageList::open(at("list.csv")).map(drop)),
            ("jsonl", ImageList::open(at("list.jsonl")).map(drop)),
            ("tar", TarShards::open(at("shard.tar")).map(drop)),
            ("npy", Numpy::open(at("x.npy")).map(drop)),
            ("npz", Numpy::new().npz(at("x.npz"), "x", None).map(drop)),
            ("any", dataset::open(at("x.npz")).map(drop)),
            ("recipe", recipe::load(recipe_file.to_str().unwrap()).map(drop)),
            ("IDX", Idx::from_files(at("images"), at("labels")).map(drop)),
            ("class names", TarShards::builder().indexes(ShardIndexes::Memory).open(at("good/0.tar")).map(drop)),
        ];
        for (what, refusal) in refusals {
            let error = refusal.unwrap_err();
            assert!(matches!(error.kind(), ErrorKind::Io { .. }), "{what}: {error}");
            assert!(error.to_string().contains("a FIFO (a named pipe), not a regular file"), "{what}: {error}");
        }
        // These readers look for a regular file first, and a FIFO is none.
        fifo(&at("cifar/data_batch_1.bin"));
        fifo(&at("mnist/train-images-idx3-ubyte"));
        assert!(Cifar::open(at("cifar"), Split::Train).is_err());
        assert!(Idx::mnist(at("mnist"), Split::Train).is_err());
    });
}

/// A FIFO under the name of an index beside a data set is not read, and stays as it is.
#[test]
fn a_fifo_in_an_indexs_place_is_neither_read_nor_replaced() {
    let root = tempfile::tempdir().unwrap();
    let at = |name: &str| root.path().join(name);
    fs::create_dir(at("ape")).unwrap();
    (0..9).for_each(|number| fs::write(at(&format!("ape/{number}.jpg")), jpeg(number)).unwrap());
    let mut archive = tar::Builder::new(fs::File::create(at("0.tar")).unwrap());
    archive.append_dir_all("ape", at("ape")).unwrap();
    archive.into_inner().unwrap().sync_all().unwrap();
    fifo(&at(".gpufeed-seek-index"));
    fifo(&at(".0.tar.gpufeed-index"));
    within(60, "index", move || {
        let loader = DataLoader::builder(ImageFolder::open(root.path()).unwrap()).transform(CenterCrop::new(16));
        let loader = loader.build(&Backend::Cpu).unwrap();
        (0..2).for_each(|epoch| assert_eq!(loader.epoch(epoch).unwrap().filter(Result::is_ok).count(), 9));
        let shards = TarShards::builder().allow_unlabelled(true).open(root.path().join("0.tar")).unwrap();
        assert_eq!(shards.len(), 9);
        for name in [".gpufeed-seek-index", ".0.tar.gpufeed-index"] {
            let kind = fs::symlink_metadata(root.path().join(name)).unwrap().file_type();
            assert!(!kind.is_file(), "{name} was replaced");
        }
    });
}
