//! The JPEG engine alone, for the fuzz target `fuzz/fuzz_targets/jpeg.rs`: what it declines is not handed on to another
//! decoder. A part of `internals`.

use super::jpeg::{self, Seek, SeekIndex};
use super::{DecodeOptions, Probe, Rect, Scale};

/// A file's seek index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JpegIndex(SeekIndex);

impl JpegIndex {
    /// As the store of indexes keeps it, without the store's checksum.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.0.to_bytes()
    }

    /// `None` for what no index looks like.
    pub fn from_bytes(bytes: &[u8]) -> Option<JpegIndex> {
        SeekIndex::from_bytes(bytes).map(JpegIndex)
    }
}

/// What an index does in a decode.
#[derive(Clone, Copy, Debug)]
pub enum JpegSeek<'a> {
    /// Nothing.
    None,
    /// It is built.
    Build,
    /// It is used.
    By(&'a JpegIndex),
}

/// The engine with its memory, which is kept from image to image.
#[derive(Debug, Default)]
pub struct JpegEngine {
    scratch: jpeg::Scratch,
    target: Vec<u8>,
}

impl JpegEngine {
    /// Columns and rows of the image as stored: the coordinates of [`decode`](Self::decode)'s region.
    pub fn stored(probe: &Probe) -> (u32, u32) {
        probe.stored
    }

    /// RGBA of a region that lies within the stored image (at the scale: its sides divided, rounded up), rows without
    /// gaps, and the index where one was to be built and could be.
    ///
    /// # Errors
    /// Why the engine does not decode the file.
    pub fn decode(
        &mut self,
        bytes: &[u8],
        probe: &Probe,
        (stored, scale): (Rect, Scale),
        options: &DecodeOptions,
        seek: JpegSeek<'_>,
    ) -> Result<(&[u8], Option<JpegIndex>), &'static str> {
        let seek = match seek {
            JpegSeek::None => Seek::default(),
            JpegSeek::Build => Seek { index: None, build: true },
            JpegSeek::By(index) => Seek { index: Some(&index.0), build: false },
        };
        let (placed, _, index) =
            jpeg::decode(bytes, probe.stored, (stored, scale), options, seek, &mut self.scratch, &mut self.target)
                .map_err(jpeg::Undecoded::reason)?;
        let pixels = &self.target[placed.offset..][..placed.stride * stored.height as usize];
        Ok((pixels, index.map(JpegIndex)))
    }
}

/// Bytes that a worker's memory for decoding has grown to.
pub fn scratch_bytes(scratch: &super::Scratch) -> u64 {
    scratch.sizes().iter().sum::<usize>() as u64
}
