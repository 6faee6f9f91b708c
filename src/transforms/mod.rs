//! The operators, torchvision v2's, some of timm's, Albumentations' and Ultralytics', as plain serde data: one file each.
//!
//! A [`Transform`] checks its arguments, makes the parameters for an image of a given size (without its pixels), and
//! lists the concrete [`Op`]s that it may emit. `plan/` decides how the ops are computed.
//!
//! A [`BatchTransform`] works on whole batches: [`MixUp`], [`CutMix`], [`TimmMixup`].
//!
//! Names, arguments and defaults are torchvision's. Images are floats in \[0, 1\], and so are the numbers that stand for
//! colours, such as `fill` and `threshold`. With [`Semantics::Uint8`](crate::Semantics::Uint8) they are 0 to 255.

// An operator has the file of its name, and a row in the list of `transforms!` below. The others:
//   op.rs, op/            what operators emit: effect.rs its effect, check.rs its numbers, color_steps.rs its steps,
//                         words.rs its words
//   effect.rs             what the planner must know of an op
//   params.rs             the parameters of an image, and the context in which operators make them
//   arguments.rs          the values of arguments; crop_size.rs, per_channel.rs
//   by_chance.rs          operators that emit one op with a probability
//   of_objects.rs         operators that emit one op for objects alone
//   setters.rs            the setters that operators share
//   policy.rs             the operations of augmentation policies
//   timm_ops.rs           those of timm's, and their levels
//   snippet.rs            checks the WGSL of a CustomColor
//   batch/                transforms of whole batches; mix.rs: how two images are mixed

#[macro_use]
mod setters;

mod adjust_gamma;
pub(crate) mod arguments;
mod aug_mix;
mod auto_augment;
mod batch;
mod bbox_safe_random_crop;
mod by_chance;
mod center_crop;
mod center_crop_or_pad;
mod clamp_bounding_boxes;
mod clamp_key_points;
mod color_jitter;
mod convert_bounding_box_format;
mod crop_size;
mod custom_color;
pub(crate) mod effect;
mod elastic_transform;
mod five_crop;
mod fixed_size_crop;
mod gaussian_blur;
mod gaussian_noise;
mod grayscale;
mod host_code;
mod jpeg;
mod letterbox;
pub(crate) mod mix;
mod mosaic;
mod normalize;
mod of_objects;
mod op;
mod pad;
mod pad_if_smaller;
pub(crate) mod params;
mod per_channel;
mod pillow_gaussian_blur;
mod policy;
mod rand_augment;
mod random_adjust_sharpness;
mod random_affine;
mod random_apply;
mod random_autocontrast;
mod random_channel_permutation;
mod random_choice;
mod random_crop;
mod random_crop_or_pad;
mod random_equalize;
mod random_erasing;
mod random_grayscale;
mod random_horizontal_flip;
mod random_invert;
mod random_iou_crop;
mod random_order;
mod random_pad;
mod random_perspective;
mod random_photometric_distort;
mod random_posterize;
mod random_resize;
mod random_resized_crop;
mod random_rotation;
mod random_shortest_size;
mod random_size_crop;
mod random_solarize;
mod random_vertical_flip;
mod random_zoom_out;
mod resize;
mod resize_keep_ratio;
mod sanitize_bounding_boxes;
mod sanitize_key_points;
mod sanitize_visibility;
mod scale_jitter;
mod set_clamping_mode;
pub(crate) mod snippet;
mod ten_crop;
mod timm_aug_mix;
mod timm_augment_op;
mod timm_auto_augment;
pub(crate) mod timm_ops;
mod timm_rand_augment;
mod to_dtype;
mod trim_border;
mod trivial_augment_wide;

pub use crate::random::key::Key;
pub(crate) use arguments::MAX_SIDE;
pub use arguments::{Degrees, Erased, Fill, Interpolation, PaddingMode, PolicyOp};
pub use auto_augment::AutoAugmentPolicy;
pub use batch::{BatchChoice, BatchParams, BatchTransform, CutMix, Identity, MixUp, MixupMode, Partner, TimmMixup};
pub use color_jitter::Jitter;
pub use crop_size::CropSize;
pub(crate) use effect::{Effect, GatherClass};
pub(crate) use host_code::wrong;
pub use host_code::{HostImage, HostValues};
pub use jpeg::Quality;
pub use mix::Mix;
pub(crate) use mosaic::{FILTER, IMAGES, Tile};
pub use mosaic::{Mosaic, MosaicParams};
pub use op::Op;
pub(crate) use op::{fill_u8, repeated};
pub use pad::Padding;
pub use params::{Mixed, Params, ParamsOp};
pub(crate) use policy::resolve as resolve_policy;
pub use random_erasing::ErasingValue;
pub use resize::ResizeTo;
pub use timm_ops::TimmOp;
pub use to_dtype::FloatType;

