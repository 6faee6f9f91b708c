//! Data sets: those in gpufeed's formats, and objects in Python.

mod detection;
pub(crate) mod item;
mod known;
mod made_from;
pub(crate) mod packed;
pub(crate) mod rest;

use crate::errors;
use crate::opening::Opening;
use crate::process::guard;
use crate::python_dataset::{PythonDataset, REST, Reads};
use crate::turns::Turns;
use crate::warnings::warn_of_library;
use detection::{Columns, Detection};
use gpufeed::dataset::{Concat, Field, FieldKind, Opened, SplitPart};
use gpufeed::storage::Location;
use gpufeed::{Arrays, ImageList, Label};
use known::KnownLists;
use made_from::{Adaptor, MadeFrom};
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use pyo3::{PyTraverseError, PyVisit};
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

/// A data set: `gpufeed.open(path)`, or an object in Python.
#[pyclass(frozen, module = "gpufeed")]
pub(crate) struct Dataset {
    /// `None` once the garbage collector has cleared the data set.
    data: Mutex<Option<Data>>,
    /// The test split that the path has, such as MNIST's; None without one.
    #[pyo3(get)]
    test: Option<Py<Dataset>>,
    /// The lists that were asked for.
    known: KnownLists,
    /// How this data set was made, so that its pickle can make it again.
    made_from: MadeFrom,
    /// The turns of its reads, if an object in Python is at the bottom.
    turns: Option<Arc<Turns>>,
    /// The path, an address without its credentials, or the object's class, and what was made of it.
    #[pyo3(get)]
    description: String,
}

#[derive(Clone)]
enum Data {
    Native(Arc<dyn gpufeed::Dataset>),
    Python(Arc<PythonDataset>),
}

impl Data {
    fn dataset(&self) -> Arc<dyn gpufeed::Dataset> {
        match self {
            Data::Native(data) => Arc::clone(data),
            Data::Python(data) => Arc::clone(data) as Arc<dyn gpufeed::Dataset>,
        }
    }
}

impl Dataset {
    fn data(&self) -> PyResult<Data> {
        let data = self.data.lock().unwrap_or_else(PoisonError::into_inner).clone();
        data.ok_or_else(|| pyo3::exceptions::PyRuntimeError::new_err("this data set has been collected"))
    }

    /// Returns the data set for a loader.
    pub(crate) fn dataset(&self) -> PyResult<Arc<dyn gpufeed::Dataset>> {
        self.data().map(|data| data.dataset())
    }

    /// Returns the turns of its reads; `None` for a data set without an object in Python.
    pub(crate) fn turns(&self) -> Option<&Arc<Turns>> {
        self.turns.as_ref()
    }

    /// Makes a data set of another one. It holds the other one, so that the garbage collector finds an object in Python
    /// there.
    fn adapted<D: gpufeed::Dataset + 'static>(
        of: &Bound<'_, Self>,
        how: String,
        by: Adaptor,
        make: impl FnOnce(Arc<dyn gpufeed::Dataset>) -> gpufeed::Result<D>,
    ) -> PyResult<Dataset> {
        let (py, this) = (of.py(), of.get());
        let made = make(this.dataset()?).map_err(|error| errors::to_python(py, &error))?;
        let description = format!("{}, {how}", this.description);
        let made_from = MadeFrom::Adapted { of: of.clone().unbind(), by };
        let (data, turns) = (Mutex::new(Some(Data::Native(Arc::new(made)))), this.turns.clone());
        Ok(Dataset { data, test: None, known: KnownLists::default(), made_from, turns, description })
    }

    /// Takes the data set that was made of what an object of torchvision or timm stands on.
    fn of_torchvision<D: gpufeed::Dataset + 'static>(
        of: &Bound<'_, PyAny>,
        made: gpufeed::Result<D>,
        named: bool,
    ) -> PyResult<Dataset> {
        let made = made.map_err(|error| errors::to_python(of.py(), &error))?;
        let kind = of.get_type();
        // timm's data sets are no subclasses of torchvision's.
        let of_timm = kind
            .mro()
            .iter()
            .any(|each| each.getattr("__module__").is_ok_and(|name| name.to_string().starts_with("timm.")));
        let description = format!("{}'s {}", if of_timm { "timm" } else { "torchvision" }, kind.name()?);
        let data = Mutex::new(Some(Data::Native(Arc::new(made))));
        let made_from = MadeFrom::OfTorchvision { object: of.clone().unbind(), named };
        Ok(Dataset { data, test: None, known: KnownLists::default(), made_from, turns: None, description })
    }

    /// Makes a data set of a path's split.
    fn native(data: Box<dyn gpufeed::Dataset>, opening: Opening, test: Option<Py<Dataset>>, of_test: bool) -> Dataset {
        let split = if of_test { ", the test split" } else { "" };
        let description = format!("{}{split}", Location::from(&opening.path));
        let made_from = MadeFrom::Opened { opening, test: of_test };
        let (data, known) = (Mutex::new(Some(Data::Native(Arc::from(data)))), KnownLists::default());
        Dataset { data, test, known, made_from, turns: None, description }
    }
}

