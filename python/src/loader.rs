//! A loader and its runs.

use crate::batch::{Batch, state_text};
use crate::dataset::Dataset;
use crate::errors;
use crate::process::{self, Owner, guard};
use crate::settings::Settings;
use crate::stats;
use gpufeed::{DataLoader, Epochs, HostBufferHook, State};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use pyo3::{PyTraverseError, PyVisit};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::task::Poll;
use std::time::Duration;

/// How long a wait lasts before Python may handle signals. Ctrl-C is to end it within 0.2 s.
const ROUND: Duration = Duration::from_millis(50);

/// A loader: a data set, a recipe and settings.
#[pyclass(frozen, module = "gpufeed")]
pub(crate) struct Loader {
    /// `None` once the garbage collector has cleared it.
    loader: Mutex<Option<Arc<DataLoader>>>,
    dataset: Py<Dataset>,
    buffers: Arc<Buffers>,
    num_classes: Option<usize>,
    owner: Owner,
}

/// The host buffers that exist, for a device's runtime, which page-locks them.
#[derive(Default)]
struct Buffers(Mutex<Vec<(bool, usize, usize)>>);

impl HostBufferHook for Buffers {
    fn made(&self, address: usize, bytes: usize) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push((true, address, bytes));
    }

    fn freed(&self, address: usize, bytes: usize) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push((false, address, bytes));
    }
}

impl Loader {
    fn loader(&self, py: Python<'_>) -> PyResult<Arc<DataLoader>> {
        self.owner.check(py)?;
        let loader = self.loader.lock().unwrap_or_else(PoisonError::into_inner).clone();
        loader.ok_or_else(|| errors::raise(py, "RunError", "Closed", "this loader has been collected"))
    }

    fn run(&self, py: Python<'_>, start: impl FnOnce(&DataLoader) -> gpufeed::Result<Epochs> + Send) -> PyResult<Run> {
        let loader = self.loader(py)?;
        guard(py, || {
            let epochs = py.detach(|| start(&loader)).map_err(|error| errors::to_python(py, &error))?;
            let run = Arc::new(OpenRun::new(epochs));
            process::register(Arc::downgrade(&run));
            Ok(Run { run, num_classes: self.num_classes })
        })
    }
}

#[pymethods]
impl Loader {
    /// A loader of `dataset` with the settings of `DataLoaderBuilder`, by their names.
    #[new]
    fn new(py: Python<'_>, dataset: Py<Dataset>, settings: &Bound<'_, PyDict>) -> PyResult<Loader> {
        guard(py, || {
            let buffers = Arc::new(Buffers::default());
            let data = dataset.get().dataset()?;
            let settings = Settings::read(settings)?;
            let num_classes = settings.num_classes;
            let hook = Arc::clone(&buffers) as Arc<dyn HostBufferHook>;
            let loader = py.detach(|| settings.build(data, hook));
            let loader = loader.map_err(|error| errors::to_python(py, &error))?;
            let loader = Mutex::new(Some(Arc::new(loader)));
            Ok(Loader { loader, dataset, buffers, num_classes, owner: Owner::this() })
        })
    }

    /// The batches of the epochs from `first` up to but excluding `end`.
    fn epochs(&self, py: Python<'_>, first: u64, end: u64) -> PyResult<Run> {
        self.run(py, |loader| loader.epochs(first..end))
    }

    /// The batches from a state up to but excluding epoch `end`.
    fn resume(&self, py: Python<'_>, state: &str, end: u64) -> PyResult<Run> {
        let state = read_state(py, state)?;
        self.run(py, |loader| loader.resume_until(&state, end))
    }

    /// The epoch and the batch at which a state continues; raises what does not fit.
    fn place(&self, py: Python<'_>, state: &str) -> PyResult<(u64, u64)> {
        let state = read_state(py, state)?;
        let batch = self.loader(py)?.sampler().batch_of(&state).map_err(|error| errors::to_python(py, &error))?;
        Ok((state.epoch(), batch))
    }

