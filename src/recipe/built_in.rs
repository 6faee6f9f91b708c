//! Built-in recipes: a TOML file each, and a function that returns its list of transforms, or the recipe if it has groups.

use super::{Recipe, from_toml};
use crate::error::{Error, Result};
use crate::spelling::did_you_mean;
use crate::transforms::Transform;

/// Returns the training recipe of torchvision's ImageNet models: RandomResizedCrop(224), flip, Normalize.
///
/// ```
/// assert_eq!(gpufeed::recipe::imagenet_train().len(), 3);
/// ```
pub fn imagenet_train() -> Vec<Transform> {
    list("imagenet-train")
}

/// Returns [`imagenet_train`] with ColorJitter(0.4, 0.4, 0.4, 0.1) and RandomGrayscale(0.2).
///
/// ```
/// assert_eq!(gpufeed::recipe::imagenet_train_jitter().len(), 5);
/// ```
pub fn imagenet_train_jitter() -> Vec<Transform> {
    list("imagenet-train-jitter")
}

/// Returns the evaluation recipe of torchvision's ImageNet models: Resize(256), CenterCrop(224), Normalize.
///
/// ```
/// assert_eq!(gpufeed::recipe::imagenet_eval().len(), 3);
/// ```
pub fn imagenet_eval() -> Vec<Transform> {
    list("imagenet-eval")
}

/// Returns `resize-crop-256`: Resize(384×384), RandomCrop(256), flip, ColorJitter(0.2, 0.2) for one image in five.
///
/// ```
/// assert_eq!(gpufeed::recipe::resize_crop_256().len(), 4);
/// ```
pub fn resize_crop_256() -> Vec<Transform> {
    list("resize-crop-256")
}

/// Returns `resize-crop-224`: Resize(384×384), RandomCrop(224), flip, ColorJitter(0.2, 0.2).
///
/// ```
/// assert_eq!(gpufeed::recipe::resize_crop().len(), 4);
/// ```
pub fn resize_crop() -> Vec<Transform> {
    list("resize-crop-224")
}

/// Returns Resize(224×224), both flips, ColorJitter(0.3, 0.3, 0.3, 0.1), RandomGrayscale(0.1), Normalize.
///
/// ```
/// assert_eq!(gpufeed::recipe::resize_jitter_gray().len(), 6);
/// ```
pub fn resize_jitter_gray() -> Vec<Transform> {
    list("resize-jitter-gray")
}

/// Returns RandomCrop(224), flip, ColorJitter(0.2, 0.2), for images that are already decoded and resized.
///
/// ```
/// assert_eq!(gpufeed::recipe::augment_only().len(), 3);
/// ```
pub fn augment_only() -> Vec<Transform> {
    list("augment-only")
}

/// Returns CenterCrop(512): pads smaller images with black, and crops larger ones, because all images of a batch have
/// one size.
///
/// ```
/// assert_eq!(gpufeed::recipe::decode_only().len(), 1);
/// ```
pub fn decode_only() -> Vec<Transform> {
    list("decode-only")
}

/// Returns the usual recipe for CIFAR-10: RandomCrop(32, padding 4), flip, Normalize.
///
/// ```
/// assert_eq!(gpufeed::recipe::cifar_train().len(), 3);
/// ```
pub fn cifar_train() -> Vec<Transform> {
    list("cifar-train")
}

/// Returns a recipe for MNIST: RandomCrop(28, padding 2), one channel, Normalize.
///
/// ```
/// assert_eq!(gpufeed::recipe::mnist_train().len(), 3);
/// ```
pub fn mnist_train() -> Vec<Transform> {
    list("mnist-train")
}

/// Returns the list of `two-views`: SimCLR's crops and colours, without its blur. The recipe has two views of each
/// sample. To use this list alone, set them with [`DataLoaderBuilder::views`](crate::DataLoaderBuilder::views).
///
/// ```
/// assert_eq!(gpufeed::recipe::two_views().len(), 5);
/// assert_eq!(gpufeed::recipe::named("two-views")?.views, 2);
/// # Ok::<(), gpufeed::Error>(())
/// ```
pub fn two_views() -> Vec<Transform> {
    list("two-views")
}

