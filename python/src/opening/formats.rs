//! Opens a path as a data set of a format, with the settings that Python code gives for this format.

use super::keywords::{
    Cifar, ClassNames, Coco, ColumnNames, Folder, Idx, Images, List, Lmdb, Masks, Numpy, Parquet, Tar, Voc, Yolo,
};
use super::{boxed, choose, is_missing, refuse, there, whole};
use gpufeed::dataset::{self, Emnist, Format, LmdbLayout, Opened, RemoteOptions, ShardIndexes, Split};
use gpufeed::targets::TargetsOrientation;
use gpufeed::{Dataset, ImageFolder, ImageList, Layout, Result, TarShards};
use std::path::{Path, PathBuf};

impl Folder {
    pub(super) fn open(self, path: &Path) -> Result<Opened> {
        let mut builder = ImageFolder::builder();
        set!(builder, extensions = self.extensions, allow_empty = self.allow_empty, unlabelled = self.unlabelled);
        set!(builder, max_file_bytes = self.max_file_bytes);
        set!(builder, fields = self.fields, max_field_bytes = self.max_field_bytes);
        builder.open(path).map(whole)
    }
}

impl Images {
    pub(super) fn open(self, path: &Path) -> Result<Opened> {
        let Images { extensions, unlabelled, max_file_bytes, fields, max_field_bytes } = self;
        let unlabelled = unlabelled.or(Some(true));
        Folder { extensions, unlabelled, max_file_bytes, fields, max_field_bytes, allow_empty: None }.open(path)
    }
}

impl List {
    pub(super) fn open(self, path: &Path) -> Result<Opened> {
        let mut builder = ImageList::builder();
        let names = match self.class_names {
            Some(ClassNames::Names(_)) => {
                let reason = "names, but a list of files has its own; True reads its labels as names";
                return Err(refuse("class_names", reason));
            }
            Some(ClassNames::AreNames(names)) => Some(names),
            None => None,
        };
        let columns = self.label_column.map(|columns| match columns {
            ColumnNames::One(column) => vec![column],
            ColumnNames::Several(columns) => columns,
        });
        // The Python package has checked that the delimiter is an ASCII character.
        let delimiter = self.delimiter.and_then(|delimiter| u8::try_from(delimiter).ok());
        set!(builder, class_names = names, root = self.root, header = self.header, delimiter = delimiter);
        set!(builder, path_column = self.image_column, label_columns = columns, max_file_bytes = self.max_file_bytes);
        set!(builder, fields = self.fields, max_field_bytes = self.max_field_bytes);
        builder.open(path).map(whole)
    }
}

impl Coco {
    pub(super) fn open(self, path: &Path) -> Result<Opened> {
        let mut builder = dataset::Coco::builder();
        set!(builder, root = self.root, fields = self.fields, max_file_bytes = self.max_file_bytes);
        set!(builder, targets_orientation = orientation(self.targets_orientation)?);
        builder.open(path).map(whole)
    }
}

impl Voc {
    pub(super) fn open(self, path: &Path) -> Result<Opened> {
        let mut builder = dataset::Voc::builder();
        set!(builder, split = self.split, classes = names(self.class_names)?, one_based = self.one_based);
        set!(builder, targets_orientation = orientation(self.targets_orientation)?);
        set!(builder, fields = self.fields, max_file_bytes = self.max_file_bytes);
        builder.open(path).map(whole)
    }
}

impl Yolo {
    pub(super) fn open(self, path: &Path) -> Result<Opened> {
        let mut builder = dataset::Yolo::builder();
        set!(builder, root = self.root, classes = names(self.class_names)?);
        if let Some((points, numbers)) = self.kpt_shape {
            builder = builder.kpt_shape(points, numbers);
        }
        set!(builder, targets_orientation = orientation(self.targets_orientation)?);
        set!(builder, fields = self.fields, max_file_bytes = self.max_file_bytes);
        if let Some(split) = self.split {
            return builder.split(split).open(path).map(whole);
        }
        let (train, test) = builder.parts(path)?;
        Ok(Opened { train: Box::new(train), test: boxed(test) })
    }
}

