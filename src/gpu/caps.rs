//! The capabilities of a device that decide what gpufeed does, computed once. No other file asks a device for its limits
//! or features.

use super::ALIGNMENT;
use super::staging_memory::StagingMemory;
use super::vulkan::DeviceMemory;
use crate::advice::{self, Reason, Setting};
use crate::error::{Error, Result};
use crate::plan::device::DeviceTraits;
use crate::plan::wgsl::{GROUP, MOST_ROWS, PARTIALS};

/// The capabilities of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Caps {
    /// Shaders run on the CPU.
    pub(crate) software: bool,
    /// The memory of staging slots, unless these are too large for the window.
    pub(super) staging: StagingMemory,
    /// Bytes of the window through which the host writes the device's memory, where slots may be too large for it.
    pub(super) window: Option<u64>,
    /// The most full slots of one submission.
    pub(crate) merged_slots: usize,
    /// The thread that submits work also computes it: OpenGL on a software adapter.
    pub(crate) computes_in_submit: bool,
    pub(crate) timestamps: bool,
    /// What decides the passes of a plan.
    pub(crate) traits: DeviceTraits,
    /// The driver can keep compiled pipelines for the next process.
    pub(crate) pipeline_cache: bool,
    /// Bytes of the largest buffer.
    pub(crate) max_buffer_bytes: u64,
    /// Bytes of the largest buffer that a shader can read as a whole.
    pub(crate) max_binding_bytes: u64,
    /// The most workgroups of a dispatch along one dimension.
    pub(crate) max_workgroups: u32,
    /// The first limit that is too low for every shader.
    lacking: Option<Lacking>,
}

