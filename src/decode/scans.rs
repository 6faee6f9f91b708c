//! The work that a JPEG asks of zune-jpeg, computed from its markers: scans, and the blocks that they cover. A
//! progressive file can cover a large image hundreds of times with a few bytes a scan, so both numbers are limited
//! before decoding starts.

use gpufeed_jpeg::Segments;

/// Most scans of a file. libjpeg's script for progressive files has ten; libjpeg-turbo's fuzzers stop at 500, too.
pub(super) const MAX_SCANS: usize = 500;
/// Most blocks of 8×8 samples per byte of the file, counting a block once for each scan that covers it. A white picture
/// has 21 with libjpeg's script, a photograph fewer than 2.
pub(super) const BLOCKS_PER_BYTE: u64 = 256;

/// The work of decoding a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Work {
    pub(super) scans: usize,
    /// Blocks of all scans in total.
    pub(super) blocks: u64,
}

/// A frame header: size, components as (identifier, horizontal and vertical sampling factor), and true for sequential.
struct Frame {
    size: (u64, u64),
    components: Vec<(u8, u64, u64)>,
    sequential: bool,
}

impl Frame {
    fn read(marker: u8, payload: &[u8]) -> Option<Frame> {
        let &[_, h1, h0, w1, w0, _, ref components @ ..] = payload else { return None };
        let size = (u64::from(u16::from_be_bytes([w1, w0])), u64::from(u16::from_be_bytes([h1, h0])));
        let component = |&[id, factors, _]: &[u8; 3]| (id, u64::from(factors >> 4), u64::from(factors & 15));
        let components: Vec<_> = components.as_chunks().0.iter().map(component).collect();
        Some(Frame { size, components, sequential: marker != 0xC2 })
    }

    /// Returns the blocks of a scan of the components with these identifiers.
    fn blocks(&self, ids: &[u8]) -> u64 {
        let most = |of: fn(&(u8, u64, u64)) -> u64| self.components.iter().map(of).max().unwrap_or(1).max(1);
        let (across, down) = (most(|component| component.1), most(|component| component.2));
        let members = || self.components.iter().filter(|component| ids.contains(&component.0));
        if members().count() == 1 {
            let own = |(_, h, v): &(u8, u64, u64)| {
                (self.size.0 * h).div_ceil(8 * across) * (self.size.1 * v).div_ceil(8 * down)
            };
            return members().map(own).sum();
        }
        let mcus = self.size.0.div_ceil(8 * across) * self.size.1.div_ceil(8 * down);
        mcus * members().map(|(_, h, v)| h * v).sum::<u64>()
    }
}

/// Returns the work of a file if it is within the limits and of a kind that zune-jpeg decodes correctly.
///
/// # Errors
/// The reason for refusing it.
pub(super) fn check(bytes: &[u8]) -> Result<Work, String> {
    let (mut frame, mut work): (Option<Frame>, _) = (None, Work::default());
    let most = BLOCKS_PER_BYTE * bytes.len() as u64;
    for (marker, payload) in Segments::new(bytes) {
        match marker {
            // Further images may follow the first image's end marker; they are not checked.
            Segments::EOI => break,
            0xC0..=0xC3 | 0xC5..=0xC7 | 0xC9..=0xCB | 0xCD..=0xCF => {
                if frame.is_some() {
                    return Err("several frames".to_owned());
                }
                frame = Frame::read(marker, payload);
            }
            // Decoders disagree on the data after these, which might hide more scans.
            0x02..=0xBF => return Err(format!("a reserved marker, FF {marker:02X}")),
            0xDA => {
                let (Some(frame), Some((&count, rest))) = (&frame, payload.split_first()) else {
                    return Err("a scan without a frame".to_owned());
                };
                let ids: Vec<u8> = rest.as_chunks::<2>().0.iter().take(count.into()).map(|&[id, _]| id).collect();
                if frame.sequential && ids.len() < frame.components.len() {
                    // zune-jpeg would assume that every component has full size.
                    return Err("sequential, with separate scans for its components".to_owned());
                }
                work.scans += 1;
                work.blocks += frame.blocks(&ids);
                if work.scans > MAX_SCANS {
                    return Err(format!("more than {MAX_SCANS} scans"));
                }
                if work.blocks > most {
                    let Work { scans, blocks } = work;
                    let length = bytes.len();
                    return Err(format!(
                        "its first {scans} scans cover {blocks} blocks of 8x8 samples: more than {BLOCKS_PER_BYTE} for \
                         each of its {length} bytes"
                    ));
                }
            }
            _ => {}
        }
    }
    Ok(work)
}

#[cfg(test)]
#[allow(clippy::print_stdout)] // a skipped test says so
mod tests {
    use super::*;
    use crate::ErrorKind;
    use crate::decode::{DecodeOptions, ImageFormat, Scratch, Truncated, decode, probe};
    use crate::geometry::Rect;

    fn segment(marker: u8, payload: &[u8]) -> Vec<u8> {
        [&[0xFF, marker, 0, payload.len() as u8 + 2], payload].concat()
    }

