//! The first frame of an animated WebP as a file of its own: the `image` crate blends it with its background, which changes the
//! colours of transparent pixels.

use super::metadata::webp_chunks;

/// Returns a still image of the first frame; `None` if the file is not an animation, or the frame not the whole image.
pub(super) fn still(bytes: &[u8]) -> Option<Vec<u8>> {
    if bytes.get(12..16)? != b"VP8X" || bytes.get(20)? & 2 == 0 {
        return None;
    }
    let size = bytes.get(24..30)?;
    let (_, frame) = webp_chunks(bytes.get(12..)?).find(|(name, _)| name == b"ANMF")?;
    // Left, top, columns and rows in 3 bytes each, its time, its flags.
    let (place, chunks) = frame.split_at_checked(16)?;
    if place[..6] != [0; 6] || place[6..12] != *size {
        return None;
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
