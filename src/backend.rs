//! The choice of the GPU or the CPU for a loader or processor.

use crate::advice;
use crate::error::{Error, ErrorKind, Result};
use crate::gpu::{Choice, Gpu, Rule, Verdict, Want, adapters, missing};
use std::sync::Once;

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

impl Backend {
    /// The best GPU of the machine, or the CPU if there is none.
    ///
    /// The rules, of which the first that fits chooses; [`choose`](Self::choose) says which:
    ///
    /// - The environment variable `GPUFEED_ADAPTER` names an adapter, or asks for the `cpu`: see [`gpu`](Self::gpu).
    /// - Under a launcher it is the card of this process's rank on this machine (`LOCAL_RANK`,
    ///   `OMPI_COMM_WORLD_LOCAL_RANK`, `MPI_LOCALRANKID`, and `SLURM_LOCALID` in a step) among those that are equal to the
    ///   best one by name, kind and API, in the order of their PCI addresses. Ranks beyond the last card begin again.
    /// - A discrete GPU is preferred to an integrated one, and that to a virtual one.
    ///
    /// Cards that `CUDA_VISIBLE_DEVICES` hides (of NVIDIA), or `ROCR_VISIBLE_DEVICES` and `HIP_VISIBLE_DEVICES` (of AMD),
    /// are left out before the rank is counted, and the others have the order of that variable. A software adapter is
    /// never chosen, as the CPU executor is several times faster.
    ///
    /// Where the machine has a GPU that no driver makes an adapter of, the log has a warning with the likely reasons,
    /// once in a process; [`require_gpu`](Self::require_gpu) makes an error of it.
    ///
    /// # Errors
    /// [`ErrorKind::NoAdapter`](crate::ErrorKind::NoAdapter) if `GPUFEED_ADAPTER` names an adapter that does not exist, or
    /// a launcher's variable is no number; [`ErrorKind::Device`](crate::ErrorKind::Device) if no device can be opened on
    /// the adapter.
    pub fn auto() -> Result<Backend> {
        Ok(Backend::auto_chosen()?.0)
    }

    /// The backend of [`auto`](Self::auto), and how it was chosen.
    #[doc(hidden)] // for the command and Python, whose CPU backend says why it is the CPU
    pub fn auto_chosen() -> Result<(Backend, Choice)> {
        let (adapter, choice) = Backend::choose()?;
        let backend = match adapter {
            Some(adapter) => Backend::Gpu(Gpu::open_chosen(&adapter, choice.clone())?),
            None => Backend::Cpu,
        };
        Ok((backend, choice))
    }

