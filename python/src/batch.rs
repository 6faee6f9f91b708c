//! A batch as Python gets it: arrays, and the other facts of the batch.

mod arrangement;
mod columns;
mod group;
mod labels;
mod targets;

use crate::dataset::item::label;
use crate::dlpack::{Array, Element, Place};
use crate::errors;
use crate::external::{self, Facts, Handles};
use crate::process::Owner;
use crate::python_dataset::REST;
use columns::column;
use gpufeed::{ColumnValues, Label, State};
use group::params_text;
use labels::labels;
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyDict, PyList, PyTuple};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

pub(crate) use group::Group;

/// A batch whose buffer returns to its loader. In a forked process the buffer does not return, because a thread that
/// the fork has not copied may hold the loader's lock.
struct Lease {
    batch: Option<gpufeed::Batch>,
    owner: Owner,
    /// True once another API was told where the images are, until it gets them or not.
    offered: AtomicBool,
    /// True once another API has got the images.
    handed_over: AtomicBool,
    /// Groups of which another API has the images, and has not said yet that it has read them.
    elsewhere: AtomicUsize,
}

impl Lease {
    fn new(batch: gpufeed::Batch) -> Lease {
        let (offered, handed_over, elsewhere) = (AtomicBool::default(), AtomicBool::default(), AtomicUsize::new(0));
        Lease { batch: Some(batch), owner: Owner::this(), offered, handed_over, elsewhere }
    }

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
            return;
        }
        let Some(batch) = batch else { return };
        if self.offered.load(Ordering::SeqCst) {
            // An interrupt may have come between `_external` and `_hand_over`: nobody signals for this batch.
            keep(&batch);
        } else if self.elsewhere.load(Ordering::SeqCst) == 0 {
            batch.release();
        }
        // Else another API did not say that it has read the images, and never will: the buffer does not return.
    }
}

/// A batch of augmented images with their labels. Unpacks as `images, labels`.
///
/// The batch, its arrays and every tensor made of them share a buffer of the loader. The buffer returns to the loader
/// when the last of them is freed.
#[pyclass(frozen, module = "gpufeed")]
pub(crate) struct Batch {
    lease: Arc<Lease>,
    /// The images of each group; at least one. Empty until they are read back, or handed over, from a loader that exports.
    arrays: PyOnceLock<Vec<Py<Array>>>,
    /// None without labels that are classes or vectors.
    of_labels: Option<Py<Array>>,
    /// Classes of the soft labels of a mixed batch.
    num_classes: Option<usize>,
    /// The state of the run after this batch.
    state: State,
}

impl Batch {
    /// Makes the batch of a run whose state is `state` after it. Reads images on a GPU back, unless the loader `exports` them:
    /// then what first looks at them does.
    pub(crate) fn new(
        py: Python<'_>,
        mut batch: gpufeed::Batch,
        state: State,
        num_classes: Option<usize>,
        exports: bool,
    ) -> PyResult<Batch> {
        // Labels that Python collates may differ in kind here.
        let of_labels = if num_classes.is_none() && has_rest(&batch) { None } else { labels(&batch, num_classes, 1)? };
        let forms = forms(&batch);
        let of_labels = of_labels.map(|labels| Py::new(py, labels)).transpose()?;
        let arrays = PyOnceLock::new();
        let lease = if batch.host_mut().is_some() {
            let (made, lease) = Array::parts(Lease::new(batch), Lease::elements, forms);
            let made = made.into_iter().map(|array| Py::new(py, array)).collect::<PyResult<_>>()?;
            let _ = arrays.set(py, made);
            lease
        } else {
            Arc::new(Lease::new(batch))
        };
        let made = Batch { lease, arrays, of_labels, num_classes, state };
        if !exports {
            made.arrays(py)?;
        }
        Ok(made)
    }

