//! Generates a pass's shader: whole WGSL files, concatenated, after the constants and with the calls between them.
//!
//! The text of a pass depends only on the plan, not on an image; naga validates it before wgpu sees it.

use super::variant::{ColorFacts, Kernel, KernelFacts, PassSource, PassTarget, SamplingFacts, Variant};
use super::{DType, custom};
use crate::color::{ColorStep, Facts, STEPS, UINT8_STEPS, opcode};
use crate::error::{ErrorKind, Result};

/// Workgroup of the sampling passes: x-major, a multiple of every GPU's wave.
pub(crate) const GROUP: (u32, u32) = (32, 8);
/// The most output rows that one thread computes; `rows.rs` has the rule.
pub(crate) const MOST_ROWS: u32 = 16;
const _: () = assert!(MOST_ROWS == 16, "shaders/gather/blur.wgsl holds a column in four matrices of four");
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
            Variant::Sample(frame, colors) => sampling_pass(None, frame, colors),
            Variant::Kernel(kernel, frame, colors) => sampling_pass(Some(kernel), frame, colors),
            Variant::Tables(source, kernel, steps) => tables_pass(*source, kernel, *steps),
            Variant::Pack(DType::U8) => [shader!("store/packed_u8"), shader!("store/packed")].join("\n"),
            Variant::Mix => [shader!("batch/mix_inputs"), shader!("batch/mixed"), shader!("batch/mix")].join("\n"),
            Variant::MixBytes => {
                [shader!("batch/mix_inputs"), shader!("batch/mixed_bytes"), shader!("batch/mix")].join("\n")
            }
            Variant::Pack(DType::BF16) => {
                [shader!("store/bfloat_bits"), shader!("store/packed_bf16"), shader!("store/packed")].join("\n")
            }
            Variant::Pack(_) => {
                [shader!("store/half_bits"), shader!("store/packed_f16"), shader!("store/packed")].join("\n")
            }
        }
    }
}

/// The text of a sampling pass: constants, the files before the colour steps, the colour steps, and the files after
/// them.
fn sampling_pass(kernel: Option<&KernelFacts>, frame: &SamplingFacts, colors: &ColorFacts) -> String {
    let mut text = constants(kernel, frame, colors.steps);
    text.push_str(&prelude(kernel));
    text.push_str(source(frame.source));
    if matches!(kernel, None | Some(KernelFacts { kernel: Kernel::Sample, .. })) {
        text.push_str(match frame.source {
            PassSource::Bytes => shader!("source/bytes_row"),
            PassSource::Floats => shader!("source/floats_row"),
        });
    }
    let sums_uint8 = kernel.is_some_and(|facts| facts.statistics_are_uint8);
    let mut files = Vec::new();
    if computes_uint8(kernel, &colors.opcodes) {
        files.push(shader!("color/levels"));
    }
    files.push(match (frame.statistics, sums_uint8) {
        (0, _) => shader!("reduce/none"),
        (_, false) => shader!("reduce/means"),
        (_, true) => shader!("reduce/means_u8"),
    });
    files.push(shader!("color/luma"));
    // The files of placed steps call the function in `color/rectangle`.
    if colors.opcodes.iter().any(|&opcode| Facts::of(opcode).placed) {
        files.push(shader!("color/rectangle"));
    }
    files.extend(steps_files(&colors.opcodes));
    let arithmetic = Arithmetic::of(kernel, &colors.opcodes);
    files.extend(arithmetic.file());
    text.push_str(&files.join("\n"));
    text.push_str(&means(frame.statistics, sums_uint8));
    text.push_str(&colors.functions);
    text.push_str(&color_calls(colors, arithmetic));
    let mut files = kernel_files(kernel);
    match frame.target {
        PassTarget::Statistic if sums_uint8 => files.push(shader!("reduce/mean_u8")),
        PassTarget::Statistic => files.push(shader!("reduce/mean")),
        PassTarget::Intermediate => files.extend([shader!("store/intermediate"), shader!("store/stage")]),
        PassTarget::IntermediateBytes => files.extend([shader!("store/intermediate_u8"), shader!("store/stage")]),
        PassTarget::Nchw => files.extend([shader!("store/nchw"), shader!("store/stage")]),
        PassTarget::Nhwc => files.extend([shader!("store/nhwc"), shader!("store/stage")]),
        PassTarget::NchwF16 => {
            files.extend([shader!("store/half_bits"), shader!("store/nchw_f16"), shader!("store/stage")]);
        }
        PassTarget::NhwcF16 => {
            files.extend([shader!("store/half_bits"), shader!("store/nhwc_f16"), shader!("store/stage")]);
        }
        PassTarget::NchwBf16 => {
            files.extend([shader!("store/bfloat_bits"), shader!("store/nchw_bf16"), shader!("store/stage")]);
        }
        PassTarget::NhwcBf16 => {
            files.extend([shader!("store/bfloat_bits"), shader!("store/nhwc_bf16"), shader!("store/stage")]);
        }
    }
    text.push_str(&spaced(&files.join("\n"), frame.padded_to));
    text
}

