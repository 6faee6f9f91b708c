#![doc = include_str!("../README.md")]

// size and kind of any JPEG            header.rs, segments.rs
// from marker to marker                markers.rs; frame.rs, tables.rs: what frames, scans and tables say
// scan data                            stuffing.rs, mcu_reader.rs: without stuffed bytes and restart markers
// Huffman codes to coefficients        huffman.rs, huffman_tables.rs, bits.rs
// one scan                             scan.rs, mcus.rs: blocks to decode and to skip; index.rs: the seek index
// several scans, progressive or not    several_scans.rs; band.rs, band_table.rs, coefficients.rs: coefficients of
//                                      the blocks that are needed
// estimates of missing coefficients    smoothing.rs
// damaged scans                        damaged.rs, tolerant.rs: filled as libjpeg does
// coefficients to samples              plane_window.rs, idct.rs
// samples to pixels                    layout.rs, upsample.rs, color.rs
// the whole sequence, the API          decode.rs, request.rs, geometry.rs, error.rs; memory.rs: buffers that grow
// for pictures of what is read         trace.rs

mod band;
mod band_table;
mod bits;
mod coefficients;
mod color;
mod damaged;
mod decode;
mod error;
mod frame;
mod geometry;
mod header;
mod huffman;
mod huffman_tables;
#[doc(hidden)]
pub mod idct;
mod index;
#[allow(missing_docs)] // public only through `internals`
mod layout;
mod markers;
mod mcu_reader;
mod mcus;
mod memory;
mod plane_window;
mod request;
mod scan;
mod segments;
mod several_scans;
mod smoothing;
mod stuffing;
mod tables;
mod tolerant;
#[cfg(feature = "trace")]
mod trace;
#[doc(hidden)]
pub mod upsample;

pub use decode::{Decoded, Decoder, Outcome, Sizes};
pub use error::Error;
pub use geometry::{Rect, Scale};
pub use header::Header;
pub use index::SeekIndex;
pub use request::Request;
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
        let (frame, scan) = crate::markers::Headers::new(bytes).first_scan().ok()?;
        let has_all_components = scan.component_indices().len() == frame.components().len();
        Some(FirstScan { mcus: frame.mcus(), has_all_components, data_offset: scan.data_offset })
    }
}
