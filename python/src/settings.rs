//! Makes a loader with the settings that `gpufeed/loader.py` has checked.

use crate::orders;
use crate::transforms;
use gpufeed::decode::ReadMode;
use gpufeed::transforms::{HostCode, Interpolation};
use gpufeed::{Backend, DataLoader, Dataset, Error, ErrorKind, Export, HostBufferHook, LoaderSettings, Views};
use pyo3::prelude::*;
use serde::Deserialize;
use std::path::PathBuf;
use std::sync::Arc;

/// Opens the backend with this name: `cpu`, `gpu` (the best adapter), `auto`, or an adapter's number, UUID, PCI address or
/// name. Only by one of these is a software adapter chosen. Also returns why it is this one; `None` for `cpu`.
fn backend_of(name: &str) -> Result<(Backend, Option<String>), Error> {
    let backend = match name {
        "cpu" => Backend::Cpu,
        "auto" => return Backend::auto_chosen().map(|(backend, choice)| (backend, Some(choice.to_string()))),
        "gpu" => Backend::require_gpu()?,
        name => Backend::gpu(name)?,
    };
    let choice = if let Backend::Gpu(gpu) = &backend { gpu.choice().map(ToString::to_string) } else { None };
    Ok((backend, choice))
}

/// A group of views as `gpufeed/views.py` writes it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenGroup {
    name: String,
    views: usize,
    recipe: serde_json::Value,
    source: Option<String>,
    follows: Option<String>,
    read_mode: Option<ReadMode>,
    interpolation: Option<Interpolation>,
    fill: Option<f32>,
}

impl WrittenGroup {
    fn views(self, codes: &[HostCode]) -> Result<(String, Views), Error> {
        let recipe = transforms::read_with(&self.recipe.to_string(), Some(codes))?;
        let mut views = Views::new(self.views).recipe(recipe);
        if let Some(source) = self.source {
            views = views.source(source);
        }
        if let Some(group) = self.follows {
            views = views.follows(group);
        }
        if let Some(read_mode) = self.read_mode {
            views = views.read_mode(read_mode);
        }
        if let Some(interpolation) = self.interpolation {
            views = views.interpolation(interpolation);
        }
        if let Some(fill) = self.fill {
            views = views.fill(fill);
        }
        Ok((self.name, views))
    }
}

/// Builds the loader of a recipe, or of groups of views in its place, and of settings, all as JSON. `order` is what `orders.rs` reads. `hook` is called for each host buffer that is made or
/// freed. The lists have own code by its number among `codes`. `export` is about the backend's memory. Also returns why the backend is this one; `None` for `cpu`.
pub(crate) fn build(
    data: Arc<dyn Dataset>,
    (recipe, groups, codes): (&str, Option<&str>, &[HostCode]),
    order: Option<&str>,
    settings: &str,
    (backend, export): (&str, bool),
    hook: Arc<dyn HostBufferHook>,
) -> Result<(DataLoader, Option<String>), Error> {
    let refused = |error: serde_json::Error| ErrorKind::Argument { setting: "settings", reason: error.to_string() };
    let settings: LoaderSettings = serde_json::from_str(settings).map_err(refused)?;
    let orders = order.map(|order| orders::read(order, &*data)).transpose()?;
    let builder = DataLoader::builder(data);
    let builder = match groups {
        None => builder.recipe(transforms::read_with(recipe, Some(codes))?),
        Some(groups) => {
            let groups: Vec<WrittenGroup> = serde_json::from_str(groups).map_err(refused)?;
            groups.into_iter().try_fold(builder, |builder, group| -> Result<_, Error> {
                let (name, views) = group.views(codes)?;
                Ok(builder.group(name, views))
            })?
        }
    };
    // A setting replaces the recipe's.
    let builder = builder.settings(settings);
    let builder = if let Some(orders) = orders { builder.sampler(orders) } else { builder };
    let (backend, chosen) = backend_of(backend)?;
    let builder = if export { builder.export(Export::Auto) } else { builder };
    Ok((builder.page_aligned(true).host_buffer_hook(hook).build(&backend)?, chosen))
}

/// Returns the settings in a file of TOML or JSON, as JSON. Raises what is wrong with them.
#[pyfunction]
pub(crate) fn settings_of(py: Python<'_>, path: PathBuf) -> PyResult<String> {
    let given = gpufeed::internals::settings_of(&path).map_err(|error| crate::errors::to_python(py, &error))?;
    Ok(serde_json::Value::from(given).to_string())
}