/// The text of the pass that makes tables. It runs no colour step, but images hold as many as in the stage's other
/// passes.
fn tables_pass(source_type: PassSource, kernel: &KernelFacts, steps: u32) -> String {
    let frame = SamplingFacts {
        source: source_type,
        target: PassTarget::Statistic,
        channels: 3,
        rows: MOST_ROWS,
        statistics: 0,
        known_statistics: 0,
        filters: [false; 5],
        padded_to: None,
    };
    let mut text = constants(Some(kernel), &frame, steps);
    text.push_str(&prelude(Some(kernel)));
    text.push_str(source(source_type));
    let mut files = vec![shader!("reduce/none")];
    if kernel.is_uint8 {
        files.push(shader!("color/levels"));
    }
    files.extend([shader!("gather/variables"), shader!("gather/table_numbers"), shader!("gather/tables")]);
    files.push(if kernel.is_uint8 { shader!("gather/tables_u8") } else { shader!("gather/tables_float") });
    text.push_str(&files.join("\n"));
    text.push_str(&color_calls(&ColorFacts::default(), Arithmetic::Plain));
    text
}

/// The functions of `shaders/exact/` that a pass holds.
#[derive(Clone, Copy, PartialEq)]
enum Arithmetic {
    /// None of them.
    Plain,
    /// Those of `inexact.wgsl`.
    Inexact,
    /// Those of `exact.wgsl`, for whole numbers that are the same on every device.
    Exact,
}

impl Arithmetic {
    /// The arithmetic of a pass with this kernel and these colour steps. A step on floats beside steps on 8-bit numbers
    /// comes after them, and no rounding follows it.
    fn of(kernel: Option<&KernelFacts>, opcodes: &[u32]) -> Arithmetic {
        let calls = |opcodes: &[u32]| {
            steps_files(opcodes).any(|file| file.contains("kept(") || file.contains("added_product("))
        };
        let uint8: Vec<u32> = opcodes.iter().copied().filter(|&opcode| is_uint8_step(opcode)).collect();
        let of_kernel = match kernel.map(|facts| (facts.kernel, facts.is_uint8)) {
            Some((Kernel::Blur | Kernel::Warp, true)) => Arithmetic::Exact,
            Some((Kernel::Blur, false)) => Arithmetic::Inexact,
            _ => Arithmetic::Plain,
        };
        match of_kernel {
            _ if calls(&uint8) => Arithmetic::Exact,
            Arithmetic::Plain if calls(opcodes) => Arithmetic::Inexact,
            of_kernel => of_kernel,
        }
    }

    fn file(self) -> Option<&'static str> {
        match self {
            Arithmetic::Plain => None,
            Arithmetic::Inexact => Some(shader!("exact/inexact")),
            Arithmetic::Exact => Some(shader!("exact/exact")),
        }
    }
}

fn constants(kernel: Option<&KernelFacts>, frame: &SamplingFacts, steps: u32) -> String {
    // What a text asks for comes before everything else in it.
    let mut text = String::from(if frame.target.is_of_16_bits() { "enable wgpu_int16;\n" } else { "" });
    let mut constant = |name: &str, value: u32| text.push_str(&format!("const {name}: u32 = {value}u;\n"));
    constant("GROUP_X", GROUP.0);
    constant("GROUP_Y", GROUP.1);
    constant("GROUP_SIZE", GROUP.0 * GROUP.1);
    constant("ROWS", frame.rows);
    constant("PARTIALS", PARTIALS);
    constant("MAX_STEPS", steps.max(1));
    constant("CHANNELS", frame.channels);
    constant("CONTRAST", opcode::CONTRAST);
    constant("STATISTICS", frame.statistics.max(1));
    constant("KNOWN_STATISTICS", frame.known_statistics);
    for (name, value) in FILTERS.iter().zip(frame.filters) {
        text.push_str(&format!("const {name}: bool = {value};\n"));
    }
    if let Some(facts) = kernel {
        text.push_str(&format!("const CONTRAST_U8: u32 = {}u;\n", opcode::CONTRAST_U8));
        text.push_str(&format!("const UINT8: bool = {};\n", facts.is_uint8));
        text.push_str(&format!("const WEIGHTS: u32 = {}u;\n", facts.weights.max(4)));
    }
    text
}

