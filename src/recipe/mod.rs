//! Recipes: a list of transforms with a name, a description and an output, as Rust or as a small TOML file.

mod built_in;
mod keys;
mod read;

pub use built_in::{
    NAMES, augment_only, cifar_train, decode_only, imagenet_eval, imagenet_train, imagenet_train_jitter, mnist_train,
    named, resize_crop, resize_crop_256, resize_jitter_gray, two_views,
};

use crate::error::{Error, Result};
use crate::plan::Output;
use crate::transforms::Transform;
use serde::Serialize;

/// The most views of a sample: a batch of 64 samples is then 4,096 images.
pub(crate) const MOST_VIEWS: usize = 64;

/// What is done to every image, and how batches lie in memory: what a TOML file says, and what
/// [`DataLoaderBuilder::recipe`](crate::DataLoaderBuilder::recipe) takes.
///
/// ```
/// use gpufeed::recipe::{self, Recipe};
/// use gpufeed::transforms::CenterCrop;
///
/// let built_in = recipe::named("imagenet-train")?;
/// assert_eq!(built_in.transforms, recipe::imagenet_train());
/// let own = Recipe { name: "middle".into(), transforms: vec![CenterCrop::new(64).into()], ..Recipe::default() };
/// assert_eq!(recipe::from_toml(&own.to_toml()?)?, own);
/// # Ok::<(), gpufeed::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Recipe {
    /// Its name; empty if it has none.
    pub name: String,
    /// What it is for; may be empty.
    pub description: String,
    /// The operators, in the order in which they apply.
    pub transforms: Vec<Transform>,
    /// Layout and type of the batches; `None` leaves the loader's.
    pub output: Option<Output>,
    /// Images that a batch has of each sample, each with random numbers of its own; 1 to 64, 1 by default.
    pub views: usize,
}

impl Default for Recipe {
    fn default() -> Self {
        Recipe { name: String::new(), description: String::new(), transforms: Vec::new(), output: None, views: 1 }
    }
}

impl From<Vec<Transform>> for Recipe {
    fn from(transforms: Vec<Transform>) -> Self {
        Recipe { transforms, ..Recipe::default() }
    }
}

impl<const N: usize> From<[Transform; N]> for Recipe {
    fn from(transforms: [Transform; N]) -> Self {
        Vec::from(transforms).into()
    }
}

impl From<&[Transform]> for Recipe {
    fn from(transforms: &[Transform]) -> Self {
        transforms.to_vec().into()
    }
}

impl From<&Vec<Transform>> for Recipe {
    fn from(transforms: &Vec<Transform>) -> Self {
        transforms.clone().into()
    }
}

impl<const N: usize> From<&[Transform; N]> for Recipe {
    fn from(transforms: &[Transform; N]) -> Self {
        transforms.to_vec().into()
    }
}

impl From<&Recipe> for Recipe {
    fn from(recipe: &Recipe) -> Self {
        recipe.clone()
    }
}

/// A recipe as it is written; reading has its own type, which knows where each key stands.
#[derive(Serialize)]
struct File<'a> {
    #[serde(skip_serializing_if = "str::is_empty")]
    name: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    description: &'a str,
    #[serde(skip_serializing_if = "is_one")]
    views: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<Output>,
    transform: &'a [Transform],
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "what serde asks for")]
fn is_one(views: &usize) -> bool {
    *views == 1
}

impl Recipe {
    /// Checks every argument.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`](crate::ErrorKind::Argument) with the argument's name and what would work.
    pub fn validate(&self) -> Result<()> {
        check_views(self.views)?;
        self.transforms.iter().try_for_each(Transform::validate)
    }

    /// Writes it as TOML that [`from_toml`] reads.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`](crate::ErrorKind::Argument) for what TOML cannot hold: a
    /// [`CustomColor`](crate::transforms::CustomColor).
    pub fn to_toml(&self) -> Result<String> {
        let Recipe { name, description, transforms, output, views } = self;
        let file = File { name, description, views: *views, output: *output, transform: transforms };
        toml::to_string(&file).map_err(|error| Error::argument("recipe", error.to_string()))
    }
}

pub(crate) fn check_views(views: usize) -> Result<()> {
    if (1..=MOST_VIEWS).contains(&views) {
        Ok(())
    } else {
        Err(Error::argument("views", format!("{views}; 1 to {MOST_VIEWS} work")))
    }
}

/// Reads a recipe from TOML: one `[[transform]]` table an operator, with torchvision's names, arguments and defaults.
///
/// ```
/// let recipe = gpufeed::recipe::from_toml(
///     r#"
///     name = "mine"                # optional, as all up to the transforms
///     description = "What it is for"
///     views = 2                    # images of each sample; 1 by default
///
///     [output]
///     layout = "Nhwc"              # Nchw by default
///     dtype = "U8"                 # F32 by default; F16
///
///     [[transform]]
///     type = "RandomResizedCrop"
///     size = 224
///
///     [[transform]]
///     type = "RandomApply"
///     p = 0.8
///
///     [[transform.transforms]]
///     type = "ColorJitter"
///     brightness = 0.4
///     contrast = [0.5, 1.5]
///     "#,
/// )?;
/// assert_eq!((recipe.transforms.len(), recipe.views), (2, 2));
///
/// let error = gpufeed::recipe::from_toml("[[transform]]\ntype = \"RandomGrayscale\"\np = 2\n").unwrap_err();
/// assert_eq!(error.to_string(), "recipe: line 3, RandomGrayscale: p: 2 is no probability; 0 to 1 work");
/// # Ok::<(), gpufeed::Error>(())
/// ```
///
/// # Errors
/// [`ErrorKind::Argument`](crate::ErrorKind::Argument) with the line, the key, what is wrong with it and what works.
pub fn from_toml(text: &str) -> Result<Recipe> {
    read::read(text)
}

/// Writes a recipe, or a list of transforms, as TOML that [`from_toml`] reads.
///
/// ```
/// use gpufeed::recipe;
///
/// let text = recipe::to_toml(recipe::imagenet_train())?;
/// assert_eq!(recipe::from_toml(&text)?.transforms, recipe::imagenet_train());
/// # Ok::<(), gpufeed::Error>(())
/// ```
///
/// # Errors
/// As [`Recipe::to_toml`].
pub fn to_toml(recipe: impl Into<Recipe>) -> Result<String> {
    recipe.into().to_toml()
}

/// A recipe by its name, or from a TOML file by its path: what the command's `--recipe` takes.
///
/// ```
/// assert!(gpufeed::recipe::load("imagenet-train").is_ok());
/// let error = gpufeed::recipe::load("mine.toml").unwrap_err();
/// assert!(error.to_string().contains("mine.toml"));
/// ```
///
/// # Errors
/// As [`named`] and [`from_toml`]; [`ErrorKind::Io`](crate::ErrorKind::Io) if there is no such file.
pub fn load(name_or_file: &str) -> Result<Recipe> {
    let path = std::path::Path::new(name_or_file);
    let is_file = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("toml"));
    if !(is_file || path.components().count() > 1 && path.is_file()) {
        return named(name_or_file);
    }
    let text = crate::regular_file::read_to_string(path).map_err(|error| Error::io(path, error))?;
    from_toml(&text).map_err(|error| match error.into_kind() {
        crate::ErrorKind::Argument { reason, .. } => Error::argument("recipe", format!("{name_or_file}: {reason}")),
        kind => kind.into(),
    })
}
