//! The passes of the built-in recipes, and their SPIR-V in files, which `scripts/shader-stats.sh` gives to a GPU's compiler.

use super::translate;
use gpufeed::internals::shaders::{Kernel, PassTarget, Variant, cached, passes, validate};
use gpufeed::{DType, Plan};
use gpufeed_testing::bits::{named_lists, plain_recipes};
use std::collections::{BTreeSet, HashMap};
use std::fmt::Write;

/// Returns each pass of the built-in recipes with its name, as loaders ask for it: without a cache, and where a cache
/// stores floats.
pub(super) fn recipe_passes() -> Vec<(String, Variant)> {
    let mut found: Vec<(String, Variant)> = Vec::new();
    for (name, list) in named_lists() {
        let (semantics, output) = (list.semantics.unwrap_or_default(), list.output.unwrap_or_default());
        let plan = Plan::compile_as(semantics, 3, &list.transforms, &output).unwrap();
        // Only the CPU executor has AugMix.
        if name == "imagenet-augmix" {
            continue;
        }
        let (plain, cached) = (passes(&plan), passes(&cached(&plan)));
        let other = cached != plain;
        found.extend(plain.into_iter().map(|(pass, variant)| (format!("{name}, {pass}"), variant)));
        if other {
            found.extend(cached.into_iter().map(|(pass, variant)| (format!("{name}, cached, {pass}"), variant)));
        }
    }
    found
}

/// Returns the kind of a pass in the table of `scripts/shader-stats.sh`.
fn kind(variant: &Variant) -> String {
    let (kernel, frame) = match variant {
        Variant::Pack(_) => return "packing".to_owned(),
        Variant::Mix | Variant::MixBytes => return "mixing".to_owned(),
        Variant::Tables(..) => return "tables".to_owned(),
        Variant::Sample(frame, _) => ("floats", frame),
        Variant::Kernel(facts, frame, _) => match facts.kernel {
            Kernel::Sample => ("floats", frame),
            Kernel::SampleUint8 => ("8 bits", frame),
            Kernel::Point => ("point", frame),
            Kernel::Warp => ("warp", frame),
            Kernel::Sharpen => ("sharpen", frame),
            Kernel::Blur => ("blur", frame),
            Kernel::PillowAffine => ("Pillow affine", frame),
            Kernel::PillowBlur => ("Pillow blur", frame),
        },
    };
    let pass = if frame.target == PassTarget::Statistic { "mean" } else { "sampling" };
    format!("{pass}, {kernel}")
}

/// Returns a shader that holds 400 numbers at once, more than any card has registers for: a store may change what a later
/// load reads, so all loads come first. `scripts/shader-stats.sh` has to see that it spills.
fn spilling() -> String {
    let (mut loads, mut stores) = (String::new(), String::new());
    for i in 0..400 {
        writeln!(loads, "    let number_{i} = words[local.x + {}u];", 256 * i).unwrap();
        writeln!(stores, "    words[local.x + {}u] = number_{i};", 256 * (400 - i) + 1).unwrap();
    }
    format!(
        "@group(0) @binding(3) var<storage, read_write> words: array<u32>;
@compute @workgroup_size(256)
fn main(@builtin(local_invocation_id) local: vec3<u32>) {{\n{loads}{stores}}}\n"
    )
}

fn spirv(text: &str) -> Vec<u8> {
    let (module, info) = validate(text).unwrap();
    let translated = translate::files(&module, &info).unwrap();
    translated.into_iter().find(|(end, _)| *end == "vulkan1.3.spv").unwrap().1
}

/// Writes the SPIR-V for Vulkan 1.3 of each different text that a recipe asks for, of packing and of mixing: to the folder
/// that GPUFEED_RECIPES names, else to a temporary one. `names.tsv` has a line for each pass: file, kind, recipe and pass;
/// `control.spv` is a shader that spills.
#[test]
fn every_recipe_has_spirv() {
    let own = tempfile::tempdir().unwrap();
    let folder = std::env::var_os("GPUFEED_RECIPES").map_or(own.path().to_owned(), std::path::PathBuf::from);
    let mut all = recipe_passes();
    all.extend([DType::F16, DType::U8].map(|dtype| (format!("any recipe with {dtype:?}, pack"), Variant::Pack(dtype))));
    all.push(("any recipe with MixUp or CutMix, mix".to_owned(), Variant::Mix));
    let (mut files, mut lines) = (HashMap::new(), String::new());
    for (name, variant) in &all {
        let text = variant.text();
        let next = files.len();
        let file = *files.entry(text.clone()).or_insert_with(|| {
            std::fs::write(folder.join(format!("{next:03}.spv")), spirv(&text)).unwrap();
            next
        });
        writeln!(lines, "{file:03}.spv\t{}\t{name}", kind(variant)).unwrap();
    }
    std::fs::write(folder.join("names.tsv"), lines).unwrap();
    std::fs::write(folder.join("control.spv"), spirv(&spilling())).unwrap();
    let recipes: BTreeSet<&str> =
        all.iter().filter_map(|(name, _)| name.split_once(", ")).map(|(name, _)| name).collect();
    let lacking: Vec<_> = plain_recipes().filter(|name| !recipes.contains(name)).collect();
    assert_eq!(lacking, ["imagenet-augmix"], "recipes without a pass on the GPU");
}
