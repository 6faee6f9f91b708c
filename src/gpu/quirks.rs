//! Drivers that do something else than their specification: data, as wgpu's own tests keep it.
//!
//! No rule of gpufeed looks here, because an image takes the same way on every adapter (`limits.rs`). The tests do: the
//! rules have to stay inside every row, and a driver that changes, or one like it that is not listed, is noticed.

use wgpu::Backend;

/// One thing that one driver does otherwise.
#[derive(Debug)]
pub(super) struct Quirk {
    backends: &'static [Backend],
    /// Part of the adapter's name.
    name: &'static str,
    pub(super) what: What,
    /// Where it is written down.
    link: &'static str,
}

/// What is different.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum What {
    /// A shader's loops end after so many iterations, an invocation's all together, without an error.
    LoopsEnd { after: u32 },
}

pub(super) const QUIRKS: [Quirk; 1] = [Quirk {
    // lavapipe is Mesa's Vulkan around llvmpipe.
    backends: &[Backend::Vulkan, Backend::Gl],
    name: "llvmpipe",
    what: What::LoopsEnd { after: 65_535 },
    // LP_MAX_TGSI_LOOP_ITERATIONS
    link: "https://gitlab.freedesktop.org/mesa/mesa/-/blob/mesa-22.3.6/src/gallium/auxiliary/gallivm/lp_bld_limits.h",
}];

/// The rows for an adapter.
fn of(backend: Backend, name: &str) -> impl Iterator<Item = &'static Quirk> {
    QUIRKS.iter().filter(move |quirk| quirk.backends.contains(&backend) && name.contains(quirk.name))
}

#[test]
fn rows_match_their_drivers_and_no_other() {
    for backend in [Backend::Vulkan, Backend::Gl] {
        for name in ["llvmpipe (LLVM 15.0.6, 256 bits)", "llvmpipe (LLVM 20.1.2, 512 bits)"] {
            let found: Vec<_> = of(backend, name).map(|quirk| quirk.what).collect();
            assert_eq!(found, [What::LoopsEnd { after: 65_535 }], "{name}");
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
        // No driver of that name on that API.
        (Backend::Metal, "llvmpipe"),
    ];
    for (backend, name) in others {
        assert_eq!(of(backend, name).count(), 0, "{name}");
    }
    assert!(QUIRKS.iter().all(|quirk| quirk.link.starts_with("https://")));
}

/// How many iterations of a loop a driver runs where a hundred thousand are asked for, in two loops one after the other.
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
    let adapters = super::Gpu::enumerate();
    if adapters.is_empty() {
        let required = std::env::var("GPUFEED_REQUIRE_GPU").is_ok_and(|value| value == "1");
        assert!(!required, "GPUFEED_REQUIRE_GPU=1, but there is no adapter");
        println!("skipped: no adapter");
    }
    for adapter in adapters {
        let info = adapter.get_info();
        let limits = wgpu::Limits::default().or_worse_values_from(&adapter.limits());
        let gpu = super::Gpu::open_with(&adapter, wgpu::Features::empty(), limits).unwrap();
        let counts = gpu.storage("counts", 16).unwrap();
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
        gpu.queue().submit([encoder.finish()]);
        let bytes = super::readback::read(&gpu, &counts, 4..8).unwrap();
        let ran = u32::from_ne_bytes(bytes.try_into().unwrap());
        println!("{gpu}: {ran} of {ASKED} iterations");
        let ends = of(info.backend, &info.name).map(|quirk| match quirk.what {
            What::LoopsEnd { after } => after,
        });
        match ends.min() {
            // Leaving a loop counts as well: twice, if both are left.
            Some(after) => {
                assert!((after - 2..=after).contains(&ran), "{gpu}: not {after} iterations, correct the row")
            }
            None => assert_eq!(ran, ASKED, "{gpu}: a row is missing"),
        }
    }
}
