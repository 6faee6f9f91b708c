//! The fields of image files: columns of their list, and files beside them or that the list names.

use std::borrow::Cow;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::encoded_field::value;
use super::listed_values::{NumberColumn, TextColumn};
use super::side_cars::SideCars;
use super::{Field, FieldKind, FieldValue, Label, Notice, NumberType, Sample, SampleData};
use crate::advice::{self, Reason, Setting};
use crate::error::{Error, Result};
use crate::objects::from_json;
use crate::storage::local::regular_file::{self, Unread};

/// Where the values of a field are.
#[derive(Clone, Debug)]
pub(super) enum FieldSource {
    /// Texts, JSON or bytes of a list.
    Texts(TextColumn),
    /// Numbers of a list.
    Numbers(NumberColumn),
    /// Files, whose paths a list has.
    Paths(TextColumn),
    /// Files beside the images. Of several endings the first that a sample has counts. Numbers that are texts have the type
    /// that the endings of the field decide.
    Beside(Vec<SideCars>, Option<NumberType>),
}

/// The fields of a set of image files.
#[derive(Clone, Debug)]
pub(super) struct FileFields {
    fields: Vec<Field>,
    sources: Vec<FieldSource>,
    /// The folder to which paths of a list are relative.
    root: PathBuf,
    /// The list that has values.
    list: Option<PathBuf>,
    limits: FieldLimits,
}

/// The most bytes of the value of a field, and of an image.
#[derive(Clone, Copy, Debug)]
pub(super) struct FieldLimits {
    pub(super) max_field_bytes: u64,
    pub(super) max_file_bytes: u64,
}

/// A file that holds the value of a field in one sample.
struct ValueFile<'a> {
    path: PathBuf,
    ending: Cow<'a, str>,
    bytes: Range<usize>,
}

impl FileFields {
    /// Returns `None` without fields.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`](crate::ErrorKind::Argument) for fields that no loader takes.
    pub(super) fn of(
        fields: Vec<(Field, FieldSource)>,
        root: &Path,
        list: Option<&Path>,
        limits: FieldLimits,
    ) -> Result<Option<Arc<FileFields>>> {
        let (fields, sources): (Vec<_>, Vec<_>) = fields.into_iter().unzip();
        Field::check(&fields)?;
        let (root, list) = (root.to_owned(), list.map(Path::to_owned));
        Ok((!fields.is_empty()).then(|| Arc::new(FileFields { fields, sources, root, list, limits })))
    }

    pub(super) fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// Reads a sample: its image into the start of `buffer`, and files of its fields behind it.
    ///
    /// # Errors
    /// A file that cannot be read, is too large, or is no value of its field.
    pub(super) fn read<'a>(
        &'a self,
        sample: usize,
        image: &Path,
        label: Label,
        buffer: &'a mut Vec<u8>,
    ) -> Result<Sample<'a>> {
        let length = regular_file::read_image(image, self.limits.max_file_bytes, buffer)?.len();
        let mut files = Vec::with_capacity(self.fields.len());
        let mut end = length;
        for (field, source) in self.fields.iter().zip(&self.sources) {
            let mut file = self.file(source, sample, image);
            if let Some(file) = &mut file {
                let begin = end;
                end = regular_file::read_behind(&file.path, self.limit(field), buffer, begin)
                    .map_err(|unread| self.unread(field, &file.path, unread))?;
                file.bytes = begin..end;
            }
            files.push(file);
        }
        let buffer: &'a [u8] = buffer;
        let mut values = Vec::with_capacity(self.fields.len());
        for ((field, source), file) in self.fields.iter().zip(&self.sources).zip(files) {
            values.push(match (source, file) {
                (FieldSource::Texts(texts), _) => match texts.get(sample) {
                    Some(text) => of_text(field, text).map_err(|reason| Error::data_file(image, of(field), reason))?,
                    None => FieldValue::Absent,
                },
                (FieldSource::Numbers(numbers), _) => {
                    numbers.get(sample).map_or(FieldValue::Absent, FieldValue::Numbers)
                }
                (FieldSource::Paths(_) | FieldSource::Beside(..), None) => FieldValue::Absent,
                (FieldSource::Paths(_) | FieldSource::Beside(..), Some(ValueFile { path, ending, bytes })) => {
                    let kind = field.values().unwrap_or(FieldKind::Bytes);
                    let texts = if let FieldSource::Beside(_, texts) = source { *texts } else { None };
                    value((kind, texts), &ending, Cow::Borrowed(&buffer[bytes]))
                        .map_err(|reason| Error::data_file(path, of(field), reason))?
                }
            });
        }
        Ok(Sample::new(SampleData::Encoded(&buffer[..length]), label).with_fields(values))
    }

    /// Returns the file that holds the value of a field in a sample; `None` if there is none.
    fn file<'a>(&self, source: &'a FieldSource, sample: usize, image: &Path) -> Option<ValueFile<'a>> {
        match source {
            FieldSource::Texts(_) | FieldSource::Numbers(_) => None,
            FieldSource::Paths(paths) => {
                let path = self.root.join(paths.get(sample)?);
                let ending = path.extension().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
                Some(ValueFile { path, ending: ending.into(), bytes: 0..0 })
            }
            FieldSource::Beside(endings, _) => endings.iter().find_map(|files| {
                let path = files.file(sample, image)?;
                Some(ValueFile { path, ending: files.ending().into(), bytes: 0..0 })
            }),
        }
    }

    /// Calls `see` with every file that has values, besides the images: `image` returns the image of a sample.
    pub(super) fn each_file<'a>(&self, samples: usize, image: impl Fn(usize) -> &'a Path, see: &mut dyn FnMut(&Path)) {
        self.list.iter().for_each(|list| see(list));
        for sample in 0..samples {
            let files = self.sources.iter().filter_map(|source| self.file(source, sample, image(sample)));
            files.for_each(|file| see(&file.path));
        }
    }

    fn limit(&self, field: &Field) -> u64 {
        match field.values() {
            Some(FieldKind::Image) => self.limits.max_file_bytes,
            _ => self.limits.max_field_bytes,
        }
    }

    fn unread(&self, field: &Field, path: &Path, unread: Unread) -> Error {
        match unread {
            Unread::TooLarge(bytes) if field.values() != Some(FieldKind::Image) => {
                Error::data_file(path, of(field), too_large(bytes, self.limits.max_field_bytes))
            }
            unread => unread.of_image(path, self.limits.max_file_bytes),
        }
    }
}

