//! Writes Parquet files by the crate `parquet`, in the ways in which other programs write them.

pub use parquet::basic::Compression;
use parquet::basic::Encoding;
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{WriterProperties, WriterVersion};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::ColumnPath;
use std::sync::Arc;

/// A row: an image, its path, and its label. Values that are missing are null.
#[derive(Clone, Debug, Default)]
pub struct Row {
    pub image: Option<Vec<u8>>,
    pub path: Option<String>,
    pub label: Option<i64>,
}

/// How a file is written. The default is that of Hugging Face's `datasets`: images plain and uncompressed.
#[derive(Clone, Debug)]
pub struct Style {
    pub compression: Compression,
    /// True for dictionaries of all columns; labels always have one.
    pub dictionary: bool,
    /// True for the second version of pages.
    pub version_2: bool,
    pub rows_a_group: usize,
    pub rows_a_page: usize,
    /// The encoding of images; plain if none.
    pub encoding: Option<Encoding>,
    /// The encoding of paths; plain if none.
    pub path_encoding: Option<Encoding>,
    /// Names of the classes, in the key `huggingface`.
    pub classes: Vec<String>,
    /// The name of the labels' column.
    pub label: String,
    /// The name of a column before that of the labels, and what it has: the numbers of the rows as `int64`, or as `binary` text.
    pub before: Option<(String, &'static str)>,
}

impl Default for Style {
    fn default() -> Style {
        Style {
            compression: Compression::UNCOMPRESSED,
            dictionary: false,
            version_2: false,
            rows_a_group: 100,
            rows_a_page: 10,
            encoding: None,
            path_encoding: None,
            classes: Vec::new(),
            label: "label".to_owned(),
            before: None,
        }
    }
}

/// Returns the bytes of a file with these rows: `image: struct<bytes, path>` and `label: int64`.
///
/// # Panics
/// If the crate refuses the style.
pub fn file(rows: &[Row], style: &Style) -> Vec<u8> {
    let before = style.before.as_ref().map_or_else(String::new, |(name, kind)| {
        let text = if *kind == "binary" { " (utf8)" } else { "" };
        format!("required {kind} {name}{text};")
    });
    let schema = format!(
        "message schema {{ optional group image {{ optional binary bytes; optional binary path (utf8); }} {before} \
         optional int64 {}; }}",
        style.label
    );
    let schema = Arc::new(parse_message_type(&schema).expect("a schema"));
    let names: Vec<_> = style.classes.iter().map(|name| format!("{name:?}")).collect();
    let features = format!(
        "{{\"info\": {{\"features\": {{\"image\": {{\"_type\": \"Image\"}}, {:?}: {{\"names\": [{}], \"_type\": \
         \"ClassLabel\"}}}}}}}}",
        style.label,
        names.join(", ")
    );
    let part = |name: &str| ColumnPath::new(vec!["image".into(), name.into()]);
    let mut properties = WriterProperties::builder()
        .set_compression(style.compression)
        .set_dictionary_enabled(style.dictionary)
        .set_column_dictionary_enabled(ColumnPath::new(vec![style.label.clone()]), true)
        .set_data_page_row_count_limit(style.rows_a_page)
        .set_write_batch_size(style.rows_a_page)
        .set_writer_version(if style.version_2 { WriterVersion::PARQUET_2_0 } else { WriterVersion::PARQUET_1_0 })
        .set_column_encoding(part("path"), style.path_encoding.unwrap_or(Encoding::PLAIN))
        .set_column_encoding(part("bytes"), style.encoding.unwrap_or(Encoding::PLAIN));
    if !style.classes.is_empty() {
        let pair = KeyValue::new("huggingface".to_owned(), features);
        properties = properties.set_key_value_metadata(Some(vec![pair]));
    }
    let mut bytes = Vec::new();
    let mut file = SerializedFileWriter::new(&mut bytes, schema, Arc::new(properties.build())).expect("a writer");
    // Without rows there is an empty group, as pyarrow writes it.
    for group in rows.chunks(style.rows_a_group).chain(rows.is_empty().then_some(rows)) {
        let mut writer = file.next_row_group().expect("a row group");
        let images = group.iter().map(|row| row.image.clone().map(ByteArray::from));
        let paths = group.iter().map(|row| row.path.clone().map(|path| ByteArray::from(path.into_bytes())));
        for column in [images.collect::<Vec<_>>(), paths.collect()] {
            let levels: Vec<i16> = column.iter().map(|value| if value.is_some() { 2 } else { 1 }).collect();
            let values: Vec<_> = column.into_iter().flatten().collect();
            let mut column = writer.next_column().expect("a column").expect("a column");
            let ColumnWriter::ByteArrayColumnWriter(typed) = column.untyped() else { panic!("no binary column") };
            typed.write_batch(&values, Some(&levels), None).expect("values");
            column.close().expect("a column");
        }
        if style.before.is_some() {
            let mut column = writer.next_column().expect("a column").expect("a column");
            let numbers = 0..group.len() as i64;
            match column.untyped() {
                ColumnWriter::Int64ColumnWriter(typed) => {
                    typed.write_batch(&numbers.collect::<Vec<_>>(), None, None).expect("values");
                }
                ColumnWriter::ByteArrayColumnWriter(typed) => {
                    let texts: Vec<_> =
                        numbers.map(|number| ByteArray::from(number.to_string().into_bytes())).collect();
                    typed.write_batch(&texts, None, None).expect("values");
                }
                _ => panic!("a column of integers or of texts"),
            }
            column.close().expect("a column");
        }
        let levels: Vec<i16> = group.iter().map(|row| row.label.is_some().into()).collect();
        let labels: Vec<i64> = group.iter().filter_map(|row| row.label).collect();
        let mut column = writer.next_column().expect("a column").expect("a column");
        let ColumnWriter::Int64ColumnWriter(typed) = column.untyped() else { panic!("no column of integers") };
        typed.write_batch(&labels, Some(&levels), None).expect("values");
        column.close().expect("a column");
        writer.close().expect("a row group");
    }
    file.close().expect("a file");
    bytes
}
