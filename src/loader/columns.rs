//! The fields of a batch: a column for each, with a value for each sample.

use crate::allocate::BATCH;
use crate::dataset::{Absent, Field, FieldKind, FieldValue, NumberType};
use crate::error::{Error, Result, sample_called};

/// A field of a batch: its name, and a value for each sample, in the order of the samples.
///
/// ```
/// use gpufeed::dataset::{Field, FieldKind, FieldValue};
/// use gpufeed::transforms::CenterCrop;
/// use gpufeed::{Backend, ColumnValues, DataLoader, InMemory, Label, PixelFormat};
///
/// let mut data = InMemory::new().with_fields([Field::new("caption").kind(FieldKind::Text)]);
/// data.push_pixels(4, 4, PixelFormat::Rgb8, vec![255; 48], Label::None)?;
/// data.push_fields([FieldValue::from("white")])?;
/// let loader = DataLoader::builder(data).transform(CenterCrop::new(2)).batch_size(1).build(&Backend::Cpu)?;
/// let batch = loader.epoch(0)?.next().unwrap()?;
/// let caption = batch.column("caption").unwrap();
/// assert_eq!(*caption.values(), ColumnValues::Text(vec![Some("white".to_owned())]));
/// # Ok::<(), gpufeed::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    name: String,
    values: ColumnValues,
}

/// The values of a [`Column`], one for each sample of the batch; `None` where a sample has no value.
///
/// ```
/// use gpufeed::ColumnValues;
///
/// let captions = ColumnValues::Text(vec![Some("a cat".to_owned()), None]);
/// assert!(matches!(captions, ColumnValues::Text(texts) if texts.len() == 2));
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ColumnValues {
    /// Texts, one a sample.
    Text(Vec<Option<String>>),
    /// JSON documents, as the data set has them.
    Json(Vec<Option<String>>),
    /// Bytes, as the data set has them.
    Bytes(Vec<Option<Vec<u8>>>),
    /// Numbers of all samples, one sample after the other.
    Numbers {
        /// Their type.
        number_type: NumberType,
        /// The shape of a sample's numbers; `[]` where each sample has one number.
        shape: Vec<usize>,
        /// The numbers in the machine's order of bytes.
        bytes: Vec<u8>,
    },
}

impl Column {
    /// The name of the field.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The values, one for each sample.
    pub fn values(&self) -> &ColumnValues {
        &self.values
    }
}