    /// The state, as JSON, at which batch `batch` of epoch `epoch` is due.
    fn state(&self, py: Python<'_>, epoch: u64, batch: u64) -> PyResult<String> {
        state_text(&self.loader(py)?.sampler().state(epoch, batch))
    }

    /// Makes one image again, from its parameters as JSON: its bytes, in the batches' layout and type.
    fn replay<'py>(&self, py: Python<'py>, index: usize, params: &str) -> PyResult<Bound<'py, pyo3::types::PyBytes>> {
        let loader = self.loader(py)?;
        let params = serde_json::from_str(params)
            .map_err(|error| errors::raise(py, "ArgumentError", "Argument", &format!("params: {error}")))?;
        let image =
            guard(py, || py.detach(|| loader.replay(index, &params)).map_err(|error| errors::to_python(py, &error)))?;
        Ok(pyo3::types::PyBytes::new(py, &image))
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.loader(py)?.len())
    }

    /// The plan, the executor, the batches and the memory, in words.
    fn explain(&self, py: Python<'_>) -> PyResult<String> {
        Ok(self.loader(py)?.explain())
    }

    /// The recipe as TOML.
    fn recipe(&self, py: Python<'_>) -> PyResult<String> {
        self.loader(py)?.recipe().to_toml().map_err(|error| errors::to_python(py, &error))
    }

    /// The statistics since the loader was made.
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        stats::to_python(py, &self.loader(py)?.stats())
    }

    /// The samples in the cache, and their bytes.
    fn cached(&self, py: Python<'_>) -> PyResult<(u64, u64)> {
        Ok(self.loader(py)?.cached())
    }

    /// Bytes of one run's output buffers and slots.
    fn memory(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.loader(py)?.memory())
    }

    /// The host buffers made (True) and freed (False) since the last call: address and bytes.
    fn buffer_events(&self) -> Vec<(bool, usize, usize)> {
        std::mem::take(&mut *self.buffers.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The data set.
    #[getter]
    fn dataset(&self, py: Python<'_>) -> Py<Dataset> {
        self.dataset.clone_ref(py)
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.dataset)
    }

    fn __clear__(&self) {
        let loader = self.loader.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(loader);
    }
}

impl Drop for Loader {
    fn drop(&mut self) {
        let loader = self.loader.lock().unwrap_or_else(PoisonError::into_inner).take();
        if !self.owner.is_here() {
            std::mem::forget(loader);
        }
    }
}

fn read_state(py: Python<'_>, text: &str) -> PyResult<State> {
    serde_json::from_str(text)
        .map_err(|error| errors::raise(py, "ArgumentError", "Argument", &format!("state: {error}")))
}

/// An item of a run, and the state after it.
type Item = (Option<gpufeed::Result<gpufeed::Batch>>, State);

/// A run's threads, and an item that `ready` has found already.
struct Waiting {
    epochs: Epochs,
    found: Option<Item>,
}

impl Waiting {
    /// The next item, if it is there within `time`.
    fn poll(&mut self, time: Duration) -> Option<Item> {
        if let Some(found) = self.found.take() {
            return Some(found);
        }
        match self.epochs.next_within(time) {
            Poll::Pending => None,
            Poll::Ready(item) => Some((item, self.epochs.state())),
        }
    }
}

/// A run with its threads, until it has ended.
pub(crate) struct OpenRun {
    waiting: Mutex<Option<Waiting>>,
    /// True once somebody wants the run to end: a wait returns.
    ending: AtomicBool,
    /// True after the last batch.
    finished: AtomicBool,
    owner: Owner,
}

impl OpenRun {
    fn new(epochs: Epochs) -> OpenRun {
        let waiting = Mutex::new(Some(Waiting { epochs, found: None }));
        OpenRun { waiting, ending: AtomicBool::new(false), finished: AtomicBool::new(false), owner: Owner::this() }
    }

