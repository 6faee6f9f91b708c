use super::*;
use crate::color::Step;
use crate::plan::pass::Pass;
use crate::plan::sampling::Axis;
use crate::plan::shader_layout::{GatherNumbers, Image};
use crate::plan::{Layout, Output, Plan, Semantics};
use crate::transforms::*;
use std::mem::offset_of;

/// Offset of each member of `name`, as naga lays it out.
fn members(module: &naga::Module, name: &str) -> Vec<(String, u32)> {
    let found = module.types.iter().find(|(_, ty)| ty.name.as_deref() == Some(name)).expect("the struct is declared");
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
    let (module, _) = validate(&plan.shader(Pass::Stage { stage: 0, kernel: Kernel::Sample })).unwrap();
    let unpadded = |name: &str| -> Vec<_> {
        members(&module, name).into_iter().filter(|(name, _)| !name.starts_with("padding")).collect()
    };
    let axis = offsets!(Axis: len, grid_mirror, grid_window, grid_start, grid_len, scale, support, inverse, view_len,
        view_mirror, source_window, source_start, source_len, phase, zero);
    assert_eq!(unpadded("Axis"), axis);
    let mut step = offsets!(Step: opcode, value);
    let integers = offset_of!(Step, integers) as u32;
    step.splice(1..1, (0..3).map(|i| (format!("integer_{i}"), integers + 4 * i)));
    assert_eq!(unpadded("Step"), step);
    let mut image = offsets!(Image: x, y, source_fill, grid_fill, source_border, grid_border, filter_mode, strip,
        source_offset, source_stride, source_float, target_offset, steps_len, number);
    let weights = offset_of!(Image, weights) as u32;
    image.extend([("weights_x".to_owned(), weights), ("weights_y".to_owned(), weights + 4)]);
    image.push(("steps".to_owned(), size_of::<Image>() as u32));
    assert_eq!(unpadded("Image"), image);
    // A struct with a moved field must fail, which shows that the test notices such a field.
    image[1].1 += 4;
    assert_ne!(unpadded("Image"), image);
}

#[test]
fn an_operators_numbers_are_laid_out_alike() {
    let list = [GaussianBlur::new(9).into(), Grayscale::new(3).into()];
    let plan = Plan::compile(&list, &Output::default()).unwrap();
    let (module, _) = validate(&plan.shader(Pass::Stage { stage: 0, kernel: Kernel::Blur })).unwrap();
    let mut numbers =
        offsets!(GatherNumbers: kind, width, height, left, top, nearest, filled, table, first, second, fill);
    let whole = offset_of!(GatherNumbers, whole) as u32;
    numbers.extend((0..6).map(|i| (format!("whole_{i}"), whole + 16 * i)));
    assert_eq!(members(&module, "Gather"), numbers);
    let image = members(&module, "Image");
    let at = |name: &str| image.iter().find(|(member, _)| member == name).unwrap().1 as usize;
    assert_eq!((at("gather"), at("weights")), (size_of::<Image>(), size_of::<Image>() + size_of::<GatherNumbers>()));
    let plan_bytes = Image::bytes_with_gather(1, plan.blur_weights(0));
    assert_eq!(at("steps") + size_of::<Step>(), plan_bytes);
}

#[test]
fn every_pass_of_policies_and_of_bytes_validates() {
    use crate::Semantics::{Float, Uint8};
    let resize = || Transform::from(RandomResizedCrop::new(24));
    let lists: [Vec<Transform>; 5] = [
        vec![resize(), RandAugment::default().into(), Normalize::new([0.5; 3], [0.25; 3]).into()],
        vec![resize(), GaussianBlur::new(5).into(), ColorJitter::new(0.1, 0.1, 0.1, 0.1).into()],
        vec![RandomRotation::new(9.0).into(), Pad::new(2).into(), resize(), RandomGrayscale::new(0.2).into()],
        vec![resize(), RandomAdjustSharpness::new(2.0).into(), RandomSolarize::new(0.5).into()],
        vec![resize(), RandomEqualize::default().into(), RandomPosterize::new(3).into(), AdjustGamma::new(2.0).into()],
    ];
    let mut seen = std::collections::BTreeSet::new();
    for (list, semantics) in lists.iter().flat_map(|list| [(list, Float), (list, Uint8)]) {
        for (channels, dtype) in [(1, DType::F32), (3, DType::F16)] {
            let plan = Plan::compile_as(semantics, channels, list, &Output { dtype, ..Output::default() }).unwrap();
            for pass in plan.pass_list() {
                let text = plan.shader(pass);
                validate(&text).unwrap_or_else(|error| panic!("{pass:?}: {error}\n{text}"));
                seen.insert(pass.to_string());
            }
        }
    }
    for kernel in ["stage 1, warp", "stage 1, sharpen", "stage 1, blur", "stage 1, tables", "stage 1, point, mean 0"] {
        assert!(seen.contains(kernel), "{kernel}: {seen:?}");
    }
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
            for dtype in [DType::F32, DType::F16, DType::BF16, DType::U8] {
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
        let text = plan.shader(Pass::Stage { stage: 0, kernel: Kernel::Sample });
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
fn exact_functions_are_in_passes_that_round_floats_to_bytes() {
    let shader = |semantics, transforms: &[Transform]| {
        let plan = Plan::compile_as(semantics, 3, transforms, &Output::default()).unwrap();
        plan.shaders().pop().unwrap().wgsl
    };
    let is_exact = |text: &str| text.contains("var<private> zero");
    let crop = || Transform::from(RandomResizedCrop::new(24));
    let erasing = || Transform::from(RandomErasing::new(1.0).value(ErasingValue::Random));
    let gamma = || Transform::from(AdjustGamma::new(0.8));
    let noise_on_floats =
        shader(Semantics::Uint8, &[crop(), RandomInvert::new(0.5).into(), ToDtype::new().into(), erasing()]);
    assert!(noise_on_floats.contains("fn kept(") && !is_exact(&noise_on_floats));
    assert!(is_exact(&shader(Semantics::Uint8, &[crop(), gamma(), ToDtype::new().into(), erasing()])));
    assert!(!is_exact(&shader(Semantics::Float, &[crop(), gamma()])));
    assert!(!shader(Semantics::Uint8, &[crop()]).contains("fn kept("));
}

#[test]
fn a_broken_shader_is_refused_with_its_line() {
    let error = validate("fn main() {\n    let x: u32 = 1.5;\n}\n").unwrap_err().to_string();
    assert!(error.contains("wgsl:2"), "{error}");
}