/// Returns the list of `imagenet-randaugment`: [`imagenet_train`] with RandAugment(2, 9), and RandomErasing(0.1) at the
/// end. The recipe has [`Semantics::Uint8`](crate::Semantics::Uint8), as torchvision's references train.
///
/// ```
/// assert_eq!(gpufeed::recipe::imagenet_randaugment().len(), 5);
/// assert_eq!(gpufeed::recipe::named("imagenet-randaugment")?.semantics, Some(gpufeed::Semantics::Uint8));
/// # Ok::<(), gpufeed::Error>(())
/// ```
pub fn imagenet_randaugment() -> Vec<Transform> {
    list("imagenet-randaugment")
}

/// Returns the list of `imagenet-trivialaugment`: [`imagenet_randaugment`] with TrivialAugmentWide instead.
///
/// ```
/// assert_eq!(gpufeed::recipe::imagenet_trivialaugment().len(), 5);
/// ```
pub fn imagenet_trivialaugment() -> Vec<Transform> {
    list("imagenet-trivialaugment")
}

/// Returns the list of `imagenet-augmix`: [`imagenet_train`] with AugMix, for
/// [`Semantics::Uint8`](crate::Semantics::Uint8).
///
/// ```
/// assert_eq!(gpufeed::recipe::imagenet_augmix().len(), 4);
/// ```
pub fn imagenet_augmix() -> Vec<Transform> {
    list("imagenet-augmix")
}

/// Returns the list of `simclr`: crops, flip, ColorJitter(0.8, 0.8, 0.8, 0.2) for four images of five,
/// RandomGrayscale(0.2), GaussianBlur(23) for every other one, for [`Semantics::Uint8`](crate::Semantics::Uint8). The
/// recipe has two views of each sample.
///
/// ```
/// assert_eq!(gpufeed::recipe::simclr().len(), 5);
/// assert_eq!(gpufeed::recipe::named("simclr")?.views, 2);
/// # Ok::<(), gpufeed::Error>(())
/// ```
pub fn simclr() -> Vec<Transform> {
    list("simclr")
}

/// Returns the list of `dino-global`: that of DINO's first global view, for [`Semantics::Uint8`](crate::Semantics::Uint8).
///
/// DINO blurs by Pillow, with a radius of 0.1 to 2; here that is the standard deviation of a kernel of 23 pixels.
/// [`dino`] has all of DINO's views.
///
/// ```
/// assert_eq!(gpufeed::recipe::dino_global().len(), 6);
/// ```
pub fn dino_global() -> Vec<Transform> {
    list("dino-global")
}

/// Returns `dino`: DINO's two global views of 224 and eight local ones of 96, in the groups `first`, `second` and `local`,
/// for [`Semantics::Uint8`](crate::Semantics::Uint8). The first group is [`dino_global`]; the second is blurred with
/// p = 0.1 and solarized with p = 0.2; the local ones are blurred with p = 0.5.
///
/// ```
/// use gpufeed::recipe;
///
/// let dino = recipe::dino();
/// let views: Vec<_> = dino.groups.iter().map(|group| (group.name.as_str(), group.views)).collect();
/// assert_eq!(views, [("first", 1), ("second", 1), ("local", 8)]);
/// assert_eq!(dino.groups[0].transforms, recipe::dino_global());
/// ```
pub fn dino() -> Recipe {
    built_in("dino")
}

/// Returns the list of `clip-train`: OpenCLIP's RandomResizedCrop(224) of nearly the whole image, bicubic, and Normalize
/// with OpenAI's mean and deviation, for [`Semantics::Uint8`](crate::Semantics::Uint8).
///
/// ```
/// assert_eq!(gpufeed::recipe::clip_train().len(), 2);
/// ```
pub fn clip_train() -> Vec<Transform> {
    list("clip-train")
}

