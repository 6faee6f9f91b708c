//! The options of `gpufeed pack`.

use crate::dataset::parse_fields;
use crate::part::{AskedPart, MOST_PARTS};
use crate::units::parse_bytes as bytes;
use clap::ValueEnum;
use clap::builder::RangedU64ValueParser;
use gpufeed::Split;
use gpufeed::dataset::{FieldChoice, MAX_FIELD_BYTES};
use gpufeed::pack::{PackFormat, PackSettings};
use std::path::PathBuf;

/// Packs images into tar shards (WebDataset's convention) or an LMDB, as they are or encoded anew.
///
/// Interrupted work goes on where it ended: shards that were whole are kept, as long as the source has not changed.
/// Until all is done the folder is no data set. Samples that cannot be read are left out, named, and counted: exit code
/// 3.
///
/// Members of shards are called as their files are, from the source's folder on: `cat/1.JPEG` and `cat/1.cls`. Dots
/// within a name become `_`, as a sample's key ends at its first dot; a key that is there already gets the sample's
/// number.
#[derive(clap::Args)]
pub(crate) struct PackArguments {
    /// A data set in any format: a folder of class folders or of images, a list, tar shards or Parquet files (a folder
    /// of them, or a brace list; Parquet with the feature `parquet`), an LMDB, the files of MNIST, CIFAR or numpy,
    /// annotations of COCO, Pascal VOC or YOLO. Shards and Parquet files may also be an address (s3://, gs://, az://,
    /// https://; feature `remote`)
    pub(super) source: PathBuf,
    /// The folder to pack into, or its address in a store (s3://, gs://, az://; feature `remote`)
    pub(super) out: PathBuf,
    /// What is written [default: tar]
    #[arg(long, value_name = "FORMAT", default_value = "tar", hide_default_value = true)]
    pub(super) to: To,
    /// Bytes of a tar shard at the most, one larger sample aside; an LMDB is written to the disk after so many, or 32M.
    /// A killed run goes on behind these. K, M, G are powers of 1024
    #[arg(long, value_name = "BYTES", default_value = "1G", value_parser = bytes)]
    pub(super) shard_bytes: u64,
    /// Which part is packed of a data set that comes in two: MNIST, CIFAR, an .npz that says train and test, a folder of
    /// Parquet files with train and validation, or else test; train or test [default: train]
    #[arg(long, value_name = "PART", default_value = "train", hide_default_value = true, hide_possible_values = true)]
    pub(super) split: Part,
    /// What the shards' names begin with: PREFIX-000000.tar
    #[arg(long, value_name = "NAME", default_value = "shard", value_parser = prefix)]
    pub(super) prefix: String,
    /// Packs the samples in a random order, by this seed: neighbours are then no more alike than others, as loaders want
    /// that read neighbours together. Not for a source in a store [default: the source's order]
    #[arg(long, value_name = "SEED")]
    pub(super) shuffle: Option<u64>,
    /// The fields that are packed beside images and labels, as members of the shards: all, none, or what is read with
    /// the name that it gets, such as txt=caption,json=meta (endings of members, columns) [default: none]
    #[arg(long, value_name = "FIELDS", value_parser = parse_fields)]
    pub(super) fields: Option<FieldChoice>,
    /// Bytes of a field's value at the most; samples with larger ones are left out [default: 1M]
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    pub(super) max_field_bytes: Option<u64>,
    /// Images with a longer side are reduced to it, bilinear and antialiased, and become JPEGs
    #[arg(long, value_name = "PIXELS", value_parser = RangedU64ValueParser::<u32>::new().range(1..=65535))]
    pub(super) max_side: Option<u32>,
    /// All images become JPEGs of this quality [default: files stay as they are; 90 for those that --max-side reduces]
    #[arg(long, value_name = "1-100", value_parser = RangedU64ValueParser::<u8>::new().range(1..=100))]
    pub(super) quality: Option<u8>,
    /// Lists the samples for --parts N machines, once, and packs nothing; --part then takes the settings from this plan
    #[arg(long, requires = "parts", conflicts_with_all = ["part", "join", "verify"])]
    pub(super) plan: bool,
    /// The number of parts, 1 to 100000
    #[arg(long, value_name = "N", value_parser = RangedU64ValueParser::<usize>::new().range(1..=MOST_PARTS as u64))]
    pub(super) parts: Option<usize>,
    /// Packs one part of a plan, counted from 0: 0/7 to 6/7; it may be killed and repeated. `auto` is the id of a Slurm
    /// array's task, the index of a Kubernetes Indexed Job's pod, or the rank under torchrun, MPI or srun
    #[arg(long, value_name = "I/N|auto", value_parser = AskedPart::parse, conflicts_with_all = SETTINGS)]
    pub(super) part: Option<AskedPart>,
    /// Makes a data set of all parts, or names those that are missing
    #[arg(long, conflicts_with_all = SETTINGS, conflicts_with_all = ["part", "parts"])]
    pub(super) join: bool,
    /// Where shards are written before they are uploaded, if OUT is in a store: the room of one shard for each part at
    /// work [default: the system's folder of temporary files]
    #[arg(long, value_name = "FOLDER")]
    pub(super) scratch: Option<PathBuf>,
    /// Then reads all back and compares it with the source: byte for byte, and pixels where they were encoded anew
    #[arg(long)]
    pub(super) verify: bool,
    /// Threads [default: all cores]
    #[arg(long, value_name = "N", value_parser = RangedU64ValueParser::<usize>::new().range(1..=4096))]
    pub(super) workers: Option<usize>,
    /// Prints what was done as JSON
    #[arg(long)]
    pub(super) json: bool,
}

/// The options that a plan has settled.
const SETTINGS: [&str; 9] =
    ["to", "shard_bytes", "split", "prefix", "shuffle", "fields", "max_field_bytes", "max_side", "quality"];

/// The format to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum To {
    /// Tar shards
    Tar,
    /// An LMDB
    #[cfg(feature = "lmdb")]
    Lmdb,
}

/// The part to pack of a data set with two parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Part {
    /// What to train on
    Train,
    /// What to test with
    Test,
}

impl PackArguments {
    pub(super) fn settings(&self) -> PackSettings {
        let mut settings = PackSettings::default();
        settings.to = match self.to {
            To::Tar => PackFormat::Tar,
            #[cfg(feature = "lmdb")]
            To::Lmdb => PackFormat::Lmdb,
        };
        settings.split = match self.split {
            Part::Train => Split::Train,
            Part::Test => Split::Test,
        };
        settings.shard_bytes = self.shard_bytes;
        settings.prefix.clone_from(&self.prefix);
        (settings.shuffle, settings.max_side, settings.quality) = (self.shuffle, self.max_side, self.quality);
        settings.fields.clone_from(&self.fields);
        settings.max_field_bytes = self.max_field_bytes.unwrap_or(MAX_FIELD_BYTES);
        (settings.workers, settings.verify) = (self.workers, self.verify);
        settings.scratch.clone_from(&self.scratch);
        settings
    }
}

fn prefix(text: &str) -> Result<String, String> {
    let plain = !text.is_empty() && !text.starts_with('.') && !text.contains(['/', '\\', '{', '}', ':', '?', '#']);
    plain.then(|| text.to_owned()).ok_or_else(|| "a file name's beginning, like train".to_owned())
}
