//! Numbers of a list's column: of one type and one shape in all lines.

use serde_json::Value;

use super::super::encoded_field::number;
use super::super::listed_values::{NumberColumn, TextColumn};
use crate::dataset::NumberType;
use crate::quote::shortened;

/// How the texts of a column are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// As a CSV file has them: a number, `true` or `True`, a list as in JSON.
    Cell,
    /// As JSON.
    Json,
    /// As JSON, or as a JSON text of what a CSV file would have.
    JsonOrText,
}

/// A number as a list has it.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Number {
    Bool(bool),
    Whole(i64),
    Float(f64),
}

/// Returns the numbers of a column, or the first sample whose text is none, and the reason.
///
/// The type is int64 if all numbers are whole, float64 if some are not or with a `fraction` as the default, bool if there are
/// only `true` and `false`.
pub(super) fn of_texts(texts: &TextColumn, form: Form, fraction: bool) -> Result<NumberColumn, (usize, String)> {
    let mut column_type = fraction.then_some(NumberType::F64);
    let mut column_shape: Option<Vec<usize>> = None;
    for (sample, text) in texts.texts() {
        let (shape, numbers) = parsed(text, form).map_err(|reason| (sample, reason))?;
        match &column_shape {
            Some(known) if *known != shape => {
                let reason = format!("has numbers of shape {shape:?}, but a line before it of {known:?}");
                return Err((sample, reason));
            }
            Some(_) => {}
            None => column_shape = Some(shape),
        }
        for number in numbers {
            let common = common(column_type, number);
            let other = || (sample, "has true or false beside lines with numbers, or these beside those".to_owned());
            column_type = Some(common.ok_or_else(other)?);
        }
    }
    let number_type = column_type.unwrap_or(NumberType::F64);
    let mut column = NumberColumn::new(number_type, column_shape.unwrap_or_default());
    for (sample, text) in texts.texts() {
        let (_, numbers) = parsed(text, form).map_err(|reason| (sample, reason))?;
        let bytes: Result<Vec<_>, String> = numbers.into_iter().map(|number| bytes(number, number_type)).collect();
        column.push(sample, bytes.map_err(|reason| (sample, reason))?.concat());
    }
    column.pad(texts.samples());
    Ok(column)
}

/// Returns the type for numbers of a type and one more; `None` if there is none.
fn common(known: Option<NumberType>, number: Number) -> Option<NumberType> {
    match (known, number) {
        (None | Some(NumberType::Bool), Number::Bool(_)) => Some(NumberType::Bool),
        (None | Some(NumberType::I64), Number::Whole(_)) => Some(NumberType::I64),
        (None | Some(NumberType::I64 | NumberType::F64), Number::Float(_)) => Some(NumberType::F64),
        (Some(NumberType::F64), Number::Whole(_)) => Some(NumberType::F64),
        _ => None,
    }
}

/// Returns the bytes of a number in a column of a type.
///
/// # Errors
/// A whole number that the floats of the column do not hold.
fn bytes(number: Number, number_type: NumberType) -> Result<Vec<u8>, String> {
    Ok(match (number, number_type) {
        (Number::Bool(flag), _) => vec![u8::from(flag)],
        (Number::Whole(whole), NumberType::I64) => whole.to_ne_bytes().into(),
        (Number::Whole(whole), _) if (whole as f64) as i128 == i128::from(whole) => (whole as f64).to_ne_bytes().into(),
        (Number::Whole(whole), _) => {
            return Err(format!("float64, which lines with fractions need, does not hold {whole}"));
        }
        (Number::Float(float), _) => float.to_ne_bytes().into(),
    })
}

/// Returns the shape and the numbers of a text.
fn parsed(text: &str, form: Form) -> Result<(Vec<usize>, Vec<Number>), String> {
    if form == Form::Cell {
        return of_cell(text);
    }
    match serde_json::from_str(text).map_err(|_| no_number(text))? {
        Value::String(inner) if form == Form::JsonOrText => of_cell(&inner),
        value => of_value(&value, text).ok_or_else(|| no_number(text)),
    }
}

fn no_number(text: &str) -> String {
    format!("is no number: {}", shortened(text))
}

fn of_cell(text: &str) -> Result<(Vec<usize>, Vec<Number>), String> {
    let trimmed = text.trim();
    let single = match trimmed {
        "true" | "True" | "TRUE" => Number::Bool(true),
        "false" | "False" | "FALSE" => Number::Bool(false),
        _ if trimmed.starts_with('[') => {
            let value = serde_json::from_str(trimmed).map_err(|_| no_number(text))?;
            return of_value(&value, trimmed).ok_or_else(|| no_number(text));
        }
        _ => {
            let number = number(trimmed)?;
            let bytes: [u8; 8] = number.bytes().try_into().map_err(|_| no_number(text))?;
            match number.number_type() {
                NumberType::I64 => Number::Whole(i64::from_ne_bytes(bytes)),
                _ => Number::Float(f64::from_ne_bytes(bytes)),
            }
        }
    };
    Ok((Vec::new(), vec![single]))
}

