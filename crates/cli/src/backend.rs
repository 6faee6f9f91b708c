//! The options `--backend` and `--adapter`, which several subcommands have.

use clap::ValueEnum;
use gpufeed::{Backend, Execute};
use std::error::Error;

/// Where batches go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum BackendChoice {
    /// The best GPU, else the CPU.
    Auto,
    /// A GPU, a software adapter if there is no other.
    Gpu,
    /// Host memory.
    Cpu,
}

impl BackendChoice {
    /// Opens the adapter with this number or name, if one is named, or else the backend that was chosen. If `shaders`
    /// are asked for, the CPU is an error.
    pub(crate) fn open(self, adapter: Option<&str>, shaders: bool) -> Result<Backend, Box<dyn Error>> {
        let backend = match (adapter, self) {
            (Some(name), _) => Backend::gpu(name)?,
            (None, Self::Auto) => Backend::auto()?,
            // Number 0 is the best adapter. A software adapter counts, too, and is number 0 where it is alone.
            (None, Self::Gpu) => Backend::gpu("0")?,
            (None, Self::Cpu) => Backend::Cpu,
        };
        if shaders && matches!(backend, Backend::Cpu) {
            let reason = "shaders: there is no GPU here that `auto` would take; name a software adapter with --adapter";
            return Err(reason.into());
        }
        Ok(backend)
    }
}

/// Names the executor that augments in a loader of this backend and setting.
pub(crate) fn executor(backend: &Backend, execute: Execute) -> &'static str {
    match (backend, execute) {
        (Backend::Gpu(_), Execute::Gpu) => "shaders",
        (Backend::Gpu(gpu), Execute::Auto) if !gpu.is_software() => "shaders",
        (Backend::Gpu(_), _) => "CPU executor, batches copied up",
        _ => "CPU executor",
    }
}
