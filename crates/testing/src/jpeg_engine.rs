//! Rules that the JPEG decoder keeps for any input bytes; `tests/decode_mutants.rs` and the fuzz target
//! `crates/jpeg/fuzz/fuzz_targets/jpeg.rs` check them.
//!
//! An input is a file, then 24 bytes that say how to decode it ([`Control`]). The decoder never panics, and takes no
//! more memory than the declared size allows. A decoded region equals that rectangle of the whole image, whether a seek
//! index is built, used or absent, and whatever was decoded before in the same memory. With `Request::fill` this holds
//! for damaged files, too, and all regions of a file are decoded or none. A damaged seek index may give wrong pixels
//! (its store has checksums), but nothing worse.

use gpufeed_jpeg::{Decoder, Header, Rect, Request, Scale, SeekIndex};

use crate::counting::peak_of;

/// The most pixels that a test's image may have; decoded, they take 4 MiB.
pub(crate) const MAX_PIXELS: u64 = 1 << 20;

/// The result of decoding one input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// The input does not begin as a JPEG does, or is too short for its control bytes.
    Other,
    /// The decoder has refused the header, or the header declares no pixels or too many.
    Header,
    /// The decoder has refused the region and the whole image.
    Declined,
    /// The decoder has decoded the region, but refused the whole image.
    Part,
    /// The decoder has decoded the whole image.
    Whole,
}

/// The last 24 bytes of an input, which say how to decode it.
pub(crate) struct Control {
    /// Bits. 1: fill missing data; 2: ignore the EXIF orientation; 4: also decode by the public API; 8 and 16: the size
    /// of one more decode (none, half, quarter, eighth).
    pub(crate) flags: u8,
    /// Number of bytes at the file's end that are tried as a seek index, too.
    forged: u8,
    /// Left, top, width and height of the region, before they are reduced to the image's size.
    region: [u16; 4],
    /// Positions in the seek index and the bits to flip there. The first two entries also damage the copy of the file
    /// that is decoded first, to leave its traces in the decoder's memory.
    damage: [(u16, u8); 4],
}

impl Control {
    pub(crate) fn split(input: &[u8]) -> Option<(&[u8], Control)> {
        let (file, &bytes) = input.split_last_chunk::<24>()?;
        let short = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
        let region = [2, 4, 6, 8].map(short);
        let damage = [10, 13, 16, 19].map(|at| (short(at), bytes[at + 2]));
        Some((file, Control { flags: bytes[0], forged: bytes[1], region, damage }))
    }

    pub(crate) fn fill(&self) -> bool {
        self.flags & 1 != 0
    }

    fn scale(&self) -> Scale {
        [Scale::Full, Scale::Half, Scale::Quarter, Scale::Eighth][usize::from(self.flags >> 3 & 3)]
    }

