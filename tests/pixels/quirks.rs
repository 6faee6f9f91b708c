//! Compares the table of drivers' quirks with the drivers of this machine.

use gpufeed::{Gpu, wgpu};
use gpufeed_testing::device;
use gpufeed_testing::quirks::{Applies, QUIRKS, What, of};
use wgpu::Backend;

#[test]
fn rows_match_their_drivers_and_no_other() {
    for backend in [Backend::Vulkan, Backend::Gl] {
        for name in ["llvmpipe (LLVM 15.0.6, 256 bits)", "llvmpipe (LLVM 20.1.2, 512 bits)"] {
            for (driver_info, expected) in [
                ("Mesa 22.3.6 (LLVM 15.0.6)", Some(Applies::Always)),
                ("4.5 (Core Profile) Mesa 22.3.6", Some(Applies::Always)),
                ("", Some(Applies::Always)),
                ("Mesa 24.2.8", Some(Applies::Perhaps)),
                ("Mesa 25.0.7-2~bpo12+1 (LLVM 15.0.6)", None),
            ] {
                let found: Vec<_> =
                    of(backend, name, driver_info).map(|(quirk, applies)| (quirk.what, applies)).collect();
                let expected = expected.map(|applies| (What::LoopsEnd { after: 65_535 }, applies));
                assert_eq!(found, Vec::from_iter(expected), "{name}, {driver_info}");
            }
        }
    }
    let others = [
        (Backend::Vulkan, "NVIDIA GeForce RTX 4090"),
        (Backend::Vulkan, "AMD Radeon RX 7900 XTX (RADV NAVI31)"),
        (Backend::Vulkan, "Intel(R) UHD Graphics 770 (ADL-S GT1)"),
        (Backend::Vulkan, "SwiftShader Device (LLVM 10.0.0)"),
        (Backend::Gl, "AMD Radeon RX 7900 XTX (radeonsi, navi31)"),
        (Backend::Gl, "softpipe"),
        (Backend::Dx12, "Microsoft Basic Render Driver"),
        (Backend::Metal, "Apple Paravirtual device"),
        // llvmpipe has no driver for Metal.
        (Backend::Metal, "llvmpipe"),
    ];
    for (backend, name) in others {
        assert_eq!(of(backend, name, "Mesa 22.3.6").count(), 0, "{name}");
    }
    assert!(QUIRKS.iter().all(|quirk| quirk.link.starts_with("https://")));
}

/// Checks how many iterations a driver runs where 100,000 are asked for, in two loops one after the other.
#[test]
#[expect(clippy::print_stdout, reason = "tests print what they measured")]
fn loops_end_early_where_the_table_says_so_and_nowhere_else() {
    const ASKED: u32 = 100_000;
    const TEXT: &str = "
        @group(0) @binding(0) var<storage, read_write> counts: array<u32>;
        @compute @workgroup_size(1) fn main() {
            let asked = counts[0];
            var first = 0u;
            // A state that no compiler folds into a formula.
            var state = asked;
            for (var i = 0u; i < asked / 2u; i++) { state = state * 1664525u ^ (state >> 7u); first++; }
            var second = 0u;
            for (var i = 0u; i < asked / 2u; i++) { state = state * 1664525u ^ (state >> 7u); second++; }
            counts[1] = first + second;
            counts[2] = state;
        }";
    let adapters = Gpu::enumerate();
    device::require(adapters.iter().map(|adapter| device::name(&adapter.get_info())));
    for adapter in adapters {
        let info = adapter.get_info();
        let limits = wgpu::Limits::default().or_worse_values_from(&adapter.limits());
        let gpu = Gpu::open_with(&adapter, wgpu::Features::empty(), limits).unwrap();
        let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::COPY_SRC;
        let buffer = |usage| wgpu::BufferDescriptor { label: None, size: 16, usage, mapped_at_creation: false };
        let counts = gpu.device().create_buffer(&buffer(usage));
        gpu.queue().write_buffer(&counts, 0, &ASKED.to_ne_bytes());
        let module = gpu.device().create_shader_module(wgpu::ShaderModuleDescriptor {
            label: None,
            source: wgpu::ShaderSource::Wgsl(TEXT.into()),
        });
        let pipeline = gpu.device().create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: None,
            layout: None,
            module: &module,
            entry_point: None,
            compilation_options: wgpu::PipelineCompilationOptions::default(),
            cache: None,
        });
        let group = gpu.device().create_bind_group(&wgpu::BindGroupDescriptor {
            label: None,
            layout: &pipeline.get_bind_group_layout(0),
            entries: &[wgpu::BindGroupEntry { binding: 0, resource: counts.as_entire_binding() }],
        });
        let mut encoder = gpu.device().create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
        pass.set_pipeline(&pipeline);
        pass.set_bind_group(0, &group, &[]);
        pass.dispatch_workgroups(1, 1, 1);
        drop(pass);
        let read = gpu.device().create_buffer(&buffer(wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST));
        encoder.copy_buffer_to_buffer(&counts, 0, &read, 0, 16);
        gpu.queue().submit([encoder.finish()]);
        read.map_async(wgpu::MapMode::Read, .., |mapped| mapped.unwrap());
        gpu.device().poll(wgpu::PollType::wait_indefinitely()).unwrap();
        let ran = u32::from_ne_bytes(*read.get_mapped_range(..).unwrap()[4..].first_chunk().unwrap());
        println!("{gpu}: {ran} of {ASKED} iterations");
        let rows = of(info.backend, &info.name, &info.driver_info);
        let ends = rows.map(|(quirk, applies)| match quirk.what {
            What::LoopsEnd { after } => (after, applies),
        });
        match ends.min_by_key(|(after, _)| *after) {
            Some((_, Applies::Perhaps)) if ran == ASKED => {}
            // Leaving a loop counts as an iteration, too: two if both loops are left.
            Some((after, _)) => {
                assert!((after - 2..=after).contains(&ran), "{gpu}: not {after} iterations, correct the row")
            }
            None => assert_eq!(ran, ASKED, "{gpu}: a row is missing"),
        }
    }
}