    /// The first group.
    fn first(&self, py: Python<'_>) -> PyResult<Group> {
        Ok(Group { lease: Arc::clone(&self.lease), number: 0, memory: self.arrays(py)?[0].clone_ref(py) })
    }

    /// The memory of each group's images, read back from a GPU if nothing else has been done with them.
    fn arrays(&self, py: Python<'_>) -> PyResult<&Vec<Py<Array>>> {
        self.arrays.get_or_try_init(py, || {
            let batch = self.lease.batch();
            let mut arrays = Vec::new();
            for (group, (shape, element)) in batch.groups().zip(forms(batch)) {
                let bytes = py.detach(|| group.memory_to_host()).map_err(|error| errors::to_python(py, &error))?;
                arrays.push(Py::new(py, Array::of_bytes(&bytes, shape, element)?)?);
            }
            Ok(arrays)
        })
    }
}

/// Says that no other API has got the images.
fn keep(batch: &gpufeed::Batch) {
    batch.groups().filter_map(|group| group.external().ok()).for_each(gpufeed::External::unused);
}

/// The shape and the type of the memory of each group.
fn forms(batch: &gpufeed::Batch) -> Vec<(Vec<i64>, Element)> {
    batch.groups().map(|group| (arrangement::memory_shape(&group), Element::from(group.dtype()))).collect()
}

/// The images of a group in memory that another API has imported. The hook's `drop()` says that they were read; it is called
/// once, when the last tensor of them is gone.
struct Elsewhere {
    /// Only drop takes it.
    hook: Option<Py<PyAny>>,
    lease: Arc<Lease>,
}

