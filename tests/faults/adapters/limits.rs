//! Devices with lower limits and fewer features. wgpu enforces these: work beyond them would be an error of its own.

use super::{Line, lines};
use gpufeed::transforms::{CenterCrop, GaussianBlur, Key, MixUp, RandomResizedCrop, Resize};
use gpufeed::{
    Cache, DType, DataLoader, DataLoaderBuilder, ErrorKind, Execute, Gpu, InMemory, Label, Layout, Output, PixelFormat,
    Pixels, Plan, Processor, Semantics, wgpu,
};
use gpufeed_testing::device::Device;
use gpufeed_testing::pipeline::{assert_same, loader_devices, small_files};
use gpufeed_testing::watch::alone;

/// Opens a device with WebGPU's default limits but those that `change` lowers, with these features of its own.
fn open(device: &Device, features: wgpu::Features, change: impl FnOnce(&mut wgpu::Limits)) -> Gpu {
    let mut limits = wgpu::Limits::default().or_worse_values_from(&device.adapter.limits());
    change(&mut limits);
    let gpu = Gpu::open_with(&device.adapter, features & device.features(), limits.clone()).unwrap();
    // wgpu has not raised them.
    let there = gpu.device().limits();
    assert_eq!(there.max_storage_buffer_binding_size, limits.max_storage_buffer_binding_size);
    assert_eq!(there.max_compute_workgroups_per_dimension, limits.max_compute_workgroups_per_dimension);
    assert_eq!(there.max_storage_buffers_per_shader_stage, limits.max_storage_buffers_per_shader_stage);
    gpu
}

fn small_bindings(limits: &mut wgpu::Limits) {
    limits.max_storage_buffer_binding_size = 64 << 20;
}

fn small_buffers(limits: &mut wgpu::Limits) {
    (limits.max_buffer_size, limits.max_storage_buffer_binding_size) = (64 << 20, 64 << 20);
}

fn few_storage_buffers(limits: &mut wgpu::Limits) {
    limits.max_storage_buffers_per_shader_stage = 4;
}

fn few_workgroups(limits: &mut wgpu::Limits) {
    limits.max_compute_workgroups_per_dimension = 256;
}

fn coarse_offsets(limits: &mut wgpu::Limits) {
    limits.min_storage_buffer_offset_alignment = 256;
}

fn all_at_once(limits: &mut wgpu::Limits) {
    [small_buffers, few_storage_buffers, few_workgroups, coarse_offsets].iter().for_each(|change| change(limits));
    limits.max_compute_workgroup_storage_size = 16352;
}

#[test]
fn fewer_capabilities_change_no_batch() {
    let none = wgpu::Features::empty();
    let (clock, in_place) = (wgpu::Features::TIMESTAMP_QUERY, wgpu::Features::MAPPABLE_PRIMARY_BUFFERS);
    type Change = fn(&mut wgpu::Limits);
    // Few devices, because each compiles all shaders.
    let narrow: [(&str, wgpu::Features, Change); 5] = [
        ("no features", none, |_| {}),
        ("timestamps alone, bindings of 64 MiB", clock, small_bindings),
        ("mappable buffers alone, buffers of 64 MiB", in_place, small_buffers),
        ("4 storage buffers, 256 workgroups", clock | in_place, |limits| {
            few_storage_buffers(limits);
            few_workgroups(limits);
        }),
        ("all at once", none, all_at_once),
    ];
    alone(600, "fewer capabilities", move || {
        for device in loader_devices() {
            let whole = device.open(device.features());
            let lines = lines();
            let expected: Vec<_> = lines.iter().map(|line| line.batches(&whole, Execute::Gpu).unwrap()).collect();
            for (what, features, change) in narrow {
                let gpu = open(device, features, change);
                for (line, expected) in lines.iter().zip(&expected) {
                    let found = line.batches(&gpu, Execute::Gpu);
                    let what = format!("{}: {what}: {}", device.name, line.name);
                    assert_same(expected, &found.unwrap_or_else(|error| panic!("{what}: {error}")), &what);
                }
            }
            let copied = lines[0].batches(&whole, Execute::Cpu).unwrap();
            let gpu = open(device, none, all_at_once);
            assert_same(&copied, &lines[0].batches(&gpu, Execute::Cpu).unwrap(), "copied up, all at once");
        }
    });
}

fn square(side: u32, samples: u32) -> InMemory {
    let mut data = InMemory::new();
    for number in 0..samples {
        let bytes: Vec<u8> = (0..3 * side * side).map(|i| ((i * (number + 3)) >> 5) as u8).collect();
        data.push_pixels(side, side, PixelFormat::Rgb8, bytes, Label::Class(number)).unwrap();
    }
    data
}

