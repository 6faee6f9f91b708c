//! Decodes the first frame of a GIF, as Pillow shows it: the size is the screen's, or that of the frame where it reaches
//! beyond. Outside of the frame is the transparent colour, or colour 0 without one. (The header's background colour
//! is for later frames.) An index beyond its palette is black; without a palette, or with one that only says so,
//! indices are gray levels.

use weezl::{BitOrder, LzwStatus, decode::Decoder};

use super::format::ImageFormat;
use super::header::ImageHeader;
use super::memory::{Cost, try_grow};
use super::{DecodeOptions, PIXEL, Placed, Scratch, Truncated, broken, check_declared, truncated};
use crate::geometry::Rect;
use crate::{Error, Result};

/// Bytes of the tables of LZW.
const TABLES: u64 = 64 << 10;

/// The first frame of a file.
struct Frame<'a> {
    /// Columns and rows of the whole image.
    size: (u32, u32),
    left: usize,
    top: usize,
    width: usize,
    height: usize,
    interlaced: bool,
    palette: Option<&'a [u8]>,
    /// The index of the colour outside of the frame.
    outside: u8,
    code_size: u8,
    /// Blocks of a length and as many bytes.
    blocks: &'a [u8],
}

impl<'a> Frame<'a> {
    fn read(bytes: &'a [u8]) -> Result<Frame<'a>> {
        let mut rest = bytes;
        let screen = take(&mut rest, 13)?;
        let word = |bytes: &[u8], at: usize| u32::from(u16::from_le_bytes([bytes[at], bytes[at + 1]]));
        let mut palette = read_palette(&mut rest, screen[10])?;
        let mut transparent = None;
        loop {
            match take(&mut rest, 1)?[0] {
                b'!' => {
                    let label = take(&mut rest, 1)?[0];
                    let block = block(&mut rest)?;
                    if let (0xF9, &[flags, _, _, index, ..]) = (label, block) {
                        transparent = if flags & 1 != 0 { Some(index) } else { transparent };
                    }
                    let mut more = !block.is_empty();
                    while more {
                        more = !self::block(&mut rest)?.is_empty();
                    }
                }
                b',' => {
                    let frame = take(&mut rest, 9)?;
                    palette = read_palette(&mut rest, frame[8])?.or(palette);
                    let code_size = take(&mut rest, 1)?[0];
                    let [left, top, width, height] = [0, 2, 4, 6].map(|at| word(frame, at));
                    return Ok(Frame {
                        size: (word(screen, 6).max(left + width), word(screen, 8).max(top + height)),
                        left: left as usize,
                        top: top as usize,
                        width: width as usize,
                        height: height as usize,
                        interlaced: frame[8] & 64 != 0,
                        palette,
                        outside: transparent.unwrap_or(0),
                        code_size,
                        blocks: rest,
                    });
                }
                b';' => return Err(broken(ImageFormat::Gif, "the file has no frame")),
                // Stray bytes between blocks are passed over.
                _ => {}
            }
        }
    }

    fn colors(&self) -> PaletteColors<'a> {
        let says_more =
            |palette: &&[u8]| !palette.as_chunks::<3>().0.iter().enumerate().all(|(i, c)| *c == [i as u8; 3]);
        PaletteColors(self.palette.filter(says_more))
    }

    /// The row of the frame that each stored row is.
    fn rows(&self) -> impl Iterator<Item = usize> {
        let passes = if self.interlaced { &[(0, 8), (4, 8), (2, 4), (1, 2)][..] } else { &[(0, 1)] };
        let height = self.height;
        passes.iter().flat_map(move |&(first, step)| (first..height).step_by(step))
    }
}

/// The colours of a palette; gray levels without one.
struct PaletteColors<'a>(Option<&'a [u8]>);

impl PaletteColors<'_> {
    fn of(&self, index: u8) -> [u8; PIXEL] {
        let [r, g, b] = match self.0 {
            None => [index; 3],
            Some(palette) => palette.as_chunks::<3>().0.get(usize::from(index)).copied().unwrap_or_default(),
        };
        [r, g, b, 255]
    }
}

fn take<'a>(rest: &mut &'a [u8], length: usize) -> Result<&'a [u8]> {
    let (taken, after) = rest.split_at_checked(length).ok_or_else(ended)?;
    *rest = after;
    Ok(taken)
}

/// A block of a length and as many bytes; empty at the end of the blocks.
fn block<'a>(rest: &mut &'a [u8]) -> Result<&'a [u8]> {
    let length = take(rest, 1)?[0];
    take(rest, length.into())
}

