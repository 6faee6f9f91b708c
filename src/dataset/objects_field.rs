//! The one field of data sets of objects.

use super::{Field, FieldChoice, FieldKind};
use crate::error::{Error, Result};

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
