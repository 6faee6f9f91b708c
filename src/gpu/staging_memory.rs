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
    /// The rule: unified memory is read in place, if the device was opened with that; else slots are copied. What a
    /// discrete GPU whose memory the host maps whole (ReBAR) would gain by reading in place, and one with a window of 256
    /// MiB by slots in the host's memory, only such cards can tell.
    pub(super) fn rule(device_type: wgpu::DeviceType, features: wgpu::Features) -> StagingMemory {
        let unified = matches!(device_type, wgpu::DeviceType::IntegratedGpu | wgpu::DeviceType::Cpu);
        match unified && features.contains(wgpu::Features::MAPPABLE_PRIMARY_BUFFERS) {
            true => StagingMemory::InPlace,
            false => StagingMemory::Copied,
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
