//! What another API shares of a batch: exported memory and exported semaphores. wgpu has no words for them. `exported.rs` says when
//! each is used; in `external/`, `vulkan.rs` makes them, and `absent.rs` stands in its place where wgpu has no Vulkan.
//!
//! Linux's file descriptors have run on software drivers. Windows' handles are written after the same specification
//! (`VK_KHR_external_memory_win32`) and have not run, as no machine with Windows has been at hand.

/// How two APIs that share memory know of each other's work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Handover {
    /// Exported timeline semaphores, which count batches. No thread waits.
    TimelineSemaphores,
    /// Exported binary semaphores, a pair for each buffer. No thread waits.
    BinarySemaphores,
    /// No semaphores, as the driver exports none: gpufeed's thread waits before it hands a batch over, and the other API's
    /// work has to have ended before it gives the batch back.
    HostWaits,
}

impl std::fmt::Display for Handover {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Handover::TimelineSemaphores => "timeline semaphores",
            Handover::BinarySemaphores => "binary semaphores",
            Handover::HostWaits => "waits of the host",
        })
    }
}

/// A handle of the operating system for memory or a semaphore, which closes it when it is dropped.
#[cfg(unix)]
pub type ExternalHandle = std::os::fd::OwnedFd;
/// A handle of the operating system for memory or a semaphore, which closes it when it is dropped.
#[cfg(windows)]
pub type ExternalHandle = std::os::windows::io::OwnedHandle;
/// No handles: nothing is exported on this system.
#[cfg(not(any(unix, windows)))]
pub type ExternalHandle = std::convert::Infallible;

/// A semaphore for which a submission waits, or which it signals; of a timeline with the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Point {
    pub(super) semaphore: Semaphore,
    pub(super) value: Option<u64>,
}

/// Why a buffer could not be made.
#[derive(Debug)]
pub(super) enum Refused {
    #[cfg_attr(
        not(any(target_os = "linux", target_os = "android", target_os = "freebsd", windows)),
        expect(dead_code, reason = "nothing is allocated there")
    )]
    NoMemory,
    Other(String),
}

#[cfg(any(target_os = "linux", target_os = "android", target_os = "freebsd", windows))]
mod vulkan;
#[cfg(any(target_os = "linux", target_os = "android", target_os = "freebsd", windows))]
use vulkan as api;

#[cfg(not(any(target_os = "linux", target_os = "android", target_os = "freebsd", windows)))]
mod absent;
#[cfg(not(any(target_os = "linux", target_os = "android", target_os = "freebsd", windows)))]
use absent as api;

pub(super) use api::{ExternalBuffer, Semaphore, handover, open, stage, unstage};
