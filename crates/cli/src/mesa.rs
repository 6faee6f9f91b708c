//! Keeps Mesa's messages about a session that is not there out of the command's output.

use std::path::Path;

/// Mesa's Vulkan layer that sorts the devices prints "XDG_RUNTIME_DIR is invalid or not set in the environment" for
/// every instance that is made without a desktop session, as on most servers. gpufeed sorts the devices itself, so the
/// layer is switched off there, unless the environment asks something of it.
///
/// To be called before there is a second thread.
pub(crate) fn silence() {
    let session = std::env::var_os("XDG_RUNTIME_DIR").is_some_and(|path| Path::new(&path).is_absolute());
    let asked = ["NODEVICE_SELECT", "MESA_VK_DEVICE_SELECT", "DRI_PRIME"]
        .into_iter()
        .any(|name| std::env::var_os(name).is_some());
    if session || asked {
        return;
    }
    // The loader of Vulkan's drivers reads nothing but the environment, and to start the command once more, with
    // another environment, would change its process id and what ends it.
    // SAFETY: `main` calls this first, when no other thread runs that could read the environment.
    #[allow(unsafe_code)]
    unsafe {
        std::env::set_var("NODEVICE_SELECT", "1");
    }
}
