//! A data set of image files with known paths. A folder of images and a list of images both use it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::file_fields::FileFields;
use super::labels::Labels;
use super::stored::name_below;
use super::{Dataset, Field, Label, Notice, ObjectStamp, Sample, SampleData, Stored, out_of_range};
use crate::error::Result;
use crate::storage::local::regular_file;

#[derive(Clone, Debug)]
pub(super) struct ImageFiles {
    /// The folder that was opened; for a list, the folder to which the list's paths are relative.
    pub(super) root: PathBuf,
    /// The images' paths, each with `root` already joined to it. `Box<Path>` saves memory, as there may be millions.
    pub(super) paths: Vec<Box<Path>>,
    pub(super) labels: Labels,
    pub(super) classes: Vec<String>,
    pub(super) notices: Vec<Notice>,
    pub(super) max_file_bytes: u64,
    /// What samples have beside image and label; `None` without fields.
    pub(super) fields: Option<Arc<FileFields>>,
    /// True if all images in the folder `root` are samples.
    pub(super) whole_folder: bool,
}

impl ImageFiles {
    /// Images without labels and fields, of a set that has other files, too.
    pub(super) fn unlabelled(root: PathBuf, paths: Vec<Box<Path>>, max_file_bytes: u64) -> ImageFiles {
        ImageFiles {
            root,
            paths,
            labels: Labels::None,
            classes: Vec::new(),
            notices: Vec::new(),
            max_file_bytes,
            fields: None,
            whole_folder: false,
        }
    }

    pub(super) fn path(&self, index: usize) -> Option<&Path> {
        self.paths.get(index).map(|path| &**path)
    }
}

impl Dataset for ImageFiles {
    fn len(&self) -> usize {
        self.paths.len()
    }

    fn inner(&self) -> Option<&dyn Dataset> {
        None
    }

    fn read<'a>(&'a self, index: usize, buffer: &'a mut Vec<u8>) -> Result<Sample<'a>> {
        let path = self.path(index).ok_or_else(|| out_of_range(index, self.len()))?;
        if let Some(fields) = &self.fields {
            return fields.read(index, path, self.labels.get(index), buffer);
        }
        let bytes = regular_file::read_image(path, self.max_file_bytes, buffer)?;
        Ok(Sample::new(SampleData::Encoded(bytes), self.labels.get(index)))
    }

    fn label(&self, index: usize) -> Option<Label> {
        (index < self.len()).then(|| self.labels.get(index))
    }

    fn name(&self, index: usize) -> String {
        self.path(index).map_or_else(|| format!("sample {index}"), |path| path.display().to_string())
    }

    fn classes(&self) -> &[String] {
        &self.classes
    }

    fn fields(&self) -> &[Field] {
        self.fields.as_ref().map_or(&[], |fields| fields.fields())
    }

    fn folder(&self) -> Option<&Path> {
        Some(&self.root)
    }

    fn notices(&self) -> Vec<Notice> {
        self.notices.clone()
    }

    fn stored(&self) -> Option<&dyn Stored> {
        Some(self)
    }
}

impl Stored for ImageFiles {
    fn own_name(&self, index: usize) -> Option<String> {
        Some(name_below(&self.root, self.path(index)?))
    }

    fn file(&self, index: usize) -> Option<&Path> {
        self.path(index)
    }

    fn label(&self, index: usize) -> Option<Label> {
        Some(self.labels.get(index))
    }

    fn whole_folder(&self) -> Option<&Path> {
        self.whole_folder.then_some(&*self.root)
    }

    fn each(&self, see: &mut dyn FnMut(&Path, Option<ObjectStamp>)) {
        self.paths.iter().for_each(|file| see(file, None));
        if let Some(fields) = &self.fields {
            fields.each_file(self.len(), |sample| &self.paths[sample], &mut |file| see(file, None));
        }
    }
}
