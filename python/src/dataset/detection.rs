//! Files with the objects of their images, as a data set of torchvision for detection has both in memory.

use crate::objects::{Values, box_format, boxes, object_values};
use gpufeed::dataset::{Field, FieldKind, FieldValue};
use gpufeed::targets::{BoxFormat, ObjectValues, Objects};
use gpufeed::{Dataset, Error, ErrorKind, ImageList, Label, Result, Sample};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::path::PathBuf;
use std::sync::Arc;

/// The name of the field of objects.
const TARGETS: &str = "targets";

/// Images of files, and a column of each value of their objects, image by image.
pub(super) struct Detection {
    files: ImageList,
    ids: Vec<u64>,
    format: BoxFormat,
    /// Where the objects of each image begin, and last the number of all.
    offsets: Vec<usize>,
    boxes: Vec<[f32; 4]>,
    values: Vec<(Arc<str>, ObjectValues)>,
    fields: [Field; 1],
}

/// The objects of all images: how many each image has, the format of boxes, boxes, values.
pub(super) type Columns<'py> = (Vec<usize>, String, Bound<'py, PyBytes>, Vec<Values<'py>>);

impl Detection {
    /// Makes the data set of files below `root`, with an id and a number of objects of each.
    ///
    /// # Errors
    /// Columns that do not have an entry for each object, and no files.
    pub(super) fn new(
        (root, files): (PathBuf, Vec<PathBuf>),
        ids: Vec<u64>,
        (counts, format, of_boxes, values): Columns<'_>,
        classes: Vec<String>,
    ) -> Result<Detection> {
        let mut offsets = vec![0];
        offsets.extend(counts.iter().scan(0, |end, count| {
            *end += count;
            Some(*end)
        }));
        let all = offsets.last().copied().unwrap_or(0);
        let boxes = boxes(of_boxes.as_bytes());
        let values: Vec<(Arc<str>, ObjectValues)> = values
            .into_iter()
            .map(|(name, are_whole, bytes)| (name.into(), object_values(are_whole, bytes.as_bytes())))
            .collect();
        if (files.len(), counts.len()) != (ids.len(), ids.len())
            || boxes.len() != all
            || values.iter().any(|(_, values)| values.len() != all)
        {
            return Err(refuse(format!("columns of other lengths than {} images with {all} objects", ids.len())));
        }
        let files = ImageList::from_samples(root, files.into_iter().map(|path| (path, Label::None)), classes)?;
        let fields = [Field::new(TARGETS).kind(FieldKind::Objects)];
        Ok(Detection { files, ids, format: box_format(&format), offsets, boxes, values, fields })
    }

    fn objects(&self, index: usize) -> Result<Objects> {
        let (Some(&begin), Some(&end)) = (self.offsets.get(index), self.offsets.get(index + 1)) else {
            return Err(refuse(format!("sample {index} of {}", self.ids.len())));
        };
        // torchvision reads files without a look at their EXIF orientation.
        let objects = Objects::of_boxes(self.format, self.boxes[begin..end].to_vec()).in_stored_image(true);
        self.values.iter().try_fold(objects, |objects, (name, values)| {
            let own = match values {
                ObjectValues::Integers(values) => ObjectValues::Integers(values[begin..end].to_vec()),
                ObjectValues::Floats(values) => ObjectValues::Floats(values[begin..end].to_vec()),
                _ => return Err(refuse(format!("values of another type under {name:?}"))),
            };
            objects.with_values(Arc::clone(name), own)
        })
    }
}

fn refuse(reason: String) -> Error {
    ErrorKind::Argument { setting: "data", reason }.into()
}

impl Dataset for Detection {
    fn len(&self) -> usize {
        self.files.len()
    }

    fn read<'a>(&'a self, index: usize, buffer: &'a mut Vec<u8>) -> Result<Sample<'a>> {
        let objects = self.objects(index)?;
        Ok(self.files.read(index, buffer)?.with_fields(vec![FieldValue::from(objects)]))
    }

    fn name(&self, index: usize) -> String {
        self.files.name(index)
    }

    fn label(&self, index: usize) -> Option<Label> {
        Dataset::label(&self.files, index)
    }

    fn inner(&self) -> Option<&dyn Dataset> {
        Some(&self.files)
    }

    fn id(&self, index: usize) -> u64 {
        self.ids.get(index).copied().unwrap_or(index as u64)
    }

    fn fields(&self) -> &[Field] {
        &self.fields
    }
}