#[pymethods]
impl Dataset {
    /// Opens the data set at a path, in any of gpufeed's formats. `keywords` are those of its format, as JSON.
    #[staticmethod]
    #[pyo3(signature = (path, keywords="{}"))]
    fn open(py: Python<'_>, path: PathBuf, keywords: &str) -> PyResult<Dataset> {
        guard(py, || {
            let opening = Opening { path, keywords: keywords.to_owned() };
            let opened = py.detach(|| opening.open());
            let Opened { train, test, .. } = opened.map_err(|error| errors::to_python(py, &error))?;
            warn_of_library(py)?;
            let test = test.map(|test| Py::new(py, Dataset::native(test, opening.clone(), None, true)));
            Ok(Dataset::native(train, opening, test.transpose()?, false))
        })
    }

    /// Wraps an object that has `__len__`, and `__getitem__` or `__getitems__`. `item` converts what the object returns
    /// to `(bytes, form, label, rest, images, objects)`. `form` is `None` for an encoded image, else `(width, height, format)`; `rest` is
    /// `None`, or the pickle of what `gpufeed/collate.py` collates. An `item` with the attribute `chosen` chooses fields;
    /// `images` are the names of those that are images, of which it returns bytes and form of each. With `objects`, the name of a
    /// field, `item` returns the objects of the image, too, or `None`. `parts` are
    /// all objects that a read may call, this one included. True means that one thread at a time may call it.
    /// `thread_safe` is what the user said about this, or `None`.
    #[staticmethod]
    #[pyo3(signature = (object, item, channels, classes, parts, thread_safe=None, images=Vec::new(), objects=None))]
    #[expect(clippy::too_many_arguments, reason = "Python calls it with names")]
    fn wrap(
        py: Python<'_>,
        object: Py<PyAny>,
        item: Py<PyAny>,
        channels: u32,
        classes: Vec<String>,
        parts: Vec<(Py<PyAny>, bool)>,
        thread_safe: Option<bool>,
        images: Vec<String>,
        objects: Option<String>,
    ) -> PyResult<Dataset> {
        let of = object.bind(py);
        let description = format!("{} of Python", of.get_type().name()?);
        let len = of.len()?;
        // As in torch, a class without `__getitems__` may have None in its place.
        let several = of.hasattr("__getitems__")? && of.getattr("__getitems__")?.is_truthy()?;
        let has = Reads { single: of.hasattr("__getitem__")?, several };
        let turns = Arc::new(Turns::new(&parts));
        let of_data = Arc::clone(&turns);
        let (warned, usable) = (AtomicBool::new(false), AtomicBool::new(false));
        let rest = Field::new(REST).kind(FieldKind::Bytes).optional();
        let images = images.into_iter().map(|name| Field::new(name).kind(FieldKind::Image).optional());
        let objects = objects.map(|name| Field::new(name).kind(FieldKind::Objects).optional());
        let has_objects = objects.is_some();
        let fields = std::iter::once(rest).chain(objects).chain(images).collect();
        let plain = !has_objects && !item.bind(py).hasattr("chosen")?;
        let data = PythonDataset {
            object,
            item,
            len,
            has,
            channels,
            classes,
            parts,
            thread_safe,
            turns: of_data,
            warned,
            usable,
            raised: Mutex::default(),
            plain,
            has_objects,
            fields,
        };
        let data = Mutex::new(Some(Data::Python(Arc::new(data))));
        let (known, made_from) = (KnownLists::default(), MadeFrom::Wrapped);
        Ok(Dataset { data, test: None, known, made_from, turns: Some(turns), description })
    }

    /// Makes a data set of files, relative to `root` or absolute, with their classes. `of` is the object of torchvision that
    /// has them, from which a pickle makes the data set again.
    #[staticmethod]
    fn files(
        of: &Bound<'_, PyAny>,
        root: PathBuf,
        samples: Vec<(PathBuf, u32)>,
        classes: Vec<String>,
        named: bool,
    ) -> PyResult<Dataset> {
        let samples = samples.into_iter().map(|(path, class)| (path, Label::Class(class)));
        let made = of.py().detach(|| ImageList::from_samples(root, samples, classes));
        Dataset::of_torchvision(of, made, named)
    }

