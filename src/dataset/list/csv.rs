//! Reads a list in CSV.

use crate::advice::{self, Reason};
use csv::{ReaderBuilder, StringRecord};

use super::columns::{CsvColumns, Settings, is_image, other_delimiter};
use super::fields::FieldColumns;
use super::rows::{Failure, ListedSample, Parsed, Rows};
use crate::quote::shortened;

/// Parses rows of CSV.
pub(super) fn rows(bytes: &[u8], delimiter: u8, settings: &Settings) -> Result<Rows, Failure> {
    // Texts of fields stay as they are; all else is trimmed below.
    let mut reader = ReaderBuilder::new().delimiter(delimiter).has_headers(false).from_reader(bytes);
    let mut found = Rows { what: "column", fields: FieldColumns::of(&settings.asked), ..Rows::default() };
    let mut field_names: Vec<String> = Vec::new();
    let (mut chosen, mut record) = (None, StringRecord::new());
    // True until the first sample is read, in a file whose first line may be the names of columns.
    let mut may_be_names = settings.header.is_none();
    let mut doubtful: Option<Failure> = None;
    loop {
        let before = reader.position().line();
        let more = reader.read_record(&mut record).map_err(|error| {
            let line = error.position().map_or(before, csv::Position::line);
            (line, error.to_string().into())
        })?;
        if !more {
            return Ok(found);
        }
        let line = record.position().map_or(before, |position| position.line() + empty_lines(bytes, position.byte()));
        let fail = |reason: Reason| (line, reason);
        let columns = match chosen {
            Some(ref columns) => columns,
            None => {
                let fields: Vec<&str> = record.iter().map(str::trim).collect();
                if let Some(reason) = other_delimiter(&fields, delimiter, settings.header == Some(false)) {
                    return Err(fail(reason));
                }
                let named = settings.header.unwrap_or_else(|| CsvColumns::are_named(&fields, settings));
                let columns = match named {
                    true => CsvColumns::named(&fields, settings),
                    false => CsvColumns::numbered(fields.len(), settings),
                };
                let columns = chosen.insert(columns.map_err(fail)?);
                let name = |at: &usize| if named { fields[*at].to_owned() } else { at.to_string() };
                found.labels = columns.labels.iter().map(name).collect();
                field_names = columns.fields.iter().map(name).collect();
                field_names.iter().for_each(|name| found.fields.expect(name));
                found.unread.clone_from(&columns.unread);
                found.only_one = columns.only_one;
                may_be_names &= !named;
                if named {
                    continue;
                }
                &*columns
            }
        };
        let path = record.get(columns.path).unwrap_or_default().trim();
        if path.is_empty() {
            return Err(fail("no path".into()));
        }
        if let Some(failure) = doubtful.take()
            && is_image(path)
        {
            return Err(failure);
        }
        if std::mem::take(&mut may_be_names) && !is_image(path) {
            let reason = format!(
                "{} does not end as the names of images do, but the path in the next line does: if this line names the \
                 columns, call one of them path",
                shortened(path)
            );
            doubtful = Some((line, Reason::new(reason).advise(advice::LIST_HEADER_OR_SAMPLE)));
        }
        let fields: Vec<&str> = columns.labels.iter().map(|at| record.get(*at).unwrap_or_default().trim()).collect();
        let label = match fields[..] {
            [] => Parsed::None,
            [field] => Parsed::one(field, settings.names).map_err(fail)?,
            _ => Parsed::Numbers(
                fields
                    .iter()
                    .map(|field| Parsed::number(field).map_err(Reason::from).map_err(fail))
                    .collect::<Result<_, _>>()?,
            ),
        };
        for (name, at) in field_names.iter().zip(&columns.fields) {
            // A field without a text is none, as in pandas and in `datasets`.
            let pushed = match record.get(*at).unwrap_or_default() {
                "" => found.fields.push_null(found.rows.len(), name),
                text => found.fields.push(found.rows.len(), name, text),
            };
            pushed.map_err(Reason::from).map_err(fail)?;
        }
        found.rows.push(ListedSample { line, path: path.to_owned(), label });
    }
}

/// Counts the empty lines from `start` on. The reader skips them, but reports the position before them as a record's.
fn empty_lines(bytes: &[u8], start: u64) -> u64 {
    let rest = usize::try_from(start).ok().and_then(|start| bytes.get(start..)).unwrap_or_default();
    rest.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).filter(|&&byte| byte == b'\n').count() as u64
}
