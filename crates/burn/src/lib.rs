#![doc = include_str!("../README.md")]
//!
//! # Which function makes the device
//!
//! | who makes the device | how |
//! |---|---|
//! | gpufeed, where there is a GPU; else Burn computes on the CPU | [`BackendExt::for_burn`] |
//! | gpufeed, on an adapter of your choice | [`GpuExt::for_burn`] |
//! | Burn | `Device::wgpu_options().init_with_setup()`, then [`GpuExt::from_burn`] |
//!
//! [`BatchExt::to_tensor`] and [`BatchExt::class_tensor`] then give a model its input, of mixed batches
//! [`BatchExt::soft_label_tensor`]; [`BurnLoader`] is Burn's own `DataLoader` trait, for its `Learner`. The images of a
//! group are [`BatchExt::group_tensor`], and all groups with the fields' values a [`GroupBatch`].

// device.rs opens devices that gpufeed and Burn share, and batch.rs hands batches over. loader.rs is Burn's
// `DataLoader` trait over the loaders of one device or several (shard.rs); image_batch.rs and group_batch.rs have its items.

mod batch;
mod device;
mod group_batch;
mod image_batch;
mod loader;
mod shard;

pub use batch::BatchExt;
pub use device::{BackendExt, GpuExt};
pub use group_batch::GroupBatch;
pub use image_batch::ImageBatch;
pub use loader::BurnLoader;

/// Runs the guide's program as a doc test.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide/burn.md")]
struct Guide;
