//! The machine's adapters: listing, describing and choosing them.

fn instance() -> wgpu::Instance {
    wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle_from_env())
}

/// Name, type, backend and driver of an adapter.
pub(super) fn describe(info: &wgpu::AdapterInfo) -> String {
    let driver = [info.driver.as_str(), info.driver_info.as_str()].join(" ");
    format!("{} ({:?}, {:?}, {})", info.name, info.device_type, info.backend, driver.trim())
}

/// The order of preference: discrete before integrated before virtual, software last.
fn rank(info: &wgpu::AdapterInfo) -> u32 {
    let kind = match info.device_type {
        wgpu::DeviceType::DiscreteGpu => 0,
        wgpu::DeviceType::IntegratedGpu => 1,
        wgpu::DeviceType::VirtualGpu => 2,
        wgpu::DeviceType::Other => 3,
        wgpu::DeviceType::Cpu => 4,
    };
    // OpenGL comes after any other API that drives the same chip.
    kind * 2 + u32::from(info.backend == wgpu::Backend::Gl)
}

/// The adapters that can run compute shaders, best first, and the other adapters.
pub(super) fn enumerate_all() -> (Vec<wgpu::Adapter>, Vec<wgpu::Adapter>) {
    let mut adapters = pollster::block_on(instance().enumerate_adapters(wgpu::Backends::all()));
    adapters.sort_by_key(|adapter| rank(&adapter.get_info()));
    let computes = wgpu::DownlevelFlags::COMPUTE_SHADERS;
    adapters.into_iter().partition(|adapter| adapter.get_downlevel_capabilities().flags.contains(computes))
}

/// The best adapter that is not a software one.
pub(crate) fn best() -> Option<wgpu::Adapter> {
    enumerate_all().0.into_iter().find(|adapter| adapter.get_info().device_type != wgpu::DeviceType::Cpu)
}

/// The adapter with this number, or the first with `name` in its description.
///
/// # Errors
/// The adapters of the machine, if none fits.
pub(crate) fn named(name: &str) -> Result<wgpu::Adapter, String> {
    let (adapters, _) = enumerate_all();
    let by_number = name.parse::<usize>().ok().and_then(|number| adapters.get(number));
    let lower = name.to_lowercase();
    let by_name = || adapters.iter().find(|adapter| describe(&adapter.get_info()).to_lowercase().contains(&lower));
    if let Some(adapter) = by_number.or_else(by_name) {
        return Ok(adapter.clone());
    }
    let found: Vec<_> = adapters.iter().map(|adapter| describe(&adapter.get_info())).collect();
    let found = if found.is_empty() {
        "the machine has none".to_owned()
    } else {
        format!("the machine has {}", found.join("; "))
    };
    Err(format!("none matches \"{name}\"; {found}"))
}
