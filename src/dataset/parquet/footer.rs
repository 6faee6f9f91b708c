//! Reads the footer of a Parquet file: its columns, and where their chunks are.

use parquet::basic::{Compression, ConvertedType, LogicalType, Type};
use parquet::file::metadata::{
    ColumnChunkMetaData, ParquetMetaData, ParquetMetaDataOptions, ParquetMetaDataReader, ParquetStatisticsPolicy,
};
use parquet::schema::types::{ColumnDescriptor, SchemaDescriptor};

use super::guard;
use crate::error::{Error, Result};
use crate::storage::file::DataFile;

/// The largest footer that is read. A row group of three columns takes half a kilobyte of it.
const LARGEST: u64 = 256 << 20;

/// The contents of the footer.
#[derive(Debug)]
pub(super) struct Footer {
    metadata: ParquetMetaData,
    pub(super) leaves: Vec<Leaf>,
    /// The offset at which the footer begins. All pages are before it.
    begin: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Physical {
    Int32,
    Int64,
    Bytes,
    Other,
}

/// A column.
#[derive(Clone, Copy, Debug)]
pub(super) struct Leaf {
    /// The number of the column at the top to which this column belongs.
    pub(super) top: usize,
    /// The depth of the column: 1 at the top.
    pub(super) depth: usize,
    pub(super) physical: Physical,
    /// True if the bytes are text.
    pub(super) text: bool,
    /// The number of levels that may be null, and the number of levels that repeat.
    pub(super) definition: u32,
    pub(super) repetition: u32,
}

impl Leaf {
    fn of(schema: &SchemaDescriptor, number: usize, column: &ColumnDescriptor) -> Leaf {
        let text = matches!(
            (column.logical_type_ref(), column.converted_type()),
            (Some(LogicalType::String | LogicalType::Enum | LogicalType::Json), _)
                | (_, ConvertedType::UTF8 | ConvertedType::ENUM | ConvertedType::JSON)
        );
        Leaf {
            top: schema.get_column_root_idx(number),
            depth: column.path().parts().len(),
            physical: match column.physical_type() {
                Type::INT32 => Physical::Int32,
                Type::INT64 => Physical::Int64,
                Type::BYTE_ARRAY => Physical::Bytes,
                _ => Physical::Other,
            },
            text,
            definition: column.max_def_level().try_into().unwrap_or(0),
            repetition: column.max_rep_level().try_into().unwrap_or(0),
        }
    }
}

impl Footer {
    /// Reads the footer of a file of `length` bytes.
    ///
    /// # Errors
    /// A file that is no Parquet file, or is cut short, encrypted or damaged.
    pub(super) fn read(file: &DataFile, length: u64) -> Result<Footer> {
        let refused = |place: u64, reason: String| Error::data_file(file.name(), format!("byte {place}"), reason);
        let failed = |source| Error::io(file.name(), source);
        let start = file.bytes(0, length.min(4) as usize).map_err(failed)?;
        if start != b"PAR1" && start != b"PARE" {
            return Err(refused(0, "it is not a Parquet file, which begins with PAR1".into()));
        }
        let end = length.saturating_sub(8).max(4);
        let tail = file.bytes(end, length.saturating_sub(end) as usize).map_err(failed)?;
        let (size, magic) = match tail.split_first_chunk::<4>() {
            Some((size, magic)) => (u64::from(u32::from_le_bytes(*size)), magic),
            None => (0, &b""[..]),
        };
        if magic == b"PARE" || start == b"PARE" {
            let reason = "it is encrypted, which gpufeed does not read; write it again without encryption";
            return Err(refused(end, reason.into()));
        }
        if magic != b"PAR1" {
            return Err(refused(length, "it does not end with PAR1: it is cut short; copy it again".into()));
        }
        let begin = end.checked_sub(size).filter(|begin| *begin >= 4);
        let Some(begin) = begin.filter(|_| size <= LARGEST) else {
            let reason = format!("a footer of {size} bytes, but at most {} are there", (end - 4).min(LARGEST));
            return Err(refused(end, reason));
        };
        let bytes = file.bytes(begin, size as usize).map_err(failed)?;
        let damaged = |reason: &dyn std::fmt::Display| refused(begin, format!("the footer cannot be read: {reason}"));
        match guard::check(&bytes) {
            Err(guard::ENCRYPTED) => {
                let reason = "it has encrypted columns, which gpufeed does not read; write it again without encryption";
                return Err(refused(begin, reason.into()));
            }
            checked => checked.map_err(|broken| damaged(&broken))?,
        }
        let options = ParquetMetaDataOptions::new()
            .with_column_stats_policy(ParquetStatisticsPolicy::SkipAll)
            .with_encoding_stats_policy(ParquetStatisticsPolicy::SkipAll)
            .with_size_stats_policy(ParquetStatisticsPolicy::SkipAll);
        let metadata = ParquetMetaDataReader::decode_metadata_with_options(&bytes, Some(&options));
        let metadata = metadata.map_err(|error| damaged(&error))?;
        let schema = metadata.file_metadata().schema_descr();
        let columns = schema.columns().iter().enumerate();
        let leaves = columns.map(|(number, column)| Leaf::of(schema, number, column)).collect();
        let footer = Footer { metadata, leaves, begin };
        let groups = footer.metadata.row_groups();
        let rows = footer.metadata.file_metadata().num_rows();
        let sum = groups.iter().try_fold(0u64, |sum, group| sum.checked_add(group.num_rows().try_into().ok()?));
        // An index takes 32 bytes a row, but run lengths can claim any number of rows in a few bytes.
        if sum.is_none_or(|sum| i64::try_from(sum) != Ok(rows) || sum > length) {
            return Err(refused(begin, format!("the footer claims {rows} rows, which the row groups do not have")));
        }
        Ok(footer)
    }