fn read_palette<'a>(rest: &mut &'a [u8], flags: u8) -> Result<Option<&'a [u8]>> {
    (flags & 128 != 0).then(|| take(rest, 6 << (flags & 7))).transpose()
}

fn ended() -> Error {
    truncated(ImageFormat::Gif, "the file ends before its first frame")
}

/// Reads the size. A GIF has no orientation.
pub(super) fn header(bytes: &[u8]) -> Result<ImageHeader> {
    let frame = Frame::read(bytes)?;
    let cost = Cost { resident: (frame.width * frame.height) as u64, transient: TABLES };
    Ok(ImageHeader { size: frame.size, orientation: 1, cost })
}

/// Decodes `stored`, a region of the `size` = (columns, rows) of the image, into `scratch.stored`.
pub(super) fn decode(
    bytes: &[u8],
    size: (u32, u32),
    stored: Rect,
    options: &DecodeOptions,
    scratch: &mut Scratch,
) -> Result<Placed> {
    let frame = Frame::read(bytes)?;
    check_declared(ImageFormat::Gif, frame.size, size)?;
    let length = frame.width * frame.height;
    try_grow(&mut scratch.raw, length)?;
    // Grown to the whole image, since the next region may be larger.
    try_grow(&mut scratch.stored, PIXEL * size.0 as usize * size.1 as usize)?;
    let fill = options.truncated == Truncated::Fill;
    let indices = &mut scratch.raw[..length];
    let there = match unpack(&frame, indices) {
        (there, _) if there == length => there,
        (there, None) if fill => there,
        (_, None) => return Err(truncated(ImageFormat::Gif, "the file ends before its first frame does")),
        (_, Some(reason)) => return Err(broken(ImageFormat::Gif, reason)),
    };

    let colors = frame.colors();
    let colors: [[u8; PIXEL]; 256] = std::array::from_fn(|index| colors.of(index as u8));
    let row = stored.width as usize * PIXEL;
    let target = &mut scratch.stored[..row * stored.height as usize];
    target.as_chunks_mut::<PIXEL>().0.fill(colors[usize::from(frame.outside)]);
    // The region's columns that the frame has.
    let (left, right) = (stored.left as usize, (stored.left + stored.width) as usize);
    let (from, to) = (left.max(frame.left), right.min(frame.left + frame.width));
    if from >= to {
        return Ok(Placed { offset: 0, stride: row });
    }
    for (number, y) in frame.rows().enumerate() {
        let Some(y) = (frame.top + y).checked_sub(stored.top as usize).filter(|&y| y < stored.height as usize) else {
            continue;
        };
        let target = &mut target[y * row..][..row].as_chunks_mut::<PIXEL>().0[from - left..to - left];
        let first = number * frame.width + from - frame.left;
        for (at, target) in (first..).zip(target) {
            // Missing pixels are black.
            *target = if at < there { colors[usize::from(indices[at])] } else { [0, 0, 0, 255] };
        }
    }
    Ok(Placed { offset: 0, stride: row })
}

/// Unpacks the indices, in the order of the file. Returns how many there are, and why no more, if the data are damaged.
fn unpack(frame: &Frame<'_>, indices: &mut [u8]) -> (usize, Option<String>) {
    if !(1..=11).contains(&frame.code_size) {
        return (0, Some(format!("LZW codes of {} bits", frame.code_size)));
    }
    let mut decoder = Decoder::new(BitOrder::Lsb, frame.code_size);
    let (mut rest, mut done) = (frame.blocks, 0);
    // A block that the file cuts is read as far as it goes.
    while let Some((&length, after)) = rest.split_first().filter(|(length, _)| **length > 0) {
        let (mut block, after) = after.split_at(usize::from(length).min(after.len()));
        rest = after;
        while done < indices.len() {
            let step = decoder.decode_bytes(block, &mut indices[done..]);
            done += step.consumed_out;
            block = &block[step.consumed_in..];
            match step.status {
                // The decoder may hold codes back, so it is asked again when the block is read.
                Ok(LzwStatus::Ok) if step.consumed_in + step.consumed_out > 0 => {}
                Ok(LzwStatus::Ok | LzwStatus::NoProgress) => break,
                Ok(LzwStatus::Done) => return (done, None),
                Err(error) => return (done, Some(error.to_string())),
            }
        }
    }
    (done, None)
}
