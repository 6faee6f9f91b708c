//! Recipes: a list of transforms, or groups of views with a list each, with a name, a description and an output, as Rust
//! or as a small TOML file.

// built_in.rs   the recipes of the library, from the TOML files beside it
// group.rs      a group of views in a recipe
// read.rs       reads a recipe; errors name the line, the operator and the key; read_groups.rs reads its groups, and
//               read_list.rs a list of operators
// keys.rs       what works for each key
// write.rs      writes a recipe

mod built_in;
mod group;
mod keys;
mod read;
mod read_groups;
mod read_list;
mod write;

pub use built_in::{
    NAMES, augment_only, cifar_train, clip_eval, clip_train, coco_detr, coco_retinanet, coco_ssd, decode_only, deit,
    dino, dino_global, imagenet_augmix, imagenet_eval, imagenet_randaugment, imagenet_train, imagenet_train_jitter,
    imagenet_trivialaugment, maskrcnn_lsj, mnist_train, named, resize_crop, resize_crop_256, resize_jitter_gray,
    segmentation_eval, segmentation_train, simclr, two_views, yolo_letterbox, yolo_mosaic,
};
pub use group::ViewGroup;
pub(crate) use group::{IMAGE, check_name, output_of};

use crate::error::{Error, Result};
use crate::plan::{Arrangement, Output, Semantics};
use crate::transforms::{BatchTransform, Mosaic, Transform};
use std::path::Path;

/// Most views of a sample: a batch of 64 samples then has 4,096 images.
pub(crate) const MOST_VIEWS: usize = 64;

/// A list of transforms and the layout of batches, from a TOML file or in Rust, for
/// [`DataLoaderBuilder::recipe`](crate::DataLoaderBuilder::recipe). It has one list, or [`groups`](Self::groups) with a
/// list each.
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
    /// The operators, in the order in which they apply; empty in a recipe with groups.
    pub transforms: Vec<Transform>,
    /// Layout and type of the batches; `None` leaves the loader's settings. In a recipe with groups it is for those that
    /// name none.
    pub output: Option<Output>,
    /// The arithmetic of the operators; `None` leaves the loader's setting, which is
    /// [`Semantics::Float`] by default. In a recipe with groups it is for those that name none.
    pub semantics: Option<Semantics>,
    /// How the images of a batch lie, where their sizes may differ; `None` leaves the loader's setting, which is
    /// [`Arrangement::Uniform`] by default. In a recipe with groups it is for those that name none.
    pub arrangement: Option<Arrangement>,
    /// Views of each sample: images with their own random numbers in the same batch. 1 to 64; default: 1, which a recipe
    /// with groups needs, as each group has views of its own.
    pub views: usize,
    /// The transform of whole batches; `None` leaves the loader's setting. A recipe with groups has none.
    pub batch_transform: Option<BatchTransform>,
    /// The mosaic of four samples' images that the list gets, in the place of one sample's image; `None` leaves the loader's setting. A
    /// recipe with groups has none.
    pub mosaic: Option<Mosaic>,
    /// Groups of views with a list each, in the place of the one list; empty by default.
    pub groups: Vec<ViewGroup>,
}

