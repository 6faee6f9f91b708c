//! Makes a loader with the settings that `gpufeed/loader.py` has checked.

use crate::transforms;
use gpufeed::{Backend, DataLoader, Dataset, Error, ErrorKind, HostBufferHook, LoaderSettings};
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::Arc;

/// Opens the backend with this name: `cpu`, `gpu` (the best adapter), `auto`, or an adapter's name. Only by its name is
/// a software adapter chosen.
fn backend_of(name: &str) -> Result<Backend, Error> {
    match name {
        "cpu" => Ok(Backend::Cpu),
        "auto" => Backend::auto(),
        "gpu" => match Backend::auto()? {
            Backend::Cpu => {
                let reason = "backend=\"gpu\": there is none but the CPU and software adapters; backend=\"auto\" takes \
                              the CPU then, and GPUFEED_ADAPTER or backend=\"NAME\" a software adapter";
                Err(ErrorKind::NoAdapter { reason: reason.to_owned() }.into())
            }
            backend => Ok(backend),
        },
        name => Backend::gpu(name),
    }
}

/// Builds the loader of a recipe and of settings, both as JSON. `hook` is called for each host buffer that is made or
/// freed.
pub(crate) fn build(
    data: Arc<dyn Dataset>,
    recipe: &str,
    settings: &str,
    backend: &str,
    hook: Arc<dyn HostBufferHook>,
) -> Result<DataLoader, Error> {
    let refused = |error: serde_json::Error| ErrorKind::Argument { setting: "settings", reason: error.to_string() };
    let settings: LoaderSettings = serde_json::from_str(settings).map_err(refused)?;
    let recipe = transforms::read(recipe)?;
    let builder = DataLoader::builder(data).recipe(recipe).settings(settings);
    builder.page_aligned(true).host_buffer_hook(hook).build(&backend_of(backend)?)
}

/// Returns the settings in a file of TOML or JSON, as JSON. Raises what is wrong with them.
#[pyfunction]
pub(crate) fn settings_of(py: Python<'_>, path: PathBuf) -> PyResult<String> {
    let given = gpufeed::internals::settings_of(&path).map_err(|error| crate::errors::to_python(py, &error))?;
    Ok(serde_json::Value::from(given).to_string())
}
