//! Reads a file's size and kind.

use crate::Error;
use crate::segments::Segments;

/// The size and the kind of any JPEG, including those that this crate does not decode.
///
/// ```
/// use gpufeed_jpeg::Header;
///
/// # let picture = image::RgbImage::new(30, 20);
/// # let mut jpeg = std::io::Cursor::new(Vec::new());
/// # picture.write_to(&mut jpeg, image::ImageFormat::Jpeg).unwrap();
/// # let jpeg = jpeg.into_inner();
/// let header = Header::read(&jpeg)?;
/// assert_eq!((header.width, header.height, header.components), (30, 20, 3));
/// # Ok::<(), gpufeed_jpeg::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Header<'a> {
    /// Columns of the stored image. A damaged file may declare 0.
    pub width: u32,
    /// Rows of the stored image. A damaged file may declare 0.
    pub height: u32,
    /// Number of components: 1 for gray, 3 for YCbCr or RGB, 4 for CMYK or YCCK.
    pub components: u8,
    /// True for progressive files (SOF2, SOF6, SOF10 and SOF14).
    pub progressive: bool,
    /// True for progressive files, and for those whose first scan lacks components: the decoder keeps all coefficients of these
    /// files.
    pub several_scans: bool,
    /// Samples of all components in whole MCUs. Decoding takes a byte for each, and 2.125 more in a file with `several_scans`, which
    /// has as many coefficients.
    pub samples: u64,
    /// The TIFF structure of the first EXIF segment. It contains the orientation.
    pub exif: Option<&'a [u8]>,
}

impl<'a> Header<'a> {
    /// Reads the segments before the first scan. It allocates no memory.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the bytes do not begin with a start-of-image marker, or have no frame header or one that is too short;
    /// [`Error::Damaged`] if the bytes end before the frame header.
    pub fn read(bytes: &'a [u8]) -> Result<Self, Error> {
        if !bytes.starts_with(&[0xFF, 0xD8]) {
            return Err(Error::Invalid("no start-of-image marker (SOI)"));
        }
        let mut frame = None;
        let mut exif = None;
        let mut scanned = None;
        for (marker, payload) in Segments::new(bytes) {
            match marker {
                // SOF0..15. C4, C8 and CC among them are DHT, JPG and DAC.
                0xC0..=0xCF if !matches!(marker, 0xC4 | 0xC8 | 0xCC) => {
                    let read = Header::from_frame_header(marker, payload);
                    frame = frame.or(Some(read.ok_or(Error::Invalid("the frame header (SOF) is too short"))?));
                }
                0xE1 if exif.is_none() => exif = payload.strip_prefix(b"Exif\0\0"),
                Segments::SOS | Segments::EOI if frame.is_none() => {
                    return Err(Error::Invalid("no frame header (SOF) before the first scan"));
                }
                Segments::SOS => {
                    scanned = payload.first().copied();
                    break;
                }
                Segments::EOI => break,
                _ => {}
            }
        }
        let header = frame.ok_or(Error::Damaged("the bytes end before the frame header (SOF)"))?;
        let several_scans = header.progressive || scanned.is_some_and(|count| count < header.components);
        Ok(Header { exif, several_scans, ..header })
    }

    /// Columns and rows of the stored image.
    pub fn size(&self) -> (u32, u32) {
        (self.width, self.height)
    }

    fn from_frame_header(marker: u8, payload: &[u8]) -> Option<Header<'static>> {
        let &[_, h1, h0, w1, w0, ref rest @ ..] = payload else { return None };
        let (width, height) = (u32::from(u16::from_be_bytes([w1, w0])), u32::from(u16::from_be_bytes([h1, h0])));
        let (count, components) = rest.split_first().unwrap_or((&0, &[]));
        let components = components.as_chunks::<3>().0;
        let components = &components[..components.len().min((*count).into())];
        let factors = || components.iter().map(|&[_, factors, _]| (u64::from(factors >> 4), u64::from(factors & 15)));
        let (max_h, max_v) = factors().fold((1, 1), |(max_h, max_v), (h, v)| (max_h.max(h), max_v.max(v)));
        let mcus = u64::from(width).div_ceil(8 * max_h) * u64::from(height).div_ceil(8 * max_v);
        let samples = 64 * mcus * factors().map(|(h, v)| h * v).sum::<u64>();
        let progressive = marker & 3 == 2;
        let components = components.len() as u8;
        Some(Header { width, height, components, progressive, several_scans: progressive, samples, exif: None })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::has_end;

