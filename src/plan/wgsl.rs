//! Generates a pass's shader: whole WGSL files, concatenated, after the constants and with the calls between them.
//!
//! The text of a pass depends only on the plan, not on an image; naga validates it before wgpu sees it.

use super::pass::{ColorFacts, PassSource, PassTarget, SamplingFacts, Variant};
use super::{DType, custom};
use crate::color::{ColorStep, Facts, STEPS, opcode};
use crate::error::{ErrorKind, Result};

/// Workgroup of the sampling passes: x-major lanes, a multiple of every GPU's wave.
pub(crate) const GROUP: (u32, u32) = (32, 8);
/// The number of output rows that one thread of the strip kernel computes.
pub(crate) const ROWS: u32 = 16;
/// Partial sums of a statistic: the number of workgroups that share one image's mean.
pub(crate) const PARTIALS: u32 = 16;

macro_rules! shader {
    ($path:literal) => {
        include_str!(concat!("../../shaders/", $path, ".wgsl"))
    };
}

/// Constants that tell what a stage can need; the driver removes the rest.
pub const FILTERS: [&str; 5] = ["BORDERS", "LINEARS", "CUBICS", "LINEAR_ANTIALIASES", "CUBIC_ANTIALIASES"];

impl Variant {
    /// Returns the whole text of the shader.
    pub fn text(&self) -> String {
        match self {
            Variant::Sample(frame, colors) => sampling_pass(frame, colors),
            Variant::Pack(DType::U8) => [shader!("store/packed_u8"), shader!("store/packed")].join("\n"),
            Variant::Mix => shader!("batch/mix").to_owned(),
            Variant::Pack(_) => [shader!("store/packed_f16"), shader!("store/packed")].join("\n"),
        }
    }
}

/// The text of a sampling pass: constants, the files before the colour steps, the colour steps, and the files after
/// them.
fn sampling_pass(frame: &SamplingFacts, colors: &ColorFacts) -> String {
    let mut text = String::new();
    let mut constant = |name: &str, value: u32| text.push_str(&format!("const {name}: u32 = {value}u;\n"));
    constant("GROUP_X", GROUP.0);
    constant("GROUP_Y", GROUP.1);
    constant("GROUP_SIZE", GROUP.0 * GROUP.1);
    constant("ROWS", ROWS);
    constant("PARTIALS", PARTIALS);
    constant("MAX_STEPS", colors.steps.max(1));
    constant("CHANNELS", frame.channels);
    constant("CONTRAST", opcode::CONTRAST);
    constant("STATISTICS", frame.statistics.max(1));
    constant("KNOWN_STATISTICS", frame.known_statistics);
    for (name, value) in FILTERS.iter().zip(frame.filters) {
        text.push_str(&format!("const {name}: bool = {value};\n"));
    }
    let mut files = vec![
        shader!("prelude"),
        match frame.source {
            PassSource::Bytes => shader!("source/bytes"),
            PassSource::Floats => shader!("source/floats"),
        },
        if frame.statistics > 0 { shader!("reduce/means") } else { shader!("reduce/none") },
        shader!("color/luma"),
    ];
    // The files of placed steps call the function in `color/rectangle`.
    if colors.opcodes.iter().any(|&opcode| Facts::of(opcode).placed) {
        files.push(shader!("color/rectangle"));
    }
    // `gaussian_noise` calls the functions in `color/noise`.
    let calls_noise = colors.opcodes.contains(&opcode::GAUSSIAN_NOISE);
    let held =
        |step: &&ColorStep| colors.opcodes.contains(&step.opcode) || (calls_noise && step.opcode == opcode::NOISE);
    files.extend(STEPS.iter().filter(held).map(|step| step.wgsl));
    text.push_str(&files.join("\n"));
    text.push_str(&colors.functions);
    text.push_str(&color_calls(&colors.opcodes, colors.steps));
    let mut files = vec![shader!("sample/direct"), shader!("sample/strip"), SAMPLE];
    match frame.target {
        PassTarget::Statistic => files.push(shader!("reduce/mean")),
        PassTarget::Intermediate => files.extend([shader!("store/intermediate"), shader!("store/stage")]),
        PassTarget::Nchw => files.extend([shader!("store/nchw"), shader!("store/stage")]),
        PassTarget::Nhwc => files.extend([shader!("store/nhwc"), shader!("store/stage")]),
    }
    text.push_str(&files.join("\n"));
    text
}