/// Returns the shape and the numbers of a JSON value, which is written as `text`; `None` if it has other things, whole
/// numbers that int64 does not hold, or lists of several lengths.
fn of_value(value: &Value, text: &str) -> Option<(Vec<usize>, Vec<Number>)> {
    let (mut shape, mut rank, mut numbers) = (Vec::new(), None, Vec::new());
    let flat = flatten(value, 0, &mut shape, &mut rank, &mut numbers) && !has_large(text);
    (flat && shape.iter().product::<usize>() == numbers.len()).then_some((shape, numbers))
}

/// Returns true if a whole number of a text of numbers is one that int64 does not hold: a parser of JSON makes the nearest
/// float of it, which is another number.
fn has_large(text: &str) -> bool {
    let is_whole = |number: &&str| {
        let digits = number.strip_prefix('-').unwrap_or(number);
        !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
    };
    let mut whole = text.split(|c: char| ",[]".contains(c) || c.is_ascii_whitespace()).filter(is_whole);
    whole.any(|number| number.parse::<i64>().is_err())
}

/// Appends the numbers of a value, whose lists have to be of one length each. Returns false if they are not, or have other
/// things than numbers.
fn flatten(
    value: &Value,
    depth: usize,
    shape: &mut Vec<usize>,
    rank: &mut Option<usize>,
    numbers: &mut Vec<Number>,
) -> bool {
    let number = match value {
        Value::Array(items) => {
            match shape.get(depth) {
                Some(side) if *side != items.len() => return false,
                Some(_) => {}
                None if rank.is_some() => return false,
                None => shape.push(items.len()),
            }
            return items.iter().all(|item| flatten(item, depth + 1, shape, rank, numbers));
        }
        Value::Bool(flag) => Number::Bool(*flag),
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(whole), _) => Number::Whole(whole),
            (None, Some(float)) if number.is_f64() => Number::Float(float),
            _ => return false,
        },
        _ => return false,
    };
    numbers.push(number);
    *rank.get_or_insert(depth) == depth
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(texts: &[&str], form: Form) -> Result<NumberColumn, (usize, String)> {
        let mut column = TextColumn::default();
        texts.iter().enumerate().for_each(|(sample, text)| column.push(sample, text));
        of_texts(&column, form, false)
    }

    #[test]
    fn a_column_has_one_type_and_one_shape() {
        for (texts, number_type, shape, last) in [
            (&["1", "-2"][..], NumberType::I64, &[][..], (-2_i64).to_ne_bytes().to_vec()),
            (&["1", "0.5", "2"], NumberType::F64, &[], 2.0_f64.to_ne_bytes().to_vec()),
            (&["true", "false"], NumberType::Bool, &[], vec![0]),
            (&["[[1, 2]]", "[[3,4.5]]"], NumberType::F64, &[1, 2], [3.0_f64, 4.5].map(f64::to_ne_bytes).concat()),
            (&["[]", "[ ]"], NumberType::F64, &[0], Vec::new()),
            (&["[1e20]"], NumberType::F64, &[1], 1e20_f64.to_ne_bytes().to_vec()),
        ] {
            for form in [Form::Cell, Form::Json] {
                let column = column(texts, form).unwrap();
                let found = column.get(texts.len() - 1).unwrap();
                assert_eq!(
                    (found.number_type(), found.shape(), found.bytes()),
                    (number_type, shape, &last[..]),
                    "{texts:?}"
                );
            }
        }
        assert_eq!(column(&["True", "FALSE"], Form::Cell).unwrap().get(0).unwrap().bytes(), [1]);
        assert_eq!(column(&[" +.5 "], Form::Cell).unwrap().get(0).unwrap().bytes(), 0.5_f64.to_ne_bytes());
        assert_eq!(column(&["\" 2 \"", "3"], Form::JsonOrText).unwrap().get(0).unwrap().bytes(), 2_i64.to_ne_bytes());
    }

    #[test]
    fn what_is_no_number_is_named() {
        for (texts, at, says) in [
            (&["1", "\"2\""][..], 1, "is no number: \"2\""),
            (&["1", "true"], 1, "has true or false beside"),
            (&["[1]", "[1, 2]"], 1, "has numbers of shape [2], but a line before it of [1]"),
            (&["[[1], [2, 3]]"], 0, "is no number"),
            (&["[1, [2]]"], 0, "is no number"),
            (&["[[1], 2]"], 0, "is no number"),
            (&["[[], 1]"], 0, "is no number"),
            (&["18446744073709551615"], 0, "is no number"),
            (&["18446744073709551616"], 0, "is no number: 18446744073709551616"),
            (&["[0.5, -100000000000000000001]"], 0, "is no number"),
            (&["nan"], 0, "is no number: nan"),
            (&["0.5", "9007199254740993"], 1, "does not hold 9007199254740993"),
        ] {
            let (sample, reason) = column(texts, Form::Json).unwrap_err();
            assert!(sample == at && reason.contains(says), "{texts:?}: {sample}: {reason}");
        }
        assert!(column(&["18446744073709551615"], Form::Cell).unwrap_err().1.contains("int64 does not hold"));
        assert!(column(&["nan"], Form::Cell).is_err());
    }
}
