//! Fuzzes `ImageList` with lists in CSV, TSV and JSON lines.
//!
//! An input is a byte that chooses the format and the settings, and the list.

#![no_main]

use gpufeed::{Dataset, ImageList, Label};
use gpufeed_fuzz::readers::{Folder, bounded, control, refused};
use gpufeed_testing::counting::Counting;
use libfuzzer_sys::{Corpus, fuzz_target};
use std::mem::discriminant;
use std::sync::LazyLock;

#[global_allocator]
static COUNTING: Counting<1> = Counting;
/// The folder of the list, which has a single image, `a`.
static FOLDER: LazyLock<Folder> = LazyLock::new(|| {
    let folder = Folder::new();
    folder.write("a", b"an image");
    folder
});

fuzz_target!(|input: &[u8]| -> Corpus {
    let Some((how, list)) = control(input) else { return Corpus::Reject };
    let path = FOLDER.write(["x.csv", "x.tsv", "x.jsonl", "x"][usize::from(how % 4)], list);
    let builder = match how >> 2 & 3 {
        0 => ImageList::builder().header(true),
        1 => ImageList::builder().header(false),
        _ => ImageList::builder(),
    };
    let names = how & 16 != 0;
    let data = match bounded(list.len(), || builder.class_names(names).open(path)) {
        Ok(data) => data,
        Err(error) => {
            refused(&error);
            return Corpus::Keep;
        }
    };
    assert!(!data.is_empty() && data.len() <= list.len(), "a sample takes a byte at least");
    assert!(data.classes().is_sorted_by(|a, b| a < b), "each class once, in order");
    let mut labels = Vec::new();
    for index in 0..data.len() {
        let image = data.path(index).expect("a path for each sample");
        assert!(image.is_absolute(), "{}", image.display());
        assert!(!data.name(index).is_empty());
        // Only the image `a` is read, because a list can name any file of the machine. The paths are compared as text,
        // because "a/" equals "a" as a path but names no file.
        if image.as_os_str() == FOLDER.path().join("a").as_os_str() {
            labels.push(data.read(index, &mut Vec::new()).expect("the image").label);
        }
    }
    for label in &labels {
        match (label, data.classes().len()) {
            (Label::Class(class), 1..) => assert!((*class as usize) < data.classes().len()),
            (Label::Class(_), 0) => assert!(!names),
            (Label::Multi(values), 0) => assert!(values.iter().all(|value| value.is_finite())),
            (Label::None, 0) => {}
            (label, classes) => panic!("{label:?} with {classes} classes"),
        }
        assert_eq!(discriminant(label), discriminant(&labels[0]), "labels are of one kind");
    }
    Corpus::Keep
});
