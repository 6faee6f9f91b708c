//! The decoder of a loader: its settings and its seek indexes.

use super::seek::{self, Saver, SeekStore};
use super::{
    DecodeOptions, DecodePath, Decoded, Probe, ScaledRegion, SeekIndexes, decode_gray16, decode_indexed, decode_mask,
};
use crate::error::Result;
use crate::geometry::Rect;
use crate::quote::Shown;
use std::path::Path;

/// Decodes a loader's samples. Its threads share it; each has a [`DecoderScratch`].
#[derive(Debug)]
pub(crate) struct Decoder {
    options: DecodeOptions,
    /// The store of seek indexes; `None` if seek indexes are off.
    seek: Option<Saver>,
}

/// One worker's reusable memory for decoding.
#[derive(Debug, Default)]
pub(crate) struct DecoderScratch {
    decode: super::Scratch,
    seek: seek::SeekScratch,
}

impl DecoderScratch {
    /// Reserves as much memory as `other` has.
    pub(crate) fn reserve_like(&mut self, other: &DecoderScratch) {
        self.decode.reserve_like(&other.decode);
        self.seek.reserve_like(&other.seek);
    }
}

impl Decoder {
    /// Makes a decoder. `folder` is the data set's folder; `seek_memory` limits the memory of seek indexes in bytes.
    pub(crate) fn new(
        options: DecodeOptions,
        seek_indexes: &SeekIndexes,
        folder: Option<&Path>,
        seek_memory: u64,
    ) -> Decoder {
        Decoder { options, seek: SeekStore::open(seek_indexes, folder, seek_memory).map(Saver::new) }
    }

    /// Reads the header of a file.
    ///
    /// # Errors
    /// The errors of [`probe`](super::probe).
    pub(crate) fn probe(&self, file: &[u8]) -> Result<Probe> {
        super::probe(file, &self.options)
    }

    /// Decodes a region. Returns its pixels, and how they were decoded.
    ///
    /// # Errors
    /// The errors of [`decode`](super::decode), and one at another scale than [`Scale::Full`](crate::geometry::Scale::Full) for a file that
    /// [`Probe::can_scale`] excludes.
    pub(crate) fn decode<'a>(
        &self,
        file: &[u8],
        probe: &Probe,
        wanted: ScaledRegion,
        scratch: &'a mut DecoderScratch,
    ) -> Result<(Decoded<'a>, DecodePath)> {
        let DecoderScratch { decode, seek } = scratch;
        let store = self.seek.as_ref().map(Saver::store);
        decode_indexed(file, probe, wanted, &self.options, store, seek, decode)
    }

    /// Decodes a region of 16-bit gray, whose numbers are the first two bytes of a pixel, the lower one first.
    ///
    /// # Errors
    /// The errors of [`decode`](super::decode), and one for an image that is no gray of 16 bits.
    pub(crate) fn decode_gray16<'a>(
        &self,
        file: &[u8],
        probe: &Probe,
        region: Rect,
        scratch: &'a mut DecoderScratch,
    ) -> Result<Decoded<'a>> {
        decode_gray16(file, probe, region, &self.options, &mut scratch.decode)
    }

    /// Decodes a region of a mask, whose numbers are the first byte of a pixel.
    ///
    /// # Errors
    /// The errors of [`decode`](super::decode), and one for an image that has neither a palette nor gray of up to 8 bits.
    pub(crate) fn decode_mask<'a>(
        &self,
        file: &[u8],
        probe: &Probe,
        region: Rect,
        scratch: &'a mut DecoderScratch,
    ) -> Result<Decoded<'a>> {
        decode_mask(file, probe, region, &self.options, &mut scratch.decode)
    }

    /// Reads the seek indexes that other processes have saved, at the start of a run.
    pub(crate) fn begin_run(&self) {
        if let Some(seek) = &self.seek {
            seek.store().refresh();
        }
    }

    /// Saves new seek indexes in the background, between two epochs of a run.
    pub(crate) fn between_epochs(&self) {
        if let Some(seek) = &self.seek {
            seek.between_epochs();
        }
    }

    /// Saves new seek indexes at the end of a run, also if it ended within an epoch.
    pub(crate) fn end_run(&self) {
        if let Some(seek) = &self.seek {
            seek.after_run();
        }
    }

    /// Describes where the seek indexes are stored.
    pub(crate) fn seek_indexes(&self) -> String {
        match self.seek.as_ref().map(|seek| seek.store().path()) {
            None => "none".to_owned(),
            Some(None) => "in memory".to_owned(),
            Some(Some(path)) => Shown(path.display()).to_string(),
        }
    }
}
