//! A batch as Python gets it: arrays, and the other facts of the batch.

mod columns;
mod group;
mod labels;

use crate::dataset::item::label;
use crate::dlpack::{Array, Element};
use crate::errors;
use crate::process::Owner;
use crate::python_dataset::REST;
use columns::column;
use gpufeed::{ColumnValues, Label, State};
use group::params_text;
use labels::labels;
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyTuple};
use std::sync::Arc;

pub(crate) use group::Group;

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

    /// Returns the images of each group in host memory.
    fn elements(&mut self) -> Vec<&mut [u8]> {
        self.batch.as_mut().map(gpufeed::Batch::groups_mut).unwrap_or_default()
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
    /// The images of each group; at least one.
    arrays: Vec<Py<Array>>,
    /// None without labels that are classes or vectors.
    of_labels: Option<Py<Array>>,
    /// Classes of the soft labels of a mixed batch.
    num_classes: Option<usize>,
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
        // Labels that Python collates may differ in kind here.
        let of_labels = if num_classes.is_none() && has_rest(&batch) { None } else { labels(&batch, num_classes, 1)? };
        let form = |group: gpufeed::BatchGroup<'_>| {
            let shape: Vec<i64> = group.shape().map(|length| length as i64).to_vec();
            (shape, Element::from(group.dtype()))
        };
        let forms: Vec<_> = batch.groups().map(form).collect();
        let on_host = batch.host_mut().is_some();
        let (arrays, lease) = if on_host {
            let lease = Lease { batch: Some(batch), owner: Owner::this() };
            Array::parts(lease, Lease::elements, forms)
        } else {
            let mut arrays = Vec::with_capacity(forms.len());
            for (group, (shape, element)) in batch.groups().zip(forms) {
                let bytes = py.detach(|| group.to_host()).map_err(|error| errors::to_python(py, &error))?;
                arrays.push(Array::of_bytes(&bytes, shape, element)?);
            }
            let lease = Lease { batch: Some(batch), owner: Owner::this() };
            (arrays, Arc::new(lease))
        };
        let arrays = arrays.into_iter().map(|array| Py::new(py, array)).collect::<PyResult<_>>()?;
        let of_labels = of_labels.map(|labels| Py::new(py, labels)).transpose()?;
        Ok(Batch { lease, arrays, of_labels, num_classes, state })
    }
}

/// Returns true if Python has to collate what the samples have beside their images.
fn has_rest(batch: &gpufeed::Batch) -> bool {
    let Some(ColumnValues::Bytes(values)) = batch.column(REST).map(gpufeed::Column::values) else { return false };
    values.iter().any(Option::is_some)
}

/// Calls a function of `gpufeed/collate.py`, which knows what the samples of an object in Python have beside images.
fn collated<'py>(batch: &Bound<'py, Batch>, function: &str) -> PyResult<Bound<'py, PyAny>> {
    batch.py().import("gpufeed.collate")?.call_method1(function, (batch,))
}

#[pymethods]
impl Batch {
    /// The images, as `torch.from_dlpack` and its like take them; of several groups, those of the first.
    #[getter]
    fn images(&self, py: Python<'_>) -> Py<Array> {
        self.arrays[0].clone_ref(py)
    }

    /// Class numbers as int64, vectors as float32, soft labels of mixed batches as float32; a list of what an object in
    /// Python has given otherwise; None without labels. One for each image.
    #[getter]
    fn labels<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let this = slf.get();
        match &this.of_labels {
            Some(labels) => Ok(labels.bind(slf.py()).clone().into_any()),
            None if has_rest(this.lease.batch()) => collated(slf, "labels_of"),
            None => Ok(slf.py().None().into_bound(slf.py())),
        }
    }

    /// The groups of images by their names; one, `image`, for a loader without groups.
    #[getter]
    fn groups<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let groups = PyDict::new(py);
        for (number, (group, images)) in self.lease.batch().groups().zip(&self.arrays).enumerate() {
            let made = Group { lease: Arc::clone(&self.lease), number, images: images.clone_ref(py) };
            groups.set_item(group.name(), Py::new(py, made)?)?;
        }
        Ok(groups)
    }

    /// The fields by their names, with a value for each sample: lists of texts, of bytes and of what JSON says, with None
    /// where a sample has none, and arrays of numbers.
    #[getter]
    fn columns<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let (py, batch) = (slf.py(), slf.get().lease.batch());
        if has_rest(batch) {
            return collated(slf, "columns_of");
        }
        let columns = PyDict::new(py);
        for each in batch.columns().iter().filter(|column| column.name() != REST) {
            columns.set_item(each.name(), column(py, each.values(), batch.samples())?)?;
        }
        Ok(columns.into_any())
    }

    /// For each sample what an object in Python gave beside the image: a pickle, or the class or vector where that is
    /// all. None if no sample has a pickle.
    #[getter]
    fn _rest<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyList>>> {
        let batch = self.lease.batch();
        let Some(ColumnValues::Bytes(pickles)) = batch.column(REST).map(gpufeed::Column::values) else {
            return Ok(None);
        };
        if pickles.iter().all(Option::is_none) {
            return Ok(None);
        }
        let labels = batch.labels().iter().step_by(batch.views() * batch.crops());
        let rest = |(pickle, given): (&Option<Vec<u8>>, &Label)| match pickle {
            Some(pickle) => Ok(PyBytes::new(py, pickle).into_any()),
            None => label(py, given),
        };
        Ok(Some(PyList::new(py, pickles.iter().zip(labels).map(rest).collect::<PyResult<Vec<_>>>()?)?))
    }

    /// The labels with one for each sample; of a mixed batch one for each image.
    #[getter]
    fn _sample_labels(&self, py: Python<'_>) -> PyResult<Option<Py<Array>>> {
        let batch = self.lease.batch();
        let step = batch.views() * batch.crops();
        if step == 1 || self.num_classes.is_some() || self.of_labels.is_none() {
            return Ok(self.of_labels.as_ref().map(|labels| labels.clone_ref(py)));
        }
        labels(batch, None, step)?.map(|labels| Py::new(py, labels)).transpose()
    }

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
        params_text(self.lease.batch().params())
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

    fn __iter__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let images = slf.get().images(py).into_bound(py).into_any();
        Ok(PyTuple::new(py, [images, Batch::labels(slf)?])?.try_iter()?.into_any())
    }

    fn __getitem__<'py>(slf: &Bound<'py, Self>, index: isize) -> PyResult<Bound<'py, PyAny>> {
        match index {
            0 | -2 => Ok(slf.get().images(slf.py()).into_bound(slf.py()).into_any()),
            1 | -1 => Batch::labels(slf),
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
    serde_json::to_string(state).map_err(|error| PyValueError::new_err(error.to_string()))
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
