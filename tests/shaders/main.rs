//! Every shader text that a plan can ask for is enumerated, validated, and translated to every language that wgpu feeds
//! to drivers; `scripts/test-tint.sh` shows each text to Tint, the browsers' compiler.
//!
//! A sampling pass is a frame around a colour part, concatenated over a fixed interface: the frame calls
//! `load_steps(image)` and `color(image, x, y, value, end)`, which every colour part defines with the same types; the
//! colour part uses `images`, `luma`, `MAX_STEPS` and, in contrast alone, `mean`, which every frame with statistics
//! declares alike. No colour part holds a barrier or a workgroup variable. So each part and that interface decide
//! whether the whole is valid, and it is enough to check
//!
//! - every frame, with all colour steps that it can have and with none, and
//! - every set of colour steps in one frame, and every number of steps with all of them, with each alone and with none.
//!   Not every set comes with every number: how steps are loaded and called, one after the other or in a loop, does not
//!   depend on which they are, and both ways are seen with many sets. A plan knows which steps come at which position,
//!   and each such set has a function of its own; here all have all.
//!
//! Every run checks the sets of at most two steps, those that lack at most one, and about 512 of the others, however
//! many steps there are, because no step's function uses another step's. With GPUFEED_FULL=1, as in
//! `scripts/nightly.sh`, a run checks all sets.
//!
//! `kernels.rs` has the kernels of policies, warps and 8-bit numbers.
//!
//! Three statistics stand for any number above one, and nine steps for any above eight: such shaders differ only in the
//! number of alike variables and in a loop's end.

#![expect(clippy::print_stdout, reason = "tests print what they counted")]

mod frozen;
mod kernels;
mod recipes;
mod translate;

use gpufeed::internals::shaders::{
    ColorFacts, FILTERS, Kernel, MIX_BYTES, PassSource, PassTarget, STEPS, SamplingFacts, UINT8_STEPS, UNROLLED_STEPS,
    Variant, opcode, passes, storing_16_bits, structs, structs_with_operator, validate,
};
use gpufeed::transforms::{ColorJitter, CustomColor, RandomResizedCrop, Transform};
use gpufeed::{DType, Layout, Output, Plan};
use gpufeed_testing::dice::Dice;
use gpufeed_testing::lists;
use gpufeed_testing::one_channel::for_channels;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use translate::{SPIRV_NAME, TRANSLATORS};
use xxhash_rust::xxh3::xxh3_64;

/// Numbers that stand for any larger number, of statistics and of steps.
const SEVERAL_STATISTICS: u32 = 3;
const MANY_STEPS: u32 = UNROLLED_STEPS + 1;

/// Returns the frames for colour steps without or with contrast, which alone makes a stage have statistics.
fn frames(contrast: bool) -> Vec<SamplingFacts> {
    let mut targets = Vec::new();
    let counts: &[u32] = if contrast { &[1, SEVERAL_STATISTICS] } else { &[0] };
    for &statistics in counts {
        let stage = [PassTarget::Intermediate, PassTarget::Nchw, PassTarget::Nhwc]
            .map(|target| (target, statistics, statistics));
        targets.extend(stage);
        targets.extend((0..statistics).map(|known| (PassTarget::Statistic, statistics, known)));
    }
    let mut frames = Vec::new();
    for source in [PassSource::Bytes, PassSource::Floats] {
        for channels in [1, 3] {
            for bits in 0..1 << FILTERS.len() {
                let filters = std::array::from_fn(|i| bits >> i & 1 == 1);
                let mut add = |&(target, statistics, known_statistics): &(PassTarget, u32, u32)| {
                    let facts = SamplingFacts {
                        source,
                        target,
                        channels,
                        rows: 16,
                        statistics,
                        known_statistics,
                        filters,
                        padded_to: None,
                    };
                    frames.push(facts);
                };
                targets.iter().for_each(&mut add);
                // A store does not depend on the filters: with none and with all it is seen often enough.
                if bits == 0 || bits + 1 == 1 << FILTERS.len() {
                    targets.iter().flat_map(in_16_bits).for_each(|target| add(&target));
                }
            }
        }
    }
    frames
}

