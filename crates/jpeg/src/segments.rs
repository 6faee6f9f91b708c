//! Iterates over a file's marker segments without reading their content.

/// Iterator over the marker segments of a JPEG (ITU-T T.81, annex B). Each item is a marker and its payload. The last
/// item is the end-of-image marker (EOI), if the file has one. The data of scans are skipped.
///
/// Fill bytes (any number of 0xFF) before a marker and stray bytes between segments are skipped, as every decoder does.
///
/// ```
/// use gpufeed_jpeg::Segments;
///
/// let jpeg = b"\xFF\xD8\xFF\xFE\0\x07hello\xFF\xD9";
/// let segments: Vec<_> = Segments::new(jpeg).collect();
/// assert_eq!(segments, [(0xFE, &b"hello"[..]), (Segments::EOI, b"")]);
/// ```
#[derive(Clone, Debug)]
pub struct Segments<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Segments<'a> {
    /// SOS: the header of a scan, whose entropy-coded data follow.
    pub const SOS: u8 = 0xDA;
    /// EOI: the end of the image.
    pub const EOI: u8 = 0xD9;

    /// Starts after the two bytes of the start-of-image marker (SOI) without checking them.
    pub fn new(bytes: &'a [u8]) -> Self {
        Segments { bytes, at: 2 }
    }
}

impl<'a> Iterator for Segments<'a> {
    type Item = (u8, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            // In entropy-coded data 0xFF is followed by 0 (stuffing) or a restart marker; the `match` skips both.
            self.at += self.bytes.get(self.at..)?.iter().position(|&byte| byte == 0xFF)?;
            self.at += self.bytes[self.at..].iter().position(|&byte| byte != 0xFF)?;
            let marker = self.bytes[self.at];
            self.at += 1;
            match marker {
                // Stuffing, TEM, RST0..7 and SOI have no payload.
                0x00 | 0x01 | 0xD0..=0xD8 => continue,
                Self::EOI => {
                    self.at = self.bytes.len();
                    return Some((Self::EOI, &[]));
                }
                _ => {}
            }
            let length = self.bytes.get(self.at..self.at + 2)?;
            // The length includes its own two bytes. A smaller one is invalid and skips these two bytes only.
            let length = usize::from(u16::from_be_bytes([length[0], length[1]])).max(2);
            let Some(payload) = self.bytes.get(self.at + 2..self.at + length) else {
                self.at = self.bytes.len();
                return None;
            };
            self.at += length;
            return Some((marker, payload));
        }
    }
}

impl std::iter::FusedIterator for Segments<'_> {}

/// Returns true if a JPEG has its end-of-image marker (EOI).
///
/// 0xFF 0xD9 cannot occur inside entropy-coded data, so the last bytes of the file answer this at no cost in most
/// cases. Otherwise the image is truncated or bytes follow it, and this function goes through the segments. A file that
/// lacks nothing but the marker counts as truncated; Pillow, which uses libjpeg, rejects it as well.
///
/// ```
/// assert!(gpufeed_jpeg::has_end(b"\xFF\xD8\xFF\xD9\n"));
/// assert!(!gpufeed_jpeg::has_end(b"\xFF\xD8\xFF"));
/// ```
pub fn has_end(bytes: &[u8]) -> bool {
    let padding = bytes.iter().rev().take_while(|byte| matches!(byte, 0 | b'\n' | b'\r' | b' ')).count();
    bytes[..bytes.len() - padding].ends_with(&[0xFF, Segments::EOI])
        || Segments::new(bytes).any(|(marker, _)| marker == Segments::EOI)
}
