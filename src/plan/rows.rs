//! The rule for the rows of outputs that a thread computes.

use super::Plan;
use super::pass::Pass;
use super::variant::Kernel;
use super::wgsl::{GROUP, MOST_ROWS};

/// The least rows of a thread. One that resizes filters the source rows of two outputs more than it stores: with 4 rows half as many
/// again, with 1 three times as many.
const LEAST_ROWS: u32 = 4;

impl Plan {
    /// The rows of outputs that a thread of `pass` computes: the fewest, in powers of two, with which one workgroup covers
    /// the height of the stage's result, where the list of transforms fixes that; so that a workgroup of a 32x32 image has
    /// work for each of its 256 threads, not for 64. Taller results take the most rows, and so do
    ///
    /// - blurs, whose threads filter the rows around their own as well: fewer rows are more work;
    /// - sums of floats, whose bits depend on the order in which a thread adds. No other bit depends on the rows.
    pub(crate) fn rows(&self, pass: Pass) -> u32 {
        let Some(number) = pass.stage() else { return MOST_ROWS };
        let stage = &self.stages()[number];
        match pass {
            Pass::Stage { kernel: Kernel::Blur, .. } | Pass::Statistic { kernel: Kernel::Blur, .. } => MOST_ROWS,
            Pass::Tables { .. } | Pass::Pack => MOST_ROWS,
            Pass::Statistic { .. } if stage.uint8_statistics != Some(true) => MOST_ROWS,
            Pass::Statistic { .. } | Pass::Stage { .. } => self.rows.unwrap_or_else(|| fitting(stage.size)),
        }
    }
}

/// The rows of a thread for results of this size.
fn fitting(size: Option<(u32, u32)>) -> u32 {
    let height = size.map_or(u32::MAX, |(_, height)| height);
    height.div_ceil(GROUP.1).checked_next_power_of_two().unwrap_or(MOST_ROWS).clamp(LEAST_ROWS, MOST_ROWS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::device::DeviceTraits;
    use crate::transforms::*;
    use crate::{Output, Semantics, recipe};

    #[test]
    fn a_workgroup_covers_a_small_image_and_no_thread_has_less_than_four_rows() {
        let rows = |height| fitting(Some((1, height)));
        for (heights, expected) in [(1..33, 4), (33..65, 8), (65..400, 16)] {
            assert!(heights.clone().all(|height| rows(height) == expected), "{heights:?}");
        }
        assert_eq!((rows(u32::MAX), fitting(None)), (16, 16));
    }

    /// The passes of a plan with their rows.
    fn rows(plan: &Plan) -> Vec<(String, u32)> {
        plan.pass_list().into_iter().map(|pass| (pass.to_string(), plan.rows(pass))).collect()
    }

    #[test]
    fn rows_follow_the_size_of_each_stage() {
        let named = |list: &[(&str, u32)]| list.iter().map(|&(name, rows)| (name.to_owned(), rows)).collect::<Vec<_>>();
        let plan = |list: &[Transform], semantics| Plan::compile_as(semantics, 3, list, &Output::default()).unwrap();
        let list = [Resize::new((256, 256)).into(), Resize::new((64, 60)).into(), CenterCrop::new(32).into()];
        assert_eq!(rows(&plan(&list, Semantics::Float)), named(&[("stage 0", 16), ("stage 1", 4)]));
        // Of an image's own size nothing is known.
        let list = [Resize::new(20).into(), RandomRotation::new(9.0).into(), CenterCrop::new(20).into()];
        let expected = named(&[("stage 0", 16), ("stage 1, point", 4), ("stage 1, warp", 4)]);
        assert_eq!(rows(&plan(&list, Semantics::Float)), expected);
        let jitter = || ColorJitter::new(0.0, 0.4, 0.0, 0.0).into();
        let list = [RandomCrop::new(28).into(), jitter()];
        assert_eq!(rows(&plan(&list, Semantics::Float)), named(&[("stage 0, mean 0", 16), ("stage 0", 4)]));
        assert_eq!(rows(&plan(&list, Semantics::Uint8)), named(&[("stage 0, mean 0", 4), ("stage 0", 4)]));
        let list = [RandomCrop::new(28).into(), GaussianBlur::new(3).into()];
        let expected = named(&[("stage 0", 4), ("stage 1, point", 4), ("stage 1, blur", 16)]);
        assert_eq!(rows(&plan(&list, Semantics::Float)), expected);
    }

    #[test]
    fn rows_by_hand_replace_the_rule() {
        let plan = Plan::compile(&recipe::cifar_train(), &Output::default()).unwrap();
        assert_eq!(rows(&plan), [("stage 0".to_owned(), 4)]);
        let traits = DeviceTraits { stores_16_bits: false, rows: Some(8) };
        let plan = plan.on_device(traits, false);
        assert_eq!(rows(&plan), [("stage 0".to_owned(), 8)]);
        assert!(plan.shaders()[0].wgsl.contains("const ROWS: u32 = 8u;"));
        assert!(plan.to_string().contains(", 8 rows a thread"), "{plan}");
    }
}
