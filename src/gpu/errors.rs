//! Turns a device's errors into [`Error`]s, in place of panics and endless waits.
//!
//! wgpu reports errors in three ways. Error scopes catch the errors of a call ([`Gpu::checked`]). An error outside
//! every scope reaches a handler of the device, and the loss of the device reaches a callback. Without them such an
//! error panics and the loss is silent: a lost device accepts every call and does nothing. gpufeed installs both on
//! devices that it has opened; on an adopted device they are the application's. There, and wherever wgpu has not
//! reported yet, [`Gpu::alive`] tests the device.

use super::Gpu;
use crate::error::{Error, ErrorKind, Result};
use parking_lot::{ReentrantMutex, ReentrantMutexGuard};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

/// Runs `work`, which submits to the queue of `gpu`, under error scopes; also fails if the device is lost, which no
/// scope reports. For crates that work on the same device, such as gpufeed-burn.
pub fn run_checked<T>(gpu: &Gpu, stage: &'static str, work: impl FnOnce() -> T) -> Result<T> {
    let result = gpu.checked(stage, work)?;
    gpu.alive(stage)?;
    Ok(result)
}

/// The interval between two polls for the same submission.
pub(super) const CALLBACK_PATIENCE: Duration = Duration::from_millis(1);

/// Bytes of the buffer by which a device is known to be alive.
const PROBE_BYTES: u64 = 4;

fn out_of_memory(what: &'static str, bytes: u64) -> Error {
    ErrorKind::OutOfMemory { what, bytes }.into()
}

pub(super) fn error(stage: &'static str, reason: impl Into<String>) -> Error {
    ErrorKind::Device { stage, reason: reason.into() }.into()
}

/// Held during calls to OpenGL.
static OPENGL: ReentrantMutex<()> = ReentrantMutex::new(());

