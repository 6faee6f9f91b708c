//! Arrays in host memory that torch, NumPy and JAX take over through DLPack, without a copy.
//!
//! This needs `unsafe`, because DLPack passes pointers. An array owns its memory through an `Arc`, and so does every
//! tensor made of it. The last of them to be freed returns the memory, on whatever thread, and without the
//! interpreter's lock.

#![allow(unsafe_code)]

use dlpark::ffi::{DLDataType, DLDataTypeCode, DLDevice, DLDeviceType, DLManagedTensor, DLManagedTensorVersioned};
use dlpark::metadata::Fixed;
use dlpark::python::{DlpackExporter, ExportRequest, export_dlpack};
use dlpark::{DlpackFlags, Managed, ManagedTensorBase};
use gpufeed::DType;
use gpufeed::dataset::NumberType;
use pyo3::exceptions::{PyBufferError, PyMemoryError, PyRuntimeError, PyTypeError};
use pyo3::prelude::*;
use std::sync::Arc;

/// The number by which DLPack names the CPU.
const CPU: u32 = 1;

/// The type of an array's elements: DLPack's code and the bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Element {
    Bool,
    U8,
    I8,
    U16,
    I16,
    U32,
    I32,
    U64,
    I64,
    F16,
    BF16,
    F32,
    F64,
}

impl From<NumberType> for Element {
    fn from(number_type: NumberType) -> Self {
        match number_type {
            NumberType::Bool => Element::Bool,
            NumberType::U8 => Element::U8,
            NumberType::I8 => Element::I8,
            NumberType::U16 => Element::U16,
            NumberType::I16 => Element::I16,
            NumberType::U32 => Element::U32,
            NumberType::I32 => Element::I32,
            NumberType::U64 => Element::U64,
            NumberType::I64 => Element::I64,
            NumberType::F16 => Element::F16,
            NumberType::F32 => Element::F32,
            // The type is open: a later one has to be added here.
            _ => Element::F64,
        }
    }
}

impl From<DType> for Element {
    fn from(dtype: DType) -> Self {
        match dtype {
            DType::F32 => Element::F32,
            DType::F16 => Element::F16,
            DType::BF16 => Element::BF16,
            DType::U8 => Element::U8,
        }
    }
}

impl Element {
    fn dlpack(self) -> DLDataType {
        let (code, bits) = match self {
            Element::I8 => (0, 8),
            Element::I16 => (0, 16),
            Element::I32 => (0, 32),
            Element::I64 => (0, 64),
            Element::U8 => (1, 8),
            Element::U16 => (1, 16),
            Element::U32 => (1, 32),
            Element::U64 => (1, 64),
            Element::F16 => (2, 16),
            Element::F32 => (2, 32),
            Element::F64 => (2, 64),
            Element::Bool => (6, 8),
            Element::BF16 => (4, 16),
        };
        DLDataType { code: DLDataTypeCode(code), bits, lanes: 1 }
    }

    fn bytes(self) -> usize {
        usize::from(self.dlpack().bits) / 8
    }

    fn name(self) -> &'static str {
        match self {
            Element::Bool => "bool",
            Element::U8 => "uint8",
            Element::I8 => "int8",
            Element::U16 => "uint16",
            Element::I16 => "int16",
            Element::U32 => "uint32",
            Element::I32 => "int32",
            Element::U64 => "uint64",
            Element::I64 => "int64",
            Element::F16 => "float16",
            Element::BF16 => "bfloat16",
            Element::F32 => "float32",
            Element::F64 => "float64",
        }
    }
}

/// Memory that an array may own.
pub(crate) trait Memory: Send + Sync + 'static {}

impl<T: Send + Sync + 'static> Memory for T {}

/// The address and owner of an array's elements.
#[derive(Clone)]
struct Elements {
    /// The address of the first element. Only the array uses this memory, for as long as the owner lives.
    address: usize,
    bytes: usize,
    /// Holds the owner, and with it the memory.
    _owner: Arc<dyn Memory>,
}

/// Where the elements of an array are.
#[derive(Clone)]
pub(crate) struct Place {
    /// DLPack's type of the device, and its number.
    pub(crate) device: (u32, i32),
    /// The object whose `stream` has the elements ready on a stream; `None` in host memory.
    pub(crate) hook: Option<Arc<Py<PyAny>>>,
}

impl Place {
    const HOST: Place = Place { device: (CPU, 0), hook: None };

    fn dlpack(&self) -> DLDevice {
        DLDevice { device_type: DLDeviceType(self.device.0), device_id: self.device.1 }
    }
}