/// Returns the targets of a device that stores numbers of 16 bits in the place of one in f32.
fn in_16_bits(&(target, statistics, known): &(PassTarget, u32, u32)) -> Vec<(PassTarget, u32, u32)> {
    let targets: &[PassTarget] = match target {
        PassTarget::Nchw => &[PassTarget::NchwF16, PassTarget::NchwBf16],
        PassTarget::Nhwc => &[PassTarget::NhwcF16, PassTarget::NhwcBf16],
        _ => &[],
    };
    targets.iter().map(|&target| (target, statistics, known)).collect()
}

/// Returns the opcodes of all colour steps, sorted.
fn opcodes() -> Vec<u32> {
    STEPS.iter().map(|step| step.opcode).collect::<BTreeSet<_>>().into_iter().collect()
}

/// Returns sets of the colour steps `all` with numbers of steps, as the module's documentation says.
fn color_parts(all: &[u32]) -> Vec<ColorFacts> {
    let mut parts = Vec::new();
    for set in 0..1u32 << all.len() {
        let opcodes: Vec<u32> = (0..).zip(all).filter(|(i, _)| set >> i & 1 == 1).map(|(_, opcode)| *opcode).collect();
        let steps = match opcodes.len() {
            0 => 0..=MANY_STEPS,
            1 => 1..=MANY_STEPS,
            n if n == all.len() => 1..=MANY_STEPS,
            // Each of these sets gets one number of steps, in turn, so that every number comes with many sets.
            _ => 1 + set % MANY_STEPS..=1 + set % MANY_STEPS,
        };
        parts.extend(steps.map(|steps| ColorFacts {
            opcodes: opcodes.clone(),
            positions: Vec::new(),
            functions: String::new(),
            steps,
        }));
    }
    parts
}

/// Returns a plan with users' own colour steps. They are functions of the colour part like the others, whatever they
/// compute, so one plan stands for all: with a repeated snippet, another one, and a statistic that sees their result.
fn custom_plan(output: &Output) -> Plan {
    let custom =
        |name: &'static str, text: &'static str| -> Transform { CustomColor::new(name, text, |color, _| color).into() };
    let tint = "fn tint(c: vec3<f32>, p: vec4<f32>) -> vec3<f32> { return c * p.xyz; }";
    let fade = "const HALF: f32 = 0.5;
        fn half(x: f32) -> f32 { return HALF * x; }
        fn fade(c: vec3<f32>, p: vec4<f32>) -> vec3<f32> { return select(c, vec3(half(c.x)), p.w > 0.0); }";
    let list = [
        custom("tint", tint),
        RandomResizedCrop::new(8).into(),
        custom("fade", fade),
        custom("tint", tint),
        ColorJitter::new(0.4, 0.4, 0.4, 0.1).into(),
        custom("tint", tint),
    ];
    Plan::compile(&list, output).unwrap()
}

/// Whether GPUFEED_FULL asks for all sets, as `scripts/nightly.sh` does.
fn all_are_seen() -> bool {
    std::env::var_os("GPUFEED_FULL").is_some()
}

/// The binary logarithm of the number of sets that every run checks besides the smallest and the largest.
const SETS: usize = 9;

/// Tells whether every run checks a set of colour steps, which is number `number` among the sets of `all` steps.
fn is_seen(colors: &ColorFacts, number: usize, all: usize) -> bool {
    let steps = colors.opcodes.len();
    // The number is hashed, because every sixteenth set would agree with the others in four steps.
    let chosen = (number as u32).wrapping_mul(0x9E37_79B1) >> (32 - (all - SETS)) == 0;
    steps <= 2 || steps + 1 >= all || chosen
}

