//! The orientation in a file's metadata, in any format: EXIF first, then XMP, as Pillow's `ImageOps.exif_transpose` has it.
//!
//! | format | EXIF | XMP |
//! |---|---|---|
//! | JPEG | the first segment APP1 that begins with `Exif\0\0`; further ones continue it | the last of Adobe's segments APP1 |
//! | PNG | the last chunk eXIf, also after IDAT; else the text "Raw profile type exif" | the text "XML:com.adobe.xmp" |
//! | WebP | the chunk EXIF | the chunk XMP |
//! | TIFF | the file's first directory | its tag 700 |
//!
//! Not read, as Pillow does not: the PNG text "Raw profile type APP1", XMP in GIF. Broken metadata are no error, since the
//! image can still be decoded. EXIF data without the header of a TIFF mean that the image is not turned, whatever XMP says:
//! so it is in Pillow for JPEG, while PNG and WebP with such data are errors there.

use std::borrow::Cow;
use std::io::Read;

use flate2::Crc;
use flate2::read::ZlibDecoder;
use gpufeed_jpeg::Segments;

use super::directory::Tiff;

/// The number of the orientation tag.
pub(super) const TAG: u16 = 274;
const PREFIX: &[u8] = b"Exif\0\0";
/// Bytes before a TIFF's first directory.
const TIFF_HEADER: usize = 8;
/// The most bytes that a compressed text of a PNG is unpacked to, as in Pillow.
const MOST_TEXT: u64 = 1 << 20;

/// Returns the orientation by EXIF data and XMP, 1..=8; 1 if there is none or an invalid one. An invalid one in EXIF
/// counts as being there.
pub(super) fn orientation(exif: Option<&[u8]>, xmp: Option<&[u8]>) -> u8 {
    valid(exif.and_then(in_exif).or_else(|| in_xmp(xmp?)))
}

/// Returns a valid orientation, or 1.
pub(super) fn valid(tag: Option<i64>) -> u8 {
    tag.and_then(|tag| u8::try_from(tag).ok()).filter(|tag| (1..=8).contains(tag)).unwrap_or(1)
}

/// Returns the orientation tag of EXIF data with its prefix once, twice, or without.
fn in_exif(exif: &[u8]) -> Option<i64> {
    after_prefix(exif.strip_prefix(PREFIX).unwrap_or(exif))
}

/// Returns the orientation tag of EXIF data whose first prefix was taken off, and which may have another one. It is 0, which is
/// no orientation, if the data are there and none of EXIF.
fn after_prefix(exif: &[u8]) -> Option<i64> {
    let exif = exif.strip_prefix(PREFIX).unwrap_or(exif);
    if exif.is_empty() {
        return None;
    }
    let Some(tiff) = Tiff::open(exif).filter(|_| exif.len() >= TIFF_HEADER) else { return Some(0) };
    // The last one counts where there are several.
    tiff.first()?.filter(|entry| entry.tag == TAG).filter_map(|entry| entry.orientation()).last()
}

/// Returns what `tiff:Orientation="6"` or `<tiff:Orientation>6` says in XMP.
pub(super) fn in_xmp(xmp: &[u8]) -> Option<i64> {
    const NAME: &[u8] = b"tiff:Orientation";
    let mut rest = xmp;
    while let Some(at) = rest.windows(NAME.len()).position(|window| window == NAME) {
        rest = &rest[at + NAME.len()..];
        let value = rest.strip_prefix(b"=\"").or_else(|| rest.strip_prefix(b">"));
        if let Some([digit @ b'0'..=b'9', ..]) = value {
            return Some((digit - b'0').into());
        }
    }
    None
}

