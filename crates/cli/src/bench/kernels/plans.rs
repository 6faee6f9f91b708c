//! The plans that every report measures, whatever its recipe, so that machines can be compared.

use super::reference::{SIZE, crop};
use gpufeed::internals::Work;
use gpufeed::transforms::{ColorJitter, Key, Normalize, Params, Transform};
use gpufeed::{DType, Layout, Output, Plan};

/// The fixed plans. Each crops, resizes and flips.
pub(crate) struct Plans {
    /// Ends in Normalize, to f32.
    pub(crate) train: Plan,
    /// Ends in Normalize, to f16.
    pub(crate) half: Plan,
    /// Has a colour jitter whose contrast needs the image's mean first, and ends in Normalize, to f32.
    pub(crate) contrast: Plan,
}

impl Plans {
    pub(crate) fn compile() -> gpufeed::Result<Plans> {
        let plan = |rest: &[Transform], dtype| {
            let list: Vec<Transform> = crop().into_iter().chain(rest.iter().cloned()).collect();
            Plan::compile(&list, &Output { layout: Layout::Nchw, dtype })
        };
        let jitter = [ColorJitter::new(0.2, 0.2, 0.0, 0.0).into(), Normalize::IMAGENET.into()];
        let normalize = [Normalize::IMAGENET.into()];
        Ok(Plans {
            train: plan(&normalize, DType::F32)?,
            half: plan(&normalize, DType::F16)?,
            contrast: plan(&jitter, DType::F32)?,
        })
    }
}

/// Returns the work of a kernel that belongs to no plan.
pub(crate) fn one_work(bytes: u64, operations: f64) -> Vec<Work> {
    vec![Work { pass: String::new(), bytes, operations }]
}

/// Makes the parameters of images of ImageNet's usual size.
pub(crate) fn make_params(plan: &Plan, images: u64) -> gpufeed::Result<Vec<Params>> {
    (0..images).map(|sample| plan.make_params(SIZE.0, SIZE.1, &Key { sample, ..Key::default() })).collect()
}
