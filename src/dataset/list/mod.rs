//! A file that lists images and their labels.
//!
//! `builder.rs` opens a list, `asked.rs` reads its setting of fields, `columns.rs` chooses the columns that `csv.rs` and
//! `json.rs` (whose lines `members.rs` divides) read, and `rows.rs` reads lines. `fields.rs` has the columns that become
//! fields, `column_texts.rs` their texts, `numbers.rs` those that are numbers.

mod asked;
mod builder;
mod column_texts;
mod columns;
mod csv;
mod fields;
mod json;
mod members;
mod numbers;
mod rows;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use super::forward::forward;
use super::image_files::ImageFiles;
use super::labels::Labels;
use super::{Dataset, Label};
use crate::error::{Error, ErrorKind, Result};

pub use builder::ImageListBuilder;

/// Images and labels from a CSV or JSON-lines file.
///
/// A file that ends in `.jsonl`, `.ndjson` or `.json` has one object per line: `{"path": "a.jpg", "label": 3}`. Any other
/// file is CSV, with tabs if it ends in `.tsv`. One rule says which columns, or keys, are read:
///
/// - The path is in the column or key called `path`, `file_path`, `filepath`, `image_path`, `file_name`, `filename`,
///   `file`, `image` or `img`, in upper or lower case. Of several such names, the first of this list counts. Without
///   any, the path is in the first column that has a name.
/// - The label is in the column or key called `label`, `labels`, `class`, `cls` or `target`. In a CSV file without
///   these names it is in the only other column, and a [notice](super::Dataset::notices) says so. A column without a
///   name, as pandas writes its index, is no such column, nor is one called `index`, `idx`, `id`, `split`, `subset`,
///   `fold`, `text`, `caption`, `captions` or `prompt`. In JSON lines, the first line that has one of these keys
///   chooses the key of all lines, whatever its value in that line.
/// - Other columns and keys are not read, unless [`fields`](ImageListBuilder::fields) asks for them. Several of them
///   become one label only if [`label_columns`](ImageListBuilder::label_columns) names them. A CSV file in which several
///   columns could be the label is an error, unless fields are asked for.
///
/// If a field of the first line has one of these names, and no field ends as the names of images do, that line names
/// the columns and is not a sample. Two columns or keys whose names differ only in upper and lower case are an error.
/// It is also an error if the path in the first line does not end as the names of images do, while the path in the
/// second line does: [`header`](ImageListBuilder::header) then says what the first line is. If the first line lacks the
/// expected separator, but has semicolons, tabs or vertical bars between words, the error names these.
///
/// | label | becomes |
/// |---|---|
/// | one whole number from 0 to 2^32 - 1, also as a text in JSON | [`Label::Class`](crate::Label::Class), without class names |
/// | one text | `Label::Class`: classes are the texts that occur, sorted |
/// | one other number, several numbers (named columns, or a JSON list) | [`Label::Multi`](crate::Label::Multi) |
/// | nothing, or JSON's `null` | [`Label::None`](crate::Label::None) |
///
/// A text that is a list of numbers, such as `[1, 2]` or `1 2 3`, is an error, and so is a number of a vector that f32 does not
/// hold: one outside of its range, or a whole number such as 16777217 that would be rounded to another.
///
/// All lines have labels of one kind, or none has one. A label that is empty is an error. Paths are relative to the folder of the list. Image files are opened when they
/// are read.
///
/// ```
/// use gpufeed::{Dataset, ImageList, Label};
///
/// let root = tempfile::tempdir()?;
/// std::fs::write(root.path().join("list.csv"), "path,label\nb/1.jpg,dog\nc.png,cat\n")?;
///
/// let pets = ImageList::open(root.path().join("list.csv"))?;
/// assert_eq!(pets.classes(), ["cat", "dog"]);
/// assert_eq!(pets.path(0), Some(root.path().join("b/1.jpg").as_path()));
/// assert_eq!(pets.label(1), Label::Class(0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct ImageList(ImageFiles);

impl ImageList {
    /// Reads the list at `path`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Io`](crate::ErrorKind::Io) if the list cannot be read;
    /// [`ErrorKind::DataFile`](crate::ErrorKind::DataFile), with the line, if a line cannot be parsed or its label is
    /// not of the first label's kind; [`ErrorKind::EmptyDataset`](crate::ErrorKind::EmptyDataset) if it has no samples.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::builder().open(path)
    }

    /// Makes a data set of files that are known already, without a list: their paths, relative to `root` or absolute, with
    /// their labels. `classes` has the names of the classes, in the order of their numbers; none are needed. Files are
    /// opened when they are read.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Argument`](crate::ErrorKind::Argument) for labels of several kinds, and for a class without a name
    /// where others have names; [`ErrorKind::EmptyDataset`](crate::ErrorKind::EmptyDataset) without samples.
    ///
    /// ```
    /// use gpufeed::{Dataset, ImageList, Label};
    ///
    /// let samples = [("b/1.jpg", Label::Class(1)), ("c.png", Label::Class(0))];
    /// let pets = ImageList::from_samples("/data/pets", samples, ["cat", "dog"])?;
    /// assert_eq!((pets.len(), pets.name(0)), (2, "/data/pets/b/1.jpg".to_owned()));
    /// # Ok::<(), gpufeed::Error>(())
    /// ```
    pub fn from_samples<P: AsRef<Path>, S: Into<String>>(
        root: impl Into<PathBuf>,
        samples: impl IntoIterator<Item = (P, Label)>,
        classes: impl IntoIterator<Item = S>,
    ) -> Result<ImageList> {
        let root: PathBuf = root.into();
        let classes: Vec<String> = classes.into_iter().map(Into::into).collect();
        let (paths, labels): (Vec<Box<Path>>, Vec<Label>) =
            samples.into_iter().map(|(path, label)| (root.join(path).into_boxed_path(), label)).unzip();
        if paths.is_empty() {
            let (what, hint) = ("the list".to_owned(), "it has no samples".to_owned());
            return Err(ErrorKind::EmptyDataset { what, hint }.into());
        }
        if !classes.is_empty()
            && let Some(wrong) =
                labels.iter().find(|label| matches!(label, Label::Class(class) if *class as usize >= classes.len()))
        {
            return Err(Error::argument(
                "samples",
                format!("{wrong:?}, but only {} classes have names", classes.len()),
            ));
        }
        let labels = Labels::of(labels)?;
        let (notices, max_file_bytes) = (Vec::new(), super::MAX_FILE_BYTES);
        Ok(ImageList(ImageFiles {
            root,
            paths,
            labels,
            classes,
            notices,
            max_file_bytes,
            fields: None,
            whole_folder: false,
        }))
    }

    /// Returns a builder with more settings than [`open`](Self::open).
    pub fn builder() -> ImageListBuilder {
        ImageListBuilder::new()
    }

    /// Returns the folder that paths are relative to.
    pub fn root(&self) -> &Path {
        &self.0.root
    }

    /// Returns the path of sample `index`; `None` if out of range.
    pub fn path(&self, index: usize) -> Option<&Path> {
        self.0.path(index)
    }

    /// Returns the label of sample `index` without reading its image; [`Label::None`] if out of range.
    pub fn label(&self, index: usize) -> Label {
        self.0.labels.get(index)
    }
}

/// For a folder whose images a list has.
impl From<ImageList> for ImageFiles {
    fn from(list: ImageList) -> ImageFiles {
        list.0
    }
}

impl Dataset for ImageList {
    forward!(self => self.0; all);
}