/// The files of a store, whose rows and planes lie as far apart as those of a padded image.
fn spaced(files: &str, padded_to: Option<(u32, u32)>) -> String {
    let Some((width, height)) = padded_to else { return files.to_owned() };
    let plane = width.saturating_mul(height);
    files
        .replace("u32(output_size.x * output_size.y)", &format!("{plane}u"))
        .replace("u32(y * output_size.x + x)", &format!("(u32(y) * {width}u + u32(x))"))
}

/// The prelude. In a stage that may begin with an operator, each image holds the operator's numbers; statistics of 8-bit
/// numbers are integers. The text of the other stages is that of the file: an alias or a field would change their code.
fn prelude(kernel: Option<&KernelFacts>) -> String {
    let Some(facts) = kernel else { return shader!("prelude").to_owned() };
    let mut text = shader!("prelude").to_owned();
    if facts.statistics_are_uint8 {
        text = text.replace("statistics: array<f32>;", "statistics: array<u32>;");
    }
    if matches!(facts.kernel, Kernel::Sample | Kernel::SampleUint8) {
        return text;
    }
    let steps = "    steps: array<Step, MAX_STEPS>,\n";
    let numbers = format!("    gather: Gather,\n    weights: array<f32, WEIGHTS>,\n{steps}");
    [shader!("gather/gather"), &text.replace(steps, &numbers)].join("\n")
}

fn source(source: PassSource) -> &'static str {
    match source {
        PassSource::Bytes => shader!("source/bytes"),
        PassSource::Floats => shader!("source/floats"),
    }
}

fn computes_uint8(kernel: Option<&KernelFacts>, opcodes: &[u32]) -> bool {
    let of_kernel = |facts: &KernelFacts| facts.kernel == Kernel::SampleUint8 || facts.is_uint8;
    kernel.is_some_and(of_kernel) || opcodes.iter().any(|&opcode| is_uint8_step(opcode))
}

fn is_uint8_step(opcode: u32) -> bool {
    UINT8_STEPS.iter().any(|step| step.opcode == opcode)
}

/// The files of the steps that a shader with these opcodes holds.
fn steps_files(opcodes: &[u32]) -> impl Iterator<Item = &'static str> {
    let uint8 = UINT8_STEPS.iter().filter(|step| opcodes.contains(&step.opcode));
    STEPS.iter().filter(|step| is_needed(step, opcodes)).chain(uint8).map(|step| step.wgsl)
}

/// True if a shader with these opcodes holds the function of a step on floats: of a step of its own, or one that such a
/// step calls.
fn is_needed(step: &ColorStep, opcodes: &[u32]) -> bool {
    let call = format!("({}(value", step.name);
    let calls = |opcode: &u32| match step.opcode {
        // They call what makes its normal numbers.
        opcode::NOISE => matches!(*opcode, opcode::GAUSSIAN_NOISE | opcode::GAUSSIAN_NOISE_U8),
        _ => ColorStep::of(*opcode).is_some_and(|caller| caller.wgsl.contains(&call)),
    };
    opcodes.contains(&step.opcode) || opcodes.iter().any(calls)
}