/// The batches of `builder` are those of a device with all that the adapter has.
fn same_as_without_limits(device: &Device, builder: DataLoaderBuilder, change: impl FnOnce(&mut wgpu::Limits)) {
    let line = Line { name: "large", builder };
    let expected = line.batches(&Gpu::open(&device.adapter).unwrap(), Execute::Gpu).unwrap();
    let found = line.batches(&open(device, device.features(), change), Execute::Gpu).unwrap();
    assert_same(&expected, &found, &device.name);
}

#[test]
fn batches_beyond_bindings_and_dispatches_are_divided() {
    alone(300, "large batches", || {
        for device in loader_devices() {
            // 96 MiB of f32, mixed and packed.
            let large = DataLoader::builder(square(64, 8)).transform(Resize::new((1024, 1024))).batch_size(8);
            let large = large.queue_depth(1).output(Layout::Nchw, DType::F16).batch_transform(MixUp::new(1.0));
            same_as_without_limits(device, large.slot_bytes(16 << 20), all_at_once_but_buffers);
            // 20 images where the third dimension has 16 workgroups, and 960 workgroups of packing where two dimensions
            // have 256.
            let many = DataLoader::builder(square(64, 20)).transform(Resize::new((160, 160))).batch_size(20);
            let many = many.queue_depth(1).slot_bytes(16 << 20);
            for dtype in [DType::F16, DType::U8] {
                let many = many.clone().output(Layout::Nhwc, dtype);
                same_as_without_limits(device, many, |limits| limits.max_compute_workgroups_per_dimension = 16);
            }
            // No slot has 16 MiB for each view.
            let views = DataLoader::builder(square(64, 6)).transform(RandomResizedCrop::new(8)).batch_size(3).views(9);
            same_as_without_limits(device, views.slot_bytes(16 << 20), small_bindings);
            // The weights of a resize on bytes take 64 KiB an image: 600 images of a slot need 37 MiB.
            let bytes = DataLoader::builder(small_files(300)).transform(RandomResizedCrop::new(8)).batch_size(300);
            let bytes = bytes.semantics(Semantics::Uint8).cache(Cache::Device(8 << 20)).slot_bytes(16 << 20);
            same_as_without_limits(device, bytes, |limits| limits.max_storage_buffer_binding_size = 17 << 20);
        }
    });
}

/// Images are the third dimension of a dispatch, which has 65,535 workgroups by default.
#[test]
fn a_batch_has_more_images_than_a_dispatch_has_workgroups() {
    alone(120, "70,000 images", || {
        const SAMPLES: u32 = 70_000;
        let (mut data, mut expected) = (InMemory::new(), Vec::new());
        for number in 0..SAMPLES {
            let bytes: Vec<u8> = (0..3).map(|channel| (number >> (7 * channel)) as u8).collect();
            expected.extend_from_slice(&bytes);
            data.push_pixels(1, 1, PixelFormat::Rgb8, bytes, Label::None).unwrap();
        }
        for device in loader_devices() {
            let builder = DataLoader::builder(data.clone()).transform(CenterCrop::new(1)).batch_size(SAMPLES as usize);
            let builder = builder.output(Layout::Nhwc, DType::U8).cache(Cache::Device(8 << 20)).slot_bytes(16 << 20);
            let loader = builder.execute(Execute::Gpu).queue_depth(1).build(&device.open(device.features()).into());
            // The second epoch is one submission of cached samples.
            for batch in loader.unwrap().epochs(0..2).unwrap() {
                assert!(batch.unwrap().to_host().unwrap() == expected, "{}", device.name);
            }
        }
    });
}

fn all_at_once_but_buffers(limits: &mut wgpu::Limits) {
    all_at_once(limits);
    limits.max_buffer_size = 256 << 20;
}

/// The error of building a loader with the shaders, or of its first epoch.
fn error_of(builder: &DataLoaderBuilder, gpu: &Gpu) -> gpufeed::Error {
    let loader = builder.clone().execute(Execute::Gpu).build(&gpu.clone().into());
    let run = loader.and_then(|loader| loader.epoch(0)?.collect::<gpufeed::Result<Vec<_>>>().map(drop));
    run.expect_err("a limit is too low")
}

