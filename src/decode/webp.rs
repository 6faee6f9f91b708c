//! The first frame of an animated WebP in a file that the `image` crate does not blend with a background: blending changes the
//! colours of transparent pixels, and libwebp, Pillow's decoder, does not blend a first frame.

use super::metadata::webp_chunks;

/// The bit of a frame's flags that says that it replaces what is below it.
const REPLACES: u8 = 2;

/// Returns a still image of the first frame, or a copy of the file whose first frame is not blended if that is smaller than
/// the image. `None` if the file can be decoded as it is.
pub(super) fn first_frame(bytes: &[u8]) -> Option<Vec<u8>> {
    if bytes.get(12..16)? != b"VP8X" || bytes.get(20)? & 2 == 0 {
        return None;
    }
    let size = bytes.get(24..30)?;
    let before = webp_chunks(bytes.get(12..)?).take_while(|(name, _)| name != b"ANMF");
    let at = 12 + before.map(|(_, data)| 8 + data.len().next_multiple_of(2)).sum::<usize>();
    let (_, frame) = webp_chunks(bytes.get(at..)?).next()?;
    // Left, top, columns and rows in 3 bytes each, its time, its flags.
    let (place, chunks) = frame.split_at_checked(16)?;
    if place[..6] != [0; 6] || place[6..12] != *size {
        if place[15] & REPLACES != 0 {
            return None;
        }
        let mut copy = bytes.to_vec();
        *copy.get_mut(at + 8 + 15)? |= REPLACES;
        return Some(copy);
    }
    let chunk = |name: &[u8; 4], data: &[u8]| {
        let padding = vec![0; data.len() % 2];
        [&name[..], &(data.len() as u32).to_le_bytes(), data, &padding].concat()
    };
    let mut body = b"WEBP".to_vec();
    for (name, data) in webp_chunks(chunks) {
        match &name {
            b"ALPH" => {
                let flags = [0x10, 0, 0, 0];
                body.extend(chunk(b"VP8X", &[&flags, size].concat()));
                body.extend(chunk(b"ALPH", data));
            }
            b"VP8 " | b"VP8L" => {
                body.extend(chunk(&name, data));
                return Some(chunk(b"RIFF", &body));
            }
            _ => {}
        }
    }
    None
}
