//! Tests that custom colour steps are fused, and compute what their functions say. Their parameters are tested in
//! `tests/draws/custom.rs`, and refused steps in `tests/pipeline/custom_refused.rs`.
//!
//! Every list runs on the CPU executor and on every adapter's shaders, and op by op in f64: the built-in ops by
//! `crates/testing/src/reference/`, the custom ones by a third version of each function.

use gpufeed::transforms::{
    ColorJitter, CustomColor, Grayscale, Key, Normalize, Op, Pad, Params, RandomApply, RandomCrop,
    RandomHorizontalFlip, RandomResizedCrop, Resize, Transform,
};
use gpufeed::{Output, Plan};
use gpufeed_testing::adapters::places;
use gpufeed_testing::compare::{Tally, within};
use gpufeed_testing::images::Source;
use gpufeed_testing::{procedural, reference};

type Exact = fn([f64; 3], [f64; 4]) -> [f64; 3];
/// The function in f64 of each op slot that has a custom step.
type Functions = Vec<(u16, Exact)>;

const TONE: &str = "
const WARM = vec3(1.0, 0.85, 0.6);
fn gray(color: vec3<f32>) -> f32 {
    return dot(color, vec3(0.3, 0.6, 0.1));
}
fn tone(color: vec3<f32>, parameters: vec4<f32>) -> vec3<f32> {
    let toned = mix(color, gray(color) * WARM, parameters.x) * parameters.y;
    return toned + vec3(parameters.z, 0.0, parameters.w) * color.bgr;
}
";

fn tone(color: [f32; 3], [x, y, z, w]: [f32; 4]) -> [f32; 3] {
    let [r, g, b] = color;
    let gray = r * 0.3 + g * 0.6 + b * 0.1;
    let mixed = |c: f32, warm: f32| (c * (1.0 - x) + gray * warm * x) * y;
    [mixed(r, 1.0) + z * b, mixed(g, 0.85), mixed(b, 0.6) + w * r]
}

fn exact_tone([r, g, b]: [f64; 3], [x, y, z, w]: [f64; 4]) -> [f64; 3] {
    let gray = 0.3 * r + 0.6 * g + 0.1 * b;
    [(r + (gray - r) * x) * y + z * b, (g + (0.85 * gray - g) * x) * y, (b + (0.6 * gray - b) * x) * y + w * r]
}

/// Every name in this snippet is also a name in the other snippet, in gpufeed's shaders or in WGSL itself.
const CURVE: &str = "
alias Step = vec3<f32>; // gpufeed's struct
const WARM = 0.8;
struct Axis { gray: f32, clamp: f32 }
fn gray(color: Step) -> f32 { return color.g; }
fn clamp(value: f32) -> f32 { return min(value, WARM); }
fn luma(both: Axis) -> f32 { return both.gray - both.clamp; }
fn curve(color: Step, parameters: vec4<f32>) -> Step {
    let color_step = Axis(gray(color), clamp(color.r));
    return vec3(color_step.clamp, luma(color_step), color.b * color.b * parameters.x);
}
";

fn curve([r, g, b]: [f32; 3], parameters: [f32; 4]) -> [f32; 3] {
    [r.min(0.8), g - r.min(0.8), b * b * parameters[0]]
}

fn exact_curve([r, g, b]: [f64; 3], parameters: [f64; 4]) -> [f64; 3] {
    [r.min(0.8), g - r.min(0.8), b * b * parameters[0]]
}

fn toning() -> CustomColor {
    CustomColor::new("tone", TONE, tone).draw(|numbers| {
        let mut uniform = |low, high| numbers.uniform(low, high) as f32;
        Some([uniform(0.0, 1.0), uniform(0.5, 1.0), uniform(0.0, 0.3), uniform(-0.2, 0.2)])
    })
}

fn curving() -> CustomColor {
    CustomColor::new("curve", CURVE, curve).draw(|numbers| Some([numbers.uniform(0.5, 1.5) as f32, 0.0, 0.0, 0.0]))
}

fn plan(channels: u32, list: &[Transform]) -> Plan {
    Plan::compile_for(channels, list, &Output::default()).unwrap_or_else(|error| panic!("{list:?}: {error}"))
}

