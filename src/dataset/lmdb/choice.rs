//! Reads the setting `fields` of an LMDB: under which keys the image, the label and the fields of a sample are.

use std::path::Path;

use super::layout::{IMAGE, LABEL};
use crate::dataset::field::FieldChoice;
use crate::dataset::pack_manifest::PackManifest;
use crate::dataset::{Absent, Field};
use crate::error::{Error, Result};

/// The sources that are read. The source of a value is the part of its key before the number: `caption` of
/// `caption-000000001`.
#[derive(Debug)]
pub(super) struct KeyChoice {
    pub(super) image: String,
    /// `None` if a field takes the keys that labels usually have.
    pub(super) label: Option<String>,
    /// True if samples may lack a label, because fields are asked for: the label is not chosen, or it may be absent.
    pub(super) allow_absent_labels: bool,
    /// The fields, each with its source; `None` for all that there are.
    pub(super) fields: Option<Vec<(String, Field)>>,
    /// True if no sample needs to have a field: the manifest of a pack lists it.
    pub(super) of_pack: bool,
}

impl KeyChoice {
    /// Reads the setting for the LMDB at `file`. All fields of a pack are those that its manifest lists.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`](crate::ErrorKind::Argument) for an image or a label with settings that it cannot have;
    /// a manifest that cannot be read.
    pub(super) fn of(choice: &FieldChoice, file: &Path) -> Result<KeyChoice> {
        let plain = KeyChoice {
            image: IMAGE.to_owned(),
            label: Some(LABEL.to_owned()),
            allow_absent_labels: false,
            fields: Some(Vec::new()),
            of_pack: false,
        };
        match choice {
            FieldChoice::All => match PackManifest::of_lmdb(file)?.map(PackManifest::into_fields) {
                Some(FieldChoice::Named(named)) => KeyChoice { of_pack: true, ..plain }.named(&named),
                _ => Ok(KeyChoice { allow_absent_labels: true, fields: None, ..plain }),
            },
            FieldChoice::Named(named) if !named.is_empty() => plain.named(named),
            FieldChoice::Named(_) | FieldChoice::None => Ok(plain),
        }
    }

    /// Returns true if nothing is asked for but image and label.
    pub(super) fn is_plain(&self) -> bool {
        self.image == IMAGE && self.label.as_deref() == Some(LABEL) && self.fields.as_ref().is_some_and(Vec::is_empty)
    }

    fn named(mut self, named: &[(String, Field)]) -> Result<KeyChoice> {
        let (mut image, mut label, mut fields) = (None, None, Vec::new());
        let refuse = |reason: &str| Err(Error::argument("fields", reason));
        for (source, field) in named {
            match field.name() {
                "image" if image.is_some() => return refuse("two keys are the sample's own image"),
                "image" => {
                    field.check_own_image()?;
                    image = Some(source.clone());
                }
                "label" if label.is_some() => return refuse("two keys are the sample's own label"),
                "label" if field.values().is_some() || matches!(field.absent(), Absent::Value(_)) => {
                    return refuse(
                        "the sample's own label has no kind and no default: it is a class or a list of numbers; a field has \
                         another name",
                    );
                }
                "label" => label = Some((source.clone(), *field.absent() == Absent::None)),
                _ => fields.push((source.clone(), field.clone())),
            }
        }
        self.image = image.unwrap_or(self.image);
        self.allow_absent_labels = label.as_ref().is_none_or(|(_, may_be_absent)| *may_be_absent);
        self.label = match label {
            Some((source, _)) => Some(source),
            None => self.label.filter(|usual| fields.iter().all(|(source, _)| source != usual)),
        };
        self.fields = Some(fields);
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::FieldKind;

    fn chosen(named: Vec<(&str, Field)>) -> Result<KeyChoice> {
        KeyChoice::of(&FieldChoice::from(named), Path::new("/no/such/data.mdb"))
    }

    #[test]
    fn names_choose_image_label_and_fields() {
        let captions = chosen(vec![("caption", "caption".into())]).unwrap();
        assert_eq!(
            (&*captions.image, captions.label.as_deref(), captions.allow_absent_labels),
            ("image", Some("label"), true)
        );
        assert!(!captions.is_plain() && chosen(vec![]).unwrap().is_plain());
        let words = chosen(vec![("label", "text".into())]).unwrap();
        assert_eq!((words.label, words.allow_absent_labels), (None, true));
        let pair = chosen(vec![("lq", "image".into()), ("hq", "target".into()), ("class", "label".into())]).unwrap();
        assert_eq!((&*pair.image, pair.label.as_deref(), pair.allow_absent_labels), ("lq", Some("class"), false));
        assert_eq!(pair.fields.unwrap().len(), 1);
        assert!(chosen(vec![("class", Field::new("label").optional())]).unwrap().allow_absent_labels);
    }

    #[test]
    fn choices_that_cannot_be_are_refused() {
        let refused = |named: Vec<(&str, Field)>| chosen(named).unwrap_err().to_string();
        assert!(refused(vec![("a", "image".into()), ("b", "image".into())]).contains("two keys"));
        assert!(refused(vec![("a", "label".into()), ("b", "label".into())]).contains("two keys"));
        assert!(refused(vec![("a", Field::new("image").optional())]).contains("every sample has one"));
        assert!(refused(vec![("a", Field::new("label").kind(FieldKind::Text))]).contains("has no kind"));
    }
}
