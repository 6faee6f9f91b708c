//! Named fields of the Parquet files that Hugging Face's `datasets` and pyarrow write: each value is that which `datasets`
//! reads.

use crate::parquet::in_memory;
use gpufeed::dataset::{Field, FieldValue, NumberType, Numbers, Parquet};
use gpufeed::{Dataset, Label, SampleData};
use half::f16;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::fs;
use std::path::Path;

#[test]
fn fields_are_those_that_datasets_reads() {
    compare(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/parquet"));
    // Files of the installed `datasets`, which scripts/test-parquet.sh writes.
    if let Some(folder) = std::env::var_os("GPUFEED_PARQUET_FILES") {
        compare(Path::new(&folder));
    }
}

fn compare(folder: &Path) {
    let all: Value = serde_json::from_slice(&fs::read(folder.join("fields.json")).unwrap()).unwrap();
    assert_eq!(all.as_object().unwrap().len(), 3);
    for (name, columns) in all.as_object().unwrap() {
        let columns = columns.as_object().unwrap();
        // Lists of images are read image by image.
        let sources: Vec<&str> = columns.keys().map(String::as_str).filter(|name| *name != "frames").collect();
        let fields = sources.iter().chain(&["frames[0]", "frames[1]"]);
        let fields: Vec<_> = fields.map(|source| (*source, Field::new(format!("field {source}")))).collect();
        let data = in_memory().allow_unlabelled(true).fields(fields).open(folder.join(name)).unwrap();
        assert_eq!(data.len(), columns["caption"].as_array().unwrap().len(), "{name}");
        assert!(sources.len() >= 26, "{sources:?}");
        for index in (0..data.len()).rev() {
            let (values, label) = sample(&data, index);
            for (source, value) in sources.iter().zip(&values) {
                assert_eq!(*value, columns[*source][index], "{name}: {source} of row {index}");
            }
            for (number, image) in values[sources.len()..].iter().enumerate() {
                let expected = columns["frames"][index].get(number).unwrap_or(&Value::Null);
                assert_eq!(image, expected, "{name}: image {number} of row {index}");
            }
            let class = columns["kind"][index].as_u64().map_or(Label::None, |class| Label::Class(class as u32));
            assert_eq!(label, if name == "fields.parquet" { class } else { Label::None }, "{name}");
        }
    }
}

/// Returns the values of a sample as JSON, of bytes and images the hash, and its label.
fn sample(data: &Parquet, index: usize) -> (Vec<Value>, Label) {
    let mut buffer = Vec::new();
    let sample = data.read(index, &mut buffer).unwrap_or_else(|error| panic!("{index}: {error}"));
    let values = sample.fields.iter().map(|value| match value {
        FieldValue::Absent => Value::Null,
        FieldValue::Text(text) => Value::from(&**text),
        FieldValue::Json(text) => serde_json::from_str(text).unwrap(),
        FieldValue::Bytes(bytes) => hash(bytes),
        FieldValue::Image(SampleData::Encoded(bytes)) => hash(bytes),
        FieldValue::Numbers(numbers) => {
            array(numbers, numbers.shape(), &mut numbers.bytes().chunks(numbers.number_type().bytes()))
        }
        other => panic!("{other:?}"),
    });
    (values.collect(), sample.label)
}

pub(crate) fn hash(bytes: &[u8]) -> Value {
    Value::from(Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect::<String>())
}

pub(crate) fn array<'a>(numbers: &Numbers<'_>, shape: &[usize], bytes: &mut impl Iterator<Item = &'a [u8]>) -> Value {
    match shape {
        [] => number(numbers.number_type(), bytes.next().unwrap()),
        [length, below @ ..] => Value::Array((0..*length).map(|_| array(numbers, below, bytes)).collect()),
    }
}

fn number(number_type: NumberType, bytes: &[u8]) -> Value {
    fn word<const N: usize>(bytes: &[u8]) -> [u8; N] {
        bytes.try_into().unwrap()
    }
    match number_type {
        NumberType::Bool => json!(bytes == [1]),
        NumberType::I8 => json!(i8::from_ne_bytes(word(bytes))),
        NumberType::U8 => json!(u8::from_ne_bytes(word(bytes))),
        NumberType::I16 => json!(i16::from_ne_bytes(word(bytes))),
        NumberType::U16 => json!(u16::from_ne_bytes(word(bytes))),
        NumberType::I32 => json!(i32::from_ne_bytes(word(bytes))),
        NumberType::U32 => json!(u32::from_ne_bytes(word(bytes))),
        NumberType::I64 => json!(i64::from_ne_bytes(word(bytes))),
        NumberType::U64 => json!(u64::from_ne_bytes(word(bytes))),
        NumberType::F16 => json!(f64::from(f16::from_ne_bytes(word(bytes)))),
        NumberType::F32 => json!(f64::from(f32::from_ne_bytes(word(bytes)))),
        NumberType::F64 => json!(f64::from_ne_bytes(word(bytes))),
        other => panic!("{}", other.name()),
    }
}
