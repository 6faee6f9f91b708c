//! Data sets: those of gpufeed's formats, and objects in Python.

use crate::dlpack::{Array, Element};
use crate::errors;
use crate::process::guard;
use gpufeed::dataset::{Format, Opened, Parquet, RemoteOptions};
use gpufeed::{Error, ErrorKind, Label, PixelFormat, Pixels, Sample, SampleData};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};
use pyo3::{PyTraverseError, PyVisit};
use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// The most samples that a data set in Python is asked for at once.
const JOB_SAMPLES: usize = 64;

/// A data set: `gpufeed.open(path)`, or an object in Python.
#[pyclass(frozen, module = "gpufeed")]
pub(crate) struct Dataset {
    /// `None` once the garbage collector has cleared it.
    data: Mutex<Option<Data>>,
    /// The test split that the path has, such as MNIST's; None without one.
    #[pyo3(get)]
    test: Option<Py<Dataset>>,
    /// The data set of which this one is a part, or a repetition.
    origin: Option<Py<Dataset>>,
    /// The path, or the object's class, and what was made of it.
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

    /// The data set for a loader.
    pub(crate) fn dataset(&self) -> PyResult<Arc<dyn gpufeed::Dataset>> {
        self.data().map(|data| data.dataset())
    }

    /// A data set made of another one, which it keeps: the collector finds an object in Python there.
    fn adapted<D: gpufeed::Dataset + 'static>(
        of: &Bound<'_, Self>,
        how: String,
        make: impl FnOnce(Arc<dyn gpufeed::Dataset>) -> gpufeed::Result<D>,
    ) -> PyResult<Dataset> {
        let (py, this) = (of.py(), of.get());
        let made = make(this.dataset()?).map_err(|error| errors::to_python(py, &error))?;
        let description = format!("{}, {how}", this.description);
        let origin = Some(of.clone().unbind());
        Ok(Dataset { data: Mutex::new(Some(Data::Native(Arc::new(made)))), test: None, origin, description })
    }

    fn native(data: Box<dyn gpufeed::Dataset>, test: Option<Py<Dataset>>, description: String) -> Dataset {
        Dataset { data: Mutex::new(Some(Data::Native(Arc::from(data)))), test, origin: None, description }
    }
}

#[pymethods]
impl Dataset {
    /// Opens the data set at a path, in any of gpufeed's formats; one from afar with a cache on disk, a folder and its bytes;
    /// tar shards and Parquet files with a JSON of the samples that each file has.
    #[staticmethod]
    #[pyo3(signature = (path, remote_cache=None, counts=None))]
    fn open(
        py: Python<'_>,
        path: PathBuf,
        remote_cache: Option<(PathBuf, u64)>,
        counts: Option<PathBuf>,
    ) -> PyResult<Dataset> {
        guard(py, || {
            let options = RemoteOptions::new();
            let options = match remote_cache {
                Some((folder, bytes)) => options.cache(folder, bytes),
                None => options,
            };
            let opened = match counts {
                None => py.detach(|| gpufeed::dataset::open_with(&path, options)),
                Some(counts) => {
                    let opened = py.detach(|| open_counted(&path, options, counts));
                    opened.ok_or_else(|| {
                        let text = "counts: only tar shards and Parquet files have them; leave it out for other data";
                        errors::raise(py, "ArgumentError", "Argument", text)
                    })?
                }
            };
            let Opened { train, test, .. } = opened.map_err(|error| errors::to_python(py, &error))?;
            let description = path.display().to_string();
            let test =
                test.map(|test| Py::new(py, Dataset::native(test, None, format!("{description}, the test split"))));
            Ok(Dataset::native(train, test.transpose()?, description))
        })
    }

    /// Wraps an object with `__len__` and `__getitem__`, or `__getitems__`. `item` makes `(bytes, form, label)` of what
    /// these return; form is `None` for an encoded image, else `(width, height, format)`.
    #[staticmethod]
    fn wrap(
        py: Python<'_>,
        object: Py<PyAny>,
        item: Py<PyAny>,
        channels: u32,
        classes: Vec<String>,
    ) -> PyResult<Dataset> {
        let description = format!("{} of Python", object.bind(py).get_type().name()?);
        let len = object.bind(py).len()?;
        let batched = object.bind(py).hasattr("__getitems__")?;
        let data = PythonDataset { object, item, len, batched, channels, classes };
        Ok(Dataset { data: Mutex::new(Some(Data::Python(Arc::new(data)))), test: None, origin: None, description })
    }

