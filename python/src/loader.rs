//! The native loader: its settings, its states, and the runs that it starts.

use crate::batch::state_text;
use crate::dataset::Dataset;
use crate::errors;
use crate::external::{self, Facts, Handles};
use crate::orders;
use crate::own_code::{Costs, OwnCode};
use crate::process::{Owner, guard};
use crate::run::{Run, WatchedCosts, WatchedWaits, refuse_inside};
use crate::settings;
use crate::stats;
use crate::turns::Waits;
use crate::warnings::warn_of_library;
use gpufeed::internals::given_orders;
use gpufeed::transforms::HostCode;
use gpufeed::{Backend, DataLoader, Epochs, HostBufferHook, State};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use pyo3::{PyTraverseError, PyVisit};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// A loader: a data set, a recipe and settings.
#[pyclass(frozen, module = "gpufeed")]
pub(crate) struct Loader {
    /// `None` once the garbage collector has cleared it.
    loader: Mutex<Option<Arc<DataLoader>>>,
    dataset: Py<Dataset>,
    buffers: Arc<Buffers>,
    num_classes: Option<usize>,
    /// Why the adapter, or the CPU, is the one that augments; `None` for the backend `cpu`.
    chosen: Option<String>,
    /// True if the memory of the batches can be handed over to another API.
    exports: bool,
    exit_timeout: Duration,
    /// True once the warning that workers wait for each other was given.
    warned: Arc<AtomicBool>,
    /// The user's own code in the lists; empty once the garbage collector has cleared it.
    codes: Mutex<Vec<(Arc<OwnCode>, HostCode)>>,
    /// True once the warning of what the code costs was given.
    warned_of_code: Arc<AtomicBool>,
    owner: Owner,
}

/// The host buffers that exist. A device's runtime page-locks them.
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
        let turns = self.dataset.get().turns();
        refuse_inside(turns)?;
        guard(py, || {
            let epochs = py.detach(|| start(&loader)).map_err(|error| errors::to_python(py, &error))?;
            let (workers, epoch) = (loader.stats().workers, epochs.state().epoch());
            let waits = turns.filter(|turns| turns.takes_turns() && !self.warned.load(Ordering::Relaxed));
            let waits = waits.map(|turns| WatchedWaits {
                waits: Waits::new(Arc::clone(turns), workers, epoch),
                warned: Arc::clone(&self.warned),
            });
            let codes = self.codes.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let calls_code = !codes.is_empty();
            let costs = (calls_code && !self.warned_of_code.load(Ordering::Relaxed)).then(|| WatchedCosts {
                costs: Costs::new(codes, workers, epoch),
                warned: Arc::clone(&self.warned_of_code),
            });
            let batches = (self.num_classes, self.exports);
            Ok(Run::new(epochs, turns.cloned(), (waits, costs), calls_code, self.exit_timeout, batches))
        })
    }
}

#[pymethods]
impl Loader {
    /// Makes a loader of `dataset` with a recipe and the fields of `LoaderSettings`, both as JSON. Closing a run waits
    /// `exit_timeout` seconds for threads that are inside a data set in Python. `num_classes` is the number of classes
    /// of soft labels. `groups` are the groups of views as JSON; with them `recipe` has no transforms. `order`, as JSON, is in
    /// the place of the settings' order. `codes` is the user's own code, which the lists have by its numbers. `export` puts
    /// the batches of a GPU into memory that another API can import.
    #[new]
    #[pyo3(signature = (dataset, recipe, settings, backend, exit_timeout, num_classes=None, groups=None, order=None, codes=Vec::new(), export=false))]
    #[expect(clippy::too_many_arguments, reason = "Python calls it with names")]
    fn new(
        py: Python<'_>,
        dataset: Py<Dataset>,
        recipe: &str,
        settings: &str,
        backend: &str,
        exit_timeout: f64,
        num_classes: Option<usize>,
        groups: Option<&str>,
        order: Option<&str>,
        codes: Vec<Bound<'_, PyAny>>,
        export: bool,
    ) -> PyResult<Loader> {
        guard(py, || {
            let buffers = Arc::new(Buffers::default());
            let data = dataset.get().dataset()?;
            // More than a century counts as a century, because `Duration` has a limit.
            let exit_timeout = Duration::from_secs_f64(exit_timeout.clamp(0.0, 4e9));
            if let Some(turns) = dataset.get().turns() {
                turns.set_patience(exit_timeout);
            }
            let hook = Arc::clone(&buffers) as Arc<dyn HostBufferHook>;
            let own = |code: Bound<'_, PyAny>| OwnCode::new(code, exit_timeout).map(Arc::new);
            let codes: Vec<_> = codes.into_iter().map(own).collect::<PyResult<_>>()?;
            let codes: Vec<_> = codes.into_iter().map(|code| (Arc::clone(&code), code.transform())).collect();
            let transforms: Vec<HostCode> = codes.iter().map(|(_, transform)| transform.clone()).collect();
            let loader = py.detach(|| {
                settings::build(data, (recipe, groups, &transforms), order, settings, (backend, export), hook)
            });
            let (loader, chosen) = loader.map_err(|error| errors::to_python(py, &error))?;
            warn_of_library(py)?;
            let loader = Mutex::new(Some(Arc::new(loader)));
            let (warned, warned_of_code, owner) = (Arc::default(), Arc::default(), Owner::this());
            let codes = Mutex::new(codes);
            Ok(Loader {
                loader,
                dataset,
                buffers,
                num_classes,
                chosen,
                exports: export,
                exit_timeout,
                warned,
                codes,
                warned_of_code,
                owner,
            })
        })
    }