    /// Makes a data set of images of one size in one array of bytes, whose `shape` is images, height, width and channels, with
    /// their classes. `of` is the object of torchvision that has them, from which a pickle makes the data set again.
    #[staticmethod]
    fn array(
        of: &Bound<'_, PyAny>,
        shape: [usize; 4],
        values: &[u8],
        labels: Vec<u32>,
        classes: Vec<String>,
        named: bool,
    ) -> PyResult<Dataset> {
        let made = Arrays::nhwc(shape, values.to_vec()).map(|arrays| arrays.with_classes(classes));
        let made = made.and_then(|arrays| arrays.with_labels(labels));
        Dataset::of_torchvision(of, made, named)
    }

    /// Makes a data set of files, relative to `root` or absolute, with the id of each, and the objects of all. `of` is the object of
    /// torchvision that has them, from which a pickle makes the data set again.
    #[staticmethod]
    fn detection(
        of: &Bound<'_, PyAny>,
        files: (PathBuf, Vec<PathBuf>),
        ids: Vec<u64>,
        objects: Columns<'_>,
        classes: Vec<String>,
        named: bool,
    ) -> PyResult<Dataset> {
        Dataset::of_torchvision(of, Detection::new(files, ids, objects, classes), named)
    }

    /// Returns a data set that has all samples `times` times.
    fn repeat(slf: Bound<'_, Self>, times: usize) -> PyResult<Dataset> {
        let by = Adaptor::Repeat(times);
        Dataset::adapted(&slf, format!("{times} times"), by, |data| gpufeed::Dataset::repeat(data, times))
    }

    /// Returns a data set of the samples at `indices`, in that order. An index may come several times.
    fn subset(slf: Bound<'_, Self>, indices: Vec<usize>) -> PyResult<Dataset> {
        let by = Adaptor::Subset(indices.clone());
        Dataset::adapted(&slf, format!("{} samples", indices.len()), by, |data| gpufeed::Dataset::subset(data, indices))
    }

    /// Returns a data set with one weight for each sample. An epoch then chooses samples by weight, with replacement.
    fn with_weights(slf: Bound<'_, Self>, weights: Vec<f64>) -> PyResult<Dataset> {
        let by = Adaptor::Weights(weights.clone());
        Dataset::adapted(&slf, "by weight".to_owned(), by, |data| gpufeed::Dataset::with_weights(data, weights))
    }

    /// Returns a data set of the samples of this one, and then those of the others.
    #[pyo3(signature = (*others))]
    fn concat(slf: Bound<'_, Self>, others: Vec<Py<Dataset>>) -> PyResult<Dataset> {
        let py = slf.py();
        let all = || std::iter::once(slf.get()).chain(others.iter().map(Py::get));
        let mut turns = all().filter_map(|data| data.turns.clone());
        let (own, further) = (turns.next(), turns.next());
        if further.is_some() {
            let reason =
                "concat: two objects of Python; torch's ConcatDataset joins them, and is an object that a loader takes";
            return Err(PyValueError::new_err(reason));
        }
        let parts = rest::alike(all().map(Dataset::dataset).collect::<PyResult<_>>()?);
        let parts: Vec<_> = parts.into_iter().map(|data| Box::new(data) as Box<dyn gpufeed::Dataset>).collect();
        let made = Concat::new(parts).map_err(|error| errors::to_python(py, &error))?;
        let description = all().map(|data| &*data.description).collect::<Vec<_>>().join(" and ");
        let data = Mutex::new(Some(Data::Native(Arc::new(made))));
        let made_from = MadeFrom::Adapted { of: slf.clone().unbind(), by: Adaptor::Concat(others) };
        Ok(Dataset { data, test: None, known: KnownLists::default(), made_from, turns: own, description })
    }

    fn __add__(slf: Bound<'_, Self>, other: Py<Dataset>) -> PyResult<Dataset> {
        Dataset::concat(slf, vec![other])
    }

    /// Returns two data sets, in this one's order: a random `fraction` of the samples, and the others. They depend on
    /// `seed`, `fraction` and the number of samples alone.
    #[pyo3(signature = (fraction, seed=0))]
    fn split(slf: Bound<'_, Self>, fraction: f64, seed: u64) -> PyResult<(Dataset, Dataset)> {
        let parts = gpufeed::Dataset::split(slf.get().dataset()?, fraction, seed);
        let (first, second) = parts.map_err(|error| errors::to_python(slf.py(), &error))?;
        let of = |part: &SplitPart<_>| Dataset::subset(slf.clone(), part.indices().to_vec());
        Ok((of(&first)?, of(&second)?))
    }

