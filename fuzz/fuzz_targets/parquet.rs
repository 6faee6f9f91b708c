//! Fuzzes `Parquet` with a file, which is opened by its pages, and then again by the index that the first opening saved.
//!
//! An input is a byte of flags, and the file.

#![no_main]

use gpufeed::dataset::{Field, FieldChoice, FieldKind, Parquet};
use gpufeed::{Dataset, Result};
use gpufeed_fuzz::readers::{Folder, bounded_packed, control, refused, samples};
use gpufeed_testing::counting::Counting;
use libfuzzer_sys::{Corpus, fuzz_target};
use std::sync::LazyLock;

#[global_allocator]
static COUNTING: Counting<1> = Counting;
static FOLDER: LazyLock<Folder> = LazyLock::new(Folder::new);

/// The flags in the first byte of an input.
const UNLABELLED: u8 = 1;
const NAMED_COLUMNS: u8 = 2;
/// Corrects the length of the footer and the magic number at the end, which most changes of a length spoil.
const ENDED: u8 = 4;
/// Reads all other columns as fields, or some by name.
const ALL_FIELDS: u8 = 8;
const SOME_FIELDS: u8 = 16;

const INDEX: &str = ".x.parquet.gpufeed-index";
/// The most bytes that zstd can make of one, in proportion: blocks of one repeated byte.
const LONGEST: usize = 1 << 20;

fuzz_target!(|input: &[u8]| -> Corpus {
    let Some((how, file)) = control(input) else { return Corpus::Reject };
    let mut file = file.to_vec();
    if how & ENDED != 0 {
        file.extend_from_slice(&(file.len() as u32 / 3).to_le_bytes());
        file.extend_from_slice(b"PAR1");
    }
    FOLDER.remove(INDEX);
    let path = FOLDER.write("x.parquet", &file);
    let fields = match how & (ALL_FIELDS | SOME_FIELDS) {
        0 => FieldChoice::None,
        ALL_FIELDS => FieldChoice::All,
        _ => FieldChoice::from([
            ("image.path", Field::new("path").optional()),
            ("label", Field::new("number").kind(FieldKind::Json)),
            ("image", Field::new("picture")),
        ]),
    };
    let with_fields = fields != FieldChoice::None;
    let open = || -> Result<Parquet> {
        let mut builder = Parquet::builder().fields(fields.clone()).allow_unlabelled(how & UNLABELLED != 0);
        if how & NAMED_COLUMNS != 0 {
            builder = builder.image_column("image").label_column("label");
        }
        builder.open(&path)
    };
    let scanned = match bounded_packed(file.len(), open) {
        Ok(scanned) => scanned,
        Err(error) => {
            refused(&error);
            return Corpus::Keep;
        }
    };
    assert!(scanned.len() <= file.len(), "a byte for each row");
    let read = samples(&scanned, LONGEST.max(file.len() * 64));
    // Pages of fields are read with the samples, and may be damaged.
    assert!(with_fields || read.iter().all(|(_, sample)| sample.is_ok()), "what was scanned a moment ago");
    check_fields(&scanned);
    let kept = bounded_packed(2 * file.len(), open).expect("what opened a moment ago");
    assert_eq!(samples(&kept, LONGEST.max(file.len() * 64)), read);
    assert_eq!((kept.len(), kept.classes()), (scanned.len(), scanned.classes()));
    Corpus::Keep
});

/// Reads the fields of the first samples, whose kinds have to be those that the set says.
fn check_fields(data: &Parquet) {
    let mut buffer = Vec::new();
    for index in 0..data.len().min(32) {
        let Ok(sample) = data.read(index, &mut buffer) else { continue };
        assert_eq!(sample.fields.len(), data.fields().len());
        for (value, field) in sample.fields.iter().zip(data.fields()) {
            assert!(value.kind().is_none_or(|kind| Some(kind) == field.values()), "{field}");
        }
    }
}
