//! A batch as Python gets it: arrays, and the other facts of the batch.

use crate::dlpack::{Array, Element};
use crate::errors;
use crate::process::Owner;
use gpufeed::{DType, Error, ErrorKind, Label, State};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::sync::Arc;

/// A batch whose buffer returns to its loader. In a forked process the buffer does not return, because a thread that
/// the fork has not copied may hold the loader's lock.
struct Lease {
    batch: Option<gpufeed::Batch>,
    owner: Owner,
}

impl Lease {
    fn batch(&self) -> &gpufeed::Batch {
        self.batch.as_ref().expect("only drop takes it")
    }

    /// Returns the images in host memory.
    fn elements(&mut self) -> &mut [u8] {
        self.batch.as_mut().and_then(gpufeed::Batch::host_mut).unwrap_or_default()
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let batch = self.batch.take();
        if !self.owner.is_here() {
            std::mem::forget(batch);
        }
    }
}

/// A batch of augmented images with their labels. Unpacks as `images, labels`.
///
/// The batch, its arrays and every tensor made of them share a buffer of the loader. The buffer returns to the loader
/// when the last of them is freed.
#[pyclass(frozen, module = "gpufeed")]
pub(crate) struct Batch {
    lease: Arc<Lease>,
    /// The images, as `torch.from_dlpack` and its like take them.
    #[pyo3(get)]
    images: Py<Array>,
    /// Class numbers as int64, vectors as float32, soft labels of mixed batches as float32; None without labels.
    #[pyo3(get)]
    labels: Option<Py<Array>>,
    /// The state of the run after this batch.
    state: State,
}

impl Batch {
    /// Makes the batch of a run whose state is `state` after it. Reads images on a GPU back.
    pub(crate) fn new(
        py: Python<'_>,
        mut batch: gpufeed::Batch,
        state: State,
        num_classes: Option<usize>,
    ) -> PyResult<Batch> {
        let labels = labels(&batch, num_classes).map_err(|error| errors::to_python(py, &error))?;
        let shape: Vec<i64> = batch.shape().map(|length| length as i64).to_vec();
        let element = match batch.dtype() {
            DType::F32 => Element::F32,
            DType::F16 => Element::F16,
            DType::BF16 => Element::BF16,
            DType::U8 => Element::U8,
        };
        let on_host = batch.host_mut().is_some();
        let (images, lease) = if on_host {
            let lease = Lease { batch: Some(batch), owner: Owner::this() };
            Array::new(lease, Lease::elements, shape, element)
        } else {
            let bytes = py.detach(|| batch.to_host()).map_err(|error| errors::to_python(py, &error))?;
            let lease = Lease { batch: Some(batch), owner: Owner::this() };
            (Array::of_bytes(&bytes, shape, element)?, Arc::new(lease))
        };
        let labels = labels.map(|labels| Py::new(py, labels)).transpose()?;
        Ok(Batch { lease, images: Py::new(py, images)?, labels, state })
    }
}

/// Returns the labels of a batch: soft ones if the batch was mixed.
fn labels(batch: &gpufeed::Batch, num_classes: Option<usize>) -> Result<Option<Array>, Error> {
    let images = batch.len() as i64;
    if let Some(num_classes) = num_classes {
        let rows = batch.soft_labels(num_classes)?;
        return Ok(Some(Array::of_f32(rows, vec![images, num_classes as i64])));
    }
    let differ = |label: &Label| {
        let reason = format!("the labels of a batch differ: {:?} and {label:?}", batch.labels()[0]);
        Error::from(ErrorKind::Argument { setting: "dataset", reason })
    };
    match batch.labels() {
        [] | [Label::None, ..] => match batch.labels().iter().find(|label| !matches!(label, Label::None)) {
            None => Ok(None),
            Some(label) => Err(differ(label)),
        },
        labels @ [Label::Class(_), ..] => {
            let class = |label: &Label| match label {
                Label::Class(class) => Ok(i64::from(*class)),
                label => Err(differ(label)),
            };
            Ok(Some(Array::of_i64(labels.iter().map(class).collect::<Result<_, _>>()?, vec![images])))
        }
        labels @ [Label::Multi(first), ..] => {
            let mut values = Vec::with_capacity(labels.len() * first.len());
            for label in labels {
                match label {
                    Label::Multi(row) if row.len() == first.len() => values.extend_from_slice(row),
                    label => return Err(differ(label)),
                }
            }
            Ok(Some(Array::of_f32(values, vec![images, first.len() as i64])))
        }
    }
}