/// The files of the function `sample`.
fn kernel_files(kernel: Option<&KernelFacts>) -> Vec<&'static str> {
    let Some(facts) = kernel else { return vec![shader!("sample/direct"), shader!("sample/strip"), SAMPLE] };
    let sharpened = if facts.is_uint8 { shader!("gather/sharpened_u8") } else { shader!("gather/sharpened") };
    match facts.kernel {
        Kernel::Sample => vec![shader!("sample/direct"), shader!("sample/strip"), SAMPLE],
        Kernel::SampleUint8 if facts.statistics_are_uint8 => {
            vec![shader!("sample/direct"), shader!("sample/resize_u8")]
        }
        Kernel::SampleUint8 => vec![shader!("sample/direct"), DIRECT],
        Kernel::Point => {
            vec![
                shader!("gather/variables"),
                shader!("gather/table_numbers"),
                shader!("gather/point"),
                shader!("sample/gathered"),
            ]
        }
        Kernel::Warp => {
            vec![
                shader!("gather/variables"),
                shader!("gather/pixel_before"),
                if facts.is_uint8 { shader!("gather/warp_u8") } else { shader!("gather/warp") },
                shader!("sample/gathered"),
            ]
        }
        Kernel::Sharpen => {
            vec![
                shader!("gather/variables"),
                shader!("gather/pixel_before"),
                sharpened,
                shader!("gather/sharpen"),
                shader!("sample/gathered"),
            ]
        }
        Kernel::Blur => vec![shader!("gather/variables"), shader!("gather/blur")],
        Kernel::PillowAffine => {
            vec![
                shader!("gather/variables"),
                shader!("gather/pixel_before"),
                shader!("exact/doubles"),
                shader!("gather/pillow_affine"),
                shader!("sample/gathered"),
            ]
        }
        Kernel::PillowBlur => {
            vec![
                shader!("gather/variables"),
                shader!("gather/pixel_before"),
                shader!("gather/pillow_blur"),
                shader!("sample/gathered"),
            ]
        }
    }
}

/// The kernel depends on the image, so all threads of a workgroup take the same branch.
const SAMPLE: &str = "
fn sample(image: u32, axis_x: Axis, axis_y: Axis, x: i32, first_y: i32, end_y: i32) {
    if LINEAR_ANTIALIASES && images[image].strip == 1u {
        strip(image, axis_x, axis_y, x, first_y, end_y);
    } else {
        direct(image, axis_x, axis_y, x, first_y, end_y);
    }
}
";

/// Stages on 8-bit numbers resize nothing in floats.
const DIRECT: &str = "
fn sample(image: u32, axis_x: Axis, axis_y: Axis, x: i32, first_y: i32, end_y: i32) {
    direct(image, axis_x, axis_y, x, first_y, end_y);
}
";

/// Up to this number of steps may be loaded into registers and called one after the other; more are looped over in the
/// buffer.
pub const UNROLLED_STEPS: u32 = 8;

/// The most calls that the unrolled steps of a pixel may have in a text: each position calls any of its opcodes. Beyond it
/// the code exceeds the 32 KiB in which AMD's GPUs keep instructions, and the numbers of the steps their scalar
/// registers. A step on 8-bit numbers is as long as eight others. `benches/LOG.md` has the measurement.
const UNROLLED_CALLS: usize = 64;

/// True if the steps are called one after the other, without a loop.
fn is_unrolled(positions: &[Vec<u32>]) -> bool {
    let is_uint8 = |opcode: &u32| UINT8_STEPS.iter().any(|step| step.opcode == *opcode);
    let calls = positions.iter().flatten().map(|opcode| if is_uint8(opcode) { 8 } else { 1 }).sum::<usize>();
    positions.len() <= 1 || (positions.len() <= UNROLLED_STEPS as usize && calls <= UNROLLED_CALLS)
}

/// A thread's means of the stage's statistics: a variable for each, and the functions that read and write the one of a
/// number. `prelude.wgsl` says why they are no array. Means of 8-bit numbers are a mantissa and an exponent.
fn means(statistics: u32, are_uint8: bool) -> String {
    if statistics == 0 {
        return String::new();
    }
    let mean = if are_uint8 { "vec2<u32>" } else { "f32" };
    let (mut variables, mut reads, mut writes) = (String::new(), String::new(), String::new());
    for i in 0..statistics {
        let case = if i + 1 < statistics { format!("case {i}u") } else { "default".to_owned() };
        variables.push_str(&format!("var<private> mean_{i}: {mean};\n"));
        reads.push_str(&format!("        {case}: {{\n            return mean_{i};\n        }}\n"));
        writes.push_str(&format!("        {case}: {{\n            mean_{i} = value;\n        }}\n"));
    }
    format!(
        "
{variables}
fn mean(statistic: u32) -> {mean} {{
    switch statistic {{
{reads}    }}
}}

fn set_mean(statistic: u32, value: {mean}) {{
    switch statistic {{
{writes}    }}
}}
"
    )
}

