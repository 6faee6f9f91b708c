//! Tests of the images between the stages of a plan: they count, they are refused by number and setting before they are
//! allocated, and an allocation that the system refuses ends no process. The address space is limited, so this program
//! has a process of its own, whose tests take turns.
#![cfg(target_os = "linux")]

use gpufeed::transforms::*;
use gpufeed::{Backend, DType, DataLoader, DataLoaderBuilder, InMemory, Label, Layout, OnError, Output, PixelFormat};
use gpufeed::{Pixels, Plan, Processor, Semantics};
use gpufeed_testing::watch::alone;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

const GIB: u64 = 1 << 30;

/// Runs `work` while the process may grow by no more than `bytes` of address space.
fn with_little_memory<T>(bytes: u64, work: impl FnOnce() -> T) -> T {
    let status = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: u64 = status.split(' ').next().unwrap().parse().unwrap();
    let before = getrlimit(Resource::As);
    let current = Some(pages * rustix::param::page_size() as u64 + bytes);
    setrlimit(Resource::As, Rlimit { current, maximum: before.maximum }).unwrap();
    let result = work();
    setrlimit(Resource::As, before).unwrap();
    result
}

fn images(count: u32, width: u32, height: u32) -> InMemory {
    let mut data = InMemory::new();
    for class in 0..count {
        let pixels = vec![40 + class as u8; (3 * width * height) as usize];
        data.push_pixels(width, height, PixelFormat::Rgb8, pixels, Label::Class(class)).unwrap();
    }
    data
}

fn loader(transforms: Vec<Transform>, semantics: Semantics) -> DataLoaderBuilder {
    let builder = DataLoader::builder(images(4, 40, 30)).batch_size(2).workers(2).semantics(semantics);
    transforms.into_iter().fold(builder, DataLoaderBuilder::transform)
}

/// Lists whose images between two stages are larger than any budget in the tests, whatever the image.
fn huge() -> Vec<(&'static str, Vec<Transform>)> {
    let end = || Resize::new((16, 16)).into();
    let zoom_out = RandomZoomOut::new(1.0).side_range(900.0, 1000.0);
    vec![
        ("Resize", vec![Resize::new(18000).into(), end()]),
        ("Resize", vec![Resize::new((18000, 18000)).into(), end()]),
        ("Resize", vec![Resize::new((3, 4_000_000)).into(), Resize::new((4_000_000, 300)).into(), end()]),
        ("Resize", vec![Resize::new(18000).into(), GaussianBlur::new(3).into(), end()]),
        ("Resize", vec![Resize::new((14000, 14000)).into(), AugMix::new().into(), end()]),
        ("Resize", vec![Resize::new((15000, 15000)).into(), TrivialAugmentWide::new().into(), end()]),
        ("Pad", vec![Pad::new(7_000).into(), RandomRotation::new(10.0).into(), end()]),
        ("Resize", vec![Resize::new((20_000, 20_000)).into(), ElasticTransform::new(50.0, 5.0).into(), end()]),
        ("RandomShortestSize", vec![RandomShortestSize::new([20_000, 30_000]).into(), end()]),
        ("ScaleJitter", vec![ScaleJitter::new((30_000, 30_000)).scale_range(1.0, 2.0).into(), end()]),
        ("RandomZoomOut", vec![zoom_out.into(), GaussianBlur::new(3).into(), end()]),
        ("Pad", vec![Pad::new(40_000).into(), ColorJitter::new(0.0, 0.5, 0.0, 0.0).into(), end()]),
    ]
}

#[test]
fn images_between_stages_are_refused_with_number_and_setting_before_they_are_allocated() {
    alone(120, "refusing", || {
        for semantics in [Semantics::Float, Semantics::Uint8] {
            for (name, list) in huge() {
                let builder = || loader(list.clone(), semantics).memory_budget(GIB / 2).on_error(OnError::Fail);
                // Far less than the images would take.
                let error = with_little_memory(GIB / 4, || {
                    let loader = builder().build(&Backend::Cpu)?;
                    let batches = loader.epoch(0)?.collect::<gpufeed::Result<Vec<_>>>();
                    batches.map(drop)
                });
                let text = error.err().unwrap_or_else(|| panic!("{name} {semantics:?} fits")).to_string();
                let number = text.split(' ').filter_map(|word| word.parse::<u64>().ok()).max().unwrap();
                assert!(number > GIB / 2 && text.contains("memory_budget"), "{name} {semantics:?}: {text}");
                assert!(text.contains(name), "{name}: {text}");
            }
        }
    });
}

