//! Shared by the targets of the data sets' readers: files in memory, and checks of a data set that was opened.

use gpufeed::{Dataset, Label, SampleData};
use gpufeed_testing::counting::peak_of;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// Most samples that are read of one data set, from its start and again from its end.
const READ: usize = 32;
/// Bytes that any reader may take, however short the file: buffers, of which the one that an index is written through has 1 MiB.
const FIXED: usize = 2 << 20;
/// Bytes that a reader may take for each byte of a file. A value of a pickle takes 48, a line of a list 100.
const EACH: usize = 512;
/// Deflate makes at most this many bytes of one.
const UNPACKED: usize = 1032;

static SAYS: LazyLock<bool> = LazyLock::new(|| std::env::var_os("FUZZ_ERRORS").is_some());

/// A folder in `TMPDIR`, which scripts/fuzz.sh sets to one in memory.
pub struct Folder(tempfile::TempDir);

impl Folder {
    pub fn new() -> Folder {
        Folder(tempfile::tempdir().expect("a temporary folder"))
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// A file that holds these bytes and nothing that was there before.
    pub fn write(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.path().join(name);
        fs::write(&path, bytes).expect("a file in the temporary folder");
        path
    }

    pub fn remove(&self, name: &str) {
        let _ = fs::remove_file(self.path().join(name));
    }
}

/// The first byte, which says what is done with the others.
pub fn control(input: &[u8]) -> Option<(u8, &[u8])> {
    input.split_first().map(|(control, rest)| (*control, rest))
}

/// Two files: the first two bytes are the length of the first one, at most what there is.
pub fn two(input: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = input.split_first_chunk()?;
    Some(rest.split_at(rest.len().min(u16::from_le_bytes(*length).into())))
}

/// Runs `work`, which may take the memory that files of `bytes` bytes justify.
pub fn bounded<T>(bytes: usize, work: impl FnOnce() -> T) -> T {
    let (result, peak) = peak_of(work);
    let most = FIXED + EACH * bytes;
    assert!(peak <= most, "{peak} bytes taken for {bytes} of files, {most} allowed");
    result
}

/// [`bounded`] for files that may be gzip, or in an archive.
pub fn bounded_packed<T>(bytes: usize, work: impl FnOnce() -> T) -> T {
    let (result, peak) = peak_of(work);
    let most = FIXED + (EACH + 4 * UNPACKED) * bytes;
    assert!(peak <= most, "{peak} bytes taken for {bytes} of packed files, {most} allowed");
    result
}

/// Formats an error, which is part of what must not panic. Prints it where `FUZZ_ERRORS` is set: why a seed is refused.
pub fn refused(error: &gpufeed::Error) -> String {
    let text = error.to_string();
    if *SAYS {
        eprintln!("{text}");
    }
    text
}

/// A sample as it was read, or the error's text.
pub type Read = Result<(Vec<u8>, Label), String>;

/// The names and samples of a data set, those in its middle left out. Nothing panics, labels are among the classes, a sample
/// of pixels has as many as its size says, and one of a file is no longer than `longest`.
pub fn samples(data: &dyn Dataset, longest: usize) -> Vec<(String, Read)> {
    let len = data.len();
    assert_eq!(data.is_empty(), len == 0);
    let classes = data.classes().len();
    let mut buffer = Vec::new();
    let places = (0..len.min(READ)).chain(len.saturating_sub(READ).max(READ)..len);
    let read = places.map(|index| {
        let read = data.read(index, &mut buffer).map(|sample| {
            let bytes = match sample.data {
                SampleData::Encoded(bytes) => bytes,
                SampleData::Pixels(pixels) => {
                    let pixel = pixels.format().bytes_per_pixel();
                    let size = pixels.width() as usize * pixels.height() as usize * pixel;
                    assert_eq!(pixels.bytes().len(), size);
                    assert_eq!(pixels.format().channels().min(3) == 1, data.channels() == 1);
                    pixels.bytes()
                }
            };
            assert!(bytes.len() <= longest, "a sample of {} bytes from files of {longest}", bytes.len());
            if let (Label::Class(class), 1..) = (&sample.label, classes) {
                assert!((*class as usize) < classes, "class {class} of {classes}");
            }
            (bytes.to_vec(), sample.label)
        });
        (data.name(index), read.map_err(|error| error.to_string()))
    });
    let read = read.collect();
    assert!(data.read(len, &mut buffer).is_err(), "a sample behind the last");
    assert!(!data.name(len).is_empty());
    read
}
