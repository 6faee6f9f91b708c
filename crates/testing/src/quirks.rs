//! Drivers that do something else than their specification: data, as wgpu's own tests keep it.
//!
//! No rule of gpufeed looks here, because an image takes the same way on every adapter (`src/plan/cpu_fallback.rs`). The tests do: the
//! rules have to stay inside every row, and a driver that changes, or one like it that is not listed, is noticed.

use wgpu::Backend;

/// One thing that one driver does otherwise.
#[derive(Debug)]
pub struct Quirk {
    /// The APIs on which it does so.
    pub backends: &'static [Backend],
    /// Part of the adapter's name.
    pub name: &'static str,
    pub what: What,
    /// Where it is written down.
    pub link: &'static str,
}

/// The difference.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum What {
    /// A shader's loops end after so many iterations, an invocation's all together, without an error.
    LoopsEnd { after: u32 },
}

pub const QUIRKS: [Quirk; 1] = [Quirk {
    // lavapipe is Mesa's Vulkan around llvmpipe.
    backends: &[Backend::Vulkan, Backend::Gl],
    name: "llvmpipe",
    what: What::LoopsEnd { after: 65_535 },
    // LP_MAX_TGSI_LOOP_ITERATIONS
    link: "https://gitlab.freedesktop.org/mesa/mesa/-/blob/mesa-22.3.6/src/gallium/auxiliary/gallivm/lp_bld_limits.h",
}];

/// The rows for an adapter.
pub fn of(backend: Backend, name: &str) -> impl Iterator<Item = &'static Quirk> {
    QUIRKS.iter().filter(move |quirk| quirk.backends.contains(&backend) && name.contains(quirk.name))
}
