//! The folder of `scripts/jpeg/files.py`: which files it has, what is expected of each, and the pixels.

use std::path::{Path, PathBuf};

use gpufeed_jpeg::{Rect, Scale};

pub(crate) const SCALES: [Scale; 4] = [Scale::Full, Scale::Half, Scale::Quarter, Scale::Eighth];

/// What has to become of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expected {
    /// Decoding gives the pixels.
    Exact,
    /// Decoding refuses the file; with `fill` it gives the pixels.
    Damaged,
    /// As one of the two above.
    Warned,
    /// Decoding refuses the file as damaged; with `fill` it gives some pixels.
    Unfilled,
    /// Anything but a panic: Pillow refuses the file, or its pixels depend on its buffers.
    Any,
    /// Refused as unsupported: arithmetic, lossless and 12-bit files.
    Unsupported,
}

/// A line of the list.
#[derive(Clone, Debug)]
pub(crate) struct Listed {
    pub(crate) path: PathBuf,
    /// Its number of the seed.
    pub(crate) number: u64,
    pub(crate) size: (u32, u32),
    pub(crate) expected: Expected,
    /// Coding, colour, sampling, scans, headers, damage: the axes by which files are grouped.
    pub(crate) axes: [String; 6],
    pub(crate) options: String,
}

pub(crate) const AXES: [&str; 6] = ["coding", "colour", "sampling", "scans", "headers", "damage"];

/// Pillow's RGB pixels of a file at each of [`SCALES`].
pub(crate) struct Pictures {
    bytes: Vec<u8>,
    size: (u32, u32),
}

pub(crate) fn read(folder: &Path) -> Vec<Listed> {
    let list = std::fs::read_to_string(folder.join("list.txt")).unwrap();
    let line = |line: &str| {
        let fields: Vec<_> = line.split('\t').collect();
        let [name, width, height, expected, axes @ .., options] = fields.as_slice() else { panic!("{line}") };
        let axes: [&str; 6] = axes.try_into().unwrap_or_else(|_| panic!("{line}"));
        let expected = match *expected {
            "exact" => Expected::Exact,
            "damaged" => Expected::Damaged,
            "warned" => Expected::Warned,
            "unfilled" => Expected::Unfilled,
            "any" => Expected::Any,
            "arithmetic" | "lossless" | "12 bits" => Expected::Unsupported,
            other => panic!("{other} is expected of {name}"),
        };
        Listed {
            path: folder.join(name),
            number: name.trim_end_matches(".jpg").parse().unwrap(),
            size: (width.parse().unwrap(), height.parse().unwrap()),
            expected,
            axes: axes.map(str::to_owned),
            options: (*options).to_owned(),
        }
    };
    list.lines().map(line).collect()
}

impl Listed {
    pub(crate) fn bytes(&self) -> Vec<u8> {
        std::fs::read(&self.path).unwrap()
    }

    pub(crate) fn pictures(&self) -> Pictures {
        let mut path = self.path.clone().into_os_string();
        path.push(".rgb");
        let pictures = Pictures { bytes: std::fs::read(path).unwrap(), size: self.size };
        assert_eq!(pictures.offset(SCALES.len()), pictures.bytes.len(), "{}", self.path.display());
        pictures
    }

    pub(crate) fn describe(&self) -> String {
        let name = self.path.file_name().unwrap_or_default().display();
        let ((width, height), [coding, colour, sampling, scans, headers, damage]) = (self.size, &self.axes);
        let Listed { expected, options, .. } = self;
        format!(
            "{name} {width}x{height} {coding} {colour} {sampling}, scans: {scans}, headers: {headers}, damage: {damage}, \
             expected: {expected:?}; {options}"
        )
    }
}

impl Pictures {
    /// Where the picture at a scale begins.
    fn offset(&self, scale: usize) -> usize {
        let bytes = |scale: &Scale| {
            let (width, height) = scale.size(self.size);
            3 * width as usize * height as usize
        };
        SCALES[..scale].iter().map(bytes).sum()
    }

    /// The largest difference of a region's RGBA pixels to Pillow's.
    pub(crate) fn difference(&self, scale: usize, region: Rect, pixels: &[u8]) -> u8 {
        let width = SCALES[scale].size(self.size).0 as usize;
        let columns = region.width as usize;
        let mut largest = 0;
        for (y, row) in pixels.chunks_exact(4 * columns).enumerate() {
            let at = self.offset(scale) + 3 * ((region.top as usize + y) * width + region.left as usize);
            let right = self.bytes[at..at + 3 * columns].as_chunks::<3>().0;
            for (pixel, right) in row.as_chunks::<4>().0.iter().zip(right) {
                for (a, b) in pixel.iter().zip(right) {
                    largest = largest.max(a.abs_diff(*b));
                }
                largest = largest.max(255 - pixel[3]);
            }
        }
        largest
    }
}