impl Masks {
    pub(super) fn open(self, path: &Path) -> Result<Opened> {
        let mut builder = dataset::MaskFolder::builder();
        set!(builder, classes = names(self.class_names)?);
        set!(builder, fields = self.fields, max_file_bytes = self.max_file_bytes);
        if let Some(split) = self.split {
            return builder.split(split).open(path).map(whole);
        }
        let (train, test) = builder.parts(path)?;
        Ok(Opened { train: Box::new(train), test: boxed(test) })
    }
}

impl Tar {
    pub(super) fn open(self, path: &Path, remote: RemoteOptions) -> Result<Opened> {
        let mut builder = TarShards::builder().remote(remote);
        set!(builder, extensions = self.extensions, allow_unlabelled = self.allow_unlabelled);
        set!(builder, text_labels = self.text_labels, classes = names(self.class_names)?);
        set!(builder, fields = self.fields, max_field_bytes = self.max_field_bytes);
        set!(builder, indexes = self.indexes.map(indexes), index_memory = self.index_memory.map(memory));
        set!(builder, put_indexes = self.put_indexes, max_file_bytes = self.max_file_bytes, counts = self.counts);
        builder.open(path).map(whole)
    }
}

impl Parquet {
    pub(super) fn open(self, path: &Path, remote: RemoteOptions) -> Result<Opened> {
        let mut builder = dataset::Parquet::builder().remote(remote);
        set!(builder, image_column = self.image_column, label_column = self.label_column);
        set!(builder, allow_unlabelled = self.allow_unlabelled, classes = names(self.class_names)?);
        set!(builder, indexes = self.indexes.map(indexes), index_memory = self.index_memory.map(memory));
        set!(builder, put_indexes = self.put_indexes, max_file_bytes = self.max_file_bytes, counts = self.counts);
        set!(builder, fields = self.fields, max_field_bytes = self.max_field_bytes);
        set!(builder, max_page_bytes = self.max_page_bytes);
        if let Some(split) = self.split {
            return builder.split(split).open(path).map(whole);
        }
        let (train, test) = builder.parts(path)?;
        Ok(Opened { train: Box::new(train), test: boxed(test) })
    }
}

impl Lmdb {
    pub(super) fn open(self, path: &Path) -> Result<Opened> {
        let mut builder = dataset::Lmdb::builder();
        use LmdbLayout::{ClassAndImage, Image, Numbered};
        let layouts = [("numbered", Numbered), ("class_and_image", ClassAndImage), ("image", Image)];
        let works = "\"numbered\", \"class_and_image\" and \"image\" work there";
        let layout = word("data_layout", self.data_layout, &layouts, works)?;
        set!(builder, layout = layout, allow_unlabelled = self.allow_unlabelled, classes = names(self.class_names)?);
        set!(builder, max_file_bytes = self.max_file_bytes);
        set!(builder, fields = self.fields, max_field_bytes = self.max_field_bytes);
        builder.open(path).map(whole)
    }
}

impl Numpy {
    pub(super) fn open(self, path: &Path) -> Result<Opened> {
        let mut numpy = dataset::Numpy::new();
        let layouts = [("nhwc", Layout::Nhwc), ("nchw", Layout::Nchw)];
        let layout = word("data_layout", self.data_layout, &layouts, "\"nhwc\" and \"nchw\" work there")?;
        set!(numpy, layout = layout);
        let archive = path.extension().is_some_and(|end| end.eq_ignore_ascii_case("npz"));
        match (self.image_column, self.label_column) {
            (Some(images), labels) if archive => {
                if self.split.is_some() {
                    return Err(refuse("split", "image_column names the array; leave one of the two out"));
                }
                numpy.npz(path, &images, labels.as_deref()).map(whole)
            }
            (None, None) if !archive && self.split.is_none() => numpy.npy(path, None::<&Path>).map(whole),
            (None, None) if layout.is_some() => {
                Err(refuse("data_layout", "of an .npz it goes with image_column, the array's name"))
            }
            (None, None) => choose(Format::Numpy.open(path)?, split(self.split)?, path),
            (None, Some(_)) if archive => Err(refuse("label_column", "of an .npz it goes with image_column")),
            _ => Err(refuse(
                "image_column",
                "only an .npz has arrays with names; leave image_column and label_column out",
            )),
        }
    }
}

