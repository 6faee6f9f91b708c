#![doc = include_str!("../README.md")]
//!
//! # How it works
//!
//! | step | file |
//! |---|---|
//! | size and kind of any JPEG | `header.rs`, `segments.rs` |
//! | marker segments up to the scan data | `markers.rs` |
//! | scan data without stuffed bytes and restart markers | `stuffing.rs` |
//! | Huffman codes to coefficients | `huffman.rs`, `bits.rs` |
//! | blocks to decode and to skip, seek index | `scan.rs`, `index.rs` |
//! | damaged scans | `damaged.rs` |
//! | coefficients to samples | `idct.rs` |
//! | samples to pixels | `layout.rs`, `upsample.rs`, `color.rs` |
//! | the whole sequence | `decode.rs` |

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
#[allow(missing_docs)] // public only through `internals`
mod layout;
mod markers;
mod memory;
mod scan;
mod segments;
mod stuffing;
#[cfg(feature = "trace")]
mod trace;
#[doc(hidden)]
pub mod upsample;

pub use decode::{Decoded, Decoder, Outcome, Request, check};
pub use error::Error;
pub use geometry::{Rect, Scale};
pub use header::Header;
pub use index::SeekIndex;
pub use segments::{Segments, has_end};

/// Items for the tests of this workspace and for gpufeed, without any promise of stability.
#[doc(hidden)]
pub mod internals {
    pub use crate::color::ColorTransform;
    pub use crate::index::{IndexEntry, MCUS_PER_ENTRY};
    pub use crate::layout::{ComponentLayout, Layout, SampleWindow, Upsampling};
    pub use crate::memory::try_grow;
    #[cfg(feature = "trace")]
    pub use crate::trace::{Read, take as take_reads};

    /// The first scan of a file.
    #[derive(Clone, Copy, Debug)]
    pub struct FirstScan {
        /// MCUs of the image in a row, and rows of MCUs.
        pub mcus: (usize, usize),
        /// True if the scan has all components.
        pub has_all_components: bool,
        /// Offset of the scan's data in the file.
        pub data_offset: usize,
    }

    /// Returns the first scan of a supported file.
    pub fn first_scan(bytes: &[u8]) -> Option<FirstScan> {
        let frame = crate::markers::Frame::read(bytes, false).ok()?;
        let data_offset = frame.scans().first()?.data_offset;
        Some(FirstScan { mcus: frame.mcus(), has_all_components: frame.has_single_scan(), data_offset })
    }
}
