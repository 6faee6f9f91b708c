//! A folder of images beside a folder of masks: segmentation data sets.
//!
//! `layout.rs` finds the two folders and a split's part of them, `builder.rs` opens them, and `pairs.rs` finds the mask of each image.

mod builder;
mod layout;
mod pairs;
#[cfg(test)]
mod tests;

use std::path::Path;

use super::Dataset;
use super::forward::forward;
use super::image_files::ImageFiles;
use crate::error::Result;

pub use builder::MaskFolderBuilder;

/// Images and their masks in two folders: `root/images/a.jpg` has the mask `root/masks/a.png`, at any depth.
///
/// The folders are `images` and `masks`; `images` and `annotations`, as ADE20K has them; or `JPEGImages` and `SegmentationClass`, as
/// Pascal VOC has them. [`MaskFolderBuilder::folders`] sets others, such as Cityscapes'. Samples have one
/// [field](Dataset::fields), `mask`, of images, and no label. A group of views whose source it is gives the masks
/// ([`Views::source`](crate::Views::source)), with [`ReadMode::Mask`](crate::decode::ReadMode::Mask) as numbers of classes.
///
/// Samples are the images that have a mask, in the order of their paths; a [notice](Dataset::notices) names images without a mask
/// and masks without an image. The set is its training split, if both folders have a folder `train` or `training`, else all of it;
/// [`MaskFolderBuilder::split`] chooses another one. A mask whose size is not its image's fails its sample where it follows the
/// image.
///
/// ```
/// use gpufeed::Dataset;
/// use gpufeed::dataset::MaskFolder;
///
/// let root = tempfile::tempdir()?;
/// for file in ["images/a.jpg", "images/b.jpg", "masks/a.png", "masks/b.png"] {
///     let path = root.path().join(file);
///     std::fs::create_dir_all(path.parent().unwrap())?;
///     std::fs::write(path, b"the file")?;
/// }
/// let set = MaskFolder::open(root.path())?;
/// assert_eq!((set.len(), set.fields()[0].name()), (2, "mask"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// With images and their masks in one batch:
///
/// ```no_run
/// use gpufeed::dataset::MaskFolder;
/// use gpufeed::decode::ReadMode;
/// use gpufeed::transforms::{Normalize, RandomHorizontalFlip, RandomResizedCrop};
/// use gpufeed::{Backend, DataLoader, Views};
///
/// let image = Views::new(1).transform(RandomResizedCrop::new(480)).transform(RandomHorizontalFlip::new(0.5));
/// let mask = Views::new(1).source("mask").follows("image").read_mode(ReadMode::Mask).fill(255.0);
/// let loader = DataLoader::builder(MaskFolder::open("ADEChallengeData2016")?)
///     .group("image", image.transform(Normalize::IMAGENET))
///     .group("mask", mask)
///     .build(&Backend::auto()?)?;
/// # Ok::<(), gpufeed::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct MaskFolder(ImageFiles);

impl MaskFolder {
    /// Lists the images and masks below `path`, or those that VOC's list of a split at `path` names
    /// (`VOC2012/ImageSets/Segmentation/train.txt`).
    ///
    /// # Errors
    /// [`ErrorKind::Io`](crate::ErrorKind::Io) for a folder or list that cannot be read;
    /// [`ErrorKind::Argument`](crate::ErrorKind::Argument) where `path` has no two folders of images and masks;
    /// [`ErrorKind::DataFile`](crate::ErrorKind::DataFile) for two images or two masks of one name, and for lines of a list that name no
    /// image with a mask; [`ErrorKind::EmptyDataset`](crate::ErrorKind::EmptyDataset) where no image has a mask.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::builder().open(path)
    }

    /// Returns a builder with more settings than [`open`](Self::open).
    pub fn builder() -> MaskFolderBuilder {
        MaskFolderBuilder::new()
    }

    /// Returns true for the path of a list of a split of masks.
    pub(super) fn is_list(path: &Path) -> bool {
        layout::of_list(path).is_some()
    }

    /// Returns true if a folder has the two folders.
    pub(super) fn is_in(folder: &Path) -> bool {
        layout::is_in(folder)
    }
}

impl Dataset for MaskFolder {
    forward!(self => self.0; all);
}
