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
    /// The last major version in which the deviation was seen, and the first that was seen without it. Those between
    /// were not tried.
    pub versions: Versions,
    /// A link to where the deviation is written down.
    pub link: &'static str,
}

/// The kind of a driver's deviation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum What {
    /// All loops of a shader invocation together end after this many iterations, without an error.
    LoopsEnd { after: u32 },
}

/// The major versions of a driver, as `driver_info` of its adapter names them: "Mesa 22.3.6".
#[derive(Debug)]
pub struct Versions {
    /// The word before the version.
    pub name: &'static str,
    pub last_with: u32,
    pub first_without: u32,
}

/// Says whether a driver deviates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Applies {
    Always,
    /// No version between the last with the deviation and the first without it was tried.
    Perhaps,
}

pub const QUIRKS: [Quirk; 1] = [Quirk {
    // lavapipe, Mesa's Vulkan driver, runs shaders by llvmpipe.
    backends: &[Backend::Vulkan, Backend::Gl],
    name: "llvmpipe",
    what: What::LoopsEnd { after: 65_535 },
    versions: Versions { name: "Mesa", last_with: 22, first_without: 25 },
    // The number is LP_MAX_TGSI_LOOP_ITERATIONS of this file.
    link: "https://gitlab.freedesktop.org/mesa/mesa/-/blob/mesa-22.3.6/src/gallium/auxiliary/gallivm/lp_bld_limits.h",
}];

/// Returns the rows that apply to an adapter. A driver that does not tell its version counts as an old one.
pub fn of(backend: Backend, name: &str, driver_info: &str) -> impl Iterator<Item = (&'static Quirk, Applies)> {
    let rows = QUIRKS.iter().filter(move |quirk| quirk.backends.contains(&backend) && name.contains(quirk.name));
    rows.filter_map(move |quirk| match quirk.versions.major(driver_info) {
        Some(version) if version >= quirk.versions.first_without => None,
        Some(version) if version > quirk.versions.last_with => Some((quirk, Applies::Perhaps)),
        _ => Some((quirk, Applies::Always)),
    })
}

impl Versions {
    /// Returns the number before the first dot of the version.
    fn major(&self, driver_info: &str) -> Option<u32> {
        let (_, version) = driver_info.split_once(self.name)?;
        version.trim_start().split('.').next()?.parse().ok()
    }
}
