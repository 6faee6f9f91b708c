//! Which fields a set has: those that the settings name, or all that its first file has.

use super::groups::GroupsInUse;
use super::source::Form;
use super::table::{FieldTable, FileColumns};
use super::{Fields, ObjectClasses, ReadLimits};
use crate::dataset::parquet::columns::ParquetColumns;
use crate::dataset::{Absent, Field, FieldChoice, FieldKind, Notice};
use crate::error::{Error, Result};
use crate::storage::file::DataFile;

/// The columns of image and label that settings name.
#[derive(Clone, Debug, Default)]
pub(in crate::dataset::parquet) struct ColumnSettings {
    pub(in crate::dataset::parquet) image: Option<String>,
    pub(in crate::dataset::parquet) label: Option<String>,
}

/// The fields that the settings choose, without those that are the sample's own image and label.
#[derive(Clone, Debug)]
pub(in crate::dataset::parquet) enum Chosen {
    All,
    Named(Vec<(String, Field)>),
}

impl Chosen {
    /// Returns the fields of a choice, and takes the columns of image and label out of it; `None` if there are no fields.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`](crate::ErrorKind::Argument) for an image or a label with another kind or a default value,
    /// and for one that another setting names, too.
    pub(in crate::dataset::parquet) fn of(choice: FieldChoice, columns: &mut ColumnSettings) -> Result<Option<Chosen>> {
        let named = match choice {
            FieldChoice::None => return Ok(None),
            FieldChoice::All => return Ok(Some(Chosen::All)),
            FieldChoice::Named(named) => named,
        };
        let mut fields = Vec::new();
        for (source, field) in named {
            let (column, kind) = match field.name() {
                "image" => (&mut columns.image, FieldKind::Image),
                "label" => (&mut columns.label, FieldKind::Numbers),
                _ => {
                    fields.push((source, field));
                    continue;
                }
            };
            let what = field.name();
            if field.values().is_some_and(|values| values != kind) || *field.absent() != Absent::Fail {
                let reason = format!("{what} is the sample's own {what}, which has no kind and no default value");
                return Err(Error::argument("fields", reason));
            }
            if let Some(other) = column.as_ref().filter(|other| **other != source) {
                let reason = format!("the {what} is both the column {other} and the column {source}; name one of them");
                return Err(Error::argument("fields", reason));
            }
            *column = Some(source);
        }
        Ok((!fields.is_empty()).then_some(Chosen::Named(fields)))
    }
}

impl Fields {
    /// Finds the fields in the first file of a set, whose number among `files` files is given.
    ///
    /// # Errors
    /// Those of reading the file's footer; a field that is not there, or cannot be read, with the reason.
    pub(in crate::dataset::parquet) fn open(
        chosen: Chosen,
        columns: &ColumnSettings,
        (number, file): (usize, &DataFile),
        files: usize,
        limits: ReadLimits,
    ) -> Result<Fields> {
        let of = FileColumns::read(file)?;
        let own = ParquetColumns::choose(file, &of.footer, columns.image.as_deref(), columns.label.as_deref())?;
        let refused = |reason: String| Error::data_file(file.name(), "its columns", reason);
        let (mut fields, mut forms) = (Vec::new(), Vec::new());
        match chosen {
            Chosen::All => {
                for path in &own.unread {
                    // A column that cannot be read is among those that a notice names.
                    if let Ok(source) = of.find(path, None) {
                        let (kind, may_be_null) = (source.form.kind(), source.node.definition > 0);
                        let field = Field::new(path.as_str()).kind(kind);
                        // Numbers of a batch are one array, which has no place for a null.
                        let optional = may_be_null && kind != FieldKind::Numbers;
                        fields.push(if optional { field.optional() } else { field });
                        forms.push((path.clone(), source.form));
                    }
                }
            }
            Chosen::Named(named) => {
                for (path, field) in named {
                    let source = of.find(&path, field.values()).map_err(refused)?;
                    let field = field.kind(source.form.kind());
                    fields.push(match source.form {
                        Form::Numbers(number_type, 0) => field.with_numbers_of(number_type, Some(&[]))?,
                        Form::Numbers(number_type, _) => field.with_numbers_of(number_type, None)?,
                        _ => field,
                    });
                    forms.push((path, source.form));
                }
            }
        }
        Field::check(&fields)?;
        let table = FieldTable::of(file, &of, &forms)?;
        let (classes, broken_names) = match classes(&of, &table) {
            Ok(classes) => (classes.unwrap_or_default(), None),
            Err(reason) => (Vec::new(), Some(Notice::BrokenKey { file: file.name().to_owned(), reason })),
        };
        let unread = of.unread(&own.unread, &table.sources);
        let tables: Box<[_]> = (0..files).map(|_| std::sync::OnceLock::new()).collect();
        if let Some(cell) = tables.get(number) {
            let _ = cell.set(table);
        }
        let groups = GroupsInUse::new(super::IN_USE);
        let classes = ObjectClasses { names: classes, file: file.name().to_owned(), are_the_sets: false };
        let (others, has_labels) = (own.unread, own.label.is_some());
        Ok(Fields { fields, forms, others, unread, tables, groups, limits, classes, broken_names, has_labels })
    }
}

/// Returns the names of the classes of a file's objects; `None` where several fields are objects, or none is.
///
/// # Errors
/// The reason if the names are no list of names.
pub(super) fn classes(of: &FileColumns, table: &FieldTable) -> Result<Option<Vec<String>>, String> {
    let mut objects = table.sources.iter().filter(|source| source.form.kind() == FieldKind::Objects);
    match (objects.next(), objects.next()) {
        (Some(source), None) => of.classes_of(source),
        _ => Ok(None),
    }
}
