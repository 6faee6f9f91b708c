//! The memory traffic and the arithmetic of passes, from which a roofline predicts their time (S. Williams, A. Waterman,
//! D. Patterson, "Roofline", CACM 52(4), 2009; <https://doi.org/10.1145/1498765.1498785>).

use super::gather::{Gather, GatherKind};
use super::pass::Pass;
use super::program::StageProgram;
use super::sampling::{Axis, Filter, Sampling};
use super::wgsl::{self, MOST_ROWS};
use super::{Plan, custom};
use crate::color::ColorStep;
use crate::error::Result;
use crate::pillow::PillowFilter;
use crate::transforms::Params;
use naga::valid::{FunctionInfo, ModuleInfo};
use naga::{Expression, Function, Handle, Module, TypeInner};
use std::collections::BTreeMap;

/// The least that a pass must do for some images.
#[derive(Clone, Debug, PartialEq)]
pub struct Work {
    /// The pass, as [`Plan::shaders`](crate::Plan::shaders) names it.
    pub pass: String,
    /// Bytes that it reads and writes, if each source pixel is read once and each output written once.
    pub bytes: u64,
    /// Operations on numbers: the taps of resampling and of operators without their weights, and each colour step.
    pub operations: f64,
}

/// Operations of a tap: a multiplication and an addition for each of three channels.
pub const TAP_OPERATIONS: f64 = 6.0;
/// Operations of a warp's position for one output: two sums of two products, and a division in perspective.
const POSITION: f64 = 10.0;
/// Operations of a pixel in the pass that makes tables: three counts and their comparisons.
const COUNTS: f64 = 9.0;

/// The work of each pass of a plan for images with these parameters, in the order in which a GPU runs them. Operators
/// that no shader has (AugMix, JPEG, elastic deformations, timm's policies) are not counted: the CPU executor runs them.
///
/// # Errors
/// [`ErrorKind::Argument`](crate::ErrorKind::Argument) if parameters do not belong to the plan.
pub fn work(plan: &Plan, images: &[Params]) -> Result<Vec<Work>> {
    let programs = images.iter().map(|params| plan.program(params)).collect::<Result<Vec<_>>>()?;
    let mut all = Vec::new();
    for pass in plan.pass_list() {
        let mut work = Work { pass: pass.to_string(), bytes: 0, operations: 0.0 };
        let Some(number) = pass.stage() else {
            let elements = programs.iter().map(|program| plan.image_bytes(program.size()) as u64);
            let bytes: u64 = elements.sum();
            let packed = plan.output().dtype.bytes() as u64;
            work.bytes = bytes + bytes / packed * 4;
            work.operations = (bytes / packed) as f64;
            all.push(work);
            continue;
        };
        let functions = operations_of_functions(&plan.shader(pass))?;
        for program in &programs {
            let stage = &program.stages[number];
            if pass.takes(stage) {
                work.bytes += bytes(plan, &pass, stage, plan.image_bytes(program.size()) as u64);
                work.operations += operations(plan.rows(pass), &pass, stage, &functions);
            }
        }
        all.push(work);
    }
    Ok(all)
}

fn bytes(plan: &Plan, pass: &Pass, stage: &StageProgram, image: u64) -> u64 {
    let number = pass.stage().unwrap_or(0);
    let pixel = |stores_bytes: bool| if stores_bytes { 4 } else { 16 };
    let region = match pass {
        Pass::Tables { .. } => stage.gather.as_ref().map_or((0, 0), |gather| gather.source),
        _ => (stage.read_region().width, stage.read_region().height),
    };
    let read = area(region) * pixel(number == 0 || plan.stores_bytes(number - 1));
    let written = match pass {
        Pass::Stage { .. } if number + 1 < plan.stages().len() => {
            area(stage.sampling.size()) * pixel(plan.stores_bytes(number))
        }
        // Where they write f32 of another type, `pack` converts them.
        Pass::Stage { .. } => plan.stored_bytes() * image / plan.output().dtype.bytes() as u64,
        _ => 0,
    };
    read + written
}

fn area((width, height): (u32, u32)) -> u64 {
    u64::from(width) * u64::from(height)
}