#[test]
fn work_beyond_a_limit_names_the_setting() {
    type Change = fn(&mut wgpu::Limits);
    let builder = || DataLoader::builder(square(64, 2)).batch_size(2).slot_bytes(16 << 20).queue_depth(1);
    let (workgroups, groups) = ("max_compute_workgroups_per_dimension", |limits: &mut wgpu::Limits| {
        limits.max_compute_workgroups_per_dimension = 16;
    });
    let cases: Vec<(DataLoaderBuilder, Change, &str)> = vec![
        (builder().slot_bytes(80 << 20).transform(CenterCrop::new(8)), small_bindings, "slot_bytes"),
        (builder().slot_bytes(80 << 20).transform(CenterCrop::new(8)), small_buffers, "slot_bytes"),
        (builder().transform(Resize::new((2100, 2100))), small_bindings, "the output size"),
        (builder().transform(Resize::new((2000, 2000))), small_buffers, "batch_size"),
        // The batch fits, but not its f32.
        (builder().transform(Resize::new((2000, 2000))).output(Layout::Nchw, DType::U8), small_buffers, "batch_size"),
        (builder().transform(Resize::new((8, 600))), groups, workgroups),
        // Between two stages.
        (
            builder().transform(Resize::new((8, 600))).transform(GaussianBlur::new(3)).transform(CenterCrop::new(8)),
            groups,
            workgroups,
        ),
        (
            builder()
                .transform(Resize::new((1500, 1500)))
                .transform(GaussianBlur::new(3))
                .transform(CenterCrop::new(8)),
            |limits| limits.max_storage_buffer_binding_size = 17 << 20,
            "the sizes in the list of transforms",
        ),
        (builder().transform(Resize::new((300, 300))).batch_transform(MixUp::new(1.0)), groups, workgroups),
        // Beyond WebGPU's default of 65,535 workgroups.
        (builder().batch_size(1).transform(CenterCrop::new((1, 2_100_000))), |_| {}, workgroups),
        (
            builder().transform(CenterCrop::new(8)),
            |limits| limits.max_storage_buffers_per_shader_stage = 3,
            "max_storage_buffers_per_shader_stage",
        ),
    ];
    alone(120, "named limits", move || {
        for device in loader_devices() {
            for (builder, change, setting) in &cases {
                let gpu = open(device, device.features(), change);
                let error = error_of(builder, &gpu);
                assert!(matches!(error.kind(), ErrorKind::Argument { .. } | ErrorKind::DoesNotFit { .. }), "{error}");
                assert!(error.to_string().contains(setting), "{}: not {setting}: {error}", device.name);
            }
        }
    });
}

/// An adopted device has no handler of uncaptured errors: one would panic.
#[test]
fn an_adopted_device_with_too_few_storage_buffers_is_refused_without_a_panic() {
    alone(60, "adopted", || {
        for device in loader_devices() {
            let limits = wgpu::Limits { max_storage_buffers_per_shader_stage: 3, ..wgpu::Limits::default() };
            let required_limits = limits.or_worse_values_from(&device.adapter.limits());
            let descriptor = wgpu::DeviceDescriptor { required_limits, ..wgpu::DeviceDescriptor::default() };
            let (opened, queue) = pollster::block_on(device.adapter.request_device(&descriptor)).unwrap();
            let gpu = Gpu::from_wgpu(&device.adapter, opened, queue);
            let builder = DataLoader::builder(square(16, 2)).transform(CenterCrop::new(8));
            let error = error_of(&builder, &gpu);
            assert!(error.to_string().starts_with("max_storage_buffers_per_shader_stage: "), "{error}");
            // Batches that the CPU makes need no shaders.
            let loader = builder.execute(Execute::Cpu).build(&gpu.into()).unwrap();
            assert_eq!(loader.epoch(0).unwrap().filter(Result::is_ok).count(), 2);
        }
    });
}

#[test]
fn a_processor_beyond_a_limit_names_what_to_lower() {
    alone(60, "processor", || {
        let list = [Resize::new((8, 8)).into()];
        let plan = Plan::compile_as(Semantics::Uint8, 3, &list, &Output::default()).unwrap();
        let params = plan.make_params(32, 32, &Key::default()).unwrap();
        let bytes = vec![9; 32 * 32 * 3];
        let pixels = Pixels::new(32, 32, PixelFormat::Rgb8, &bytes).unwrap();
        for device in loader_devices() {
            let gpu = open(device, device.features(), |limits| limits.max_storage_buffer_binding_size = 17 << 20);
            let processor = Processor::new(&plan, &gpu.into()).unwrap();
            processor.run(&[(pixels, &params)]).unwrap();
            let error = processor.run(&vec![(pixels, &params); 300]).unwrap_err();
            assert!(error.to_string().contains("the number of images given at once"), "{error}");
        }
    });
}