pub use crate::random::Numbers;

use crate::error::{Error, Result};
use params::Context;
use serde::{Deserialize, Serialize};

/// The interface of every operator for the planner and the workers.
pub(crate) trait Operator {
    /// The operator's name, as torchvision spells it.
    const NAME: &'static str;
    /// True if it has the same effect on every image of a size, in every epoch.
    const FIXED: bool = false;
    /// The number of images that it makes of one.
    const CROPS: u32 = 1;
    /// True if its parameters depend on the boxes of the image.
    const LOOKS_AT_OBJECTS: bool = false;
    /// What works for keys that no other operator has, or where it accepts other values than others, for errors about
    /// values of a wrong type.
    const KEYS: &[(&str, &str)] = &[];
    /// True if it has the same effect on every image of a size with its arguments.
    fn is_fixed(&self) -> bool {
        Self::FIXED
    }
    /// Checks the arguments; errors name the argument and the values that work.
    fn validate(&self) -> Result<()>;
    /// Checks the arguments whose range is another one where the operator gets 8-bit numbers.
    fn validate_range(&self, _uint8: bool) -> Result<()> {
        Ok(())
    }
    /// Checks that the operator works on 8-bit numbers, where it gets them.
    fn validate_uint8(&self) -> Result<()> {
        Ok(())
    }
    /// Lists every op that `make_params` may emit, in the order in which it emits those that move pixels.
    fn slots(&self, slots: &mut Slots);
    /// Makes this image's random numbers, and emits its ops.
    fn make_params(&self, context: &mut Context<'_>, numbers: &mut Numbers) -> Result<()>;
}

/// One op that a list of transforms may emit.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Slot {
    pub(crate) transform: &'static str,
    pub(crate) effect: Effect,
    /// True inside a `RandomApply`: the op may be absent.
    pub(crate) optional: bool,
    /// (width, height) after the op, if it is the last one of a transform of the list, and the size is that of every
    /// image.
    pub(crate) size: Option<(u32, u32)>,
    /// The user's colour step if the effect is [`Effect::Custom`].
    pub(crate) custom: Option<CustomColor>,
}

/// The slots of a list, and the image size if it is fixed.
#[derive(Debug, Default)]
pub(crate) struct Slots {
    pub(crate) list: Vec<Slot>,
    /// (width, height) after the last slot, if it is the same for every image.
    pub(crate) size: Option<(u32, u32)>,
    /// The greatest width and height after the last slot, if they are bounded; that size, if it is known.
    pub(crate) most: Option<(u32, u32)>,
    optional: bool,
    /// True while ops get 8-bit numbers.
    uint8: bool,
}

impl Slots {
    /// Slots behind an image of this (width, height), if that is the same for every image. `uint8` says whether its values are 8-bit
    /// numbers.
    pub(crate) fn behind(size: Option<(u32, u32)>, uint8: bool) -> Self {
        Slots { size, most: size, uint8, ..Slots::default() }
    }

    /// Returns true if the next slot's op gets 8-bit numbers.
    fn is_uint8(&self) -> bool {
        self.uint8
    }

    /// Adds the slots of a transform of the list.
    pub(crate) fn add(&mut self, transform: &Transform) {
        transform.slots(self);
        if let Some(last) = self.list.last_mut() {
            last.size = self.size;
        }
    }

    fn push(&mut self, transform: &'static str, effect: Effect) {
        self.uint8 &= !matches!(effect, Effect::ToFloat | Effect::Normalize);
        self.list.push(Slot { transform, effect, optional: self.optional, size: None, custom: None });
    }

    /// Sets the size after the last slot. One with a side of 0 counts as unknown: every image then fails there, with an error of
    /// its own.
    fn set_size(&mut self, size: Option<(u32, u32)>) {
        self.size = size.filter(|&(width, height)| width > 0 && height > 0);
        self.most = self.size;
    }

    /// Sets the size after the last slot, if it is known, or else the greatest one, if that is bounded.
    fn set_size_or_most(&mut self, size: Option<(u32, u32)>, most: Option<(u32, u32)>) {
        self.set_size(size);
        self.most = self.size.or(most);
    }

