//! Fuzzes `Idx` with a file of images and a file of labels, as MNIST has them.
//!
//! An input is a byte that chooses how the files are opened, the length of the file of images in two bytes, the file of
//! images, and the file of labels.

#![no_main]

use gpufeed::dataset::Emnist;
use gpufeed::{Dataset, Idx, Split};
use gpufeed_fuzz::readers::{Folder, bounded, bounded_packed, control, refused, samples, two};
use gpufeed_testing::counting::Counting;
use libfuzzer_sys::{Corpus, fuzz_target};
use std::sync::LazyLock;

#[global_allocator]
static COUNTING: Counting<1> = Counting;
static FOLDER: LazyLock<Folder> = LazyLock::new(Folder::new);

fuzz_target!(|input: &[u8]| -> Corpus {
    let Some((how, (images, labels))) = control(input).and_then(|(how, rest)| Some((how, two(rest)?))) else {
        return Corpus::Reject;
    };
    let stem = ["t10k", "t10k", "emnist-letters-test", "t10k"][usize::from(how % 4)];
    let images_at = FOLDER.write(&format!("{stem}-images-idx3-ubyte"), images);
    let labels_at = FOLDER.write(&format!("{stem}-labels-idx1-ubyte"), labels);
    let open = || match how % 4 {
        0 => Idx::from_files(images_at, labels_at),
        1 => Idx::mnist(FOLDER.path(), Split::Test),
        2 => Idx::emnist(FOLDER.path(), Emnist::Letters, Split::Test).map(|data| data.transposed()),
        _ => Idx::open(FOLDER.path(), Split::Test),
    };
    let packed = [images, labels].iter().any(|file| file.starts_with(b"\x1f\x8b"));
    let length = input.len();
    let opened = if packed { bounded_packed(length, open) } else { bounded(length, open) };
    match opened {
        Ok(data) => {
            let bytes = data.len() * data.image_bytes();
            assert_eq!(data.pixels().len(), bytes);
            assert!(packed || bytes + data.len() + 24 == images.len() + labels.len(), "nothing is half-read");
            for (_, sample) in samples(&data, data.image_bytes()) {
                sample.expect("what is in memory");
            }
        }
        Err(error) => drop(refused(&error)),
    }
    Corpus::Keep
});