impl Default for Recipe {
    fn default() -> Self {
        Recipe {
            name: String::new(),
            description: String::new(),
            transforms: Vec::new(),
            output: None,
            semantics: None,
            arrangement: None,
            views: 1,
            batch_transform: None,
            mosaic: None,
            groups: Vec::new(),
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

impl Recipe {
    /// Checks every argument of every transform, and that a recipe with groups has nothing that is for one list alone.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`](crate::ErrorKind::Argument) with the argument's name and the values that work.
    pub fn validate(&self) -> Result<()> {
        check_views(self.views)?;
        self.check_groups()?;
        let transforms = self.groups.iter().flat_map(|group| &group.transforms);
        self.transforms.iter().chain(transforms).try_for_each(Transform::validate)?;
        self.mosaic.iter().try_for_each(Mosaic::validate)?;
        self.batch_transform.iter().try_for_each(BatchTransform::validate)
    }

    /// Checks the groups, and that there is nothing beside them which is for one list alone.
    fn check_groups(&self) -> Result<()> {
        if self.groups.is_empty() {
            return Ok(());
        }
        let refuse = |setting, reason: &str| Err(Error::argument(setting, reason));
        if !self.transforms.is_empty() {
            return refuse("group", "the recipe has a list of its own, too; give it to a group");
        }
        if self.views != 1 {
            return refuse("views", "the recipe has groups; each has views of its own");
        }
        if self.batch_transform.is_some() {
            return refuse("batch_transform", "the recipe has groups, and only the images of one list are mixed");
        }
        if self.mosaic.is_some() {
            return refuse("mosaic", "the recipe has groups, and a mosaic is made for one list");
        }
        group::check(&self.groups).map_err(|(_, error)| error)
    }

    /// The groups, each with the output, the semantics and the arrangement that it has from the recipe. The list of a recipe without
    /// groups is one called `image`.
    ///
    /// ```
    /// use gpufeed::recipe;
    ///
    /// let images = |name: &str| recipe::named(name).unwrap().lists().iter().map(|group| group.views).sum::<usize>();
    /// assert_eq!((images("dino"), images("simclr")), (10, 2));
    /// ```
    pub fn lists(&self) -> Vec<ViewGroup> {
        if self.groups.is_empty() {
            let mut group = ViewGroup::new(IMAGE, self.views, self.transforms.clone());
            (group.output, group.semantics, group.arrangement) = (self.output, self.semantics, self.arrangement);
            return vec![group];
        }
        let filled = |group: &ViewGroup| {
            let semantics = group.semantics.or(self.semantics);
            let of_recipe = self.output.map(|output| output_of(group.read_mode, None, output));
            ViewGroup {
                output: group.output.or(of_recipe),
                semantics,
                arrangement: group.arrangement.or(self.arrangement),
                ..group.clone()
            }
        };
        self.groups.iter().map(filled).collect()
    }

    /// Writes the recipe as TOML, which [`from_toml`] reads.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`](crate::ErrorKind::Argument) for a [`CustomColor`](crate::transforms::CustomColor) and a
    /// [`HostCode`](crate::transforms::HostCode), which TOML cannot represent, and for groups beside what is for one list alone.
    pub fn to_toml(&self) -> Result<String> {
        self.check_groups()?;
        write::toml(self)
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
/// and at most one `[[batch_transform]]`, which may be a `RandomChoice`; or a `[[group]]` table for each group of views,
/// with a list `[[group.transform]]` each.
///
/// ```
/// let recipe = gpufeed::recipe::from_toml(
///     r#"
///     name = "mine"                # optional, like all keys above the transforms
///     description = "Its purpose"
///     views = 2                    # views of each sample; 1 by default
///     semantics = "Float"          # the default, or Uint8: torchvision's arithmetic on 8-bit images
///     arrangement = "uniform"      # the default, or "listed", ["padded", 32]: see Arrangement
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
/// let recipe = gpufeed::recipe::from_toml(
///     r#"
///     semantics = "Uint8"          # of the groups that name none; output works alike
///
///     [[group]]
///     name = "global"              # its name in batches
///     views = 2                    # 1 by default
///
///     [[group.transform]]
///     type = "RandomResizedCrop"
///     size = 224
///
///     [[group]]
///     name = "local"
///     views = 8
///     output = { layout = "Nchw", dtype = "F16" }
///     ## source, read_mode, follows, interpolation and fill are those of Views, for other images of a sample.
///
///     [[group.transform]]
///     type = "RandomResizedCrop"
///     size = 96
///     "#,
/// )?;
/// assert_eq!((recipe.groups.len(), recipe.groups[1].views), (2, 8));
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
