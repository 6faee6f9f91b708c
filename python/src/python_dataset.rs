//! Reads a data set in Python, an object with `__len__` and `__getitem__`, for the library.
//!
//! `owned.rs` has a sample as it was read, `failed.rs` why one was not read, and `together.rs` reads several samples by
//! `__getitems__`.

mod failed;
mod owned;
mod together;

use crate::errors::{self, inside_itself, stuck};
use crate::interpreter_end::{attach, call, get_item};
use crate::objects;
use crate::turns::{Inside, Refused, Turns};
pub(crate) use failed::Failed;
use gpufeed::dataset::{Access, Field};
use gpufeed::{Label, Sample};
use owned::{Form, Owned, form};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyInt, PyList, PyTuple};
use std::cell::RefCell;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use together::Raised;

/// The most samples for which a data set in Python is asked in one call.
const JOB_SAMPLES: usize = 64;

/// A data set in Python. A worker that reads it waits for its turn, and then for the interpreter's lock.
pub(crate) struct PythonDataset {
    pub(crate) object: Py<PyAny>,
    /// Makes `(bytes, form, label, rest, images, objects)` of an item.
    pub(crate) item: Py<PyAny>,
    pub(crate) len: usize,
    pub(crate) has: Reads,
    pub(crate) channels: u32,
    pub(crate) classes: Vec<String>,
    /// The objects that a read may call. True means that one thread at a time may call the object. `thread_safe` is
    /// what the user said about this.
    pub(crate) parts: Vec<(Py<PyAny>, bool)>,
    pub(crate) thread_safe: Option<bool>,
    pub(crate) turns: Arc<Turns>,
    /// True once the warning that samples can be read one by one, but not together, was given.
    pub(crate) warned: AtomicBool,
    /// True once `__getitems__` has returned something that is a sample.
    pub(crate) usable: AtomicBool,
    /// What `__getitems__` has raised, until `usable` is true.
    pub(crate) raised: Mutex<Raised>,
    /// True if no fields are chosen, so that an image file and a class are the whole sample.
    pub(crate) plain: bool,
    /// True if samples have objects, whose field comes after [`REST`].
    pub(crate) has_objects: bool,
    /// [`REST`], the field of objects, and the fields of images.
    pub(crate) fields: Vec<Field>,
}

/// The field of objects in Python with what their samples have beside image, class and vector: the pickle of what
/// `gpufeed/collate.py` makes batches of. It stays inside of this process.
pub(crate) const REST: &str = "_rest";

/// The methods by which the object gives samples.
#[derive(Clone, Copy)]
pub(crate) struct Reads {
    /// True if the object has `__getitem__`.
    pub(crate) single: bool,
    /// True if the object has `__getitems__`.
    pub(crate) several: bool,
}

/// A sample of the job under way that was read already.
struct Ready {
    /// The address of the data set that has the sample.
    dataset: usize,
    index: usize,
    sample: Result<Owned, Failed>,
}

thread_local! {
    /// The samples of the job under way. `begin_job` has read them.
    static JOB: RefCell<Vec<Ready>> = const { RefCell::new(Vec::new()) };
}

impl PythonDataset {
    /// Returns the address of this data set, by which it differs from others.
    fn address(&self) -> usize {
        std::ptr::from_ref(self) as usize
    }

