//! Opens an [`ImageList`] with its format and settings.

use std::path::{Path, PathBuf};

use super::super::file_fields::{FieldLimits, FileFields};
use super::super::image_files::ImageFiles;
use super::super::{FieldChoice, MAX_FIELD_BYTES, MAX_FILE_BYTES, Notice};
use super::ImageList;
use super::asked::Asked;
use super::columns::Settings;
use super::fields::Listed;
use super::rows::{Failure, labels};
use super::{csv, json};
use crate::error::{Error, ErrorKind, Result};
use crate::quote::shortened;
use crate::storage::local::regular_file;

/// The name of Hugging Face's lists of images, without the ending `.csv` or `.jsonl`.
const METADATA: &str = "metadata";

/// Settings of an [`ImageList`], from [`ImageList::builder`].
///
/// ```
/// use gpufeed::{Dataset, ImageList};
///
/// let folder = tempfile::tempdir()?;
/// std::fs::write(folder.path().join("train.tsv"), "1.jpg\t10\n2.jpg\t9\n")?;
///
/// let list = ImageList::builder().root("/data/images").class_names(true).open(folder.path().join("train.tsv"))?;
/// assert_eq!(list.name(0), "/data/images/1.jpg");
/// assert_eq!(list.classes(), ["10", "9"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct ImageListBuilder {
    root: Option<PathBuf>,
    settings: Settings,
    fields: FieldChoice,
    max_field_bytes: u64,
    max_file_bytes: u64,
}

impl ImageListBuilder {
    pub(super) fn new() -> Self {
        ImageListBuilder {
            root: None,
            settings: Settings::default(),
            fields: FieldChoice::None,
            max_field_bytes: MAX_FIELD_BYTES,
            max_file_bytes: MAX_FILE_BYTES,
        }
    }

    /// Sets the folder that paths are relative to. Default: the list's own folder.
    #[must_use]
    pub fn root(mut self, root: impl Into<PathBuf>) -> Self {
        self.root = Some(root.into());
        self
    }

    /// States that the first line of a CSV file names the columns, or does not. Default: it does if one of its fields
    /// is a usual name of paths or labels ([`ImageList`] lists them), or a name that another setting asks for, and none
    /// ends as the names of images do.
    #[must_use]
    pub fn header(mut self, header: bool) -> Self {
        self.settings.header = Some(header);
        self
    }

    /// Reads labels of one column, or of one JSON key, as names even if they look like numbers; classes are then sorted
    /// as texts. Default: `false`.
    #[must_use]
    pub fn class_names(mut self, names: bool) -> Self {
        self.settings.names = names;
        self
    }

    /// Sets the character between the columns of a CSV file, such as `b';'`. Default: a tab if the file's name ends in
    /// `.tsv`, else a comma.
    #[must_use]
    pub fn delimiter(mut self, delimiter: u8) -> Self {
        self.settings.delimiter = Some(delimiter);
        self
    }

    /// Sets the column, or the JSON key, of the paths. Default: the one with a usual name ([`ImageList`] lists them), or
    /// else the first that has a name. In a CSV file without names a column has its number, from 0 on.
    #[must_use]
    pub fn path_column(mut self, name: impl Into<String>) -> Self {
        self.settings.path_column = Some(name.into());
        self
    }

