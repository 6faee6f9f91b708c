//! Recipes: a list of transforms with a name, a description and an output, as Rust or as a small TOML file.

// built_in.rs   the recipes of the library, from the TOML files beside it
// read.rs       reads a recipe; errors name the line, the operator and the key
// keys.rs       what works for each key

mod built_in;
mod keys;
mod read;

pub use built_in::{
    NAMES, augment_only, cifar_train, decode_only, deit, dino_global, imagenet_augmix, imagenet_eval,
    imagenet_randaugment, imagenet_train, imagenet_train_jitter, imagenet_trivialaugment, mnist_train, named,
    resize_crop, resize_crop_256, resize_jitter_gray, simclr, two_views,
};

use crate::error::{Error, Result};
use crate::plan::{Output, Semantics};
use crate::transforms::{BatchTransform, Transform};
use serde::Serialize;
use std::path::Path;

/// Most views of a sample: a batch of 64 samples then has 4,096 images.
pub(crate) const MOST_VIEWS: usize = 64;

/// A list of transforms and the layout of batches, from a TOML file or in Rust, for
/// [`DataLoaderBuilder::recipe`](crate::DataLoaderBuilder::recipe).
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
    /// Its name; may be empty.
    pub name: String,
    /// Its purpose; may be empty.
    pub description: String,
    /// The operators, in the order in which they apply.
    pub transforms: Vec<Transform>,
    /// Layout and type of the batches; `None` leaves the loader's settings.
    pub output: Option<Output>,
    /// The arithmetic of the operators; `None` leaves the loader's setting, which is
    /// [`Semantics::Float`] by default.
    pub semantics: Option<Semantics>,
    /// Views of each sample: images with their own random numbers in the same batch. 1 to 64; default: 1.
    pub views: usize,
    /// The transform of whole batches; `None` leaves the loader's setting.
    pub batch_transform: Option<BatchTransform>,
}

impl Default for Recipe {
    fn default() -> Self {
        Recipe {
            name: String::new(),
            description: String::new(),
            transforms: Vec::new(),
            output: None,
            semantics: None,
            views: 1,
            batch_transform: None,
        }
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
    output: Option<Output>,
    transform: &'a [Transform],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    batch_transform: &'a [BatchTransform],
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde requires a reference")]
fn is_one(views: &usize) -> bool {
    *views == 1
}

impl Recipe {
    /// Checks every argument of every transform.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`](crate::ErrorKind::Argument) with the argument's name and the values that work.
    pub fn validate(&self) -> Result<()> {
        check_views(self.views)?;
        self.transforms.iter().try_for_each(Transform::validate)?;
        self.batch_transform.iter().try_for_each(BatchTransform::validate)
    }

    /// Writes the recipe as TOML, which [`from_toml`] reads.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`](crate::ErrorKind::Argument) for a [`CustomColor`](crate::transforms::CustomColor), which
    /// TOML cannot represent.
    pub fn to_toml(&self) -> Result<String> {
        let Recipe { name, description, transforms, output, semantics, views, batch_transform } = self;
        let (views, semantics, output, batch_transform) = (*views, *semantics, *output, batch_transform.as_slice());
        let file =
            WrittenRecipe { name, description, views, semantics, output, transform: transforms, batch_transform };
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

/// Reads a recipe from TOML: one `[[transform]]` table per operator, with torchvision's names, arguments and defaults,
/// and at most one `[[batch_transform]]`, which may be a `RandomChoice`.
///
/// ```
/// let recipe = gpufeed::recipe::from_toml(
///     r#"
///     name = "mine"                # optional, like all keys above the transforms
///     description = "Its purpose"
///     views = 2                    # views of each sample; 1 by default
///     semantics = "Float"          # the default, or Uint8: torchvision's arithmetic on 8-bit images
///
///     [output]
///     layout = "Nhwc"              # or Nchw, the default
///     dtype = "F16"                # or BF16, U8, or F32, the default
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
///
///     [[batch_transform]]          # optional: mixes the images of a batch
///     type = "RandomChoice"
///     p = [0.5, 0.5]               # all equal by default
///
///     [[batch_transform.transforms]]
///     type = "MixUp"
///     alpha = 0.8                  # 1 by default
///
///     [[batch_transform.transforms]]
///     type = "CutMix"
///     partner = "Reversed"         # Previous by default
///     "#,
/// )?;
/// assert_eq!((recipe.transforms.len(), recipe.views), (2, 2));
/// assert_eq!(recipe.batch_transform.unwrap().name(), "RandomChoice");
///
/// let error = gpufeed::recipe::from_toml("[[transform]]\ntype = \"RandomGrayscale\"\np = 2\n").unwrap_err();
/// assert_eq!(error.to_string(), "recipe: line 3, RandomGrayscale: p: 2 is not a probability; 0 to 1 work");
/// # Ok::<(), gpufeed::Error>(())
/// ```
///
/// # Errors
/// [`ErrorKind::Argument`](crate::ErrorKind::Argument) with the line, the key, the problem and the values that work.
pub fn from_toml(text: &str) -> Result<Recipe> {
    read::read(text).map_err(|reason| Error::argument("recipe", reason))
}

/// Writes a recipe, or a list of transforms, as TOML, which [`from_toml`] reads.
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
/// The errors of [`Recipe::to_toml`].
pub fn to_toml(recipe: impl Into<Recipe>) -> Result<String> {
    recipe.into().to_toml()
}

/// Returns true if [`load`] takes this for a file's path: it ends in `.toml` or names a folder.
///
/// ```
/// use gpufeed::recipe::is_path;
///
/// assert!(is_path("mine.toml") && is_path("./mine") && !is_path("imagenet-train"));
/// ```
pub fn is_path(name_or_file: &str) -> bool {
    let path = Path::new(name_or_file);
    let ends = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("toml"));
    ends || path.components().count() > 1
}

/// Returns a built-in recipe by its name, or reads a TOML file by its path: the argument of the command's `--recipe`.
/// [`is_path`] tells them apart.
///
/// ```
/// assert!(gpufeed::recipe::load("imagenet-train").is_ok());
/// let error = gpufeed::recipe::load("mine.toml").unwrap_err();
/// assert!(error.to_string().contains("mine.toml"));
/// ```
///
/// # Errors
/// The errors of [`named`] and [`from_toml`]; [`ErrorKind::Io`](crate::ErrorKind::Io) if there is no such file.
pub fn load(name_or_file: &str) -> Result<Recipe> {
    if !is_path(name_or_file) {
        return named(name_or_file);
    }
    let path = Path::new(name_or_file);
    let text = crate::storage::local::regular_file::read_to_string(path).map_err(|error| Error::io(path, error))?;
    read::read(&text).map_err(|reason| Error::argument("recipe", reason.after(&format!("{name_or_file}: "))))
}
