//! Silences a message that Mesa's drivers print on machines without a desktop session.

use std::path::Path;

/// Switches off Mesa's Vulkan layer that sorts devices, unless the environment configures it.
///
/// Without a desktop session, as on most servers, the layer prints "XDG_RUNTIME_DIR is invalid or not set in the
/// environment" for every Vulkan instance. gpufeed sorts the devices itself and does not need the layer.
///
/// Must be called before the process starts a second thread.
pub(crate) fn silence() {
    let session = std::env::var_os("XDG_RUNTIME_DIR").is_some_and(|path| Path::new(&path).is_absolute());
    let configured = ["NODEVICE_SELECT", "MESA_VK_DEVICE_SELECT", "DRI_PRIME"]
        .into_iter()
        .any(|name| std::env::var_os(name).is_some());
    if session || configured {
        return;
    }
    // Vulkan's driver loader reads nothing but the environment. Starting the command again with another environment
    // would change its process id, and signals would reach the wrong process.
    // SAFETY: `main` calls this first, when no other thread runs that could read the environment.
    #[allow(unsafe_code)]
    unsafe {
        std::env::set_var("NODEVICE_SELECT", "1");
    }
}
