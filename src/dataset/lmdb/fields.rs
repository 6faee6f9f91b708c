//! The fields of an LMDB whose samples are numbered: which keys have their values, and what the values are.

use std::borrow::Cow;

use super::layout::{numbered_key, source_of};
use super::locations::Location;
use super::reader::{Reader, broken};
use crate::advice::{self, Reason, Setting};
use crate::dataset::encoded_field::{kind_of_ending, type_of_texts, value};
use crate::dataset::file_fields::FieldLimits;
use crate::dataset::{Field, FieldKind, FieldValue, NumberType, numpy};
use crate::decode::ImageFormat;
use crate::error::{Error, Result};

/// The names of keys that an error lists.
const LISTED: usize = 20;

/// The fields of a set.
#[derive(Debug)]
pub(super) struct KeyFields {
    fields: Vec<Field>,
    sources: Vec<Source>,
    limits: FieldLimits,
}

/// Where the values of a field are.
#[derive(Debug)]
struct Source {
    /// The part of their keys before the number.
    name: String,
    /// The type of numbers that are texts.
    texts: Option<NumberType>,
}

impl KeyFields {
    /// Decides which fields the set has: those that are `named`, or all sources in `there`, which are those of the set.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`](crate::ErrorKind::Argument) for a field that no sample has, unless it is one of a pack, and
    /// for fields that no loader takes.
    pub(super) fn decide(
        reader: &Reader,
        (named, of_pack): (Option<Vec<(String, Field)>>, bool),
        (there, own): (&[String], &[&str]),
        limits: FieldLimits,
    ) -> Result<KeyFields> {
        let others = || there.iter().filter(|source| !own.contains(&&***source));
        let is_all = named.is_none();
        // No count says whether every sample has a value.
        let any = |source: &String| (source.clone(), Field::new(source).optional());
        let named = named.unwrap_or_else(|| others().map(any).collect());
        let mut decided = KeyFields { fields: Vec::new(), sources: Vec::new(), limits };
        for (name, mut field) in named {
            let key = first_key(reader, &name)?;
            if !of_pack && key.is_none() {
                return Err(no_sample_has(&name, &field, there));
            }
            let first = key.map_or(Ok(None), |key| first_value(reader, &key, limits))?;
            let kind = field.values().unwrap_or_else(|| kind(&name, first.as_deref()));
            let is_array = first.as_ref().is_some_and(|bytes| bytes.starts_with(numpy::MAGIC));
            let texts = type_of_texts(&[&name]).filter(|_| kind == FieldKind::Numbers && !is_array);
            if is_all && kind == FieldKind::Numbers {
                // Numbers of a batch are one array, so that a sample without any has to fail.
                field = Field::new(field.name());
            }
            field = field.kind(kind);
            // A default has the type of the other numbers. A first value that is no number fails its sample later.
            let first = first.filter(|_| kind == FieldKind::Numbers);
            if let Some(Ok(FieldValue::Numbers(numbers))) =
                first.map(|bytes| value((kind, texts), &name, Cow::Owned(bytes)))
            {
                field = field.with_numbers_of(numbers.number_type(), Some(numbers.shape()))?;
            }
            decided.fields.push(field);
            decided.sources.push(Source { name, texts });
        }
        Field::check(&decided.fields)?;
        Ok(decided)
    }

    pub(super) fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// Returns true if a field has the values of these keys.
    pub(super) fn has(&self, source: &str) -> bool {
        self.sources.iter().any(|own| own.name == source)
    }

    /// Finds the values of sample `number`, from 1 on; `None` where it has none. `buffer` holds the pages of the search.
    ///
    /// # Errors
    /// A value that is too large; a damaged page.
    pub(super) fn find(&self, reader: &Reader, number: u64, buffer: &mut Vec<u8>) -> Result<Vec<Option<Location>>> {
        let find = |(field, source): (&Field, &Source)| {
            let key = numbered_key(&source.name, number);
            let Some(location) = reader.find(key.as_bytes(), buffer)? else { return Ok(None) };
            let is_image = field.values() == Some(FieldKind::Image);
            let most = if is_image { self.limits.max_file_bytes } else { self.limits.max_field_bytes };
            if location.length > most {
                if is_image {
                    return Err(reader.too_large(key.as_bytes(), location, most));
                }
                let bytes = location.length;
                let reason =
                    format!("the field {:?}, {key}, has {bytes} bytes, but at most {most} are read", field.name());
                return Err(broken(&reader.path, Reason::new(reason).advise(advice::raise(Setting::MaxFieldBytes))));
            }
            Ok(Some(location))
        };
        self.fields.iter().zip(&self.sources).map(find).collect()
    }

