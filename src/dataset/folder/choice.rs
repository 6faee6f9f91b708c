//! Reads the setting `fields` of a folder: which files are images, and which files beside them are fields.

use std::ffi::OsStr;

use super::endings::ends_with;
use crate::dataset::field::FieldChoice;
use crate::dataset::{Absent, Field, FieldKind};
use crate::error::{Error, Result};

/// The files beside images that become fields.
#[derive(Clone, Debug, Default)]
pub(super) enum BesideChoice {
    #[default]
    None,
    /// All of them.
    All,
    /// Those of these endings, in small letters and without the first dot. Of several the first that a sample has counts.
    Named(Vec<(Vec<String>, Field)>),
}

impl BesideChoice {
    /// Reads the setting, and the endings of the images, if it names them.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`](crate::ErrorKind::Argument) for sources that are no endings, for a label, and for an image
    /// with settings that it cannot have.
    pub(super) fn of(choice: &FieldChoice) -> Result<(BesideChoice, Option<Vec<String>>)> {
        let named = match choice {
            FieldChoice::None => return Ok((BesideChoice::None, None)),
            FieldChoice::All => return Ok((BesideChoice::All, None)),
            FieldChoice::Named(named) => named,
        };
        let refuse = |reason: &str| Err(Error::argument("fields", reason));
        let (mut fields, mut images) = (Vec::new(), None);
        for (source, field) in named {
            let endings = endings(source)?;
            match field.name() {
                "image"
                    if *field.absent() != Absent::Fail
                        || field.values().is_some_and(|kind| kind != FieldKind::Image) =>
                {
                    return refuse("the sample's own image is an image; a further image is a field of another name");
                }
                "image" if images.is_some() => {
                    return refuse("two sources are the sample's own image; write them as one, with a semicolon");
                }
                "image" => images = Some(endings),
                "label" => {
                    return refuse("the labels of a folder are its folders; a field has another name than label");
                }
                _ => fields.push((endings, field.clone())),
            }
        }
        Ok((if fields.is_empty() { BesideChoice::None } else { BesideChoice::Named(fields) }, images))
    }

    /// Returns true if a file that is no image may become the value of a field.
    pub(super) fn may_take(&self, name: &OsStr) -> bool {
        match self {
            BesideChoice::None => false,
            BesideChoice::All => true,
            BesideChoice::Named(_) => self.longest_ending(name) > 0,
        }
    }

    /// Returns true if a name whose ending is that of an image, with this many characters, is that of an image that is a
    /// sample, and not of a field.
    pub(super) fn leaves(&self, name: &OsStr, image_ending: usize) -> bool {
        self.longest_ending(name) < image_ending
    }

    /// Returns true if fields ask for this ending.
    pub(super) fn takes(&self, ending: &str) -> bool {
        match self {
            BesideChoice::None => false,
            BesideChoice::All => true,
            BesideChoice::Named(named) => named.iter().any(|(endings, _)| endings.iter().any(|own| own == ending)),
        }
    }

    /// Returns the length of the longest ending of fields that a name has, with its first dot; 0 if it has none.
    fn longest_ending(&self, name: &OsStr) -> usize {
        let BesideChoice::Named(named) = self else { return 0 };
        let has = |ending: &&String| ends_with(name, &format!(".{ending}"));
        let endings = named.iter().flat_map(|(endings, _)| endings).filter(has);
        endings.map(|ending| ending.len() + 1).max().unwrap_or(0)
    }
}

/// Returns the endings that a source names: one, or several between semicolons.
fn endings(source: &str) -> Result<Vec<String>> {
    let plain = |ending: &str| ending.trim().trim_start_matches('.').to_ascii_lowercase();
    let endings: Vec<_> = source.split(';').map(plain).collect();
    if endings.iter().any(|ending| ending.is_empty() || ending.contains(['/', '\\'])) {
        let reason = format!(
            "{source:?} names no files; write the ending of files beside the images: \"txt\", \"depth.png\", or \
             \"caption;txt\" for the first that an image has"
        );
        return Err(Error::argument("fields", reason));
    }
    Ok(endings)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choice<const COUNT: usize>(named: [(&str, Field); COUNT]) -> Result<(BesideChoice, Option<Vec<String>>)> {
        BesideChoice::of(&FieldChoice::from(named))
    }

    #[test]
    fn names_choose_images_and_fields() {
        let (fields, images) =
            choice([(".Left.JPG;left.png", "image".into()), ("right.jpg", "right".into()), ("txt", "text".into())])
                .unwrap();
        assert_eq!(images.unwrap(), ["left.jpg", "left.png"]);
        assert!(fields.takes("right.jpg") && fields.takes("txt") && !fields.takes("left.jpg"));
        let name = OsStr::new;
        assert!(fields.may_take(name("a.RIGHT.jpg")) && !fields.may_take(name("a.json")));
        assert!(!fields.leaves(name("a.right.jpg"), 4) && fields.leaves(name("a.left.jpg"), 9));
        let (none, images) = BesideChoice::of(&FieldChoice::None).unwrap();
        assert!(images.is_none() && none.leaves(name("a.jpg"), 4) && !none.may_take(name("a.txt")));
    }

    #[test]
    fn choices_that_cannot_be_are_refused() {
        let refused = |source: &str, field: Field| choice([(source, field)]).unwrap_err().to_string();
        for source in ["", ".", "txt;", "a/b.txt"] {
            assert!(refused(source, "x".into()).contains("names no files"), "{source}");
        }
        assert!(refused("jpg", Field::new("image").optional()).contains("a further image is a field"));
        assert!(refused("txt", "label".into()).contains("are its folders"));
        let twice = choice([("jpg", "image".into()), ("png", "image".into())]).unwrap_err().to_string();
        assert!(twice.contains("write them as one"), "{twice}");
    }
}
