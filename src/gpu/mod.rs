//! The only folder that calls wgpu.

mod device;

pub use device::Gpu;
