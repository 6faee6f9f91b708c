//! The options `--backend` and `--adapter`, which several subcommands have.

use clap::ValueEnum;
use gpufeed::Backend;
use std::error::Error;

/// A backend, and why it is this one.
pub(crate) struct Opened {
    pub(crate) backend: Backend,
    /// How the adapter, or the CPU, was chosen; `None` for the CPU of `--backend cpu`.
    pub(crate) chosen: Option<String>,
}

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
    pub(crate) fn open(self, adapter: Option<&str>, shaders: bool) -> Result<Opened, Box<dyn Error>> {
        let (backend, mut chosen) = match (adapter, self) {
            (Some(name), _) => (Backend::gpu(name)?, None),
            (None, Self::Auto) => {
                Backend::auto_chosen().map(|(backend, choice)| (backend, Some(choice.to_string())))?
            }
            // A software adapter counts, too, where there is no other.
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