/// The orientation of a JPEG, whose first EXIF segment the header has.
pub(super) fn of_jpeg(bytes: &[u8], header: &gpufeed_jpeg::Header<'_>) -> u8 {
    // Nothing else has to be looked at where the first segment has a valid one.
    if let Some(tag @ 1..=8) = header.exif.and_then(after_prefix) {
        return valid(Some(tag));
    }
    let before_scan = || {
        let end = |marker| matches!(marker, Segments::SOS | Segments::EOI);
        Segments::new(bytes).take_while(move |&(marker, _)| !end(marker)).filter(|&(marker, _)| marker == 0xE1)
    };
    let exif: Vec<_> = before_scan().filter_map(|(_, payload)| payload.strip_prefix(PREFIX)).collect();
    let xmp = before_scan().filter_map(|(_, payload)| payload.strip_prefix(b"http://ns.adobe.com/xap/1.0/\0")).last();
    valid(after_prefix(&exif.concat()).or_else(|| in_xmp(xmp?)))
}

/// The orientation of a WebP file.
pub(super) fn of_webp(bytes: &[u8]) -> u8 {
    let (Some(b"VP8X"), Some(&flags)) = (bytes.get(12..16), bytes.get(20)) else { return 1 };
    let chunk =
        |name: &[u8; 4], flag: u8| webp_chunks(&bytes[12..]).find(|(found, _)| found == name && flags & flag != 0);
    orientation(chunk(b"EXIF", 8).map(|(_, data)| data), chunk(b"XMP ", 4).map(|(_, data)| data))
}

/// Name and data of each of a WebP file's chunks, which `rest` begins with.
pub(super) fn webp_chunks(mut rest: &[u8]) -> impl Iterator<Item = ([u8; 4], &[u8])> {
    std::iter::from_fn(move || {
        let (head, data) = rest.split_first_chunk::<8>()?;
        let [n0, n1, n2, n3, l0, l1, l2, l3] = *head;
        let length = u32::from_le_bytes([l0, l1, l2, l3]) as usize;
        let chunk = data.get(..length)?;
        rest = data.get(length.next_multiple_of(2)..).unwrap_or_default();
        Some(([n0, n1, n2, n3], chunk))
    })
}

/// The orientation of a PNG. Goes over all chunks by their lengths, since metadata may follow the pixels; only those that
/// it needs are read.
pub(super) fn of_png(bytes: &[u8]) -> u8 {
    let (mut exif, mut profile, mut xmp) = (None, None, None);
    for (name, chunk) in png_chunks(bytes) {
        match &name {
            b"eXIf" if chunk.is_whole() => exif = Some(chunk.data),
            b"tEXt" | b"zTXt" | b"iTXt" => {
                let text = |key: &[u8]| {
                    let rest = chunk.data.strip_prefix(key)?.strip_prefix(b"\0")?;
                    png_text(&name, rest).filter(|_| chunk.is_whole())
                };
                if let Some(text) = text(b"Raw profile type exif") {
                    profile = Some(text);
                } else if let Some(text) = text(b"XML:com.adobe.xmp") {
                    xmp = Some(text);
                }
            }
            _ => {}
        }
    }
    let profile = profile.filter(|_| exif.is_none()).and_then(|profile| unhex(&profile));
    orientation(exif.or(profile.as_deref()), xmp.as_deref())
}

struct PngChunk<'a> {
    /// The name and the data, over which the checksum is.
    named: &'a [u8],
    data: &'a [u8],
    sum: [u8; 4],
}

impl PngChunk<'_> {
    fn is_whole(&self) -> bool {
        let mut crc = Crc::new();
        crc.update(self.named);
        crc.sum() == u32::from_be_bytes(self.sum)
    }
}

/// Name and content of each chunk of a PNG.
fn png_chunks(bytes: &[u8]) -> impl Iterator<Item = ([u8; 4], PngChunk<'_>)> {
    let mut rest = bytes.get(8..).unwrap_or_default();
    std::iter::from_fn(move || {
        let (length, after) = rest.split_first_chunk::<4>()?;
        let (named, after) = after.split_at_checked((u32::from_be_bytes(*length) as usize).checked_add(4)?)?;
        let (&sum, after) = after.split_first_chunk::<4>()?;
        let (&name, data) = named.split_first_chunk::<4>()?;
        rest = if &name == b"IEND" { &[] } else { after };
        Some((name, PngChunk { named, data, sum }))
    })
}

