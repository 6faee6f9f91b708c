//! The capabilities of a device that decide what gpufeed does, computed once.

/// The capabilities of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Caps {
    /// Shaders run on the CPU.
    pub(crate) software: bool,
    /// Shaders can read a mappable buffer in place: memory is unified, and the feature is enabled.
    pub(crate) mappable: bool,
    /// The thread that submits work also computes it: OpenGL on a software adapter.
    pub(crate) computes_in_submit: bool,
    pub(crate) timestamps: bool,
    /// Bytes of the largest buffer.
    pub(crate) max_buffer_bytes: u64,
    /// Bytes of the largest range of a buffer that a shader can read.
    pub(crate) max_binding_bytes: u64,
}

impl Caps {
    pub(super) fn new(info: &wgpu::AdapterInfo, features: wgpu::Features, limits: &wgpu::Limits) -> Caps {
        let software = info.device_type == wgpu::DeviceType::Cpu;
        let unified = matches!(info.device_type, wgpu::DeviceType::IntegratedGpu | wgpu::DeviceType::Cpu);
        Caps {
            software,
            mappable: unified && features.contains(wgpu::Features::MAPPABLE_PRIMARY_BUFFERS),
            computes_in_submit: software && info.backend == wgpu::Backend::Gl,
            timestamps: features.contains(wgpu::Features::TIMESTAMP_QUERY),
            max_buffer_bytes: limits.max_buffer_size,
            max_binding_bytes: limits.max_storage_buffer_binding_size,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wgpu::{Backend, DeviceType, Features};

    fn caps(device_type: DeviceType, backend: Backend, features: Features) -> Caps {
        let info = wgpu::AdapterInfo::new(device_type, backend);
        Caps::new(&info, features, &wgpu::Limits { max_buffer_size: 3, ..wgpu::Limits::default() })
    }

    #[test]
    fn shaders_read_in_place_where_memory_is_unified_and_the_feature_is_on() {
        let feature = Features::MAPPABLE_PRIMARY_BUFFERS;
        for (device_type, expected) in
            [(DeviceType::DiscreteGpu, false), (DeviceType::IntegratedGpu, true), (DeviceType::Cpu, true)]
        {
            assert_eq!(caps(device_type, Backend::Vulkan, feature).mappable, expected, "{device_type:?}");
            assert!(!caps(device_type, Backend::Vulkan, Features::TIMESTAMP_QUERY).mappable);
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
    }
}
