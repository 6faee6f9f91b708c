//! Data sets of objects in Python, whose samples have a pickle of what stands beside their images.

use crate::python_dataset::REST;
use gpufeed::dataset::{Field, FieldValue};
use gpufeed::{Dataset, Label, Result, Sample};
use std::sync::Arc;

/// Returns true if the field of the data set is [`REST`].
pub(crate) fn has(data: &dyn Dataset) -> bool {
    data.fields().first().is_some_and(|field| field.name() == REST)
}

/// A data set in gpufeed's formats, with the fields of an object in Python, which no sample has.
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
        let absent = self.fields.iter().map(|_| FieldValue::Absent).collect();
        Ok(self.data.read(index, buffer)?.with_fields(absent))
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

    fn label(&self, index: usize) -> Option<Label> {
        self.data.label(index)
    }

    fn is_in_memory(&self) -> bool {
        self.data.is_in_memory()
    }
}
