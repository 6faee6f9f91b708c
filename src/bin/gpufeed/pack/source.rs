//! The data set that a path names, or one of its two parts.

use clap::ValueEnum;
use gpufeed::dataset::{Format, Opened, TarShards};
use gpufeed::{Dataset, ImageFolder};
use std::path::Path;

/// What is packed of a data set that comes in two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Part {
    /// What to train on
    Train,
    /// What to test with
    Test,
}

/// Opens a data set in any format. What has no labels is none the worse for it.
pub(super) fn open(path: &Path, part: Part) -> Result<Box<dyn Dataset>, Box<dyn std::error::Error>> {
    let whole = |train| Opened { train, test: None };
    let opened = match Format::detect(path) {
        Format::Folder => whole(Box::new(ImageFolder::builder().allow_empty(true).open(path)?)),
        Format::Tar => whole(Box::new(TarShards::builder().allow_unlabelled(true).open(path)?)),
        #[cfg(feature = "lmdb")]
        Format::Lmdb => whole(Box::new(gpufeed::dataset::Lmdb::builder().allow_unlabelled(true).open(path)?)),
        format => format.open(path)?,
    };
    let left_out = |other: &dyn Dataset, what: &str, name: &str| {
        eprintln!("{} samples {what} are left out; --split {name} packs them, into another folder", other.len());
    };
    match (part, opened.test) {
        (Part::Train, Some(test)) => left_out(&*test, "to test with", "test"),
        (Part::Test, Some(test)) => {
            left_out(&*opened.train, "to train on", "train");
            return Ok(test);
        }
        (Part::Train, None) => {}
        (Part::Test, None) => {
            let path = path.display();
            return Err(format!("{path}: there is no part to test with, which MNIST, CIFAR and some .npz have").into());
        }
    }
    Ok(opened.train)
}