    /// Does `work` with the object: waits for the turn, and has the interpreter's lock.
    fn inside<T>(&self, work: impl FnOnce(Python<'_>) -> T) -> Result<T, Failed> {
        let refused = |refused| match refused {
            Refused::Stops => Failed::Stops,
            Refused::Inside => Failed::Run(inside_itself()),
            Refused::Stuck(time) => Failed::Run(stuck(time)),
            Refused::Interrupted(error) => Failed::Run(error),
        };
        let _inside: Inside<'_> = self.turns.enter().map_err(refused)?;
        Ok(attach(work))
    }

    /// Converts an item of the object to a sample.
    fn sample(&self, item: &Bound<'_, PyAny>, index: usize) -> PyResult<Owned> {
        let py = item.py();
        // The usual case calls no Python code: a tuple of bytes and an int. True and NumPy's numbers are no int.
        if self.plain
            && item.is_exact_instance_of::<PyTuple>()
            && let Ok((bytes, label)) = item.extract::<(Bound<'_, PyBytes>, Bound<'_, PyAny>)>()
            && label.is_exact_instance_of::<PyInt>()
            && let Ok(class) = label.extract()
        {
            return Ok(Owned {
                bytes: bytes.as_bytes().to_vec(),
                form: None,
                label: Label::Class(class),
                rest: None,
                objects: None,
                images: Vec::new(),
            });
        }
        type Rest<'py> = Option<Bound<'py, PyBytes>>;
        type Images<'py> = Vec<(Bound<'py, PyBytes>, Form)>;
        let made = call(self.item.bind(py), &(item, index).into_pyobject(py)?)?;
        type Made<'py> =
            (Bound<'py, PyBytes>, Form, Bound<'py, PyAny>, Rest<'py>, Images<'py>, Option<objects::Given<'py>>);
        let (bytes, of_bytes, label, rest, images, given): Made<'_> = made.extract()?;
        let objects = given.map(objects::objects).transpose();
        let objects = objects.map_err(|error| errors::to_python(py, &error))?;
        let images = images.into_iter().map(|(bytes, of_bytes)| (bytes.as_bytes().to_vec(), form(of_bytes))).collect();
        let label = match label {
            label if label.is_none() => Label::None,
            label if label.is_instance_of::<PyList>() => Label::from(label.extract::<Vec<f32>>()?),
            label => Label::Class(label.extract()?),
        };
        let rest = rest.map(|rest| rest.as_bytes().to_vec());
        Ok(Owned { bytes: bytes.as_bytes().to_vec(), form: form(of_bytes), label, rest, objects, images })
    }

    /// Reads a sample by `__getitem__`.
    fn single(&self, py: Python<'_>, index: usize) -> Result<Owned, Failed> {
        let read = || {
            let key = index.into_pyobject(py)?;
            let item = get_item(self.object.bind(py), &key)?;
            self.sample(&item, index)
        };
        read().map_err(|error| Failed::raised(py, error))
    }
}

impl gpufeed::Dataset for PythonDataset {
    fn len(&self) -> usize {
        self.len
    }

    fn inner(&self) -> Option<&dyn gpufeed::Dataset> {
        None
    }

    fn read<'a>(&'a self, index: usize, buffer: &'a mut Vec<u8>) -> gpufeed::Result<Sample<'a>> {
        let address = self.address();
        let ready = JOB.with_borrow_mut(|job| {
            let at = job.iter().position(|ready| (ready.dataset, ready.index) == (address, index))?;
            Some(job.swap_remove(at).sample)
        });
        let owned = match ready {
            Some(ready) => ready?,
            None if self.has.single => self.inside(|py| self.single(py, index))??,
            None => self.inside(|py| self.several(py, &[index]).swap_remove(0))??,
        };
        owned.into_sample(buffer, self.has_objects)
    }

    fn name(&self, index: usize) -> String {
        format!("sample {index}")
    }

    fn channels(&self) -> u32 {
        self.channels
    }

    fn classes(&self) -> &[String] {
        &self.classes
    }

    fn fields(&self) -> &[Field] {
        &self.fields
    }

    fn access(&self) -> Option<&dyn Access> {
        self.has.several.then_some(self)
    }
}

impl Access for PythonDataset {
    fn job_samples(&self) -> usize {
        JOB_SAMPLES
    }

    fn begin_job(&self, indices: &[usize]) {
        let address = self.address();
        // If the job does not get its turn, its samples fail at once: they do not wait for the turn again.
        let read = match self.inside(|py| self.several(py, indices)) {
            Ok(read) => read,
            Err(Failed::Stops) => indices.iter().map(|_| Err(Failed::Stops)).collect(),
            Err(refused) => attach(|py| indices.iter().map(|_| Err(refused.again(py))).collect()),
        };
        let ready = |(&index, sample)| Ready { dataset: address, index, sample };
        JOB.set(indices.iter().zip(read).map(ready).collect());
    }
}