/// Returns the result in f64, op by op; `functions` has the function of each op slot with a custom step.
fn expected(source: &Source, params: &Params, functions: &[(u16, Exact)]) -> Vec<f64> {
    let mut image = source.floats();
    for params in &params.ops {
        let Op::Custom { parameters } = params.op else {
            let outcome = reference::run(&image, [&params.op]);
            assert!(!outcome.on_a_jump && !outcome.doubtful.contains(&true), "rounding decides: {params:?}");
            image = outcome.image;
            continue;
        };
        let (_, function) = functions.iter().find(|(slot, _)| *slot == params.slot).expect("the slot is known");
        let plane = image.planes.len() / image.channels;
        for i in 0..plane {
            let color = [0, 1, 2].map(|c| image.planes[if image.channels == 1 { i } else { c * plane + i }]);
            let color = function(color, parameters.map(f64::from));
            (0..image.channels).for_each(|c| image.planes[c * plane + i] = color[c]);
        }
    }
    image.planes
}

/// Returns cases: channels, a list, the function of each op slot with a custom step, and the number of passes that the
/// plan may take.
fn lists() -> Vec<(u32, Vec<Transform>, Functions, usize)> {
    let tone = || Transform::from(toning());
    let contrast = || Transform::from(ColorJitter::new(0.0, 0.9, 0.0, 0.0));
    let (resize, flip): (Transform, Transform) = (Resize::new((21, 26)).into(), RandomHorizontalFlip::new(1.0).into());
    let applied = RandomApply::new(0.5, [tone(), ColorJitter::new(0.4, 0.0, 0.4, 0.1).into()]);
    let nine = toning();
    vec![
        (3, vec![RandomResizedCrop::new(24).into(), tone(), Normalize::IMAGENET.into()], vec![(1 + 1, exact_tone)], 1),
        (3, vec![resize.clone(), Normalize::IMAGENET.into(), tone()], vec![(2, exact_tone)], 1),
        (3, vec![applied.into(), RandomCrop::new((20, 30)).into()], vec![(0, exact_tone)], 1),
        // The mean for the contrast is that of the toned image.
        (3, vec![flip, tone(), contrast()], vec![(1, exact_tone)], 2),
        (
            3,
            vec![tone(), curving().into(), contrast(), tone()],
            vec![(0, exact_tone), (1, exact_curve), (6, exact_tone)],
            2,
        ),
        // A custom step before a resize takes a stage of its own, as a built-in colour step does.
        (3, vec![tone(), resize], vec![(0, exact_tone)], 2),
        (3, vec![tone(), Pad::new(2).into(), curving().into()], vec![(0, exact_tone), (2, exact_curve)], 2),
        // One step stands in nine op slots, more than the shader unrolls.
        (3, vec![nine.into(); 9], (0..9).map(|slot| (slot, exact_tone as Exact)).collect(), 1),
        // On one channel, the first of the three values that the function returns counts, and all later ops see it.
        (1, vec![tone(), contrast()], vec![(0, exact_tone)], 2),
        (1, vec![tone(), Grayscale::new(3).into(), curving().into()], vec![(0, exact_tone), (2, exact_curve)], 1),
        (3, vec![Grayscale::new(1).into(), curving().into()], vec![(1, exact_curve)], 1),
    ]
}

