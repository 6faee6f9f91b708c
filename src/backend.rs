//! The choice of the GPU or the CPU for a loader or processor.

use crate::advice;
use crate::error::{Error, ErrorKind, Result};
use crate::gpu::{Gpu, adapters};

/// The device that augments: a GPU, or the CPU executor.
///
/// ```
/// use gpufeed::Backend;
///
/// let backend = Backend::auto()?; // the best GPU, else the CPU
/// println!("{backend}");
/// # Ok::<(), gpufeed::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Backend {
    /// Batches in storage buffers of this GPU.
    Gpu(Gpu),
    /// Batches in host memory.
    Cpu,
}

/// The name of the environment variable that chooses an adapter (part of its name, or its number in
/// `gpufeed::Gpu::adapters()`), or `cpu`.
pub const ADAPTER_VARIABLE: &str = "GPUFEED_ADAPTER";

impl Backend {
    /// The best GPU of the machine, or the CPU if there is none.
    ///
    /// The environment variable `GPUFEED_ADAPTER` overrides the choice: `cpu`, a number, or part of an adapter's name.
    /// Without it a discrete GPU is preferred to an integrated one, and a software adapter is never chosen, as the CPU
    /// executor is several times faster.
    ///
    /// # Errors
    /// [`ErrorKind::NoAdapter`](crate::ErrorKind::NoAdapter) if `GPUFEED_ADAPTER` names an adapter that does not exist;
    /// [`ErrorKind::Device`](crate::ErrorKind::Device) if no device can be opened on the adapter.
    pub fn auto() -> Result<Backend> {
        match Backend::adapter()? {
            Some(adapter) => Gpu::open(&adapter).map(Backend::Gpu),
            None => Ok(Backend::Cpu),
        }
    }

    /// The adapter that [`auto`](Self::auto) would open, for a device of your own; `None` for the CPU.
    ///
    /// ```
    /// use gpufeed::{Backend, Gpu, wgpu};
    ///
    /// let backend = match Backend::adapter()? {
    ///     Some(adapter) => {
    ///         let features = adapter.features() - wgpu::Features::all_experimental_mask();
    ///         Backend::Gpu(Gpu::open_with(&adapter, features, adapter.limits())?)
    ///     }
    ///     None => Backend::Cpu,
    /// };
    /// println!("{backend}");
    /// # Ok::<(), gpufeed::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::NoAdapter`](crate::ErrorKind::NoAdapter) if `GPUFEED_ADAPTER` names an adapter that does not exist.
    pub fn adapter() -> Result<Option<wgpu::Adapter>> {
        match std::env::var(ADAPTER_VARIABLE) {
            Ok(name) if name.eq_ignore_ascii_case("cpu") => Ok(None),
            Ok(name) if !name.is_empty() => match adapters::named(&name) {
                Ok(adapter) => Ok(Some(adapter)),
                Err(found) => {
                    let reason = format!("{ADAPTER_VARIABLE}: {found}; unset it for the best GPU, or set it to cpu");
                    Err(ErrorKind::NoAdapter { reason }.into())
                }
            },
            _ => Ok(adapters::best()),
        }
    }

    /// Opens the adapter with this number, or the first whose name contains `name` (ignoring case), software adapters
    /// included.
    ///
    /// # Errors
    /// [`ErrorKind::NoAdapter`](crate::ErrorKind::NoAdapter) with the adapters of the machine;
    /// [`ErrorKind::Device`](crate::ErrorKind::Device) if no device can be opened on it.
    pub fn gpu(name: &str) -> Result<Backend> {
        let none = |reason| Error::from(ErrorKind::NoAdapter { reason }).advise(advice::OTHER_BACKENDS);
        Gpu::open(&adapters::named(name).map_err(none)?).map(Backend::Gpu)
    }
}

impl From<Gpu> for Backend {
    fn from(gpu: Gpu) -> Self {
        Backend::Gpu(gpu)
    }
}

impl std::fmt::Display for Backend {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Backend::Gpu(gpu) => gpu.fmt(f),
            Backend::Cpu => write!(f, "CPU ({} cores)", std::thread::available_parallelism().map_or(1, usize::from)),
        }
    }
}
