//! Detection of IDX files in a folder, by their names.

use std::path::Path;

use super::names::of_folder;
use super::{Emnist, Idx, find, open, owned};
use crate::dataset::Arrays;
use crate::error::{Error, Result};

impl Idx {
    /// Returns true if a folder, or its folder `raw`, has files with MNIST's or EMNIST's names.
    pub(in crate::dataset) fn is_in(folder: &Path) -> bool {
        ["train", "t10k"].iter().any(|stem| has(folder, stem))
            || Emnist::ALL.into_iter().any(|part| has_part(folder, part))
    }

    /// Reads the training split, and the test split if any of its files exists.
    pub(in crate::dataset) fn parts(folder: &Path) -> Result<(Arrays, Option<Arrays>)> {
        let mnist = ["train", "t10k"].iter().any(|stem| has(folder, stem));
        let there: Vec<_> = Emnist::ALL.into_iter().filter(|part| has_part(folder, *part)).collect();
        let ([train, test], classes) = match there[..] {
            [part] if !mnist => {
                (["train", "test"].map(|split| format!("emnist-{}-{split}", part.name())), part.classes())
            }
            [_, _, ..] if !mnist => {
                let names: Vec<_> = there.iter().map(|part| part.name()).collect();
                let reason = format!(
                    "{} holds the parts {} of EMNIST, each a data set of its own: leave one in the folder, or use \
                    Idx::emnist",
                    folder.display(),
                    names.join(", ")
                );
                return Err(Error::argument("path", reason));
            }
            _ => (["train", "t10k"].map(String::from), owned(of_folder(folder))),
        };
        let test = if has(folder, &test) { Some(open(folder, &test, classes.clone())?) } else { None };
        Ok((open(folder, &train, classes)?, test))
    }
}

/// Returns true if images or labels of this name exist.
fn has(folder: &Path, stem: &str) -> bool {
    let files = [("images", "idx3-ubyte"), ("labels", "idx1-ubyte")];
    files.iter().any(|(what, kind)| find(folder, &format!("{stem}-{what}"), kind).is_ok())
}

fn has_part(folder: &Path, part: Emnist) -> bool {
    ["train", "test"].iter().any(|split| has(folder, &format!("emnist-{}-{split}", part.name())))
}
