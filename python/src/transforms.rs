//! Reads recipes: by name, as TOML, and as what the Python side makes of torchvision's objects.

use crate::errors;
use crate::own_code::unbound;
use gpufeed::recipe::ViewGroup;
use gpufeed::transforms::{HostCode, Transform};
use gpufeed::{Error, ErrorKind, Plan, Recipe, recipe};
use pyo3::prelude::*;

/// Reads a recipe. If the text begins with a brace, it is the JSON of a recipe file's content; else it is the name of a
/// built-in recipe, or the path of a TOML file.
pub(crate) fn read(text: &str) -> Result<Recipe, Error> {
    read_with(text, None)
}

/// Reads a recipe as [`read`] does. Its own code has numbers among `codes`; without these it cannot be called.
pub(crate) fn read_with(text: &str, codes: Option<&[HostCode]>) -> Result<Recipe, Error> {
    if !text.trim_start().starts_with('{') {
        return recipe::load(text);
    }
    let refuse = |reason: String| Error::from(ErrorKind::Argument { setting: "recipe", reason });
    let mut content: toml::Table = serde_json::from_str(text).map_err(|error| refuse(error.to_string()))?;
    let code = take_code(&mut content);
    let toml = toml::to_string(&content).map_err(|error| refuse(error.to_string()))?;
    let mut recipe = recipe::from_toml(&toml)?;
    for (place, number) in code {
        let transform = match codes {
            None => unbound("own code"),
            Some(codes) => {
                let code =
                    codes.get(number).ok_or_else(|| refuse(format!("there is no own code of number {number}")))?;
                code.clone()
            }
        };
        // The places count from the front, so those before are there already.
        recipe.transforms.insert(place.min(recipe.transforms.len()), Transform::from(transform));
    }
    Ok(recipe)
}

/// Takes the user's own code out of a recipe's list, which no recipe file can have: the places in the list, and the numbers.
fn take_code(content: &mut toml::Table) -> Vec<(usize, usize)> {
    let Some(toml::Value::Array(list)) = content.get_mut("transform") else { return Vec::new() };
    let number = |transform: &toml::Value| {
        let is_code = transform.get("type").and_then(toml::Value::as_str) == Some("HostCode");
        is_code.then(|| transform.get("number").and_then(toml::Value::as_integer).unwrap_or(-1))
    };
    let taken = list.iter().enumerate().filter_map(|(place, each)| Some((place, number(each)?)));
    let taken = taken.map(|(place, number)| (place, usize::try_from(number).unwrap_or(usize::MAX))).collect();
    list.retain(|each| number(each).is_none());
    taken
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