    /// Works with the run, unless it has ended or is to end.
    fn with<T>(&self, work: impl FnOnce(&mut Waiting) -> T) -> Option<T> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.as_mut().filter(|_| self.is_open()).map(work)
    }

    pub(crate) fn is_open(&self) -> bool {
        !self.ending.load(Ordering::Relaxed)
    }

    /// Ends the run, and waits for its threads: without the interpreter's lock, which they may need.
    pub(crate) fn end(&self) {
        self.ending.store(true, Ordering::Relaxed);
        if !self.owner.is_here() {
            return;
        }
        let waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(waiting);
    }
}

impl Drop for OpenRun {
    fn drop(&mut self) {
        let mut waiting = self.waiting.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        if waiting.is_none() {
            return;
        }
        // In another process there are no threads to wait for. Here they may need the interpreter's lock to end, which
        // this thread may hold; at the interpreter's end nobody can get it any more.
        let ended = self.owner.is_here() && Python::try_attach(|py| py.detach(|| drop(waiting.take()))).is_some();
        if !ended {
            std::mem::forget(waiting);
        }
    }
}

/// A run: the batches of one or more epochs.
#[pyclass(frozen, module = "gpufeed")]
pub(crate) struct Run {
    run: Arc<OpenRun>,
    num_classes: Option<usize>,
}

#[pymethods]
impl Run {
    /// The next batch, or None after the last one.
    fn next(&self, py: Python<'_>) -> PyResult<Option<Batch>> {
        self.run.owner.check(py)?;
        let (item, state) = loop {
            match guard(py, || Ok(py.detach(|| self.run.with(|waiting| waiting.poll(ROUND)))))? {
                None if self.run.finished.load(Ordering::Relaxed) => return Ok(None),
                None => {
                    let text = "this run has ended: the loader was closed, or another iteration began";
                    return Err(errors::raise(py, "RunError", "Closed", text));
                }
                Some(None) => py.check_signals()?,
                Some(Some(item)) => break item,
            }
        };
        let Some(batch) = item else {
            self.run.finished.store(true, Ordering::Relaxed);
            py.detach(|| self.run.end());
            return Ok(None);
        };
        let batch = batch.map_err(|error| errors::to_python(py, &error))?;
        guard(py, || Batch::new(py, batch, state, self.num_classes)).map(Some)
    }

    /// True if `next` would not wait: a batch, an error or the end is there.
    fn ready(&self, py: Python<'_>) -> PyResult<bool> {
        self.run.owner.check(py)?;
        let look = |waiting: &mut Waiting| {
            waiting.found = waiting.poll(Duration::ZERO);
            waiting.found.is_some()
        };
        guard(py, || Ok(py.detach(|| self.run.with(look).unwrap_or(true))))
    }

    /// Batches that are left; 0 after the end.
    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        self.run.owner.check(py)?;
        let left =
            |waiting: &mut Waiting| waiting.epochs.len() + usize::from(matches!(waiting.found, Some((Some(Ok(_)), _))));
        Ok(py.detach(|| self.run.with(left).unwrap_or(0)))
    }

    /// Ends the run and waits for its threads. Ctrl-C ends the wait; the threads then end by themselves.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        if !self.run.owner.is_here() {
            return Ok(());
        }
        let (ended, end) = mpsc::channel::<()>();
        let run = Arc::clone(&self.run);
        self.run.ending.store(true, Ordering::Relaxed);
        let started = std::thread::Builder::new().name("gpufeed-end".to_owned()).spawn(move || {
            run.end();
            drop(ended);
        });
        let Ok(thread) = started else {
            py.detach(|| self.run.end());
            return Ok(());
        };
        // A closed channel is the end.
        let end = Mutex::new(end);
        let waits = || {
            let end = end.lock().unwrap_or_else(PoisonError::into_inner);
            matches!(end.recv_timeout(ROUND), Err(mpsc::RecvTimeoutError::Timeout))
        };
        while py.detach(waits) {
            py.check_signals()?;
        }
        // It has nothing left to do.
        let _ = py.detach(|| thread.join());
        Ok(())
    }
}
