//! A group of views in a recipe.

use super::check_views;
use crate::error::{Error, Result};
use crate::plan::{Output, Semantics};
use crate::transforms::Transform;
use serde::Serialize;

/// The name of the only group of a recipe with one list, and of a loader of it.
pub(super) const IMAGE: &str = "image";

/// Views of each sample with a list of their own, as a [`Recipe`](super::Recipe) has them in its
/// [`groups`](super::Recipe::groups).
///
/// ```
/// use gpufeed::Semantics;
/// use gpufeed::recipe::{self, Recipe, ViewGroup};
/// use gpufeed::transforms::RandomResizedCrop;
///
/// let mut local = ViewGroup::new("local", 8, [RandomResizedCrop::new(96).scale(0.05, 0.4).into()]);
/// local.semantics = Some(Semantics::Uint8);
/// let recipe = Recipe { groups: vec![local], ..Recipe::default() };
/// assert_eq!(recipe::from_toml(&recipe.to_toml()?)?, recipe);
/// # Ok::<(), gpufeed::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ViewGroup {
    /// Its name in batches.
    pub name: String,
    /// Views of each sample: 1 to 64.
    pub views: usize,
    /// The arithmetic of the operators; `None` leaves the recipe's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub semantics: Option<Semantics>,
    /// Layout and type of the group's images; `None` leaves the recipe's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<Output>,
    /// The operators, in the order in which they apply.
    #[serde(rename = "transform")]
    pub transforms: Vec<Transform>,
}

impl ViewGroup {
    /// Makes a group with the recipe's output and semantics.
    pub fn new(name: impl Into<String>, views: usize, transforms: impl IntoIterator<Item = Transform>) -> Self {
        let (name, transforms) = (name.into(), transforms.into_iter().collect());
        ViewGroup { name, views, semantics: None, output: None, transforms }
    }

    /// Checks everything but the arguments of the operators and the names of the other groups.
    pub(super) fn check(&self) -> Result<()> {
        match &*self.name {
            "" => Err(Error::argument("group", "a group has no name")),
            "label" => Err(Error::argument("group", "\"label\" is no name for a group: batches have labels under it")),
            _ => check_views(self.views),
        }
    }
}

/// Checks the groups of a recipe, without the arguments of their operators.
///
/// # Errors
/// [`ErrorKind::Argument`](crate::ErrorKind::Argument) with the group's number, from 0.
pub(super) fn check(groups: &[ViewGroup]) -> Result<(), (usize, Error)> {
    for (number, group) in groups.iter().enumerate() {
        group.check().map_err(|error| (number, error))?;
        if groups[..number].iter().any(|other| other.name == group.name) {
            let reason = format!("two groups have the name {:?}", group.name);
            return Err((number, Error::argument("group", reason)));
        }
    }
    Ok(())
}
