//! What can be wrong with a device, and how that becomes an error instead of a panic or a wait without end.
//!
//! wgpu has three ways to say so. Error scopes catch what a call does wrong ([`Gpu::checked`]). What no scope catches
//! goes to one handler of the device, and that the device is lost to one callback; without them the former panics and
//! the latter is silent: a lost device takes every call and does nothing. Both are installed on devices that gpufeed
//! opened, and never on an adopted one, where they are the application's. There, and wherever wgpu has not spoken yet,
//! [`Gpu::alive`] asks.

use super::Gpu;
use crate::error::{Error, ErrorKind, Result};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs `work`, which submits to the queue of `gpu`, under error scopes; also fails if the device is lost, which wgpu
/// reports in no scope. For crates that work on the same device, such as gpufeed-burn.
pub fn run_checked<T>(gpu: &Gpu, stage: &'static str, work: impl FnOnce() -> T) -> Result<T> {
    let result = gpu.checked(stage, work)?;
    gpu.alive(stage)?;
    Ok(result)
}

fn error(stage: &'static str, reason: impl Into<String>) -> Error {
    ErrorKind::Device { stage, reason: reason.into() }.into()
}

impl Gpu {
    /// An error if the device is known to be lost, or if something went wrong that no scope has caught.
    pub(crate) fn healthy(&self, stage: &'static str) -> Result<()> {
        match (self.health().lost.get(), self.health().stray.try_recv()) {
            (Some(reason), _) => Err(error(stage, reason)),
            (None, Ok(reason)) => Err(error(stage, reason)),
            (None, Err(_)) => Ok(()),
        }
    }

    /// As [`healthy`](Self::healthy), and asks wgpu: a lost device takes every call without a word, but what it makes
    /// is void, and a void buffer has no memory to map.
    ///
    /// No submission with a wait that has a timeout: where another thread's poll finishes that submission in between,
    /// wgpu-core 30.0.1 panics (`Device::maintain` asserts on a fence value that it has read before) and drops callbacks.
    pub(crate) fn alive(&self, stage: &'static str) -> Result<()> {
        self.healthy(stage)?;
        let probe = self.scoped(|| {
            self.device().create_buffer(&wgpu::BufferDescriptor {
                label: Some("gpufeed probe"),
                size: 4,
                usage: wgpu::BufferUsages::MAP_WRITE | wgpu::BufferUsages::COPY_SRC,
                mapped_at_creation: true,
            })
        });
        match probe.map(|buffer| buffer.get_mapped_range_mut(..).is_ok()) {
            Ok(true) => self.healthy(stage),
            Ok(false) => Err(self.lost(stage)),
            Err(reason) => Err(error(stage, reason.to_string())),
        }
    }

    /// The error for a device that refuses work, remembered for whoever asks next.
    fn lost(&self, stage: &'static str) -> Error {
        let reason = self.health().lost.get_or_init(|| "the device is lost, or was destroyed".to_owned());
        error(stage, reason)
    }

    /// The error for a mapping that was refused: what is wrong with the call is a scope's to say, so the device is lost.
    pub(crate) fn refused(&self, stage: &'static str) -> Error {
        self.alive(stage).err().unwrap_or_else(|| error(stage, "a buffer could not be mapped"))
    }

    /// `Device::poll`, which panics if the driver loses the device while it waits, or if a callback of the
    /// application's does.
    fn poll(&self, stage: &'static str, poll: wgpu::PollType) -> Result<Result<wgpu::PollStatus, wgpu::PollError>> {
        let polled = catch_unwind(AssertUnwindSafe(|| self.device().poll(poll)));
        polled.map_err(|_| self.alive(stage).err().unwrap_or_else(|| error(stage, "a poll of the device panicked")))
    }

    /// Waits for a submission, or for all; may return before they are done, so callers ask again until they have what they
    /// wait for, and between whether the device is [`alive`](Self::alive).
    ///
    /// On OpenGL it only asks: wgpu-hal caps the fence's timeout at `i32::MAX` nanoseconds, and a wait that ends early
    /// beside another thread's poll panics, as `alive` says.
    pub(crate) fn wait(&self, submission_index: Option<wgpu::SubmissionIndex>) -> Result<()> {
        const STAGE: &str = "waiting for the GPU";
        self.healthy(STAGE)?;
        if self.info().backend == wgpu::Backend::Gl {
            return self.poll_finished(STAGE);
        }
        match self.poll(STAGE, wgpu::PollType::Wait { submission_index, timeout: None })? {
            Ok(_) => self.healthy(STAGE),
            Err(wgpu::PollError::WrongSubmissionIndex(..)) => Err(self.lost(STAGE)),
            // None was asked for: whoever waits asks again.
            Err(wgpu::PollError::Timeout) => Ok(()),
        }
    }

    /// Runs the callbacks of what is finished already; does not wait.
    pub(crate) fn poll_finished(&self, stage: &'static str) -> Result<()> {
        self.poll(stage, wgpu::PollType::Poll)?.map(|_| ()).map_err(|reason| error(stage, reason.to_string()))
    }

    /// Runs `work` under error scopes, so that what wgpu would report elsewhere becomes an error here.
    pub(crate) fn checked<T>(&self, stage: &'static str, work: impl FnOnce() -> T) -> Result<T> {
        self.healthy(stage)?;
        self.scoped(work).map_err(|reason| self.blame(stage, reason))
    }

    /// Runs `work`, which makes buffers of `bytes` bytes together, and makes sure that they are good.
    pub(crate) fn made<T>(&self, what: &'static str, bytes: u64, work: impl FnOnce() -> T) -> Result<T> {
        const STAGE: &str = "allocating buffers";
        self.healthy(STAGE)?;
        let result = self.scoped(work).map_err(|reason| match reason {
            wgpu::Error::OutOfMemory { .. } => ErrorKind::OutOfMemory { what, bytes }.into(),
            reason => self.blame(STAGE, reason),
        })?;
        // What a lost device makes is void, and no scope says so.
        self.alive(STAGE)?;
        Ok(result)
    }

    /// The error for what a scope has caught. Whatever a lost device makes is void, and using it is an error of its own.
    fn blame(&self, stage: &'static str, reason: wgpu::Error) -> Error {
        self.alive(stage).err().unwrap_or_else(|| error(stage, reason.to_string()))
    }

    fn scoped<T>(&self, work: impl FnOnce() -> T) -> Result<T, wgpu::Error> {
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
