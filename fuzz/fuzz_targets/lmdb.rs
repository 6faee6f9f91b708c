//! Fuzzes `Lmdb` with LMDB data files.
//!
//! An input is a byte of flags, and either a data file, or keys and values from which the target makes a data file,
//! with changes to its bytes.

#![no_main]

use gpufeed::Dataset;
use gpufeed::dataset::{FieldChoice, Lmdb, LmdbLayout};
use gpufeed_fuzz::readers::{Folder, bounded, control, refused, samples};
use gpufeed_fuzz_seeds::environment;
use gpufeed_testing::counting::Counting;
use libfuzzer_sys::{Corpus, fuzz_target};
use std::sync::LazyLock;

#[global_allocator]
static COUNTING: Counting<1> = Counting;
static FOLDER: LazyLock<Folder> = LazyLock::new(Folder::new);

/// The flags in the first byte of an input; its two lowest bits choose the layout.
const UNLABELLED: u8 = 4;
const MADE: u8 = 8;
const FIELDS: u8 = 16;

fuzz_target!(|input: &[u8]| -> Corpus {
    let Some((how, rest)) = control(input) else { return Corpus::Reject };
    let file = if how & MADE == 0 { rest.to_vec() } else { made(rest) };
    let path = FOLDER.write("data.mdb", &file);
    let layouts = [LmdbLayout::Auto, LmdbLayout::Numbered, LmdbLayout::ClassAndImage, LmdbLayout::Image];
    let fields = if how & FIELDS == 0 { FieldChoice::None } else { FieldChoice::All };
    let layout = layouts[usize::from(how & 3)];
    let builder = Lmdb::builder().layout(layout).allow_unlabelled(how & UNLABELLED != 0).fields(fields);
    match bounded(file.len(), || builder.open(path)) {
        Ok(data) => {
            assert!(data.len() <= file.len() / 8, "a node takes eight bytes at least");
            samples(&data, file.len());
        }
        Err(error) => drop(refused(&error)),
    }
    Corpus::Keep
});

/// Makes a data file. The input has a number of changes in a byte; each change as an offset of four bytes and the new
/// byte; then the keys and values. A key's length is a byte, a value's length two bytes, and both stand before the key.
fn made(input: &[u8]) -> Vec<u8> {
    let (count, rest) = input.split_first().map_or((0, input), |(count, rest)| (usize::from(count % 16), rest));
    let (changes, mut rest) = rest.split_at(rest.len().min(5 * count));
    let mut entries = Vec::new();
    while let Some((&[key, low, high], behind)) = rest.split_first_chunk() {
        let (key, behind) = behind.split_at(behind.len().min(key.into()));
        let (value, behind) = behind.split_at(behind.len().min(u16::from_le_bytes([low, high]).into()));
        entries.push((key.to_vec(), value.to_vec()));
        rest = behind;
    }
    let mut file = environment::pages(entries);
    let length = file.len();
    for &[a, b, c, d, value] in changes.as_chunks::<5>().0 {
        file[u32::from_le_bytes([a, b, c, d]) as usize % length] = value;
    }
    file
}