/// An array in host memory, or in a GPU's where batches are handed over: what `batch.images`, `batch.labels` and the numbers of `batch.columns` are. `torch.from_dlpack`,
/// `numpy.from_dlpack` and their like take it without a copy; NumPy has no bfloat16, and says "unsupported dtype".
#[pyclass(frozen, module = "gpufeed")]
pub(crate) struct Array {
    elements: Elements,
    shape: Vec<i64>,
    /// The distances in elements from one index to the next; `None` where they follow from the shape.
    strides: Option<Vec<i64>>,
    element: Element,
    place: Place,
}

impl Array {
    /// Makes an array of memory of another device, which `owner` keeps.
    pub(crate) fn elsewhere(
        owner: Arc<dyn Memory>,
        address: usize,
        shape: Vec<i64>,
        element: Element,
        place: Place,
    ) -> Array {
        let bytes = shape.iter().product::<i64>() as usize * element.bytes();
        Array { elements: Elements { address, bytes, _owner: owner }, shape, strides: None, element, place }
    }

    /// A part of the elements: those from `first` on that a shape and its strides name; `None` where they reach beyond the end.
    pub(crate) fn part(&self, first: usize, shape: Vec<i64>, strides: Option<Vec<i64>>) -> Option<Array> {
        let dense = dense(&shape);
        let reach = shape.iter().zip(strides.as_ref().unwrap_or(&dense)).map(|(length, stride)| (length - 1) * stride);
        let count = if shape.contains(&0) { 0 } else { usize::try_from(reach.sum::<i64>() + 1).ok()? };
        let (begin, bytes) = (first * self.element.bytes(), count * self.element.bytes());
        if begin + bytes > self.elements.bytes {
            return None;
        }
        let elements = Elements { address: self.elements.address + begin, bytes, _owner: self.elements._owner.clone() };
        Some(Array { elements, shape, strides, element: self.element, place: self.place.clone() })
    }

    /// Raises an error if the elements are not in host memory.
    fn on_host(&self, what: &str) -> PyResult<()> {
        match self.place.hook {
            None => Ok(()),
            Some(_) => Err(PyTypeError::new_err(format!(
                "{what}: the array is in a GPU's memory; torch.from_dlpack(array).cpu() copies it"
            ))),
        }
    }

    /// Makes arrays of parts of the memory of `owner`, which nothing else uses. `slices` finds the elements of each in the
    /// owner; `forms` has the shape and the type of each. Returns the arrays, and the owner, which all share.
    pub(crate) fn parts<O: Memory>(
        mut owner: O,
        slices: impl FnOnce(&mut O) -> Vec<&mut [u8]>,
        forms: Vec<(Vec<i64>, Element)>,
    ) -> (Vec<Array>, Arc<O>) {
        // The elements are on the heap, in a vector or a batch's buffer: moving the owner does not move them.
        let places: Vec<_> =
            slices(&mut owner).into_iter().map(|slice| (slice.as_mut_ptr() as usize, slice.len())).collect();
        assert_eq!(places.len(), forms.len(), "every part has a shape");
        let owner = Arc::new(owner);
        let array = |((address, bytes), (shape, element)): ((usize, usize), (Vec<i64>, Element))| {
            assert_eq!(bytes, shape.iter().product::<i64>() as usize * element.bytes(), "the shape fills the memory");
            Array {
                elements: Elements { address, bytes, _owner: owner.clone() },
                shape,
                strides: None,
                element,
                place: Place::HOST,
            }
        };
        (places.into_iter().zip(forms).map(array).collect(), owner)
    }

    /// Makes an array of the memory of `owner`, which nothing else uses. `slice` finds the elements in the owner.
    fn of<O: Memory>(owner: O, slice: impl FnOnce(&mut O) -> &mut [u8], shape: Vec<i64>, element: Element) -> Array {
        let (mut arrays, _) = Array::parts(owner, |owner| vec![slice(owner)], vec![(shape, element)]);
        arrays.remove(0)
    }

    /// Makes a tensor that shares the memory.
    fn tensor<M: ManagedTensorBase>(&self) -> PyResult<Managed<M>> {
        // Batches have four dimensions, labels one or two, and numbers of fields any. With the number known at compile
        // time, a tensor's header has its shape inside, which takes fewer allocations.
        match *self.shape.as_slice() {
            [a] => self.of_rank([a]),
            [a, b] => self.of_rank([a, b]),
            [a, b, c] => self.of_rank([a, b, c]),
            [a, b, c, d] => self.of_rank([a, b, c, d]),
            [a, b, c, d, e] => self.of_rank([a, b, c, d, e]),
            [a, b, c, d, e, f] => self.of_rank([a, b, c, d, e, f]),
            [a, b, c, d, e, f, g] => self.of_rank([a, b, c, d, e, f, g]),
            [a, b, c, d, e, f, g, h] => self.of_rank([a, b, c, d, e, f, g, h]),
            _ => Err(PyRuntimeError::new_err(format!("an array of {} dimensions", self.shape.len()))),
        }
    }

