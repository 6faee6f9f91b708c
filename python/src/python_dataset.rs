//! Reads a data set in Python, an object with `__len__` and `__getitem__`, for the library.

mod owned;

use crate::errors::{inside_itself, stuck};
use crate::interpreter_end::{attach, call, get_item};
use crate::turns::{Inside, Refused, Turns};
use gpufeed::dataset::{Access, Field};
use gpufeed::{Error, ErrorKind, Label, Sample};
use owned::{Form, Owned, form};
use pyo3::exceptions::{PyException, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyInt, PyList, PyMemoryView, PyRange, PySequence, PyString, PyTuple};
use std::cell::RefCell;
use std::collections::HashSet;
use std::ffi::CString;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The most samples for which a data set in Python is asked in one call.
const JOB_SAMPLES: usize = 64;

/// A data set in Python. A worker that reads it waits for its turn, and then for the interpreter's lock.
pub(crate) struct PythonDataset {
    pub(crate) object: Py<PyAny>,
    /// Makes `(bytes, form, label, rest, images)` of an item.
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
    /// [`REST`], and the fields of images.
    pub(crate) fields: Vec<Field>,
}

/// The field of objects in Python with what their samples have beside image, class and vector: the pickle of what
/// `gpufeed/collate.py` makes batches of. It stays inside of this process.
pub(crate) const REST: &str = "_rest";

/// The number of jobs for which `__getitems__` has raised, and their samples.
#[derive(Default)]
pub(crate) struct Raised {
    jobs: usize,
    samples: HashSet<usize>,
}

/// At least this many jobs and samples have to fail before `__getitems__` counts as wrong. A fault that passes, such as
/// a lost connection, makes fewer fail.
const LEAST_JOBS: usize = 3;
const LEAST_SAMPLES: usize = 6;

impl Raised {
    /// Returns true once enough samples have raised, or all `len` samples of the data set. One sample proves nothing.
    fn are_enough(&self, len: usize) -> bool {
        let (samples, all) = (self.samples.len(), self.samples.len() == len);
        samples > 1 && (all || self.jobs >= LEAST_JOBS && samples >= LEAST_SAMPLES)
    }
}

/// The methods by which the object gives samples.
#[derive(Clone, Copy)]
pub(crate) struct Reads {
    /// True if the object has `__getitem__`.
    pub(crate) single: bool,
    /// True if the object has `__getitems__`.
    pub(crate) several: bool,
}

/// The reason why a sample was not read.
enum Failed {
    /// The run has to stop.
    Stops,
    /// The sample has failed with this exception.
    Sample(PyErr),
    /// The run ends with this exception: `KeyboardInterrupt` and its like, or an error in the data set itself.
    Run(PyErr),
}

impl Failed {
    /// Decides what an exception of the object means for the run.
    fn raised(py: Python<'_>, error: PyErr) -> Failed {
        let ends =
            !error.is_instance_of::<PyException>(py) || error.value(py).hasattr("_ends_the_run").unwrap_or(false);
        if ends { Failed::Run(error) } else { Failed::Sample(error) }
    }

    fn again(&self, py: Python<'_>) -> Failed {
        match self {
            Failed::Stops => Failed::Stops,
            Failed::Sample(error) => Failed::Sample(error.clone_ref(py)),
            Failed::Run(error) => Failed::Run(error.clone_ref(py)),
        }
    }
}

