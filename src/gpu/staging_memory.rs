//! The memory of staging slots, and the rule that chooses it.

/// The memory of staging buffers, and how shaders get what is in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StagingMemory {
    /// Shaders read the buffer itself, where the workers wrote it.
    InPlace,
    /// The device copies the buffer, which lies where wgpu puts buffers that the host writes: on discrete GPUs in the part
    /// of their memory that the host can map, as long as that has room.
    Copied,
    /// The device copies the buffer, which lies in the host's memory.
    Host,
}

impl StagingMemory {
    /// The rule by the device: unified memory is read in place, if the device was opened with that; else slots are
    /// copied. What a discrete GPU whose memory the host maps whole (ReBAR) would gain by reading in place, only such
    /// cards can tell.
    pub(super) fn rule(device_type: wgpu::DeviceType, features: wgpu::Features) -> StagingMemory {
        let unified = matches!(device_type, wgpu::DeviceType::IntegratedGpu | wgpu::DeviceType::Cpu);
        match unified && features.contains(wgpu::Features::MAPPABLE_PRIMARY_BUFFERS) {
            true => StagingMemory::InPlace,
            false => StagingMemory::Copied,
        }
    }

    /// The rule by the size of all slots together: those that are copied lie in the host's memory where they would take
    /// more than half of the `window` of a discrete GPU's memory that the host maps. All programs share that window,
    /// 256 MiB without ReBAR, and the driver keeps buffers of its own in it.
    pub(super) fn of_slots(self, bytes: u64, window: Option<u64>) -> StagingMemory {
        match window {
            Some(window) if self == StagingMemory::Copied && bytes > window / 2 => StagingMemory::Host,
            _ => self,
        }
    }
}

impl std::fmt::Display for StagingMemory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            StagingMemory::InPlace => "read in place",
            StagingMemory::Copied => "copied",
            StagingMemory::Host => "copied from the host's memory",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_that_would_fill_the_window_lie_in_the_hosts_memory() {
        use StagingMemory::{Copied, Host, InPlace};
        let mib = |count: u64| count << 20;
        for (memory, bytes, window, expected) in [
            (Copied, mib(96), Some(mib(256)), Copied),
            (Copied, mib(128), Some(mib(256)), Copied),
            (Copied, mib(129), Some(mib(256)), Host),
            (Copied, mib(4096), None, Copied),
            (InPlace, mib(4096), Some(mib(256)), InPlace),
            (Host, mib(96), Some(mib(256)), Host),
        ] {
            assert_eq!(memory.of_slots(bytes, window), expected, "{memory:?}, {bytes} bytes, {window:?}");
        }
    }
}