    fn of_rank<M: ManagedTensorBase, const N: usize>(&self, shape: [i64; N]) -> PyResult<Managed<M>> {
        let mut strides = [1; N];
        match &self.strides {
            Some(own) => strides.copy_from_slice(own),
            None => {
                for axis in (1..N).rev() {
                    strides[axis - 1] = strides[axis] * shape[axis];
                }
            }
        }
        let tensor = Fixed::new(shape, strides).initialize_as::<M>(Box::new(self.elements.clone()));
        let mut tensor = tensor.map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
        tensor
            .set_dtype(self.element.dlpack())
            .set_device(self.place.dlpack())
            .set_data(self.elements.address as *mut std::ffi::c_void);
        // SAFETY: the elements are valid for reads and writes as long as their owner lives, which the tensor's context
        // keeps; shape and strides describe them, as `parts` has checked; Rust does not touch them before the owner goes.
        Ok(unsafe { tensor.finish() })
    }

    /// Returns a copy of the elements in memory of its own.
    ///
    /// # Errors
    /// `MemoryError`.
    pub(crate) fn copy(&self) -> PyResult<Array> {
        self.on_host("copy=True")?;
        // SAFETY: as in `of_rank`. A consumer that writes meanwhile tears the copy, as with any shared array.
        let bytes = unsafe { std::slice::from_raw_parts(self.elements.address as *const u8, self.elements.bytes) };
        // The copy of a part has the elements that lie between its own, too.
        let count = (bytes.len() / self.element.bytes()) as i64;
        let copy = Array::of_bytes(bytes, vec![count], self.element)?;
        Ok(Array { shape: self.shape.clone(), strides: self.strides.clone(), ..copy })
    }

    /// Makes an array with a copy of the elements, which are given as bytes.
    ///
    /// # Errors
    /// `MemoryError`.
    pub(crate) fn of_bytes(bytes: &[u8], shape: Vec<i64>, element: Element) -> PyResult<Array> {
        // Copies into words of 8 bytes, so that the elements of every type are aligned.
        let (mut words, count) = (Vec::new(), bytes.len().div_ceil(8));
        let text = || format!("a copy of {} bytes, for which there is no memory; use smaller batches", bytes.len());
        words.try_reserve_exact(count).map_err(|_| PyMemoryError::new_err(text()))?;
        words.resize(count, 0u64);
        let array = Array::of(words, |words| &mut as_bytes(words)[..bytes.len()], shape, element);
        // SAFETY: as in `of_rank`; nobody else has the array yet.
        let copied = unsafe { std::slice::from_raw_parts_mut(array.elements.address as *mut u8, bytes.len()) };
        copied.copy_from_slice(bytes);
        Ok(array)
    }

    /// Makes an array that owns these values.
    pub(crate) fn of_i64(values: Vec<i64>, shape: Vec<i64>) -> Array {
        Array::of(values, |values| as_bytes(values), shape, Element::I64)
    }

    /// Makes an array that owns these values.
    pub(crate) fn of_f32(values: Vec<f32>, shape: Vec<i64>) -> Array {
        Array::of(values, |values| as_bytes(values), shape, Element::F32)
    }
}

/// The strides of a shape whose elements lie one after the other.
fn dense(shape: &[i64]) -> Vec<i64> {
    (0..shape.len()).map(|axis| shape[axis + 1..].iter().product()).collect()
}

/// Returns numbers as bytes.
fn as_bytes<T: Copy + 'static>(values: &mut [T]) -> &mut [u8] {
    // SAFETY: only called with integers and floats, which have no padding and for which every bit pattern is valid.
    unsafe { std::slice::from_raw_parts_mut(values.as_mut_ptr().cast(), std::mem::size_of_val(values)) }
}

impl DlpackExporter for Array {
    fn device(&self) -> DLDevice {
        self.place.dlpack()
    }

    fn flags(&self) -> DlpackFlags {
        DlpackFlags::empty()
    }

    fn prepare_export(&self, py: Python<'_>, request: &ExportRequest<'_>) -> PyResult<()> {
        match (&self.place.hook, request.stream()) {
            (Some(hook), stream) => hook.call_method1(py, "stream", (stream,)).map(drop),
            (None, None) => Ok(()),
            (None, Some(stream)) => Err(PyBufferError::new_err(format!(
                "stream={stream}: an array in host memory has no stream; pass None"
            ))),
        }
    }

    fn export_legacy(&self, _: Python<'_>) -> PyResult<Managed<DLManagedTensor>> {
        self.tensor()
    }

