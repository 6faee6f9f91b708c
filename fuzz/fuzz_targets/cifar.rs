//! Fuzzes `Cifar` with a binary batch file and a file of class names.
//!
//! An input is a byte of flags, the batch's length in two bytes, the batch, and the file of names.

#![no_main]

use gpufeed::{Cifar, Dataset, Split};
use gpufeed_fuzz::readers::{Folder, bounded_packed, control, refused, samples, two};
use gpufeed_testing::counting::Counting;
use libfuzzer_sys::{Corpus, fuzz_target};
use std::sync::LazyLock;

#[global_allocator]
static COUNTING: Counting<1> = Counting;
static FOLDER: LazyLock<Folder> = LazyLock::new(Folder::new);

/// The flags in the first byte of an input.
const HUNDRED: u8 = 1;
const COARSE: u8 = 2;
/// Fills up the last record. Without this flag most changes of an input only make a file with an incomplete record.
const FILLED: u8 = 4;
const NAMED: u8 = 8;

fuzz_target!(|input: &[u8]| -> Corpus {
    let Some((how, (batch, names))) = control(input).and_then(|(how, rest)| Some((how, two(rest)?))) else {
        return Corpus::Reject;
    };
    let (record, file, names_file) = match (how & HUNDRED, how & COARSE) {
        (0, _) => (3073, "test_batch.bin", "batches.meta.txt"),
        (_, 0) => (3074, "test.bin", "fine_label_names.txt"),
        _ => (3074, "test.bin", "coarse_label_names.txt"),
    };
    let mut batch = batch.to_vec();
    let packed = batch.starts_with(b"\x1f\x8b");
    if how & FILLED != 0 && !packed {
        batch.resize(batch.len().next_multiple_of(record), 7);
    }
    for name in ["test_batch.bin", "test.bin", "batches.meta.txt", "fine_label_names.txt", "coarse_label_names.txt"] {
        FOLDER.remove(name);
    }
    FOLDER.write(file, &batch);
    if how & NAMED != 0 {
        FOLDER.write(names_file, names);
    }
    let coarse = how & (HUNDRED | COARSE) == HUNDRED | COARSE;
    let open = if coarse { Cifar::coarse } else { Cifar::open };
    match bounded_packed(batch.len() + names.len(), || open(FOLDER.path(), Split::Test)) {
        Ok(data) => {
            assert!(packed || data.len() * record == batch.len());
            let most = [10, 100, 20][usize::from(how & HUNDRED) * (1 + usize::from(coarse))];
            assert!(data.targets().is_some_and(|labels| labels.iter().all(|&label| label < most)));
            for (_, sample) in samples(&data, 3072) {
                sample.expect("what is in memory");
            }
        }
        Err(error) => drop(refused(&error)),
    }
    Corpus::Keep
});