#[test]
fn every_backend_computes_what_the_functions_say() {
    let mut tallies: Vec<(Tally, Tally)> = places().iter().map(|_| Default::default()).collect();
    for (number, (channels, list, functions, passes)) in lists().into_iter().enumerate() {
        let plan = plan(channels, &list);
        assert_eq!(plan.passes(), passes, "{plan}");
        let prepared: Vec<_> = places().iter().map(|place| place.prepare(&plan)).collect();
        let (mut custom, mut absent) = (0, 0);
        for sample in 0..6 {
            let source = procedural::build((37, 31, channels), |x, y, c| procedural::value(sample as u32, x, y, c));
            let params = plan.make_params(37, 31, &Key { seed: 5, sample, ..Key::default() }).unwrap();
            if params.ops.iter().any(|params| matches!(params.op, Op::Custom { .. })) {
                custom += 1
            } else {
                absent += 1
            }
            let expected = expected(&source, &params, &functions);
            // `Normalize` multiplies a rounding error by 4.5.
            let bar = if list.contains(&Normalize::IMAGENET.into()) { 5e-5 } else { 1e-5 };
            let on_cpu = prepared[0].floats(&source, &params);
            let twin: Vec<f64> = on_cpu.iter().copied().map(f64::from).collect();
            for (prepared, (exact, same)) in prepared.iter().zip(&mut tallies) {
                let (values, name) = (prepared.floats(&source, &params), format!("list {number}: {plan}{params:?}"));
                exact.add("against f64", &name, within(&expected, &values, bar));
                same.add("against the CPU executor", &name, within(&twin, &values, bar));
            }
        }
        let optional = list.iter().any(|transform| matches!(transform, Transform::RandomApply(_)));
        assert!(custom > 0 && (absent > 0) == optional, "{custom} images with a custom step, {absent} without: {plan}");
    }
    for (place, (exact, same)) in places().iter().zip(tallies) {
        exact.finish(&place.name);
        same.finish(&place.name);
    }
}

/// The step's CPU function is off by 1/500 in one of the three channels.
#[test]
fn the_comparison_rejects_a_twin_that_differs() {
    let off = |color, parameters| {
        let [r, g, b] = tone(color, parameters);
        [r, g + 0.002, b]
    };
    let plan = plan(3, &[CustomColor::new("tone", TONE, off).into()]);
    let source = procedural::build((20, 20, 3), |x, y, c| procedural::value(1, x, y, c));
    let params = plan.make_params(20, 20, &Key::default()).unwrap();
    let expected = expected(&source, &params, &[(0, exact_tone)]);
    for (i, place) in places().iter().enumerate() {
        let result = within(&expected, &place.prepare(&plan).floats(&source, &params), 1e-5);
        assert_eq!(result.is_err(), i == 0, "{}: only the CPU runs the twin: {result:?}", place.name);
    }
}

/// The CPU executor finishes an image whose reduction is too extreme for a shader's loops, so every backend gives the
/// bits of the CPU function.
#[test]
fn an_image_that_the_cpu_finishes_takes_the_twin() {
    let plan = plan(3, &[Resize::new((16, 16)).into(), toning().into(), Normalize::IMAGENET.into()]);
    let source = procedural::build((2000, 1000, 3), |x, y, c| procedural::value(2, x, y, c));
    let params = plan.make_params(2000, 1000, &Key::default()).unwrap();
    let on_cpu = places()[0].prepare(&plan).bytes(&source, &params);
    within(&expected(&source, &params, &[(1, exact_tone)]), &places()[0].prepare(&plan).floats(&source, &params), 5e-5)
        .unwrap();
    for place in &places()[1..] {
        assert!(place.prepare(&plan).bytes(&source, &params) == on_cpu, "{}", place.name);
    }
}

#[test]
fn a_custom_step_costs_what_a_built_in_one_costs() {
    let built_in = || Transform::from(ColorJitter::new(0.4, 0.0, 0.0, 0.0));
    let crop = || Transform::from(RandomResizedCrop::new(16));
    for step in [toning().into(), curving().into(), Transform::from(CustomColor::new("tone", TONE, tone))] {
        for lists in [
            [vec![crop(), step.clone()], vec![crop(), built_in()]],
            [vec![step.clone(), crop()], vec![built_in(), crop()]],
            [vec![step.clone(), RandomCrop::new(8).into()], vec![built_in(), RandomCrop::new(8).into()]],
            [vec![step.clone(), Pad::new(1).into()], vec![built_in(), Pad::new(1).into()]],
        ] {
            let [ours, theirs] = lists.map(|list| plan(3, &list));
            assert_eq!(ours.passes(), theirs.passes(), "{ours}{theirs}");
        }
    }
    assert!(plan(3, &[crop(), toning().into()]).to_string().contains("RandomResizedCrop + tone;"));
}
