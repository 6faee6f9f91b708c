//! The columns of a list that become fields: their texts, line by line, and what they are once all lines are read.

use std::collections::HashMap;

use serde::de::IgnoredAny;

use super::super::file_fields::{FieldSource, too_large};
use super::super::listed_values::TextColumn;
use super::asked::AskedColumns;
use super::column_texts::{trimmed, unquoted};
use super::numbers::{Form, of_texts};
use crate::advice::Reason;
use crate::dataset::encoded_field::number;
use crate::dataset::{Absent, Field, FieldKind, NumberType, Numbers};
use crate::quote::shortened;

/// The most columns that a list of any keys may have as fields.
const MOST: usize = 256;

/// The ending of the columns that Hugging Face's `metadata.csv` and `metadata.jsonl` have for further images.
const FURTHER_IMAGES: &str = "_file_name";

/// The columns of a list that become fields.
#[derive(Debug, Default)]
pub(super) struct FieldColumns {
    columns: Vec<FieldColumn>,
    /// The numbers of the columns by their names.
    numbers: HashMap<String, Vec<usize>>,
    /// True if no field is named, so that columns come as the lines have them.
    are_all: bool,
}

#[derive(Debug)]
struct FieldColumn {
    source: String,
    field: Field,
    texts: TextColumn,
}

/// The result of reading all lines of a list.
#[derive(Clone, Copy, Debug)]
pub(super) struct Listed {
    /// True if texts are JSON.
    pub(super) is_json: bool,
    /// True if the list is Hugging Face's `metadata.csv` or `metadata.jsonl`.
    pub(super) is_metadata: bool,
    /// The number of samples.
    pub(super) samples: usize,
    pub(super) max_field_bytes: u64,
}

/// The number of a sample, if the error is in its line, and the error.
pub(super) type ColumnFailure = (Option<usize>, Reason);

impl FieldColumns {
    /// The columns that are asked for.
    pub(super) fn of(asked: &AskedColumns) -> FieldColumns {
        let mut columns = FieldColumns { are_all: asked.is_all(), ..FieldColumns::default() };
        if let AskedColumns::Named(named) = asked {
            named.iter().for_each(|(source, field)| columns.add(source, field.clone()));
        }
        columns
    }

    /// Returns true if there is nothing to read.
    pub(super) fn is_empty(&self) -> bool {
        self.columns.is_empty() && !self.are_all
    }

    /// Returns the first column that is named and that no line has.
    pub(super) fn missing(&self) -> Option<&str> {
        let column = self.columns.iter().find(|column| !self.are_all && column.texts.samples() == 0)?;
        Some(&column.source)
    }

    /// Returns the named columns of a CSV file in which every text is a number, and whose fields have no kind, so that they
    /// are read as texts.
    pub(super) fn numbers_as_texts(&self) -> Vec<String> {
        let are_numbers =
            |texts: &TextColumn| texts.present() > 0 && texts.texts().all(|(_, text)| number(text).is_ok());
        let columns = self.columns.iter().filter(|column| !self.are_all && column.field.values().is_none());
        columns.filter(|column| are_numbers(&column.texts)).map(|column| column.source.clone()).collect()
    }

    fn add(&mut self, source: &str, field: Field) {
        self.numbers.entry(source.to_owned()).or_default().push(self.columns.len());
        self.columns.push(FieldColumn { source: source.to_owned(), field, texts: TextColumn::default() });
    }

    /// Adds the text that a sample has in a column, unless no field takes the column.
    ///
    /// # Errors
    /// The reason if the sample has one there already, or if there are too many columns.
    pub(super) fn push(&mut self, sample: usize, column: &str, text: &str) -> Result<(), String> {
        if self.are_all && !self.numbers.contains_key(column) {
            if self.columns.len() == MOST {
                return Err(format!("more than {MOST} names of columns; name those that are fields"));
            }
            self.add(column, Field::new(column));
        }
        for number in self.numbers.get(column).into_iter().flatten() {
            let texts = &mut self.columns[*number].texts;
            if texts.samples() > sample {
                return Err(twice(column));
            }
            texts.push(sample, text);
        }
        Ok(())
    }