    /// Makes a file of three components that are scanned in turns, with `data` bytes in each scan.
    fn file(marker: u8, side: u16, scans: usize, data: usize) -> Vec<u8> {
        let [high, low] = side.to_be_bytes();
        let mut file = vec![0xFF, 0xD8];
        file.extend(segment(0xDB, &[&[0][..], &[1; 64]].concat()));
        file.extend(segment(marker, &[8, high, low, high, low, 3, 1, 0x11, 0, 2, 0x11, 0, 3, 0x11, 0]));
        // DC's code of no bits, AC's code of a run of 2^14 blocks and more.
        file.extend(segment(0xC4, &[&[0, 1][..], &[0; 15], &[0]].concat()));
        file.extend(segment(0xC4, &[&[0x10, 1][..], &[0; 15], &[0xE0]].concat()));
        for scan in 0..scans {
            file.extend(segment(0xDA, &[1, 1 + (scan % 3) as u8, 0, 1, 63, 0]));
            file.extend(vec![0; data]);
        }
        file.extend([0xFF, 0xD9]);
        file
    }

    /// Returns the error of the public API for the file, which must be the same with each policy.
    fn refused(file: &[u8]) -> String {
        let errors = [Truncated::Error, Truncated::Fill].map(|truncated| {
            let options = DecodeOptions { truncated, ..DecodeOptions::default() };
            let found = probe(file, &options).unwrap();
            let corner = Rect { left: 0, top: 0, width: 1, height: 1 };
            decode(file, &found, corner, &options, &mut Scratch::default()).map(drop).unwrap_err()
        });
        assert!(matches!(errors[0].kind(), ErrorKind::Decode { .. }), "{}", errors[0]);
        assert_eq!(errors[0].to_string(), errors[1].to_string());
        errors[0].to_string()
    }

    #[test]
    fn empty_scans_by_the_thousand_are_refused() {
        let error = refused(&file(0xC2, 64, 20_000, 0));
        assert!(error.contains("more than 500 scans"), "{error}");
        // A file of 500 scans is accepted.
        assert_eq!(check(&file(0xC2, 8, 500, 0)), Ok(Work { scans: 500, blocks: 500 }));
        assert!(check(&file(0xC2, 8, 501, 0)).is_err());
    }

    #[test]
    fn a_few_bytes_for_a_scan_of_a_large_image_are_refused() {
        // A million blocks a component, 62 runs in 124 bytes.
        let bomb = file(0xC2, 8000, 300, 124);
        let error = refused(&bomb);
        assert!(error.contains("blocks of 8x8 samples"), "{error}");
        // A file with as many scans and enough bytes in each is accepted.
        let work = check(&file(0xC2, 8000, 300, 4000)).unwrap();
        assert_eq!(work, Work { scans: 300, blocks: 300 * 1_000_000 });
    }

    #[test]
    fn sequential_components_apart_are_not_for_zune() {
        assert!(check(&file(0xC0, 64, 3, 30)).unwrap_err().contains("separate scans"));
    }

    #[test]
    fn blocks_are_those_of_the_components_in_the_scan() {
        let frame = |factors: [u8; 3]| {
            let [a, b, c] = factors;
            Frame::read(0xC2, &[8, 0, 33, 0, 17, 3, 1, a, 0, 2, b, 0, 3, c, 0]).unwrap()
        };
        // 17 columns, 33 rows: 2 x 3 MCUs of 16x16 pixels.
        let half = frame([0x22, 0x11, 0x11]);
        assert_eq!(
            [half.blocks(&[1, 2, 3]), half.blocks(&[1]), half.blocks(&[2]), half.blocks(&[2, 3])],
            [36, 15, 6, 12]
        );
        let full = frame([0x11, 0x11, 0x11]);
        assert_eq!([full.blocks(&[1, 2, 3]), full.blocks(&[3])], [45, 15]);
        assert_eq!(full.blocks(&[9]), 0);
    }

    #[test]
    fn what_is_let_through_is_bounded_by_its_bytes() {
        let Some(root) = gpufeed_testing::golden::folder("GPUFEED_CORPUS") else { return };
        let (mut let_through, mut several, mut most_scans, mut most_blocks) = (0, 0, 0, 0.0_f64);
        let mut folders = vec![root];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                    continue;
                }
                let bytes = std::fs::read(&path).unwrap();
                if ImageFormat::recognise(&bytes) != Some(ImageFormat::Jpeg) {
                    continue;
                }
                let Ok(work) = check(&bytes) else { continue };
                assert!(work.scans <= MAX_SCANS && work.blocks <= BLOCKS_PER_BYTE * bytes.len() as u64);
                let_through += 1;
                several += usize::from(work.scans > 1);
                most_scans = most_scans.max(work.scans);
                most_blocks = most_blocks.max(work.blocks as f64 / bytes.len() as f64);
            }
        }
        println!(
            "{let_through} files, {several} of several scans: {most_scans} scans, {most_blocks} blocks a byte at most"
        );
        assert!(let_through > 500 && several > 300, "{let_through} {several}");
    }
}