impl From<Failed> for Error {
    fn from(failed: Failed) -> Error {
        match failed {
            Failed::Stops => ErrorKind::Fatal { source: "the run has ended".into() },
            Failed::Sample(error) => ErrorKind::Foreign { source: Box::new(error) },
            Failed::Run(error) => ErrorKind::Fatal { source: Box::new(error) },
        }
        .into()
    }
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
                images: Vec::new(),
            });
        }
        type Rest<'py> = Option<Bound<'py, PyBytes>>;
        type Images<'py> = Vec<(Bound<'py, PyBytes>, Form)>;
        let made = call(self.item.bind(py), &(item, index).into_pyobject(py)?)?;
        let (bytes, of_bytes, label, rest, images): (Bound<'_, PyBytes>, Form, Bound<'_, PyAny>, Rest<'_>, Images<'_>) =
            made.extract()?;
        let images = images.into_iter().map(|(bytes, of_bytes)| (bytes.as_bytes().to_vec(), form(of_bytes))).collect();
        let label = match label {
            label if label.is_none() => Label::None,
            label if label.is_instance_of::<PyList>() => Label::from(label.extract::<Vec<f32>>()?),
            label => Label::Class(label.extract()?),
        };
        let rest = rest.map(|rest| rest.as_bytes().to_vec());
        Ok(Owned { bytes: bytes.as_bytes().to_vec(), form: form(of_bytes), label, rest, images })
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

    /// Reads samples by one call of `__getitems__`. An error is the error of the whole call.
    fn call(&self, py: Python<'_>, indices: &[usize]) -> Result<Vec<Result<Owned, Failed>>, Failed> {
        let found = || {
            let method = self.object.bind(py).getattr("__getitems__")?;
            call(&method, &(indices.to_vec(),).into_pyobject(py)?)
        };
        let found = found().map_err(|error| Failed::raised(py, error))?;
        let items = self.items(&found, indices.len())?;
        let samples = items.iter().zip(indices).map(|(item, &index)| self.sample(item, index));
        Ok(samples.map(|sample| sample.map_err(|error| Failed::raised(py, error))).collect())
    }

    /// Returns the items in what `__getitems__` returned: a list, a tuple or another sequence, of as many as were asked
    /// for.
    fn items<'py>(&self, found: &Bound<'py, PyAny>, asked: usize) -> Result<Vec<Bound<'py, PyAny>>, Failed> {
        let py = found.py();
        let text = found.is_instance_of::<PyString>()
            || found.is_instance_of::<PyBytes>()
            || found.is_instance_of::<PyByteArray>()
            || found.is_instance_of::<PyMemoryView>()
            || found.is_instance_of::<PyRange>();
        let sequence = found.cast::<PySequence>().ok().filter(|_| !text);
        // A user's own sequence has Python code, which `list` calls.
        let list = |sequence: &Bound<'py, PySequence>| {
            let listed = call(py.get_type::<PyList>().as_any(), &(sequence,).into_pyobject(py)?)?;
            Ok(listed.cast_into::<PyList>()?.iter().collect::<Vec<_>>())
        };
        let items = sequence.map(list).transpose();
        let items = items.map_err(|error| Failed::raised(py, error))?;
        if let Some(items) = &items
            && items.len() == asked
        {
            return Ok(items.clone());
        }
        let name =
            |of: &Bound<'_, PyAny>| of.get_type().name().map_or_else(|_| "?".to_owned(), |name| name.to_string());
        let what = match (found.is_none(), found.len()) {
            (true, _) => "None".to_owned(),
            (false, Ok(len)) => format!("a {} of {len}", name(found)),
            (false, Err(_)) => format!("a {}", name(found)),
        };
        let (of, plural) = (name(self.object.bind(py)), if asked == 1 { "index" } else { "indices" });
        let text = format!(
            "__getitems__ of {of} returned {what} for {asked} {plural}; it returns a list with one (image, label) for each \
             index, in their order"
        );
        Err(Failed::Run(if items.is_some() { PyValueError::new_err(text) } else { PyTypeError::new_err(text) }))
    }

    /// Reads the samples of a job by `__getitems__`. If the call fails, asks for each sample by itself, to find those
    /// that fail.
    fn several(&self, py: Python<'_>, indices: &[usize]) -> Vec<Result<Owned, Failed>> {
        let failed = match self.call(py, indices) {
            Ok(samples) => return self.checked(py, samples),
            Err(failed) => failed,
        };
        let Failed::Sample(together) = failed else {
            return indices.iter().map(|_| Err(failed.again(py))).collect();
        };
        if indices.len() == 1 {
            let ends = self.wrong_together(py, &together, indices);
            return vec![Err(ends.unwrap_or(Failed::Sample(together)))];
        }
        let mut each: Vec<Result<Owned, Failed>> = Vec::with_capacity(indices.len());
        for index in indices {
            let ended = each.last().and_then(|last| last.as_ref().err()).filter(|last| matches!(last, Failed::Run(_)));
            let sample = match ended {
                Some(ended) => Err(ended.again(py)),
                None => self.call(py, &[*index]).and_then(|mut one| one.swap_remove(0)),
            };
            each.push(sample);
        }
        if each.iter().any(Result::is_ok) {
            self.usable.store(true, Ordering::Relaxed);
        } else if each.iter().all(|sample| matches!(sample, Err(Failed::Sample(_))))
            && let Some(ends) = self.wrong_together(py, &together, indices)
        {
            return indices.iter().map(|_| Err(ends.again(py))).collect();
        }
        if each.iter().all(Result::is_ok)
            && !self.warned.swap(true, Ordering::Relaxed)
            && let Err(error) = self.warn_of(py, &together, indices.len())
        {
            // The user has made warnings errors, so the run ends.
            return indices.iter().map(|_| Err(Failed::Run(error.clone_ref(py)))).collect();
        }
        each
    }

    /// Returns the end of the run in two cases. In the first, `__getitems__` is wrong, and not the samples: it has
    /// raised for all samples of these and of other jobs, but `__getitem__` returns the first of them. In the second,
    /// `__getitem__` raises an exception that ends a run.
    fn wrong_together(&self, py: Python<'_>, together: &PyErr, indices: &[usize]) -> Option<Failed> {
        let index = *indices.first().filter(|_| self.has.single && !self.usable.load(Ordering::Relaxed))?;
        let samples = {
            let mut raised = self.raised.lock().unwrap_or_else(PoisonError::into_inner);
            raised.jobs += 1;
            raised.samples.extend(indices);
            if raised.are_enough(self.len) { raised.samples.len() } else { return None }
        };
        match self.single(py, index) {
            Ok(_) => {}
            Err(Failed::Sample(_)) => return None,
            Err(ends) => return Some(ends),
        }
        let name = self.object.bind(py).get_type().name().map_or_else(|_| "?".to_owned(), |name| name.to_string());
        let text = format!(
            "__getitems__ of {name} has raised {together} for each of {} indices, while __getitem__ gives sample {index}: it returns \
             a list with one (image, label) for each index, in their order; mend or remove it",
            samples
        );
        let error = PyTypeError::new_err(text);
        error.set_cause(py, Some(together.clone_ref(py)));
        Some(Failed::Run(error))
    }

    /// Ends the run if the first items that `__getitems__` returns are no samples, but for example a collated batch.
    /// Otherwise `__getitem__` would read each sample again, and the user would not notice.
    fn checked(&self, py: Python<'_>, samples: Vec<Result<Owned, Failed>>) -> Vec<Result<Owned, Failed>> {
        if samples.iter().any(Result::is_ok) {
            self.usable.store(true, Ordering::Relaxed);
        }
        let first = match samples.first() {
            Some(Err(Failed::Sample(first))) if samples.len() > 1 && !self.usable.load(Ordering::Relaxed) => first,
            _ => return samples,
        };
        let name = self.object.bind(py).get_type().name().map_or_else(|_| "?".to_owned(), |name| name.to_string());
        let text = format!(
            "no item that __getitems__ of {name} returned for {} indices is a sample: {first}; it returns a list with one (image, \
             label) for each index, in their order",
            samples.len()
        );
        let error = PyTypeError::new_err(text);
        error.set_cause(py, Some(first.clone_ref(py)));
        samples.iter().map(|_| Err(Failed::Run(error.clone_ref(py)))).collect()
    }

    fn warn_of(&self, py: Python<'_>, error: &PyErr, indices: usize) -> PyResult<()> {
        let text = format!(
            "gpufeed: __getitems__ of {} raised {error} for {indices} indices, but none of them fails by itself: it is called \
             once more for each, which is slow",
            self.object.bind(py).get_type().name()?
        );
        let text = CString::new(text.replace('\0', "\\0"))?;
        PyErr::warn(py, &py.get_type::<pyo3::exceptions::PyRuntimeWarning>(), &text, 1)
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
        owned.into_sample(buffer)
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