/// The values of a sample's fields, in memory of their own: of the kinds that the data set promises, and with the
/// settings for those that the sample lacks. An image is no part of a batch's columns, and is absent here.
pub(super) fn owned_values(fields: &[Field], values: Vec<FieldValue<'_>>) -> Result<Vec<FieldValue<'static>>> {
    if values.len() != fields.len() {
        let (found, names) = (values.len(), fields.iter().map(Field::name).collect::<Vec<_>>().join(", "));
        let reason = format!("the sample has {found} values, but its data set has {} fields: {names}", fields.len());
        return Err(Error::argument("fields", reason));
    }
    let owned = |(field, value): (&Field, FieldValue<'_>)| -> Result<FieldValue<'static>> {
        match value.kind() {
            None => match field.absent() {
                Absent::Fail => Err(Error::argument(
                    "fields",
                    format!("the sample has no {:?}, which is neither optional nor has a default", field.name()),
                )),
                Absent::None => Ok(FieldValue::Absent),
                Absent::Value(value) => Ok(value.clone()),
            },
            Some(kind) if Some(kind) != field.values() => {
                let expected = field.values().map_or_else(String::new, |kind| kind.to_string());
                let reason = format!("{:?} of the sample is {kind}, but of the data set {expected}", field.name());
                Err(Error::argument("fields", reason))
            }
            Some(_) => Ok(value.into_owned().unwrap_or_default()),
        }
    };
    fields.iter().zip(values).map(owned).collect()
}

/// Makes the columns of a batch, sample by sample.
#[derive(Debug)]
pub(super) struct ColumnBuilder<'a> {
    fields: &'a [Field],
    columns: Vec<Option<ColumnValues>>,
    samples: usize,
    /// The index and the id of the first sample.
    first: Option<(usize, u64)>,
}

impl<'a> ColumnBuilder<'a> {
    /// # Errors
    /// [`ErrorKind::NoHostMemory`](crate::ErrorKind::NoHostMemory).
    pub(super) fn new(fields: &'a [Field], samples: usize) -> Result<Self> {
        let columns = fields.iter().map(|field| empty(field, samples)).collect::<Result<_>>()?;
        Ok(ColumnBuilder { fields, columns, samples, first: None })
    }

    /// Adds the values of a sample, whose index and id are for the error, as is the `name` of a sample with an index.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`](crate::ErrorKind::Argument) for numbers of another type or shape than the first sample's.
    pub(super) fn push(
        &mut self,
        sample: (usize, u64),
        values: Vec<FieldValue<'static>>,
        name: impl Fn(usize) -> String,
    ) -> Result<()> {
        let first = *self.first.get_or_insert(sample);
        for ((field, column), value) in self.fields.iter().zip(&mut self.columns).zip(values) {
            match (column, value) {
                (Some(ColumnValues::Text(texts) | ColumnValues::Json(texts)), value) => texts.push(match value {
                    FieldValue::Text(text) | FieldValue::Json(text) => Some(text.into_owned()),
                    _ => None,
                }),
                (Some(ColumnValues::Bytes(all)), value) => all.push(match value {
                    FieldValue::Bytes(bytes) => Some(bytes.into_owned()),
                    _ => None,
                }),
                (Some(ColumnValues::Numbers { number_type, shape, bytes }), FieldValue::Numbers(numbers)) => {
                    if (numbers.number_type(), numbers.shape()) != (*number_type, &shape[..]) {
                        let is = NumbersOfSample { sample, number_type: numbers.number_type(), shape: numbers.shape() };
                        let was = NumbersOfSample { sample: first, number_type: *number_type, shape };
                        return Err(other_numbers(field, [is, was], name));
                    }
                    bytes.extend_from_slice(numbers.bytes());
                }
                (column @ None, FieldValue::Numbers(numbers)) => {
                    let mut bytes = Vec::new();
                    BATCH.reserve(&mut bytes, numbers.bytes().len().saturating_mul(self.samples))?;
                    bytes.extend_from_slice(numbers.bytes());
                    let (number_type, shape) = (numbers.number_type(), numbers.shape().to_vec());
                    *column = Some(ColumnValues::Numbers { number_type, shape, bytes });
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The columns of all fields but images.
    pub(super) fn finish(self) -> Vec<Column> {
        let column = |(field, values): (&Field, Option<ColumnValues>)| {
            Some(Column { name: field.name().to_owned(), values: values? })
        };
        self.fields.iter().zip(self.columns).filter_map(column).collect()
    }
}

/// The type and the shape of a sample's numbers, with the index and the id of the sample.
struct NumbersOfSample<'a> {
    sample: (usize, u64),
    number_type: NumberType,
    shape: &'a [usize],
}

/// The error for numbers of two samples that no array holds both.
fn other_numbers(field: &Field, found: [NumbersOfSample<'_>; 2], name: impl Fn(usize) -> String) -> Error {
    let [one, other] = found.map(|NumbersOfSample { sample: (index, id), number_type, shape }| {
        let shape = if shape.is_empty() { String::new() } else { format!(" of shape {shape:?}") };
        format!("{}{shape} in {}", number_type.name(), sample_called(id, &name(index), &""))
    });
    let default = match field.absent() {
        Absent::Value(_) => "; its default value has to be of this type and shape, too",
        _ => "",
    };
    let reason = format!(
        "{:?} is {one}, but {other}: the numbers of a field have one type and one shape in all samples{default}; values that \
         differ can be read by another kind of the field, as text, JSON or bytes",
        field.name()
    );
    Error::argument("fields", reason)
}

/// An empty column with room for `samples` values; `None` for numbers, whose type the first sample has, and for images.
fn empty(field: &Field, samples: usize) -> Result<Option<ColumnValues>> {
    fn room<T>(samples: usize) -> Result<Vec<T>> {
        let mut values = Vec::new();
        BATCH.reserve(&mut values, samples)?;
        Ok(values)
    }
    Ok(match field.values() {
        Some(FieldKind::Text) => Some(ColumnValues::Text(room(samples)?)),
        Some(FieldKind::Json) => Some(ColumnValues::Json(room(samples)?)),
        Some(FieldKind::Bytes) => Some(ColumnValues::Bytes(room(samples)?)),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::Numbers;

    fn name(index: usize) -> String {
        format!("file {index}")
    }

    fn fields() -> Vec<Field> {
        vec![
            Field::new("caption").kind(FieldKind::Text),
            Field::new("meta").kind(FieldKind::Json).optional(),
            Field::new("score").kind(FieldKind::Numbers).default_value(FieldValue::from(-1.0)),
        ]
    }

    #[test]
    fn a_batch_has_what_the_samples_have() {
        let fields = fields();
        let mut builder = ColumnBuilder::new(&fields, 2).unwrap();
        let first = vec![FieldValue::from("a"), FieldValue::Json("{}".into()), FieldValue::from(0.5)];
        let second = vec![FieldValue::from("b"), FieldValue::Absent, FieldValue::Absent];
        for (id, values) in [first, second].into_iter().enumerate() {
            builder.push((id, id as u64), owned_values(&fields, values).unwrap(), name).unwrap();
        }
        let columns = builder.finish();
        let text = |texts: &[Option<&str>]| texts.iter().map(|text| text.map(str::to_owned)).collect();
        assert_eq!(*columns[0].values(), ColumnValues::Text(text(&[Some("a"), Some("b")])));
        assert_eq!(*columns[1].values(), ColumnValues::Json(text(&[Some("{}"), None])));
        let bytes = [0.5_f64, -1.0].map(f64::to_ne_bytes).concat();
        let scores = ColumnValues::Numbers { number_type: NumberType::F64, shape: vec![], bytes };
        assert_eq!((columns[2].name(), columns[2].values()), ("score", &scores));
    }

    #[test]
    fn what_a_sample_lacks_or_has_otherwise_is_named() {
        let fields = fields();
        let error = |values| owned_values(&fields, values).unwrap_err().to_string();
        let score = || FieldValue::from(0.5);
        assert!(error(vec![FieldValue::Absent, FieldValue::Absent, score()]).contains("has no \"caption\""));
        assert!(error(vec![score(), FieldValue::Absent, score()]).contains("is numbers, but of the data set text"));
        assert!(error(vec![score()]).contains("has 1 values, but its data set has 3 fields: caption, meta, score"));
        let mut builder = ColumnBuilder::new(&fields, 2).unwrap();
        let values = |score: Numbers<'static>| vec![FieldValue::from("a"), FieldValue::Absent, FieldValue::from(score)];
        builder.push((4, 40), values(Numbers::from(0.5)), name).unwrap();
        let error = builder.push((9, 90), values(Numbers::from(1_i64)), name).unwrap_err().to_string();
        let expected = "\"score\" is int64 in sample 90 (file 9), but float64 in sample 40 (file 4): the numbers";
        assert!(error.contains(expected) && error.contains("its default value has to be of this type"), "{error}");
    }
}
