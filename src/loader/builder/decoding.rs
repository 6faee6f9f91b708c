//! How images are decoded: the setters.

use super::DataLoaderBuilder;
use crate::decode::{Orientation, SeekIndexes, Truncated};

setters! {
    /// The treatment of EXIF orientation; it is applied by default (torchvision ignores it).
    pub fn exif(exif: Orientation) sets settings.exif = exif;

    /// The treatment of truncated image files; they fail by default.
    pub fn truncated(truncated: Truncated) sets settings.truncated = truncated;

    /// The most pixels that an image may declare; 2^28 by default.
    pub fn max_pixels(max_pixels: u64) sets settings.max_pixels = max_pixels;

    /// The most bytes of memory that decoding one image may take, for its pixels and all that its decoder holds; 3 GiB
    /// by default ([`DecodeOptions::max_decode_bytes`](crate::decode::DecodeOptions::max_decode_bytes) has the details). An
    /// image that would take more fails. Each of the [`workers`](Self::workers) may take as much;
    /// [`memory_budget`](Self::memory_budget) does not count it.
    pub fn max_decode_bytes(max_decode_bytes: u64) sets settings.max_decode_bytes = max_decode_bytes;

    /// Decodes JPEGs at a half, a quarter or an eighth of their size if a resize reduces them by at least as much; off
    /// by default.
    ///
    /// For data sets of large photographs. It changes pixels: of photographs of 12 megapixels by 0.8 levels of 255 on
    /// average with `Resize(224)`, 1.1 with `RandomResizedCrop(224)`, 1.5 with `Resize(700)`; single ones by up to 40,
    /// at sharp edges. The parameters stay those of the full size, and every output is centred where it would be on the
    /// full image. Only the edges of a crop are rounded, to whole pixels of the smaller image: a crop gains or loses up
    /// to 1, 2 or 4 pixels of the full one.
    ///
    /// It applies to files of gpufeed's own JPEG engine (baseline and extended sequential), for lists whose first stage
    /// has only crops and flips before a resize with antialiasing, such as `Resize` and `RandomResizedCrop`, that
    /// reduces both sides by 2 or more; with several views of a sample, in all of them.
    /// [`Params::scale`](crate::transforms::Params::scale) has the scale of each image.
    pub fn scaled_decode(scaled_decode: bool) sets settings.scaled_decode = scaled_decode;

    /// The storage of seek indexes of JPEGs, with which every epoch after the first decodes little more than its crops;
    /// a file in the data set's folder by default.
    pub fn seek_indexes(seek_indexes: SeekIndexes) sets settings.seek_indexes = seek_indexes;

    /// Bytes of memory for seek indexes that are not in a file; 256 MiB by default, enough for 130,000 photographs as
    /// in ImageNet. When it is full, the file is written early; without a file further images get no index.
    pub fn seek_memory(seek_memory: u64) sets settings.seek_memory = seek_memory;
}