    fn __len__(&self) -> PyResult<usize> {
        Ok(self.dataset()?.len())
    }

    /// Returns sample `index` and its label. The sample is the bytes of its file, or its pixels as an array of rows,
    /// columns and channels.
    fn __getitem__<'py>(&self, py: Python<'py>, index: isize) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        let data = self.dataset()?;
        let len = data.len();
        let at = if index < 0 { index + len as isize } else { index };
        let Some(at) = usize::try_from(at).ok().filter(|at| *at < len) else {
            return Err(PyIndexError::new_err(format!("sample {index} of a data set of {len}")));
        };
        guard(py, || item::read(py, &data, at))
    }

    /// Returns the name of sample `index` that reports show.
    fn name(&self, index: usize) -> PyResult<String> {
        Ok(self.dataset()?.name(index))
    }

    /// Returns the id of sample `index`. The sample's random numbers depend on it.
    fn id(&self, index: usize) -> PyResult<u64> {
        Ok(self.dataset()?.id(index))
    }

    /// The names of the classes; empty where the data set has none.
    #[getter]
    fn classes(&self) -> PyResult<Vec<String>> {
        Ok(self.dataset()?.classes().to_vec())
    }

    /// The names of the fields that samples have beside image and label.
    #[getter]
    fn fields(&self) -> PyResult<Vec<String>> {
        let names = |field: &Field| (field.name() != REST).then(|| field.name().to_owned());
        Ok(self.dataset()?.fields().iter().filter_map(names).collect())
    }

    /// The number of each class by its name; empty where the data set has no names.
    #[getter]
    fn class_to_idx<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        known::class_to_idx(py, &self.dataset()?)
    }

    /// The label of each sample, one list for all accesses. An AttributeError where it is known only by reading the sample.
    #[getter]
    fn targets<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.known.targets(py, || self.dataset())
    }

    /// The path and the label of each sample. An AttributeError where samples are not files of their own.
    #[getter]
    fn samples<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.known.samples(py, || self.dataset())
    }

    /// ``samples`` under the second name that torchvision's ``ImageFolder`` has for it.
    #[getter]
    fn imgs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.known.samples(py, || self.dataset())
    }

    /// The channels of the images, 1 or 3. With 1 all images are gray, and stay in one channel. An object in Python says it
    /// by its attribute `channels`; 3 without one.
    #[getter]
    fn channels(&self) -> PyResult<u32> {
        Ok(self.dataset()?.channels())
    }

    /// True if an epoch draws its samples by weight.
    #[getter]
    fn has_weights(&self) -> PyResult<bool> {
        Ok(self.dataset()?.weights().is_some())
    }

    /// Facts that the data set noticed when it was opened: the kind of its labels, and the files and columns that it does
    /// not read.
    #[getter]
    fn notices(&self) -> PyResult<Vec<String>> {
        Ok(self.dataset()?.notices().iter().map(ToString::to_string).collect())
    }

    /// The notices of which a loader warns.
    #[getter]
    fn warnings(&self) -> PyResult<Vec<String>> {
        let notices = self.dataset()?.notices();
        Ok(notices.iter().filter(|notice| notice.is_warning()).map(ToString::to_string).collect())
    }

    fn __repr__(&self) -> PyResult<String> {
        Ok(format!("gpufeed.Dataset({}, {} samples)", self.description, self.dataset()?.len()))
    }

    /// A pickle holds how the data set was made, never its samples. An address in it has its credentials.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        match (&self.made_from, self.data()?) {
            (MadeFrom::Opened { opening, test }, _) => opening.again(py, *test),
            (MadeFrom::Adapted { of, by }, _) => by.again(py, of),
            (MadeFrom::OfTorchvision { object, named }, _) => made_from::of_torchvision(py, object, *named),
            (MadeFrom::Wrapped, Data::Python(data)) => data.again(py),
            (MadeFrom::Wrapped, Data::Native(_)) => unreachable!("what is wrapped is an object in Python"),
        }
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        // Does not wait for a lock that another thread holds: the collector comes again.
        if let Ok(data) = self.data.try_lock()
            && let Some(Data::Python(data)) = &*data
        {
            visit.call(&data.object)?;
            visit.call(&data.item)?;
            for (part, _) in &data.parts {
                visit.call(part)?;
            }
        }
        visit.call(&self.test)?;
        self.known.traverse(&visit)?;
        self.made_from.traverse(&visit)
    }

    fn __clear__(&self) {
        let data = self.data.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(data);
    }
}

/// Returns a path as it may be shown: an address loses its credentials.
#[pyfunction]
pub(crate) fn shown(path: PathBuf) -> OsString {
    Location::from(path).shown().into_os_string()
}
