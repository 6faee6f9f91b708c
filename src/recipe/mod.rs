//! Named lists of transforms, and lists from TOML.

use crate::error::{Error, Result};
use crate::transforms::{
    CenterCrop, ColorJitter, Normalize, RandomCrop, RandomGrayscale, RandomHorizontalFlip, RandomResizedCrop,
    RandomVerticalFlip, Resize, Transform,
};
use serde::{Deserialize, Serialize};

/// The training recipe of torchvision's ImageNet models: RandomResizedCrop(224), flip, Normalize.
///
/// ```
/// assert_eq!(gpufeed::recipe::imagenet_train().len(), 3);
/// ```
pub fn imagenet_train() -> Vec<Transform> {
    vec![RandomResizedCrop::new(224).into(), RandomHorizontalFlip::new(0.5).into(), Normalize::IMAGENET.into()]
}

/// The evaluation recipe of torchvision's ImageNet models: Resize(256), CenterCrop(224), Normalize.
///
/// ```
/// assert_eq!(gpufeed::recipe::imagenet_eval().len(), 3);
/// ```
pub fn imagenet_eval() -> Vec<Transform> {
    vec![Resize::new(256).into(), CenterCrop::new(224).into(), Normalize::IMAGENET.into()]
}

/// As [`imagenet_train`], with ColorJitter(0.4, 0.4, 0.4, 0.1) and RandomGrayscale(0.2).
///
/// ```
/// assert_eq!(gpufeed::recipe::imagenet_train_jitter().len(), 5);
/// ```
pub fn imagenet_train_jitter() -> Vec<Transform> {
    vec![
        RandomResizedCrop::new(224).into(),
        RandomHorizontalFlip::new(0.5).into(),
        ColorJitter::new(0.4, 0.4, 0.4, 0.1).into(),
        RandomGrayscale::new(0.2).into(),
        Normalize::IMAGENET.into(),
    ]
}

/// Resize(384×384), RandomCrop(224), flip, ColorJitter(0.2, 0.2).
///
/// ```
/// assert_eq!(gpufeed::recipe::resize_crop().len(), 4);
/// ```
pub fn resize_crop() -> Vec<Transform> {
    vec![
        Resize::new((384, 384)).into(),
        RandomCrop::new(224).into(),
        RandomHorizontalFlip::new(0.5).into(),
        ColorJitter::new(0.2, 0.2, 0.0, 0.0).into(),
    ]
}

/// Resize(224×224), both flips, ColorJitter(0.3, 0.3, 0.3, 0.1), RandomGrayscale(0.1), Normalize.
///
/// ```
/// assert_eq!(gpufeed::recipe::resize_jitter_gray().len(), 6);
/// ```
pub fn resize_jitter_gray() -> Vec<Transform> {
    vec![
        Resize::new((224, 224)).into(),
        RandomVerticalFlip::new(0.5).into(),
        RandomHorizontalFlip::new(0.5).into(),
        ColorJitter::new(0.3, 0.3, 0.3, 0.1).into(),
        RandomGrayscale::new(0.1).into(),
        Normalize::IMAGENET.into(),
    ]
}

/// Names of the recipes that [`named`] knows.
pub const NAMES: [&str; 5] =
    ["imagenet-train", "imagenet-eval", "imagenet-train-jitter", "resize-crop-224", "resize-jitter-gray"];

/// A recipe by its name.
///
/// ```
/// assert!(gpufeed::recipe::named("imagenet-train").is_ok());
/// assert!(gpufeed::recipe::named("imagenet").unwrap_err().to_string().contains("imagenet-eval"));
/// ```
///
/// # Errors
/// [`ErrorKind::Argument`](crate::ErrorKind::Argument) with the names that there are.
pub fn named(name: &str) -> Result<Vec<Transform>> {
    match name {
        "imagenet-train" => Ok(imagenet_train()),
        "imagenet-eval" => Ok(imagenet_eval()),
        "imagenet-train-jitter" => Ok(imagenet_train_jitter()),
        "resize-crop-224" => Ok(resize_crop()),
        "resize-jitter-gray" => Ok(resize_jitter_gray()),
        _ => Err(Error::argument("recipe", format!("\"{name}\" is none of {}", NAMES.join(", ")))),
    }
}

/// A list as a TOML file holds it.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    transform: Vec<Transform>,
}

/// Reads a list from TOML: one `[[transform]]` table an operator.
///
/// ```
/// let list = gpufeed::recipe::from_toml(
///     r#"
///     [[transform]]
///     type = "RandomResizedCrop"
///     size = 224
///
///     [[transform]]
///     type = "ColorJitter"
///     brightness = 0.4
///     contrast = [0.5, 1.5]
///     "#,
/// )?;
/// assert_eq!(list.len(), 2);
/// # Ok::<(), gpufeed::Error>(())
/// ```
///
/// # Errors
/// [`ErrorKind::Argument`](crate::ErrorKind::Argument) with the line and what is wrong there.
pub fn from_toml(text: &str) -> Result<Vec<Transform>> {
    let file: File = toml::from_str(text).map_err(|error| Error::argument("recipe", error.to_string()))?;
    file.transform.iter().try_for_each(Transform::validate)?;
    Ok(file.transform)
}

/// Writes a list as TOML that [`from_toml`] reads.
///
/// ```
/// use gpufeed::recipe;
///
/// let text = recipe::to_toml(&recipe::imagenet_train())?;
/// assert_eq!(recipe::from_toml(&text)?, recipe::imagenet_train());
/// # Ok::<(), gpufeed::Error>(())
/// ```
///
/// # Errors
/// [`ErrorKind::Argument`](crate::ErrorKind::Argument) for numbers that TOML cannot hold.
pub fn to_toml(transforms: &[Transform]) -> Result<String> {
    let file = File { transform: transforms.to_vec() };
    toml::to_string(&file).map_err(|error| Error::argument("recipe", error.to_string()))
}
