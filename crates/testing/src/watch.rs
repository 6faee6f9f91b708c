//! Checks for leaks and hangs: the pipeline's threads and the GPU buffers that exist, a lock that runs tests one at a
//! time, and a timeout for each.

use crate::device::{self, Device};
use crate::pipeline::within;
use gpufeed::{Gpu, wgpu};
use std::sync::{Mutex, Once, PoisonError};
use std::time::{Duration, Instant};

/// Makes tests run one at a time, because threads and memory are counted for the whole process.
static ALONE: Mutex<()> = Mutex::new(());

/// Runs `work` while no other test does, and panics if it takes longer than `seconds`.
pub fn alone<T: Send + 'static>(seconds: u64, what: &str, work: impl FnOnce() -> T + Send + 'static) -> T {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    within(seconds, what, work)
}

/// Returns the names of the pipeline's threads in this process that have not ended after half a second. It waits
/// because the system lists a thread for a moment after it was joined.
pub fn left_over() -> Vec<String> {
    let started = Instant::now();
    while !threads().is_empty() && started.elapsed() < Duration::from_millis(500) {
        std::thread::sleep(Duration::from_millis(1));
    }
    threads()
}

/// Whether /proc shows this process's threads and open files. Elsewhere leaked ones are not seen; the tests print that
/// once.
pub fn has_proc() -> bool {
    static SAID: Once = Once::new();
    let there = cfg!(target_os = "linux");
    if !there {
        SAID.call_once(|| println!("skipped: without /proc, threads and files that are left are not seen"));
    }
    there
}

/// True if Vulkan's validation layer is loaded, as by `scripts/test-validation.sh`. The layer starts a thread for each
/// queue at the first submission, with the name of the thread that submits. The tests print once that they look for no thread.
fn has_layer() -> bool {
    static SAID: Once = Once::new();
    let there = std::env::var("VK_INSTANCE_LAYERS").is_ok_and(|names| names.contains("validation"));
    if there {
        SAID.call_once(|| {
            println!("skipped: under the validation layer, threads that are left are not told from its own")
        });
    }
    there
}

/// Returns the names of the pipeline's threads in this process; none where /proc is missing, or under the validation
/// layer.
pub fn threads() -> Vec<String> {
    if !has_proc() || has_layer() {
        return Vec::new();
    }
    let tasks = std::fs::read_dir("/proc/self/task").unwrap().flatten();
    let names = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("comm")).ok());
    names.filter(|name| name.starts_with("gpufeed-")).collect()
}

/// Returns the adapters that can run compute shaders, of a new instance that `change` configures, so that the test
/// shares no device.
pub fn adapters(change: impl Fn(&mut wgpu::InstanceDescriptor)) -> Vec<wgpu::Adapter> {
    let mut descriptor = wgpu::InstanceDescriptor::new_without_display_handle_from_env();
    change(&mut descriptor);
    let instance = wgpu::Instance::new(descriptor);
    let mut adapters = pollster::block_on(instance.enumerate_adapters(wgpu::Backends::all()));
    adapters
        .retain(|adapter| adapter.get_downlevel_capabilities().flags.contains(wgpu::DownlevelFlags::COMPUTE_SHADERS));
    device::require(adapters.iter().map(|adapter| device::name(&adapter.get_info())));
    adapters
}

/// Opens a device through gpufeed, with WebGPU's default limits.
pub fn opened(adapter: &wgpu::Adapter) -> Gpu {
    let device = Device::of(adapter.clone());
    device.open(device.features())
}

/// Opens a device as an application does, with WebGPU's default limits.
pub fn application_device(adapter: &wgpu::Adapter) -> (wgpu::Device, wgpu::Queue) {
    pollster::block_on(adapter.request_device(&wgpu::DeviceDescriptor::default())).unwrap()
}

/// Returns the number of buffers that the driver has for the device, including wgpu's own, once the submitted work is
/// done; and their bytes, where the backend counts those (Vulkan, Direct3D).
pub fn gpu_buffers(gpu: &Gpu) -> (isize, isize) {
    // There are two submissions, because the second frees the resources of the first.
    for _ in 0..2 {
        gpu.queue().submit([]);
        gpu.device().poll(wgpu::PollType::wait_indefinitely()).unwrap();
    }
    let counters = gpu.device().get_internal_counters().hal;
    (counters.buffers.read(), counters.buffer_memory.read())
}
