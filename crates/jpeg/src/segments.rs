//! The segments of a file, without a look at what they hold.

/// The segments of a JPEG in their order, each as its marker and its payload (ITU-T T.81, annex B), up to the end of the
/// image (EOI) or of the bytes. The data of scans are skipped.
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

    /// Begins after the marker of the image's start, which is not looked at.
    pub fn new(bytes: &'a [u8]) -> Self {
        Segments { bytes, at: 2 }
    }
}

impl<'a> Iterator for Segments<'a> {
    type Item = (u8, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            // In entropy-coded data 0xFF is followed by 0 (stuffing) or a restart marker; both are stepped over here.
            self.at += self.bytes.get(self.at..)?.iter().position(|&byte| byte == 0xFF)?;
            self.at += self.bytes[self.at..].iter().position(|&byte| byte != 0xFF)?;
            let marker = self.bytes[self.at];
            self.at += 1;
            match marker {
                // Stuffing, TEM, RST0..7, SOI: no segment follows.
                0x00 | 0x01 | 0xD0..=0xD8 => continue,
                Self::EOI => {
                    self.at = self.bytes.len();
                    return Some((Self::EOI, &[]));
                }
                _ => {}
            }
            let length = self.bytes.get(self.at..self.at + 2)?;
            // The length counts its own two bytes; less is nonsense and skips just those.
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

/// Returns true if a JPEG's end-of-image marker is there.
///
/// 0xFF 0xD9 cannot occur inside entropy-coded data, so finding it last in the file (padding aside) settles the matter at
/// no cost. Otherwise bytes follow the image, or the image was cut: its segments tell.
/// A JPEG that only lacks the marker counts as cut; libjpeg, through Pillow, refuses it as well.
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
