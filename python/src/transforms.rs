//! Reads recipes: by name, as TOML, and as what the Python side makes of torchvision's objects.

use crate::errors;
use gpufeed::recipe::ViewGroup;
use gpufeed::{Error, ErrorKind, Plan, Recipe, recipe};
use pyo3::prelude::*;

/// Reads a recipe. If the text begins with a brace, it is the JSON of a recipe file's content; else it is the name of a
/// built-in recipe, or the path of a TOML file.
pub(crate) fn read(text: &str) -> Result<Recipe, Error> {
    if !text.trim_start().starts_with('{') {
        return recipe::load(text);
    }
    let refuse = |reason: String| Error::from(ErrorKind::Argument { setting: "recipe", reason });
    let content: toml::Table = serde_json::from_str(text).map_err(|error| refuse(error.to_string()))?;
    let toml = toml::to_string(&content).map_err(|error| refuse(error.to_string()))?;
    recipe::from_toml(&toml)
}

/// Returns the recipe as TOML, as gpufeed understands it. Raises what is wrong with it.
#[pyfunction]
pub(crate) fn recipe_toml(py: Python<'_>, text: &str) -> PyResult<String> {
    read(text).and_then(|recipe| recipe.to_toml()).map_err(|error| errors::to_python(py, &error))
}

/// Checks the whole lists of a recipe for images with this number of channels. Raises what is wrong with it.
#[pyfunction]
pub(crate) fn recipe_check(py: Python<'_>, text: &str, channels: u32) -> PyResult<()> {
    let compiles = |group: &ViewGroup| {
        let (semantics, output) = (group.semantics.unwrap_or_default(), group.output.unwrap_or_default());
        Plan::compile_as(semantics, group.channels(channels), &group.transforms, &output).map(drop)
    };
    let compiled = read(text).and_then(|recipe| recipe.lists().iter().try_for_each(compiles));
    compiled.map_err(|error| errors::to_python(py, &error))
}

/// Returns the places of two `Normalize` of a recipe that work on the same image.
#[pyfunction]
pub(crate) fn normalized_twice(py: Python<'_>, text: &str) -> PyResult<Option<(String, String)>> {
    let recipe = read(text).map_err(|error| errors::to_python(py, &error))?;
    let twice = |group: ViewGroup| gpufeed::internals::normalized_twice(&group.transforms);
    Ok(recipe.lists().into_iter().find_map(twice))
}

/// Returns the names of the built-in recipes.
#[pyfunction]
pub(crate) fn recipe_names() -> Vec<&'static str> {
    recipe::NAMES.to_vec()
}

/// Returns the content of a recipe file as JSON, which the Python side can change.
#[pyfunction]
pub(crate) fn recipe_content(py: Python<'_>, text: &str) -> PyResult<String> {
    let toml = read(text).and_then(|recipe| recipe.to_toml()).map_err(|error| errors::to_python(py, &error))?;
    let content: toml::Table = toml.parse().map_err(to_value_error)?;
    serde_json::to_string(&content).map_err(to_value_error)
}

fn to_value_error(error: impl std::fmt::Display) -> PyErr {
    pyo3::exceptions::PyValueError::new_err(error.to_string())
}
