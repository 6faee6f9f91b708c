//! Helpers for the fuzz targets of data set readers: files in memory, limits on memory, and checks of an opened data
//! set.

use gpufeed::{Dataset, Label, SampleData};
use gpufeed_testing::counting::peak_of;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// The most samples that are read at the start of a data set, and again at its end.
const READ: usize = 32;
/// The bytes of memory that a reader may take for a file of any length. Most of them are buffers; the one for writing
/// an index has 1 MiB.
const FIXED: usize = 2 << 20;
/// The bytes of memory that a reader may take for each byte of a file. A value of a pickle takes 48 bytes, a line of a
/// list 100.
const EACH: usize = 512;
/// The most bytes that deflate can unpack from one byte.
const UNPACKED: usize = 1032;

static SAYS: LazyLock<bool> = LazyLock::new(|| std::env::var_os("FUZZ_ERRORS").is_some());

/// A temporary folder in `TMPDIR`, which scripts/fuzz.sh sets to a folder in memory.
pub struct Folder(tempfile::TempDir);

impl Folder {
    pub fn new() -> Folder {
        Folder(tempfile::tempdir().expect("a temporary folder"))
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Writes a file with these bytes, replacing its old content, and returns its path.
    pub fn write(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.path().join(name);
        fs::write(&path, bytes).expect("a file in the temporary folder");
        path
    }

    pub fn remove(&self, name: &str) {
        let _ = fs::remove_file(self.path().join(name));
    }
}

/// Splits off an input's first byte, which controls the use of the rest.
pub fn control(input: &[u8]) -> Option<(u8, &[u8])> {
    input.split_first().map(|(control, rest)| (*control, rest))
}

/// Splits an input into two files. Its first two bytes are the length of the first file, which is cut to the bytes that
/// exist.
pub fn two(input: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = input.split_first_chunk()?;
    Some(rest.split_at(rest.len().min(u16::from_le_bytes(*length).into())))
}

/// Runs `work` and checks that it took no more memory than a reader may take for files of `bytes` bytes.
pub fn bounded<T>(bytes: usize, work: impl FnOnce() -> T) -> T {
    let (result, peak) = peak_of(work);
    let most = FIXED + EACH * bytes;
    assert!(peak <= most, "{peak} bytes taken for {bytes} of files, {most} allowed");
    result
}

/// Like [`bounded`], for files that may be compressed with gzip or in a zip archive.
pub fn bounded_packed<T>(bytes: usize, work: impl FnOnce() -> T) -> T {
    let (result, peak) = peak_of(work);
    let most = FIXED + (EACH + 4 * UNPACKED) * bytes;
    assert!(peak <= most, "{peak} bytes taken for {bytes} of packed files, {most} allowed");
    result
}

/// Formats an error, because formatting must not panic either. If the environment variable `FUZZ_ERRORS` is set, it
/// prints the text, which shows why a seed is refused.
pub fn refused(error: &gpufeed::Error) -> String {
    let text = error.to_string();
    if *SAYS {
        eprintln!("{text}");
    }
    text
}

/// The bytes and the label of a sample, or the error's text.
pub type Read = Result<(Vec<u8>, Label), String>;

/// Returns the names and samples at the start and at the end of a data set. Checks that nothing panics, that labels are
/// within the classes, that a sample of pixels has as many bytes as its size says, and that no sample is longer than
/// `longest` bytes.
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