    /// All samples `times` times: an epoch of that many epochs' length.
    fn repeat(slf: Bound<'_, Self>, times: usize) -> PyResult<Dataset> {
        Dataset::adapted(&slf, format!("{times} times"), |data| gpufeed::Dataset::repeat(data, times))
    }

    /// The samples at `indices`, in that order; an index may come several times.
    fn subset(slf: Bound<'_, Self>, indices: Vec<usize>) -> PyResult<Dataset> {
        Dataset::adapted(&slf, format!("{} samples", indices.len()), |data| gpufeed::Dataset::subset(data, indices))
    }

    /// With one weight for each sample: an epoch chooses samples by weight, with replacement.
    fn with_weights(slf: Bound<'_, Self>, weights: Vec<f64>) -> PyResult<Dataset> {
        Dataset::adapted(&slf, "by weight".to_owned(), |data| gpufeed::Dataset::with_weights(data, weights))
    }

    fn __len__(&self) -> PyResult<usize> {
        Ok(self.dataset()?.len())
    }

    /// Sample `index`: the bytes of its file, or its pixels as an array of rows, columns and channels, and its label.
    fn __getitem__<'py>(&self, py: Python<'py>, index: isize) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        let data = self.dataset()?;
        let len = data.len();
        let at = if index < 0 { index + len as isize } else { index };
        let Some(at) = usize::try_from(at).ok().filter(|at| *at < len) else {
            return Err(PyIndexError::new_err(format!("sample {index} of a data set of {len}")));
        };
        guard(py, || {
            let mut buffer = Vec::new();
            let sample = py.detach(|| data.read(at, &mut buffer)).map_err(|error| errors::to_python(py, &error))?;
            let image = match sample.data {
                SampleData::Encoded(bytes) => PyBytes::new(py, bytes).into_any(),
                SampleData::Pixels(pixels) => Py::new(py, array(&pixels))?.into_bound(py).into_any(),
            };
            Ok((image, label(py, &sample.label)?))
        })
    }

    /// The name of sample `index` in reports.
    fn name(&self, index: usize) -> PyResult<String> {
        Ok(self.dataset()?.name(index))
    }

    /// The id of sample `index`, which keys its random numbers.
    fn id(&self, index: usize) -> PyResult<u64> {
        Ok(self.dataset()?.id(index))
    }

    /// The names of the classes; empty where the data set has none.
    #[getter]
    fn classes(&self) -> PyResult<Vec<String>> {
        Ok(self.dataset()?.classes().to_vec())
    }

    /// The channels of its images: 1 or 3.
    #[getter]
    fn channels(&self) -> PyResult<u32> {
        Ok(self.dataset()?.channels())
    }

    fn __repr__(&self) -> PyResult<String> {
        Ok(format!("gpufeed.Dataset({}, {} samples)", self.description, self.dataset()?.len()))
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        // A lock that another thread holds is not waited for: the collector comes again.
        if let Ok(data) = self.data.try_lock()
            && let Some(Data::Python(data)) = &*data
        {
            visit.call(&data.object)?;
            visit.call(&data.item)?;
        }
        visit.call(&self.test)?;
        visit.call(&self.origin)
    }

    fn __clear__(&self) {
        let data = self.data.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(data);
    }
}

/// Opens tar shards or Parquet files with the numbers of their samples; `None` for another format.
fn open_counted(path: &Path, options: RemoteOptions, counts: PathBuf) -> Option<gpufeed::Result<Opened>> {
    let opened = match Format::detect(path) {
        Format::Tar => {
            let opened = gpufeed::TarShards::builder().remote(options).counts(counts).open(path);
            opened.map(|train| Opened { train: Box::new(train), test: None })
        }
        Format::Parquet => {
            let opened = Parquet::builder().remote(options).counts(counts).parts(path);
            opened.map(|(train, test)| Opened { train: Box::new(train), test: test.map(|test| Box::new(test) as _) })
        }
        _ => return None,
    };
    Some(opened)
}

/// Pixels as an array of rows, columns and channels.
fn array(pixels: &Pixels<'_>) -> Array {
    let (element, channels) = match pixels.format() {
        PixelFormat::F32 { channels } => (Element::F32, channels),
        PixelFormat::R8 => (Element::U8, 1),
        PixelFormat::Rgb8 => (Element::U8, 3),
        PixelFormat::Rgba8 => (Element::U8, 4),
    };
    let shape = vec![i64::from(pixels.height()), i64::from(pixels.width()), i64::from(channels)];
    Array::of_bytes(pixels.bytes(), shape, element)
}

