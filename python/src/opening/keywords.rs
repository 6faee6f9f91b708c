//! Declares the keywords of Python's `gpufeed.open`: for each format of data sets a struct, whose fields are the
//! keywords that the format takes.
//!
//! `scripts/settings.py` reads this file, and writes the signature and the documentation of `gpufeed.open` from it. If
//! several formats have the same keyword, only the first one documents the keyword. A field of the type `Word` takes
//! one of the words that the field's documentation has in quotes.

use gpufeed::dataset::{FieldChoice, Format};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// A text that has to be one of several words. The documentation of the field has these words in quotes.
pub(super) type Word = String;
/// A number of bytes.
pub(super) type Size = u64;
/// The number of keypoints, and that of the numbers of each.
pub(super) type Shape = (usize, usize);

/// The name of one column, or the names of several columns.
#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum ColumnNames {
    One(String),
    Several(Vec<String>),
}

/// The names of the classes. For a list of files, true or false is possible, too: it says whether the labels in the
/// list are names of classes.
#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum ClassNames {
    AreNames(bool),
    Names(Vec<String>),
}

/// Makes a struct for each format, with a field for each of the format's keywords; and `FORMATS`, the table of all
/// formats.
macro_rules! formats {
    ($($format:ident $words:literal { $($(#[$doc:meta])* $keyword:ident: $type:ty,)+ })+) => {
        $(
            #[derive(Default, Deserialize)]
            #[serde(default, deny_unknown_fields)]
            pub(super) struct $format {
                $($(#[$doc])* pub(super) $keyword: Option<$type>,)+
            }
        )+

        /// Each format, its description in words, and the names of the keywords that it takes.
        pub(super) static FORMATS: &[(Format, &str, &[&str])] =
            &[$((Format::$format, $words, &[$(stringify!($keyword)),+])),+];
    };
}

formats! {
    Folder "a folder of class folders" {
        /// The endings of images, `["jpg", "webp"]`. Default: those of images.
        extensions: Vec<String>,
        /// A class folder may be empty. Default: `false`.
        allow_empty: bool,
        /// All images below the folder are samples, without labels. Default: `false` where there are class folders.
        unlabelled: bool,
        /// Bytes of the largest image that is read; the sample of a larger one fails. Default: `"1G"`.
        max_file_bytes: Size,
        /// The fields beside image and label: `"all"`, or what is read (the ending of a member or of a file beside the
        /// image, a column), with its name in batches, `{"txt": "caption"}`, or with its `name`, `kind`, `optional` and
        /// `default`. The names `"image"` and `"label"` choose the sample's own. `["index", "path"]` are the number and the
        /// name of each sample, of any format. Default: none.
        fields: FieldChoice,
        /// Bytes of the largest value of a field that is read; the sample of a larger one fails. Default: `"1M"`.
        max_field_bytes: Size,
    }
    Images "a folder of images" {
        extensions: Vec<String>,
        unlabelled: bool,
        max_file_bytes: Size,
        fields: FieldChoice,
        max_field_bytes: Size,
    }
    List "a list of files" {
        /// The column of the images: of a list or Parquet files, or an array of an `.npz`. Default: the one with a
        /// usual name.
        image_column: String,
        /// The column of the labels; of a list several make a vector. CIFAR-100's own files have `"coarse_label"` and
        /// `"fine_label"`. Default: the one with a usual name.
        label_column: ColumnNames,
        /// The names of the classes; for a list of files `true`, which reads numbers in its labels as names. Default:
        /// those that the data set names.
        class_names: ClassNames,
        /// The folder to which the paths of a list, or of YOLO's `data.yaml`, are relative; of COCO that of the images. Default:
        /// that of the list, or the one that the file says.
        root: PathBuf,
        /// The first line of a CSV file names its columns. Default: whether its words are names of columns.
        header: bool,
        /// The character between the columns of a CSV file, such as `";"`. Default: a comma, or a tab in `.tsv`.
        delimiter: char,
        max_file_bytes: Size,
        fields: FieldChoice,
        max_field_bytes: Size,
    }
    Numpy "a NumPy file" {
        /// The split: of Parquet files `"train"`, `"validation"` or `"test"`; of Pascal VOC the name of a list in
        /// `ImageSets/Main`; of YOLO one that the `data.yaml` names, such as `"val"`; of others `"train"` or `"test"`. Default: the
        /// training split, beside which `.test` is the other one; of Pascal VOC all annotations.
        split: String,
        image_column: String,
        label_column: String,
        /// The layout of arrays or keys: `"nhwc"` or `"nchw"` for NumPy's arrays, `"numbered"`, `"class_and_image"` or
        /// `"image"` for an LMDB. Default: as the shapes or the keys say.
        data_layout: Word,
    }
    Tar "tar shards" {
        extensions: Vec<String>,
        /// Samples may have no label. Default: `false`.
        allow_unlabelled: bool,
        /// Numbers in the `.txt` of tar shards are labels. Default: if all of a set's texts are numbers.
        text_labels: bool,
        class_names: ClassNames,
        /// The place of the indexes of shards: `"beside"` the shards, in `"memory"`, or a folder. Default: `"beside"`.
        indexes: PathBuf,
        /// Bytes of memory for the parts of these indexes that are in use. Default: `"32M"`.
        index_memory: Size,
        /// Writes the indexes that are missing beside the objects of a store. Default: `false`.
        put_indexes: bool,
        max_file_bytes: Size,
        /// A JSON file, or its address, with the samples that each file has: OpenCLIP's `sizes.json`, WebDataset's
        /// `wids` index, `gpufeed-pack.json`. A file is then opened when one of its samples comes. Default: all files
        /// are opened at once.
        counts: PathBuf,
        fields: FieldChoice,
        max_field_bytes: Size,
    }
    Lmdb "an LMDB" {
        allow_unlabelled: bool,
        class_names: ClassNames,
        data_layout: Word,
        max_file_bytes: Size,
        fields: FieldChoice,
        max_field_bytes: Size,
    }
    Idx "MNIST's files" {
        split: String,
        /// The part of EMNIST: `"byclass"`, `"bymerge"`, `"balanced"`, `"letters"`, `"digits"` or `"mnist"`. Default:
        /// none.
        part: Word,
    }
    Cifar "CIFAR's files" {
        split: String,
        label_column: String,
    }
    Parquet "Parquet files" {
        split: String,
        image_column: String,
        label_column: String,
        allow_unlabelled: bool,
        class_names: ClassNames,
        indexes: PathBuf,
        index_memory: Size,
        put_indexes: bool,
        max_file_bytes: Size,
        /// Bytes that a compressed page of Parquet files may become. Default: 64 times its own, and `"64M"` at least.
        max_page_bytes: Size,
        counts: PathBuf,
        fields: FieldChoice,
        max_field_bytes: Size,
    }
    Coco "annotations of COCO" {
        root: PathBuf,
        /// The image to which coordinates refer where the annotation's width and height do not decide, as of squares that EXIF
        /// turns: as it is `"stored"` or `"displayed"`. Default: `"stored"`, of YOLO `"displayed"`.
        targets_orientation: Word,
        fields: FieldChoice,
        max_file_bytes: Size,
    }
    Voc "annotations of Pascal VOC" {
        split: String,
        class_names: ClassNames,
        /// Makes edges of boxes that count pixels from 1 on: subtracts 1 from `xmin` and `ymin`. Default: `false`, the numbers
        /// as they are written.
        one_based: bool,
        targets_orientation: Word,
        fields: FieldChoice,
        max_file_bytes: Size,
    }
    Masks "a folder of masks" {
        split: String,
        class_names: ClassNames,
        fields: FieldChoice,
        max_file_bytes: Size,
    }
    Yolo "annotations of YOLO" {
        split: String,
        root: PathBuf,
        class_names: ClassNames,
        /// The number of keypoints of each object, and how many numbers each has, 2 or 3 with its visibility: `[17, 3]`. Default:
        /// that of the `data.yaml`, else no keypoints.
        kpt_shape: Shape,
        targets_orientation: Word,
        fields: FieldChoice,
        max_file_bytes: Size,
    }
}

/// The keywords for data in object stores and on web servers, which every format takes. They have no effect on data of
/// this machine.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Remote {
    /// A folder on this machine that keeps what is fetched of remote data, and its bytes: `["/scratch/photos",
    /// "200G"]`. Default: none.
    pub(super) remote_cache: Option<(PathBuf, Size)>,
    /// Seconds for which a server may send nothing before the request is made again. Default: the variable
    /// `GPUFEED_REMOTE_TIMEOUT`, else 30.
    pub(super) remote_timeout: Option<f64>,
    /// The number of retries of a request that failed for a reason that may pass. Default: the variable
    /// `GPUFEED_REMOTE_RETRIES`, else 10.
    pub(super) remote_retries: Option<u32>,
    /// The number of requests at once for what is read next: 1 to 256. Default: the variable `GPUFEED_REMOTE_REQUESTS`,
    /// else 8.
    pub(super) remote_requests: Option<u32>,
    /// The least rate of an answer, in bytes a second over 30 seconds; 0 takes any. Default: the variable
    /// `GPUFEED_REMOTE_MIN_RATE`, else 1024.
    pub(super) remote_min_rate: Option<Size>,
    /// A file of certificates (PEM) that are trusted besides the system's. Default: the variable `SSL_CERT_FILE`.
    pub(super) remote_certificates: Option<PathBuf>,
    /// Settings of the store by the names of their variables, `{"AWS_ENDPOINT_URL": "http://127.0.0.1:9000"}`, in whose
    /// place they stand; a pickle of the data set has them, credentials included. Default: the variables alone.
    pub(super) remote_store: Option<BTreeMap<String, String>>,
}
