//! Defines a data set of the samples of one part, whose files and labels the plan to pack in parts has listed.

use crate::dataset::stored::name_below;
use crate::dataset::{Dataset, Label, MAX_FILE_BYTES, ObjectStamp, Sample, SampleData, Stored};
use crate::error::{Error, Result};
use crate::storage::local::regular_file;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// The samples of one part, each of which is a file. They keep the indices that they have in the whole data set, and
/// samples outside of the part cannot be read.
pub(super) struct Listed {
    pub(super) root: PathBuf,
    /// The number of samples of the whole data set.
    pub(super) len: usize,
    /// The index of the first listed sample.
    pub(super) first: usize,
    /// The files and labels of the listed samples.
    pub(super) samples: Vec<(PathBuf, Label)>,
    pub(super) classes: Vec<String>,
}

impl Listed {
    pub(super) fn range(&self) -> Range<usize> {
        self.first..self.first + self.samples.len()
    }

    /// Returns the file of the sample `index`; `None` if that sample is not listed.
    pub(super) fn path(&self, index: usize) -> Option<&Path> {
        self.sample(index).map(|(path, _)| &**path)
    }

    fn sample(&self, index: usize) -> Option<&(PathBuf, Label)> {
        self.samples.get(index.checked_sub(self.first)?)
    }
}

impl Dataset for Listed {
    fn len(&self) -> usize {
        self.len
    }

    fn inner(&self) -> Option<&dyn Dataset> {
        None
    }

    fn read<'a>(&'a self, index: usize, buffer: &'a mut Vec<u8>) -> Result<Sample<'a>> {
        let Some((path, label)) = self.sample(index) else {
            let reason = format!("{index}, but samples {:?} are listed", self.range());
            return Err(Error::argument("index", reason));
        };
        let data = SampleData::Encoded(regular_file::read_image(path, MAX_FILE_BYTES, buffer)?);
        Ok(Sample::new(data, label.clone()))
    }

    fn name(&self, index: usize) -> String {
        self.path(index).map_or_else(|| format!("sample {index}"), |path| path.display().to_string())
    }

    fn classes(&self) -> &[String] {
        &self.classes
    }

    fn folder(&self) -> Option<&Path> {
        Some(&self.root)
    }

    fn stored(&self) -> Option<&dyn Stored> {
        Some(self)
    }
}

impl Stored for Listed {
    fn own_name(&self, index: usize) -> Option<String> {
        Some(name_below(&self.root, self.path(index)?))
    }

    fn file(&self, index: usize) -> Option<&Path> {
        self.path(index)
    }

    fn each(&self, see: &mut dyn FnMut(&Path, Option<ObjectStamp>)) {
        self.samples.iter().for_each(|(file, _)| see(file, None));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_keep_their_indices() {
        let root = tempfile::tempdir().unwrap();
        let file = root.path().join("1.jpg");
        std::fs::write(&file, "the file").unwrap();
        let samples = vec![(file.clone(), Label::Class(1))];
        let listed = Listed { root: root.path().to_owned(), len: 9, first: 7, samples, classes: Vec::new() };
        let mut buffer = Vec::new();
        assert_eq!((listed.len(), listed.path(7), listed.path(0)), (9, Some(&*file), None));
        let sample = listed.read(7, &mut buffer).unwrap();
        assert!(matches!(sample.data, SampleData::Encoded(b"the file")) && sample.label == Label::Class(1));
        for index in [6, 8] {
            assert!(listed.read(index, &mut Vec::new()).unwrap_err().to_string().contains("samples 7..8 are listed"));
        }
    }
}
