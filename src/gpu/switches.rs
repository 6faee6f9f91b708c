//! Choices about the work on a GPU. Each follows a rule, by what the device has, and can be set by hand, so that a card can
//! be asked whether the rule is right (`gpufeed bench --switch`). A part of `internals`: no user needs one.

use super::Gpu;
use super::staging_memory::StagingMemory;
use crate::error::{Error, Result};

/// The choices: name, values, and what each decides. [`Switches`] says where each one's rule is.
pub const SWITCHES: [(&str, &str, &str); 4] = [
    (
        "f16",
        "stored|packed",
        "f16 and bf16 batches: stored by the last stage, or packed from f32 by a pass of their own",
    ),
    ("rows", "4|8|16", "rows of outputs of a thread, whatever the height of an image"),
    ("slots", "1|2", "full staging slots of one submission, where the device waits for the next one"),
    (
        "staging",
        "copied|in-place|host",
        "slots: copied by the device, read by shaders, or copied from the host's memory",
    ),
];

/// The choices that are set by hand; what is `None` follows its rule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Switches {
    /// True if the last stage stores f16 and bf16 (`plan/device.rs`).
    f16: Option<bool>,
    /// The rows of a thread (`plan/rows.rs`).
    rows: Option<u32>,
    /// The most slots of a submission (`loader/assemble/gpu/slots.rs`).
    slots: Option<usize>,
    /// The memory of slots (`StagingMemory::rule`, `StagingMemory::of_slots`).
    staging: Option<StagingMemory>,
}

impl Switches {
    /// Sets a choice, `NAME=VALUE`.
    ///
    /// # Errors
    /// The names, or the values of the name, if there is none such.
    pub fn set(&mut self, text: &str) -> Result<(), String> {
        let (name, value) = text.split_once('=').unwrap_or((text, ""));
        let Some((_, values, _)) = SWITCHES.iter().find(|(other, ..)| *other == name) else {
            let names: Vec<&str> = SWITCHES.iter().map(|(name, ..)| *name).collect();
            return Err(format!("no such switch; there are {}", names.join(", ")));
        };
        match (name, value) {
            ("f16", "stored" | "packed") => self.f16 = Some(value == "stored"),
            ("rows", "4" | "8" | "16") => self.rows = value.parse().ok(),
            ("slots", "1" | "2") => self.slots = value.parse().ok(),
            ("staging", "copied") => self.staging = Some(StagingMemory::Copied),
            ("staging", "in-place") => self.staging = Some(StagingMemory::InPlace),
            ("staging", "host") => self.staging = Some(StagingMemory::Host),
            _ => return Err(format!("{name} is one of {}", values.replace('|', ", "))),
        }
        Ok(())
    }
}

/// The device with these choices. It is one that nothing has been built on yet.
///
/// # Errors
/// [`ErrorKind::Argument`](crate::ErrorKind::Argument) if the device cannot do what a switch asks for, or is in use.
pub fn switched(mut gpu: Gpu, switches: &Switches) -> Result<Gpu> {
    let cannot = |switch: &str, reason: &str| Error::argument("switch", format!("{switch}: {reason}"));
    let features = gpu.device().features();
    let is_vulkan = gpu.info().backend == wgpu::Backend::Vulkan;
    let Some(caps) = gpu.caps_mut() else { return Err(cannot("any", "the device is in use already")) };
    if let Some(stored) = switches.f16 {
        if stored && !features.contains(wgpu::Features::SHADER_I16) {
            return Err(cannot("f16=stored", "the device's shaders store no numbers of 16 bits"));
        }
        caps.traits.stores_16_bits = stored;
    }
    caps.traits.rows = switches.rows.or(caps.traits.rows);
    caps.merged_slots = switches.slots.unwrap_or(caps.merged_slots);
    if let Some(staging) = switches.staging {
        match staging {
            StagingMemory::InPlace if !features.contains(wgpu::Features::MAPPABLE_PRIMARY_BUFFERS) => {
                return Err(cannot("staging=in-place", "the device has no MAPPABLE_PRIMARY_BUFFERS"));
            }
            StagingMemory::Host if !is_vulkan => {
                return Err(cannot("staging=host", "only with Vulkan gpufeed chooses the memory of a buffer"));
            }
            staging => (caps.staging, caps.window) = (staging, None),
        }
    }
    Ok(gpu)
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpufeed_testing::device;

    #[test]
    fn every_listed_value_is_taken_and_no_other() {
        for (name, values, _) in SWITCHES {
            for value in values.split('|') {
                let mut switches = Switches::default();
                assert_eq!(switches.set(&format!("{name}={value}")), Ok(()));
                assert_ne!(switches, Switches::default(), "{name}={value}");
            }
            for other in [format!("{name}=other"), name.to_owned(), format!("{name}=")] {
                let error = Switches::default().set(&other).unwrap_err();
                assert!(error.contains(values.split('|').next().unwrap()), "{other}: {error}");
            }
        }
        assert_eq!(
            Switches::default().set("row=4").unwrap_err(),
            "no such switch; there are f16, rows, slots, staging"
        );
    }

    #[test]
    fn a_device_does_what_it_can_and_refuses_the_rest() {
        let adapters = Gpu::enumerate();
        device::require(adapters.iter().map(|adapter| device::name(&adapter.get_info())));
        for adapter in adapters {
            let with = |text: &str| {
                let mut switches = Switches::default();
                switches.set(text).unwrap();
                switched(Gpu::open(&adapter).unwrap(), &switches)
            };
            assert_eq!(with("rows=8").unwrap().caps().traits.rows, Some(8));
            assert_eq!(with("slots=2").unwrap().caps().merged_slots, 2);
            assert!(!with("f16=packed").unwrap().caps().traits.stores_16_bits);
            assert_eq!(with("staging=copied").unwrap().caps().staging, StagingMemory::Copied);
            let there = |feature| adapter.features().contains(feature);
            let is_vulkan = adapter.get_info().backend == wgpu::Backend::Vulkan;
            for (text, can) in [
                ("f16=stored", there(wgpu::Features::SHADER_I16)),
                ("staging=in-place", there(wgpu::Features::MAPPABLE_PRIMARY_BUFFERS)),
                ("staging=host", is_vulkan),
            ] {
                assert_eq!(with(text).is_ok(), can, "{text}, {:?}", adapter.get_info());
            }
            let gpu = Gpu::open(&adapter).unwrap();
            let _other = gpu.clone();
            assert!(switched(gpu, &Switches::default()).unwrap_err().to_string().contains("in use"));
        }
    }
}
