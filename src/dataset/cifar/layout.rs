//! File names and contents of CIFAR's layouts.

use std::path::Path;

use crate::dataset::Split;

/// File names and contents of one data set in one layout.
pub(super) struct Layout {
    /// Name of its folder, used if the given path is the folder above.
    pub(super) folder: &'static str,
    pub(super) train: &'static [&'static str],
    pub(super) test: &'static [&'static str],
    pub(super) pickled: bool,
    pub(super) fine: Target,
    pub(super) coarse: Option<Target>,
}

/// One of the labels of an image.
pub(super) struct Target {
    /// In a pickle, the key of the labels; `byte` is, in the binary layout, the index of the label among the bytes
    /// before the image.
    pub(super) key: &'static str,
    pub(super) byte: usize,
    pub(super) classes: u32,
    /// The file with the names of the classes, and the key of the names in it.
    pub(super) names: (&'static str, &'static str),
}

impl Layout {
    pub(super) fn files(&self, split: Split) -> &'static [&'static str] {
        match split {
            Split::Train => self.train,
            Split::Test => self.test,
        }
    }

    /// Returns true if the folder has one of its files.
    pub(super) fn is_in(&self, folder: &Path) -> bool {
        self.train.iter().chain(self.test).any(|file| folder.join(file).is_file())
            // CIFAR-100 calls its files `train` and `test`, and so may other data sets.
            && (self.train != ["train"] || folder.join("meta").is_file())
    }
}

pub(super) static LAYOUTS: [Layout; 4] = [
    Layout {
        folder: "cifar-10-batches-py",
        train: &["data_batch_1", "data_batch_2", "data_batch_3", "data_batch_4", "data_batch_5"],
        test: &["test_batch"],
        pickled: true,
        fine: Target { key: "labels", byte: 0, classes: 10, names: ("batches.meta", "label_names") },
        coarse: None,
    },
    Layout {
        folder: "cifar-100-python",
        train: &["train"],
        test: &["test"],
        pickled: true,
        fine: Target { key: "fine_labels", byte: 0, classes: 100, names: ("meta", "fine_label_names") },
        coarse: Some(Target { key: "coarse_labels", byte: 0, classes: 20, names: ("meta", "coarse_label_names") }),
    },
    Layout {
        folder: "cifar-10-batches-bin",
        train: &["data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin", "data_batch_5.bin"],
        test: &["test_batch.bin"],
        pickled: false,
        fine: Target { key: "label", byte: 0, classes: 10, names: ("batches.meta.txt", "") },
        coarse: None,
    },
    Layout {
        folder: "cifar-100-binary",
        train: &["train.bin"],
        test: &["test.bin"],
        pickled: false,
        fine: Target { key: "fine label", byte: 1, classes: 100, names: ("fine_label_names.txt", "") },
        coarse: Some(Target { key: "coarse label", byte: 0, classes: 20, names: ("coarse_label_names.txt", "") }),
    },
];