/// Returns the enumerated shaders for the colour steps `all`, each once: with all sets of steps, or with those that
/// every run checks.
fn variants(all: &[u32], all_sets: bool) -> Vec<Variant> {
    let without_contrast = all.iter().copied().filter(|&opcode| opcode != opcode::CONTRAST).collect();
    let packed = [DType::F16, DType::BF16, DType::U8].map(Variant::Pack);
    let mut variants: Vec<Variant> = packed.into_iter().chain([Variant::Mix, Variant::MixBytes]).collect();
    for (contrast, opcodes) in [(false, Vec::new()), (false, without_contrast), (true, all.to_vec())] {
        let steps = (opcodes.len() as u32).min(UNROLLED_STEPS);
        let colors = ColorFacts { opcodes, positions: Vec::new(), functions: String::new(), steps };
        variants.extend(frames(contrast).into_iter().map(|frame| Variant::Sample(frame, colors.clone())));
    }
    let parts = color_parts(all).into_iter().enumerate();
    for (_, colors) in parts.filter(|(number, colors)| all_sets || is_seen(colors, *number, all.len())) {
        let statistics = u32::from(colors.opcodes.contains(&opcode::CONTRAST));
        let frame = SamplingFacts {
            source: PassSource::Bytes,
            target: PassTarget::Nchw,
            channels: 3,
            rows: 16,
            statistics,
            known_statistics: statistics,
            filters: [true; FILTERS.len()],
            padded_to: None,
        };
        variants.push(Variant::Sample(frame, colors));
    }
    for layout in [Layout::Nchw, Layout::Nhwc] {
        let plan = custom_plan(&Output { layout, ..Output::default() });
        variants.extend(passes(&plan).into_iter().map(|(_, variant)| variant));
    }
    let mut seen = HashSet::new();
    variants.retain(|variant| seen.insert(variant.clone()));
    variants
}

/// Returns the results of `work` for every shader, in their order; works on all cores.
fn on_all<V: Sync, T: Send>(variants: &[V], work: impl Fn(&V) -> T + Sync) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let run = || {
        let mut results = Vec::new();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            match variants.get(number) {
                Some(variant) => results.push((number, work(variant))),
                None => return results,
            }
        }
    };
    let mut results: Vec<_> = thread::scope(|scope| {
        let threads: Vec<_> =
            (0..thread::available_parallelism().map_or(1, usize::from)).map(|_| scope.spawn(run)).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("no panic")).collect()
    });
    results.sort_by_key(|(number, _)| *number);
    results.into_iter().map(|(_, result)| result).collect()
}

/// Returns the size of every struct in a storage buffer, and the stride of an array of them, in bytes.
fn stored(module: &naga::Module) -> BTreeMap<&str, (u32, Option<u32>)> {
    let mut found = BTreeMap::new();
    let storage = |space| matches!(space, naga::AddressSpace::Storage { .. });
    let buffers = module.global_variables.iter().filter(|(_, variable)| storage(variable.space));
    let mut open: Vec<_> = buffers.map(|(_, variable)| (variable.ty, None)).collect();
    while let Some((ty, stride)) = open.pop() {
        match &module.types[ty].inner {
            naga::TypeInner::Array { base, stride, .. } => open.push((*base, Some(*stride))),
            naga::TypeInner::Struct { members, span } => {
                found.insert(module.types[ty].name.as_deref().unwrap_or_default(), (*span, stride));
                open.extend(members.iter().map(|member| (member.ty, None)));
            }
            _ => {}
        }
    }
    found
}

/// The structs of a stage that may begin with an operator.
fn with_operator(steps: u32, weights: u32) -> BTreeMap<&'static str, (u32, Option<u32>)> {
    let structs = structs_with_operator(steps, weights).into_iter();
    structs.map(|(name, bytes, in_array)| (name, (bytes as u32, in_array.then_some(bytes as u32)))).collect()
}