impl Gpu {
    /// On OpenGL, waits until no other thread of gpufeed calls it. All devices of an adapter share a context, for which
    /// wgpu-hal 30 waits 6 s and then panics (`CONTEXT_LOCK_TIMEOUT_SECS` in `gles/egl.rs`). llvmpipe compiles and
    /// computes in `submit`, so that a submission may hold the context for longer where many programs share the cores.
    pub(super) fn opengl_to_itself(&self) -> Option<ReentrantMutexGuard<'static, ()>> {
        (self.info().backend == wgpu::Backend::Gl).then(|| OPENGL.lock())
    }

    /// An error if the device is known to be lost, or if an error happened outside every scope.
    pub(crate) fn healthy(&self, stage: &'static str) -> Result<()> {
        match (self.health().lost.get(), self.health().stray.try_recv()) {
            (Some(reason), _) => Err(error(stage, reason)),
            (None, Ok(reason)) => Err(error(stage, reason)),
            (None, Err(_)) => Ok(()),
        }
    }

    /// An error if the device is not [`healthy`](Self::healthy), or if a probe shows that it is lost: a lost device
    /// accepts every call, but its buffers have no memory to map.
    ///
    /// The probe creates a mapped buffer. A submission with a timed wait would not do: if another thread's poll
    /// finishes the submission in between, wgpu-core 30.0.1 panics (`Device::maintain` asserts on a fence value that it
    /// has read before) and drops callbacks.
    pub(crate) fn alive(&self, stage: &'static str) -> Result<()> {
        self.healthy(stage)?;
        let probe = self.with_error_scopes(|| {
            self.device().create_buffer(&wgpu::BufferDescriptor {
                label: Some("gpufeed probe"),
                size: PROBE_BYTES,
                usage: wgpu::BufferUsages::MAP_WRITE | wgpu::BufferUsages::COPY_SRC,
                mapped_at_creation: true,
            })
        });
        if self.mock().is_some_and(|mock| mock.refuses_probe()) {
            return Err(out_of_memory("gpufeed probe", PROBE_BYTES));
        }
        match probe.map(|buffer| buffer.get_mapped_range_mut(..).is_ok()) {
            Ok(true) => self.healthy(stage),
            Ok(false) => Err(self.lost(stage)),
            Err(wgpu::Error::OutOfMemory { .. }) => Err(out_of_memory("gpufeed probe", PROBE_BYTES)),
            Err(reason) => Err(error(stage, reason.to_string())),
        }
    }

    /// The error for a device that rejects work. Later calls return the same error.
    fn lost(&self, stage: &'static str) -> Error {
        let reason = self.health().lost.get_or_init(|| "the device is lost, or was destroyed".to_owned());
        error(stage, reason)
    }

    /// The error for a failed mapping. A wrong call would be an error of its scope, so the device is lost.
    pub(crate) fn mapping_error(&self, stage: &'static str) -> Error {
        self.alive(stage).err().unwrap_or_else(|| error(stage, "a buffer could not be mapped"))
    }

    /// Calls `Device::poll`, which panics if the driver loses the device during the wait, or if a callback of the
    /// application panics.
    fn poll(&self, stage: &'static str, poll: wgpu::PollType) -> Result<Result<wgpu::PollStatus, wgpu::PollError>> {
        let _guard = self.opengl_to_itself();
        let polled = catch_unwind(AssertUnwindSafe(|| self.device().poll(poll)));
        polled.map_err(|_| self.alive(stage).err().unwrap_or_else(|| error(stage, "a poll of the device panicked")))
    }

    /// Waits for a submission, or for all. May return early, so callers repeat it until they have their result, and
    /// call [`alive`](Self::alive) in between.
    ///
    /// On OpenGL it only polls: wgpu-hal caps the fence's timeout at `i32::MAX` nanoseconds, and a wait that ends early
    /// while another thread polls panics, as `alive` says.
    pub(crate) fn wait(&self, submission_index: Option<wgpu::SubmissionIndex>) -> Result<()> {
        const STAGE: &str = "waiting for the GPU";
        self.healthy(STAGE)?;
        if self.info().backend == wgpu::Backend::Gl {
            return self.poll_finished(STAGE);
        }
        match self.poll(STAGE, wgpu::PollType::Wait { submission_index, timeout: None })? {
            Ok(_) => self.healthy(STAGE),
            Err(wgpu::PollError::WrongSubmissionIndex(..)) => Err(self.lost(STAGE)),
            // This call sets no timeout, so the wait goes on: the caller's loop polls again.
            Err(wgpu::PollError::Timeout) => Ok(()),
        }
    }

    /// Runs the callbacks of finished work, without waiting.
    pub(crate) fn poll_finished(&self, stage: &'static str) -> Result<()> {
        self.poll(stage, wgpu::PollType::Poll)?.map(|_| ()).map_err(|reason| error(stage, reason.to_string()))
    }

    /// Runs `work` under error scopes.
    pub(crate) fn checked<T>(&self, stage: &'static str, work: impl FnOnce() -> T) -> Result<T> {
        self.healthy(stage)?;
        self.with_error_scopes(work).map_err(|reason| self.attribute_error(stage, reason))
    }

    /// Runs `work`, which creates buffers of `bytes` bytes together, and checks that they are valid.
    pub(crate) fn create_checked<T>(&self, what: &'static str, bytes: u64, work: impl FnOnce() -> T) -> Result<T> {
        const STAGE: &str = "allocating buffers";
        self.healthy(STAGE)?;
        let result = self.with_error_scopes(work).map_err(|reason| match reason {
            wgpu::Error::OutOfMemory { .. } => out_of_memory(what, bytes),
            reason => self.attribute_error(STAGE, reason),
        });
        if self.mock().is_some_and(|mock| mock.was_refused()) {
            return Err(out_of_memory(what, bytes));
        }
        let result = result?;
        // The buffers of a lost device are invalid, and no scope reports that.
        self.alive(STAGE)?;
        Ok(result)
    }

    /// The error for one that a scope has caught: the loss of the device if that is the cause.
    fn attribute_error(&self, stage: &'static str, reason: wgpu::Error) -> Error {
        self.alive(stage).err().unwrap_or_else(|| error(stage, reason.to_string()))
    }

    fn with_error_scopes<T>(&self, work: impl FnOnce() -> T) -> Result<T, wgpu::Error> {
        let _guard = self.opengl_to_itself();
        let validation = self.device().push_error_scope(wgpu::ErrorFilter::Validation);
        let memory = self.device().push_error_scope(wgpu::ErrorFilter::OutOfMemory);
        let internal = self.device().push_error_scope(wgpu::ErrorFilter::Internal);
        let result = work();
        for scope in [internal, memory, validation] {
            if let Some(error) = pollster::block_on(scope.pop()) {
                return Err(error);
            }
        }
        Ok(result)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering};

    #[test]
    fn calls_of_opengl_wait_for_each_other_and_may_be_nested() {
        for adapter in Gpu::enumerate() {
            let gpu = Gpu::open(&adapter).unwrap();
            // Two devices of an adapter share the context.
            let other = Gpu::open(&adapter).unwrap();
            let busy = AtomicBool::new(false);
            let overlapped = AtomicBool::new(false);
            let call = |gpu: &Gpu| {
                let work = || {
                    overlapped.fetch_or(busy.swap(true, Ordering::SeqCst), Ordering::SeqCst);
                    std::thread::sleep(Duration::from_millis(20));
                    busy.store(false, Ordering::SeqCst);
                };
                gpu.checked("outside", || gpu.checked("inside", work)).unwrap().unwrap();
            };
            std::thread::scope(|scope| {
                for gpu in [&gpu, &other, &gpu] {
                    scope.spawn(|| (0..3).for_each(|_| call(gpu)));
                }
            });
            let is_opengl = gpu.info().backend == wgpu::Backend::Gl;
            assert!(!(is_opengl && overlapped.into_inner()), "{gpu}");
        }
    }
}