    /// Notes that a sample has the column, but no value there.
    ///
    /// # Errors
    /// The reason if the sample has the column already.
    pub(super) fn push_null(&mut self, sample: usize, column: &str) -> Result<(), String> {
        for number in self.numbers.get(column).into_iter().flatten() {
            let texts = &mut self.columns[*number].texts;
            if texts.samples() > sample {
                return Err(twice(column));
            }
            texts.pad(sample + 1);
        }
        Ok(())
    }

    /// Adds a column that no line has to have.
    pub(super) fn expect(&mut self, column: &str) {
        if self.are_all && !self.numbers.contains_key(column) {
            self.add(column, Field::new(column));
        }
    }

    /// Returns the fields, with the kinds that their columns have.
    ///
    /// # Errors
    /// A value that is none of its field's kind, or is too large; a field that no sample has.
    pub(super) fn finish(self, listed: Listed) -> Result<Vec<(Field, FieldSource)>, ColumnFailure> {
        let are_all = self.are_all;
        self.columns
            .into_iter()
            .map(|mut column| {
                column.texts.pad(listed.samples);
                column.finish(are_all, listed)
            })
            .collect()
    }
}

impl FieldColumn {
    fn finish(self, is_any: bool, listed: Listed) -> Result<(Field, FieldSource), ColumnFailure> {
        let FieldColumn { source, mut field, mut texts } = self;
        if texts.present() == 0 && !is_any && *field.absent() == Absent::Fail {
            let reason = format!("no line has a value in the column {}, which is a field", shortened(&source));
            return Err((None, reason.into()));
        }
        let place = format!("the column {} ", shortened(&source));
        let fail = |sample: usize, reason: Reason| (Some(sample), reason.after(&place));
        let failed = |(sample, reason): (usize, String)| fail(sample, reason.into());
        let further = source.strip_suffix(FURTHER_IMAGES).filter(|name| listed.is_metadata && !name.is_empty());
        let (kind, form) = match (field.values(), listed.is_json) {
            (Some(kind), true) => (kind, Form::JsonOrText),
            (Some(kind), false) => (kind, Form::Cell),
            (None, _) if further.is_some() => (FieldKind::Image, Form::Json),
            (None, false) => (FieldKind::Text, Form::Cell),
            (None, true) => (kind_of_json(&texts, is_any).map_err(failed)?, Form::Json),
        };
        if kind == FieldKind::Image && !listed.is_json {
            texts = trimmed(&texts);
        }
        if is_any {
            field = Field::new(further.unwrap_or(&source));
            // The numbers of a batch are one array, so that a sample without any has to fail.
            if texts.present() < listed.samples && kind != FieldKind::Numbers {
                field = field.optional();
            }
        }
        let is_quoted = listed.is_json && !matches!(kind, FieldKind::Numbers | FieldKind::Json | FieldKind::Objects);
        let texts = if is_quoted { unquoted(&texts).map_err(failed)? } else { texts };
        for (sample, text) in texts.texts() {
            let bytes = text.len() as u64;
            if bytes > listed.max_field_bytes {
                return Err(fail(sample, too_large(bytes, listed.max_field_bytes)));
            }
            // A line of JSON has been parsed.
            if kind == FieldKind::Json && !listed.is_json {
                let parsed = serde_json::from_str::<IgnoredAny>(text);
                parsed.map_err(|error| fail(sample, format!("is no JSON: {error}").into()))?;
            }
        }
        let values = match kind {
            FieldKind::Numbers => {
                let numbers = of_texts(&texts, form, has_fraction(&field)).map_err(failed)?;
                // Without a number in any line the default's own type is that of all samples.
                if texts.present() > 0 {
                    let (number_type, shape) = numbers.type_and_shape();
                    let typed = field.with_numbers_of(number_type, Some(shape));
                    field = typed.map_err(|error| -> ColumnFailure { (None, error.into()) })?;
                }
                FieldSource::Numbers(numbers)
            }
            FieldKind::Image => FieldSource::Paths(texts),
            FieldKind::Text | FieldKind::Bytes | FieldKind::Json | FieldKind::Objects => FieldSource::Texts(texts),
        };
        Ok((field.kind(kind), values))
    }
}

