//! Reads the setting `fields` of tar shards: which members are the image, the label and the fields of a sample.

use super::label;
use super::rules::{LabelRule, ScanRules};
use crate::dataset::field::FieldChoice;
use crate::dataset::{Absent, Field};
use crate::error::{Error, Result};

/// The members that the setting asks for, before any shard is open.
#[derive(Clone, Debug, Default)]
pub(super) struct MemberChoice {
    /// The endings of the image, of which the first that a sample has counts; `None` if they are not named.
    pub(super) image: Option<Vec<String>>,
    /// The kinds of the label's member, and whether samples may have none; `None` if it is not named.
    pub(super) label: Option<(Vec<usize>, bool)>,
    /// The endings of each field, of which the first that a sample has counts; `None` for all members.
    pub(super) fields: Option<Vec<(Vec<String>, Field)>>,
    /// True if no sample needs to have a field: the manifest of a pack lists it.
    pub(super) of_pack: bool,
}

impl MemberChoice {
    /// Returns `None` if no fields are asked for.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`](crate::ErrorKind::Argument) for sources that are no endings, and for an image or a label
    /// with settings that it cannot have.
    pub(super) fn of(choice: &FieldChoice) -> Result<Option<MemberChoice>> {
        let named = match choice {
            FieldChoice::None => return Ok(None),
            FieldChoice::All => return Ok(Some(MemberChoice::default())),
            FieldChoice::Named(named) if named.is_empty() => return Ok(None),
            FieldChoice::Named(named) => named,
        };
        let mut chosen = MemberChoice { fields: Some(Vec::new()), ..MemberChoice::default() };
        for (source, field) in named {
            let endings = endings(source)?;
            let twice = match field.name() {
                "image" => chosen.image.replace(image(endings, field)?).is_some(),
                "label" => chosen.label.replace(label(&endings, field)?).is_some(),
                _ => {
                    chosen.fields.get_or_insert_default().push((endings, field.clone()));
                    false
                }
            };
            if twice {
                let name = field.name();
                let reason = format!("two sources are the sample's own {name}; write them as one, with a semicolon");
                return Err(Error::argument("fields", reason));
            }
        }
        Ok(Some(chosen))
    }

    /// Returns what a scan is to find, in shards with images in the endings `usual`.
    pub(super) fn rules(&self, usual: Vec<String>) -> ScanRules {
        let (extensions, labels) = (self.extensions(usual), self.labels());
        ScanRules { extensions, first_image: self.image.is_some(), labels, lists_members: true }
    }

    /// Returns the endings of images: those that are named, or those of `usual` that no field asks for.
    fn extensions(&self, usual: Vec<String>) -> Vec<String> {
        if let Some(image) = &self.image {
            return image.clone();
        }
        let asked = |ending: &String| self.fields.iter().flatten().any(|(endings, _)| endings.contains(ending));
        usual.into_iter().filter(|ending| !asked(ending)).collect()
    }

    fn labels(&self) -> LabelRule {
        self.label.as_ref().map_or(LabelRule::Lenient, |(kinds, _)| LabelRule::Only(kinds.clone()))
    }

    /// Returns true if samples may have no label: the label is not chosen, or it may be absent.
    pub(super) fn allows_unlabelled(&self) -> bool {
        self.label.as_ref().is_none_or(|(_, optional)| *optional)
    }

    /// Returns whether numbers in texts are labels, where this choice decides that.
    pub(super) fn text_labels(&self) -> Option<bool> {
        let is_text = |ending: &String| ending == label::KINDS[label::TEXT];
        let asked = self.fields.iter().flatten().any(|(endings, _)| endings.iter().any(is_text));
        match &self.label {
            Some((kinds, _)) if kinds.contains(&label::TEXT) => Some(true),
            _ => asked.then_some(false),
        }
    }

    /// Returns the endings that named fields ask for, each once.
    pub(super) fn wanted(&self) -> Vec<String> {
        let mut wanted: Vec<String> = Vec::new();
        for ending in self.fields.iter().flatten().flat_map(|(endings, _)| endings) {
            if !wanted.contains(ending) {
                wanted.push(ending.clone());
            }
        }
        wanted
    }
}

/// The example of alternatives in an error.
const ALTERNATIVES: &str = "jpg;png";

