//! The settings that a batch transform needs.

use crate::advice::{self, Reason};
use crate::dataset::{Dataset, Label, Sample};
use crate::error::{Error, Result};
use crate::plan::DType;
use crate::quote::Shown;
use crate::transforms::BatchTransform;

/// Checks the transform, the output's type, and the label of the first sample: a class, or a vector, such as a row of a
/// one-hot matrix. One that cannot be read is left to the run, which replaces it.
pub(super) fn check(transform: &BatchTransform, dataset: &dyn Dataset, dtype: DType) -> Result<()> {
    transform.validate()?;
    if dtype == DType::U8 && transform.needs_floats() {
        let reason = Reason::new("MixUp blends floats, but the output has 8-bit numbers, with which CutMix works");
        return Err(Error::argument("batch_transform", reason.advise(advice::FLOAT_OUTPUT)));
    }
    let mut buffer = Vec::new();
    match dataset.read(0, &mut buffer) {
        Ok(sample) if sample.label == Label::None => {
            let name = dataset.name(0);
            let reason =
                format!("mixing needs samples with a class or a vector each, but {} has no label", Shown(&name));
            Err(Error::argument("batch_transform", reason))
        }
        Ok(Sample { label: Label::Multi(_), .. }) if transform.smooths_labels() => {
            let reason =
                "label_smoothing works on classes, but labels are vectors; leave it out, and smooth the vectors";
            Err(Error::argument("batch_transform", reason))
        }
        Err(error) if error.is_fatal() => Err(error),
        _ => Ok(()),
    }
}