/// The kernel depends on the image, so all threads of a workgroup take the same branch.
const SAMPLE: &str = "
fn sample(image: u32, x: i32, first_y: i32, end_y: i32) {
    if LINEAR_ANTIALIASES && images[image].strip == 1u {
        strip(image, x, first_y, end_y);
    } else {
        direct(image, x, first_y, end_y);
    }
}
";

/// Up to this number of steps are loaded into registers and called one after the other; more are looped over in the
/// buffer.
pub const UNROLLED_STEPS: u32 = 8;

/// The calls of the colour steps that a stage can have: `load_steps`, once for each thread, and `color`.
fn color_calls(opcodes: &[u32], max_steps: u32) -> String {
    let mut text = String::new();
    let mut cases = String::new();
    let customs = opcodes.iter().filter(|&&opcode| opcode >= opcode::CUSTOM);
    let customs = customs.map(|&opcode| (opcode, custom::function(opcode)));
    let built_in = STEPS.iter().filter(|step| opcodes.contains(&step.opcode));
    for (opcode, name) in built_in.map(|step| (step.opcode, step.name.to_owned())).chain(customs) {
        let place = if Facts::of(opcode).placed { ", x, y" } else { "" };
        let case = format!("        case {opcode}u: {{\n            return {name}(value, step{place});\n        }}\n");
        cases.push_str(&case);
    }
    let unrolled = max_steps <= UNROLLED_STEPS;
    let (mut variables, mut loads, mut calls) = (String::new(), String::new(), String::new());
    for i in (0..max_steps).filter(|_| unrolled) {
        // Steps that an image lacks are zeros; opcode 0 does nothing.
        variables.push_str(&format!("var<private> step_{i}: Step;\n"));
        loads.push_str(&format!("    step_{i} = images[image].steps[{i}];\n"));
        calls
            .push_str(&format!("    if {i}u < end {{\n        result = color_step(result, step_{i}, x, y);\n    }}\n"));
    }
    if !unrolled {
        calls.push_str("    for (var i = 0u; i < end; i++) {\n        result = color_step(result, images[image].steps[i], x, y);\n    }\n");
    }
    text.push_str(&format!("\n{variables}\nfn load_steps(image: u32) {{\n{loads}}}\n"));
    if opcodes.is_empty() {
        text.push_str(
            "\nfn color(image: u32, x: i32, y: i32, value: vec4<f32>, end: u32) -> vec4<f32> {\n    return value;\n}\n",
        );
        return text;
    }
    text.push_str(&format!(
        "
fn color_step(value: vec4<f32>, step: Step, x: i32, y: i32) -> vec4<f32> {{
    switch step.opcode {{
{cases}        default: {{
            return value;
        }}
    }}
}}

// The image's first `end` colour steps, in its own order, on the pixel of column `x`, row `y`.
fn color(image: u32, x: i32, y: i32, value: vec4<f32>, end: u32) -> vec4<f32> {{
    var result = value;
{calls}    return result;
}}
"
    ));
    text
}