/// The calls of the colour steps that a stage can have: `load_steps`, once for each thread, and `color`.
fn color_calls(colors: &ColorFacts, arithmetic: Arithmetic) -> String {
    let ColorFacts { opcodes, positions, steps: max_steps, .. } = colors;
    let all = vec![opcodes.clone(); (*max_steps).min(UNROLLED_STEPS + 1) as usize];
    let positions = if positions.is_empty() { &all } else { positions };
    let unrolled = is_unrolled(positions);
    // A loop has one function for all. Positions that hold the same steps share one.
    let union = vec![opcodes.clone()];
    let positions = if unrolled { positions } else { &union };
    let mut sets: Vec<&Vec<u32>> = positions.iter().filter(|opcodes| !opcodes.is_empty()).collect();
    sets.sort_unstable();
    sets.dedup();
    let function = |opcodes: &Vec<u32>| Some(format!("color_step_{}", sets.binary_search(&opcodes).ok()?));
    let (mut variables, mut loads, mut calls) = (String::new(), String::new(), String::new());
    for (i, function) in positions.iter().map(function).enumerate().filter(|_| unrolled) {
        // Steps that an image lacks are zeros; opcode 0 does nothing.
        variables.push_str(&format!("var<private> step_{i}: vec4<u32>;\nvar<private> step_{i}_value: vec4<f32>;\n"));
        loads.push_str(&format!(
            "    let step_{i}_stored = images[image].steps[{i}];
    step_{i} = vec4(step_{i}_stored.opcode, step_{i}_stored.integer_0, step_{i}_stored.integer_1, step_{i}_stored.integer_2);
    step_{i}_value = step_{i}_stored.value;
"
        ));
        let Some(function) = function else { continue };
        let step = format!("Step(step_{i}.x, step_{i}.y, step_{i}.z, step_{i}.w, step_{i}_value)");
        calls.push_str(&format!("    if {i}u < end {{\n        result = {function}(result, {step}, x, y);\n    }}\n"));
    }
    if arithmetic == Arithmetic::Exact {
        loads.push_str("    zero = images[image].x.zero;\n");
    }
    let mut text = format!("\n{variables}\nfn load_steps(image: u32) {{\n{loads}}}\n");
    if sets.is_empty() {
        text.push_str(
            "\nfn color(image: u32, x: i32, y: i32, value: vec4<f32>, end: u32) -> vec4<f32> {\n    return value;\n}\n",
        );
        return text;
    }
    if !unrolled {
        calls.push_str("    for (var i = 0u; i < end; i++) {\n        result = color_step_0(result, images[image].steps[i], x, y);\n    }\n");
    }
    for (number, opcodes) in sets.iter().enumerate() {
        text.push_str(&color_step(number, opcodes));
    }
    text.push_str(&format!(
        "
// The image's first `end` colour steps, in its own order, on the pixel of column `x`, row `y`.
fn color(image: u32, x: i32, y: i32, value: vec4<f32>, end: u32) -> vec4<f32> {{
    var result = value;
{calls}    return result;
}}
"
    ));
    text
}

/// The function that runs one of the steps `opcodes`.
fn color_step(number: usize, opcodes: &[u32]) -> String {
    let mut cases = String::new();
    let customs = opcodes.iter().filter(|&&opcode| opcode >= opcode::CUSTOM);
    let customs = customs.map(|&opcode| (opcode, custom::function(opcode)));
    let built_in = STEPS.iter().chain(UINT8_STEPS).filter(|step| opcodes.contains(&step.opcode));
    for (opcode, name) in built_in.map(|step| (step.opcode, step.name.to_owned())).chain(customs) {
        let place = if Facts::of(opcode).placed { ", x, y" } else { "" };
        let case = format!("        case {opcode}u: {{\n            return {name}(value, step{place});\n        }}\n");
        cases.push_str(&case);
    }
    format!(
        "
fn color_step_{number}(value: vec4<f32>, step: Step, x: i32, y: i32) -> vec4<f32> {{
    switch step.opcode {{
{cases}        default: {{
            return value;
        }}
    }}
}}
"
    )
}

/// Parses and validates a shader; errors carry naga's message with its line.
pub fn validate(text: &str) -> Result<(naga::Module, naga::valid::ModuleInfo)> {
    let fail = |reason: String| ErrorKind::Device { stage: "shader validation", reason };
    let module = naga::front::wgsl::parse_str(text).map_err(|error| fail(error.emit_to_string(text)))?;
    // Only a text that asks for numbers of 16 bits may have them: no other text of gpufeed, and no snippet of a user.
    let capabilities = naga::valid::Capabilities::SHADER_INT16;
    let info = naga::valid::Validator::new(naga::valid::ValidationFlags::all(), capabilities)
        .validate(&module)
        .map_err(|error| fail(error.emit_to_string(text)))?;
    Ok((module, info))
}

#[cfg(test)]
mod tests;
