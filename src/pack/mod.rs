//! Packs a data set in any format into tar shards (WebDataset's convention) or an LMDB, with its image files unchanged
//! or encoded anew.
//!
//! ```
//! use gpufeed::pack::Packer;
//! use gpufeed::{Dataset, InMemory, Label, PixelFormat, TarShards};
//!
//! // Any open data set can be packed. For a path, or an address in a store: `Packer::new("imagenet/train", "packed")`.
//! let mut images = InMemory::new().with_classes(["cat", "dog"]);
//! for class in [0, 1, 0] {
//!     images.push_pixels(40, 30, PixelFormat::Rgb8, vec![100; 40 * 30 * 3], Label::Class(class))?;
//! }
//!
//! # let root = tempfile::tempdir()?;
//! # let out = root.path().join("packed");
//! let packed = Packer::of(images, &out).pack()?;
//! assert_eq!((packed.samples, packed.shards, packed.encoded), (3, 1, 3));
//! assert_eq!(TarShards::open(&out)?.classes(), ["cat", "dog"]);
//!
//! // A pack is a data set, too: another pack of it copies the three files unchanged.
//! assert_eq!(Packer::new(&out, root.path().join("again")).pack()?.kept, 3);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! If a pack was stopped or killed, the same call continues it and keeps its complete shards, as long as the source has
//! not changed. Until the pack is complete, its folder cannot be opened as a data set. Samples that cannot be read are
//! left out, and named in [`Packed`].
//!
//! Members of shards have the names of their samples ([`Dataset::stored`](crate::Dataset::stored)): `cat/1.JPEG` and
//! `cat/1.cls`. A sample's key ends at its first dot, so dots within a name become `_`. If another sample has the key
//! already, the sample's number is appended. Samples without names have their numbers as keys.
//!
//! [Fields](crate::Dataset::fields) of the samples are members of shards, too. A member ends in the field's name, and in
//! the ending that tells its kind where the name does not: `caption.txt` is text, `meta.json` JSON as it is, `score.npy`
//! numbers, `depth.png` an image, and `features.bin` bytes. A sample without a value has no such member. The manifest
//! `gpufeed-pack.json` lists the fields with their names, kinds and defaults.
//!
//! Several machines pack one data set together: call [`Packer::plan`] once, then [`Packer::part`] for each part, and at
//! last [`Packer::join`].

// settings.rs            PackSettings
// packer.rs              Packer, which runs a step: a whole pack (whole.rs), or a plan, a part or a join (parts/)
// task.rs                what a step works on; number.rs has the number of a part
// events.rs              tells a caller how far a step is, and lets the caller stop the step
// packed.rs              the results of steps
// source.rs              opens the source, and fingerprints its files
// run.rs                 goes through the samples: workers.rs prepares them on all threads, recode.rs encodes a sample
// write.rs               writes the samples into a folder: shards.rs writes tar files, hashed.rs hashes them
// names.rs               names the members of shards; members.rs makes those of fields
// endings.rs             how members of fields end; npy.rs writes numbers
// journal.rs             records the progress, from which a stopped pack goes on; job.rs tells packs apart
// lock.rs                keeps other processes out of a folder or a part
// verify.rs              compares a pack with its source
// planned.rs             what all parts of a plan have in common
// errors.rs              errors that say what packing needs
// src/dataset/ reads a pack, as it reads any other data set.

mod endings;
mod errors;
mod events;
mod hashed;
mod job;
mod journal;
mod lock;
mod members;
mod names;
mod npy;
mod number;
mod packed;
mod packer;
mod parts;
mod planned;
mod recode;
mod run;
mod settings;
mod shards;
mod source;
mod task;
mod verify;
mod whole;
mod workers;
mod write;

#[cfg(test)]
mod tests;

pub use events::Event;
pub use number::{MOST_PARTS, PartNumber};
pub use packed::{Compared, PackPlan, Packed, Unusable};
pub use packer::Packer;
pub use settings::{PackFormat, PackSettings};
