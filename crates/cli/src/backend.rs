//! The values of the options `--backend` and `--adapter`, which several subcommands have, and how they choose a
//! [`Backend`].

use clap::ValueEnum;
use gpufeed::{Backend, Execute};
use std::error::Error;

/// A backend, and why it is this one.
pub(crate) struct Opened {
    pub(crate) backend: Backend,
    /// How the adapter, or the CPU, was chosen; `None` for the CPU of `--backend cpu`.
    pub(crate) chosen: Option<String>,
}

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
    pub(crate) fn open(self, adapter: Option<&str>, shaders: bool) -> Result<Opened, Box<dyn Error>> {
        let (backend, mut chosen) = match (adapter, self) {
            (Some(name), _) => (Backend::gpu(name)?, None),
            (None, Self::Auto) => {
                Backend::auto_chosen().map(|(backend, choice)| (backend, Some(choice.to_string())))?
            }
            // Without a GPU, a software adapter is opened.
            (None, Self::Gpu) => (Backend::any_gpu()?, None),
            (None, Self::Cpu) => (Backend::Cpu, None),
        };
        if let Backend::Gpu(gpu) = &backend {
            chosen = gpu.choice().map(ToString::to_string);
        }
        if shaders && matches!(backend, Backend::Cpu) {
            let reason = "shaders: there is no GPU here that `auto` would take; name a software adapter with --adapter";
            return Err(reason.into());
        }
        Ok(Opened { backend, chosen })
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