    /// Sets the columns, or the JSON keys, of the labels; several make a vector of their numbers, in this order. Default:
    /// the one with a usual name ([`ImageList`] lists them), or else the only other column of a CSV file. In a CSV file
    /// without names a column has its number, from 0 on.
    ///
    /// ```
    /// use gpufeed::{ImageList, Label};
    ///
    /// let folder = tempfile::tempdir()?;
    /// let list = folder.path().join("points.csv");
    /// std::fs::write(&list, "path,x,y,quality\n1.jpg,0.25,0.5,good\n")?;
    ///
    /// let points = ImageList::builder().label_columns(["x", "y"]).open(&list)?;
    /// assert_eq!(points.label(0), Label::from(vec![0.25, 0.5]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn label_columns<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.settings.label_columns = names.into_iter().map(Into::into).collect();
        self
    }

    /// Sets which columns, or JSON keys, are [fields](crate::Dataset::fields) of the samples, by their names. In a CSV file
    /// without names a column has its number, from 0 on. Default: none.
    ///
    /// The names `image` and `label` choose the columns of the paths and of the labels: `("target", "image")`. A column that
    /// becomes a field is the label only if a setting says so, too. [`FieldChoice::All`] takes all columns but those of path
    /// and label, each by its name; those that some lines lack are [optional](crate::Field::optional). With fields beside these
    /// two, a list in which several columns could be the label has none.
    ///
    /// In CSV a column is text, unless the field has another [`kind`](crate::Field::kind): numbers (`0.5`, `True`, `[1, 2]`),
    /// JSON, or images, whose paths it then has. Text is not trimmed, and an empty one is none. In JSON lines texts are
    /// text, numbers and lists of them are numbers if they have one type and one shape, and all else is JSON, as it is
    /// written; a key without a value, or with `null`, is none. Numbers are int64, float64 where some are no whole numbers,
    /// or bool.
    ///
    /// ```
    /// use gpufeed::dataset::{Field, FieldKind};
    /// use gpufeed::{Dataset, ImageList};
    ///
    /// let folder = tempfile::tempdir()?;
    /// let list = folder.path().join("pairs.csv");
    /// std::fs::write(&list, "left,right,text,score\nl1.jpg,r1.jpg,a cat,0.5\nl2.jpg,r2.jpg,,1\n")?;
    ///
    /// let pairs = ImageList::builder().fields(vec![
    ///     ("left", Field::new("image")),
    ///     ("right", Field::new("right").kind(FieldKind::Image)),
    ///     ("text", Field::new("caption").optional()),
    ///     ("score", Field::new("score").kind(FieldKind::Numbers)),
    /// ]);
    /// let pairs = pairs.open(&list)?;
    /// assert_eq!(pairs.fields()[1].to_string(), "caption (text, may be absent)");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn fields(mut self, fields: impl Into<FieldChoice>) -> Self {
        self.fields = fields.into();
        self
    }

    /// Sets the most bytes that the value of a field may have; of a field of images
    /// [`max_file_bytes`](Self::max_file_bytes) does. A larger one is an error of [`open`](Self::open). Default:
    /// [`MAX_FIELD_BYTES`], 1 MiB.
    #[must_use]
    pub fn max_field_bytes(mut self, bytes: u64) -> Self {
        self.max_field_bytes = bytes;
        self
    }

    /// Sets the most bytes that an image file may have. A larger file is not read, and its sample is an error
    /// ([`ErrorKind::FileTooLarge`](crate::ErrorKind::FileTooLarge)). Default:
    /// [`MAX_FILE_BYTES`](crate::dataset::MAX_FILE_BYTES), 1 GiB.
    #[must_use]
    pub fn max_file_bytes(mut self, bytes: u64) -> Self {
        self.max_file_bytes = bytes;
        self
    }

    /// Reads the list at `path`.
    ///
    /// # Errors
    ///
    /// The errors of [`ImageList::open`].
    pub fn open(self, path: impl AsRef<Path>) -> Result<ImageList> {
        let path = path.as_ref();
        let settings = self.asked()?;
        let bytes = regular_file::read(path).map_err(|source| Error::io(path, source))?;
        let failed = |(line, reason): Failure| Error::data_file(path, format!("line {line}"), reason);
        let extension = path.extension().unwrap_or_default().to_ascii_lowercase();
        let is_json = matches!(extension.to_str(), Some("jsonl" | "ndjson" | "json"));
        let rows = if is_json {
            let text = std::str::from_utf8(&bytes).map_err(|error| {
                let line = 1 + bytes[..error.valid_up_to()].iter().filter(|&&byte| byte == b'\n').count() as u64;
                failed((line, "no UTF-8".into()))
            })?;
            json::rows(text, &settings)
        } else {
            let usual = if extension == "tsv" { b'\t' } else { b',' };
            csv::rows(&bytes[..], settings.delimiter.unwrap_or(usual), &settings)
        };
        let mut list = rows.map_err(failed)?;
        drop(bytes);
        if list.rows.is_empty() {
            let hint = "no line names a path".to_owned();
            return Err(ErrorKind::EmptyDataset { what: path.display().to_string(), hint }.into());
        }
        if let Some(missing) = list.fields.missing() {
            let reason = format!("no line has the key {}; there are {}", shortened(missing), list.keys());
            return Err(Error::data_file(path, "all lines", reason));
        }
        let (labels, classes) = labels(&list.rows).map_err(failed)?;
        let mut notices = vec![Notice::Labels { what: list.describe(&labels, classes.len()) }];
        let reads_fields = !self.fields.asks_for_nothing();
        notices.extend(match list.what {
            "key" => Notice::keys_not_read(list.unread, reads_fields),
            _ => Notice::columns_not_read(list.unread, reads_fields),
        });
        if !is_json {
            let columns = list.fields.numbers_as_texts();
            notices.extend(columns.into_iter().map(|column| Notice::NumbersAsTexts { column }));
        }
        let root = match self.root {
            Some(root) => root,
            None => path.parent().map(Path::to_owned).unwrap_or_default(),
        };
        let listed = Listed {
            is_json,
            is_metadata: path.file_stem().is_some_and(|stem| stem == METADATA),
            samples: list.rows.len(),
            max_field_bytes: self.max_field_bytes,
        };
        let fields = std::mem::take(&mut list.fields).finish(listed).map_err(|(sample, reason)| {
            match sample.and_then(|sample| list.rows.get(sample)) {
                Some(row) => failed((row.line, reason)),
                None => Error::data_file(path, "all lines", reason),
            }
        })?;
        let max_file_bytes = self.max_file_bytes;
        let limits = FieldLimits { max_field_bytes: self.max_field_bytes, max_file_bytes };
        let fields = FileFields::of(fields, &root, Some(path), limits)?;
        let paths = list.rows.into_iter().map(|row| root.join(row.path).into_boxed_path()).collect();
        let whole_folder = false;
        Ok(ImageList(ImageFiles { root, paths, labels, classes, notices, max_file_bytes, fields, whole_folder }))
    }

    /// Returns the settings with what the choice of fields says of the columns.
    ///
    /// # Errors
    /// A path or a label that both name, and differently.
    fn asked(&self) -> Result<Settings> {
        let asked = Asked::of(&self.fields)?;
        let mut settings = Settings { asked: asked.columns, ..self.settings.clone() };
        let refuse = |what: &str| {
            let reason =
                format!("they name another column of the {what} than the setting of that column does; leave one out");
            Err(Error::argument("fields", reason))
        };
        if let Some(path) = asked.path
            && settings.path_column.replace(path.clone()).is_some_and(|set| set != path)
        {
            return refuse("image");
        }
        if !asked.labels.is_empty() {
            if !settings.label_columns.is_empty() && settings.label_columns != asked.labels {
                return refuse("label");
            }
            settings.label_columns = asked.labels;
        }
        Ok(settings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Dataset, Label, SampleData};
    use std::fs;

    #[test]
    fn files_of_every_format() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("images")).unwrap();
        fs::write(at("images/1.jpg"), b"one").unwrap();
        fs::write(at("list.csv"), "images/1.jpg,4\n/absolute.jpg,5\n").unwrap();
        fs::write(at("list.tsv"), "images/1.jpg\t4\r\n/absolute.jpg\t5\r\n").unwrap();
        let lines = "{\"path\": \"images/1.jpg\", \"label\": 4}\r\n{\"path\": \"/absolute.jpg\", \"label\": 5}\r\n";
        fs::write(at("list.JSONL"), lines).unwrap();
        for name in ["list.csv", "list.tsv", "list.JSONL"] {
            let list = ImageList::open(at(name)).unwrap();
            let mut buffer = b"left over".to_vec();
            let sample = list.read(0, &mut buffer).unwrap();
            assert!(matches!(sample.data, SampleData::Encoded(b"one")));
            assert_eq!(sample.label, Label::Class(4));
            assert_eq!((list.len(), list.name(1), list.path(2)), (2, "/absolute.jpg".into(), None));
            assert_eq!((list.root(), list.folder()), (folder.path(), Some(folder.path())));
            let missing = list.read(1, &mut Vec::new()).unwrap_err();
            assert!(matches!(missing.kind(), ErrorKind::Io { path, .. } if path == Path::new("/absolute.jpg")));
            assert!(list.read(2, &mut Vec::new()).is_err());
        }
        let elsewhere = ImageList::builder().root(at("images")).open(at("list.csv")).unwrap();
        assert_eq!(elsewhere.path(0), Some(at("images/images/1.jpg").as_path()));
    }

    #[test]
    fn errors_name_the_file_and_the_line() {
        let folder = tempfile::tempdir().unwrap();
        let open = |name: &str, bytes: &[u8]| {
            let path = folder.path().join(name);
            fs::write(&path, bytes).unwrap();
            ImageList::open(path).unwrap_err()
        };
        assert!(matches!(open("empty.csv", b"path,label\n").kind(), ErrorKind::EmptyDataset { .. }));
        let error = open("bad.csv", b"a,1\nb\xff,2\n").to_string();
        assert!(error.contains("bad.csv, line 2: "), "{error}");
        let error = open("bad.jsonl", b"{\"path\": \"a\"}\n{\"path\": \"\xff\"}\n").to_string();
        assert!(error.ends_with("bad.jsonl, line 2: no UTF-8"), "{error}");
        assert!(matches!(ImageList::open(folder.path().join("none")).unwrap_err().kind(), ErrorKind::Io { .. }));
    }
}
