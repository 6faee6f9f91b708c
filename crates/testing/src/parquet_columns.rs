//! Writes Parquet files of any columns: lists, structs, numbers.

use parquet::basic::Encoding;
use parquet::column::writer::ColumnWriter;
use parquet::data_type::{ByteArray, FixedLenByteArray};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{WriterProperties, WriterVersion};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use std::sync::Arc;

use crate::parquet_files::Style;

/// The values of a column that are there.
#[derive(Clone, Debug)]
pub enum Values {
    Bytes(Vec<Vec<u8>>),
    Fixed(Vec<Vec<u8>>),
    Bools(Vec<bool>),
    I32(Vec<i32>),
    I64(Vec<i64>),
    F32(Vec<f32>),
    F64(Vec<f64>),
}

/// A column of a row group: its values, and the levels of its entries, which are empty where the column has none.
#[derive(Clone, Debug)]
pub struct Column {
    pub values: Values,
    pub definition: Vec<i16>,
    pub repetition: Vec<i16>,
}

impl Column {
    /// A column with a value in each row.
    pub fn required(values: Values) -> Column {
        Column { values, definition: Vec::new(), repetition: Vec::new() }
    }

    /// A column whose entries have these levels.
    pub fn of(values: Values, definition: &[i16], repetition: &[i16]) -> Column {
        Column { values, definition: definition.to_vec(), repetition: repetition.to_vec() }
    }

    /// Texts in each row.
    pub fn texts<T: AsRef<[u8]>>(texts: impl IntoIterator<Item = T>) -> Column {
        Column::required(Values::Bytes(texts.into_iter().map(|text| text.as_ref().to_vec()).collect()))
    }
}

/// Returns the bytes of a file with this schema, `image: struct<bytes, path>` before it, and these row groups. The images
/// of a group are as many as `images` says. `features` are those of the key `huggingface`.
///
/// # Panics
/// If the crate refuses the columns.
pub fn file(schema: &str, features: &str, groups: &[(Vec<Vec<u8>>, Vec<Column>)], style: &Style) -> Vec<u8> {
    let schema = format!("message schema {{ optional group image {{ optional binary bytes; }} {schema} }}");
    let schema = Arc::new(parse_message_type(&schema).expect("a schema"));
    let pair = KeyValue::new("huggingface".to_owned(), format!("{{\"info\": {{\"features\": {features}}}}}"));
    let properties = WriterProperties::builder()
        .set_compression(style.compression)
        .set_dictionary_enabled(style.dictionary)
        .set_data_page_row_count_limit(style.rows_a_page)
        .set_write_batch_size(style.rows_a_page)
        .set_writer_version(if style.version_2 { WriterVersion::PARQUET_2_0 } else { WriterVersion::PARQUET_1_0 })
        .set_encoding(Encoding::PLAIN)
        .set_key_value_metadata(Some(vec![pair]));
    let mut bytes = Vec::new();
    let mut file = SerializedFileWriter::new(&mut bytes, schema, Arc::new(properties.build())).expect("a writer");
    for (images, columns) in groups {
        let levels = vec![2; images.len()];
        let image = Column::of(Values::Bytes(images.clone()), &levels, &[]);
        let mut group = file.next_row_group().expect("a row group");
        for column in std::iter::once(&image).chain(columns) {
            let mut writer = group.next_column().expect("a column").expect("a column of the schema");
            write(column, writer.untyped());
            writer.close().expect("a column");
        }
        assert!(group.next_column().expect("no column").is_none(), "a column without values");
        group.close().expect("a row group");
    }
    file.close().expect("a file");
    bytes
}

fn write(column: &Column, writer: &mut ColumnWriter<'_>) {
    let levels = |levels: &'_ [i16]| (!levels.is_empty()).then(|| levels.to_vec());
    let (definition, repetition) = (levels(&column.definition), levels(&column.repetition));
    let (definition, repetition) = (definition.as_deref(), repetition.as_deref());
    let bytes = |values: &[Vec<u8>]| values.iter().cloned().map(ByteArray::from).collect::<Vec<_>>();
    let written = match (&column.values, writer) {
        (Values::Bytes(values), ColumnWriter::ByteArrayColumnWriter(typed)) => {
            typed.write_batch(&bytes(values), definition, repetition)
        }
        (Values::Fixed(values), ColumnWriter::FixedLenByteArrayColumnWriter(typed)) => {
            let values: Vec<_> = bytes(values).into_iter().map(FixedLenByteArray::from).collect();
            typed.write_batch(&values, definition, repetition)
        }
        (Values::Bools(values), ColumnWriter::BoolColumnWriter(typed)) => {
            typed.write_batch(values, definition, repetition)
        }
        (Values::I32(values), ColumnWriter::Int32ColumnWriter(typed)) => {
            typed.write_batch(values, definition, repetition)
        }
        (Values::I64(values), ColumnWriter::Int64ColumnWriter(typed)) => {
            typed.write_batch(values, definition, repetition)
        }
        (Values::F32(values), ColumnWriter::FloatColumnWriter(typed)) => {
            typed.write_batch(values, definition, repetition)
        }
        (Values::F64(values), ColumnWriter::DoubleColumnWriter(typed)) => {
            typed.write_batch(values, definition, repetition)
        }
        (values, _) => panic!("another type than the schema's: {values:?}"),
    };
    written.expect("values");
}
