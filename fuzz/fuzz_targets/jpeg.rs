//! Bytes → probe → the JPEG engine → pixels of a region.
//!
//! An input is a file and, behind it, 24 bytes that say what is done with it ([`Control`]). Whatever the bytes: no panic; no more memory than the declared size
//! and `max_pixels` allow; the region is that part of the whole image, whether an index is built, used or absent and whatever was decoded before in the
//! same memory. A damaged index may give wrong pixels (its store has checksums), nothing worse.

#![no_main]

use std::alloc::System;

use cap::Cap;
use gpufeed::ErrorKind;
use gpufeed::decode::{DecodeOptions, ImageFormat, Orientation, Probe, Rect, Scratch, Truncated, decode, probe};
use gpufeed::measure::{JpegEngine, JpegIndex, JpegSeek};
use libfuzzer_sys::{Corpus, fuzz_target};

/// What goes beyond its limit fails, and ends the process.
#[global_allocator]
static MEMORY: Cap<System> = Cap::new(System, usize::MAX);

const MAX_PIXELS: u64 = 1 << 20;

fuzz_target!(init: let_zune_panic(), |input: &[u8]| -> Corpus { check(input) });

/// A panic ends the process, by libFuzzer's own hook. Not one of zune-jpeg: `decode` makes it an error.
fn let_zune_panic() {
    let abort = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if !info.location().is_some_and(|place| place.file().contains("zune")) {
            abort(info);
        }
    }));
}

/// The last bytes of an input.
struct Control {
    /// 1: fill what is cut; 2: leave EXIF alone; 4: the public API, too.
    flags: u8,
    /// Bytes at the file's end that are taken for an index.
    forged: u8,
    /// Starts and lengths, horizontally and vertically; reduced to what the image has.
    region: [u16; 4],
    /// Places and values of bytes to change in the index, in the first half of them also in the file.
    damage: [(u16, u8); 4],
}

impl Control {
    fn split(input: &[u8]) -> Option<(&[u8], Control)> {
        let (file, &bytes) = input.split_last_chunk::<24>()?;
        let short = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
        let region = [2, 4, 6, 8].map(short);
        let damage = [10, 13, 16, 19].map(|at| (short(at), bytes[at + 2]));
        Some((file, Control { flags: bytes[0], forged: bytes[1], region, damage }))
    }

    fn options(&self) -> DecodeOptions {
        let mut options = DecodeOptions::default();
        options.max_pixels = MAX_PIXELS;
        options.truncated = if self.flags & 1 == 0 { Truncated::Error } else { Truncated::Fill };
        options.exif = if self.flags & 2 == 0 { Orientation::Apply } else { Orientation::Ignore };
        options
    }

    fn region(&self, (width, height): (u32, u32)) -> Rect {
        let span = |all: u32, start: u16, length: u16| {
            let start = u32::from(start) % all;
            (start, 1 + u32::from(length) % (all - start))
        };
        let [x, y, across, down] = self.region;
        let ((left, width), (top, height)) = (span(width, x, across), span(height, y, down));
        Rect { left, top, width, height }
    }
}

fn damaged(bytes: &[u8], damage: &[(u16, u8)]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for &(at, value) in damage {
        let at = usize::from(at).checked_rem(bytes.len());
        if let Some(byte) = at.and_then(|at| bytes.get_mut(at)) {
            *byte ^= value;
        }
    }
    bytes
}

/// That part of a whole image.
fn part(pixels: &[u8], width: u32, region: Rect) -> Vec<u8> {
    let row = |y: u32| &pixels[4 * (y as usize * width as usize + region.left as usize)..][..4 * region.width as usize];
    (region.top..region.top + region.height).flat_map(row).copied().collect()
}

/// Runs `work`, which may take `bytes` of memory more than there is.
fn limited<T>(bytes: usize, work: impl FnOnce() -> T) -> T {
    MEMORY.set_limit(MEMORY.allocated() + bytes).expect("more than what is allocated");
    let result = work();
    MEMORY.set_limit(usize::MAX).expect("no limit");
    result
}

/// Columns × rows with the largest MCUs that cover them.
fn covered((width, height): (u32, u32)) -> usize {
    width.next_multiple_of(32) as usize * height.next_multiple_of(32) as usize
}

/// Bytes that the engine may take for a file of `length` bytes: pixels, planes, a few rows, the scan with its list of places and the index, tables.
fn engines((width, height): (u32, u32), length: usize) -> usize {
    let pixels = 4 * width as usize * height as usize;
    let index = covered((width, height)) / 64;
    pixels + 3 * covered((width, height)) + 64 * width as usize + 64 * length + index + (256 << 10)
}

/// The engine on one file.
struct File<'a> {
    bytes: &'a [u8],
    probe: Probe,
    options: DecodeOptions,
}

type Answer = Result<(Vec<u8>, Option<JpegIndex>), &'static str>;

impl File<'_> {
    fn size(&self) -> (u32, u32) {
        JpegEngine::stored(&self.probe)
    }

    fn decode(&self, engine: &mut JpegEngine, region: Rect, seek: JpegSeek<'_>) -> Answer {
        let length = 4 * region.width as usize * region.height as usize;
        let answer = limited(engines(self.size(), self.bytes.len()), || {
            engine.decode(self.bytes, &self.probe, region, &self.options, seek)
        });
        answer.map(|(pixels, index)| {
            assert_eq!(pixels.len(), length);
            (pixels.to_vec(), index)
        })
    }
}