/// Returns true if the default of a field is a number that no int64 is.
fn has_fraction(field: &Field) -> bool {
    let is_whole = |default: &Numbers<'_>| default.in_type(NumberType::I64).is_some();
    field.default_numbers().is_some_and(|default| default.number_type() == NumberType::F64 && !is_whole(default))
}

fn twice(column: &str) -> String {
    format!("two columns are called {}; which is meant is not known", shortened(column))
}

/// Returns the kind of a column of JSON: text if all of its values are, numbers if they are of one type and shape, or else
/// JSON. A column that is named has texts beside other values only if its field says what it is.
fn kind_of_json(texts: &TextColumn, is_any: bool) -> Result<FieldKind, (usize, String)> {
    let is_text = |text: &str| text.starts_with('"');
    let first = texts.texts().next().is_some_and(|(_, text)| is_text(text));
    match texts.texts().find(|(_, text)| is_text(text) != first) {
        None if first || texts.present() == 0 => Ok(FieldKind::Text),
        None if of_texts(texts, Form::Json, false).is_ok() => Ok(FieldKind::Numbers),
        None => Ok(FieldKind::Json),
        Some(_) if is_any => Ok(FieldKind::Json),
        Some((sample, text)) => {
            let (is, was) = if first { ("no text", "texts") } else { ("a text", "none") };
            let reason = format!(
                "is {is}, {}, but {was} in the lines before: the kind of its field says what it is (text, numbers, json)",
                shortened(text)
            );
            Err((sample, reason))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::FieldValue;

    const LISTED: Listed = Listed { is_json: true, is_metadata: false, samples: 3, max_field_bytes: 20 };

    /// A column `x` of three samples.
    fn column(
        field: Option<Field>,
        texts: [Option<&str>; 3],
        listed: Listed,
    ) -> Result<(Field, FieldSource), ColumnFailure> {
        let asked = match field {
            Some(field) => AskedColumns::Named(vec![("x".to_owned(), field)]),
            None => AskedColumns::All,
        };
        let mut columns = FieldColumns::of(&asked);
        for (sample, text) in texts.iter().enumerate().filter_map(|(sample, text)| Some((sample, (*text)?))) {
            columns.push(sample, "x", text).unwrap();
        }
        Ok(columns.finish(listed)?.remove(0))
    }

    #[test]
    fn the_values_of_a_json_column_say_its_kind() {
        for (texts, all, named) in [
            ([Some("\"a\""), None, Some("\"b\"")], "x (text, may be absent)", "x (text)"),
            ([Some("1"), Some("2.5"), None], "x (numbers)", "x (numbers)"),
            ([Some("[1]"), Some("[1]"), Some("[2]")], "x (numbers)", "x (numbers)"),
            ([Some("[1]"), Some("[]"), Some("[2]")], "x (JSON)", "x (JSON)"),
            ([Some("1"), Some("true"), Some("2")], "x (JSON)", "x (JSON)"),
            ([Some("{}"), Some("[\"a\"]"), Some("1")], "x (JSON)", "x (JSON)"),
            // A float would be another number.
            ([Some("18446744073709551616"), None, Some("1")], "x (JSON, may be absent)", "x (JSON)"),
            ([Some("1"), Some("\"a\""), Some("2")], "x (JSON)", "is a text, \"a\", but none"),
            ([Some("\"a\""), Some("2"), None], "x (JSON, may be absent)", "is no text, 2, but texts"),
        ] {
            assert_eq!(column(None, texts, LISTED).unwrap().0.to_string(), all, "{texts:?}");
            match column(Some(Field::new("x")), texts, LISTED) {
                Ok((field, _)) => assert_eq!(field.to_string(), named, "{texts:?}"),
                Err((sample, reason)) => assert!(sample == Some(1) && reason.text.contains(named), "{}", reason.text),
            }
        }
    }

    #[test]
    fn a_cell_is_a_text_unless_its_field_says_otherwise() {
        let cells = Listed { is_json: false, ..LISTED };
        let texts = [Some("1"), Some("2"), Some("0.5")];
        assert_eq!(column(Some(Field::new("x")), texts, cells).unwrap().0.values(), Some(FieldKind::Text));
        let numbers = || Field::new("x").kind(FieldKind::Numbers);
        assert!(matches!(column(Some(numbers()), texts, cells).unwrap().1, FieldSource::Numbers(_)));
        let failed = |field, texts, listed| {
            let (sample, reason) = column(Some(field), texts, listed).unwrap_err();
            (sample, reason.text)
        };
        let json = Field::new("x").kind(FieldKind::Json);
        let (sample, reason) = failed(json, [Some("{}"), Some("{"), None], cells);
        assert!(sample == Some(1) && reason.starts_with("the column x is no JSON: EOF"), "{reason}");
        let long = [None, None, Some("123456789012345678901")];
        let (sample, reason) = failed(Field::new("x"), long, cells);
        assert!(sample == Some(2) && reason.contains("has 21 bytes, but at most 20 are read"), "{reason}");
        assert_eq!(failed(Field::new("x"), [None; 3], cells).0, None);
        assert!(column(Some(Field::new("x").optional()), [None; 3], cells).is_ok());
        let fallback = numbers().default_value(FieldValue::from(0_i64));
        assert!(column(Some(fallback), [Some("\"7\""), None, None], LISTED).is_ok());
        // The default is one of the column's numbers, and of their type.
        let typed = |default: FieldValue<'static>, texts| {
            let (field, _) = column(Some(numbers().default_value(default)), texts, cells).unwrap();
            field.absent().clone()
        };
        let fallback = |value: FieldValue<'static>| Absent::Value(value);
        assert_eq!(typed(FieldValue::from(0_i64), [Some("0.5"), None, None]), fallback(FieldValue::from(0.0)));
        assert_eq!(typed(FieldValue::from(-1.0), [Some("7"), None, None]), fallback(FieldValue::from(-1_i64)));
        assert_eq!(typed(FieldValue::from(0.5), [Some("7"), None, None]), fallback(FieldValue::from(0.5)));
        let pair = numbers().default_value(FieldValue::from(0.5));
        assert!(failed(pair, [Some("[1, 2]"), None, None], cells).1.contains("of shape [2]"));
        let text = Field::new("x").kind(FieldKind::Text);
        assert_eq!(failed(text, [Some("7"), None, None], LISTED), (Some(0), "the column x is no text: 7".to_owned()));
    }

    #[test]
    fn further_images_of_metadata_have_their_own_ending() {
        let mut columns = FieldColumns::of(&AskedColumns::All);
        columns.push(0, "depth_file_name", "\"a.png\"").unwrap();
        let listed = Listed { is_metadata: true, samples: 1, ..LISTED };
        let (field, source) = columns.finish(listed).unwrap().remove(0);
        assert_eq!(field.to_string(), "depth (images)");
        assert!(matches!(source, FieldSource::Paths(paths) if paths.get(0) == Some("a.png")));
    }

    #[test]
    fn a_line_has_a_column_once() {
        let mut columns = FieldColumns::of(&AskedColumns::All);
        columns.push(0, "x", "1").unwrap();
        assert!(columns.push(0, "x", "1").unwrap_err().contains("two columns are called x"));
        assert!(columns.push_null(0, "x").unwrap_err().contains("two columns are called x"));
        columns.push_null(1, "x").unwrap();
        assert!(columns.push(1, "x", "1").is_err());
        for number in 1..MOST {
            columns.push(1, &number.to_string(), "1").unwrap();
        }
        assert!(columns.push(1, "more", "1").unwrap_err().contains("more than 256 names"));
    }
}