fn operations(rows: u32, pass: &Pass, stage: &StageProgram, functions: &BTreeMap<String, f64>) -> f64 {
    if let Pass::Tables { .. } = pass {
        return COUNTS * stage.gather.as_ref().map_or(0, |gather| area(gather.source)) as f64;
    }
    let outputs = area(stage.sampling.size()) as f64;
    let sampling = stage.gather.as_ref().map_or_else(|| resampling(&stage.sampling, rows), gathering);
    let last = match pass {
        // A mean is that of the image before the contrast.
        Pass::Statistic { .. } => stage.steps.iter().position(|step| step.facts().needs_mean).unwrap_or(0),
        _ => stage.steps.len(),
    };
    let step = |opcode| {
        let name = ColorStep::of(opcode).map_or_else(|| custom::function(opcode), |step| step.name.to_owned());
        functions.get(&name).copied().unwrap_or(0.0)
    };
    outputs * (sampling + stage.steps[..last].iter().map(|each| step(each.opcode)).sum::<f64>())
}

/// Operations of an output's resampling by threads of `rows` rows.
fn resampling(sampling: &Sampling, rows: u32) -> f64 {
    let taps = |axis: &Axis| match sampling.filter {
        Filter::Nearest | Filter::NearestExact => 1.0,
        Filter::Linear => 2.0,
        Filter::Cubic => 4.0,
        Filter::LinearAntialias | Filter::CubicAntialias => 2.0 * f64::from(axis.support),
    };
    let (across, down) = (taps(&sampling.x), taps(&sampling.y));
    if sampling.uses_strip_kernel() {
        // A thread applies the taps of its column at every source row once, and adds the row to two outputs.
        let rows = f64::from(sampling.y.scale) * f64::from(rows + 2) / f64::from(rows);
        return rows * (across + 2.0) * TAP_OPERATIONS;
    }
    across * down * TAP_OPERATIONS
}

/// Operations of an output of the operator that a stage begins with.
fn gathering(gather: &Gather) -> f64 {
    match &gather.kind {
        GatherKind::Warp(warp) => POSITION + if warp.nearest { 0.0 } else { 4.0 * TAP_OPERATIONS },
        GatherKind::Blur { kernel_size: [columns, rows], .. } => {
            // A thread filters across each row that its column of outputs needs.
            let rows_an_output = f64::from(MOST_ROWS + rows) / f64::from(MOST_ROWS);
            TAP_OPERATIONS * (rows_an_output * f64::from(*columns) + f64::from(*rows))
        }
        GatherKind::Sharpen { .. } => 10.0 * TAP_OPERATIONS,
        GatherKind::PillowAffine(affine) => {
            let taps = match affine.filter {
                PillowFilter::Nearest => return 0.0,
                PillowFilter::Bilinear => 4.0,
                PillowFilter::Bicubic => 16.0,
            };
            POSITION + taps * TAP_OPERATIONS
        }
        // A line is averaged three times.
        GatherKind::PillowBlur(boxes) => {
            let taps = boxes.iter().flatten().map(|one| 3.0 * f64::from(2 * one.radius + 3));
            TAP_OPERATIONS * taps.sum::<f64>()
        }
        GatherKind::Elastic(_) | GatherKind::Jpeg { .. } => 0.0,
        GatherKind::Table(_) | GatherKind::PillowAutocontrast | GatherKind::Enhance(..) => 0.0,
        GatherKind::Autocontrast | GatherKind::Equalize => 6.0,
    }
}

/// The operations of each function of a text, both sides of a branch included, and of the functions that it calls. Loops
/// count once; no colour step has one.
fn operations_of_functions(text: &str) -> Result<BTreeMap<String, f64>> {
    let (module, info) = wgsl::validate(text)?;
    let mut counted = BTreeMap::new();
    for (handle, function) in module.functions.iter() {
        // WGSL has no recursion, and naga lists a function after those that it calls.
        let operations = of_function(&module, &info, (handle, function), &counted);
        counted.insert(handle, operations);
    }
    let named =
        |(handle, operations): (Handle<Function>, f64)| Some((module.functions[handle].name.clone()?, operations));
    Ok(counted.into_iter().filter_map(named).collect())
}

fn of_function(
    module: &Module,
    info: &ModuleInfo,
    (handle, function): (Handle<Function>, &Function),
    counted: &BTreeMap<Handle<Function>, f64>,
) -> f64 {
    let of = |(expression, kind): (Handle<Expression>, &Expression)| match kind {
        Expression::Unary { .. }
        | Expression::Binary { .. }
        | Expression::Select { .. }
        | Expression::Math { .. }
        | Expression::As { .. } => components(module, &info[handle], expression),
        Expression::CallResult(callee) => counted.get(callee).copied().unwrap_or(0.0),
        _ => 0.0,
    };
    function.expressions.iter().map(of).sum()
}

