//! Makes calls into the interpreter from threads that may lose it, because the interpreter ends.
//!
//! Before CPython 3.14, if a thread asks for the interpreter's lock while the interpreter ends, `pthread_exit` ends the
//! thread, and glibc unwinds its stack. If the unwinding meets a call that is declared as `extern "C"`, Rust aborts the
//! process, and pyo3 declares every function of CPython so. The functions here are declared as `extern "C-unwind"`.
//! Where the unwinding reaches their caller, the thread waits for the end of the process. CPython 3.14 does the same by
//! itself.
//! <https://docs.python.org/3/c-api/init.html#c.PyThread_exit_thread>
//! <https://doc.rust-lang.org/nomicon/ffi.html#ffi-and-unwinding>
//!
//! So a worker's thread takes the lock by `attach`, and calls a data set's methods by `call` and `get_item`. What it
//! does besides (attributes, warnings, the end of objects) rarely runs Python code. It still aborts the process if it
//! runs some at that moment. The `unsafe` blocks pass pointers of live objects to functions of CPython's stable ABI.

#![allow(unsafe_code)]

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::ffi::c_int;

unsafe extern "C-unwind" {
    fn PyGILState_Ensure() -> c_int;
    fn PyGILState_Release(state: c_int);
    fn PyObject_Call(
        callable: *mut ffi::PyObject,
        arguments: *mut ffi::PyObject,
        keywords: *mut ffi::PyObject,
    ) -> *mut ffi::PyObject;
    fn PyObject_GetItem(object: *mut ffi::PyObject, key: *mut ffi::PyObject) -> *mut ffi::PyObject;
}

/// Stops the unwinding of a thread's stack by `pthread_exit`, because values of the frames above must not be freed
/// without the interpreter's lock.
struct Hangs;

impl Drop for Hangs {
    fn drop(&mut self) {
        hang();
    }
}

/// Waits for the end of the process, on a thread that nothing waits for.
pub(crate) fn hang() -> ! {
    loop {
        std::thread::park();
    }
}

/// Makes one call of CPython, which must not panic. The call returns, or ends the thread.
fn hanging<T>(call: impl FnOnce() -> T) -> T {
    let hangs = Hangs;
    let done = call();
    std::mem::forget(hangs);
    done
}

/// Holds the interpreter's lock, and gives it back when dropped.
struct Attached(c_int);

impl Drop for Attached {
    fn drop(&mut self) {
        let state = self.0;
        // SAFETY: the state is that of this thread's `PyGILState_Ensure`, and is released once.
        hanging(|| unsafe { PyGILState_Release(state) });
    }
}

/// Does `work` with the interpreter's lock. Does not return if the interpreter has ended, or ends.
pub(crate) fn attach<T>(work: impl FnOnce(Python<'_>) -> T) -> T {
    // SAFETY: may be called at any time.
    if unsafe { ffi::Py_IsInitialized() } == 0 {
        hang();
    }
    // SAFETY: the interpreter was there a moment ago. If it has begun to end since, CPython ends this thread.
    let attached = Attached(hanging(|| unsafe { PyGILState_Ensure() }));
    // pyo3 counts the locks that it takes itself. This thread has the lock already, so pyo3 does not wait.
    let done = Python::attach(work);
    drop(attached);
    done
}

/// Calls a function.
pub(crate) fn call<'py>(function: &Bound<'py, PyAny>, arguments: &Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyAny>> {
    let (function, arguments, py) = (function.as_ptr(), arguments.as_ptr(), function.py());
    // SAFETY: both pointers are of objects that the caller holds, under the interpreter's lock. No keywords are a null pointer.
    let made = hanging(|| unsafe { PyObject_Call(function, arguments, std::ptr::null_mut()) });
    // SAFETY: CPython returns a new reference, or null with an exception set.
    unsafe { Bound::from_owned_ptr_or_err(py, made) }
}

/// Returns `object[key]`.
pub(crate) fn get_item<'py>(object: &Bound<'py, PyAny>, key: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let (object, key, py) = (object.as_ptr(), key.as_ptr(), object.py());
    // SAFETY: as in `call`.
    let found = hanging(|| unsafe { PyObject_GetItem(object, key) });
    // SAFETY: as in `call`.
    unsafe { Bound::from_owned_ptr_or_err(py, found) }
}