#[pymethods]
impl Batch {
    /// For each image, the id of its sample, in the order of `images`. Several views or crops of a sample repeat its
    /// id.
    #[getter]
    fn ids(&self) -> Vec<u64> {
        self.lease.batch().ids().to_vec()
    }

    /// The samples that could not be used and were replaced.
    #[getter]
    fn failures(&self, py: Python<'_>) -> Vec<Failure> {
        let failure = |failure: &gpufeed::Failure| Failure {
            batch_index: failure.batch_index,
            id: failure.id,
            name: failure.name.clone(),
            error: errors::to_python(py, &failure.error).into_value(py).into_any(),
        };
        self.lease.batch().failures().iter().map(failure).collect()
    }

    /// The drawn parameters of each image as JSON, for `DataLoader.replay`.
    #[getter]
    fn params(&self) -> PyResult<Vec<String>> {
        let params = self.lease.batch().params().iter().map(serde_json::to_string);
        params.collect::<Result<_, _>>().map_err(|error| pyo3::exceptions::PyValueError::new_err(error.to_string()))
    }

    /// For each image: its class, the class of its partner, and its own share of the mix. None if some label is no
    /// class.
    #[getter]
    fn mixed(&self) -> Option<Vec<(u32, u32, f64)>> {
        self.lease.batch().mixed()
    }

    /// Images that are not padding; padding comes last.
    #[getter]
    fn valid(&self) -> usize {
        self.lease.batch().valid()
    }

    /// The epoch of the batch.
    #[getter]
    fn epoch(&self) -> u64 {
        self.lease.batch().epoch()
    }

    /// The number of the batch in its epoch, from 0.
    #[getter]
    fn index(&self) -> u64 {
        self.lease.batch().index()
    }

    /// Views of each sample.
    #[getter]
    fn views(&self) -> usize {
        self.lease.batch().views()
    }

    /// Images of each view: more than one with FiveCrop and TenCrop.
    #[getter]
    fn crops(&self) -> usize {
        self.lease.batch().crops()
    }

    /// The state of the run after this batch, as JSON.
    #[getter]
    fn state(&self) -> PyResult<String> {
        state_text(&self.state)
    }

    fn __len__(&self) -> usize {
        self.lease.batch().len()
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let labels = self.labels.as_ref().map_or_else(|| py.None(), |labels| labels.clone_ref(py).into_any());
        Ok(PyTuple::new(py, [self.images.clone_ref(py).into_any(), labels])?.try_iter()?.into_any())
    }

    fn __getitem__(&self, py: Python<'_>, index: isize) -> PyResult<Py<PyAny>> {
        match index {
            0 | -2 => Ok(self.images.clone_ref(py).into_any()),
            1 | -1 => Ok(self.labels.as_ref().map_or_else(|| py.None(), |labels| labels.clone_ref(py).into_any())),
            _ => Err(PyIndexError::new_err(format!("{index}: a batch has images, 0, and labels, 1"))),
        }
    }

    fn __repr__(&self) -> String {
        let batch = self.lease.batch();
        format!("gpufeed.Batch(epoch={}, index={}, shape={:?})", batch.epoch(), batch.index(), batch.shape())
    }
}

/// Writes a state as JSON.
pub(crate) fn state_text(state: &State) -> PyResult<String> {
    serde_json::to_string(state).map_err(|error| pyo3::exceptions::PyValueError::new_err(error.to_string()))
}

/// A sample that could not be used, and that another one has replaced.
#[pyclass(frozen, get_all, module = "gpufeed")]
pub(crate) struct Failure {
    /// The batch index of the replacement, or of its first image if it has several.
    batch_index: usize,
    /// The sample's id.
    id: u64,
    /// The sample's path or name.
    name: String,
    /// The error. For a data set in Python, its exception is the error's `__cause__`.
    error: Py<PyAny>,
}

#[pymethods]
impl Failure {
    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("gpufeed.Failure({}: {})", self.name, self.error.bind(py).str()?))
    }
}
