//! Opens the training and validation data, and builds the loader of each.

use crate::numbered::Numbered;
use crate::options::{Augment, Options};
use crate::{shapes, split};
use gpufeed::dataset::{Format, Opened};
use gpufeed::transforms::{
    CenterCrop, ColorJitter, Grayscale, Normalize, RandomHorizontalFlip, RandomResizedCrop, RandomVerticalFlip, Resize,
    Transform,
};
use gpufeed::{Backend, DataLoader, Dataset, Execute, ImageFolder, LastBatch};
use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Version of the set of shapes, part of its folder's name. It is raised whenever `shapes` draws different pictures, so
/// that a folder of old pictures is not used for the new set.
const SHAPES_VERSION: u32 = 1;

/// Images to train on and images to validate with, of the same classes.
pub struct Data {
    /// The images to train on.
    pub train: Arc<dyn Dataset>,
    /// The images to validate with.
    pub val: Arc<dyn Dataset>,
}

impl Data {
    /// Opens the data set that `--data` names; without `--data`, the set of shapes.
    pub fn open(options: &Options) -> Result<Data, Box<dyn Error>> {
        let Some(folder) = &options.data else { return Data::shapes(options) };
        let (train, val) = (folder.join("train"), folder.join("val"));
        match (train.is_dir(), val.is_dir()) {
            (true, true) => Data::new(images(&train)?, images(&val)?),
            (false, false) => Data::in_any_format(folder, options),
            // An image folder with only one of `train` and `val` is an error, because it would be read as a class.
            (true, false) => Err(format!("--data: {} has a folder train, but no val", folder.display()).into()),
            (false, true) => Err(format!("--data: {} has a folder val, but no train", folder.display()).into()),
        }
    }

    /// Opens a data set in any format. A folder of class folders is split class by class. In other formats the test
    /// part validates; if there is none, a share of all samples does.
    fn in_any_format(path: &Path, options: &Options) -> Result<Data, Box<dyn Error>> {
        let format = Format::detect(path);
        if format == Format::Folder {
            let (train, val) = split::split(images(path)?, options.val_share, options.seed)?;
            return Data::new(train, val);
        }
        let opened = format.open(path).map_err(|error| format!("--data: {error}"))?;
        let Opened { train, test } = opened;
        match test {
            Some(test) => {
                let (train, val) = Numbered::pair(train, test)?;
                Data::new(train, val)
            }
            None => {
                let share = options.val_share;
                let (train, val) = Numbered::new(train)?.split(1.0 - share, options.seed)?;
                if train.is_empty() || val.is_empty() {
                    let (train, val) = (train.len(), val.len());
                    let reason = "leaves one part without any";
                    return Err(
                        format!("--val-share: {share} {reason}: {train} samples to train, {val} to validate").into()
                    );
                }
                Data::new(train, val)
            }
        }
    }

    /// Opens the set of shapes with the sizes and the seed of the options.
    fn shapes(options: &Options) -> Result<Data, Box<dyn Error>> {
        let folder = shapes_folder(options)?;
        let incomplete = |reason: String| {
            format!(
                "the set of shapes in {} is not whole ({reason}): delete it, and it is written again",
                folder.display()
            )
        };
        let open = |split: &str| ImageFolder::open(folder.join(split)).map_err(|error| incomplete(error.to_string()));
        let (train, val) = (open("train")?, open("val")?);
        for (set, of_class) in [(&train, options.set_train), (&val, options.set_val)] {
            let expected = of_class as usize * shapes::CLASSES.len();
            if set.len() != expected {
                return Err(incomplete(format!("{} images of {expected}", set.len())).into());
            }
        }
        Data::new(train, val)
    }

    /// Checks that both data sets have the same classes, at least two.
    pub fn new(train: impl Dataset + 'static, val: impl Dataset + 'static) -> Result<Data, Box<dyn Error>> {
        let (classes, others) = (train.classes(), val.classes());
        if classes != others {
            return Err(format!("--data: train has the classes {classes:?}, val has {others:?}").into());
        }
        if classes.len() < 2 {
            return Err(format!("--data: the classes are {classes:?}; 2 at least").into());
        }
        Ok(Data { train: Arc::new(train), val: Arc::new(val) })
    }

