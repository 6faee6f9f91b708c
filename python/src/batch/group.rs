//! The images of a batch in one group of views.

use super::{Lease, arrangement};
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
    /// The memory of its images.
    pub(super) memory: Py<Array>,
}

impl Group {
    fn group(&self) -> PyResult<gpufeed::BatchGroup<'_>> {
        self.lease.batch().groups().nth(self.number).ok_or_else(|| PyIndexError::new_err("the batch has fewer groups"))
    }
}

#[pymethods]
impl Group {
    /// The images, as `torch.from_dlpack` and its like take them. View `v` of sample `i` is image `i * views + v`. Where the batch is
    /// padded, images of the padded size; where each has a size of its own, a row for each, which `image` reads.
    #[getter]
    pub(super) fn images(&self, py: Python<'_>) -> PyResult<Py<Array>> {
        arrangement::images(py, &self.group()?, &self.memory)
    }

    /// An image, without padding.
    pub(super) fn image(&self, py: Python<'_>, index: isize) -> PyResult<Array> {
        arrangement::image(&self.group()?, self.memory.bind(py).get(), index)
    }

    /// Height and width of each image, without padding.
    #[getter]
    fn image_sizes(&self) -> PyResult<Array> {
        arrangement::sizes(&self.group()?)
    }

    /// The memory of the images, with what lies between them.
    #[getter]
    fn _memory(&self, py: Python<'_>) -> Py<Array> {
        self.memory.clone_ref(py)
    }

    /// The shape of the padded images, none where each has its own, and the shape of each; None where all have one size.
    #[getter]
    fn _arranged(&self) -> PyResult<Option<arrangement::Arranged>> {
        Ok(arrangement::arranged(&self.group()?))
    }

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