#[test]
fn what_depends_on_the_image_is_refused_for_that_sample_alone() {
    alone(120, "one large image", || {
        let mut data = images(20, 40, 30);
        let wide = vec![7; 3 * 2400 * 1600];
        data.push_pixels(2400, 1600, PixelFormat::Rgb8, wide, Label::Class(20)).unwrap();
        let list = || DataLoader::builder(data.clone()).transform(GaussianBlur::new(5)).transform(Resize::new((8, 8)));
        let batches = |budget: u64| {
            let loader = list().batch_size(7).workers(2).memory_budget(budget).build(&Backend::Cpu).unwrap();
            loader.epoch(0).unwrap().map(gpufeed::Result::unwrap).collect::<Vec<_>>()
        };
        let failures = |batches: &[gpufeed::Batch]| {
            let failures = batches.iter().flat_map(gpufeed::Batch::failures);
            failures.map(|failure| (failure.id, failure.error.to_string())).collect::<Vec<_>>()
        };
        let failed = failures(&batches(GIB / 4));
        let [(20, text)] = &failed[..] else { panic!("sample 20 alone: {failed:?}") };
        assert!(
            text.contains("memory_budget") && text.contains("GaussianBlur") && text.contains("2400x1600"),
            "{text}"
        );
        assert!(failures(&batches(2 * GIB)).is_empty());
        // Replay makes the same decision.
        let loader = list().memory_budget(GIB / 4).build(&Backend::Cpu).unwrap();
        let params = loader.plan().make_params(2400, 1600, &Key::default()).unwrap();
        let error = loader.replay(20, &params).unwrap_err().to_string();
        assert!(error.contains("memory_budget"), "{error}");
    });
}

#[test]
fn memory_that_the_system_refuses_is_a_failed_sample_and_no_end() {
    alone(240, "refused by the system", || {
        // Within the budget, but more than the system has.
        let lists: Vec<Vec<Transform>> = vec![
            vec![Resize::new((9000, 9000)).into(), Resize::new((16, 16)).into()],
            vec![Resize::new((9000, 9000)).into(), GaussianBlur::new(5).into(), Resize::new((16, 16)).into()],
            vec![Resize::new((6000, 6000)).into(), AugMix::new().into(), Resize::new((16, 16)).into()],
            vec![
                Resize::new((9000, 9000)).into(),
                ElasticTransform::new(50.0, 5.0).into(),
                Resize::new((16, 16)).into(),
            ],
            vec![Resize::new((9000, 9000)).into(), RandomRotation::new(9.0).into(), Resize::new((16, 16)).into()],
            vec![Resize::new((9000, 9000)).into(), RandomEqualize::new(1.0).into(), Resize::new((16, 16)).into()],
            vec![
                Resize::new((9000, 9000)).into(),
                ColorJitter::new(0.0, 0.5, 0.0, 0.0).into(),
                Resize::new((16, 16)).into(),
            ],
        ];
        for semantics in [Semantics::Float, Semantics::Uint8] {
            for list in &lists {
                let loader = loader(list.clone(), semantics).memory_budget(64 * GIB).on_error(OnError::Fail);
                let loader = loader.build(&Backend::Cpu).unwrap();
                let error = with_little_memory(GIB / 4, || loader.epoch(0).unwrap().find_map(gpufeed::Result::err));
                let text = error.unwrap_or_else(|| panic!("{list:?} fits")).to_string();
                assert!(text.contains("memory that the system does not have; lower workers"), "{list:?}: {text}");
            }
        }
    });
}

