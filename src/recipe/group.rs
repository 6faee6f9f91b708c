//! A group of views in a recipe.

use super::check_views;
use crate::decode::ReadMode;
use crate::error::{Error, Result};
use crate::plan::{Arrangement, DType, Output, Semantics};
use crate::transforms::{Interpolation, Transform};
use serde::Serialize;

/// The name of the only group of a recipe with one list, and of a loader of it.
pub(crate) const IMAGE: &str = "image";

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
    /// The field of the images, of the kind [`FieldKind::Image`](crate::FieldKind::Image); `None` is the sample's own image
    /// ([`Views::source`](crate::Views::source)).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The numbers that are read from the images of a source; colour by default
    /// ([`Views::read_mode`](crate::Views::read_mode)).
    #[serde(skip_serializing_if = "is_color")]
    pub read_mode: ReadMode,
    /// The group whose geometry these views have ([`Views::follows`](crate::Views::follows)).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub follows: Option<String>,
    /// How views that follow others compute pixels ([`Views::interpolation`](crate::Views::interpolation)).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interpolation: Option<Interpolation>,
    /// The number of what lies outside of the images of views that follow others ([`Views::fill`](crate::Views::fill)).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fill: Option<f32>,
    /// The arithmetic of the operators; `None` leaves the recipe's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub semantics: Option<Semantics>,
    /// How the images lie, where their sizes may differ; `None` leaves the recipe's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arrangement: Option<Arrangement>,
    /// The operators, in the order in which they apply; a group that follows another one may have none.
    #[serde(rename = "transform")]
    pub transforms: Vec<Transform>,
    /// Layout and type of the group's images; `None` leaves the recipe's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<Output>,
}

impl ViewGroup {
    /// Makes a group of views of the sample's own image, with the recipe's output, semantics and arrangement.
    pub fn new(name: impl Into<String>, views: usize, transforms: impl IntoIterator<Item = Transform>) -> Self {
        ViewGroup {
            name: name.into(),
            views,
            source: None,
            read_mode: ReadMode::Color,
            follows: None,
            interpolation: None,
            fill: None,
            semantics: None,
            arrangement: None,
            output: None,
            transforms: transforms.into_iter().collect(),
        }
    }

    /// Channels of the images that the operators get, where the sample's own image has `of_image`.
    ///
    /// ```
    /// use gpufeed::decode::ReadMode;
    /// use gpufeed::recipe::ViewGroup;
    ///
    /// let mut depth = ViewGroup::new("depth", 1, []);
    /// (depth.source, depth.read_mode) = (Some("depth.png".into()), ReadMode::Gray16);
    /// assert_eq!(depth.channels(3), 1);
    /// ```
    pub fn channels(&self, of_image: u32) -> u32 {
        if self.source.is_some() { self.read_mode.channels() } else { of_image }
    }
}

/// The output of a group that has this one of its own, or else that of its recipe. Numbers of classes are bytes, whatever the other images
/// are.
pub(crate) fn output_of(mode: ReadMode, own: Option<Output>, of_recipe: Output) -> Output {
    match mode {
        ReadMode::Mask => own.unwrap_or(Output { dtype: DType::U8, ..of_recipe }),
        ReadMode::Color | ReadMode::Gray16 => own.unwrap_or(of_recipe),
    }
}

/// Checks the name of a group that stands after those that are called `others`.
///
/// # Errors
/// [`ErrorKind::Argument`](crate::ErrorKind::Argument) for an empty name, `label`, and that of another one.
pub(crate) fn check_name<'a>(name: &str, mut others: impl Iterator<Item = &'a str>) -> Result<()> {
    let refuse = |reason: String| Err(Error::argument("group", reason));
    match name {
        "" | "label" => refuse(format!("{name:?} is no name for a group")),
        _ if others.any(|other| other == name) => refuse(format!("two groups have the name {name:?}")),
        _ => Ok(()),
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde requires a reference")]
fn is_color(mode: &ReadMode) -> bool {
    *mode == ReadMode::Color
}

/// Checks the groups of a recipe, without the arguments of their operators.
///
/// # Errors
/// [`ErrorKind::Argument`](crate::ErrorKind::Argument) with the group's number, from 0.
pub(super) fn check(groups: &[ViewGroup]) -> Result<(), (usize, Error)> {
    for (number, group) in groups.iter().enumerate() {
        let others = groups[..number].iter().map(|other| other.name.as_str());
        let checked = check_name(&group.name, others).and_then(|()| check_views(group.views));
        checked.map_err(|error| (number, error))?;
    }
    Ok(())
}
