//! The work that `build` does ahead of a run, counted by a mock without faults.

use super::{lines, misbehaving};
use gpufeed::internals::Mock;
use gpufeed::{Execute, wgpu};
use gpufeed_testing::device::devices;
use gpufeed_testing::watch::alone;
use std::time::Duration;

/// On a Vulkan driver in software, `build` submits new shaders once; a loader of the same list finds them compiled.
/// Buffers are made by the first run, and staging slots are mapped when they are first taken.
#[test]
fn shaders_are_compiled_and_run_once_and_no_run_is_prepared() {
    alone(120, "ahead", || {
        for device in devices() {
            let (gpu, mock) = misbehaving(device, false, Mock::default());
            let build = |execute| lines().swap_remove(0).builder.execute(execute).build(&gpu.clone().into()).unwrap();
            let first = build(Execute::Gpu);
            let in_software = gpu.is_software() && gpu.info().backend == wgpu::Backend::Vulkan;
            assert_eq!((mock.submissions.calls(), mock.maps.calls()), (u64::from(in_software), 0), "{gpu}");
            let compile = first.stats().compile;
            assert_eq!((compile.compiled, compile.kept), (2, 0), "{gpu}: the jitter's mean and its stage");
            assert!(!compile.time.is_zero() && first.explain().contains("\nshaders: 2 pipelines compiled in"), "{gpu}");

            mock.buffers.at(0..0);
            let second = build(Execute::Gpu);
            assert_eq!(mock.buffers.calls(), 0, "{gpu}: a run makes the buffers");
            assert_eq!((mock.submissions.calls(), mock.maps.calls()), (u64::from(in_software), 0), "{gpu}");
            let compile = second.stats().compile;
            assert_eq!((compile.compiled, compile.kept, compile.time), (0, 2, Duration::ZERO), "{gpu}");

            let native = build(Execute::Cpu);
            assert_eq!(native.stats().compile, Default::default(), "{gpu}");
            assert!(!native.explain().contains("shaders:"), "{gpu}");
            assert!(first.epoch(0).unwrap().all(|batch| batch.is_ok()) && mock.maps.calls() > 0, "{gpu}");
        }
    });
}