/// Returns the list of `clip-eval`: OpenCLIP's Resize(224), bicubic, CenterCrop(224), and Normalize with OpenAI's mean and
/// deviation, for [`Semantics::Uint8`](crate::Semantics::Uint8).
///
/// ```
/// assert_eq!(gpufeed::recipe::clip_eval().len(), 3);
/// ```
pub fn clip_eval() -> Vec<Transform> {
    list("clip-eval")
}

/// Returns the list of `deit`: bicubic crops, flip, RandAugment(2, 9), Normalize, RandomErasing(0.25) by noise, for
/// [`Semantics::Uint8`](crate::Semantics::Uint8). The recipe mixes half of the batches by MixUp(0.8), and half by
/// CutMix(1). DeiT's own RandAugment, timm's, has random magnitudes; this one is torchvision's.
///
/// ```
/// assert_eq!(gpufeed::recipe::deit().len(), 5);
/// assert!(gpufeed::recipe::named("deit")?.batch_transform.is_some());
/// # Ok::<(), gpufeed::Error>(())
/// ```
pub fn deit() -> Vec<Transform> {
    list("deit")
}

/// Returns `coco-ssd`, the list of torchvision's SSD300 with its fixed size: RandomPhotometricDistort, RandomZoomOut, RandomIoUCrop, flip,
/// SanitizeBoundingBoxes, Resize(300×300), Normalize, for [`Semantics::Uint8`](crate::Semantics::Uint8). Samples need a field of
/// [objects](crate::FieldKind::Objects) with boxes.
///
/// ```
/// assert_eq!(gpufeed::recipe::coco_ssd().transforms.len(), 7);
/// ```
pub fn coco_ssd() -> Recipe {
    built_in("coco-ssd")
}

/// Returns `coco-detr`, DETR's list: flip, and a short side of 480 to 800 pixels, of half of the images after a RandomSizeCrop(384 to 600);
/// SanitizeBoundingBoxes, Normalize, for [`Semantics::Uint8`](crate::Semantics::Uint8). Its batches are
/// [padded](crate::Arrangement). Boxes stay in the format of the data set, in pixels; DETR's loss takes centres and sides over the
/// image's.
///
/// ```
/// assert!(gpufeed::recipe::coco_detr().arrangement.is_some());
/// ```
pub fn coco_detr() -> Recipe {
    built_in("coco-detr")
}

/// Returns `coco-retinanet`, the list of torchvision's RetinaNet and Faster R-CNN with the sizes that these models resize to: flip, a short side of 640
/// to 800 pixels, SanitizeBoundingBoxes, Normalize, for [`Semantics::Uint8`](crate::Semantics::Uint8). Its batches are
/// [padded](crate::Arrangement) to multiples of 32.
///
/// ```
/// assert!(gpufeed::recipe::coco_retinanet().arrangement.is_some());
/// ```
pub fn coco_retinanet() -> Recipe {
    built_in("coco-retinanet")
}

/// Returns `maskrcnn-lsj`, torchvision's preset `lsj`: ScaleJitter(1024, 0.1 to 2), FixedSizeCrop(1024), flip, SanitizeBoundingBoxes, Normalize,
/// for [`Semantics::Uint8`](crate::Semantics::Uint8).
///
/// ```
/// assert_eq!(gpufeed::recipe::maskrcnn_lsj().transforms.len(), 5);
/// ```
pub fn maskrcnn_lsj() -> Recipe {
    built_in("maskrcnn-lsj")
}

/// Returns `yolo-letterbox`: Letterbox(640), as Ultralytics' YOLO validates, for [`Semantics::Uint8`](crate::Semantics::Uint8).
///
/// ```
/// assert_eq!(gpufeed::recipe::yolo_letterbox().transforms.len(), 1);
/// ```
pub fn yolo_letterbox() -> Recipe {
    built_in("yolo-letterbox")
}