    /// Starts a run of the epochs from `first` up to but excluding `end`.
    fn epochs(&self, py: Python<'_>, first: u64, end: u64) -> PyResult<Run> {
        self.run(py, |loader| loader.epochs(first..end))
    }

    /// Starts a run from a state up to but excluding epoch `end`.
    fn resume(&self, py: Python<'_>, state: &str, end: u64) -> PyResult<Run> {
        let state = read_state(py, state)?;
        self.run(py, |loader| loader.resume_until(&state, end))
    }

    /// Returns the epoch and the batch at which a state continues. Raises an error if the state does not fit this
    /// loader.
    fn place(&self, py: Python<'_>, state: &str) -> PyResult<(u64, u64)> {
        let state = read_state(py, state)?;
        let batch = self.loader(py)?.sampler().batch_of(&state).map_err(|error| errors::to_python(py, &error))?;
        Ok((state.epoch(), batch))
    }

    /// Returns the state as JSON. A loader that loads it continues with batch `batch` of epoch `epoch`.
    fn state(&self, py: Python<'_>, epoch: u64, batch: u64) -> PyResult<String> {
        state_text(&self.loader(py)?.sampler().state(epoch, batch))
    }

    /// Gives the indices of an epoch to a loader whose order is given epoch by epoch.
    fn give_samples(&self, py: Python<'_>, epoch: u64, indices: Vec<usize>) -> PyResult<()> {
        let loader = self.loader(py)?;
        let given = py.detach(|| given_orders::give_samples(&loader, epoch, indices));
        given.map_err(|error| errors::to_python(py, &error))
    }

    /// Gives the batches of an epoch, each as its indices.
    fn give_batches(&self, py: Python<'_>, epoch: u64, batches: Vec<Vec<usize>>) -> PyResult<()> {
        let loader = self.loader(py)?;
        let given = py.detach(|| given_orders::give_batches(&loader, epoch, batches));
        given.map_err(|error| errors::to_python(py, &error))
    }

    /// Gives the epoch of a blend of data sets of these lengths. `weights` are those of all epochs up to this one.
    fn give_blend(
        &self,
        py: Python<'_>,
        epoch: u64,
        lengths: Vec<usize>,
        weights: Vec<Vec<f64>>,
        samples_per_epoch: usize,
    ) -> PyResult<()> {
        let loader = self.loader(py)?;
        let given = py.detach(|| orders::give_blend(&loader, epoch, &lengths, weights, samples_per_epoch));
        given.map_err(|error| errors::to_python(py, &error))
    }

    /// Returns True if the order of the epoch has been given, or needs not be.
    fn knows(&self, py: Python<'_>, epoch: u64) -> PyResult<bool> {
        Ok(given_orders::knows(&*self.loader(py)?, epoch))
    }

