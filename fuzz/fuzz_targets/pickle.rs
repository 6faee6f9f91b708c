//! Fuzzes `Cifar` with a pickled batch, or with a pickled list of class names.
//!
//! An input is a byte of flags that says what the pickle is, and the pickle.

#![no_main]

use gpufeed::{Cifar, Split};
use gpufeed_fuzz::readers::{Folder, bounded, bounded_packed, control, refused, samples};
use gpufeed_testing::counting::Counting;
use libfuzzer_sys::{Corpus, fuzz_target};
use std::sync::LazyLock;

#[global_allocator]
static COUNTING: Counting<1> = Counting;
static FOLDER: LazyLock<Folder> = LazyLock::new(Folder::new);

/// The flags in the first byte of an input.
const HUNDRED: u8 = 1;
const COARSE: u8 = 2;
const NAMES: u8 = 4;

/// A valid batch without images, because names are read only after a valid batch: `{'labels': [], 'fine_labels': [],
/// 'coarse_labels': [], 'data': numpy.zeros((0, 3072), 'u1')}`.
const EMPTY: &[u8] = b"\x80\x02}(U\x06labels]U\x0bfine_labels]U\x0dcoarse_labels]U\x04datacnumpy.core.multiarray\n\
    _reconstruct\ncnumpy\nndarray\nK\0\x85U\x01b\x87R(K\x01K\0M\0\x0c\x86cnumpy\ndtype\nU\x02u1K\0K\x01\x87R\x89U\0tbu.";

fuzz_target!(|input: &[u8]| -> Corpus {
    let Some((how, pickle)) = control(input) else { return Corpus::Reject };
    let (batch, names) = if how & HUNDRED == 0 { ("test_batch", "batches.meta") } else { ("test", "meta") };
    for name in ["test_batch", "test", "batches.meta", "meta"] {
        FOLDER.remove(name);
    }
    if how & NAMES == 0 {
        FOLDER.write(batch, pickle);
    } else {
        FOLDER.write(batch, EMPTY);
        FOLDER.write(names, pickle);
    }
    let open = || match how & (HUNDRED | COARSE) {
        3 => Cifar::coarse(FOLDER.path(), Split::Test),
        _ => Cifar::open(FOLDER.path(), Split::Test),
    };
    let packed = pickle.starts_with(b"\x1f\x8b");
    let length = pickle.len() + EMPTY.len();
    match if packed { bounded_packed(length, open) } else { bounded(length, open) } {
        Ok(data) => {
            assert!(packed || data.pixels().len() <= pickle.len());
            for (_, sample) in samples(&data, 3072) {
                sample.expect("what is in memory");
            }
        }
        Err(error) => {
            let text = refused(&error);
            assert!(how & NAMES == 0 || !text.contains("test_batch"), "the empty batch is refused: {text}");
        }
    }
    Corpus::Keep
});
