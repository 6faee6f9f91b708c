//! Facts from a JPEG's markers that the library's probe does not report: coding, sampling, quality.

use serde::Serialize;

/// The facts of a JPEG's frame header, and the quality by its first quantisation table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Frame {
    pub(super) coding: Coding,
    /// Arithmetic instead of Huffman coding.
    pub(super) arithmetic: bool,
    /// Bits per sample; 8 in nearly all files.
    pub(super) precision: u8,
    pub(super) components: u8,
    /// `4:2:0`, `4:2:2`, `4:4:4`, ...; `gray` for one component; the sampling factors if there is no such name.
    pub(super) subsampling: String,
    /// The quality on libjpeg's scale, 1 to 100, with the most similar luminance table; `None` without a table.
    pub(super) quality: Option<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Coding {
    Baseline,
    Extended,
    Progressive,
    Lossless,
    Hierarchical,
}

impl Coding {
    pub(super) fn name(self) -> &'static str {
        match self {
            Coding::Baseline => "baseline",
            Coding::Extended => "extended sequential",
            Coding::Progressive => "progressive",
            Coding::Lossless => "lossless",
            Coding::Hierarchical => "hierarchical",
        }
    }
}

/// Reads the markers before the first scan; `None` without a whole frame header. The first frame header and the first
/// table count, as they do for libjpeg.
pub(super) fn frame(bytes: &[u8]) -> Option<Frame> {
    let mut frame: Option<Frame> = None;
    let mut first_table = 0;
    let mut tables = [None; 4];
    let mut at = 2;
    loop {
        at += bytes.get(at..)?.iter().position(|&byte| byte == 0xFF)?;
        at += bytes[at..].iter().position(|&byte| byte != 0xFF)?;
        let marker = bytes[at];
        at += 1;
        if matches!(marker, 0x00 | 0x01 | 0xD0..=0xD8) {
            continue; // stuffing, TEM, RST, SOI: no segment follows
        }
        if matches!(marker, 0xD9 | 0xDA) {
            break; // EOI, SOS
        }
        let Some(&[high, low]) = bytes.get(at..at + 2) else { break };
        let length = usize::from(u16::from_be_bytes([high, low])).max(2);
        let Some(payload) = bytes.get(at + 2..at + length) else { break };
        at += length;
        match marker {
            0xC0..=0xCF if !matches!(marker, 0xC4 | 0xC8 | 0xCC) && frame.is_none() => {
                let (read, table) = frame_header(marker, payload)?;
                frame = Some(read);
                first_table = table;
            }
            0xDB => quantisation(payload, &mut tables),
            _ => {}
        }
    }
    let mut frame = frame?;
    frame.quality = tables.get(first_table).copied().flatten().map(quality);
    Some(frame)
}

/// Reads a SOF segment, and the number of its first component's quantisation table.
fn frame_header(marker: u8, payload: &[u8]) -> Option<(Frame, usize)> {
    let (&[precision, _, _, _, _, components], rest) = payload.split_first_chunk::<6>()?;
    let coding = match marker & 0x07 {
        0 => Coding::Baseline,
        1 => Coding::Extended,
        2 => Coding::Progressive,
        3 => Coding::Lossless,
        _ => Coding::Hierarchical,
    };
    let factors: Vec<(u8, u8)> = rest
        .chunks_exact(3)
        .take(components.into())
        .map(|component| (component[1] >> 4, component[1] & 0x0F))
        .collect();
    let table = rest.get(2).map_or(0, |&number| usize::from(number));
    // SOF9 to SOF15 are the arithmetic twins of SOF1 to SOF7; there is no SOF8.
    let frame = Frame {
        // SOF9 is sequential and has no baseline twin.
        coding: if marker == 0xC9 { Coding::Extended } else { coding },
        arithmetic: marker > 0xC8,
        precision,
        components,
        subsampling: subsampling(&factors),
        quality: None,
    };
    Some((frame, table))
}

/// Names the sampling factors, which are (columns, rows) of each component.
fn subsampling(factors: &[(u8, u8)]) -> String {
    let name = match factors {
        [_] => Some("gray"),
        // A fourth component, black or alpha, is sampled as the first.
        [luma, blue, red, rest @ ..] if blue == red && rest.iter().all(|other| other == luma) => {
            let ratio = |of: fn((u8, u8)) -> u8| {
                let (whole, part) = (of(*luma), of(*blue));
                (part > 0 && whole % part == 0).then(|| whole / part)
            };
            match (ratio(|factor| factor.0), ratio(|factor| factor.1)) {
                (Some(1), Some(1)) => Some("4:4:4"),
                (Some(2), Some(1)) => Some("4:2:2"),
                (Some(2), Some(2)) => Some("4:2:0"),
                (Some(1), Some(2)) => Some("4:4:0"),
                (Some(4), Some(1)) => Some("4:1:1"),
                (Some(4), Some(2)) => Some("4:1:0"),
                _ => None,
            }
        }
        _ => None,
    };
    let listed = || factors.iter().map(|(x, y)| format!("{x}x{y}")).collect::<Vec<_>>().join(",");
    name.map_or_else(listed, str::to_owned)
}