/// Checks that buffers hold the structs that Rust writes and no other, in Rust's sizes; `wgsl.rs` tests their fields.
fn structs_are_rusts(module: &naga::Module, variant: &Variant) -> Result<(), String> {
    let expected: BTreeMap<_, _> = match variant {
        Variant::Pack(_) => BTreeMap::new(),
        Variant::Mix | Variant::MixBytes => BTreeMap::from([("Mix", (MIX_BYTES as u32, None))]),
        Variant::Kernel(facts, _, colors) if facts.kernel != Kernel::SampleUint8 => {
            with_operator(colors.steps, facts.weights)
        }
        Variant::Tables(_, facts, steps) => with_operator(*steps, facts.weights),
        Variant::Sample(_, colors) | Variant::Kernel(_, _, colors) => structs(colors.steps)
            .into_iter()
            .map(|(name, bytes, in_array)| (name, (bytes as u32, in_array.then_some(bytes as u32))))
            .collect(),
    };
    let found = stored(module);
    if found == expected { Ok(()) } else { Err(format!("the buffers hold {found:?}, Rust writes {expected:?}")) }
}

/// Checks that no variable but those in buffers and workgroup memory is a struct or an array. naga gives each such type
/// a layout, which Vulkan forbids there (VUID-StandaloneSpirv-None-10684), and some drivers fail on it
/// (<https://github.com/gfx-rs/wgpu/issues/7696>).
fn variables_have_no_layout(module: &naga::Module) -> Result<(), String> {
    let private = module.global_variables.iter().filter(|(_, variable)| variable.space == naga::AddressSpace::Private);
    let functions = module.functions.iter().map(|(_, function)| function);
    let functions = functions.chain(module.entry_points.iter().map(|entry| &entry.function));
    let locals = functions.flat_map(|function| function.local_variables.iter().map(|(_, variable)| variable));
    let all = private.map(|(_, variable)| (&variable.name, variable.ty));
    for (name, ty) in all.chain(locals.map(|variable| (&variable.name, variable.ty))) {
        if matches!(module.types[ty].inner, naga::TypeInner::Struct { .. } | naga::TypeInner::Array { .. }) {
            return Err(format!("the variable {name:?} is a struct or an array: see shaders/prelude.wgsl"));
        }
    }
    Ok(())
}

#[test]
fn variables_with_a_layout_are_noticed() {
    let noticed = |text: &str| variables_have_no_layout(&naga::front::wgsl::parse_str(text).unwrap()).is_err();
    assert!(noticed("struct A { x: f32 } var<private> a: A; fn f() -> f32 { return a.x; }"));
    assert!(noticed("fn f() -> f32 { var a: array<f32, 4>; return a[1]; }"));
    assert!(!noticed("var<private> a: mat4x4<f32>; var<workgroup> b: array<f32, 4>; fn f() -> f32 { return a[0].x; }"));
}

/// The check can fail: buffers for one step more or less are noticed.
#[test]
fn other_sizes_are_noticed() {
    let frame = frames(false)[0];
    let variant = |steps| {
        Variant::Sample(
            frame,
            ColorFacts { opcodes: vec![opcode::HUE], positions: Vec::new(), functions: String::new(), steps },
        )
    };
    let (module, _) = validate(&variant(3).text()).unwrap();
    assert_eq!(structs_are_rusts(&module, &variant(3)), Ok(()));
    assert!(structs_are_rusts(&module, &variant(2)).unwrap_err().contains("Image"));
    assert!(structs_are_rusts(&module, &Variant::Pack(DType::U8)).is_err());
}

