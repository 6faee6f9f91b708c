//! The rules of `jpeg_engine.rs`, applied to [`decode`], which hands zune-jpeg the files that the engine does not
//! support; `tests/decode_mutants.rs` and the fuzz target `fuzz/fuzz_targets/decode.rs` check them.

use gpufeed::ErrorKind;
use gpufeed::decode::{DecodeOptions, Orientation, Scratch, Truncated, decode, probe};

use crate::counting::peak_of;
use crate::jpeg_engine::{self, Control, MAX_PIXELS, Verdict, covered, engines};

/// Decodes an input by the engine in every way, and by [`decode`] if the input's control bytes ask for it.
pub fn check(input: &[u8]) -> Verdict {
    let verdict = jpeg_engine::check(input);
    if verdict == Verdict::Other {
        return verdict;
    }
    if let Some((bytes, control)) = Control::split(input).filter(|(_, control)| control.flags & 4 != 0) {
        by_the_public_api(bytes, &control);
    }
    verdict
}

fn by_the_public_api(bytes: &[u8], control: &Control) {
    let mut options = DecodeOptions::default();
    options.max_pixels = MAX_PIXELS;
    options.truncated = if control.fill() { Truncated::Fill } else { Truncated::Error };
    options.exif = if control.flags & 2 == 0 { Orientation::Apply } else { Orientation::Ignore };
    let options = &options;
    let (answer, peak) = peak_of(|| probe(bytes, options));
    assert_eq!(peak, 0, "bytes taken by the header");
    let Ok(probe) = &answer else { return };
    let region = control.region((probe.width, probe.height));
    let (width, height) = (probe.width, probe.height);
    let size = if probe.orientation() >= 5 { (height, width) } else { (width, height) };
    let served = (probe.orientation() == 1).then(|| jpeg_engine::served(bytes, region, control.fill())).flatten();
    // zune-jpeg keeps the coefficients of a progressive image, of two bytes each, for up to four components.
    let memory = engines(size, bytes.len()) + 32 * covered(size) + 256 * bytes.len();
    let scratch = &mut Scratch::default();
    let row = 4 * region.width as usize;
    let (answer, peak) = peak_of(|| decode(bytes, probe, region, options, scratch));
    // A panic in zune-jpeg becomes an error; the backtrace that it prints takes memory, too.
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
