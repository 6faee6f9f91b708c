//! The fields of a sample, as text for the sheet and as JSON.

use gpufeed::dataset::NumberType;
use gpufeed::{Batch, Column, ColumnValues};
use serde_json::{Value, json};

/// Letters of a value that the sheet shows.
const LETTERS: usize = 300;
/// Numbers of a value that are shown; of more only the shape is.
const NUMBERS: usize = 64;

/// A field of one sample.
pub(super) struct ShownField {
    pub(super) name: String,
    /// The value in JSON; null for a sample without one.
    pub(super) value: Value,
}

impl ShownField {
    /// The name and the value, cut off where it is long: `caption: two dogs`.
    pub(super) fn text(&self) -> String {
        let value = match &self.value {
            Value::Null => "none".to_owned(),
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let mut text: String = value.chars().take(LETTERS).collect();
        if text.len() < value.len() {
            text += " ...";
        }
        format!("{}: {text}", self.name)
    }
}

/// Returns the fields of a batch of one sample.
pub(super) fn of_sample(batch: &Batch) -> Vec<ShownField> {
    let field = |column: &Column| ShownField { name: column.name().to_owned(), value: first(column.values()) };
    batch.columns().iter().map(field).collect()
}

/// The first sample's value.
fn first(values: &ColumnValues) -> Value {
    match values {
        ColumnValues::Text(texts) => texts.first().cloned().flatten().map_or(Value::Null, Value::String),
        ColumnValues::Json(documents) => match documents.first().and_then(Option::as_deref) {
            // A text that does not parse is shown unchanged.
            Some(text) => serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned())),
            None => Value::Null,
        },
        ColumnValues::Bytes(all) => match all.first().and_then(Option::as_ref) {
            Some(bytes) => json!({ "bytes": bytes.len() }),
            None => Value::Null,
        },
        ColumnValues::Numbers { number_type, shape, bytes } => {
            let count: usize = shape.iter().product();
            let numbers = bytes.chunks_exact(number_type.bytes()).take(count);
            let numbers: Option<Vec<Value>> =
                numbers.take(NUMBERS + 1).map(|bytes| number(*number_type, bytes)).collect();
            match (numbers, &shape[..]) {
                (Some(mut numbers), []) => numbers.pop().unwrap_or_default(),
                (Some(numbers), [_]) if numbers.len() <= NUMBERS => Value::Array(numbers),
                _ => json!({ "type": number_type.name(), "shape": shape }),
            }
        }
        // Values of a kind that this version does not know.
        _ => Value::Null,
    }
}

/// A number in JSON, which has null for infinities and NaN; `None` for a type that this version does not know.
fn number(number_type: NumberType, bytes: &[u8]) -> Option<Value> {
    macro_rules! read {
        ($($of:ident => $number:ty),*) => {
            match number_type {
                NumberType::Bool => bytes.first().map(|byte| Value::Bool(*byte != 0)),
                NumberType::F16 => bytes.try_into().ok().map(|bytes| Value::from(half(u16::from_ne_bytes(bytes)))),
                $(NumberType::$of => bytes.try_into().ok().map(|bytes| Value::from(<$number>::from_ne_bytes(bytes))),)*
                _ => None,
            }
        };
    }
    read!(
        U8 => u8, I8 => i8, U16 => u16, I16 => i16, U32 => u32, I32 => i32, U64 => u64, I64 => i64,
        F32 => f32, F64 => f64
    )
}

/// The number that a float of 16 bits is.
fn half(bits: u16) -> f32 {
    let sign = if bits >> 15 == 0 { 1.0 } else { -1.0 };
    let fraction = f32::from(bits & 0x3ff) / 1024.0;
    match (bits >> 10) & 0x1f {
        0 => sign * fraction * 2f32.powi(-14),
        31 => sign * if fraction == 0.0 { f32::INFINITY } else { f32::NAN },
        exponent => sign * (1.0 + fraction) * 2f32.powi(i32::from(exponent) - 15),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(values: &ColumnValues) -> String {
        ShownField { name: "x".to_owned(), value: first(values) }.text()
    }

    #[test]
    fn values_of_each_kind_are_text() {
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(shown(&ColumnValues::Text(vec![text("a cat")])), "x: a cat");
        assert_eq!(shown(&ColumnValues::Text(vec![None])), "x: none");
        assert_eq!(shown(&ColumnValues::Json(vec![text("{\"a\": [1, 2]}")])), "x: {\"a\":[1,2]}");
        assert_eq!(shown(&ColumnValues::Bytes(vec![Some(vec![0; 9])])), "x: {\"bytes\":9}");
        let long = shown(&ColumnValues::Text(vec![Some("é".repeat(1000))]));
        assert_eq!(long.chars().count(), 3 + LETTERS + 4);
    }

    #[test]
    fn numbers_are_shown_by_their_type_and_shape() {
        let numbers = |number_type, shape: &[usize], bytes: &[u8]| {
            shown(&ColumnValues::Numbers { number_type, shape: shape.to_vec(), bytes: bytes.to_vec() })
        };
        assert_eq!(numbers(NumberType::F64, &[], &0.5_f64.to_ne_bytes()), "x: 0.5");
        assert_eq!(numbers(NumberType::I16, &[2], &[1_i16, -3].map(i16::to_ne_bytes).concat()), "x: [1,-3]");
        assert_eq!(numbers(NumberType::Bool, &[], &[1]), "x: true");
        assert_eq!(
            numbers(NumberType::F16, &[3], &[0x3c00_u16, 0xc100, 1].map(u16::to_ne_bytes).concat()),
            "x: [1.0,-2.5,5.960464477539063e-8]"
        );
        for (shape, said) in [(&[2, 2][..], "[2,2]"), (&[65], "[65]")] {
            let many = numbers(NumberType::U8, shape, &vec![1; shape.iter().product()]);
            assert!(many.contains("\"type\":\"uint8\"") && many.contains(&format!("\"shape\":{said}")), "{many}");
        }
        assert_eq!(numbers(NumberType::U8, &[0], &[]), "x: []");
    }
}
