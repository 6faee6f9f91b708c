//! What must hold whatever a JPEG's bytes are; `tests/decode_mutants.rs` and the fuzz target
//! `fuzz/fuzz_targets/jpeg.rs` check it.
//!
//! An input is a file and, behind it, 24 bytes that say what is done with it ([`Control`]). No panic; no more memory
//! than the declared size and `max_pixels` allow; the region is that part of the whole image, whether an index is
//! built, used or absent and whatever was decoded before in the same memory; with `Truncated::Fill` of a damaged file,
//! too, and all its regions are decoded or none. A damaged index may give wrong pixels (its store has checksums),
//! nothing worse.

use gpufeed::ErrorKind;
use gpufeed::decode::{DecodeOptions, ImageFormat, Orientation, Probe, Rect, Scale, Scratch, Truncated, decode, probe};
use gpufeed::internals::{JpegEngine, JpegIndex, JpegSeek};

use crate::counting::peak_of;

/// Most pixels of an image: 4 MiB when decoded.
const MAX_PIXELS: u64 = 1 << 20;

/// What became of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// No JPEG, or nothing behind it.
    Other,
    /// Its header was refused.
    Header,
    /// The engine has refused it, or left it to zune-jpeg.
    Declined,
    /// The engine has decoded the region, and not the whole.
    Part,
    /// The engine has decoded it.
    Whole,
}

/// The last bytes of an input.
struct Control {
    /// 1: fill what is cut; 2: leave EXIF alone; 4: the public API, too; 8 and 16: at a half, a quarter, an eighth, too.
    flags: u8,
    /// Bytes at the file's end that are taken for an index.
    forged: u8,
    /// Starts and lengths, horizontally and vertically; reduced to what the image has.
    region: [u16; 4],
    /// Places in the index and what to change there; by the first two the file is changed, too, before it leaves its
    /// traces in the engine's memory.
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