    const SOF: [u8; 13] = [0xFF, 0xC2, 0, 11, 8, 0, 20, 0, 30, 1, 1, 0x11, 0];
    const SCAN: [u8; 12] = [0xFF, Segments::SOS, 0, 8, 1, 1, 0, 0, 63, 0, 0x12, 0x34];

    #[test]
    fn fill_bytes_stray_bytes_and_tables_are_skipped() {
        let file = [b"\xFF\xD8\xFF\xFF\xFF\xE0\0\x04ab", b"stray".as_slice(), b"\xFF\xC4\0\x03x", &SOF, &SCAN].concat();
        let header = Header::read(&file).unwrap();
        assert_eq!(
            (header.size(), header.exif, header.progressive, header.several_scans),
            ((30, 20), None, true, true)
        );
    }

    #[test]
    fn a_truncated_header_is_an_error() {
        let whole = [b"\xFF\xD8".as_slice(), &SOF].concat();
        assert!(Header::read(&whole).is_ok());
        for length in 2..whole.len() {
            assert!(matches!(Header::read(&whole[..length]).unwrap_err(), Error::Damaged(_)));
        }
        assert!(matches!(Header::read(&[b"\xFF\xD8", &SCAN[..]].concat()).unwrap_err(), Error::Invalid(_)));
    }

    #[test]
    fn other_files_are_invalid() {
        for bytes in [b"".as_slice(), b"\xFF", b"\x89PNG\r\n\x1A\n", &SOF] {
            assert!(matches!(Header::read(bytes).unwrap_err(), Error::Invalid(_)));
        }
    }

    #[test]
    fn segments_end_at_the_end_of_the_image() {
        let mut segments = Segments::new(b"\xFF\xD8\xFF\xD9\xFF\xFE\0\x04ab");
        assert_eq!((segments.next(), segments.next()), (Some((Segments::EOI, &b""[..])), None));
        // A truncated payload ends the iteration.
        let mut segments = Segments::new(b"\xFF\xD8\xFF\xFE\0\xFF\xFF\xD9");
        assert_eq!((segments.next(), segments.next()), (None, None));
    }

    #[test]
    fn the_end_marker_is_found_before_trailing_bytes() {
        let whole = [b"\xFF\xD8".as_slice(), &SOF, &SCAN, b"\xFF\x00\xFF\xD0z\xFF\xD9"].concat();
        assert!(has_end(&whole));
        assert!(has_end(&[&whole[..], b"\0\0\n"].concat()));
        assert!(has_end(&[&whole[..], b"trailing garbage"].concat()));
        for cut in 1..whole.len() - 2 {
            assert!(!has_end(&whole[..whole.len() - cut]), "{cut} bytes cut");
        }
    }

    #[test]
    fn samples_are_those_of_whole_mcus() {
        let frame = |factors: &[u8]| {
            let components = factors.iter().flat_map(|&factors| [1, factors, 0]);
            [&[8, 0, 50, 0, 100, factors.len() as u8][..], &components.collect::<Vec<_>>()].concat()
        };
        let blocks = |factors: &[u8]| Header::from_frame_header(0xC0, &frame(factors)).unwrap().samples / 64;
        // 4:2:0 has 7 x 4 MCUs of 6 blocks, 4:4:4 has 13 x 7 MCUs of 3 blocks, CMYK 13 x 7 MCUs of 4 blocks.
        assert_eq!(blocks(&[0x22, 0x11, 0x11]), 7 * 4 * 6);
        assert_eq!(blocks(&[0x11, 0x11, 0x11]), 13 * 7 * 3);
        assert_eq!(blocks(&[0x11; 4]), 4 * 13 * 7);
        // Truncated and contradictory headers do not panic.
        for length in 0..15 {
            let cut = [&frame(&[0, 0xFF, 0x11])[..length], &[]].concat();
            assert_eq!(Header::from_frame_header(0xC2, &cut).is_some(), length >= 5);
        }
    }
}
