//! The images of a batch in one group of views.

use super::Lease;
use crate::dlpack::Array;
use gpufeed::transforms::Params;
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use std::sync::Arc;

/// The images of a batch in one group of views.
#[pyclass(frozen, module = "gpufeed")]
pub(crate) struct Group {
    pub(super) lease: Arc<Lease>,
    /// The number of the group.
    pub(super) number: usize,
    /// The images, as `torch.from_dlpack` and its like take them. View `v` of sample `i` is image `i * views + v`.
    #[pyo3(get)]
    pub(super) images: Py<Array>,
}

impl Group {
    fn group(&self) -> PyResult<gpufeed::BatchGroup<'_>> {
        self.lease.batch().groups().nth(self.number).ok_or_else(|| PyIndexError::new_err("the batch has fewer groups"))
    }
}

#[pymethods]
impl Group {
    /// The name of the group.
    #[getter]
    fn name(&self) -> PyResult<&str> {
        Ok(self.group()?.name())
    }

    /// For each image, the id of its sample.
    #[getter]
    fn ids(&self) -> PyResult<Vec<u64>> {
        Ok(self.group()?.ids().to_vec())
    }

    /// The drawn parameters of each image as JSON, for `DataLoader.replay` with the group's name.
    #[getter]
    fn params(&self) -> PyResult<Vec<String>> {
        params_text(self.group()?.params())
    }

    /// Images that are not padding; padding comes last.
    #[getter]
    fn valid(&self) -> PyResult<usize> {
        Ok(self.group()?.valid())
    }

    /// Views of each sample.
    #[getter]
    fn views(&self) -> PyResult<usize> {
        Ok(self.group()?.views())
    }

    /// Images of each view: more than one with FiveCrop and TenCrop.
    #[getter]
    fn crops(&self) -> PyResult<usize> {
        Ok(self.group()?.crops())
    }

    fn __len__(&self) -> PyResult<usize> {
        Ok(self.group()?.len())
    }

    fn __repr__(&self) -> PyResult<String> {
        let group = self.group()?;
        Ok(format!("gpufeed.Group({:?}, shape={:?})", group.name(), group.shape()))
    }
}

/// Writes parameters as JSON.
pub(super) fn params_text(params: &[Params]) -> PyResult<Vec<String>> {
    let params = params.iter().map(serde_json::to_string);
    params.collect::<Result<_, _>>().map_err(|error| PyValueError::new_err(error.to_string()))
}