/// This test also compares the SPIR-V with the frozen hashes, because a test of its own would take another minute.
#[test]
fn every_variant_validates_and_translates_to_what_it_was() {
    let frozen = frozen::variants();
    let mut variants = variants(&opcodes(), all_are_seen());
    variants.extend(kernels::variants());
    let known: HashSet<Variant> = variants.iter().cloned().collect();
    variants.extend(frozen.iter().filter(|(_, variant)| !known.contains(variant)).map(|(_, variant)| variant.clone()));
    let results = on_all(&variants, |variant| -> Result<u64, String> {
        let (module, info) = validate(&variant.text()).map_err(|error| error.to_string())?;
        structs_are_rusts(&module, variant)?;
        variables_have_no_layout(&module)?;
        let mut spirv = 0;
        for (language, translate) in TRANSLATORS {
            let code = translate(&module, &info).map_err(|error| format!("{language}: {error}"))?;
            spirv = if language == SPIRV_NAME { xxh3_64(&code) } else { spirv };
        }
        Ok(spirv)
    });
    let (mut failures, mut hashes) = (Vec::new(), Vec::new());
    for (variant, result) in variants.iter().zip(results) {
        match result {
            Ok(hash) => hashes.push(hash),
            Err(reason) => failures.push(format!("{variant:?}: {reason}")),
        }
    }
    assert!(failures.is_empty(), "{} of {}, the first: {}", failures.len(), variants.len(), failures[0]);
    println!("{} variants, each in {} languages", variants.len(), TRANSLATORS.len());
    let hashes: HashMap<_, _> = variants.iter().zip(hashes).collect();
    frozen::check(&frozen, |variant| hashes[variant]);
}

#[test]
fn color_steps_have_neither_barriers_nor_workgroup_memory() {
    for step in STEPS.iter().chain(UINT8_STEPS) {
        let holds = |word: &str| step.wgsl.to_lowercase().contains(word);
        assert!(!holds("barrier") && !holds("workgroup"), "{}: see the module", step.name);
    }
}

/// The translators can fail: they refuse a text without an entry point, or with a binding that they do not know.
#[test]
fn translators_refuse() {
    let text = Variant::Pack(DType::F16).text();
    for (language, translate) in TRANSLATORS {
        let (module, info) = validate(&text.replace("fn main(", "fn other(")).unwrap();
        assert!(translate(&module, &info).is_err(), "{language} without an entry point");
        // naga's GLSL backend leaves unknown bindings to the driver.
        if language != "GLSL" {
            let (module, info) = validate(&text.replace("@binding(3)", "@binding(5)")).unwrap();
            assert!(translate(&module, &info).is_err(), "{language} with a binding that there is not");
        }
    }
}

/// Writes a file for each shader: to the folder that GPUFEED_SHADERS names, where `scripts/test-tint.sh` reads them,
/// else to a temporary folder. With GPUFEED_TRANSLATED=1, its translations as well, for `scripts/test-translations.sh`.
#[test]
fn every_variant_has_a_file() {
    let own = tempfile::tempdir().unwrap();
    let folder = std::env::var_os("GPUFEED_SHADERS").map_or(own.path().to_owned(), std::path::PathBuf::from);
    let mut variants = variants(&opcodes(), all_are_seen());
    variants.extend(kernels::variants());
    let mut written = 0;
    for (number, variant) in variants.iter().enumerate() {
        let text = variant.text();
        // Browsers have no numbers of 16 bits.
        if text.starts_with("enable ") {
            continue;
        }
        std::fs::write(folder.join(format!("{number:05}.wgsl")), format!("// {variant:?}\n{text}")).unwrap();
        written += 1;
    }
    assert!(written < variants.len(), "some are for devices that store numbers of 16 bits");
    if std::env::var_os("GPUFEED_TRANSLATED").is_some_and(|value| value == "1") {
        on_all(&(0..).zip(&variants).collect::<Vec<(usize, _)>>(), |(number, variant)| {
            let (module, info) = validate(&variant.text()).unwrap();
            for (end, code) in translate::files(&module, &info).unwrap() {
                std::fs::write(folder.join(format!("{number:05}.{end}")), code).unwrap();
            }
        });
    }
    let mut texts = HashSet::new();
    for file in std::fs::read_dir(&folder).unwrap() {
        let path = file.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "wgsl") {
            texts.insert(std::fs::read_to_string(path).unwrap());
        }
    }
    assert_eq!(texts.len(), written, "as many different texts in {}", folder.display());
}