impl Idx {
    pub(super) fn open(self, path: &Path) -> Result<Opened> {
        let split = split(self.split)?;
        let Some(part) = self.part else {
            return match (Format::Idx.open(path), split) {
                // If a file of the training or the test split is missing, only the split that was asked for is opened.
                (Err(error), Some(split)) if is_missing(&error) => {
                    gpufeed::Idx::open(path, split).map(whole).map_err(|_| error)
                }
                (opened, split) => choose(opened?, split, path),
            };
        };
        let parts =
            [Emnist::ByClass, Emnist::ByMerge, Emnist::Balanced, Emnist::Letters, Emnist::Digits, Emnist::Mnist];
        let Some(part) = parts.into_iter().find(|each| each.name() == part) else {
            return Err(refuse("part", format!("{part:?}; {} work", parts.map(Emnist::name).join(", "))));
        };
        both(split, |split| gpufeed::Idx::emnist(path, part, split))
    }
}

impl Cifar {
    pub(super) fn open(self, path: &Path) -> Result<Opened> {
        let coarse = match self.label_column.as_deref() {
            None | Some("fine_label" | "fine_labels") => false,
            Some("coarse_label" | "coarse_labels") => true,
            Some(other) => {
                let reason = format!("{other:?}; \"fine_label\" and, of CIFAR-100, \"coarse_label\" work");
                return Err(refuse("label_column", reason));
            }
        };
        match split(self.split)? {
            None if !coarse => Format::Cifar.open(path),
            split if coarse => both(split, |split| gpufeed::Cifar::coarse(path, split)),
            split => both(split, |split| gpufeed::Cifar::open(path, split)),
        }
    }
}

/// Opens the split `split`; without one, opens the training split and, if its files exist, the test split.
fn both<D: Dataset + 'static>(split: Option<Split>, of: impl Fn(Split) -> Result<D>) -> Result<Opened> {
    match split {
        Some(split) => of(split).map(whole),
        None => Ok(Opened { train: Box::new(of(Split::Train)?), test: boxed(there(of(Split::Test))?) }),
    }
}

/// Returns the class names that were given. Refuses `True` and `False`, which only a list of files takes.
fn names(given: Option<ClassNames>) -> Result<Option<Vec<String>>> {
    match given {
        None => Ok(None),
        Some(ClassNames::Names(names)) => Ok(Some(names)),
        Some(ClassNames::AreNames(_)) => {
            Err(refuse("class_names", "True and False are for a list of files; here the names of the classes work"))
        }
    }
}

/// Returns the image that the setting `targets_orientation` names; `None` if the setting is absent.
fn orientation(name: Option<String>) -> Result<Option<TargetsOrientation>> {
    use TargetsOrientation::{Displayed, Stored};
    let words = [("stored", Stored), ("displayed", Displayed)];
    word("targets_orientation", name, &words, "\"stored\" and \"displayed\" work")
}

fn indexes(place: PathBuf) -> ShardIndexes {
    match place.to_str() {
        Some("beside") => ShardIndexes::Beside,
        Some("memory") => ShardIndexes::Memory,
        _ => ShardIndexes::Folder(place),
    }
}

fn memory(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

/// Returns the split that the setting `split` names, "train" or "test"; `None` if the setting is absent.
fn split(name: Option<String>) -> Result<Option<Split>> {
    word("split", name, &[("train", Split::Train), ("test", Split::Test)], "\"train\" and \"test\" work")
}

/// Returns the value that `words` has for the word `given`; `None` if no word is given. An unknown word is an error.
fn word<T: Copy>(setting: &'static str, given: Option<String>, words: &[(&str, T)], works: &str) -> Result<Option<T>> {
    let Some(given) = given else { return Ok(None) };
    let found = words.iter().find(|(word, _)| *word == given).map(|(_, value)| *value);
    found.map(Some).ok_or_else(|| refuse(setting, format!("{given:?}; {works}")))
}
