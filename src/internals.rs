//! Parts of the library for other members of its workspace: gpufeed-burn, the command, the benches, the fixtures of
//! tests, and the fuzz targets. They may change at any time.

pub use crate::atomic_file::{folder_of, replace};
pub use crate::cpu::measure::{Native, mix};
pub use crate::gpu::measure::{Dispatch, Rig, StagingRing, draw, draw_many};
pub use crate::gpu::{Attached, attached, run_checked};
pub use crate::loader::mixed::soft_labels;
pub use crate::loader::stats::measure::{recording, sections};
pub use crate::quote::{Shown, ShownLines};

pub mod regular_file {
    pub use crate::regular_file::{open, read, read_to_string};
}

/// The shaders of all possible plans, for the tests that check all of them.
pub mod shaders {
    use crate::color::Step;
    pub use crate::color::{ColorStep, STEPS};
    use crate::gpu::mix_dispatches::Parameters;
    use crate::plan::Plan;
    use crate::plan::pass::Pass;
    pub use crate::plan::pass::{ColorFacts, PassSource, PassTarget, SamplingFacts, Variant};
    use crate::plan::sampling::Axis;
    use crate::plan::shader_layout::Image;
    use crate::plan::split::{CacheMemory, CacheSplit, Executor};
    pub use crate::plan::wgsl::{FILTERS, UNROLLED_STEPS, validate};
    pub mod opcode {
        pub const CONTRAST: u32 = crate::color::opcode::CONTRAST;
        pub const HUE: u32 = crate::color::opcode::HUE;
    }

    /// Bytes of the struct that Rust writes for the pass that mixes batches.
    pub const MIX_BYTES: usize = size_of::<Parameters>();

    /// Returns the passes of a plan: their names, and the facts that generate their texts.
    pub fn passes(plan: &Plan) -> Vec<(String, Variant)> {
        plan.pass_list().into_iter().map(|pass: Pass| (pass.to_string(), plan.variant(pass))).collect()
    }

    /// Returns the plan whose kernels run for samples cached as floats.
    pub fn cached(plan: &Plan) -> Plan {
        CacheSplit::new(plan.clone(), Executor::Gpu, Some(CacheMemory::Device), false).plan_for_kernels().0
    }

    /// Returns the structs that Rust writes for a pass of `steps` colour steps: names, bytes, and true for structs in
    /// arrays.
    pub fn structs(steps: u32) -> [(&'static str, usize, bool); 3] {
        [("Axis", size_of::<Axis>(), false), ("Step", size_of::<Step>(), true), ("Image", Image::bytes(steps), true)]
    }
}
