//! Packs a data set in any format into tar shards (WebDataset's convention) or an LMDB, as it is or encoded anew.
//!
//! ```
//! use gpufeed::pack::Packer;
//! use gpufeed::{Dataset, InMemory, Label, PixelFormat, TarShards};
//!
//! // Any data set; that of a path, or of an address in a store, is `Packer::new("imagenet/train", "packed")`.
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
//! // What is there is whole: nothing is packed again.
//! assert_eq!(Packer::new(&out, root.path().join("again")).pack()?.kept, 3);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A pack that was stopped or killed goes on by the same call, as long as the source has not changed: whole shards stay.
//! Until all is done the folder is no data set. Samples that cannot be read are left out, and named in [`Packed`].
//!
//! Members of shards have the names of their samples ([`Dataset::stored`](crate::Dataset::stored)): `cat/1.JPEG` and
//! `cat/1.cls`. A sample's key ends at its first dot, so dots within a name become `_`. If another sample has the key
//! already, the sample's number is appended. Samples without names have their numbers as keys.
//!
//! Several machines pack together by [`Packer::plan`], once, then [`Packer::part`] for each part, and [`Packer::join`].

// settings.rs            PackSettings
// packer.rs              Packer, whose steps (task.rs) these files do: whole.rs, and parts/ on many machines (number.rs)
// events.rs              tells a caller how far a step is, and lets the caller stop it
// packed.rs              the results
// source.rs              opens the source, and fingerprints its files
// run.rs                 goes through the samples; workers.rs prepares them on all threads, recode.rs encodes one
// write.rs               writes the samples into a folder; shards.rs (hashed.rs) writes tar files, names.rs names members
// journal.rs             records the progress, from which a stopped pack goes on; job.rs tells packs apart
// lock.rs                keeps other processes out of a folder or a part
// verify.rs              compares a pack with its source
// errors.rs              errors that say what packing needs
// A pack is read as any data set is: src/dataset/.

mod errors;
mod events;
mod hashed;
mod job;
mod journal;
mod lock;
mod names;
mod number;
mod packed;
mod packer;
mod parts;
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
