//! Decodes a file in every way, and compares each result with Pillow's pixels.

use std::panic::{AssertUnwindSafe, catch_unwind};

use gpufeed_jpeg::{Decoder, Error, Header, Rect, Request, SeekIndex};
use gpufeed_testing::dice::Dice;

use crate::listed::{Expected, Listed, Pictures, SCALES};

/// Random regions of each file.
const REGIONS: usize = 20;

/// What became of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// As expected: equal pixels, or refused where that is expected.
    Right,
    /// The engine refuses what Pillow decodes, with its reason.
    Refused(String),
    /// Other pixels, or no refusal where one is expected.
    Different(String),
}

/// A request, in words and for the decoder.
struct Ask<'a> {
    scale: usize,
    region: Rect,
    fill: bool,
    index: Option<&'a SeekIndex>,
    build: bool,
}

/// What is left after all requests that can fail: `Err` is the verdict.
type Compared = Result<(), Verdict>;

pub(crate) fn compare(decoder: &mut Decoder, listed: &Listed) -> Verdict {
    let bytes = listed.bytes();
    let checked = catch_unwind(AssertUnwindSafe(|| check(decoder, listed, &bytes)));
    match checked {
        Ok(Ok(())) => Verdict::Right,
        Ok(Err(verdict)) => verdict,
        Err(_) => {
            *decoder = Decoder::default();
            Verdict::Different("panics".to_owned())
        }
    }
}

fn check(decoder: &mut Decoder, listed: &Listed, bytes: &[u8]) -> Compared {
    let size = match Header::read(bytes) {
        Ok(header) => header.size(),
        Err(_) if listed.expected == Expected::Any => return Ok(()),
        Err(error) => return Err(Verdict::Refused(error.to_string())),
    };
    match listed.expected {
        Expected::Any | Expected::Unsupported => {
            let unsupported = listed.expected == Expected::Unsupported;
            for fill in [false, true] {
                match decoder.decode(bytes, &Request::new(size).fill(fill)) {
                    Err(Error::Unsupported(reason)) if !reason.is_empty() => {}
                    // Without `fill` a cut file is that first.
                    Err(Error::Damaged(_)) if !fill => {}
                    result if unsupported => {
                        return Err(Verdict::Different(format!("not refused as unsupported: {:?}", result.map(drop))));
                    }
                    _ => {}
                }
            }
            return Ok(());
        }
        Expected::Unfilled => {
            let strict = decoder.decode(bytes, &Request::new(size)).map(drop);
            let filled = decoder.decode(bytes, &Request::new(size).fill(true)).map(drop);
            return match (strict, filled) {
                (Err(Error::Damaged(_)), Ok(())) => Ok(()),
                results => Err(Verdict::Different(format!("not damaged, and filled: {results:?}"))),
            };
        }
        Expected::Exact | Expected::Damaged | Expected::Warned => {}
    }
    if size != listed.size {
        return Err(Verdict::Different(format!("has the size {size:?} instead of {:?}", listed.size)));
    }
    let pictures = listed.pictures();
    let strict = match (decoder.decode(bytes, &Request::new(size)).map(drop), listed.expected) {
        (Ok(()), Expected::Damaged) => {
            return Err(Verdict::Different("is damaged, but not refused without `fill`".to_owned()));
        }
        (Ok(()), _) => true,
        (Err(_), Expected::Damaged | Expected::Warned) => false,
        (Err(error), _) => return Err(Verdict::Refused(error.to_string())),
    };
    // Filling decodes an undamaged file like any other.
    all_scales(decoder, bytes, &pictures, listed, true, None)?;
    if strict {
        let whole = whole(listed, 0, false);
        let index = ask(decoder, bytes, &pictures, listed, &Ask { build: true, ..whole })?;
        all_scales(decoder, bytes, &pictures, listed, false, index.as_ref())?;
        regions(decoder, bytes, &pictures, listed, index.as_ref())
    } else {
        regions(decoder, bytes, &pictures, listed, None)
    }
}

fn whole(listed: &Listed, scale: usize, fill: bool) -> Ask<'static> {
    let region = Rect::whole(SCALES[scale].size(listed.size));
    Ask { scale, region, fill, index: None, build: false }
}

/// The whole image at each scale, from the start and by the index.
fn all_scales(
    decoder: &mut Decoder,
    bytes: &[u8],
    pictures: &Pictures,
    listed: &Listed,
    fill: bool,
    index: Option<&SeekIndex>,
) -> Compared {
    for scale in 0..SCALES.len() {
        let whole = whole(listed, scale, fill);
        ask(decoder, bytes, pictures, listed, &whole)?;
        if index.is_some() {
            ask(decoder, bytes, pictures, listed, &Ask { index, ..whole })?;
        }
    }
    Ok(())
}

/// Random regions at random scales, half of them at full size; each with the index, too, where there is one. Of a damaged
/// file they are filled.
fn regions(
    decoder: &mut Decoder,
    bytes: &[u8],
    pictures: &Pictures,
    listed: &Listed,
    index: Option<&SeekIndex>,
) -> Compared {
    let mut dice = Dice(listed.number);
    let fill = listed.expected != Expected::Exact;
    for turn in 0..REGIONS {
        let scale = if turn % 2 == 0 { 0 } else { dice.below(SCALES.len()) };
        let (width, height) = SCALES[scale].size(listed.size);
        let mut span = |all: u32| {
            let start = dice.between(0, all - 1);
            (start, dice.between(1, all - start))
        };
        let ((left, width), (top, height)) = (span(width), span(height));
        let region = Rect { left, top, width, height };
        let plain = Ask { scale, region, fill, index: None, build: false };
        ask(decoder, bytes, pictures, listed, &plain)?;
        if index.is_some() {
            ask(decoder, bytes, pictures, listed, &Ask { index, ..plain })?;
        } else if turn == 0 {
            ask(decoder, bytes, pictures, listed, &Ask { build: true, ..plain })?;
        }
    }
    Ok(())
}

/// Decodes, and compares the pixels. Returns the index that was built.
fn ask(
    decoder: &mut Decoder,
    bytes: &[u8],
    pictures: &Pictures,
    listed: &Listed,
    ask: &Ask<'_>,
) -> Result<Option<SeekIndex>, Verdict> {
    let &Ask { scale, region, fill, index, build } = ask;
    let words = || {
        let Rect { left, top, width, height } = region;
        let [fill, index] =
            [(fill, " filled"), (index.is_some(), " by the index")].map(|(on, word)| if on { word } else { "" });
        format!("{width}x{height} from {left},{top} at 1/{}{fill}{index}", SCALES[scale].divisor())
    };
    let request = Request::new(listed.size).scale(SCALES[scale]).region(region).fill(fill);
    match decoder.decode(bytes, &request.index(index).build_index(build)) {
        Err(error) => Err(Verdict::Refused(format!("{error} ({})", words()))),
        Ok(decoded) if (decoded.width, decoded.height) != (region.width, region.height) => {
            Err(Verdict::Different(format!("is {}x{}: {}", decoded.width, decoded.height, words())))
        }
        Ok(decoded) => match pictures.difference(scale, region, decoded.pixels) {
            0 => Ok(decoded.outcome.index),
            most => Err(Verdict::Different(format!("differs by up to {most}: {}", words()))),
        },
    }
}
