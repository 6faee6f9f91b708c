//! A batch's memory for CUDA or HIP: what `gpufeed/handed_over.py` imports, as numbers.

use crate::errors;
use gpufeed::internals::Trial;
use gpufeed::{External, ExternalHandle, Gpu};
use pyo3::prelude::*;

/// The number of the buffer, bytes of its memory, bytes for images, and the values that the semaphores reach (of timelines).
pub(crate) type Facts = (u64, u64, u64, Option<u64>);

/// Handles of the memory, and of the semaphores that say that a batch is ready and that it is free. They are the caller's.
pub(crate) type Handles = (i64, Option<(i64, i64)>);

pub(crate) fn facts(external: &External<'_>) -> Facts {
    let value = external.ready().and_then(|ready| ready.value());
    (external.id(), external.allocation(), external.capacity(), value)
}

pub(crate) fn handles(external: &External<'_>) -> gpufeed::Result<Handles> {
    let memory = external.memory()?;
    let semaphores = match (external.ready(), external.free()) {
        (Some(ready), Some(free)) => Some((ready.export()?, free.export()?)),
        _ => None,
    };
    Ok((number(memory), semaphores.map(|(ready, free)| (number(ready), number(free)))))
}

/// Facts and handles of a small buffer of the device.
pub(crate) fn trial(py: Python<'_>, gpu: &Gpu) -> PyResult<(Facts, Handles)> {
    let made = || {
        let trial = Trial::new(gpu)?;
        let external = trial.external();
        Ok((facts(&external), handles(&external)?))
    };
    py.detach(made).map_err(|error| errors::to_python(py, &error))
}

#[cfg(unix)]
fn number(handle: ExternalHandle) -> i64 {
    std::os::fd::IntoRawFd::into_raw_fd(handle).into()
}

#[cfg(windows)]
fn number(handle: ExternalHandle) -> i64 {
    std::os::windows::io::IntoRawHandle::into_raw_handle(handle) as i64
}