    pub(crate) fn region(&self, (width, height): (u32, u32)) -> Rect {
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

/// Returns the rectangle `region` of a whole image.
fn part(pixels: &[u8], width: u32, region: Rect) -> Vec<u8> {
    let row = |y: u32| &pixels[4 * (y as usize * width as usize + region.left as usize)..][..4 * region.width as usize];
    (region.top..region.top + region.height).flat_map(row).copied().collect()
}

/// Runs `work`, and panics if it takes more than `bytes` bytes of memory.
fn limited<T>(bytes: usize, work: impl FnOnce() -> T) -> T {
    let (result, peak) = peak_of(work);
    assert!(peak <= bytes, "{peak} bytes taken, {bytes} allowed");
    result
}

/// Returns how many bytes the engine may take for a file of `length` bytes besides what its header declares: for a few rows,
/// the scan with its list of positions, the seek index and the tables.
pub(crate) fn besides((width, height): (u32, u32), length: usize) -> usize {
    // Both sides are rounded up to multiples of 32, the largest side of an MCU.
    let index = width.next_multiple_of(32) as usize * height.next_multiple_of(32) as usize / 16;
    64 * width as usize + 64 * length + index + (256 << 10)
}

/// Returns how many bytes the engine may take for a file of `length` bytes: those that the header declares, for the pixels, the
/// planes and the coefficients, and those [`besides`].
fn engines(header: &Header<'_>, length: usize) -> usize {
    let samples = header.samples as usize;
    // A coefficient has two bytes, and a block of 64 eight more.
    let coefficients = if header.several_scans { 2 * samples + samples / 8 } else { 0 };
    4 * header.width as usize * header.height as usize + samples + coefficients + besides(header.size(), length)
}

/// How a decode uses a seek index.
#[derive(Clone, Copy)]
enum Seek<'a> {
    /// The decode neither builds nor uses an index.
    None,
    /// The decode builds an index.
    Build,
    /// The decode uses this index.
    By(&'a SeekIndex),
}

/// A JPEG file that the engine decodes, with or without filling missing data.
pub(crate) struct File<'a> {
    bytes: &'a [u8],
    size: (u32, u32),
    /// Most bytes of memory for decoding it.
    memory: usize,
    fill: bool,
}

type Answer = Result<(Vec<u8>, Option<SeekIndex>), &'static str>;

impl<'a> File<'a> {
    /// Returns `None` if the header cannot be read, or if it declares no pixels or more than [`MAX_PIXELS`].
    fn new(bytes: &'a [u8], fill: bool) -> Option<File<'a>> {
        let header = limited(0, || Header::read(bytes)).ok()?;
        let size = header.size();
        let pixels = u64::from(size.0) * u64::from(size.1);
        let memory = engines(&header, bytes.len());
        (1..=MAX_PIXELS).contains(&pixels).then_some(File { bytes, size, memory, fill })
    }

    fn decode(&self, decoder: &mut Decoder, region: Rect, seek: Seek<'_>) -> Answer {
        self.decode_at(Scale::Full, decoder, region, seek)
    }

    fn decode_at(&self, scale: Scale, decoder: &mut Decoder, region: Rect, seek: Seek<'_>) -> Answer {
        let request = Request::new(self.size).scale(scale).region(region).fill(self.fill);
        let request = match seek {
            Seek::None => request,
            Seek::Build => request.build_index(true),
            Seek::By(index) => request.index(Some(index)),
        };
        let length = 4 * region.width as usize * region.height as usize;
        let answer = limited(self.memory, || decoder.decode(self.bytes, &request));
        let decoded = answer.map_err(|error| error.reason())?;
        assert_eq!(decoded.pixels.len(), length);
        Ok((decoded.pixels.to_vec(), decoded.outcome.index))
    }
}

/// Returns the pixels of a region, if the engine decodes the file.
pub fn served(bytes: &[u8], region: Rect, fill: bool) -> Option<Vec<u8>> {
    let file = File::new(bytes, fill)?;
    file.decode(&mut Decoder::default(), region, Seek::None).ok().map(|(pixels, _)| pixels)
}

/// Decodes an input in every way and checks the rules.
pub fn check(input: &[u8]) -> Verdict {
    let Some((bytes, control)) = Control::split(input) else { return Verdict::Other };
    if !bytes.starts_with(b"\xFF\xD8\xFF") {
        return Verdict::Other;
    }
    let Some(file) = File::new(bytes, control.fill()) else { return Verdict::Header };
    let (width, height) = file.size;
    let region = control.region((width, height));

    let engine = &mut Decoder::default();
    leave_traces(&control, bytes, engine);
    let plain = file.decode(engine, region, Seek::None);
    let whole = file.decode(engine, Rect::whole((width, height)), Seek::Build);
    let fresh = &mut Decoder::default();
    let built = file.decode(fresh, region, Seek::Build);

    let served = plain.is_ok();
    // Building an index does not change the region's result: errors in the data after the region have no effect on it.
    assert_eq!(plain.as_ref().err(), built.as_ref().err());
    if let Ok((pixels, index)) = &whole {
        let (plain, none) = plain.as_ref().expect("a part of what was decoded");
        let (again, same) = built.as_ref().expect("a part of what was decoded");
        // `index` is `None` for damaged files and for those of several scans.
        assert!(none.is_none() && index == same);
        assert!(*plain == part(pixels, width, region), "{region:?} of {width}x{height}");
        assert!(again == plain);
    }
    if control.fill() {
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
    if let Some(forged) = SeekIndex::from_bytes(forged) {
        let _ = file.decode(fresh, region, Seek::By(&forged));
    }
    match (served, whole.is_ok()) {
        (_, true) => Verdict::Whole,
        (true, false) => Verdict::Part,
        (false, false) => Verdict::Declined,
    }
}

/// Checks a decode at reduced size: a region equals that rectangle of the whole image, decoded from the start and by
/// the seek index that was built at full size.
fn scaled(control: &Control, file: &File<'_>, index: Option<&SeekIndex>, engine: &mut Decoder) {
    let scale = control.scale();
    if scale == Scale::Full {
        return;
    }
    let (width, height) = file.size;
    let (width, height) = (width.div_ceil(scale.divisor()), height.div_ceil(scale.divisor()));
    let region = control.region((width, height));
    let plain = file.decode_at(scale, engine, region, Seek::None);
    let all = Rect::whole((width, height));
    let whole = file.decode_at(scale, engine, all, Seek::Build);
    assert!(index.is_none() || whole.is_ok(), "what is served at full size is served at every other");
    if let Ok((pixels, built)) = whole {
        let (plain, _) = plain.expect("a part of what was decoded");
        assert!(plain == part(&pixels, width, region), "{region:?} of {width}x{height}, {scale:?}");
        assert!(index.is_none() || index == built.as_ref(), "the index is the same at every size");
        if let Some(index) = index {
            let (sought, _) = file.decode_at(scale, engine, region, Seek::By(index)).expect("what was decoded");
            assert!(sought == plain, "{region:?} of {width}x{height}, {scale:?}, by the index");
        }
    }
}

/// Decodes a damaged copy of the file, so that its tables and samples stay in the decoder's memory.
fn leave_traces(control: &Control, bytes: &[u8], engine: &mut Decoder) {
    let bytes = &damaged(bytes, &control.damage[..2]);
    if !bytes.starts_with(b"\xFF\xD8\xFF") {
        return;
    }
    if let Some(file) = File::new(bytes, control.fill()) {
        let region = control.region(file.size);
        let _ = file.decode(engine, region, Seek::None);
    }
}

/// Checks decodes of the region by the seek index, after a round trip through bytes, and after damage to these bytes.
fn by_index(control: &Control, file: &File<'_>, index: &SeekIndex, expected: &[u8], engine: &mut Decoder) {
    let bytes = index.to_bytes();
    let same = SeekIndex::from_bytes(&bytes).expect("what was written");
    assert!(same == *index);
    let region = control.region(file.size);
    let (pixels, none) = file.decode(engine, region, Seek::By(&same)).expect("what was decoded from the start");
    assert!(none.is_none() && pixels == expected, "{region:?} of {:?} by the index", file.size);

    if let Some(wrong) = SeekIndex::from_bytes(&damaged(&bytes, &control.damage)) {
        // Where the damaged index does not fit the file, the scan is decoded from its start, so there are pixels, right
        // or wrong.
        file.decode(engine, region, Seek::By(&wrong)).expect("what was decoded from the start");
    }
}
