//! The rules of `jpeg_engine.rs`, applied to [`decode`]; `tests/decode_mutants.rs` and the fuzz target
//! `fuzz/fuzz_targets/decode.rs` check them. [`decode`] takes no more memory than [`Probe::decode_bytes`] declares and small
//! buffers, and it decodes what the engine decodes.
//!
//! [`Probe::decode_bytes`]: gpufeed::decode::Probe::decode_bytes

use gpufeed::ErrorKind;
use gpufeed::decode::{DecodeOptions, Orientation, Scratch, Truncated, decode, probe};

use crate::counting::peak_of;
use crate::jpeg_engine::{self, Control, MAX_PIXELS, Verdict, besides};

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
    let memory = probe.decode_bytes() as usize + besides(size, bytes.len());
    let scratch = &mut Scratch::default();
    let row = 4 * region.width as usize;
    let (answer, peak) = peak_of(|| decode(bytes, probe, region, options, scratch));
    assert!(peak <= memory, "{peak} bytes taken, {memory} allowed");
    match answer {
        Ok(decoded) => {
            assert_eq!(decoded.pixels.len(), decoded.stride * (region.height as usize - 1) + row);
            let rows = decoded.pixels.chunks(decoded.stride).map(|line| &line[..row]);
            assert!(rows.clone().flatten().skip(3).step_by(4).all(|&alpha| alpha == 255), "alpha");
            if probe.orientation() == 1 {
                assert!(rows.flatten().eq(&served.expect("what the engine decodes")), "the engine's pixels");
            }
        }
        Err(error) => {
            assert!(!error.to_string().contains("panicked"), "{error}");
            assert!(served.is_none() || probe.orientation() != 1, "{error}");
            let kind = error.kind();
            assert!(matches!(kind, ErrorKind::Decode { .. } | ErrorKind::TruncatedImage { .. }), "{error}");
        }
    }
}
