//! The SPIR-V of every shader text, without debug names, is frozen as hashes in `tests/frozen/hashes/shaders.txt`: a
//! comment or a name may change, an instruction only if the commit means it. naga makes the SPIR-V, so a new naga
//! renews the hashes, too.
//!
//! A colour step that is added later changes no line: frames are hashed with the first steps, and the sets that contain
//! a later step have lines of their own.

use super::opcodes;
use super::recipes::recipe_passes;
use super::translate::spirv;
use gpufeed::DType;
use gpufeed::internals::shaders::{
    ColorFacts, PassSource, PassTarget, STEPS, SamplingFacts, Variant, opcode, validate,
};
use gpufeed_testing::frozen;
use std::collections::BTreeMap;
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

const FILE: &str = "hashes/shaders.txt";

/// Number of colour steps when the first hashes were written.
const FIRST_STEPS: usize = 13;

/// Returns the shaders that are hashed, each with the name of its group.
pub(super) fn variants() -> Vec<(String, Variant)> {
    let all = opcodes();
    let first = super::variants(&all[..FIRST_STEPS], false);
    let mut variants: Vec<_> = first.into_iter().map(|variant| (group(&variant), variant)).collect();
    for (number, &step) in all.iter().enumerate().skip(FIRST_STEPS) {
        let with_step = super::variants(&all[..=number], false).into_iter();
        variants.extend(with_step.filter_map(|variant| Some((later_group(&variant, step)?, variant))));
    }
    variants
}

/// Whether this is the frame with which `variants` shows every set of colour steps.
fn is_usual(frame: &SamplingFacts) -> bool {
    (frame.source, frame.target, frame.channels, frame.filters) == (PassSource::Bytes, PassTarget::Nchw, 3, [true; 5])
        && frame.statistics < 2
}

/// Returns the name of the group of a shader; the texts of a group have one hash together.
fn group(variant: &Variant) -> String {
    let (frame, colors) = match variant {
        Variant::Pack(dtype) => return format!("packing, {dtype:?}"),
        Variant::Mix => return "mixing".to_owned(),
        Variant::MixBytes => return "mixing of bytes".to_owned(),
        Variant::Sample(_, colors) if !colors.functions.is_empty() => return "users' colour steps".to_owned(),
        Variant::Sample(frame, colors) => (frame, colors),
        Variant::Kernel(..) | Variant::Tables(..) => unreachable!("`super::variants` has none"),
    };
    if is_usual(frame) { color_group(colors) } else { frame_group(frame, colors) }
}

/// Returns the group of a set of steps that contains `step` and none that was added after it.
fn later_group(variant: &Variant, step: u32) -> Option<String> {
    let Variant::Sample(frame, colors) = variant else { return None };
    if !is_usual(frame) || !colors.functions.is_empty() || !colors.opcodes.contains(&step) {
        return None;
    }
    Some(match (colors.opcodes.len(), colors.opcodes.contains(&opcode::CONTRAST)) {
        (1, _) => format!("colour step {}", name(step)),
        (_, false) => format!("colour steps with {}, without contrast", name(step)),
        (_, true) => format!("colour steps with {}, with contrast", name(step)),
    })
}

fn name(opcode: u32) -> &'static str {
    STEPS.iter().find(|step| step.opcode == opcode).expect("a built-in step").name
}

fn color_group(ColorFacts { opcodes, .. }: &ColorFacts) -> String {
    match opcodes.as_slice() {
        [] => "colour steps, none".to_owned(),
        [one] => format!("colour step {}", name(*one)),
        several if several.contains(&opcode::CONTRAST) => {
            format!("colour steps, {:2} with contrast", several.len())
        }
        several => format!("colour steps, {:2} without contrast", several.len()),
    }
}

fn frame_group(frame: &SamplingFacts, colors: &ColorFacts) -> String {
    let SamplingFacts { source, target, channels, .. } = frame;
    let steps = match colors.opcodes.len() {
        0 => "no colour step",
        FIRST_STEPS => "every colour step",
        _ => "every colour step but contrast",
    };
    format!("frame {source:?} to {target:?}, channels {channels}, {steps}")
}

fn code(text: &str) -> Vec<u8> {
    let code = validate(text).map_err(|error| error.to_string()).and_then(|(module, info)| spirv(&module, &info));
    code.unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Compares the hashes of `variants`, by group, and of the built-in recipes' passes with the frozen ones.
pub(super) fn check(variants: &[(String, Variant)], hash_of: impl Fn(&Variant) -> u64) {
    let mut groups: BTreeMap<&str, (usize, Xxh3)> = BTreeMap::new();
    for (group, variant) in variants {
        let (texts, all) = groups.entry(group).or_default();
        *texts += 1;
        all.update(&hash_of(variant).to_le_bytes());
    }
    let mut lines: Vec<(String, String)> = Vec::new();
    for (group, (texts, hash)) in &groups {
        lines.push(((*group).to_owned(), format!("{:016x} of {texts}", hash.digest())));
    }
    for (name, variant) in recipe_passes() {
        lines.push((name, format!("{:016x}", xxh3_64(&code(&variant.text())))));
    }
    frozen::check_lines(FILE, &lines, "the shader that is meant to change, or the new naga");
}

/// The comparison can fail: another constant changes the code; another name or comment does not.
#[test]
fn constants_count_and_names_do_not() {
    let text = Variant::Pack(DType::F16).text();
    let renamed = format!("// a comment\n{}", text.replace("half_bits", "other").replace("exponent", "power"));
    assert_eq!(code(&text), code(&renamed));
    assert_ne!(code(&text), code(&text.replace("0x7e00u", "0x7e01u")));
}