/// The numbers of an expression's result.
fn components(module: &Module, info: &FunctionInfo, expression: Handle<Expression>) -> f64 {
    match info[expression].ty.inner_with(&module.types) {
        TypeInner::Vector { size, .. } => f64::from(*size as u32),
        TypeInner::Matrix { columns, rows, .. } => f64::from(*columns as u32 * *rows as u32),
        _ => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::device::DeviceTraits;
    use crate::transforms::{ColorJitter, GaussianBlur, Key, Normalize, Resize};
    use crate::{DType, Output};

    fn of(list: &[crate::transforms::Transform], dtype: DType) -> Vec<Work> {
        let plan = Plan::compile(list, &Output { dtype, ..Output::default() }).unwrap();
        let params = plan.make_params(200, 100, &Key::default()).unwrap();
        work(&plan, &[params.clone(), params]).unwrap()
    }

    #[test]
    fn bytes_are_those_of_the_source_and_of_the_result() {
        let [stage, pack] = &of(&[Resize::new((50, 50)).into(), Normalize::IMAGENET.into()], DType::F16)[..] else {
            panic!("two passes")
        };
        assert_eq!((&*stage.pass, stage.bytes), ("stage 0", 2 * (200 * 100 * 4 + 50 * 50 * 3 * 4)));
        assert_eq!((&*pack.pass, pack.bytes), ("pack", 2 * 50 * 50 * 3 * (4 + 2)));
        // Where shaders store f16, an element costs 2 bytes instead of 10.
        let output = Output { dtype: DType::F16, ..Output::default() };
        let traits = DeviceTraits { stores_16_bits: true, rows: None };
        let plan = Plan::compile(&[Resize::new((50, 50)).into()], &output).unwrap().on_device(traits, false);
        let params = plan.make_params(200, 100, &Key::default()).unwrap();
        let [stored] = &work(&plan, &[params]).unwrap()[..] else { panic!("one pass") };
        assert_eq!(stored.bytes, 200 * 100 * 4 + 50 * 50 * 3 * 2);
    }

    #[test]
    fn operations_are_the_taps_and_the_steps() {
        // Reduced by 4 and by 2: 8 taps across; a row is filtered once, and with two outputs' weights. A thread has 8 rows.
        let taps = 2.0 * 10.0 / 8.0 * (8.0 + 2.0) * 6.0;
        let [resize] = &of(&[Resize::new((50, 50)).into()], DType::F32)[..] else { panic!("one pass") };
        assert!((resize.operations - 2.0 * 2_500.0 * taps).abs() < 1.0, "{resize:?}");
        let [normalized] = &of(&[Resize::new((50, 50)).into(), Normalize::IMAGENET.into()], DType::F32)[..] else {
            panic!("one pass")
        };
        // A difference and a quotient of vectors of four.
        assert_eq!(normalized.operations - resize.operations, 2.0 * 2_500.0 * 8.0);
    }

    #[test]
    fn a_mean_counts_the_steps_before_it() {
        let jitter = [Resize::new((50, 50)).into(), ColorJitter::new(0.5, 0.5, 0.5, 0.5).into()];
        let [mean, stage] = &of(&jitter, DType::F32)[..] else { panic!("two passes") };
        assert!(mean.operations < stage.operations && mean.bytes < stage.bytes);
    }

    #[test]
    fn operators_count_in_the_pass_that_takes_their_images() {
        let list = [Resize::new((50, 50)).into(), GaussianBlur::new(23).into()];
        let works: std::collections::BTreeMap<String, Work> =
            of(&list, DType::F32).into_iter().map(|work| (work.pass.clone(), work)).collect();
        let none = Work { pass: "stage 1, point".to_owned(), bytes: 0, operations: 0.0 };
        assert_eq!(works["stage 1, point"], none);
        let blur = &works["stage 1, blur"];
        // Reads four floats a pixel and writes three.
        assert_eq!(blur.bytes, 2 * 2_500 * (16 + 12));
        // 39 rows for 16 outputs, filtered across, then down.
        assert_eq!(blur.operations, 2.0 * 2_500.0 * 6.0 * (39.0 / 16.0 * 23.0 + 23.0));
    }
}