/// Returns the endings that a source names: one, or several between semicolons.
fn endings(source: &str) -> Result<Vec<String>> {
    let plain = |ending: &str| ending.trim().trim_start_matches('.').to_ascii_lowercase();
    let endings: Vec<_> = source.split(';').map(plain).collect();
    if endings.iter().any(|ending| ending.is_empty() || ending.contains('/')) {
        let reason = format!(
            "{source:?} names no members; write what follows the first dot of their names: \"txt\", \"left.jpg\", or \
             \"{ALTERNATIVES}\" for the first that a sample has"
        );
        return Err(Error::argument("fields", reason));
    }
    Ok(endings)
}

fn image(endings: Vec<String>, field: &Field) -> Result<Vec<String>> {
    let refuse = |reason: String| Err(Error::argument("fields", reason));
    if let Some(ending) = endings.iter().find(|ending| label::KINDS.contains(&&***ending)) {
        return refuse(format!("the sample's own image is .{ending}, which is no ending of images"));
    }
    field.check_own_image()?;
    Ok(endings)
}

fn label(endings: &[String], field: &Field) -> Result<(Vec<usize>, bool)> {
    let kind = |ending: &String| label::KINDS.iter().position(|kind| kind == ending);
    let kinds: Option<Vec<_>> = endings.iter().map(kind).collect();
    match (kinds, field.absent()) {
        (None, _) => {
            let (first, kinds) = (&endings[0], label::KINDS.join(", ."));
            let reason = format!(
                "the sample's own label is .{first}, but labels are members in .{kinds}; a field has another name"
            );
            Err(Error::argument("fields", reason))
        }
        (Some(_), Absent::Value(_)) => {
            let reason = "a label has no default value; optional lets samples have none";
            Err(Error::argument("fields", reason))
        }
        (Some(kinds), absent) => Ok((kinds, *absent == Absent::None)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::FieldKind;

    fn chosen<const COUNT: usize>(named: [(&str, Field); COUNT]) -> Result<MemberChoice> {
        Ok(MemberChoice::of(&FieldChoice::from(named))?.unwrap())
    }

    fn usual() -> Vec<String> {
        ["jpg", "png"].map(str::to_owned).into()
    }

    #[test]
    fn names_choose_image_label_and_fields() {
        assert!(MemberChoice::of(&FieldChoice::None).unwrap().is_none());
        assert!(MemberChoice::of(&FieldChoice::Named(Vec::new())).unwrap().is_none());
        let all = MemberChoice::of(&FieldChoice::All).unwrap().unwrap();
        assert_eq!((all.extensions(usual()), all.labels(), all.text_labels()), (usual(), LabelRule::Lenient, None));
        let pair =
            chosen([(".Left.JPG; left.png", "image".into()), ("right.jpg", "right".into()), ("txt", "text".into())]);
        let pair = pair.unwrap();
        assert_eq!(pair.extensions(usual()), ["left.jpg", "left.png"]);
        assert_eq!(pair.wanted(), ["right.jpg", "txt"]);
        assert_eq!((pair.allows_unlabelled(), pair.text_labels()), (true, Some(false)));
        let masks = chosen([("png", "mask".into()), ("json", "label".into())]).unwrap();
        assert_eq!((masks.extensions(usual()), masks.labels()), (vec!["jpg".to_owned()], LabelRule::Only(vec![1])));
        assert!(!masks.allows_unlabelled());
        let texts = chosen([("cls;txt", Field::new("label").optional())]).unwrap();
        assert_eq!((texts.allows_unlabelled(), texts.text_labels()), (true, Some(true)));
    }

    #[test]
    fn choices_that_cannot_be_are_refused() {
        let refused = |source: &str, field: Field| chosen([(source, field)]).unwrap_err().to_string();
        for source in ["", ".", "txt;", ";", "a/b.txt"] {
            assert!(refused(source, "x".into()).contains("names no members"), "{source}");
        }
        assert!(refused("txt", "image".into()).contains("no ending of images"));
        assert!(refused("jpg", Field::new("image").optional()).contains("every sample has one"));
        assert!(refused("jpg", Field::new("image").kind(FieldKind::Bytes)).contains("is an image"));
        assert!(refused("npy", "label".into()).contains("labels are members in .cls, .json, .txt"));
        let fallback = Field::new("label").default_value(crate::dataset::FieldValue::from(0_i64));
        assert!(refused("cls", fallback).contains("no default value"));
        let twice = chosen([("jpg", "image".into()), ("png", "image".into())]).unwrap_err().to_string();
        assert!(twice.contains("own image; write them as one"), "{twice}");
    }
}
