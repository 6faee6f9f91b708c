//! Reads the marker segments of a JPEG (ITU-T T.81 annex B) from scan to scan, by libjpeg's rules for unusual ones.
//!
//! It allocates no memory. Files of unsupported kinds and headers that violate the standard are rejected with a reason.

use crate::Error;
use crate::color::ColorTransform;
use crate::error::Result;
use crate::frame::{Frame, Scan};
use crate::tables::{TableSlots, check_dac};

/// Reads a file's headers up to its next scan, again and again.
#[derive(Clone, Debug)]
pub(crate) struct Headers<'a> {
    bytes: &'a [u8],
    /// Where to search for the next marker.
    at: usize,
    frame: Option<Frame>,
    tables: TableSlots<'a>,
    restart_interval: usize,
    scan_count: usize,
    has_jfif: bool,
    /// The colour transform that an Adobe segment declares.
    adobe_transform: Option<u8>,
}

impl<'a> Headers<'a> {
    /// Starts after the start-of-image marker.
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Headers {
            bytes,
            at: 2,
            frame: None,
            tables: TableSlots::default(),
            restart_interval: 0,
            scan_count: 0,
            has_jfif: false,
            adobe_transform: None,
        }
    }

    /// Reads the headers up to the first scan. Returns the frame and the scan.
    pub(crate) fn first_scan(&mut self) -> Result<(Frame, Scan<'a>)> {
        let scan = self.next_scan()?.ok_or(Error::Invalid("an end-of-image marker (EOI) before the first scan"))?;
        match &self.frame {
            Some(frame) => Ok((frame.clone(), scan)),
            None => Err(NO_FRAME),
        }
    }

    /// Reads the segments up to the next scan header. Returns `None` at the end of the image.
    pub(crate) fn next_scan(&mut self) -> Result<Option<Scan<'a>>> {
        while let Some(segment) = next_segment(self.bytes, self.at)? {
            self.at = segment.end;
            if segment.marker == crate::Segments::SOS {
                return self.read_scan(segment.payload).map(Some);
            }
            self.read_segment(&segment)?;
        }
        Ok(None)
    }

    /// The components, with the quantization tables of those that had a scan.
    pub(crate) fn frame(&self) -> Option<&Frame> {
        self.frame.as_ref()
    }

    /// Continues at offset `at`, where the data of a scan have ended.
    pub(crate) fn continue_at(&mut self, at: usize) {
        self.at = at;
    }

    fn read_scan(&mut self, payload: &[u8]) -> Result<Scan<'a>> {
        let Some(frame) = &mut self.frame else { return Err(NO_FRAME) };
        if self.scan_count == 0 {
            let (ids, count) = frame.identifiers();
            let transform = ColorTransform::detect(self.has_jfif, self.adobe_transform, &ids[..count]);
            frame.color_transform = transform.ok_or(Error::Unsupported("an unknown colour space"))?;
            if !frame.progressive {
                self.tables.add_standard();
            }
        }
        let scan = frame.read_scan(payload, &self.tables, self.restart_interval, self.at)?;
        self.scan_count += 1;
        Ok(scan)
    }

    fn read_segment(&mut self, segment: &Segment<'a>) -> Result<()> {
        let payload = segment.payload;
        match segment.marker {
            0xC4 => self.tables.read_dht(payload)?,
            0xCC => check_dac(payload)?,
            0xC0..=0xCF if self.frame.is_some() => return Err(Error::Invalid("several frames")),
            marker @ 0xC0..=0xCF => self.frame = Some(Frame::read(marker, payload)?),
            0xDB => self.tables.read_dqt(payload)?,
            0xDD => match payload {
                &[high, low] => self.restart_interval = usize::from(u16::from_be_bytes([high, low])),
                _ => return Err(Error::Invalid("a DRI segment of the wrong length")),
            },
            // libjpeg evaluates these two segments before the first scan only.
            0xE0 if self.scan_count == 0 => self.has_jfif |= payload.len() >= 14 && payload.starts_with(b"JFIF\0"),
            0xEE if self.scan_count == 0 && payload.len() >= 12 && payload.starts_with(b"Adobe") => {
                self.adobe_transform = Some(payload[11]);
            }
            // Application data, comments, and DNL, which repeats the height of the frame header.
            0xE0..=0xEF | 0xFE | 0xDC => {}
            _ => return Err(Error::Invalid("a reserved or hierarchical marker")),
        }
        Ok(())
    }
}

const NO_FRAME: Error = Error::Invalid("a scan without a frame");

/// A marker segment.
#[derive(Debug, PartialEq, Eq)]
struct Segment<'a> {
    marker: u8,
    payload: &'a [u8],
    /// The offset after the payload.
    end: usize,
}

