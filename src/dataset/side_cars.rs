//! Files beside images, which have the stem of an image and another ending: `cat.txt` beside `cat.jpg`.

use std::path::{Path, PathBuf};

/// The files of one ending.
#[derive(Clone, Debug)]
pub(super) struct SideCars {
    /// The ending in small letters, without the first dot.
    ending: String,
    /// The ending as names of files have it.
    spellings: Vec<String>,
    /// In ascending order of their samples.
    files: Vec<SideCar>,
}

#[derive(Clone, Copy, Debug)]
struct SideCar {
    sample: usize,
    spelling: u16,
    /// How many parts the ending of the sample's image has: 1 for `.jpg`, 2 for `.left.jpg`.
    parts: u16,
}

impl SideCars {
    /// No files of this ending.
    pub(super) fn new(ending: String) -> SideCars {
        SideCars { ending, spellings: Vec::new(), files: Vec::new() }
    }

    /// The ending in small letters, without the first dot.
    pub(super) fn ending(&self) -> &str {
        &self.ending
    }

    /// Returns the number of samples with such a file.
    pub(super) fn samples(&self) -> usize {
        self.files.len()
    }

    /// Returns true if a sample has such a file.
    pub(super) fn has(&self, sample: usize) -> bool {
        self.files.binary_search_by_key(&sample, |file| file.sample).is_ok()
    }

    /// Returns the samples that have such a file.
    pub(super) fn of_samples(&self) -> impl Iterator<Item = usize> {
        self.files.iter().map(|file| file.sample)
    }

    /// Adds the file of a sample, which comes after those that have one, with the ending as its name has it. Returns false
    /// if the sample has such a file already.
    pub(super) fn push(&mut self, sample: usize, spelling: &str, parts: u16) -> bool {
        if self.files.last().is_some_and(|last| last.sample == sample) {
            return false;
        }
        let known = self.spellings.iter().position(|known| known == spelling).unwrap_or_else(|| {
            self.spellings.push(spelling.to_owned());
            self.spellings.len() - 1
        });
        // In the 65,536th spelling of an ending a file is not found when it is read.
        let spelling = u16::try_from(known).unwrap_or(u16::MAX);
        self.files.push(SideCar { sample, spelling, parts });
        true
    }

    /// Returns the file of a sample whose image is at `image`; `None` if it has none.
    pub(super) fn file(&self, sample: usize, image: &Path) -> Option<PathBuf> {
        let found = self.files.binary_search_by_key(&sample, |file| file.sample).ok()?;
        let SideCar { spelling, parts, .. } = self.files[found];
        let mut stem = Path::new(image.file_name()?);
        for _ in 0..parts {
            stem = Path::new(stem.file_stem()?);
        }
        let mut name = stem.as_os_str().to_owned();
        name.push(".");
        name.push(self.spellings.get(usize::from(spelling))?);
        Some(image.with_file_name(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_side_car_has_the_stem_of_its_image() {
        let mut texts = SideCars::new("txt".into());
        assert!(texts.push(1, "txt", 1) && texts.push(4, "TXT", 2));
        assert!(!texts.push(4, "txt", 2));
        let file = |sample, image: &str| texts.file(sample, Path::new(image));
        assert_eq!(file(1, "a/photo 12.05.jpg"), Some("a/photo 12.05.txt".into()));
        assert_eq!(file(4, "a/b.left.jpg"), Some("a/b.TXT".into()));
        assert_eq!((file(0, "a/b.jpg"), file(2, "a/b.jpg")), (None, None));
        assert_eq!((texts.samples(), texts.ending()), (2, "txt"));
    }
}