/// A label as Python's: an int, a list of floats, or None.
fn label<'py>(py: Python<'py>, label: &Label) -> PyResult<Bound<'py, PyAny>> {
    match label {
        Label::None => Ok(py.None().into_bound(py)),
        Label::Class(class) => Ok(class.into_pyobject(py)?.into_any()),
        Label::Multi(values) => Ok(PyList::new(py, values.iter())?.into_any()),
    }
}

/// A data set in Python. Its workers' threads wait for the interpreter's lock to read.
struct PythonDataset {
    object: Py<PyAny>,
    /// Makes `(bytes, form, label)` of an item.
    item: Py<PyAny>,
    len: usize,
    /// True if the object has `__getitems__`.
    batched: bool,
    channels: u32,
    classes: Vec<String>,
}

/// A sample that was read, in memory of its own.
struct Owned {
    bytes: Vec<u8>,
    /// Width, height and format of pixels.
    form: Option<(u32, u32, PixelFormat)>,
    label: Label,
}

thread_local! {
    /// The samples of the job under way, which `begin_job` has read: data set, index, sample.
    static JOB: RefCell<Vec<(usize, usize, Owned)>> = const { RefCell::new(Vec::new()) };
}

fn foreign(error: PyErr) -> Error {
    ErrorKind::Foreign { source: Box::new(error) }.into()
}

impl PythonDataset {
    /// Its address, which tells it from others in a thread's memory.
    fn address(&self) -> usize {
        std::ptr::from_ref(self) as usize
    }

    /// An item of the object as a sample.
    fn sample(&self, item: &Bound<'_, PyAny>, index: usize) -> PyResult<Owned> {
        let py = item.py();
        // The usual case without a call of Python code: a tuple of bytes and an int.
        if let Ok((bytes, label)) = item.extract::<(Bound<'_, PyBytes>, u32)>() {
            return Ok(Owned { bytes: bytes.as_bytes().to_vec(), form: None, label: Label::Class(label) });
        }
        type Form = Option<(u32, u32, String)>;
        let made = self.item.bind(py).call1((item, index))?;
        let (bytes, form, label): (Bound<'_, PyBytes>, Form, Bound<'_, PyAny>) = made.extract()?;
        let form = form.map(|(width, height, format)| {
            let format = match format.as_str() {
                "R8" => PixelFormat::R8,
                "Rgba8" => PixelFormat::Rgba8,
                "F32x1" => PixelFormat::F32 { channels: 1 },
                "F32x3" => PixelFormat::F32 { channels: 3 },
                _ => PixelFormat::Rgb8,
            };
            (width, height, format)
        });
        let label = match label {
            label if label.is_none() => Label::None,
            label if label.is_instance_of::<PyList>() => Label::from(label.extract::<Vec<f32>>()?),
            label => Label::Class(label.extract()?),
        };
        Ok(Owned { bytes: bytes.as_bytes().to_vec(), form, label })
    }
}

impl gpufeed::Dataset for PythonDataset {
    fn len(&self) -> usize {
        self.len
    }

    fn read<'a>(&'a self, index: usize, buffer: &'a mut Vec<u8>) -> gpufeed::Result<Sample<'a>> {
        let address = self.address();
        let ready = JOB.with_borrow_mut(|job| {
            let at = job.iter().position(|(dataset, of, _)| (*dataset, *of) == (address, index))?;
            Some(job.swap_remove(at).2)
        });
        let owned = match ready {
            Some(owned) => owned,
            None => Python::attach(|py| {
                let item = self.object.bind(py).get_item(index)?;
                self.sample(&item, index)
            })
            .map_err(foreign)?,
        };
        *buffer = owned.bytes;
        let data = match owned.form {
            None => SampleData::Encoded(buffer),
            Some((width, height, format)) => SampleData::Pixels(Pixels::new(width, height, format, buffer)?),
        };
        Ok(Sample { data, label: owned.label })
    }

    fn job_samples(&self) -> usize {
        if self.batched { JOB_SAMPLES } else { 1 }
    }

    fn begin_job(&self, indices: &[usize]) {
        let read = Python::attach(|py| -> PyResult<Vec<Owned>> {
            let items = self.object.bind(py).call_method1("__getitems__", (indices.to_vec(),))?;
            let items = items.try_iter()?.zip(indices).map(|(item, &index)| self.sample(&item?, index));
            items.collect()
        });
        // Where one of them fails, `read` asks for each by itself, and finds which.
        let read = read.unwrap_or_default();
        JOB.set(indices.iter().zip(read).map(|(&index, owned)| (self.address(), index, owned)).collect());
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
}