    /// Returns the number of row groups.
    pub(super) fn groups(&self) -> usize {
        self.metadata.num_row_groups()
    }

    /// Returns the rows of a row group.
    pub(super) fn rows(&self, group: usize) -> u64 {
        self.metadata.row_group(group).num_rows().try_into().unwrap_or(0)
    }

    /// Returns the value of the key `huggingface`.
    pub(super) fn huggingface(&self) -> Option<&str> {
        let pairs = self.metadata.file_metadata().key_value_metadata()?;
        pairs.iter().find(|pair| pair.key == "huggingface")?.value.as_deref()
    }

    /// Returns the columns as a tree.
    pub(super) fn schema(&self) -> &parquet::schema::types::Type {
        self.metadata.file_metadata().schema_descr().root_schema()
    }

    /// Returns the name of an encoding that a column has in a row group and that is not read; `None` if there is none.
    pub(super) fn unread_encoding(&self, group: usize, leaf: usize) -> Option<String> {
        use parquet::basic::Encoding;
        let is_unread = |encoding: &Encoding| {
            matches!(
                encoding,
                Encoding::DELTA_BINARY_PACKED
                    | Encoding::DELTA_LENGTH_BYTE_ARRAY
                    | Encoding::DELTA_BYTE_ARRAY
                    | Encoding::BYTE_STREAM_SPLIT
            )
        };
        let mut encodings = self.metadata.row_group(group).column(leaf).encodings();
        encodings.find(is_unread).map(|encoding| encoding.to_string())
    }

    /// Returns the name of a column at the top.
    pub(super) fn top_name(&self, top: usize) -> &str {
        let schema = self.metadata.file_metadata().schema_descr().root_schema();
        schema.get_fields().get(top).map_or("", |field| field.name())
    }

    /// Returns the name of a column without those above it.
    pub(super) fn own_name(&self, leaf: usize) -> &str {
        self.metadata.file_metadata().schema_descr().columns()[leaf].name()
    }

    /// Returns the name of a column, with those above it.
    pub(super) fn name(&self, leaf: usize) -> String {
        self.metadata.file_metadata().schema_descr().columns()[leaf].path().string()
    }

    /// Returns the compression of a column in a row group.
    pub(super) fn compression(&self, group: usize, leaf: usize) -> Compression {
        self.metadata.row_group(group).column(leaf).compression()
    }

    /// Returns where a column's pages in a row group begin and end; `None` if they are not in this file.
    pub(super) fn pages(&self, group: usize, leaf: usize) -> Option<(u64, u64)> {
        let chunk: &ColumnChunkMetaData = self.metadata.row_group(group).column(leaf);
        let data = chunk.data_page_offset();
        // Some writers set the offset of a missing dictionary to 0.
        let begin = chunk.dictionary_page_offset().filter(|at| *at > 0 && *at < data).unwrap_or(data);
        let begin = u64::try_from(begin).ok().filter(|begin| *begin >= 4)?;
        let end = begin.checked_add(u64::try_from(chunk.compressed_size()).ok()?)?;
        let here = chunk.file_path().is_none_or(str::is_empty);
        (end <= self.begin && here).then_some((begin, end))
    }
}