    /// The adapter that [`auto`](Self::auto) would open, `None` for the CPU, and how it was chosen.
    ///
    /// ```
    /// use gpufeed::Backend;
    ///
    /// let (adapter, choice) = Backend::choose()?;
    /// println!("{}: {choice}", adapter.map_or("the CPU".to_owned(), |adapter| adapter.get_info().name));
    /// # Ok::<(), gpufeed::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::NoAdapter`](crate::ErrorKind::NoAdapter), as by [`auto`](Self::auto).
    pub fn choose() -> Result<(Option<wgpu::Adapter>, Choice)> {
        let adapters = Gpu::enumerate();
        let (adapter, choice) = chosen(&adapters, Want::Auto).map_err(no_adapter)?;
        warn_of_missing(&adapters, adapter.as_ref(), &choice);
        Ok((adapter, choice))
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
    /// [`ErrorKind::NoAdapter`](crate::ErrorKind::NoAdapter), as by [`auto`](Self::auto).
    pub fn adapter() -> Result<Option<wgpu::Adapter>> {
        Ok(Backend::choose()?.0)
    }

    /// The GPU of [`auto`](Self::auto), or an error where that takes the CPU.
    ///
    /// ```
    /// use gpufeed::{Backend, ErrorKind};
    ///
    /// match Backend::require_gpu() {
    ///     Ok(backend) => println!("{backend}"),
    ///     Err(error) => assert!(matches!(error.kind(), ErrorKind::NoAdapter { .. }), "{error}"),
    /// }
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::NoAdapter`](crate::ErrorKind::NoAdapter) with the reason, and with what hides a GPU that the machine
    /// has; the other errors of [`auto`](Self::auto).
    pub fn require_gpu() -> Result<Backend> {
        let adapters = Gpu::enumerate();
        let (adapter, choice) = chosen(&adapters, Want::Auto).map_err(no_adapter)?;
        if let Some(adapter) = adapter {
            return Gpu::open_chosen(&adapter, choice).map(Backend::Gpu);
        }
        let mut reason = choice.to_string();
        // A variable that asks for the CPU, or hides every GPU, is the whole reason.
        if choice.rule == Rule::NoHardware {
            if let Some(adapter) = adapters.first() {
                reason += &format!(" but in software ({})", Gpu::describe(adapter));
            }
            reason += &missing_here(&adapters);
        }
        Err(no_adapter(reason).advise(advice::OTHER_BACKENDS).advise(advice::NAMED_BACKEND))
    }

    /// Opens the adapter with this number, UUID (or one that begins so: `GPU-8932f937`) or PCI address, or the first whose
    /// name contains `name` (ignoring case), software adapters included. [`Gpu::adapters`] lists them.
    ///
    /// Under a launcher, of several equal cards of that name the one of this process's rank on this machine is taken. A
    /// part of a name means a card that the variables of [`auto`](Self::auto) hide only if they leave none of that name.
    ///
    /// # Errors
    /// [`ErrorKind::NoAdapter`](crate::ErrorKind::NoAdapter) with the adapters of the machine;
    /// [`ErrorKind::Device`](crate::ErrorKind::Device) if no device can be opened on it.
    pub fn gpu(name: &str) -> Result<Backend> {
        let adapters = Gpu::enumerate();
        let none = |reason| no_adapter(format!("{reason}{}", missing_here(&adapters))).advise(advice::OTHER_BACKENDS);
        let (adapter, choice) = chosen(&adapters, Want::Named(name)).map_err(none)?;
        Gpu::open_chosen(&adapter.expect("what is named is an adapter"), choice).map(Backend::Gpu)
    }

    /// The GPU of [`auto`](Self::auto), or a software adapter where that takes the CPU; for the command's `--backend gpu`.
    #[doc(hidden)]
    pub fn any_gpu() -> Result<Backend> {
        let adapters = Gpu::enumerate();
        let (adapter, choice) = chosen(&adapters, Want::Any).map_err(no_adapter)?;
        let Some(adapter) = adapter else {
            let reason = format!("{choice}, and there is none in software{}", missing_here(&adapters));
            return Err(no_adapter(reason).advise(advice::OTHER_BACKENDS));
        };
        warn_of_missing(&adapters, Some(&adapter), &choice);
        Gpu::open_chosen(&adapter, choice).map(Backend::Gpu)
    }
}

/// Warns once of GPUs that have no adapter, where `taken` is the CPU or in software and nobody has asked for that.
fn warn_of_missing(adapters: &[wgpu::Adapter], taken: Option<&wgpu::Adapter>, choice: &Choice) {
    static MISSING: Once = Once::new();
    let software = |adapter: &wgpu::Adapter| adapter.get_info().device_type == wgpu::DeviceType::Cpu;
    // Under a launcher the rule is the rank's, and the name stands before it.
    let named = choice.narrowed.iter().any(|narrowed| narrowed.vendor.is_none());
    let asked_for = named || matches!(choice.rule, Rule::CpuNamed | Rule::Named { .. });
    if !asked_for && adapters.iter().all(software) {
        MISSING.call_once(|| {
            if let Some(reasons) = missing::warning(adapters) {
                let taken = taken.map_or_else(|| "the CPU".to_owned(), Gpu::describe);
                tracing::warn!("{taken} is taken, since {reasons}");
            }
        });
    }
}

/// Chooses among `adapters`, and says in the log which it is, and once what is not certain.
fn chosen(adapters: &[wgpu::Adapter], want: Want<'_>) -> Result<(Option<wgpu::Adapter>, Choice), String> {
    static DOUBTS: Once = Once::new();
    let picked = adapters::pick(adapters, want)?;
    let (adapter, choice) = (picked.adapter.map(|adapter| adapters[adapter].clone()), picked.choice);
    // Without one `auto` takes the CPU, and the other callers fail.
    let name = adapter.as_ref().map_or_else(|| "no GPU".to_owned(), Gpu::describe);
    tracing::info!("{name} is taken: {choice}");
    let doubts = choice.doubts();
    if !doubts.is_empty() {
        DOUBTS.call_once(|| tracing::warn!("{name} is taken; {}", doubts.join("; ")));
    }
    Ok((adapter, choice))
}

/// Chooses among `adapters` as [`Backend::auto`] does: the number of the one that is taken, how, and what became of each.
#[doc(hidden)] // for `gpufeed doctor`
pub fn choose_among(adapters: &[wgpu::Adapter]) -> Result<(Option<usize>, Choice, Vec<Verdict>)> {
    let picked = adapters::pick(adapters, Want::Auto).map_err(no_adapter)?;
    Ok((picked.adapter, picked.choice, picked.verdicts))
}

fn no_adapter(reason: String) -> Error {
    ErrorKind::NoAdapter { reason }.into()
}

/// What hides the machine's GPUs from these adapters, as the rest of a sentence; nothing if nothing does.
fn missing_here(adapters: &[wgpu::Adapter]) -> String {
    missing::warning(adapters).map_or_else(String::new, |reasons| format!(". {reasons}"))
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