/// Returns the first segment from offset `at` on; `None` at the end-of-image marker.
fn next_segment(bytes: &[u8], mut at: usize) -> Result<Option<Segment<'_>>> {
    const TRUNCATED: Error = Error::Damaged("the bytes end before the end of the headers");
    loop {
        // Stray bytes and fill bytes (0xFF) between segments are common. After a scan, its data are among them.
        at += find_ff(bytes.get(at..).ok_or(TRUNCATED)?).ok_or(TRUNCATED)?;
        at += bytes[at..].iter().position(|&byte| byte != 0xFF).ok_or(TRUNCATED)?;
        let marker = bytes[at];
        at += 1;
        match marker {
            // Stuffing, TEM and restart markers have no payload.
            0x00 | 0x01 | 0xD0..=0xD7 => continue,
            0xD8 => return Err(Error::Invalid("a second start-of-image marker (SOI)")),
            0xD9 => return Ok(None),
            0x02..=0xBF => return Err(Error::Invalid("a reserved marker")),
            _ => {}
        }
        let &[high, low, ..] = &bytes[at..] else { return Err(TRUNCATED) };
        let length = usize::from(u16::from_be_bytes([high, low]));
        // libjpeg skips the two bytes of the length where it skips the segment.
        if length < 2 && !matches!(marker, 0xE0..=0xEF | 0xFE | 0xDC) {
            return Err(Error::Invalid("a segment length below 2"));
        }
        let end = at + length.max(2);
        let payload = bytes.get(at + 2..end).ok_or(TRUNCATED)?;
        return Ok(Some(Segment { marker, payload, end }));
    }
}

/// Returns the offset of the first 0xFF.
fn find_ff(bytes: &[u8]) -> Option<usize> {
    let words = bytes.as_chunks::<8>().0;
    // Most words of a scan have none, and eight bytes are compared as fast as one.
    let skipped = words.iter().take_while(|word| !word.contains(&0xFF)).count() * 8;
    bytes[skipped..].iter().position(|&byte| byte == 0xFF).map(|offset| skipped + offset)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_libjpeg_skips_between_segments_is_skipped() {
        let stray = b"\xFF\xD8ab\xFF\0c\xFF\x01\xFF\xD3d\xFF\xFF\xFF\xFE\0\x03z";
        let segment = next_segment(stray, 2).unwrap().unwrap();
        assert_eq!(segment, Segment { marker: 0xFE, payload: b"z", end: stray.len() });
        // A comment whose length is too small.
        assert_eq!(next_segment(b"\xFF\xFE\0\0\xFF\xD9", 0).unwrap().unwrap().end, 4);
        assert_eq!(next_segment(b"\xFF\xD9", 0), Ok(None));
        for invalid in [&b"\xFF\xD8"[..], b"\xFF\x05", b"\xFF\xDB\0\x01"] {
            assert!(matches!(next_segment(invalid, 0), Err(Error::Invalid(_))), "{invalid:x?}");
        }
        for cut in [&b""[..], b"abc", b"\xFF", b"\xFF\xFF", b"\xFF\xFE", b"\xFF\xFE\0\x09abc"] {
            assert!(matches!(next_segment(cut, 0), Err(Error::Damaged(_))), "{cut:x?}");
        }
    }

    #[test]
    fn the_first_ff_is_found_at_every_offset() {
        for length in 0..40 {
            assert_eq!(find_ff(&vec![0xFE; length]), None);
            for at in 0..length {
                let mut bytes = vec![7; length];
                bytes[at..].fill(0xFF);
                assert_eq!(find_ff(&bytes), Some(at));
            }
        }
    }

    #[test]
    fn other_kinds_of_files_have_a_sentence_of_their_own() {
        let reason = |marker: u8, precision: u8, height: u8, components: u8| {
            let payload =
                [&[precision, 0, height, 0, 8, components][..], &[1, 0x11, 0].repeat(components.into())].concat();
            let length = payload.len() as u8 + 2;
            let file = [&[0xFF, 0xD8, 0xFF, marker, 0, length][..], &payload].concat();
            match Headers::new(&file).first_scan() {
                Err(Error::Unsupported(reason)) => reason,
                other => panic!("{other:?}"),
            }
        };
        for (marker, word) in [(0xC3, "lossless"), (0xC5, "hierarchical"), (0xC9, "arithmetic"), (0xCF, "arithmetic")] {
            assert!(reason(marker, 8, 8, 3).contains(word), "{marker:x}");
        }
        assert!(reason(0xC1, 12, 8, 3).contains("12 bits"));
        assert!(reason(0xC1, 16, 8, 3).contains("8 bits"));
        assert!(reason(0xC2, 8, 8, 2).contains("components"));
        assert!(reason(0xC0, 8, 0, 1).contains("height"));
    }
}