    fn scale(&self) -> Scale {
        [Scale::Full, Scale::Half, Scale::Quarter, Scale::Eighth][usize::from(self.flags >> 3 & 3)]
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

/// Runs `work`, which may take so many bytes of memory.
fn limited<T>(bytes: usize, work: impl FnOnce() -> T) -> T {
    let (result, peak) = peak_of(work);
    assert!(peak <= bytes, "{peak} bytes taken, {bytes} allowed");
    result
}

/// Columns × rows with the largest MCUs that cover them.
fn covered((width, height): (u32, u32)) -> usize {
    width.next_multiple_of(32) as usize * height.next_multiple_of(32) as usize
}

/// Bytes that the engine may take for a file of `length` bytes: pixels, planes, a few rows, the scan with its list of
/// places and the index, tables.
fn engines((width, height): (u32, u32), length: usize) -> usize {
    let pixels = 4 * width as usize * height as usize;
    let index = covered((width, height)) / 16;
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
        self.decode_at(Scale::Full, engine, region, seek)
    }

    fn decode_at(&self, scale: Scale, engine: &mut JpegEngine, region: Rect, seek: JpegSeek<'_>) -> Answer {
        let length = 4 * region.width as usize * region.height as usize;
        let answer = limited(engines(self.size(), self.bytes.len()), || {
            engine.decode(self.bytes, &self.probe, (region, scale), &self.options, seek)
        });
        answer.map(|(pixels, index)| {
            assert_eq!(pixels.len(), length);
            (pixels.to_vec(), index)
        })
    }
}

/// Decodes an input in every way.
pub fn check(input: &[u8]) -> Verdict {
    let Some((bytes, control)) = Control::split(input) else { return Verdict::Other };
    if ImageFormat::recognise(bytes) != Some(ImageFormat::Jpeg) {
        return Verdict::Other;
    }
    let options = control.options();
    let Ok(probe) = limited(0, || probe(bytes, &options)) else { return Verdict::Header };
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

    let served = plain.is_ok();
    // What is wrong behind the region is no matter of the region's; else all have the same fate.
    assert_eq!(plain.as_ref().err(), built.as_ref().err());
    if let Ok((pixels, index)) = &whole {
        let (plain, none) = plain.as_ref().expect("a part of what was decoded");
        let (again, same) = built.as_ref().expect("a part of what was decoded");
        // There is none of damaged files, nor of those in several scans.
        assert!(none.is_none() && index == same);
        assert!(*plain == part(pixels, width, region), "{region:?} of {width}x{height}");
        assert!(again == plain);
    }
    if control.options().truncated == Truncated::Fill {
        assert_eq!(plain.as_ref().err(), whole.as_ref().err());
    }
    if let (Ok((plain, _)), Ok((again, index))) = (&plain, &built) {
        assert!(again == plain);
        assert!(index.is_none() || whole.is_ok());
        if let Some(index) = index {
            by_index(&control, &file, index, plain, engine);
        }
    }
    scaled(&control, &file, whole.as_ref().ok().and_then(|(_, index)| index.as_ref()), engine);
    let forged = &bytes[bytes.len() - bytes.len().min(control.forged.into())..];
    if let Some(forged) = JpegIndex::from_bytes(forged) {
        let _ = file.decode(fresh, region, JpegSeek::By(&forged));
    }
    if control.flags & 4 != 0 {
        by_the_public_api(&file, &control, plain.ok().map(|(pixels, _)| pixels));
    }
    match (served, whole.is_ok()) {
        (_, true) => Verdict::Whole,
        (true, false) => Verdict::Part,
        (false, false) => Verdict::Declined,
    }
}

/// The file at a scale: a region is that part of the whole, from the start and by the index that was built at full size.
fn scaled(control: &Control, file: &File<'_>, index: Option<&JpegIndex>, engine: &mut JpegEngine) {
    let scale = control.scale();
    if scale == Scale::Full {
        return;
    }
    let (width, height) = file.size();
    let (width, height) = (width.div_ceil(scale.divisor()), height.div_ceil(scale.divisor()));
    let region = control.region((width, height));
    let plain = file.decode_at(scale, engine, region, JpegSeek::None);
    let all = Rect { left: 0, top: 0, width, height };
    let whole = file.decode_at(scale, engine, all, JpegSeek::Build);
    assert!(index.is_none() || whole.is_ok(), "what is served at full size is served at every other");
    if let Ok((pixels, built)) = whole {
        let (plain, _) = plain.expect("a part of what was decoded");
        assert!(plain == part(&pixels, width, region), "{region:?} of {width}x{height}, {scale:?}");
        assert!(index.is_none() || index == built.as_ref(), "the index is the same at every size");
        if let Some(index) = index {
            let (sought, _) = file.decode_at(scale, engine, region, JpegSeek::By(index)).expect("what was decoded");
            assert!(sought == plain, "{region:?} of {width}x{height}, {scale:?}, by the index");
        }
    }
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

/// `decode`, where zune-jpeg gets what the engine declines. `served` is what the engine has made of the region of a
/// file that is not turned.
fn by_the_public_api(file: &File<'_>, control: &Control, served: Option<Vec<u8>>) {
    let File { bytes, probe, options } = file;
    let region = control.region((probe.width, probe.height));
    let size = file.size();
    // zune-jpeg keeps a progressive image's coefficients, of two bytes; up to four components.
    let memory = engines(size, bytes.len()) + 32 * covered(size) + 256 * bytes.len();
    let scratch = &mut Scratch::default();
    let row = 4 * region.width as usize;
    let (answer, peak) = peak_of(|| decode(bytes, probe, region, options, scratch));
    // A panic of zune-jpeg's is an error; the trace that it prints takes memory, too.
    let panicked = answer.as_ref().is_err_and(|error| error.to_string().contains("panicked"));
    assert!(peak <= memory || panicked, "{peak} bytes taken, {memory} allowed");
    match answer {
        Ok(decoded) => {
            assert_eq!(decoded.pixels.len(), decoded.stride * (region.height as usize - 1) + row);
            let rows = decoded.pixels.chunks(decoded.stride).map(|line| &line[..row]);
            assert!(rows.clone().flatten().skip(3).step_by(4).all(|&alpha| alpha == 255), "alpha");
            if let (Some(served), 1) = (served, probe.orientation()) {
                assert!(rows.flatten().eq(&served), "the engine's pixels");
            }
        }
        Err(error) => {
            assert!(served.is_none() || probe.orientation() != 1, "{error}");
            let kind = error.kind();
            assert!(matches!(kind, ErrorKind::Decode { .. } | ErrorKind::TruncatedImage { .. }), "{error}");
        }
    }
}
