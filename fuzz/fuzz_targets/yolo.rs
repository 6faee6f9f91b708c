//! Fuzzes `Yolo` with a document and a file of annotations.
//!
//! An input is a byte of flags, the document's length in two bytes, the document, and the file of annotations.

#![no_main]

use gpufeed::Dataset;
use gpufeed::dataset::Yolo;
use gpufeed_fuzz::objects::check_all;
use gpufeed_fuzz::readers::{Folder, bounded, control, refused, two};
use gpufeed_testing::counting::Counting;
use libfuzzer_sys::{Corpus, fuzz_target};
use std::sync::LazyLock;

#[global_allocator]
static COUNTING: Counting<1> = Counting;
/// A set with the image `a`, by a folder and by a list.
static FOLDER: LazyLock<Folder> = LazyLock::new(|| {
    let folder = Folder::new();
    for each in ["images", "labels"] {
        std::fs::create_dir_all(folder.path().join(each)).expect("a folder");
    }
    folder.write("images/a.ppm", b"P6 2 1 255\n......");
    folder.write("list.txt", b"./images/a.ppm\n");
    folder
});

/// The flags in the first byte of an input.
const DOCUMENT: u8 = 1;
const SHAPED: u8 = 2;

fuzz_target!(|input: &[u8]| -> Corpus {
    let Some((how, (document, lines))) = control(input).and_then(|(how, rest)| Some((how, two(rest)?))) else {
        return Corpus::Reject;
    };
    // A document can name any folder of the machine, which would be listed.
    if document.iter().any(|byte| b"/\\".contains(byte)) || document.windows(2).any(|pair| pair == b"..") {
        return Corpus::Reject;
    }
    FOLDER.write("labels/a.txt", lines);
    let path = match how & DOCUMENT {
        0 => FOLDER.path().to_owned(),
        _ => FOLDER.write("set.yaml", document),
    };
    let builder = if how & SHAPED == 0 { Yolo::builder() } else { Yolo::builder().kpt_shape(2, 2) };
    match bounded(input.len(), || builder.parts(path)) {
        Ok((train, _)) => {
            let classes = train.classes().len();
            check_all(&train, (classes > 0).then_some(classes));
        }
        Err(error) => drop(refused(&error)),
    }
    Corpus::Keep
});