/// Parses and validates a shader; errors carry naga's message with its line.
pub fn validate(text: &str) -> Result<(naga::Module, naga::valid::ModuleInfo)> {
    let fail = |reason: String| ErrorKind::Device { stage: "shader validation", reason };
    let module = naga::front::wgsl::parse_str(text).map_err(|error| fail(error.emit_to_string(text)))?;
    let info = naga::valid::Validator::new(naga::valid::ValidationFlags::all(), naga::valid::Capabilities::empty())
        .validate(&module)
        .map_err(|error| fail(error.emit_to_string(text)))?;
    Ok((module, info))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::color::Step;
    use crate::plan::pass::Pass;
    use crate::plan::sampling::Axis;
    use crate::plan::shader_layout::Image;
    use crate::plan::{Layout, Output, Plan};
    use crate::transforms::*;
    use std::mem::offset_of;

    /// Offset of each member of `name`, as naga lays it out.
    fn members(module: &naga::Module, name: &str) -> Vec<(String, u32)> {
        let found =
            module.types.iter().find(|(_, ty)| ty.name.as_deref() == Some(name)).expect("the struct is declared");
        let naga::TypeInner::Struct { members, .. } = &found.1.inner else { panic!("{name} is no struct") };
        members.iter().map(|member| (member.name.clone().unwrap_or_default(), member.offset)).collect()
    }

    macro_rules! offsets {
        ($ty:ty: $($field:ident),+ $(,)?) => {
            vec![$((stringify!($field).to_owned(), offset_of!($ty, $field) as u32)),+]
        };
    }

    fn train() -> Vec<Transform> {
        vec![
            RandomResizedCrop::new(24).into(),
            ColorJitter::new(0.4, 0.4, 0.4, 0.1).into(),
            RandomGrayscale::new(0.2).into(),
            Normalize::IMAGENET.into(),
        ]
    }

    #[test]
    fn rust_and_wgsl_lay_structs_out_alike() {
        let plan = Plan::compile(&train(), &Output::default()).unwrap();
        let (module, _) = validate(&plan.shader(Pass::Stage { stage: 0 })).unwrap();
        let unpadded = |name: &str| -> Vec<_> {
            members(&module, name).into_iter().filter(|(name, _)| !name.starts_with("padding")).collect()
        };
        let axis = offsets!(Axis: len, grid_mirror, grid_window, grid_start, grid_len, scale, support, inverse, view_len,
            view_mirror, source_window, source_start, source_len, phase);
        assert_eq!(unpadded("Axis"), axis);
        let mut step = offsets!(Step: opcode, value);
        let integers = offset_of!(Step, integers) as u32;
        step.splice(1..1, (0..3).map(|i| (format!("integer_{i}"), integers + 4 * i)));
        assert_eq!(unpadded("Step"), step);
        let mut image = offsets!(Image: x, y, source_fill, grid_fill, source_border, grid_border, filter_mode, strip,
            source_offset, source_stride, source_float, target_offset, steps_len, number);
        image.push(("steps".to_owned(), size_of::<Image>() as u32));
        assert_eq!(unpadded("Image"), image);
        // A struct with a moved field must fail, which shows that the test notices such a field.
        image[1].1 += 4;
        assert_ne!(unpadded("Image"), image);
    }

    #[test]
    fn every_pass_validates() {
        let two_stages = vec![ColorJitter::new(0.1, 0.1, 0.1, 0.1).into(), Resize::new((8, 8)).into()];
        let many: Vec<Transform> = (0..5).flat_map(|_| train().into_iter().skip(1).take(2)).collect();
        let gray = vec![RandomCrop::new(8).padding(2).into(), Grayscale::new(1).into()];
        let erasing = |value: ErasingValue| {
            vec![
                RandomErasing::new(0.5).value(value).into(),
                ColorJitter::new(0.0, 0.5, 0.0, 0.0).into(),
                Pad::new(1).into(),
            ]
        };
        let erasings = [erasing(ErasingValue::All(0.5)), erasing(ErasingValue::Random)];
        for list in [train(), two_stages, many, gray, vec![]].into_iter().chain(erasings) {
            for layout in [Layout::Nchw, Layout::Nhwc] {
                for dtype in [DType::F32, DType::F16, DType::U8] {
                    let Ok(plan) = Plan::compile(&list, &Output { layout, dtype }) else { continue };
                    for pass in plan.pass_list() {
                        let text = plan.shader(pass);
                        validate(&text).unwrap_or_else(|error| panic!("{pass:?}: {error}\n{text}"));
                    }
                }
            }
        }
    }

    #[test]
    fn a_shader_holds_the_steps_that_its_plan_can_emit() {
        let held = |list: &[Transform]| -> Vec<&str> {
            let plan = Plan::compile(list, &Output::default()).unwrap();
            let text = plan.shader(Pass::Stage { stage: 0 });
            let called = |name: &&str| text.contains(&format!("return {name}(value, step"));
            STEPS.iter().map(|step| step.name).filter(called).collect()
        };
        assert_eq!(held(&[RandomGrayscale::new(0.2).into()]), ["grayscale"]);
        assert_eq!(held(&[RandomErasing::default().into()]), ["erase"]);
        assert_eq!(held(&[ColorJitter::new(0.4, 0.0, 0.0, 0.1).into()]), ["brightness", "hue"]);
        assert_eq!(held(&[ColorJitter::new(0.0, 0.4, 0.4, 0.0).into()]), ["contrast", "saturation"]);
        assert_eq!(held(&[Normalize::IMAGENET.into(), Grayscale::new(1).into()]), ["grayscale", "subtract", "divide"]);
    }

    #[test]
    fn a_broken_shader_is_refused_with_its_line() {
        let error = validate("fn main() {\n    let x: u32 = 1.5;\n}\n").unwrap_err().to_string();
        assert!(error.contains("wgsl:2"), "{error}");
    }
}
