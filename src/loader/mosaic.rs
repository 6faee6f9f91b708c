//! The mosaic of a loader: what is drawn, and the plan for each of its images.

use crate::dataset::Dataset;
use crate::error::Result;
use crate::plan::split::{CacheSplit, Executor};
use crate::plan::{DType, Layout, Output, Plan, Semantics};
use crate::transforms::{Key, Mosaic, MosaicParams, RandomShortestSize, RandomSizeCrop};

/// The mosaic of a loader, and the plan that resizes and cuts each of its images.
#[derive(Debug)]
pub(super) struct LoaderMosaic {
    pub(super) mosaic: Mosaic,
    pub(super) split: CacheSplit,
}

impl LoaderMosaic {
    /// # Errors
    /// Arguments of the mosaic that do not work.
    pub(super) fn new(mosaic: Mosaic) -> Result<LoaderMosaic> {
        mosaic.validate()?;
        // The list says which ops there may be, a resize and a crop; `worker/canvas.rs` gives their numbers.
        let list = [RandomShortestSize::new([mosaic.size]).into(), RandomSizeCrop::new(1, 1).into()];
        let output = Output { layout: Layout::Nhwc, dtype: DType::U8 };
        let plan = Plan::compile_as(Semantics::Uint8, 3, &list, &output)?;
        Ok(LoaderMosaic { mosaic, split: CacheSplit::new(plan, Executor::Cpu, None, false) })
    }

    /// Draws the mosaic of the sample with this key.
    pub(super) fn make_params(&self, dataset: &dyn Dataset, key: &Key) -> MosaicParams {
        self.mosaic.make_params(key, dataset.len(), |index| dataset.id(index))
    }
}
