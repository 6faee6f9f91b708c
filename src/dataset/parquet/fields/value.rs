//! Makes the value of a field in a sample of the bytes that are kept for its row.

use serde::de::IgnoredAny;

use super::kept::{Fault, RowValue};
use super::source::Form;
use crate::advice::{self, Reason};
use crate::dataset::{FieldValue, Numbers};
use crate::objects::from_json;

/// Returns the value of a row, of what is kept of its row group: values, bytes, lengths of lists.
///
/// # Errors
/// The reason if the row has no value of this form.
pub(super) fn of(
    form: Form,
    row: usize,
    (rows, bytes, axes): (&[RowValue], &[u8], &[u32]),
    max_field_bytes: u64,
) -> Result<FieldValue<'static>, Reason> {
    let damaged = || Reason::from("its values are not there: the file is damaged");
    let (begin, length) = match rows.get(row).copied().ok_or_else(damaged)? {
        RowValue::Absent => return Ok(FieldValue::Absent),
        RowValue::Fault(fault) => return Err(reason(fault, max_field_bytes)),
        RowValue::At(begin, length) => (begin as usize, length as usize),
    };
    let value = bytes.get(begin..).and_then(|from| from.get(..length)).ok_or_else(damaged)?;
    let utf8 = || match std::str::from_utf8(value) {
        Ok(text) => Ok(text),
        Err(error) => Err(format!("it is no text in UTF-8, by its byte {}", error.valid_up_to())),
    };
    let text = || utf8().map(|text| text.to_owned().into());
    Ok(match form {
        Form::Text => FieldValue::Text(text()?),
        Form::Json => {
            let parsed = serde_json::from_slice::<IgnoredAny>(value);
            parsed.map_err(|error| format!("it is no JSON: {error}"))?;
            FieldValue::Json(text()?)
        }
        Form::Tree => FieldValue::Json(text()?),
        Form::Objects | Form::ObjectsText => FieldValue::from(from_json(utf8()?)?),
        Form::Bytes | Form::Image => FieldValue::Bytes(value.to_vec().into()),
        Form::Numbers(number_type, depth) => {
            let shape = axes.get(row * depth..).and_then(|from| from.get(..depth)).unwrap_or_default();
            let shape: Vec<usize> = shape.iter().map(|length| *length as usize).collect();
            FieldValue::Numbers(Numbers::new(number_type, shape, value.to_vec()).map_err(|_| damaged())?)
        }
    })
}

fn reason(fault: Fault, max_field_bytes: u64) -> Reason {
    let text = match fault {
        Fault::Long => {
            let text = format!("it has more than {max_field_bytes} bytes");
            return Reason::new(text).advise(advice::LARGER_FIELDS);
        }
        Fault::Nulls => "it has nulls among its numbers; as JSON it can have them",
        Fault::Ragged => "its lists have several lengths, which an array does not have; as JSON they can",
        Fault::NotFinite => "it has a float that is infinite or no number, which JSON does not have",
        Fault::NotInType => "it is a number that its type does not have: the file is damaged",
        Fault::NotText => "it has a text that is no UTF-8",
        Fault::Levels => "its columns contradict each other: the file is damaged",
    };
    text.into()
}
