//! A group of views as a user asks for it.

use crate::plan::{DType, Layout, Output, Semantics};
use crate::recipe::{Recipe, ViewGroup};
use crate::transforms::Transform;

/// Views of each sample with a list of operators of their own: a group of a loader
/// ([`DataLoaderBuilder::group`](crate::DataLoaderBuilder::group)).
///
/// ```
/// use gpufeed::transforms::{Normalize, RandomResizedCrop};
/// use gpufeed::{DType, Layout, Views};
///
/// let local = Views::new(8)
///     .transform(RandomResizedCrop::new(96).scale(0.05, 0.4))
///     .transform(Normalize::IMAGENET)
///     .output(Layout::Nchw, DType::F16);
/// # let _ = local;
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct Views {
    /// The operators with the output, the semantics and the number of views.
    pub(super) recipe: Recipe,
}

impl Views {
    /// `count` views of each sample, 1 to 64, of which each draws random numbers of its own.
    pub fn new(count: usize) -> Self {
        Views { recipe: Recipe { views: count, ..Recipe::default() } }
    }

    /// Adds an operator; operators apply in the order in which they are added.
    pub fn transform(mut self, transform: impl Into<Transform>) -> Self {
        self.recipe.transforms.push(transform.into());
        self
    }

    /// Adds operators in their order.
    pub fn transforms(mut self, transforms: impl IntoIterator<Item = Transform>) -> Self {
        self.recipe.transforms.extend(transforms);
        self
    }

    /// Adds a recipe's operators, and takes over its output and semantics if it names them. Its number of views does not
    /// count. A recipe with groups is no list: building the loader is an error then.
    pub fn recipe(mut self, recipe: impl Into<Recipe>) -> Self {
        let Recipe { transforms, output, semantics, groups, .. } = recipe.into();
        self.recipe.groups.extend(groups);
        self.recipe.output = output.or(self.recipe.output);
        self.recipe.semantics = semantics.or(self.recipe.semantics);
        self.transforms(transforms)
    }

    /// Layout and type of the group's images; by default those of the loader
    /// ([`DataLoaderBuilder::output`](crate::DataLoaderBuilder::output)).
    pub fn output(mut self, layout: Layout, dtype: DType) -> Self {
        self.recipe.output = Some(Output { layout, dtype });
        self
    }

    /// The arithmetic of the operators; by default that of the loader
    /// ([`DataLoaderBuilder::semantics`](crate::DataLoaderBuilder::semantics)).
    pub fn semantics(mut self, semantics: Semantics) -> Self {
        self.recipe.semantics = Some(semantics);
        self
    }
}

/// The views of a group of a recipe.
impl From<ViewGroup> for Views {
    fn from(group: ViewGroup) -> Self {
        let ViewGroup { views, semantics, output, transforms, .. } = group;
        let mut of_group = Views::new(views);
        (of_group.recipe.semantics, of_group.recipe.output) = (semantics, output);
        of_group.transforms(transforms)
    }
}

impl Views {
    /// These views as the group of a recipe.
    pub(super) fn to_group(&self, name: &str) -> ViewGroup {
        let Recipe { views, semantics, output, transforms, .. } = &self.recipe;
        let mut group = ViewGroup::new(name, *views, transforms.clone());
        (group.semantics, group.output) = (*semantics, *output);
        group
    }
}
