//! Fuzzes `Voc` with an annotation and a list of a split.
//!
//! An input is a byte of flags, the annotation's length in two bytes, the annotation, and the list.

#![no_main]

use gpufeed::Dataset;
use gpufeed::dataset::Voc;
use gpufeed_fuzz::objects::check_all;
use gpufeed_fuzz::readers::{Folder, bounded, control, refused, two};
use gpufeed_testing::counting::Counting;
use libfuzzer_sys::{Corpus, fuzz_target};
use std::sync::LazyLock;

#[global_allocator]
static COUNTING: Counting<1> = Counting;
/// VOC's folders, with the images `a` and `b`, and an annotation of `b`.
static FOLDER: LazyLock<Folder> = LazyLock::new(|| {
    let folder = Folder::new();
    for each in ["JPEGImages", "Annotations", "ImageSets/Main"] {
        std::fs::create_dir_all(folder.path().join(each)).expect("a folder");
    }
    for image in ["a", "b"] {
        folder.write(&format!("JPEGImages/{image}.ppm"), b"an image");
    }
    folder.write("Annotations/b.xml", b"<annotation/>");
    folder
});

/// The flags in the first byte of an input.
const SPLIT: u8 = 1;
const ONE_BASED: u8 = 2;
const NAMED: u8 = 4;

fuzz_target!(|input: &[u8]| -> Corpus {
    let Some((how, (annotation, list))) = control(input).and_then(|(how, rest)| Some((how, two(rest)?))) else {
        return Corpus::Reject;
    };
    FOLDER.write("Annotations/a.xml", annotation);
    FOLDER.write("ImageSets/Main/s.txt", list);
    let mut builder = Voc::builder().one_based(how & ONE_BASED != 0);
    if how & SPLIT != 0 {
        builder = builder.split("s");
    }
    if how & NAMED != 0 {
        builder = builder.classes(["cat", "dog"]);
    }
    match bounded(input.len(), || builder.open(FOLDER.path())) {
        Ok(data) => {
            assert!((1..=2).contains(&data.len()));
            let objects = check_all(&data, Some(data.classes().len()));
            assert!(objects <= annotation.len() / 100, "an object takes more than 100 bytes");
        }
        Err(error) => drop(refused(&error)),
    }
    Corpus::Keep
});