/// The text of a chunk of this name, after its keyword.
fn png_text<'a>(name: &[u8; 4], rest: &'a [u8]) -> Option<Cow<'a, [u8]>> {
    let after_zero = |bytes: &'a [u8]| Some(&bytes[bytes.iter().position(|&byte| byte == 0)? + 1..]);
    let (packed, text) = match name {
        b"tEXt" => (false, rest),
        b"zTXt" => (true, rest.strip_prefix(&[0])?),
        // Compressed or not, how, the language, the translated keyword.
        _ => (*rest.first()? != 0, after_zero(after_zero(rest.get(2..)?)?)?),
    };
    if !packed {
        return Some(Cow::Borrowed(text));
    }
    let mut unpacked = Vec::new();
    ZlibDecoder::new(text).take(MOST_TEXT).read_to_end(&mut unpacked).ok()?;
    Some(Cow::Owned(unpacked))
}

/// The bytes of a raw profile: an empty line, its name, its length, then hexadecimal digits.
fn unhex(profile: &[u8]) -> Option<Vec<u8>> {
    let lines = profile.split(|&byte| byte == b'\n').skip(3);
    let digits = lines.flatten().filter(|byte| !byte.is_ascii_whitespace());
    let digits = digits.map(|&byte| char::from(byte).to_digit(16).map(|digit| digit as u8));
    let digits = digits.collect::<Option<Vec<u8>>>()?;
    Some(digits.as_chunks::<2>().0.iter().map(|[high, low]| high << 4 | low).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LITTLE: &[u8] = b"II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0\0\0\0\0";
    const BIG: &[u8] = b"MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x08\0\0\0\0\0\0";

    fn from_exif(exif: &[u8]) -> u8 {
        orientation(Some(exif), None)
    }

    #[test]
    fn reads_both_byte_orders() {
        assert_eq!((from_exif(LITTLE), from_exif(BIG)), (6, 8));
        for length in 0..LITTLE.len() - 6 {
            let cut = from_exif(&LITTLE[..length]);
            assert!(cut == 1 || length >= 20, "cut at {length}: {cut}");
        }
    }

    #[test]
    fn nonsense_means_as_stored() {
        let entry = |value: u8| [&b"II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0"[..], &[value, 0, 0, 0]].concat();
        assert_eq!([8, 0, 9].map(|value| from_exif(&entry(value))), [8, 1, 1]);
        for nonsense in [&b""[..], b"II*\0\xff\xff\xff\xff", b"II*\0\x08\0\0\0\xff\xff"] {
            assert_eq!(from_exif(nonsense), 1);
        }
    }

    /// The expected values are those of `PIL.Image.Exif` in Pillow 13.
    #[test]
    fn prefixes_and_types_are_those_of_pillow() {
        let twice = [PREFIX, PREFIX, LITTLE].concat();
        assert_eq!([&twice[6..], &twice].map(from_exif), [6, 6]);
        assert_eq!(from_exif(&[PREFIX, &twice].concat()), 1, "three times");
        let entry = |kind: u8, count: u8| {
            [&b"MM\0*\0\0\0\x08\0\x01\x01\x12\0"[..], &[kind, 0, 0, 0, count, 0, 3, 0, 0, 0, 0, 0, 0]].concat()
        };
        // A short, two of them, a signed one; a byte is none.
        assert_eq!([(3, 1), (3, 2), (8, 1), (1, 1)].map(|(kind, count)| from_exif(&entry(kind, count))), [3, 3, 3, 1]);
    }

    #[test]
    fn xmp_counts_where_exif_has_no_orientation() {
        let attribute = br#"<a tiff:Orientation="x" tiff:Orientation="8"/>"#;
        let none = b"II*\0\x08\0\0\0\0\0";
        assert_eq!(orientation(Some(none), Some(attribute)), 8);
        assert_eq!(orientation(None, Some(b"<tiff:Orientation>3</tiff:Orientation>")), 3);
        assert_eq!(orientation(Some(LITTLE), Some(attribute)), 6);
        let invalid = [&LITTLE[..18], &[9, 0, 0, 0]].concat();
        assert_eq!(orientation(Some(&invalid), Some(attribute)), 1);
    }
}