#[test]
fn batches_that_the_system_has_no_memory_for_are_errors() {
    alone(60, "batches", || {
        let build = |size: u32, batch: usize| {
            let loader = DataLoader::builder(images(4, 8, 8)).transform(Resize::new((size, size))).batch_size(batch);
            loader.memory_budget(u64::MAX).workers(1).build(&Backend::Cpu)
        };
        for (size, batch) in [(1_000_000, 1), (1000, 1 << 40), (1 << 22, 1 << 50), (4000, 16), (1, usize::MAX)] {
            let error = with_little_memory(GIB, || build(size, batch).map(drop)).unwrap_err().to_string();
            assert!(error.contains("batch_size"), "{size} {batch}: {error}");
        }
        assert_eq!(build(8, 2).unwrap().epoch(0).unwrap().count(), 2);
    });
}

#[test]
fn a_processor_has_no_budget_but_no_abort_either() {
    alone(60, "processor", || {
        let plan = |list: &[Transform]| Plan::compile(list, &Output::default()).unwrap();
        let data = [9; 3 * 8 * 8];
        let pixels = Pixels::new(8, 8, PixelFormat::Rgb8, &data).unwrap();
        for list in [
            vec![Resize::new((20_000, 20_000)).into()],
            vec![Resize::new((20_000, 20_000)).into(), Resize::new(8).into()],
        ] {
            let plan = plan(&list);
            let params = plan.make_params(8, 8, &Key::default()).unwrap();
            let processor = Processor::new(&plan, &Backend::Cpu).unwrap();
            let error = with_little_memory(GIB / 4, || processor.run(&[(pixels, &params)])).unwrap_err().to_string();
            assert!(error.contains("bytes of memory that the system does not have"), "{error}");
        }
    });
}

#[test]
fn intermediates_count_in_the_declared_memory_and_in_its_description() {
    alone(60, "counting", || {
        let build = |list: Vec<Transform>, workers| {
            let builder = DataLoader::builder(images(4, 40, 30)).output(Layout::Nchw, DType::U8).workers(workers);
            list.into_iter().fold(builder, DataLoaderBuilder::transform).build(&Backend::Cpu)
        };
        let two = || vec![Resize::new((3000, 2000)).into(), Resize::new((16, 16)).into()];
        let (one, loader) = (build(vec![Resize::new((16, 16)).into()], 3).unwrap(), build(two(), 3).unwrap());
        let image = 3000 * 2000 * 16;
        assert!(one.memory() < 1 << 20, "{}", one.memory());
        assert!((3 * image..3 * image + (4 << 20)).contains(&loader.memory()), "{}", loader.memory());
        assert!(loader.explain().contains(" + 3 workers with 92."), "{}", loader.explain());
        assert!(loader.explain().contains(" MiB between stages"), "{}", loader.explain());
        assert!(!one.explain().contains("between stages"), "{}", one.explain());
        // 4 GiB is the budget.
        let error = build(two(), 64).unwrap_err().to_string();
        assert!(error.contains("memory_budget") && error.contains("workers"), "{error}");
    });
}

/// Each image takes more than a worker's share, and all of them at once more than the system has.
#[test]
fn large_images_take_turns() {
    alone(240, "turns", || {
        let mut data = InMemory::new();
        for class in 0..6 {
            let pixels = vec![40 * class as u8; 3 * 2400 * 1600];
            data.push_pixels(2400, 1600, PixelFormat::Rgb8, pixels, Label::Class(class)).unwrap();
        }
        // 380 MB each, for four workers.
        let loader = DataLoader::builder(data).transform(GaussianBlur::new(3)).transform(Resize::new((8, 8)));
        let loader = loader.batch_size(6).workers(4).memory_budget(GIB / 2).build(&Backend::Cpu).unwrap();
        let batches: Vec<_> = with_little_memory(GIB * 7 / 8, || loader.epoch(0).unwrap().collect());
        for batch in batches {
            let batch = batch.unwrap();
            assert_eq!((batch.failures().len(), batch.to_host_f32().unwrap().len()), (0, 6 * 3 * 64));
        }
    });
}
