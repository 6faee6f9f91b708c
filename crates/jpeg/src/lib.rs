#![doc = include_str!("../README.md")]
//!
//! # How it works
//!
//! | step | file |
//! |---|---|
//! | size and kind, whatever the file | `header.rs`, `segments.rs` |
//! | segments up to the scan | `markers.rs` |
//! | the scan without stuffed bytes and restart markers | `stuffing.rs` |
//! | codes to coefficients | `huffman.rs`, `bits.rs` |
//! | which blocks, from where on | `scan.rs`, `index.rs` |
//! | the same of a damaged scan | `damaged.rs` |
//! | coefficients to samples | `idct.rs` |
//! | samples to pixels | `layout.rs`, `upsample.rs`, `color.rs` |
//! | all of it | `decode.rs` |

mod bits;
mod color;
mod damaged;
mod decode;
mod error;
mod geometry;
mod header;
mod huffman;
#[doc(hidden)]
pub mod idct;
mod index;
#[allow(missing_docs)] // public for `internals` alone
mod layout;
mod markers;
mod memory;
mod scan;
mod segments;
mod stuffing;
#[doc(hidden)]
pub mod upsample;

pub use decode::{Decoded, Decoder, Outcome, Request, check};
pub use error::Error;
pub use geometry::{Rect, Scale};
pub use header::Header;
pub use index::SeekIndex;
pub use segments::{Segments, has_end};

/// For this workspace's own tests and for gpufeed; comes without promise.
#[doc(hidden)]
pub mod internals {
    pub use crate::color::ColorTransform;
    pub use crate::index::{Entry, GROUP};
    pub use crate::layout::{Component, Layout, Upsampling, Window};
    pub use crate::memory::try_grow;

    /// A file's first scan.
    #[derive(Clone, Copy, Debug)]
    pub struct FirstScan {
        /// MCUs of the image, across and down.
        pub mcus: (usize, usize),
        /// True if it holds all components.
        pub is_whole_image: bool,
        /// Offset of its data in the file.
        pub at: usize,
    }

    /// The first scan of a file that is supported.
    pub fn first_scan(bytes: &[u8]) -> Option<FirstScan> {
        let frame = crate::markers::Frame::read(bytes, false).ok()?;
        let at = frame.scans().first()?.at;
        Some(FirstScan { mcus: frame.mcus(), is_whole_image: frame.is_in_one_scan(), at })
    }
}
