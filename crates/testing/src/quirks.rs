//! A table of drivers that deviate from their specification, like the one in wgpu's own tests.
//!
//! gpufeed itself does not read this table, because an image takes the same route on every adapter
//! (`src/plan/cpu_fallback.rs`). The tests do: gpufeed's rules have to respect every row, and the tests notice a driver
//! that changes, or a similar one that is not listed.

use wgpu::Backend;

/// One deviation of one driver from its specification.
#[derive(Debug)]
pub struct Quirk {
    /// The APIs on which the driver deviates.
    pub backends: &'static [Backend],
    /// A part of the adapter's name, by which the driver is recognized.
    pub name: &'static str,
    pub what: What,
    /// A link to where the deviation is written down.
    pub link: &'static str,
}

/// The kind of a driver's deviation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum What {
    /// All loops of a shader invocation together end after this many iterations, without an error.
    LoopsEnd { after: u32 },
}

pub const QUIRKS: [Quirk; 1] = [Quirk {
    // lavapipe, Mesa's Vulkan driver, runs shaders by llvmpipe.
    backends: &[Backend::Vulkan, Backend::Gl],
    name: "llvmpipe",
    what: What::LoopsEnd { after: 65_535 },
    // The number is LP_MAX_TGSI_LOOP_ITERATIONS of this file.
    link: "https://gitlab.freedesktop.org/mesa/mesa/-/blob/mesa-22.3.6/src/gallium/auxiliary/gallivm/lp_bld_limits.h",
}];

/// Returns the rows that apply to an adapter.
pub fn of(backend: Backend, name: &str) -> impl Iterator<Item = &'static Quirk> {
    QUIRKS.iter().filter(move |quirk| quirk.backends.contains(&backend) && name.contains(quirk.name))
}
