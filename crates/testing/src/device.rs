//! The one place where tests open GPUs: with exactly WebGPU's default limits, which every WebGPU device has, so that no
//! test passes because this machine's adapter has more.

use gpufeed::{Gpu, wgpu};
use std::sync::LazyLock;

/// An adapter and its name for messages.
#[derive(Clone)]
pub struct Device {
    pub name: String,
    pub adapter: wgpu::Adapter,
}

static DEVICES: LazyLock<Vec<Device>> = LazyLock::new(|| {
    let devices: Vec<_> = adapters().into_iter().map(Device::of).collect();
    require(devices.iter().map(|device| device.name.clone()));
    devices
});

/// Returns the machine's adapters, best first; with `GPUFEED_ONLY_ADAPTER` the one with this number alone, as a machine may
/// have eight equal cards.
///
/// # Panics
/// If the variable is no number of an adapter.
pub fn adapters() -> Vec<wgpu::Adapter> {
    let only = std::env::var("GPUFEED_ONLY_ADAPTER").ok();
    chosen(Gpu::enumerate(), only.as_deref()).unwrap_or_else(|reason| panic!("{reason}"))
}

fn chosen<T>(mut adapters: Vec<T>, only: Option<&str>) -> Result<Vec<T>, String> {
    match only {
        None | Some("") => Ok(adapters),
        Some(only) => match only.parse::<usize>() {
            Ok(number) if number < adapters.len() => Ok(vec![adapters.swap_remove(number)]),
            _ => Err(format!("GPUFEED_ONLY_ADAPTER={only} is no number of the {} adapters", adapters.len())),
        },
    }
}

/// Returns the machine's [`adapters`], of which there are those that `GPUFEED_REQUIRE_GPU` [requires](require).
pub fn devices() -> &'static [Device] {
    &DEVICES
}

/// Checks the names of a machine's adapters by `GPUFEED_REQUIRE_GPU`: with 1 there has to be one, with a name or a part
/// of one, in any case, that one. Prints where there is none and none has to be.
///
/// # Panics
/// If it is not there.
pub fn require(names: impl IntoIterator<Item = String>) {
    let names: Vec<String> = names.into_iter().collect();
    if let Err(reason) = found(&names, std::env::var("GPUFEED_REQUIRE_GPU").ok().as_deref()) {
        panic!("{reason}");
    }
    if names.is_empty() {
        println!("skipped: no adapter");
    }
}

fn found(names: &[String], required: Option<&str>) -> Result<(), String> {
    let fits = |name: &String, part: &str| name.to_lowercase().contains(&part.to_lowercase());
    match required {
        None | Some("" | "0") => Ok(()),
        Some("1") if names.is_empty() => Err("GPUFEED_REQUIRE_GPU=1, but there is no adapter".to_owned()),
        Some(part) if part != "1" && !names.iter().any(|name| fits(name, part)) => {
            Err(format!("GPUFEED_REQUIRE_GPU={part}, but no adapter has this in its name; there are {names:?}"))
        }
        Some(_) => Ok(()),
    }
}

/// The name of an adapter in messages.
pub fn name(info: &wgpu::AdapterInfo) -> String {
    format!("{} ({:?}, {} {})", info.name, info.backend, info.driver, info.driver_info)
}

impl Device {
    pub fn of(adapter: wgpu::Adapter) -> Device {
        Device { name: name(&adapter.get_info()), adapter }
    }

    /// Returns those of the adapter's features that gpufeed asks for by itself.
    pub fn features(&self) -> wgpu::Features {
        let wanted =
            wgpu::Features::MAPPABLE_PRIMARY_BUFFERS | wgpu::Features::TIMESTAMP_QUERY | wgpu::Features::SHADER_I16;
        self.adapter.features() & wanted
    }

    /// Opens the adapter with these features and WebGPU's default limits; a limit that the adapter does not reach is
    /// set to the adapter's own.
    pub fn open(&self, features: wgpu::Features) -> Gpu {
        let default = wgpu::Limits::default();
        let limits = default.clone().or_worse_values_from(&self.adapter.limits());
        if limits != default {
            println!("{} lacks WebGPU's default limits; tested with {limits:#?}", self.name);
        }
        let gpu = Gpu::open_with(&self.adapter, features, limits.clone());
        let gpu = gpu.unwrap_or_else(|error| panic!("{}: {error}", self.name));
        assert_eq!(gpu.device().limits(), limits, "{}: other limits than asked for", self.name);
        gpu
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_several_equal_adapters_is_chosen_by_its_number() {
        let three = || vec!["a card"; 3];
        assert_eq!(chosen(three(), None).unwrap().len() + chosen(three(), Some("")).unwrap().len(), 6);
        assert_eq!(chosen(vec!["first", "second", "third"], Some("1")).unwrap(), ["second"]);
        for wrong in ["3", "-1", "second"] {
            assert!(chosen(three(), Some(wrong)).unwrap_err().contains("of the 3 adapters"), "{wrong}");
        }
        assert!(chosen(Vec::<&str>::new(), Some("0")).is_err());
    }

    #[test]
    fn an_adapter_is_required_by_its_name_or_by_none() {
        let some = ["llvmpipe (LLVM 19.1.7, 256 bits) (Vulkan, llvmpipe Mesa 25.0.7)".to_owned()];
        for required in [None, Some(""), Some("0")] {
            assert!(found(&[], required).is_ok() && found(&some, required).is_ok(), "{required:?}");
        }
        for required in ["1", "llvmpipe", "LLVMpipe", "Vulkan", "mesa 25"] {
            assert!(found(&some, Some(required)).is_ok(), "{required}");
            assert!(found(&[], Some(required)).is_err(), "{required}");
        }
        let error = found(&some, Some("NVIDIA")).unwrap_err();
        assert!(
            error.starts_with("GPUFEED_REQUIRE_GPU=NVIDIA, but no adapter") && error.contains("llvmpipe"),
            "{error}"
        );
    }
}