/// A limit that is too low: its name in wgpu, its value, and the value that the shaders need.
type Lacking = (&'static str, u64, u64);

impl Caps {
    pub(super) fn new(
        info: &wgpu::AdapterInfo,
        features: wgpu::Features,
        limits: &wgpu::Limits,
        memory: Option<&DeviceMemory>,
    ) -> Caps {
        let software = info.device_type == wgpu::DeviceType::Cpu;
        Caps {
            software,
            staging: StagingMemory::rule(info.device_type, features),
            window: memory.and_then(DeviceMemory::window),
            merged_slots: 1,
            computes_in_submit: software && info.backend == wgpu::Backend::Gl,
            timestamps: features.contains(wgpu::Features::TIMESTAMP_QUERY),
            traits: DeviceTraits { stores_16_bits: features.contains(wgpu::Features::SHADER_I16), rows: None },
            pipeline_cache: features.contains(wgpu::Features::PIPELINE_CACHE),
            max_buffer_bytes: limits.max_buffer_size,
            max_binding_bytes: limits.max_storage_buffer_binding_size.min(limits.max_buffer_size),
            max_workgroups: limits.max_compute_workgroups_per_dimension,
            lacking: lacking(limits),
        }
    }

    /// The memory of staging slots that have so many bytes together.
    pub(crate) fn staging(&self, bytes: u64) -> StagingMemory {
        self.staging.of_slots(bytes, self.window)
    }

    /// An error if no shader of gpufeed can run on the device. Every adapter that computes has enough, but an
    /// application may have opened its device with less.
    pub(super) fn suffice(&self) -> Result<()> {
        let Some((limit, there, needed)) = self.lacking else { return Ok(()) };
        Err(Error::argument(limit, format!("the device was opened with {there}; gpufeed's shaders need {needed}")))
    }

    /// An error if the images of a stage of this size take more workgroups than a dispatch can have.
    pub(crate) fn check_image(&self, (width, height): (u32, u32)) -> Result<()> {
        let [x, y] = image_workgroups((width, height));
        let limit = self.max_workgroups.into();
        check_workgroups(x.max(y).into(), limit, || format!("an image of {width}x{height} pixels"))
    }

    /// An error if a dispatch of one thread for each of `elements` has more workgroups than [`counted`](Self::counted)
    /// has a shape for.
    pub(super) fn check_elements(&self, elements: u64, what: &str) -> Result<()> {
        check_workgroups(elements.div_ceil(256), self.max_counted(), || format!("{what} of {elements} elements"))
    }

    /// The shape of a dispatch of up to [`max_counted`](Self::max_counted) workgroups, which its shader counts along x,
    /// then along y.
    pub(super) fn counted(&self, workgroups: u64) -> [u32; 3] {
        let across = workgroups.min(u64::from(self.max_workgroups.min(32_768)));
        [across as u32, workgroups.div_ceil(across.max(1)) as u32, 1]
    }

    /// The most workgroups of a dispatch of the shape of [`counted`](Self::counted).
    pub(super) fn max_counted(&self) -> u64 {
        u64::from(self.max_workgroups.min(32_768)) * u64::from(self.max_workgroups)
    }
}

fn check_workgroups(workgroups: u64, limit: u64, what: impl FnOnce() -> String) -> Result<()> {
    if workgroups <= limit {
        return Ok(());
    }
    let what = what();
    let reason = format!("{what} takes {workgroups} workgroups, but the device allows {limit}");
    let reason = Reason::new(reason).advise(advice::lower(&[Setting::OutputSize])).advise(advice::EXECUTE_CPU);
    Err(Error::argument("max_compute_workgroups_per_dimension", reason))
}

/// The workgroups along x and y that compute an image. Threads have fewer rows only where one workgroup covers the height,
/// or where a measurement asks for fewer.
fn image_workgroups((width, height): (u32, u32)) -> [u32; 2] {
    [width.div_ceil(GROUP.0), height.div_ceil(GROUP.1 * MOST_ROWS)]
}

fn lacking(limits: &wgpu::Limits) -> Option<Lacking> {
    // `tables.wgsl` has the most memory of a workgroup: 774 words.
    let least: [(_, u32, u32); 6] = [
        ("max_storage_buffers_per_shader_stage", limits.max_storage_buffers_per_shader_stage, 4),
        ("max_compute_invocations_per_workgroup", limits.max_compute_invocations_per_workgroup, GROUP.0 * GROUP.1),
        ("max_compute_workgroup_size_x", limits.max_compute_workgroup_size_x, 256),
        ("max_compute_workgroup_size_y", limits.max_compute_workgroup_size_y, GROUP.1),
        ("max_compute_workgroup_storage_size", limits.max_compute_workgroup_storage_size, 4 * 774),
        ("max_compute_workgroups_per_dimension", limits.max_compute_workgroups_per_dimension, PARTIALS),
    ];
    let too_low = least.into_iter().find(|(_, there, needed)| there < needed);
    let alignment = limits.min_storage_buffer_offset_alignment;
    let too_coarse = u64::from(alignment) > ALIGNMENT;
    let coarse = too_coarse.then_some(("min_storage_buffer_offset_alignment", alignment.into(), ALIGNMENT));
    too_low.map(|(name, there, needed)| (name, there.into(), needed.into())).or(coarse)
}

#[cfg(test)]
mod tests {
    use super::*;
    use wgpu::{Backend, DeviceType, Features};

    fn caps(device_type: DeviceType, backend: Backend, features: Features) -> Caps {
        let info = wgpu::AdapterInfo::new(device_type, backend);
        Caps::new(&info, features, &wgpu::Limits { max_buffer_size: 3, ..wgpu::Limits::default() }, None)
    }

    #[test]
    fn shaders_read_in_place_where_memory_is_unified_and_the_feature_is_on() {
        let feature = Features::MAPPABLE_PRIMARY_BUFFERS;
        for (device_type, expected) in
            [(DeviceType::DiscreteGpu, false), (DeviceType::IntegratedGpu, true), (DeviceType::Cpu, true)]
        {
            let in_place = |features| caps(device_type, Backend::Vulkan, features).staging == StagingMemory::InPlace;
            assert_eq!((in_place(feature), in_place(Features::TIMESTAMP_QUERY)), (expected, false), "{device_type:?}");
        }
        assert_eq!(caps(DeviceType::Cpu, Backend::Vulkan, feature).max_buffer_bytes, 3);
    }

    #[test]
    fn only_opengl_on_a_software_adapter_computes_in_submit() {
        for (device_type, backend, expected) in [
            (DeviceType::Cpu, Backend::Gl, true),
            (DeviceType::Cpu, Backend::Vulkan, false),
            (DeviceType::IntegratedGpu, Backend::Gl, false),
        ] {
            assert_eq!(caps(device_type, backend, Features::empty()).computes_in_submit, expected);
        }
        assert!(caps(DeviceType::Other, Backend::Gl, Features::TIMESTAMP_QUERY).timestamps);
        // A device of the application may have it or not.
        for (features, expected) in [(Features::SHADER_I16, true), (Features::SHADER_F16, false)] {
            assert_eq!(caps(DeviceType::DiscreteGpu, Backend::Vulkan, features).traits.stores_16_bits, expected);
        }
    }

    #[test]
    fn a_limit_below_the_shaders_needs_is_named() {
        let caps = |limits: &wgpu::Limits| {
            let info = wgpu::AdapterInfo::new(DeviceType::DiscreteGpu, Backend::Vulkan);
            Caps::new(&info, Features::empty(), limits, None)
        };
        let default = wgpu::Limits::default();
        for limits in [&default, &wgpu::Limits::downlevel_defaults()] {
            caps(limits).suffice().unwrap();
        }
        let lower = [
            wgpu::Limits { max_storage_buffers_per_shader_stage: 3, ..default.clone() },
            wgpu::Limits { max_compute_invocations_per_workgroup: 255, ..default.clone() },
            wgpu::Limits { max_compute_workgroup_size_x: 255, ..default.clone() },
            wgpu::Limits { max_compute_workgroup_size_y: 7, ..default.clone() },
            wgpu::Limits { max_compute_workgroup_storage_size: 3000, ..default.clone() },
            wgpu::Limits { max_compute_workgroups_per_dimension: 15, ..default.clone() },
            wgpu::Limits { min_storage_buffer_offset_alignment: 512, ..default.clone() },
        ];
        let mut named = Vec::new();
        for limits in &lower {
            let error = caps(limits).suffice().unwrap_err();
            let crate::ErrorKind::Argument { setting, .. } = error.kind() else { panic!("{error}") };
            assert!(!named.contains(setting) && format!("{limits:?}").contains(setting), "{error}");
            named.push(*setting);
        }
    }

    #[test]
    fn dispatches_stay_within_the_devices_workgroups() {
        for max in [16, 256, 40_000, 65_535] {
            let limits = wgpu::Limits { max_compute_workgroups_per_dimension: max, ..wgpu::Limits::default() };
            let info = wgpu::AdapterInfo::new(DeviceType::DiscreteGpu, Backend::Vulkan);
            let caps = Caps::new(&info, Features::empty(), &limits, None);
            for workgroups in [1, 15, u64::from(max), u64::from(max) + 1, caps.max_counted() - 1, caps.max_counted()] {
                let [x, y, z] = caps.counted(workgroups);
                assert!(
                    x <= max && y <= max && z == 1 && u64::from(x) * u64::from(y) >= workgroups,
                    "{max} {workgroups}"
                );
            }
            let widest = GROUP.0 * max;
            caps.check_image((widest, 1)).unwrap();
            for size in [(widest + 1, 1), (1, GROUP.1 * MOST_ROWS * max + 1)] {
                assert!(
                    caps.check_image(size).unwrap_err().to_string().contains("max_compute_workgroups_per_dimension")
                );
            }
        }
    }
}