    /// Makes the values of sample `number` of their bytes.
    ///
    /// # Errors
    /// Bytes that are no value of their field.
    pub(super) fn values<'a>(
        &self,
        reader: &Reader,
        number: u64,
        bytes: impl Iterator<Item = Option<&'a [u8]>>,
    ) -> Result<Vec<FieldValue<'a>>> {
        let of = |((field, source), bytes): ((&Field, &Source), Option<&'a [u8]>)| {
            let Some(bytes) = bytes else { return Ok(FieldValue::Absent) };
            let kind = field.values().unwrap_or(FieldKind::Bytes);
            value((kind, source.texts), &source.name, Cow::Borrowed(bytes)).map_err(|reason| {
                let key = numbered_key(&source.name, number);
                broken(&reader.path, format!("the field {:?}, {key}, {reason}", field.name()))
            })
        };
        self.fields.iter().zip(&self.sources).zip(bytes).map(of).collect()
    }
}

/// Returns the first key of a source; `None` if no sample has one.
fn first_key(reader: &Reader, source: &str) -> Result<Option<Vec<u8>>> {
    let found = reader.first_not_below(numbered_key(source, 0).as_bytes())?;
    Ok(found.filter(|key| source_of(key) == Some(source)))
}

/// Reads the value of a key; `None` if it is too large.
fn first_value(reader: &Reader, key: &[u8], limits: FieldLimits) -> Result<Option<Vec<u8>>> {
    let mut buffer = Vec::new();
    let Some(location) = reader.find(key, &mut buffer)? else { return Ok(None) };
    // An image may be larger than other values.
    if location.length > limits.max_field_bytes.max(limits.max_file_bytes) {
        return Ok(None);
    }
    let end = reader.read_behind(location, 0, &mut buffer)?;
    buffer.truncate(end);
    Ok(Some(buffer))
}

/// Returns the kind of the values of a source: as its name says, if that is a known ending of files, or else as the first
/// value shows.
fn kind(source: &str, first: Option<&[u8]>) -> FieldKind {
    match (kind_of_ending(source), first) {
        (FieldKind::Bytes, Some(first)) if ImageFormat::recognise(first).is_some() => FieldKind::Image,
        // A name with a dot, such as that of a pack's bytes, has the ending of a file.
        (FieldKind::Bytes, Some(first)) if !source.contains('.') && is_text(first) => FieldKind::Text,
        (known, _) => known,
    }
}

/// Returns true for UTF-8 without the zero bytes that numbers have.
fn is_text(bytes: &[u8]) -> bool {
    !bytes.contains(&0) && std::str::from_utf8(bytes).is_ok()
}

fn no_sample_has(source: &str, field: &Field, there: &[String]) -> Error {
    let more = there.len().saturating_sub(LISTED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let first = there.iter().take(LISTED).map(|source| numbered_key(source, 1)).collect::<Vec<_>>().join(", ");
    let (name, key) = (field.name(), numbered_key(source, 1));
    let reason =
        format!("no sample has a key such as {key:?} for {name:?}; the keys of samples are such as {first}{more}");
    Error::argument("fields", reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_first_values_say_the_kind() {
        for (source, first, expected) in [
            ("caption", None, FieldKind::Text),
            ("score.npy", None, FieldKind::Numbers),
            ("index", Some(&b"7"[..]), FieldKind::Numbers),
            ("meta.json", None, FieldKind::Json),
            ("depth", Some(b"\x89PNG\r\n\x1a\n"), FieldKind::Image),
            ("label", Some(b"cafe"), FieldKind::Text),
            ("features", Some(b"\xff"), FieldKind::Bytes),
            ("features", Some(b"\x07\0\0\0"), FieldKind::Bytes),
            ("features.bin", Some(b"text"), FieldKind::Bytes),
            ("features", None, FieldKind::Bytes),
        ] {
            assert_eq!(kind(source, first), expected, "{source}");
        }
    }
}
