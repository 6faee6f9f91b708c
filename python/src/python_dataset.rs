//! A data set in Python: an object with `__len__` and `__getitem__`, as the library reads it.

use gpufeed::{Error, ErrorKind, Label, PixelFormat, Pixels, Sample, SampleData};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};
use std::cell::RefCell;

/// The most samples that a data set in Python is asked for at once.
const JOB_SAMPLES: usize = 64;

/// A data set in Python. Its workers' threads wait for the interpreter's lock to read.
pub(crate) struct PythonDataset {
    pub(crate) object: Py<PyAny>,
    /// Makes `(bytes, form, label)` of an item.
    pub(crate) item: Py<PyAny>,
    pub(crate) len: usize,
    /// True if the object has `__getitems__`.
    pub(crate) batched: bool,
    pub(crate) channels: u32,
    pub(crate) classes: Vec<String>,
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
