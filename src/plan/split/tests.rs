use super::*;
use crate::plan::Output;
use crate::transforms::*;

fn split(list: &[Transform], executor: Executor, cache: CacheMemory, in_bytes: bool) -> CacheSplit {
    let plan = Plan::compile(list, &Output::default()).unwrap();
    CacheSplit::new(plan, executor, Some(cache), in_bytes)
}

/// The split for the CPU executor, with a cache in host memory.
fn on_cpu(list: &[Transform], in_bytes: bool) -> CacheSplit {
    split(list, Executor::Cpu, CacheMemory::Host, in_bytes)
}

/// The first stage that every epoch runs, and the number of stages.
fn stages(list: &[Transform], in_bytes: bool) -> (usize, usize) {
    let split = on_cpu(list, in_bytes);
    match &split.boundary {
        Some(boundary) if boundary.stored != Stored::Exact => (boundary.stage, boundary.plan.stages().len()),
        _ => (0, split.plan.stages().len()),
    }
}

fn nearest() -> Transform {
    Resize::new(40).interpolation(Interpolation::Nearest).into()
}

fn exact() -> Transform {
    Resize::new(40).interpolation(Interpolation::NearestExact).antialias(true).into()
}

#[test]
fn where_a_list_is_divided() {
    let resize = || -> Transform { Resize::new(40).into() };
    let crop = || -> Transform { RandomCrop::new(20).into() };
    let after_gray = [
        resize(),
        Grayscale::new(3).into(),
        Pad::new(4).into(),
        CenterCrop::new(44).into(),
        RandomResizedCrop::new(16).into(),
    ];
    let early = [Normalize::IMAGENET.into(), resize(), crop()];
    let (floats, bytes) = (false, true);
    for (list, in_bytes, expected) in [
        (&[resize(), crop()][..], floats, (1, 2)),
        (&[resize(), crop()], bytes, (1, 2)),
        (&[crop(), resize()], floats, (0, 1)),
        // A border before a crop, and before another resize.
        (&[resize(), Pad::new(2).into(), crop()], floats, (0, 1)),
        (&[resize(), Pad::new(2).into(), crop()], bytes, (1, 2)),
        (&after_gray, floats, (0, 2)),
        (&after_gray, bytes, (2, 3)),
        (&early, floats, (2, 3)),
        (&early, bytes, (0, 2)),
        // An exact result does not divide the plan, unless everything is rounded.
        (&[nearest(), crop()], floats, (0, 1)),
        (&[nearest(), crop()], bytes, (1, 2)),
    ] {
        assert_eq!(stages(list, in_bytes), expected, "{list:?}, in bytes: {in_bytes}");
    }
}

#[test]
fn executor_and_memory_decide_on_the_form() {
    let list: [Transform; 2] = [Resize::new(40).into(), RandomCrop::new(20).into()];
    let nearest: [Transform; 2] = [nearest(), RandomCrop::new(20).into()];
    let large: [Transform; 2] = [Resize::new(3000).into(), RandomCrop::new(2500).into()];
    use CacheMemory::{Device, Host};
    for (list, executor, memory, expected) in [
        (&list, Executor::Cpu, Host, Some(Stored::Floats)),
        (&list, Executor::Gpu, Device, Some(Stored::Floats)),
        // Floats of a GPU are not stored in host memory.
        (&list, Executor::Gpu, Host, None),
        (&nearest, Executor::Cpu, Host, Some(Stored::Exact)),
        (&nearest, Executor::Gpu, Host, Some(Stored::Exact)),
        (&nearest, Executor::Gpu, Device, Some(Stored::Exact)),
        // The output is too large for an intermediate.
        (&large, Executor::Gpu, Device, None),
        (&large, Executor::Cpu, Host, Some(Stored::Floats)),
    ] {
        let split = split(list, executor, memory, false);
        assert_eq!(split.boundary.map(|boundary| boundary.stored), expected, "{list:?} {executor:?} {memory:?}");
    }
    let plan = Plan::compile(&list, &Output::default()).unwrap();
    assert!(CacheSplit::new(plan, Executor::Cpu, None, true).stores_source());
}