impl Drop for Elsewhere {
    fn drop(&mut self) {
        if !self.lease.owner.is_here() {
            return;
        }
        // At the interpreter's end nothing is recorded any more, and the buffer goes with the process.
        let Some(hook) = self.hook.take() else { return };
        // The hook is freed in here: elsewhere pyo3 would free it with its next call.
        let said = Python::try_attach(move |py| {
            // The last tensor may be freed while an exception is on its way, which stays what it is.
            let raised = PyErr::take(py);
            let said = hook.call_method0(py, "drop").and_then(|said| said.is_truthy(py));
            let said = said.unwrap_or_else(|error| {
                error.write_unraisable(py, Some(hook.bind(py)));
                false
            });
            drop(hook);
            if let Some(raised) = raised {
                raised.restore(py);
            }
            said
        });
        if said == Some(true) {
            self.lease.elsewhere.fetch_sub(1, Ordering::SeqCst);
        }
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
    /// The images, as `torch.from_dlpack` and its like take them; of several groups, those of the first. Where the batch is
    /// padded, images of the padded size; where each has a size of its own, a row for each, which `image` reads.
    #[getter]
    fn images(&self, py: Python<'_>) -> PyResult<Py<Array>> {
        self.first(py)?.images(py)
    }

    /// An image of the first group, without padding.
    fn image(&self, py: Python<'_>, index: isize) -> PyResult<Array> {
        self.first(py)?.image(py, index)
    }

    /// Height and width of each image of the first group, without padding.
    #[getter]
    fn image_sizes(&self) -> PyResult<Array> {
        arrangement::sizes(&self.lease.batch().groups().next().ok_or_else(|| PyIndexError::new_err("no group"))?)
    }

    /// The memory of the images of the first group, with what lies between them.
    #[getter]
    fn _memory(&self, py: Python<'_>) -> PyResult<Py<Array>> {
        Ok(self.arrays(py)?[0].clone_ref(py))
    }

    /// The shape of the padded images, none where each has its own, and the shape of each; None where all have one size.
    #[getter]
    fn _arranged(&self) -> Option<arrangement::Arranged> {
        arrangement::arranged(&self.lease.batch().groups().next()?)
    }

    /// Facts of the memory of each group's images, of a loader that exports. From then on they are another API's, which
    /// either gets them by `_hand_over`, or not by `_keep`.
    fn _external(&self, py: Python<'_>) -> PyResult<Vec<Facts>> {
        let batch = self.lease.batch();
        self.lease.offered.store(true, Ordering::SeqCst);
        let facts = |group: gpufeed::BatchGroup<'_>| group.external().map(|external| external::facts(&external));
        let all = py.detach(|| batch.groups().map(facts).collect::<Result<Vec<_>, _>>());
        all.map_err(|error| errors::to_python(py, &error))
    }

    /// New handles of the memory and the semaphores of a group's images. They are the caller's to close.
    fn _handles(&self, py: Python<'_>, group: usize) -> PyResult<Handles> {
        let group = self.lease.batch().groups().nth(group).ok_or_else(|| PyIndexError::new_err("no such group"))?;
        let handles = group.external().and_then(|external| external::handles(&external));
        handles.map_err(|error| errors::to_python(py, &error))
    }

    /// Says that no other API has got the images. What looks at them next reads them back.
    fn _keep(&self) {
        if self.lease.offered.swap(false, Ordering::SeqCst) {
            keep(self.lease.batch());
        }
    }

    /// True once `_hand_over` has handed the images over.
    #[getter]
    fn _handed_over(&self) -> bool {
        self.lease.handed_over.load(Ordering::SeqCst)
    }

    /// Hands the images over to another API, which has those of each group at an address. DLPack's `device` is its type and
    /// number. Each hook has `stream(stream)`, which has the images ready on a stream, and `drop()`, which says that they
    /// were read, and returns True if that is sure to happen.
    fn _hand_over(
        &self,
        py: Python<'_>,
        device: (u32, i32),
        addresses: Vec<usize>,
        hooks: Vec<Py<PyAny>>,
    ) -> PyResult<()> {
        let batch = self.lease.batch();
        if self.arrays.get(py).is_some() {
            return Err(PyValueError::new_err("the images were read back, or handed over, already"));
        }
        self.lease.offered.store(false, Ordering::SeqCst);
        self.lease.handed_over.store(true, Ordering::SeqCst);
        let mut arrays = Vec::with_capacity(addresses.len());
        for (((shape, element), address), hook) in forms(batch).into_iter().zip(addresses).zip(hooks) {
            let place = Place { device, hook: Some(Arc::new(hook.clone_ref(py))) };
            self.lease.elsewhere.fetch_add(1, Ordering::SeqCst);
            let owner = Arc::new(Elsewhere { hook: Some(hook), lease: Arc::clone(&self.lease) });
            arrays.push(Py::new(py, Array::elsewhere(owner, address, shape, element, place))?);
        }
        self.arrays.set(py, arrays).map_err(|_| PyValueError::new_err("the images were read back already"))
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
        for (number, (group, images)) in self.lease.batch().groups().zip(self.arrays(py)?).enumerate() {
            let made = Group { lease: Arc::clone(&self.lease), number, memory: images.clone_ref(py) };
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

    /// The objects of the images, with arrays of float32 and int64: `boxes`, `keypoints` with visibility, and values such as
    /// `labels`, all images one after the other; `image` has the number of the image of each, `offsets` where the objects of each
    /// image begin. None where the data set has no objects.
    #[getter]
    fn targets<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        targets::targets(py, self.lease.batch())
    }

    /// The name of the field of objects, the format of the boxes, the height and width of the images, and the id of the sample of each.
    #[getter]
    fn _object_field(&self) -> Option<targets::Described> {
        targets::described(self.lease.batch())
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
        let images = slf.get().images(py)?.into_bound(py).into_any();
        Ok(PyTuple::new(py, [images, Batch::labels(slf)?])?.try_iter()?.into_any())
    }

    fn __getitem__<'py>(slf: &Bound<'py, Self>, index: isize) -> PyResult<Bound<'py, PyAny>> {
        match index {
            0 | -2 => Ok(slf.get().images(slf.py())?.into_bound(slf.py()).into_any()),
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
