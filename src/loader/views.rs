//! A group of views as a user asks for it.

use crate::plan::{DType, Layout, Output, Semantics};
use crate::recipe::Recipe;
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
    /// count.
    pub fn recipe(mut self, recipe: impl Into<Recipe>) -> Self {
        let Recipe { transforms, output, semantics, .. } = recipe.into();
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
