//! A group of views as a user asks for it.

use crate::decode::ReadMode;
use crate::plan::{Arrangement, DType, Layout, Output, Semantics};
use crate::recipe::{Recipe, ViewGroup};
use crate::transforms::{Interpolation, Transform};

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
    /// The field of the images; `None` for the sample's own one.
    pub(super) source: Option<String>,
    pub(super) read_mode: ReadMode,
    /// The group whose geometry these views have.
    pub(super) follows: Option<String>,
    pub(super) interpolation: Option<Interpolation>,
    /// The number of what lies outside of the image.
    pub(super) fill: Option<f32>,
}

impl Views {
    /// `count` views of each sample, 1 to 64, of which each draws random numbers of its own.
    pub fn new(count: usize) -> Self {
        Views::of(Recipe { views: count, ..Recipe::default() })
    }

    /// The views of a recipe, which has their number.
    pub(super) fn of(recipe: Recipe) -> Self {
        Views { recipe, source: None, read_mode: ReadMode::Color, follows: None, interpolation: None, fill: None }
    }

    /// Makes the views of another image of the sample: of the data set's field with this name, which has to be of the kind
    /// [`FieldKind::Image`](crate::FieldKind::Image). By default they are made of the sample's own image.
    ///
    /// The image has a size of its own, and is decoded apart from the others of the sample, only as far as the groups
    /// read it. It has three channels, gray ones too, unless [`read_mode`](Self::read_mode) says otherwise. A sample fails
    /// if the image is absent or damaged; the error has the field's name.
    ///
    /// The views draw random numbers of their own, as those of every group do, unless they [follow](Self::follows) others.
    ///
    /// ```
    /// use gpufeed::Views;
    /// use gpufeed::transforms::RandomResizedCrop;
    ///
    /// let right = Views::new(1).source("right").transform(RandomResizedCrop::new(224));
    /// # let _ = right;
    /// ```
    pub fn source(mut self, field: impl Into<String>) -> Self {
        self.source = Some(field.into());
        self
    }

    /// The numbers that are read from the images of a [`source`](Self::source): colour by default. With
    /// [`ReadMode::Gray16`] images have one channel with the numbers of the file, 0 to 65,535, as floats; the list may then
    /// have operators that move pixels, and `Normalize`, as others take white for 1. With [`ReadMode::Mask`] they have one
    /// channel with the numbers of a palette or of gray, 0 to 255, as they are: the classes of a segmentation. The list may have
    /// operators that move pixels without computing between them, and the output is [`DType::U8`], also by default.
    ///
    /// ```
    /// use gpufeed::Views;
    /// use gpufeed::decode::ReadMode;
    ///
    /// let depth = Views::new(1).source("depth").read_mode(ReadMode::Gray16).follows("image");
    /// let classes = Views::new(1).source("mask").read_mode(ReadMode::Mask).follows("image").fill(255.0);
    /// # let _ = (depth, classes);
    /// ```
    pub fn read_mode(mut self, read_mode: ReadMode) -> Self {
        self.read_mode = read_mode;
        self
    }

    /// Gives each view the geometry of the same view of another group: its crops, borders, sizes, flips and warps, without
    /// what it does to colours. So a mask or a depth stays with its picture.
    ///
    /// Both groups need as many views, and sources of one size in each sample: a sample whose sources differ in size fails.
    /// The group's own list may have operators of colours that draw nothing, such as `Normalize`; they come last. Constant
    /// borders, and what warps leave outside of the image, are 0, or the group's [`fill`](Self::fill). The other group may stand before or after this one, may
    /// be of another source, and may follow none itself.
    ///
    /// ```
    /// use gpufeed::Views;
    /// use gpufeed::transforms::{RandomHorizontalFlip, RandomResizedCrop};
    ///
    /// let image = Views::new(1).transform(RandomResizedCrop::new(224)).transform(RandomHorizontalFlip::new(0.5));
    /// let mask = Views::new(1).source("mask").follows("image");
    /// # let _ = (image, mask);
    /// ```
    pub fn follows(mut self, group: impl Into<String>) -> Self {
        self.follows = Some(group.into());
        self
    }

    /// How views that [follow](Self::follows) others compute pixels between those of the source; [`Interpolation::Nearest`]
    /// by default, so that no number arises which the source has not. Views that follow none have their operators' own.
    pub fn interpolation(mut self, interpolation: Interpolation) -> Self {
        self.interpolation = Some(interpolation);
        self
    }

    /// The number of constant borders, and of what warps leave outside of the image, of views that [follow](Self::follows) others, in
    /// place of what the other group's operators say; 0 by default. It is a number of the group's images: 0 to 255, with
    /// [`ReadMode::Gray16`] 0 to 65,535. Many segmenters ignore the class 255.
    ///
    /// ```
    /// use gpufeed::Views;
    /// use gpufeed::decode::ReadMode;
    ///
    /// let mask = Views::new(1).source("mask").follows("image").read_mode(ReadMode::Mask).fill(255.0);
    /// # let _ = mask;
    /// ```
    pub fn fill(mut self, fill: f32) -> Self {
        self.fill = Some(fill);
        self
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
    /// count. A recipe with groups is no list, one with a batch transform mixes whole batches, and one with a mosaic is for a loader with one
    /// list: building the loader is an error then.
    pub fn recipe(mut self, recipe: impl Into<Recipe>) -> Self {
        let Recipe { transforms, output, semantics, arrangement, batch_transform, mosaic, groups, .. } = recipe.into();
        self.recipe.groups.extend(groups);
        self.recipe.batch_transform = batch_transform.or(self.recipe.batch_transform.take());
        self.recipe.mosaic = mosaic.or(self.recipe.mosaic.take());
        self.recipe.output = output.or(self.recipe.output);
        self.recipe.semantics = semantics.or(self.recipe.semantics);
        self.recipe.arrangement = arrangement.or(self.recipe.arrangement);
        self.transforms(transforms)
    }

    /// Layout and type of the group's images; by default those of the loader
    /// ([`DataLoaderBuilder::output`](crate::DataLoaderBuilder::output)).
    pub fn output(mut self, layout: Layout, dtype: DType) -> Self {
        self.recipe.output = Some(Output { layout, dtype });
        self
    }

    /// How the group's images lie, where their sizes may differ; by default as those of the loader
    /// ([`DataLoaderBuilder::arrangement`](crate::DataLoaderBuilder::arrangement)).
    pub fn arrangement(mut self, arrangement: Arrangement) -> Self {
        self.recipe.arrangement = Some(arrangement);
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
        let ViewGroup {
            name: _,
            views,
            source,
            read_mode,
            follows,
            interpolation,
            fill,
            semantics,
            arrangement,
            transforms,
            output,
        } = group;
        let recipe = Recipe { views, semantics, arrangement, output, transforms, ..Recipe::default() };
        Views { recipe, source, read_mode, follows, interpolation, fill }
    }
}

impl Views {
    /// These views as the group of a recipe.
    pub(super) fn to_group(&self, name: &str) -> ViewGroup {
        let Views { recipe, source, read_mode, follows, interpolation, fill } = self;
        let Recipe { views, semantics, arrangement, output, transforms, .. } = recipe;
        let mut group = ViewGroup::new(name, *views, transforms.clone());
        (group.source, group.follows) = (source.clone(), follows.clone());
        (group.read_mode, group.interpolation, group.fill) = (*read_mode, *interpolation, *fill);
        (group.semantics, group.arrangement, group.output) = (*semantics, *arrangement, *output);
        group
    }
}
