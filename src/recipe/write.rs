//! Writes a recipe as TOML.

use super::{Recipe, ViewGroup};
use crate::error::{Error, Result};
use crate::plan::{Arrangement, Output, Semantics};
use crate::transforms::{BatchTransform, Mosaic, Transform};
use serde::Serialize;

/// A recipe for writing; reading uses another type, which has the positions of keys.
#[derive(Serialize)]
struct WrittenRecipe<'a> {
    #[serde(skip_serializing_if = "str::is_empty")]
    name: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    description: &'a str,
    #[serde(skip_serializing_if = "is_one")]
    views: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    semantics: Option<Semantics>,
    #[serde(skip_serializing_if = "Option::is_none")]
    arrangement: Option<Arrangement>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<Output>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mosaic: Option<&'a Mosaic>,
    /// None in a recipe with groups; an empty list is written.
    #[serde(skip_serializing_if = "Option::is_none")]
    transform: Option<&'a [Transform]>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    batch_transform: &'a [BatchTransform],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    group: &'a [ViewGroup],
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde requires a reference")]
fn is_one(views: &usize) -> bool {
    *views == 1
}

/// # Errors
/// [`ErrorKind::Argument`](crate::ErrorKind::Argument) for what TOML cannot represent.
pub(super) fn toml(recipe: &Recipe) -> Result<String> {
    let Recipe {
        name,
        description,
        transforms,
        output,
        semantics,
        arrangement,
        views,
        batch_transform,
        mosaic,
        groups,
    } = recipe;
    let file = WrittenRecipe {
        name,
        description,
        views: *views,
        semantics: *semantics,
        arrangement: *arrangement,
        output: *output,
        mosaic: mosaic.as_ref(),
        transform: groups.is_empty().then_some(&transforms[..]),
        batch_transform: batch_transform.as_slice(),
        group: groups,
    };
    toml::to_string(&file).map_err(|error| Error::argument("recipe", error.to_string()))
}