/// Returns a notice for each ending of files that a field could take and does not, because another one of its endings
/// counts first.
pub(super) fn passed_over(fields: &[(Field, FieldSource)], images: &[Box<Path>]) -> Vec<Notice> {
    let mut notices = Vec::new();
    for (_, source) in fields {
        let FieldSource::Beside(all, _) = source else { continue };
        for (number, files) in all.iter().enumerate().skip(1) {
            let is_behind = |sample: &usize| all[..number].iter().any(|before| before.has(*sample));
            // Another field may read it.
            let is_first = |other: &[SideCars], sample| {
                other.iter().find(|files| files.has(sample)).is_some_and(|first| first.ending() == files.ending())
            };
            let is_read = |sample: usize| {
                fields
                    .iter()
                    .any(|(_, other)| matches!(other, FieldSource::Beside(other, _) if is_first(other, sample)))
            };
            let mut unread = files.of_samples().filter(is_behind).filter(|sample| !is_read(*sample));
            let Some(first) = unread.next() else { continue };
            let path = images.get(first).and_then(|image| files.file(first, image)).unwrap_or_default();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let what = format!("files in .{} beside another one of their field", files.ending());
            notices.extend(Notice::not_read(what, 1 + unread.count() as u64, name));
        }
    }
    notices
}

/// The samples among which a file with an array is looked for.
pub(super) const FIRST_SAMPLES: usize = 512;

/// Gives the defaults of fields whose files are arrays the type of the first array, as no setting says it.
///
/// # Errors
/// [`ErrorKind::Argument`](crate::ErrorKind::Argument) for a default that this type does not hold.
pub(super) fn typed_by_files(
    fields: Vec<(Field, FieldSource)>,
    images: &[Box<Path>],
    max_field_bytes: u64,
) -> Result<Vec<(Field, FieldSource)>> {
    let typed = |(field, source): (Field, FieldSource)| -> Result<(Field, FieldSource)> {
        let FieldSource::Beside(files, None) = &source else { return Ok((field, source)) };
        if field.default_numbers().is_none() {
            return Ok((field, source));
        }
        let mut buffer = Vec::new();
        let of_sample = |(sample, image): (usize, &Path)| {
            let (path, ending) = files.iter().find_map(|files| Some((files.file(sample, image)?, files.ending())))?;
            let end = regular_file::read_behind(&path, max_field_bytes, &mut buffer, 0).ok()?;
            match value((FieldKind::Numbers, None), ending, Cow::Borrowed(&buffer[..end])).ok()? {
                FieldValue::Numbers(numbers) => Some((numbers.number_type(), numbers.shape().to_vec())),
                _ => None,
            }
        };
        let first = images.iter().map(|image| &**image).enumerate().take(FIRST_SAMPLES).find_map(of_sample);
        Ok(match first {
            Some((number_type, shape)) => (field.with_numbers_of(number_type, Some(&shape))?, source),
            None => (field, source),
        })
    };
    fields.into_iter().map(typed).collect()
}

/// Returns the reason for which a value of this many bytes is not read.
pub(super) fn too_large(bytes: u64, most: u64) -> Reason {
    let reason = Reason::new(format!("has {bytes} bytes, but at most {most} are read"));
    reason.advise(advice::raise(Setting::MaxFieldBytes))
}

/// The field, as the place of an error.
fn of(field: &Field) -> String {
    format!("the field {:?}", field.name())
}

fn of_text<'a>(field: &Field, text: &'a str) -> Result<FieldValue<'a>, String> {
    Ok(match field.values() {
        Some(FieldKind::Json) => FieldValue::Json(text.into()),
        Some(FieldKind::Bytes) => FieldValue::from(text.as_bytes()),
        Some(FieldKind::Objects) => FieldValue::from(from_json(text)?),
        _ => FieldValue::from(text),
    })
}