    /// Sets what is known after one of two ways on which an image goes: with this size and this greatest one, or with those
    /// after the last slot.
    fn join(&mut self, size: Option<(u32, u32)>, most: Option<(u32, u32)>) {
        self.size = self.size.filter(|_| self.size == size);
        self.most = self.most.zip(most).map(|(a, b)| (a.0.max(b.0), a.1.max(b.1)));
    }
}

/// The name of the operator that has no arithmetic on floats.
pub(crate) const JPEG_NAME: &str = JPEG::NAME;
/// The operator that calls code of the user's own.
pub(crate) const HOST_CODE_NAME: &str = HostCode::NAME;
/// The mixture that has none.
pub(crate) const TIMM_MIX_NAME: &str = TimmAugMix::NAME;

macro_rules! transforms {
    ($($module:ident::$name:ident),+ $(,)?) => {
        $(pub use $module::$name;)+

        /// Any operator. `From` is implemented for each, so lists are written `[Resize::new(256).into(), …]`.
        ///
        /// ```
        /// use gpufeed::transforms::{RandomHorizontalFlip, Transform};
        ///
        /// let flip: Transform = RandomHorizontalFlip::new(0.5).into();
        /// let json = serde_json::to_string(&flip).unwrap();
        /// assert_eq!(json, r#"{"type":"RandomHorizontalFlip","p":0.5}"#);
        /// ```
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "type")]
        #[non_exhaustive]
        pub enum Transform {
            $(#[doc = concat!("See [`", stringify!($name), "`].")] $name($name)),+
        }

        $(impl From<$name> for Transform {
            fn from(transform: $name) -> Self {
                Transform::$name(transform)
            }
        })+

        impl Transform {
            /// Returns the operator's name, as torchvision spells it.
            pub fn name(&self) -> &'static str {
                match self { $(Transform::$name(_) => <$name as Operator>::NAME),+ }
            }

            /// Checks the arguments of the transform.
            ///
            /// # Errors
            /// [`ErrorKind::Argument`](crate::ErrorKind::Argument) with the argument's name and the values that work.
            pub fn validate(&self) -> Result<()> {
                match self { $(Transform::$name(t) => t.validate()),+ }
            }

            /// Checks the arguments whose range depends on the numbers that the operator and those within it get.
            pub(crate) fn validate_range(&self, uint8: bool) -> Result<()> {
                self.nested().iter().try_for_each(|transform| transform.validate_range(uint8))?;
                match self { $(Transform::$name(t) => t.validate_range(uint8)),+ }
            }

            /// Checks that the operator and those within it work on 8-bit numbers, which they get.
            pub(crate) fn validate_uint8(&self) -> Result<()> {
                self.nested().iter().try_for_each(Transform::validate_uint8)?;
                match self { $(Transform::$name(t) => t.validate_uint8()),+ }
            }

            /// Returns true if it has the same effect on every image of a size, in every epoch.
            pub(crate) fn is_fixed(&self) -> bool {
                match self { $(Transform::$name(t) => t.is_fixed()),+ }
            }

            /// The names of the operators of which that is always true.
            pub(crate) fn fixed_names() -> Vec<&'static str> {
                let all = [$(<$name as Operator>::FIXED.then_some(<$name as Operator>::NAME)),+];
                all.into_iter().flatten().collect()
            }

            /// The values that work for a key that the operator `name` alone has.
            pub(crate) fn own_key(name: &str, key: &str) -> Option<&'static str> {
                let keys = match name { $(<$name as Operator>::NAME => <$name as Operator>::KEYS,)+ _ => &[] };
                keys.iter().find(|(own, _)| *own == key).map(|(_, works)| *works)
            }

            /// Returns true if the parameters of the operator, or of one within it, depend on the boxes of the image.
            pub(crate) fn looks_at_objects(&self) -> bool {
                let own = match self { $(Transform::$name(_) => <$name as Operator>::LOOKS_AT_OBJECTS),+ };
                own || self.nested().iter().any(Transform::looks_at_objects)
            }

            /// Returns the number of images that it makes of one.
            pub(crate) fn crops(&self) -> u32 {
                match self { $(Transform::$name(_) => <$name as Operator>::CROPS),+ }
            }

            pub(crate) fn slots(&self, slots: &mut Slots) {
                match self { $(Transform::$name(t) => t.slots(slots)),+ }
            }

            pub(crate) fn make_params(&self, context: &mut Context<'_>) -> Result<()> {
                let mut numbers = context.numbers();
                match self { $(Transform::$name(t) => t.make_params(context, &mut numbers)),+ }
            }
        }
    };
}