/// Returns `yolo-mosaic`, as Ultralytics' YOLO trains by its default settings: a [`Mosaic`](crate::transforms::Mosaic) of 640, RandomAffine(scale 0.5 to
/// 1.5), CenterCrop(640), flip, ColorJitter(0.4, 0, 0.7, 0.015), which stands for its changes of HSV, SanitizeBoundingBoxes, for
/// [`Semantics::Uint8`](crate::Semantics::Uint8).
///
/// ```
/// assert_eq!(gpufeed::recipe::yolo_mosaic().mosaic.unwrap().size, 640);
/// ```
pub fn yolo_mosaic() -> Recipe {
    built_in("yolo-mosaic")
}

/// Returns `segmentation-train`, the list of torchvision's segmentation references: RandomResize(260 to 1040), flip, PadIfSmaller(480),
/// RandomCrop(480), Normalize, for [`Semantics::Uint8`](crate::Semantics::Uint8), in the group `image`. The group `mask` has the masks of
/// the [field](crate::dataset::Field) `mask`, with 255 outside of the image.
///
/// ```
/// let groups = gpufeed::recipe::segmentation_train().groups;
/// assert_eq!((groups[1].name.as_str(), groups[1].fill), ("mask", Some(255.0)));
/// ```
pub fn segmentation_train() -> Recipe {
    built_in("segmentation-train")
}

/// Returns `segmentation-eval`, with which those references validate: Resize(520), Normalize, in groups as [`segmentation_train`]. Images and
/// masks keep their sizes: batches are [listed](crate::Arrangement), with room for 1040×1040 pixels each.
///
/// ```
/// assert_eq!(gpufeed::recipe::segmentation_eval().groups.len(), 2);
/// ```
pub fn segmentation_eval() -> Recipe {
    built_in("segmentation-eval")
}

/// The text of each recipe's file.
const FILES: [(&str, &str); 28] = [
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
    ("imagenet-randaugment", include_str!("imagenet-randaugment.toml")),
    ("imagenet-trivialaugment", include_str!("imagenet-trivialaugment.toml")),
    ("imagenet-augmix", include_str!("imagenet-augmix.toml")),
    ("simclr", include_str!("simclr.toml")),
    ("dino-global", include_str!("dino-global.toml")),
    ("deit", include_str!("deit.toml")),
    ("dino", include_str!("dino.toml")),
    ("clip-train", include_str!("clip-train.toml")),
    ("clip-eval", include_str!("clip-eval.toml")),
    ("coco-ssd", include_str!("coco-ssd.toml")),
    ("coco-detr", include_str!("coco-detr.toml")),
    ("coco-retinanet", include_str!("coco-retinanet.toml")),
    ("maskrcnn-lsj", include_str!("maskrcnn-lsj.toml")),
    ("yolo-letterbox", include_str!("yolo-letterbox.toml")),
    ("yolo-mosaic", include_str!("yolo-mosaic.toml")),
    ("segmentation-train", include_str!("segmentation-train.toml")),
    ("segmentation-eval", include_str!("segmentation-eval.toml")),
];

/// Names of the built-in recipes, for [`named`].
pub const NAMES: [&str; 28] = {
    let mut names = [""; 28];
    let mut i = 0;
    while i < FILES.len() {
        names[i] = FILES[i].0;
        i += 1;
    }
    names
};

/// Returns the list of a built-in recipe.
fn list(name: &str) -> Vec<Transform> {
    built_in(name).transforms
}

/// Returns a recipe that is there.
fn built_in(name: &str) -> Recipe {
    named(name).expect("a test reads the files of all recipes")
}

/// Returns a built-in recipe.
///
/// ```
/// assert!(gpufeed::recipe::named("imagenet-train").is_ok());
/// assert!(gpufeed::recipe::named("imagenet").unwrap_err().to_string().contains("imagenet-eval"));
/// ```
///
/// # Errors
/// [`ErrorKind::Argument`](crate::ErrorKind::Argument) for another name; the error lists the names, and says which one
/// is close.
pub fn named(name: &str) -> Result<Recipe> {
    match FILES.iter().find(|(known, _)| *known == name) {
        Some((_, text)) => from_toml(text),
        None => {
            let advice = did_you_mean(name, NAMES);
            Err(Error::argument("recipe", format!("\"{name}\" is not one of {}{advice}", NAMES.join(", "))))
        }
    }
}
