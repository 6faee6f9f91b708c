//! The machine's adapters: listing and describing them, and the one that `choice` takes.

use super::choice::{Card, Picked, Want, choose, preference};
use super::identity::Identity;

fn instance() -> wgpu::Instance {
    wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle_from_env())
}

/// Name, type, backend and driver of an adapter. Equal cards have one text, so it names the file of their compiled
/// pipelines.
pub(super) fn describe(info: &wgpu::AdapterInfo) -> String {
    let driver = [info.driver.as_str(), info.driver_info.as_str()].join(" ");
    format!("{} ({:?}, {:?}, {})", info.name, info.device_type, info.backend, driver.trim())
}

/// [`describe`], and the PCI address, which tells equal cards apart.
pub(super) fn describe_card(info: &wgpu::AdapterInfo, identity: &Identity) -> String {
    let text = describe(info);
    match &identity.pci {
        Some(address) => format!("{}, PCI {address})", text.strip_suffix(')').unwrap_or(&text)),
        None => text,
    }
}

/// The adapters that can run compute shaders, best first, and the other adapters.
pub(super) fn enumerate_all() -> (Vec<wgpu::Adapter>, Vec<wgpu::Adapter>) {
    let mut adapters = pollster::block_on(instance().enumerate_adapters(wgpu::Backends::all()));
    adapters.sort_by_key(|adapter| {
        let info = adapter.get_info();
        preference(info.device_type, info.backend)
    });
    let computes = wgpu::DownlevelFlags::COMPUTE_SHADERS;
    adapters.into_iter().partition(|adapter| adapter.get_downlevel_capabilities().flags.contains(computes))
}

/// An adapter as the choice sees it.
fn card(adapter: &wgpu::Adapter) -> Card {
    let (info, identity) = (adapter.get_info(), Identity::of(adapter));
    Card {
        description: describe_card(&info, &identity),
        name: info.name,
        kind: info.device_type,
        backend: info.backend,
        vendor: info.vendor,
        identity,
    }
}

/// Chooses among `adapters` by this process's environment.
///
/// # Errors
/// Those of [`choose`].
pub(crate) fn pick(adapters: &[wgpu::Adapter], want: Want<'_>) -> Result<Picked, String> {
    let cards: Vec<Card> = adapters.iter().map(card).collect();
    choose(&cards, want, &variable)
}

/// The value of a variable of the environment. One that is not Unicode is there, and is no name or number.
pub(super) fn variable(name: &str) -> Option<String> {
    std::env::var_os(name).map(|value| value.to_string_lossy().into_owned())
}
