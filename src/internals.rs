//! Parts of the library that other members of its workspace use: gpufeed-burn, the command, the benches, the
//! fixtures of tests, and the fuzz targets. They come without promise.

pub use crate::cpu::measure::Native;
pub use crate::gpu::measure::{Dispatch, Rig, StagingRing, draw, draw_many};
pub use crate::gpu::{Attached, attached, run_checked};
pub use crate::loader::stats::measure::{recording, sections};
pub use crate::replace::{folder_of, replace};
pub use crate::shown::{Shown, ShownLines};

pub mod regular_file {
    pub use crate::regular_file::{open, read, read_to_string};
}

/// The shaders that plans can ask for, for the tests that see all of them.
pub mod shaders {
    use crate::color::Step;
    pub use crate::color::{ColorStep, STEPS};
    use crate::plan::Plan;
    use crate::plan::params::Image;
    use crate::plan::pass::Pass;
    pub use crate::plan::pass::{Colors, Frame, Source, Target, Variant};
    use crate::plan::sampling::Axis;
    use crate::plan::split::{CacheMemory, Executor, Split};
    pub use crate::plan::wgsl::{FILTERS, UNROLLED_STEPS, validate};
    pub mod opcode {
        pub const CONTRAST: u32 = crate::color::opcode::CONTRAST;
        pub const HUE: u32 = crate::color::opcode::HUE;
    }

    /// The passes of a plan: their names, and the facts that their texts are made of.
    pub fn passes(plan: &Plan) -> Vec<(String, Variant)> {
        plan.pass_list().into_iter().map(|pass: Pass| (pass.to_string(), plan.variant(pass))).collect()
    }

    /// The plan whose kernels run for samples that a loader has cached in floats.
    pub fn cached(plan: &Plan) -> Plan {
        Split::new(plan.clone(), Executor::Gpu, Some(CacheMemory::Device), false).executed().0
    }

    /// The structs that Rust writes for a pass of so many colour steps: names, bytes, and whether they come in arrays.
    pub fn structs(steps: u32) -> [(&'static str, usize, bool); 3] {
        [("Axis", size_of::<Axis>(), false), ("Step", size_of::<Step>(), true), ("Image", Image::bytes(steps), true)]
    }
}
