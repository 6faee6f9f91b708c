//! Fuzzes `TarShards` with a shard, which is opened by its headers, and then again by the index that the first opening
//! saved.
//!
//! An input is a byte of flags, and the tar archive.

#![no_main]

use gpufeed::dataset::{FieldChoice, TarShards};
use gpufeed::{Dataset, Result};
use gpufeed_fuzz::readers::{Folder, bounded, control, refused, samples};
use gpufeed_testing::counting::Counting;
use libfuzzer_sys::{Corpus, fuzz_target};
use std::sync::LazyLock;

#[global_allocator]
static COUNTING: Counting<1> = Counting;
static FOLDER: LazyLock<Folder> = LazyLock::new(Folder::new);

/// The flags in the first byte of an input.
const UNLABELLED: u8 = 1;
const OTHER_EXTENSIONS: u8 = 2;
/// Corrects the checksums of the headers. Without this flag most changes of an input only make a damaged header.
const SUMMED: u8 = 4;
/// Asks for fields, so that the index lists members.
const FIELDS: u8 = 8;

const BLOCK: usize = 512;
const INDEX: &str = ".x.tar.gpufeed-index";

fuzz_target!(|input: &[u8]| -> Corpus {
    let Some((how, archive)) = control(input) else { return Corpus::Reject };
    let mut archive = archive.to_vec();
    if how & SUMMED != 0 {
        sum(&mut archive);
    }
    FOLDER.remove(INDEX);
    let path = FOLDER.write("x.tar", &archive);
    let open = || -> Result<TarShards> {
        let mut builder = TarShards::builder().allow_unlabelled(how & UNLABELLED != 0);
        if how & OTHER_EXTENSIONS != 0 {
            builder = builder.extensions(["jpg", "left.PNG"]);
        }
        if how & FIELDS != 0 {
            builder = builder.fields(FieldChoice::All);
        }
        builder.open(&path)
    };
    let scanned = match bounded(archive.len(), open) {
        Ok(scanned) => scanned,
        Err(error) => {
            refused(&error);
            return Corpus::Keep;
        }
    };
    assert!(scanned.len() <= archive.len() / BLOCK, "a header for each sample");
    let read = samples(&scanned, archive.len());
    // A member may be no value of its field.
    let all = how & FIELDS != 0 || read.iter().all(|(_, sample)| sample.is_ok());
    assert!(all, "what was scanned a moment ago");
    assert!(FOLDER.path().join(INDEX).is_file(), "the index is kept");
    let kept = bounded(2 * archive.len(), open).expect("what opened a moment ago");
    assert_eq!(samples(&kept, archive.len()), read);
    assert_eq!((kept.len(), kept.classes()), (scanned.len(), scanned.classes()));
    Corpus::Keep
});

/// Corrects the checksum of every header that the sizes in the headers before it lead to.
fn sum(archive: &mut [u8]) {
    let mut at = 0;
    while let Some(header) = archive.get_mut(at..at + BLOCK).filter(|header| header.iter().any(|&byte| byte != 0)) {
        header[148..156].fill(b' ');
        let sum: u32 = header.iter().map(|&byte| u32::from(byte)).sum();
        header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        let size = std::str::from_utf8(&header[124..136]).ok();
        let size = size.and_then(|text| usize::from_str_radix(text.trim_matches(['\0', ' ']), 8).ok());
        at = size.unwrap_or(0).next_multiple_of(BLOCK).saturating_add(at + BLOCK);
    }
}
