//! The shaders of the kernels other than the one that resamples in floats: for stages that begin with an operator of
//! `plan/gather.rs`, and for stages on 8-bit numbers.
//!
//! A kernel, the arithmetic of its operator and that of its statistics are enumerated with every source and target, with
//! no colour step, with all on floats and with all on 8-bit numbers. The sets of colour steps are those of the other
//! frames: a step's text does not depend on the kernel.

use super::opcodes;
use gpufeed::internals::shaders::{
    ColorFacts, Kernel, KernelFacts, PassSource, PassTarget, SamplingFacts, UINT8_STEPS, Variant, opcode,
};

/// Returns the frames of a kernel's statistics and stages. Statistics are counted only where colour steps have any. A
/// blur's threads have 16 rows.
fn frames(kernel: Kernel, statistics: u32) -> Vec<SamplingFacts> {
    let mut frames = Vec::new();
    use PassTarget::{Intermediate, IntermediateBytes, Nchw, NchwBf16, NchwF16, Nhwc, NhwcBf16, NhwcF16};
    let targets = [Intermediate, IntermediateBytes, Nchw, Nhwc, NchwF16, NhwcF16, NchwBf16, NhwcBf16];
    let targets = targets.map(|target| (target, statistics));
    let of_statistics = (0..statistics).map(|known| (PassTarget::Statistic, known));
    for (target, known_statistics) in targets.into_iter().chain(of_statistics) {
        for source in [PassSource::Bytes, PassSource::Floats] {
            for (channels, borders, rows) in [(1, false, 4), (3, true, 16)] {
                let filters = [borders, false, false, false, false];
                let rows = if kernel == Kernel::Blur { 16 } else { rows };
                frames.push(SamplingFacts {
                    source,
                    target,
                    channels,
                    rows,
                    statistics,
                    known_statistics,
                    filters,
                    padded_to: None,
                });
            }
        }
    }
    frames
}

/// Returns the sets of colour steps, with the number of their statistics: none; all on floats, without and with
/// contrast; all.
fn colors(statistics_are_uint8: bool) -> Vec<(ColorFacts, u32)> {
    let contrast = if statistics_are_uint8 { opcode::CONTRAST } else { opcode::CONTRAST_U8 };
    let uint8 = UINT8_STEPS.iter().map(|step| step.opcode);
    let all: Vec<u32> = opcodes().into_iter().chain(uint8).filter(|&opcode| opcode != contrast).collect();
    let floats = opcodes().into_iter().filter(|&opcode| opcode != opcode::CONTRAST).collect();
    let set = |opcodes: Vec<u32>, statistics| {
        let steps = opcodes.len().min(3) as u32;
        (ColorFacts { opcodes, positions: Vec::new(), functions: String::new(), steps }, statistics)
    };
    vec![set(Vec::new(), 0), set(floats, 0), set(all, 2)]
}

/// Returns the enumerated shaders.
pub(super) fn variants() -> Vec<Variant> {
    let mut variants = Vec::new();
    use Kernel::{Blur, PillowAffine, PillowBlur, Point, SampleUint8, Sharpen, Warp};
    let kernels = [SampleUint8, Point, Warp, Sharpen, Blur, PillowAffine, PillowBlur];
    for kernel in kernels {
        // An operator and the statistics after it have one arithmetic.
        for statistics_are_uint8 in [false, true] {
            // Pillow's operators work on 8-bit numbers alone.
            if !statistics_are_uint8 && matches!(kernel, PillowAffine | PillowBlur) {
                continue;
            }
            let is_uint8 = statistics_are_uint8 && kernel != Kernel::SampleUint8;
            let weights = if kernel == Kernel::Blur { 12 } else { 0 };
            let facts = KernelFacts { kernel, is_uint8, statistics_are_uint8, weights };
            if kernel == Kernel::Point {
                variants
                    .extend([PassSource::Bytes, PassSource::Floats].map(|source| Variant::Tables(source, facts, 3)));
            }
            for (colors, statistics) in colors(statistics_are_uint8) {
                // Eight-bit numbers are read from bytes.
                let is_bytes = |source| source == PassSource::Bytes;
                let possible =
                    |frame: &SamplingFacts| is_bytes(frame.source) || !(is_uint8 || kernel == Kernel::SampleUint8);
                let frames = frames(kernel, statistics).into_iter().filter(possible);
                variants.extend(frames.map(|frame| Variant::Kernel(facts, frame, colors.clone())));
            }
        }
    }
    variants
}
