//! Data sets of objects in Python, where no batch of Python is made of what samples have beside image, class and vector.

use crate::python_dataset::REST;
use gpufeed::dataset::{Field, FieldValue};
use gpufeed::{Dataset, ErrorKind, Label, Result, Sample};
use std::sync::Arc;

/// A data set whose samples have images and labels alone. [`REST`] is a pickle, which belongs into no file.
struct WithoutRest(Arc<dyn Dataset>);

/// Returns the data set as it is packed: one of an object in Python loses [`REST`].
pub(crate) fn without(data: Arc<dyn Dataset>) -> Arc<dyn Dataset> {
    if has(&*data) { Arc::new(WithoutRest(data)) } else { data }
}

/// Returns true if the field of the data set is [`REST`].
pub(crate) fn has(data: &dyn Dataset) -> bool {
    data.fields().first().is_some_and(|field| field.name() == REST)
}

/// A data set in gpufeed's formats, with [`REST`] as a field that no sample has.
struct WithRest {
    data: Arc<dyn Dataset>,
    fields: Vec<Field>,
}

/// Returns data sets that can be joined: if one is of an object in Python, those without fields get [`REST`].
pub(crate) fn alike(parts: Vec<Arc<dyn Dataset>>) -> Vec<Arc<dyn Dataset>> {
    let Some(fields) = parts.iter().find(|part| has(&***part)).map(|part| part.fields().to_vec()) else { return parts };
    let with = |data: Arc<dyn Dataset>| -> Arc<dyn Dataset> {
        if data.fields().is_empty() { Arc::new(WithRest { data, fields: fields.clone() }) } else { data }
    };
    parts.into_iter().map(with).collect()
}

impl Dataset for WithRest {
    fn len(&self) -> usize {
        self.data.len()
    }

    fn read<'a>(&'a self, index: usize, buffer: &'a mut Vec<u8>) -> Result<Sample<'a>> {
        Ok(self.data.read(index, buffer)?.with_fields(vec![FieldValue::Absent]))
    }

    fn name(&self, index: usize) -> String {
        self.data.name(index)
    }

    fn inner(&self) -> Option<&dyn Dataset> {
        Some(&*self.data)
    }

    fn fields(&self) -> &[Field] {
        &self.fields
    }

    fn is_in_memory(&self) -> bool {
        self.data.is_in_memory()
    }
}

impl Dataset for WithoutRest {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn read<'a>(&'a self, index: usize, buffer: &'a mut Vec<u8>) -> Result<Sample<'a>> {
        let sample = self.0.read(index, buffer)?;
        let has_rest = matches!(sample.fields.first(), Some(FieldValue::Bytes(_)));
        if has_rest && sample.label == Label::None {
            let reason = "what the object gives beside the image is neither a class nor a vector of numbers, which are all that \
                          a pack of it has";
            return Err(ErrorKind::Argument { setting: "label", reason: reason.to_owned() }.into());
        }
        Ok(Sample::new(sample.data, sample.label))
    }

    fn name(&self, index: usize) -> String {
        self.0.name(index)
    }

    fn inner(&self) -> Option<&dyn Dataset> {
        Some(&*self.0)
    }

    fn fields(&self) -> &[Field] {
        &[]
    }
}
