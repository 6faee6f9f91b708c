//! The memory that decoding takes, computed from an image's header before any of it is allocated.
//!
//! Bytes per pixel of the whole image (a region takes no more). Every image takes 4 for RGBA, and 4 again if EXIF turns
//! it.
//!
//! | format | in addition |
//! |---|---|
//! | JPEG, in one scan | 1 (gray), 1.5 (4:2:0), 3 (4:4:4), 4 (CMYK): its planes |
//! | JPEG, progressive or in several scans | 3.1 times as much: its coefficients, and its planes |
//! | PNG | a few rows; interlaced 1 to 8: the whole image as stored |
//! | WebP | 5 (lossy) to 8; with alpha up to 11, animated up to 19; and the file once more |
//! | GIF | 1: the indices of its frame |
//! | BMP, PNM | 1 to 8: the image as stored |
//! | TIFF | a strip or tile as stored; with JPEG inside 14 more for each of its pixels, with WebP 15, and the file once more |
//!
//! Metadata has no limit in the header; it may take 64 MiB more ([`METADATA`]).

use super::format::ImageFormat;
use super::{DecodeOptions, PIXEL};
use crate::{Error, ErrorKind, Result};

/// Decoder memory from which a trial allocation checks that the system has it. A failed allocation inside a decoder
/// would end the process.
const LARGE: u64 = 16 << 20;

/// Bytes that a decoder may allocate besides the image: palettes, profiles, metadata, windows.
pub(super) const METADATA: usize = 64 << 20;

/// Bytes that decoding takes besides the decoded pixels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Cost {
    /// The bytes that stay allocated in `Scratch` after decoding.
    pub(super) resident: u64,
    /// The bytes that the decoder allocates while it decodes, and frees.
    pub(super) transient: u64,
}

impl Cost {
    /// Returns all bytes for an image of `size` = (columns, rows), with its pixels in RGBA, and again if they are
    /// turned.
    pub(super) fn all(self, size: (u32, u32), turned: bool) -> u64 {
        let copies = if turned { 2 } else { 1 };
        let pixels = u64::from(size.0) * u64::from(size.1);
        pixels.saturating_mul(PIXEL as u64 * copies).saturating_add(self.resident).saturating_add(self.transient)
    }

    /// # Errors
    /// [`ErrorKind::TooMuchMemory`] for more bytes than `max_decode_bytes`.
    pub(super) fn check(
        self,
        format: ImageFormat,
        size: (u32, u32),
        turned: bool,
        options: &DecodeOptions,
    ) -> Result<()> {
        let (needed, max_decode_bytes) = (self.all(size, turned), options.max_decode_bytes);
        if needed > max_decode_bytes {
            let (width, height) = size;
            let format = format.name();
            return Err(ErrorKind::TooMuchMemory { format, width, height, needed, max_decode_bytes }.into());
        }
        Ok(())
    }

    /// Checks that the system has the memory which the decoder will allocate: a failure inside the decoder would end
    /// the process. Another thread may still take the memory first.
    ///
    /// # Errors
    /// [`ErrorKind::NoMemory`].
    pub(super) fn try_transient(self) -> Result<()> {
        if self.transient >= LARGE {
            let mut trial = Vec::<u8>::new();
            let there = usize::try_from(self.transient).is_ok_and(|bytes| trial.try_reserve_exact(bytes).is_ok());
            // Without this the compiler removes the unused allocation.
            std::hint::black_box(&trial);
            if !there {
                return Err(no_memory(self.transient));
            }
        }
        Ok(())
    }
}

/// Returns the memory that decoding a JPEG takes.
pub(super) fn jpeg(header: &gpufeed_jpeg::Header<'_>) -> Cost {
    // A coefficient has two bytes, and a block eight more.
    let coefficients = if header.several_scans { 2 * header.samples + header.samples / 8 } else { 0 };
    Cost { resident: header.samples + coefficients, transient: 0 }
}

/// Makes `buffer` at least `length` bytes long. Frees the old memory first, and takes zeroed memory from the system: a
/// hostile header reserves pages, but touches none.
///
/// # Errors
/// [`ErrorKind::NoMemory`]; the buffer is then empty.
pub(super) fn try_grow(buffer: &mut Vec<u8>, length: usize) -> Result<()> {
    gpufeed_jpeg::internals::try_grow(buffer, length).map_err(|_| no_memory(length as u64))
}

fn no_memory(bytes: u64) -> Error {
    ErrorKind::NoMemory { bytes }.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jpegs_take_what_their_components_say() {
        let size = (100, 50);
        let cost = |factors: &[u8], progressive| {
            let components: Vec<u8> = factors.iter().flat_map(|&factors| [1, factors, 0]).collect();
            let marker = if progressive { 0xC2 } else { 0xC0 };
            let length = 8 + components.len() as u8;
            let frame = [0xFF, 0xD8, 0xFF, marker, 0, length, 8, 0, 50, 0, 100, factors.len() as u8];
            let file = [&frame[..], &components].concat();
            let Cost { resident, transient } = jpeg(&gpufeed_jpeg::Header::read(&file).unwrap());
            assert_eq!(transient, 0);
            resident
        };
        // 4:2:0: 7 x 4 MCUs of 6 blocks; 4:4:4: 13 x 7 of 3.
        assert_eq!(cost(&[0x22, 0x11, 0x11], false), 64 * 7 * 4 * 6);
        assert_eq!(cost(&[0x11, 0x11, 0x11], false), 64 * 13 * 7 * 3);
        assert_eq!(cost(&[0x22, 0x11, 0x11], true), (3 * 64 + 8) * 7 * 4 * 6);
        assert_eq!(cost(&[0x11; 4], true), (3 * 64 + 8) * 13 * 7 * 4);
        assert_eq!(Cost { resident: 7, transient: 8 }.all(size, true), 8 * 5000 + 15);
    }

    #[test]
    fn memory_that_is_not_there_is_an_error() {
        let mut buffer = vec![1; 9];
        let error = try_grow(&mut buffer, usize::MAX / 4).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::NoMemory { bytes } if *bytes == u64::MAX / 4), "{error}");
        assert!(buffer.is_empty());
        try_grow(&mut buffer, 100).unwrap();
        assert_eq!(buffer, [0; 100]);
        assert!(Cost { resident: 0, transient: 1 << 62 }.try_transient().is_err());
        assert!(Cost { resident: 1 << 62, transient: 1 << 20 }.try_transient().is_ok());
    }
}
