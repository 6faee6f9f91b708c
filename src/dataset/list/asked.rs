//! Reads the setting `fields` of a list: which columns are the path, the label and the fields of the samples.

use crate::dataset::field::FieldChoice;
use crate::dataset::{Absent, Field};
use crate::error::{Error, Result};

/// The columns that become fields.
#[derive(Clone, Debug, Default)]
pub(super) enum AskedColumns {
    #[default]
    None,
    /// All but those of the path and the label.
    All,
    /// These, by their names.
    Named(Vec<(String, Field)>),
}

/// The columns that the setting `fields` names.
#[derive(Debug, Default)]
pub(super) struct Asked {
    pub(super) columns: AskedColumns,
    /// The column of the paths, if the field `image` names it.
    pub(super) path: Option<String>,
    /// The columns of the labels that the field `label` names.
    pub(super) labels: Vec<String>,
}

impl Asked {
    /// # Errors
    /// [`ErrorKind::Argument`](crate::ErrorKind::Argument) for an image or a label with settings that it cannot have.
    pub(super) fn of(choice: &FieldChoice) -> Result<Asked> {
        let named = match choice {
            FieldChoice::None => return Ok(Asked::default()),
            FieldChoice::All => return Ok(Asked { columns: AskedColumns::All, ..Asked::default() }),
            FieldChoice::Named(named) => named,
        };
        let (mut asked, mut fields) = (Asked::default(), Vec::new());
        let refuse = |reason: &str| Err(Error::argument("fields", reason));
        for (source, field) in named {
            match field.name() {
                "image" if asked.path.is_some() => return refuse("two columns are the sample's own image"),
                "image" => {
                    field.check_own_image()?;
                    asked.path = Some(source.clone());
                }
                "label" if *field.absent() != Absent::Fail || field.values().is_some() => {
                    return refuse(
                        "the sample's own label has no kind and no default: every line has one; a field has another name",
                    );
                }
                "label" => asked.labels.push(source.clone()),
                _ => fields.push((source.clone(), field.clone())),
            }
        }
        if !fields.is_empty() {
            asked.columns = AskedColumns::Named(fields);
        }
        Ok(asked)
    }
}

impl AskedColumns {
    /// Returns true if a field names this column.
    pub(super) fn name(&self, column: &str) -> bool {
        matches!(self, AskedColumns::Named(named) if named.iter().any(|(source, _)| source == column))
    }

    /// Returns true if the column becomes a field, if it is not the path or the label.
    pub(super) fn take(&self, column: &str) -> bool {
        matches!(self, AskedColumns::All) || self.name(column)
    }

    pub(super) fn is_none(&self) -> bool {
        matches!(self, AskedColumns::None)
    }

    pub(super) fn is_all(&self) -> bool {
        matches!(self, AskedColumns::All)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::FieldKind;

    #[test]
    fn image_and_label_are_columns_by_name() {
        let choice = FieldChoice::from([("input", "image"), ("x", "label"), ("text", "caption"), ("y", "label")]);
        let asked = Asked::of(&choice).unwrap();
        assert_eq!((asked.path.as_deref(), &asked.labels[..]), (Some("input"), &["x".to_owned(), "y".to_owned()][..]));
        assert!(asked.columns.name("text") && !asked.columns.take("x") && !asked.columns.is_none());
        assert!(Asked::of(&FieldChoice::from([("input", "image")])).unwrap().columns.is_none());
        assert!(Asked::of(&FieldChoice::All).unwrap().columns.take("x"));
        let refused = |named: Vec<(&str, Field)>| Asked::of(&FieldChoice::from(named)).unwrap_err().to_string();
        assert!(refused(vec![("a", "image".into()), ("b", "image".into())]).contains("two columns"));
        assert!(refused(vec![("a", Field::new("image").optional())]).contains("every sample has one"));
        assert!(refused(vec![("a", Field::new("label").kind(FieldKind::Text))]).contains("has no kind"));
    }
}
