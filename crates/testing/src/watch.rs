//! Leaks and hangs: the threads of the line and the GPU buffers that there are, tests one at a time, and a clock for each.

use crate::device::Device;
use crate::line::within;
use gpufeed::{Gpu, wgpu};
use std::sync::{Mutex, Once, PoisonError};
use std::time::{Duration, Instant};

/// One test at a time: threads and memory are counted in the whole process.
static ALONE: Mutex<()> = Mutex::new(());

/// Runs `work` when no other test does, and fails if it takes longer than `seconds`.
pub fn alone<T: Send + 'static>(seconds: u64, what: &str, work: impl FnOnce() -> T + Send + 'static) -> T {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    within(seconds, what, work)
}

/// Names of this process's threads of the line that do not end: the system lists a thread for a moment after it was
/// joined.
pub fn left_over() -> Vec<String> {
    let started = Instant::now();
    while !threads().is_empty() && started.elapsed() < Duration::from_millis(500) {
        std::thread::sleep(Duration::from_millis(1));
    }
    threads()
}

/// Whether /proc shows this process's threads and open files. Elsewhere none that is left is seen; that is said once.
pub fn has_proc() -> bool {
    static SAID: Once = Once::new();
    let there = cfg!(target_os = "linux");
    if !there {
        SAID.call_once(|| println!("skipped: without /proc, threads and files that are left are not seen"));
    }
    there
}

/// Names of this process's threads of the line; none where they are not seen.
pub fn threads() -> Vec<String> {
    if !has_proc() {
        return Vec::new();
    }
    let tasks = std::fs::read_dir("/proc/self/task").unwrap().flatten();
    let names = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("comm")).ok());
    names.filter(|name| name.starts_with("gpufeed-")).collect()
}

/// The adapters that can run compute shaders, of an instance made as `change` says: their devices are the test's own.
pub fn adapters(change: impl Fn(&mut wgpu::InstanceDescriptor)) -> Vec<wgpu::Adapter> {
    let mut descriptor = wgpu::InstanceDescriptor::new_without_display_handle_from_env();
    change(&mut descriptor);
    let instance = wgpu::Instance::new(descriptor);
    let mut adapters = pollster::block_on(instance.enumerate_adapters(wgpu::Backends::all()));
    adapters
        .retain(|adapter| adapter.get_downlevel_capabilities().flags.contains(wgpu::DownlevelFlags::COMPUTE_SHADERS));
    let required = std::env::var("GPUFEED_REQUIRE_GPU").is_ok_and(|value| value == "1");
    assert!(!required || !adapters.is_empty(), "GPUFEED_REQUIRE_GPU=1, but there is no adapter");
    adapters
}

/// A device that gpufeed opens, with WebGPU's default limits.
pub fn opened(adapter: &wgpu::Adapter) -> Gpu {
    let device = Device::of(adapter.clone());
    device.open(device.features())
}

/// A device as an application opens it: WebGPU's default limits.
pub fn application_device(adapter: &wgpu::Adapter) -> (wgpu::Device, wgpu::Queue) {
    pollster::block_on(adapter.request_device(&wgpu::DeviceDescriptor::default())).unwrap()
}

/// Buffers of the device that the driver has, wgpu's own among them, once the work under way is done; and their bytes, where
/// the backend counts those (Vulkan, Direct3D).
pub fn gpu_buffers(gpu: &Gpu) -> (isize, isize) {
    // Twice: what the first submission finishes is freed by the second.
    for _ in 0..2 {
        gpu.queue().submit([]);
        gpu.device().poll(wgpu::PollType::wait_indefinitely()).unwrap();
    }
    let counters = gpu.device().get_internal_counters().hal;
    (counters.buffers.read(), counters.buffer_memory.read())
}