    /// Builds the loader of training: shuffled and augmented. An incomplete last batch is left out, because a
    /// normalisation over few images is poor, and a GPU compiles kernels for one batch size only.
    pub(crate) fn training(&self, options: &Options, backend: &Backend) -> gpufeed::Result<DataLoader> {
        let whole = self.train.len() >= options.batch_size;
        loader(&self.train, augmentation(options), options)
            .shuffle(true)
            .order(options.order)
            .seed(options.seed)
            .last_batch(if whole { LastBatch::Drop } else { LastBatch::Partial })
            .build(backend)
    }

    /// Builds the loader of validation: every image once, in order.
    pub(crate) fn validation(&self, options: &Options, backend: &Backend) -> gpufeed::Result<DataLoader> {
        loader(&self.val, plain(options.size), options).build(backend)
    }
}

fn images(folder: &Path) -> Result<ImageFolder, Box<dyn Error>> {
    ImageFolder::open(folder).map_err(|error| format!("--data: {error}").into())
}

fn loader(data: &Arc<dyn Dataset>, transforms: Vec<Transform>, options: &Options) -> gpufeed::DataLoaderBuilder {
    let mut list = transforms;
    if data.channels() == 1 {
        // The models take three channels.
        list.insert(0, Grayscale::new(3).into());
    }
    let builder = DataLoader::builder(Arc::clone(data))
        .recipe(list)
        .transform(Normalize { mean: [0.5; 3], std: [0.25; 3] })
        .batch_size(options.batch_size)
        .execute(if options.shaders { Execute::Gpu } else { Execute::Auto });
    match options.workers {
        Some(workers) => builder.workers(workers),
        None => builder,
    }
}

fn augmentation(options: &Options) -> Vec<Transform> {
    let crop = RandomResizedCrop::new(options.size).scale(0.6, 1.0);
    match options.augment {
        Augment::Full => vec![
            crop.into(),
            RandomHorizontalFlip::new(0.5).into(),
            RandomVerticalFlip::new(0.5).into(),
            ColorJitter::new(0.3, 0.3, 0.3, 0.0).into(),
        ],
        Augment::Digits => vec![crop.into(), ColorJitter::new(0.3, 0.3, 0.0, 0.0).into()],
        Augment::None => plain(options.size),
    }
}

/// Returns the transforms of validation: a resize to 9/8 of the size, then a centre crop, because training sees crops,
/// too.
fn plain(size: u32) -> Vec<Transform> {
    vec![Resize::new(size + size / 8).into(), CenterCrop::new(size).into()]
}

/// Returns the folder of the set of shapes. The set is drawn and written if the folder does not exist.
fn shapes_folder(options: &Options) -> Result<PathBuf, Box<dyn Error>> {
    let Options { set_train, set_val, set_seed, .. } = *options;
    let parent = options.set_folder.clone().unwrap_or_else(std::env::temp_dir);
    let name = format!("gpufeed-shapes-{SHAPES_VERSION}-{set_seed}-{set_train}-{set_val}");
    let folder = parent.join(&name);
    if folder.is_dir() {
        return Ok(folder);
    }
    // An unfinished set has a temporary name.
    let unfinished = parent.join(format!("{name}.{}", std::process::id()));
    let written = write_set(&unfinished, &folder, options);
    if written.is_err() {
        let _ = std::fs::remove_dir_all(&unfinished);
    }
    match written {
        Ok(()) => Ok(folder),
        // Another process has written the set meanwhile; both sets are equal.
        Err(_) if folder.is_dir() => Ok(folder),
        Err(error) => Err(format!("the set of shapes: {error}; --set-folder names another place").into()),
    }
}

fn write_set(unfinished: &Path, folder: &Path, options: &Options) -> Result<(), Box<dyn Error>> {
    shapes::write(unfinished, options.set_train, options.set_val, options.set_seed)?;
    std::fs::rename(unfinished, folder).map_err(|error| format!("cannot rename {}: {error}", unfinished.display()))?;
    Ok(())
}