/// Sums the tables of a DQT segment. The first table of each number counts.
fn quantisation(mut payload: &[u8], sums: &mut [Option<u32>; 4]) {
    while let Some((&head, rest)) = payload.split_first() {
        let bytes = if head >> 4 == 0 { 64 } else { 128 };
        let Some((table, rest)) = rest.split_at_checked(bytes) else { return };
        let sum = if bytes == 64 {
            table.iter().map(|&step| u32::from(step)).sum()
        } else {
            table.chunks_exact(2).map(|step| u32::from(u16::from_be_bytes([step[0], step[1]]))).sum()
        };
        if let Some(slot @ None) = sums.get_mut(usize::from(head & 0x0F)) {
            *slot = Some(sum);
        }
        payload = rest;
    }
}

/// Table K.1 of ITU-T T.81, luminance; the order does not matter here.
const LUMINANCE: [u32; 64] = [
    16, 11, 10, 16, 24, 40, 51, 61, 12, 12, 14, 19, 26, 58, 60, 55, 14, 13, 16, 24, 40, 57, 69, 56, 14, 17, 22, 29, 51,
    87, 80, 62, 18, 22, 37, 56, 68, 109, 103, 77, 24, 35, 55, 64, 81, 104, 113, 92, 49, 64, 78, 87, 103, 121, 120, 101,
    72, 92, 95, 98, 112, 100, 103, 99,
];

/// Estimates the quality from the sum of a luminance table: returns the quality whose table from libjpeg has the
/// nearest sum, because the sum falls as the quality rises. For tables made by another rule, as Photoshop's and
/// mozjpeg's, it is only an estimate.
fn quality(sum: u32) -> u8 {
    let at = |quality: u32| -> u32 {
        let scale = if quality < 50 { 5000 / quality } else { 200 - 2 * quality };
        LUMINANCE.iter().map(|step| ((step * scale + 50) / 100).clamp(1, 255)).sum()
    };
    let nearest = (1..=100_u8).min_by_key(|&quality| at(quality.into()).abs_diff(sum));
    nearest.unwrap_or(100)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn jpeg(sof: u8, precision: u8, factors: &[u8], table: u8) -> Vec<u8> {
        let mut bytes = vec![0xFF, 0xD8, 0xFF, 0xDB, 0, 67, 0];
        bytes.extend([table; 64]);
        bytes.extend([0xFF, sof, 0, 8 + 3 * factors.len() as u8, precision, 0, 9, 0, 7, factors.len() as u8]);
        factors.iter().for_each(|&factor| bytes.extend([1, factor, 0]));
        bytes.extend([0xFF, 0xDA]);
        bytes
    }

    #[test]
    fn names_the_usual_subsamplings() {
        for (factors, name) in [
            (&[0x22, 0x11, 0x11][..], "4:2:0"),
            (&[0x21, 0x11, 0x11], "4:2:2"),
            (&[0x11, 0x11, 0x11], "4:4:4"),
            (&[0x22, 0x22, 0x22], "4:4:4"),
            (&[0x12, 0x11, 0x11], "4:4:0"),
            (&[0x41, 0x11, 0x11], "4:1:1"),
            (&[0x11], "gray"),
            (&[0x22], "gray"),
            (&[0x22, 0x11, 0x11, 0x22], "4:2:0"),
            (&[0x22, 0x11, 0x21], "2x2,1x1,2x1"),
            (&[0x11, 0x00, 0x00], "1x1,0x0,0x0"),
        ] {
            assert_eq!(frame(&jpeg(0xC0, 8, factors, 1)).unwrap().subsampling, name, "{factors:?}");
        }
    }

    #[test]
    fn names_the_coding() {
        let of = |sof| frame(&jpeg(sof, 8, &[0x11], 1)).unwrap();
        for (sof, coding, name) in [
            (0xC0, Coding::Baseline, "baseline"),
            (0xC1, Coding::Extended, "extended sequential"),
            (0xC2, Coding::Progressive, "progressive"),
            (0xC3, Coding::Lossless, "lossless"),
            (0xC5, Coding::Hierarchical, "hierarchical"),
        ] {
            assert_eq!((of(sof).coding, of(sof).coding.name(), of(sof).arithmetic), (coding, name, false));
        }
        for (sof, coding) in [(0xC9, Coding::Extended), (0xCA, Coding::Progressive), (0xCB, Coding::Lossless)] {
            assert_eq!((of(sof).coding, of(sof).arithmetic), (coding, true));
        }
    }

    #[test]
    fn quality_is_the_one_it_was_written_with() {
        for quality in [5, 30, 50, 75, 90, 95] {
            let mut bytes = Vec::new();
            let encoder = image::codecs::jpeg::JpegEncoder::new_with_quality(&mut bytes, quality);
            image::RgbImage::new(16, 16).write_with_encoder(encoder).unwrap();
            assert_eq!(frame(&bytes).unwrap().quality, Some(quality));
        }
    }

    #[test]
    fn no_cut_or_forged_header_panics() {
        let bytes = jpeg(0xC0, 8, &[0x22, 0x11, 0x11], 9);
        for length in 0..bytes.len() {
            frame(&bytes[..length]);
            for value in [0, 1, 0xFF] {
                let mut forged = bytes.clone();
                forged[length] = value;
                frame(&forged);
            }
        }
    }
}
