//! Reads several samples by one call of `__getitems__`, and finds out whether it or a sample is wrong.

use super::PythonDataset;
use super::failed::Failed;
use super::owned::Owned;
use crate::interpreter_end::call;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyList, PyMemoryView, PyRange, PySequence, PyString};
use std::collections::HashSet;
use std::ffi::CString;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

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

impl PythonDataset {
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
    pub(super) fn several(&self, py: Python<'_>, indices: &[usize]) -> Vec<Result<Owned, Failed>> {
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