transforms!(
    adjust_gamma::AdjustGamma,
    aug_mix::AugMix,
    auto_augment::AutoAugment,
    center_crop::CenterCrop,
    color_jitter::ColorJitter,
    custom_color::CustomColor,
    elastic_transform::ElasticTransform,
    gaussian_blur::GaussianBlur,
    gaussian_noise::GaussianNoise,
    five_crop::FiveCrop,
    grayscale::Grayscale,
    host_code::HostCode,
    jpeg::JPEG,
    normalize::Normalize,
    pad::Pad,
    random_apply::RandomApply,
    random_channel_permutation::RandomChannelPermutation,
    random_choice::RandomChoice,
    random_crop::RandomCrop,
    random_erasing::RandomErasing,
    random_grayscale::RandomGrayscale,
    random_horizontal_flip::RandomHorizontalFlip,
    random_invert::RandomInvert,
    random_order::RandomOrder,
    random_photometric_distort::RandomPhotometricDistort,
    random_posterize::RandomPosterize,
    random_resize::RandomResize,
    random_resized_crop::RandomResizedCrop,
    random_shortest_size::RandomShortestSize,
    random_solarize::RandomSolarize,
    random_vertical_flip::RandomVerticalFlip,
    rand_augment::RandAugment,
    random_adjust_sharpness::RandomAdjustSharpness,
    random_affine::RandomAffine,
    random_autocontrast::RandomAutocontrast,
    random_equalize::RandomEqualize,
    random_perspective::RandomPerspective,
    random_rotation::RandomRotation,
    random_zoom_out::RandomZoomOut,
    resize::Resize,
    scale_jitter::ScaleJitter,
    ten_crop::TenCrop,
    timm_aug_mix::TimmAugMix,
    timm_augment_op::TimmAugmentOp,
    timm_auto_augment::TimmAutoAugment,
    timm_rand_augment::TimmRandAugment,
    to_dtype::ToDtype,
    trivial_augment_wide::TrivialAugmentWide,
    pillow_gaussian_blur::PillowGaussianBlur,
    center_crop_or_pad::CenterCropOrPad,
    random_crop_or_pad::RandomCropOrPad,
    random_pad::RandomPad,
    resize_keep_ratio::ResizeKeepRatio,
    trim_border::TrimBorder,
    clamp_bounding_boxes::ClampBoundingBoxes,
    clamp_key_points::ClampKeyPoints,
    convert_bounding_box_format::ConvertBoundingBoxFormat,
    sanitize_bounding_boxes::SanitizeBoundingBoxes,
    sanitize_key_points::SanitizeKeyPoints,
    set_clamping_mode::SetClampingMode,
    random_iou_crop::RandomIoUCrop,
    letterbox::Letterbox,
    bbox_safe_random_crop::BBoxSafeRandomCrop,
    sanitize_visibility::SanitizeVisibility,
    pad_if_smaller::PadIfSmaller,
    fixed_size_crop::FixedSizeCrop,
    random_size_crop::RandomSizeCrop,
);

/// torchvision's default interpolation of most warps, for serde.
fn nearest() -> Interpolation {
    Interpolation::Nearest
}

/// torchvision's default probability, for serde.
fn half() -> f64 {
    0.5
}

impl Transform {
    /// The list inside an operator; empty for most.
    pub(crate) fn nested(&self) -> &[Transform] {
        match self {
            Transform::RandomApply(RandomApply { transforms, .. })
            | Transform::RandomChoice(RandomChoice { transforms, .. })
            | Transform::RandomOrder(RandomOrder { transforms }) => transforms,
            _ => &[],
        }
    }
}

/// Checks the list inside an operator.
fn check_list(transforms: &[Transform]) -> Result<()> {
    if transforms.is_empty() || transforms.len() > 255 {
        return Err(Error::argument("transforms", format!("{} of them; 1 to 255 work", transforms.len())));
    }
    transforms.iter().try_for_each(Transform::validate)
}

/// Collects the paths of the operators that may use random numbers.
pub(crate) fn random_paths(transforms: &[Transform], path: u64, paths: &mut Vec<u64>) {
    let may_draw = |transform: &Transform| !transform.is_fixed() && transform.crops() == 1;
    for (i, transform) in transforms.iter().enumerate().filter(|(_, transform)| may_draw(transform)) {
        let own = crate::random::key::child(path, i);
        paths.push(own);
        random_paths(transform.nested(), own, paths);
    }
}
