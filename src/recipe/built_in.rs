//! The recipes that come with the crate: a TOML file each, and the same lists as functions.

use super::{Recipe, from_toml};
use crate::error::{Error, Result};
use crate::transforms::{
    CenterCrop, ColorJitter, Grayscale, Normalize, RandomApply, RandomCrop, RandomGrayscale, RandomHorizontalFlip,
    RandomResizedCrop, RandomVerticalFlip, Resize, Transform,
};

/// The training recipe of torchvision's ImageNet models: RandomResizedCrop(224), flip, Normalize.
///
/// ```
/// assert_eq!(gpufeed::recipe::imagenet_train().len(), 3);
/// ```
pub fn imagenet_train() -> Vec<Transform> {
    vec![RandomResizedCrop::new(224).into(), RandomHorizontalFlip::new(0.5).into(), Normalize::IMAGENET.into()]
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

/// The evaluation recipe of torchvision's ImageNet models: Resize(256), CenterCrop(224), Normalize.
///
/// ```
/// assert_eq!(gpufeed::recipe::imagenet_eval().len(), 3);
/// ```
pub fn imagenet_eval() -> Vec<Transform> {
    vec![Resize::new(256).into(), CenterCrop::new(224).into(), Normalize::IMAGENET.into()]
}

/// `resize-crop-256`: Resize(384×384), RandomCrop(256), flip, ColorJitter(0.2, 0.2) for one image in five.
///
/// ```
/// assert_eq!(gpufeed::recipe::resize_crop_256().len(), 4);
/// ```
pub fn resize_crop_256() -> Vec<Transform> {
    vec![
        Resize::new((384, 384)).into(),
        RandomCrop::new(256).into(),
        RandomHorizontalFlip::new(0.5).into(),
        RandomApply::new(0.2, [ColorJitter::new(0.2, 0.2, 0.0, 0.0)]).into(),
    ]
}

/// `resize-crop-224`: Resize(384×384), RandomCrop(224), flip, ColorJitter(0.2, 0.2).
///
/// ```
/// assert_eq!(gpufeed::recipe::resize_crop().len(), 4);
/// ```
pub fn resize_crop() -> Vec<Transform> {
    let mut list = vec![Resize::new((384, 384)).into()];
    list.extend(augment_only());
    list
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

/// RandomCrop(224), flip, ColorJitter(0.2, 0.2), for images that are decoded and resized already.
///
/// ```
/// assert_eq!(gpufeed::recipe::augment_only().len(), 3);
/// ```
pub fn augment_only() -> Vec<Transform> {
    vec![
        RandomCrop::new(224).into(),
        RandomHorizontalFlip::new(0.5).into(),
        ColorJitter::new(0.2, 0.2, 0.0, 0.0).into(),
    ]
}

/// CenterCrop(512): pads smaller images with black, and cuts larger ones, because a batch's images have one size.
///
/// ```
/// assert_eq!(gpufeed::recipe::decode_only().len(), 1);
/// ```
pub fn decode_only() -> Vec<Transform> {
    vec![CenterCrop::new(512).into()]
}

/// The usual recipe for CIFAR-10: RandomCrop(32, padding 4), flip, Normalize.
///
/// ```
/// assert_eq!(gpufeed::recipe::cifar_train().len(), 3);
/// ```
pub fn cifar_train() -> Vec<Transform> {
    vec![
        RandomCrop::new(32).padding(4).into(),
        RandomHorizontalFlip::new(0.5).into(),
        Normalize::new([0.4914, 0.4822, 0.4465], [0.2470, 0.2435, 0.2616]).into(),
    ]
}

/// For MNIST: RandomCrop(28, padding 2), one channel, Normalize.
///
/// ```
/// assert_eq!(gpufeed::recipe::mnist_train().len(), 3);
/// ```
pub fn mnist_train() -> Vec<Transform> {
    vec![
        RandomCrop::new(28).padding(2).into(),
        Grayscale::new(1).into(),
        Normalize::new([0.1307; 3], [0.3081; 3]).into(),
    ]
}

/// The list of `two-views`: SimCLR's crops and colours, without its blur. The recipe draws it twice for each sample; with
/// this list alone, say so by [`DataLoaderBuilder::views`](crate::DataLoaderBuilder::views).
///
/// ```
/// assert_eq!(gpufeed::recipe::two_views().len(), 5);
/// assert_eq!(gpufeed::recipe::named("two-views")?.views, 2);
/// # Ok::<(), gpufeed::Error>(())
/// ```
pub fn two_views() -> Vec<Transform> {
    vec![
        RandomResizedCrop::new(224).into(),
        RandomHorizontalFlip::new(0.5).into(),
        RandomApply::new(0.8, [ColorJitter::new(0.8, 0.8, 0.8, 0.2)]).into(),
        RandomGrayscale::new(0.2).into(),
        Normalize::IMAGENET.into(),
    ]
}

/// Each as its file has it.
const FILES: [(&str, &str); 11] = [
    ("imagenet-train", include_str!("imagenet-train.toml")),
    ("imagenet-train-jitter", include_str!("imagenet-train-jitter.toml")),
    ("imagenet-eval", include_str!("imagenet-eval.toml")),
    ("resize-crop-256", include_str!("resize-crop-256.toml")),
    ("resize-crop-224", include_str!("resize-crop-224.toml")),
    ("resize-jitter-gray", include_str!("resize-jitter-gray.toml")),
    ("augment-only", include_str!("augment-only.toml")),
    ("decode-only", include_str!("decode-only.toml")),
    ("cifar-train", include_str!("cifar-train.toml")),
    ("mnist-train", include_str!("mnist-train.toml")),
    ("two-views", include_str!("two-views.toml")),
];

/// Names of the recipes that [`named`] knows.
pub const NAMES: [&str; 11] = {
    let mut names = [""; 11];
    let mut i = 0;
    while i < FILES.len() {
        names[i] = FILES[i].0;
        i += 1;
    }
    names
};

/// A recipe by its name.
///
/// ```
/// assert!(gpufeed::recipe::named("imagenet-train").is_ok());
/// assert!(gpufeed::recipe::named("imagenet").unwrap_err().to_string().contains("imagenet-eval"));
/// ```
///
/// # Errors
/// [`ErrorKind::Argument`](crate::ErrorKind::Argument) with the names that there are.
pub fn named(name: &str) -> Result<Recipe> {
    match FILES.iter().find(|(known, _)| *known == name) {
        Some((_, text)) => from_toml(text),
        None => Err(Error::argument("recipe", format!("\"{name}\" is none of {}", NAMES.join(", ")))),
    }
}