/// The transforms whose result is stored exactly, in bytes.
fn stored_exactly(list: &[Transform], executor: Executor) -> Option<Vec<&'static str>> {
    let split = split(list, executor, CacheMemory::Host, false);
    let boundary = split.boundary.as_ref().filter(|boundary| boundary.stored == Stored::Exact)?;
    Some(split.plan.transforms[..boundary.transforms].iter().map(|transform| transform.name()).collect())
}

#[test]
fn what_bytes_hold_exactly() {
    let crop = || -> Transform { RandomCrop::new(20).into() };
    let center = || -> Transform { CenterCrop::new(24).into() };
    let pad = |fill: f32| -> Transform { Pad::new(2).fill([0.0, fill, 1.0]).into() };
    let resized: &[&str] = &["Resize"];
    for (list, expected) in [
        (vec![nearest(), crop()], Some(resized)),
        (vec![nearest(), Normalize::IMAGENET.into(), crop()], Some(resized)),
        (vec![exact(), center(), crop()], Some(&["Resize", "CenterCrop"])),
        (vec![exact(), nearest(), RandomResizedCrop::new(16).into()], Some(&["Resize", "Resize"])),
        (vec![pad(51.0 * (1.0 / 255.0)), nearest(), crop()], Some(&["Pad", "Resize"])),
        (vec![pad(0.5), nearest(), crop()], None),
        (vec![pad(-0.0), nearest(), crop()], None),
        (vec![pad(f32::from_bits(1.0_f32.to_bits() + 1)), nearest(), crop()], None),
        (vec![Pad::new(2).padding_mode(PaddingMode::Reflect).into(), nearest(), crop()], Some(&["Pad", "Resize"])),
        // A border that a crop after the prefix would divide.
        (vec![nearest(), Pad::new(2).into(), crop()], None),
        (vec![nearest(), Grayscale::new(3).into(), center(), crop()], None),
        (vec![nearest(), Resize::new(30).into(), crop()], None),
        (vec![center(), crop()], None),
    ] {
        let expected = expected.map(<[_]>::to_vec);
        for executor in [Executor::Cpu, Executor::Gpu] {
            assert_eq!(stored_exactly(&list, executor), expected, "{list:?}");
        }
        assert!(on_cpu(&list, true).boundary.is_none_or(|boundary| boundary.stored == Stored::Rounded), "{list:?}");
    }
}

#[test]
fn every_level_is_one_and_no_number_between() {
    for level in 0..=255_u8 {
        let value = f32::from(level) * (1.0 / 255.0);
        assert!(is_level(value), "{level}");
        assert!(![value.next_down(), value.next_up(), value + 0.001].into_iter().any(is_level), "{level}");
    }
    assert!(!is_level(f32::NAN) && !is_level(f32::INFINITY) && !is_level(-0.0));
}

#[test]
fn a_suffix_runs_along_the_stages_of_the_undivided_plan() {
    let random: Transform = RandomApply::new(0.5, [Resize::new((30, 30))]).into();
    for (list, size, idle) in [
        (vec![nearest(), RandomCrop::new(20).into()], (53, 40), 0),
        // No transform after the prefix joins its stage.
        (vec![nearest(), random, RandomCrop::new(20).into()], (53, 40), 1),
        (vec![exact(), nearest(), RandomResizedCrop::new(16).into()], (53, 40), 1),
        (vec![Resize::new((8, 9)).interpolation(Interpolation::Nearest).into()], (9, 8), 0),
    ] {
        let split = on_cpu(&list, false);
        let (plan, boundary) = (&split.plan, split.boundary.as_ref().unwrap());
        let params = plan.make_params(64, 48, &Key::default()).unwrap();
        let (prefix, suffix) = boundary.plan.program(&params).unwrap().divided(boundary.stage);
        assert_eq!(prefix.size(), size, "{list:?}");
        let suffix = suffix.padded_to_stages(&prefix, plan.stages().len());
        assert_eq!((suffix.stages.len(), suffix.size()), (plan.stages().len(), plan.program(&params).unwrap().size()));
        let identity = |stage: &&StageProgram| stage.sampling.x.scale == 1.0 && stage.steps.is_empty();
        assert_eq!(suffix.stages[..idle].iter().take_while(identity).count(), idle, "{list:?}");
    }
}
