//! The images of a set whose annotations are in files of their own: samples without labels, with one field of objects.

use std::path::Path;

use super::image_files::ImageFiles;
use super::{Dataset, Field, FieldChoice, FieldKind, Label, Notice, ObjectStamp, Sample, Stored};
use crate::error::{Error, Result};

/// The images, the field and the files of a set. Each format keeps the objects of the images itself.
#[derive(Clone, Debug)]
pub(super) struct AnnotatedImages {
    pub(super) files: ImageFiles,
    /// The field of objects.
    pub(super) field: Field,
    /// The files of the annotations, and the lists of the images.
    pub(super) documents: Vec<Box<Path>>,
}

impl Dataset for AnnotatedImages {
    fn len(&self) -> usize {
        self.files.len()
    }

    fn inner(&self) -> Option<&dyn Dataset> {
        None
    }

    fn read<'a>(&'a self, index: usize, buffer: &'a mut Vec<u8>) -> Result<Sample<'a>> {
        self.files.read(index, buffer)
    }

    fn name(&self, index: usize) -> String {
        self.files.name(index)
    }

    fn label(&self, index: usize) -> Option<Label> {
        Dataset::label(&self.files, index)
    }

    fn classes(&self) -> &[String] {
        self.files.classes()
    }

    fn fields(&self) -> &[Field] {
        std::slice::from_ref(&self.field)
    }

    fn folder(&self) -> Option<&Path> {
        self.files.folder()
    }

    fn notices(&self) -> Vec<Notice> {
        self.files.notices()
    }

    fn stored(&self) -> Option<&dyn Stored> {
        Some(self)
    }
}

/// The images, and the annotations beside them.
impl Stored for AnnotatedImages {
    fn own_name(&self, index: usize) -> Option<String> {
        self.files.own_name(index)
    }

    fn file(&self, index: usize) -> Option<&Path> {
        self.files.file(index)
    }

    fn label(&self, index: usize) -> Option<Label> {
        Dataset::label(self, index)
    }

    fn each(&self, see: &mut dyn FnMut(&Path, Option<ObjectStamp>)) {
        self.documents.iter().for_each(|document| see(document, None));
        self.files.each(see);
    }
}

/// The name of the field where no setting gives another one.
const OBJECTS: &str = "objects";

/// Makes the field of objects, with the name that the setting gives it. `files` are the files that have the objects, for errors.
///
/// # Errors
/// A field that there is not.
pub(super) fn objects_field(fields: &FieldChoice, files: &str) -> Result<Field> {
    let objects = |field: Field| field.kind(FieldKind::Objects);
    let mut found = objects(Field::new(OBJECTS));
    let FieldChoice::Named(named) = fields else { return Ok(found) };
    for (source, field) in named {
        if source != OBJECTS || field.values().is_some_and(|kind| kind != FieldKind::Objects) {
            let reason = format!("{source:?} is not read from {files}; {OBJECTS:?} is, as objects");
            return Err(Error::argument("fields", reason));
        }
        found = objects(Field::new(field.name()));
    }
    Ok(found)
}
