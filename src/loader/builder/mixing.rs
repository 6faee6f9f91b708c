//! The settings that a batch transform needs.

use crate::dataset::{Dataset, Label};
use crate::error::{Error, Result};
use crate::plan::DType;
use crate::quote::Shown;
use crate::transforms::BatchTransform;

/// Checks the transform, the output's type, and the label of the first sample. One that cannot be read is left to the
/// run, which replaces it.
pub(super) fn check(transform: &BatchTransform, dataset: &dyn Dataset, dtype: DType) -> Result<()> {
    transform.validate()?;
    if dtype == DType::U8 && transform.may_blend() {
        let reason = "MixUp blends floats, but the output is DType::U8; F32 and F16 work, and CutMix with any type";
        return Err(Error::argument("batch_transform", reason));
    }
    let mut buffer = Vec::new();
    let label = match dataset.read(0, &mut buffer) {
        Ok(sample) => sample.label,
        Err(_) => return Ok(()),
    };
    let found = match label {
        Label::Class(_) => return Ok(()),
        Label::None => "has no label",
        Label::Multi(_) => "has a list of numbers as its label",
    };
    let name = dataset.name(0);
    let reason = format!("mixing needs samples with one whole-number class each, but {} {found}", Shown(&name));
    Err(Error::argument("batch_transform", reason))
}
