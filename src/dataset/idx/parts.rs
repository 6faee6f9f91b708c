//! Detection of IDX files in a folder, by their names.

use crate::advice::{self, Reason};
use std::path::{Path, PathBuf};

use super::names::of_folder;
use super::{Emnist, Idx, find, open, owned};
use crate::dataset::{Arrays, Cifar, Notice};
use crate::error::{Error, Result};

impl Idx {
    /// Returns true if a folder, or its folder `raw`, or torchvision's folder of a set in it, has files with MNIST's or
    /// EMNIST's names.
    pub(in crate::dataset) fn is_in(folder: &Path) -> bool {
        is_directly_in(folder) || SETS.iter().any(|set| is_directly_in(&folder.join(set)))
    }

    /// Reads the training split, and the test split if any of its files exists.
    pub(in crate::dataset) fn parts(folder: &Path) -> Result<(Arrays, Option<Arrays>)> {
        if !is_directly_in(folder) {
            let mut sets: Vec<_> = SETS.into_iter().filter(|set| is_directly_in(&folder.join(set))).collect();
            if !sets.is_empty() && Cifar::is_in(folder) {
                sets.push("CIFAR");
            }
            return match sets[..] {
                [set] => Self::parts(&folder.join(set)),
                // The error names the files that are missing.
                [] => open(folder, "train", Vec::new()).map(|train| (train, None)),
                _ => {
                    let names = sets.join(", ");
                    let reason = format!("{} holds several sets, {names}: name the folder of one", folder.display());
                    Err(Error::argument("path", reason))
                }
            };
        }
        let mnist = ["train", "t10k"].iter().any(|stem| has(folder, stem));
        let there: Vec<_> = Emnist::ALL.into_iter().filter(|part| has_part(folder, *part)).collect();
        let ([train, test], classes) = match there[..] {
            [part] if !mnist => {
                (["train", "test"].map(|split| format!("emnist-{}-{split}", part.name())), part.classes())
            }
            [_, _, ..] if !mnist => {
                let names: Vec<_> = there.iter().map(|part| part.name()).collect();
                let reason = format!(
                    "{} holds the parts {} of EMNIST, each a data set of its own: leave one in the folder",
                    folder.display(),
                    names.join(", ")
                );
                return Err(Error::argument("path", Reason::new(reason).advise(advice::EMNIST_PART)));
            }
            _ => (["train", "t10k"].map(String::from), owned(of_folder(folder))),
        };
        let test = if has(folder, &test) { Some(open(folder, &test, classes.clone())?) } else { None };
        let mut train = open(folder, &train, classes)?;
        if mnist && let Some(part) = there.first() {
            train.add_notices(Notice::not_read("parts of EMNIST", there.len() as u64, part.name()));
        }
        Ok((train, test))
    }
}

/// The folders that torchvision makes below its root, each with a folder `raw`.
const SETS: [&str; 4] = ["MNIST", "FashionMNIST", "KMNIST", "EMNIST"];

/// Returns torchvision's folder of a set in `folder`, if the files of this name are there and not in `folder` itself.
pub(super) fn of_torchvision(folder: &Path, set: &str, stem: &str) -> PathBuf {
    let below = folder.join(set);
    if !set.is_empty() && !has(folder, stem) && has(&below, stem) { below } else { folder.to_owned() }
}

fn is_directly_in(folder: &Path) -> bool {
    ["train", "t10k"].iter().any(|stem| has(folder, stem)) || Emnist::ALL.into_iter().any(|part| has_part(folder, part))
}

/// Returns true if images or labels of this name exist.
fn has(folder: &Path, stem: &str) -> bool {
    let files = [("images", "idx3-ubyte"), ("labels", "idx1-ubyte")];
    files.iter().any(|(what, kind)| find(folder, &format!("{stem}-{what}"), kind).is_ok())
}

fn has_part(folder: &Path, part: Emnist) -> bool {
    ["train", "test"].iter().any(|split| has(folder, &format!("emnist-{}-{split}", part.name())))
}