/// Returns the enumerated shader that stands for `variant`.
fn representative(variant: Variant) -> Variant {
    let Variant::Sample(mut frame, colors) = variant else { return variant };
    let all_known = frame.known_statistics == frame.statistics;
    frame.statistics = if frame.statistics > 1 { SEVERAL_STATISTICS } else { frame.statistics };
    frame.known_statistics =
        if all_known { frame.statistics } else { frame.known_statistics.min(SEVERAL_STATISTICS - 1) };
    // A constant in the text; `kernels.rs` and the recipes have others.
    frame.rows = 16;
    frame.target = match frame.target {
        PassTarget::NchwF16 | PassTarget::NchwBf16 => PassTarget::Nchw,
        PassTarget::NhwcF16 | PassTarget::NhwcBf16 => PassTarget::Nhwc,
        other => other,
    };
    Variant::Sample(frame, ColorFacts { steps: colors.steps.min(MANY_STEPS), ..colors })
}

/// Returns the shaders of `plan` for which no enumerated shader stands.
fn outside(plan: &Plan, frames: &HashSet<SamplingFacts>, parts: &HashSet<ColorFacts>) -> Vec<Variant> {
    let stands = |variant: &Variant| match variant {
        Variant::Pack(dtype) => *dtype != DType::F32,
        Variant::Mix | Variant::MixBytes => true,
        Variant::Kernel(..) | Variant::Tables(..) => false,
        Variant::Sample(frame, colors) => {
            // The set of steps must be enumerated with some number of steps, and the number with some set.
            let all =
                ColorFacts { opcodes: opcodes(), positions: Vec::new(), functions: String::new(), steps: colors.steps };
            let sets = colors.positions.iter().chain([&colors.opcodes]);
            let is_part = |opcodes: &Vec<u32>| {
                let opcodes = opcodes.clone();
                let mut colors = ColorFacts { opcodes, positions: Vec::new(), ..colors.clone() };
                (0..=MANY_STEPS).any(|steps| {
                    colors.steps = steps;
                    parts.contains(&colors)
                })
            };
            frames.contains(frame) && sets.into_iter().all(is_part) && (colors.steps == 0 || parts.contains(&all))
        }
    };
    let variants = passes(plan).into_iter().map(|(_, variant)| representative(variant));
    variants.filter(|variant| !stands(variant)).collect()
}

#[test]
fn every_plan_is_inside_the_enumeration() {
    let frames: HashSet<SamplingFacts> = [false, true].into_iter().flat_map(frames).collect();
    let parts: HashSet<ColorFacts> = color_parts(&opcodes()).into_iter().collect();
    let mut met = HashSet::new();
    for number in 0..3000 {
        let mut dice = Dice(number);
        let dtype = [DType::U8, DType::F32, DType::F16, DType::BF16][number as usize / 2 % 4];
        let list = lists::list(&mut dice, dtype != DType::U8);
        let layout = if dice.chance(50) { Layout::Nchw } else { Layout::Nhwc };
        let channels = if dice.chance(30) { 1 } else { 3 };
        let list = for_channels(channels, list);
        let plan = Plan::compile_for(channels, &list, &Output { layout, dtype }).unwrap();
        let plan = if number % 2 == 0 { storing_16_bits(&plan) } else { plan };
        let outside = outside(&plan, &frames, &parts);
        assert!(outside.is_empty(), "{plan}{outside:?}");
        met.extend(passes(&plan).into_iter().map(|(_, variant)| representative(variant)));
        // The check can fail: without the frames that write the last stage's rows, every plan is outside.
        let fewer = frames
            .iter()
            .copied()
            .filter(|frame| !matches!(frame.target, PassTarget::Nchw | PassTarget::Nhwc))
            .collect();
        assert!(!self::outside(&plan, &fewer, &parts).is_empty());
    }
    println!("{} variants met", met.len());
    assert!(met.len() > 300, "only {}", met.len());
}
