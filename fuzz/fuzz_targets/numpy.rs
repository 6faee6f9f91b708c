//! Fuzzes `Numpy` with `.npy` files, with an `.npz` archive, and with an archive that the target makes of up to four
//! arrays.
//!
//! An input is a byte that chooses one of these, and a file, or two files or up to four arrays, each after its length.

#![no_main]

use gpufeed::dataset::{self, Opened};
use gpufeed::{Arrays, Dataset, Layout, Numpy, Result};
use gpufeed_fuzz::readers::{Folder, bounded_packed, control, refused, samples, two};
use gpufeed_testing::counting::Counting;
use libfuzzer_sys::{Corpus, fuzz_target};
use std::io::{Cursor, Write};
use std::path::Path;
use std::sync::LazyLock;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

#[global_allocator]
static COUNTING: Counting<1> = Counting;
static FOLDER: LazyLock<Folder> = LazyLock::new(Folder::new);

fuzz_target!(|input: &[u8]| -> Corpus {
    let Some((how, rest)) = control(input) else { return Corpus::Reject };
    let numpy = match how >> 2 & 3 {
        0 => Numpy::new().layout(Layout::Nchw),
        1 => Numpy::new().layout(Layout::Nhwc),
        _ => Numpy::new(),
    };
    match how & 3 {
        0 => {
            let path = FOLDER.write("x.npy", rest);
            check(bounded_packed(rest.len(), || numpy.npy(path, None::<&Path>)));
        }
        1 => {
            let Some((images, labels)) = two(rest) else { return Corpus::Reject };
            let paths = [FOLDER.write("x.npy", images), FOLDER.write("y.npy", labels)];
            check(bounded_packed(rest.len(), || numpy.npy(&paths[0], Some(&paths[1]))));
        }
        2 => archive(numpy, rest),
        _ => {
            let Some(made) = zipped(rest, how & 16 != 0) else { return Corpus::Reject };
            archive(numpy, &made);
        }
    }
    Corpus::Keep
});

/// Makes a zip archive with correct checksums of the arrays in `input`.
fn zipped(mut input: &[u8], deflated: bool) -> Option<Vec<u8>> {
    let method = if deflated { CompressionMethod::Deflated } else { CompressionMethod::Stored };
    let options = SimpleFileOptions::default().compression_method(method);
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    for name in ["x_train.npy", "y_train.npy", "x_test.npy", "y_test.npy"] {
        let Some((array, rest)) = two(input) else { break };
        archive.start_file(name, options).ok()?;
        archive.write_all(array).ok()?;
        input = rest;
    }
    archive.finish().ok().map(Cursor::into_inner)
}

fn archive(numpy: Numpy, bytes: &[u8]) {
    let path = FOLDER.write("x.npz", bytes);
    let length = bytes.len();
    check(bounded_packed(length, || numpy.npz(&path, "x_train", Some("y_train"))));
    check(bounded_packed(length, || numpy.npz(&path, "x_test", None)));
    let whole = bounded_packed(length, || Numpy::open(&path));
    let parts = bounded_packed(2 * length, || dataset::open(&path));
    if let Ok(Opened { train, test, .. }) = parts {
        let alone = whole.expect("the part to train on");
        assert_eq!(alone.len(), train.len());
        for part in std::iter::once(train).chain(test) {
            samples(&part, usize::MAX);
        }
    }
}

fn check(opened: Result<Arrays>) {
    match opened {
        Ok(data) => {
            assert_eq!(data.pixels().len(), data.len() * data.image_bytes());
            for (_, sample) in samples(&data, data.image_bytes()) {
                sample.expect("what is in memory");
            }
        }
        Err(error) => drop(refused(&error)),
    }
}
