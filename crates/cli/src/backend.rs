//! The values of the options `--backend` and `--adapter`, which several subcommands have, and how they choose a
//! [`Backend`].

use clap::ValueEnum;
use gpufeed::{Backend, Execute};
use std::error::Error;

/// The value of `--backend`: the device on which batches are made and stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum BackendChoice {
    /// The best GPU, else the CPU.
    Auto,
    /// A GPU, or a software adapter if there is no GPU.
    Gpu,
    /// Host memory.
    Cpu,
}

impl BackendChoice {
    /// Opens the GPU adapter with the number or name `adapter`, if one is given, else the chosen backend. If `shaders`
    /// is true, the caller needs a GPU: then it is an error if the CPU is opened.
    pub(crate) fn open(self, adapter: Option<&str>, shaders: bool) -> Result<Backend, Box<dyn Error>> {
        let backend = match (adapter, self) {
            (Some(name), _) => Backend::gpu(name)?,
            (None, Self::Auto) => Backend::auto()?,
            // Adapter number 0 is the best one. Software adapters are numbered, too: without a GPU, one of them is
            // number 0.
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