fn check(input: &[u8]) -> Corpus {
    let Some((bytes, control)) = Control::split(input) else { return Corpus::Reject };
    if ImageFormat::recognise(bytes) != Some(ImageFormat::Jpeg) {
        return Corpus::Reject;
    }
    let options = control.options();
    // A JPEG's header takes no memory but an error's words.
    let Ok(probe) = limited(16 << 10, || probe(bytes, &options)) else { return Corpus::Keep };
    let file = File { bytes, probe, options };
    let (width, height) = file.size();
    assert!(u64::from(width) * u64::from(height) <= MAX_PIXELS);
    let region = control.region((width, height));

    let engine = &mut JpegEngine::default();
    leave_traces(&control, bytes, engine);
    let plain = file.decode(engine, region, JpegSeek::None);
    let whole = file.decode(engine, Rect { left: 0, top: 0, width, height }, JpegSeek::Build);
    let fresh = &mut JpegEngine::default();
    let built = file.decode(fresh, region, JpegSeek::Build);

    // What is wrong behind the region is no matter of the region's; else all have the same fate.
    assert_eq!(plain.as_ref().err(), built.as_ref().err());
    if let Ok((pixels, index)) = &whole {
        let (plain, none) = plain.as_ref().expect("a part of what was decoded");
        let (again, same) = built.as_ref().expect("a part of what was decoded");
        assert!(none.is_none() && index.is_some() && index == same);
        assert!(*plain == part(pixels, width, region), "{region:?} of {width}x{height}");
        assert!(again == plain);
    }
    if let (Ok((plain, _)), Ok((again, index))) = (&plain, &built) {
        assert!(again == plain);
        assert!(index.is_none() || whole.is_ok());
        if let Some(index) = index {
            by_index(&control, &file, index, plain, engine);
        }
    }
    let forged = &bytes[bytes.len() - bytes.len().min(control.forged.into())..];
    if let Some(forged) = JpegIndex::from_bytes(forged) {
        let _ = file.decode(fresh, region, JpegSeek::By(&forged));
    }
    if control.flags & 4 != 0 {
        by_the_public_api(&file, &control, whole.is_ok());
    }
    Corpus::Keep
}

/// Decodes the file as damage has it: its tables and samples stay in the engine's memory.
fn leave_traces(control: &Control, bytes: &[u8], engine: &mut JpegEngine) {
    let bytes = &damaged(bytes, &control.damage[..2]);
    let options = control.options();
    let Ok(probe) = probe(bytes, &options) else { return };
    if probe.format == ImageFormat::Jpeg {
        let file = File { bytes, probe, options };
        let region = control.region(file.size());
        let _ = file.decode(engine, region, JpegSeek::None);
    }
}

/// The region by its index, as built, through bytes and damaged.
fn by_index(control: &Control, file: &File<'_>, index: &JpegIndex, expected: &[u8], engine: &mut JpegEngine) {
    let bytes = index.to_bytes();
    let same = JpegIndex::from_bytes(&bytes).expect("what was written");
    assert!(same == *index);
    let region = control.region(file.size());
    let (pixels, none) = file.decode(engine, region, JpegSeek::By(&same)).expect("what was decoded from the start");
    assert!(none.is_none() && pixels == expected, "{region:?} of {:?} by the index", file.size());

    if let Some(wrong) = JpegIndex::from_bytes(&damaged(&bytes, &control.damage)) {
        // Where it fits nothing the scan is read from its start, so there are pixels, right or wrong.
        file.decode(engine, region, JpegSeek::By(&wrong)).expect("what was decoded from the start");
    }
}

/// `decode`, where zune-jpeg gets what the engine declines.
fn by_the_public_api(file: &File<'_>, control: &Control, served: bool) {
    let File { bytes, probe, options } = file;
    let region = control.region((probe.width, probe.height));
    let size = file.size();
    // zune-jpeg keeps a progressive image's coefficients, of two bytes; up to four components.
    let bytes_taken = engines(size, bytes.len()) + 32 * covered(size) + 256 * bytes.len();
    let scratch = &mut Scratch::default();
    let answer = limited(bytes_taken, || match decode(bytes, probe, region, options, scratch) {
        Ok(decoded) => Ok((decoded.pixels.to_vec(), decoded.stride)),
        Err(error) => Err(error),
    });
    match answer {
        Ok((pixels, stride)) => {
            assert_eq!(pixels.len(), stride * (region.height as usize - 1) + 4 * region.width as usize);
            let row = |row: &[u8]| row[..4 * region.width as usize].as_chunks::<4>().0.iter().all(|pixel| pixel[3] == 255);
            assert!(pixels.chunks(stride).all(row), "alpha");
        }
        Err(error) => {
            assert!(!served, "{error}");
            assert!(
                matches!(error.kind(), ErrorKind::Decode { .. } | ErrorKind::TruncatedImage { .. }),
                "another kind of error: {error}"
            );
        }
    }
}