    fn export_versioned(&self, _: Python<'_>) -> PyResult<Managed<DLManagedTensorVersioned>> {
        self.tensor()
    }
}

#[pymethods]
impl Array {
    /// Makes a capsule that shares this array's memory, as the array API standard defines it.
    #[pyo3(signature = (*, stream = None, max_version = None, dl_device = None, copy = None))]
    fn __dlpack__(
        &self,
        py: Python<'_>,
        stream: Option<&Bound<'_, PyAny>>,
        max_version: Option<(u32, u32)>,
        dl_device: Option<(u32, i32)>,
        copy: Option<bool>,
    ) -> PyResult<Py<PyAny>> {
        if let Some((device, number)) = dl_device.filter(|device| *device != self.place.device) {
            let place = match self.place.device {
                (CPU, 0) => "in host memory, device (1, 0)".to_owned(),
                (device, number) => format!("on device ({device}, {number})"),
            };
            return Err(PyBufferError::new_err(format!(
                "dl_device=({device}, {number}): this array is {place}; move it afterwards, or ask the loader for \
                 device=\"cuda\""
            )));
        }
        let request = |copy| ExportRequest::parse(stream, max_version, dl_device, copy);
        match copy {
            Some(true) => export_dlpack(&py.detach(|| self.copy())?, py, request(None)?),
            _ => export_dlpack(self, py, request(copy)?),
        }
    }

    /// The device of the memory: (1, 0) for the CPU, (2, N) for `cuda:N`, (10, N) for that of a torch with ROCm.
    fn __dlpack_device__(&self) -> (u32, i32) {
        self.place.device
    }

    /// Makes a NumPy array for `numpy.asarray`, which shares the memory unless a copy is asked for.
    ///
    /// # Errors
    /// `TypeError` for bfloat16, which NumPy lacks.
    #[pyo3(signature = (dtype = None, copy = None))]
    fn __array__<'py>(
        slf: &Bound<'py, Self>,
        dtype: Option<&Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        slf.get().on_host("a NumPy array")?;
        if slf.get().element == Element::BF16 {
            return Err(PyTypeError::new_err(
                "NumPy has no bfloat16; torch.from_dlpack(array) takes the array, and numpy.asarray(array.as_uint16()) its \
                 bits; dtype=\"float16\" has the same size",
            ));
        }
        let numpy = slf.py().import("numpy")?;
        let array = numpy.call_method1("from_dlpack", (slf,))?;
        match (dtype, copy) {
            (dtype, Some(true)) => numpy.call_method1("array", (array, dtype)),
            (Some(dtype), _) => numpy.call_method1("asarray", (array, dtype)),
            (None, _) => Ok(array),
        }
    }

    /// Returns the same memory as an array of uint16: the bits of float16 or bfloat16, for libraries without the type.
    ///
    /// # Errors
    /// `TypeError` if the elements have another size.
    fn as_uint16(&self) -> PyResult<Array> {
        if self.element.bytes() != 2 {
            let name = self.element.name();
            return Err(PyTypeError::new_err(format!("elements of {name}; float16 and bfloat16 have 16 bits each")));
        }
        let (elements, shape, place) = (self.elements.clone(), self.shape.clone(), self.place.clone());
        Ok(Array { elements, shape, strides: self.strides.clone(), element: Element::U16, place })
    }

    /// The lengths of the axes.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, pyo3::types::PyTuple>> {
        pyo3::types::PyTuple::new(py, &self.shape)
    }

    /// The type of the elements, by its name.
    #[getter]
    fn dtype(&self) -> &'static str {
        self.element.name()
    }

    /// The distances in elements from one index to the next.
    #[getter]
    fn strides<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, pyo3::types::PyTuple>> {
        pyo3::types::PyTuple::new(py, self.strides.clone().unwrap_or_else(|| dense(&self.shape)))
    }

    /// Bytes of all elements.
    #[getter]
    fn nbytes(&self) -> usize {
        self.shape.iter().product::<i64>() as usize * self.element.bytes()
    }

    /// True if the elements are in a GPU's memory, in which the shaders have written them.
    #[getter]
    fn handed_over(&self) -> bool {
        self.place.hook.is_some()
    }

    /// The address of the first element.
    #[getter]
    fn data_ptr(&self) -> usize {
        self.elements.address
    }

    fn __len__(&self) -> usize {
        self.shape.first().map_or(0, |&length| length as usize)
    }

    fn __repr__(&self) -> String {
        let shape: Vec<String> = self.shape.iter().map(i64::to_string).collect();
        format!("gpufeed.Array({}, shape=({}))", self.element.name(), shape.join(", "))
    }
}