    /// Makes one image again from its parameters as JSON. Returns its bytes in the layout and type of the batches.
    /// `group` names the group of views; None is the first.
    #[pyo3(signature = (index, params, group=None))]
    fn replay<'py>(
        &self,
        py: Python<'py>,
        index: usize,
        params: &str,
        group: Option<&str>,
    ) -> PyResult<Bound<'py, pyo3::types::PyBytes>> {
        let loader = self.loader(py)?;
        let params = serde_json::from_str(params)
            .map_err(|error| errors::raise(py, "ArgumentError", "Argument", &format!("params: {error}")))?;
        let made = || match group {
            Some(group) => loader.replay_in(group, index, &params),
            None => loader.replay(index, &params),
        };
        let image = guard(py, || py.detach(made).map_err(|error| errors::to_python(py, &error)))?;
        Ok(pyo3::types::PyBytes::new(py, &image))
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.loader(py)?.len())
    }

    /// Describes the plan, the executor, the batches and the memory in words.
    fn explain(&self, py: Python<'_>) -> PyResult<String> {
        Ok(self.loader(py)?.explain())
    }

    /// Returns the adapter, or the CPU; why it is this one, which is None for the backend `cpu`; and True for an adapter.
    fn backend(&self, py: Python<'_>) -> PyResult<(String, Option<String>, bool)> {
        let loader = self.loader(py)?;
        let backend = loader.backend();
        Ok((backend.to_string(), self.chosen.clone(), matches!(backend, Backend::Gpu(_))))
    }

    /// Returns the UUID of the adapter, as Vulkan has it; None for the CPU and for other APIs.
    fn uuid(&self, py: Python<'_>) -> PyResult<Option<String>> {
        match self.loader(py)?.backend() {
            Backend::Gpu(gpu) => Ok(gpu.identity().uuid.clone()),
            _ => Ok(None),
        }
    }

    /// Returns facts and handles of a small buffer of the adapter, to see whether another API can import it.
    fn trial(&self, py: Python<'_>) -> PyResult<(Facts, Handles)> {
        match self.loader(py)?.backend() {
            Backend::Gpu(gpu) => external::trial(py, gpu),
            _ => Err(errors::raise(
                py,
                "ArgumentError",
                "Argument",
                "backend: the CPU, whose batches are in host memory",
            )),
        }
    }

    /// Returns the settings in force, as JSON.
    fn settings(&self, py: Python<'_>) -> PyResult<String> {
        let settings = serde_json::to_string(self.loader(py)?.settings());
        settings.map_err(|error| errors::raise(py, "ArgumentError", "Argument", &format!("settings: {error}")))
    }

    /// Returns the recipe as TOML.
    fn recipe(&self, py: Python<'_>) -> PyResult<String> {
        self.loader(py)?.recipe().to_toml().map_err(|error| errors::to_python(py, &error))
    }

    /// Returns the name and the recipe of each group, as TOML; one, `image`, for a loader without groups.
    fn recipes(&self, py: Python<'_>) -> PyResult<Vec<(String, String)>> {
        let loader = self.loader(py)?;
        let toml = |(name, recipe): (&str, &gpufeed::Recipe)| recipe.to_toml().map(|toml| (name.to_owned(), toml));
        loader.recipes().map(toml).collect::<Result<_, _>>().map_err(|error| errors::to_python(py, &error))
    }

    /// Returns the statistics since the loader was made.
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        stats::to_python(py, &self.loader(py)?.stats())
    }

    /// Returns the number of samples in the cache, and their bytes.
    fn cached(&self, py: Python<'_>) -> PyResult<(u64, u64)> {
        Ok(self.loader(py)?.cached())
    }

    /// Returns the bytes of one run's output buffers and slots.
    fn memory(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.loader(py)?.memory())
    }

    /// Returns the host buffers that were made (True) and freed (False) since the last call, each with its address and
    /// its bytes.
    fn buffer_events(&self) -> Vec<(bool, usize, usize)> {
        std::mem::take(&mut *self.buffers.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The data set.
    #[getter]
    fn dataset(&self, py: Python<'_>) -> Py<Dataset> {
        self.dataset.clone_ref(py)
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        // Each piece holds its object once, and is held by this loader alone, or by a run of it.
        for (code, _) in self.codes.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            visit.call(code.object())?;
        }
        visit.call(&self.dataset)
    }

    fn __clear__(&self) {
        let loader = self.loader.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(loader);
        let codes = std::mem::take(&mut *self.codes.lock().unwrap_or_else(PoisonError::into_inner));
        drop(codes);
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
