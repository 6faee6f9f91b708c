//! Transforms of whole batches: torchvision v2's `MixUp` and `CutMix`, timm's `Mixup`, and a random choice of several.
//!
//! A [`BatchTransform`] makes the [`BatchParams`] of a batch, without its pixels. They have one mix for all samples, or one
//! for each; each image is mixed with its [`Partner`]'s.
//!
//! A batch transform has no op and no slot. The feeder makes the parameters when it announces the batch, from the key
//! of the batch's first position, whether or not that sample fails. `plan/mixing.rs` turns them into elements and
//! shares; `cpu/mix.rs` and `shaders/batch/mix.wgsl` go down the finished batch, one element position of all samples
//! after the other, so that memory reads and writes each byte once. One dispatch mixes a batch, unless it exceeds a
//! binding; its parameters, and the last sample where it takes several, have buffers of their own in `gpu/target.rs`. A
//! replay makes both images and mixes them as a batch of two: `Params::mixed` names the partner with its parameters.
//!
//! Where each sample has a mix of its own, `cpu/mix_each.rs` takes a sample and its partner at once; a GPU mixes each by a
//! dispatch, from a copy of the samples that are mixed before their partners are.

mod choice;
mod cut_mix;
mod mix_up;
mod timm_mixup;

pub use choice::BatchChoice;
pub use cut_mix::CutMix;
pub use mix_up::MixUp;
pub use timm_mixup::{MixupMode, TimmMixup};

use super::mix::Mix;
use crate::error::{Error, Result};
use crate::random::Numbers;
use crate::random::beta::symmetric_beta;
use crate::random::key::{Key, child};
use serde::{Deserialize, Serialize};

/// The view of the keys of batches: no image has it.
const VIEW: u32 = u32::MAX - 1;

/// The image with which an image is mixed. It belongs to the same view; that of a single image is the image itself.
///
/// ```
/// use gpufeed::transforms::{MixUp, Partner};
///
/// assert_eq!(MixUp::new(0.8).partner, Partner::Previous);
/// assert_eq!(MixUp::new(0.8).partner(Partner::Reversed).partner, Partner::Reversed);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Partner {
    /// That of the sample before, torchvision's `roll(1, 0)`; the first sample gets the last one.
    #[default]
    Previous,
    /// That of the sample which has the same place from the batch's end, as in timm.
    Reversed,
}

impl Partner {
    /// The number of the partner of sample `sample`, in a batch of `samples`.
    pub(crate) fn of(self, sample: usize, samples: usize) -> usize {
        match self {
            Partner::Previous => (sample + samples - 1) % samples,
            Partner::Reversed => samples - 1 - sample,
        }
    }
}

/// The parameters of one batch.
///
/// ```
/// use gpufeed::transforms::{BatchTransform, Key, Mix, MixUp};
///
/// let mix_up: BatchTransform = MixUp::new(0.2).into();
/// let params = mix_up.make_params(224, 224, 8, &Key::default()).unwrap();
/// assert!(matches!(params.mix(7), Mix::MixUp { lambda } if lambda < 1.0));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BatchParams {
    /// How the images of each sample are mixed; a single one stands for all samples.
    pub mixes: Vec<Mix>,
    /// Which images are mixed.
    pub partner: Partner,
    /// The share of each label that [`Batch::soft_labels`](crate::Batch::soft_labels) spreads over all classes.
    #[serde(default)]
    pub label_smoothing: f64,
}

impl BatchParams {
    /// Mixes all samples in one way.
    pub fn all(mix: Mix, partner: Partner) -> Self {
        BatchParams { mixes: vec![mix], partner, label_smoothing: 0.0 }
    }

    /// Returns how the images of a sample are mixed.
    ///
    /// # Panics
    /// If there is no such sample.
    pub fn mix(&self, sample: usize) -> Mix {
        if let [all] = self.mixes[..] { all } else { self.mixes[sample] }
    }
}

/// Leaves the batch as it is: torchvision's `Identity`, an entry of a [`BatchChoice`].
///
/// ```
/// use gpufeed::transforms::{BatchTransform, Identity, MixUp};
///
/// // Mixes half of the batches.
/// let sometimes = BatchTransform::choice([MixUp::new(1.0).into(), Identity {}.into()]);
/// # let _ = sometimes;
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Identity {}

/// A transform of a whole batch, for [`DataLoaderBuilder::batch_transform`](crate::DataLoaderBuilder::batch_transform).
///
/// ```
/// use gpufeed::transforms::{BatchTransform, CutMix};
///
/// let cut_mix: BatchTransform = CutMix::new(1.0).into();
/// let json = serde_json::to_string(&cut_mix).unwrap();
/// assert_eq!(json, r#"{"type":"CutMix","alpha":1.0,"partner":"Previous"}"#);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type")]
#[non_exhaustive]
pub enum BatchTransform {
    /// Blends each image with another one: [`MixUp`].
    MixUp(MixUp),
    /// Puts a box of another image into each: [`CutMix`].
    CutMix(CutMix),
    /// Either of them with the partner from the batch's other end, for all or for each: [`TimmMixup`].
    TimmMixup(TimmMixup),
    /// Leaves the batch as it is: [`Identity`].
    Identity(Identity),
    /// Applies one of several to each batch: [`BatchChoice`].
    RandomChoice(BatchChoice),
}

macro_rules! from {
    ($($variant:ident: $name:ident),+) => {
        $(impl From<$name> for BatchTransform {
            fn from(transform: $name) -> Self {
                BatchTransform::$variant(transform)
            }
        })+
    };
}

from!(MixUp: MixUp, CutMix: CutMix, TimmMixup: TimmMixup, Identity: Identity, RandomChoice: BatchChoice);

impl BatchTransform {
    /// Returns a choice of one of `transforms` for each batch, all equally often unless [`BatchChoice::p`] says
    /// otherwise.
    pub fn choice(transforms: impl IntoIterator<Item = BatchTransform>) -> BatchChoice {
        BatchChoice::new(transforms)
    }

    /// Returns the transform's name, as torchvision spells it; timm's has its name before it.
    pub fn name(&self) -> &'static str {
        match self {
            BatchTransform::MixUp(_) => "MixUp",
            BatchTransform::CutMix(_) => "CutMix",
            BatchTransform::TimmMixup(_) => "TimmMixup",
            BatchTransform::Identity(_) => "Identity",
            BatchTransform::RandomChoice(_) => "RandomChoice",
        }
    }

    /// Checks the arguments of the transform.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`](crate::ErrorKind::Argument) with the argument's name and the values that work.
    pub fn validate(&self) -> Result<()> {
        match self {
            BatchTransform::MixUp(MixUp { alpha, .. }) | BatchTransform::CutMix(CutMix { alpha, .. }) => {
                check_alpha(*alpha)
            }
            BatchTransform::TimmMixup(mixup) => mixup.validate(),
            BatchTransform::Identity(_) => Ok(()),
            BatchTransform::RandomChoice(choice) => choice.validate(),
        }
    }

    /// Makes the parameters of a batch of so many samples with images of this size; `None` if it stays as it is.
    ///
    /// A loader passes the key of the batch's first position: its seed, epoch, sample and occurrence. The view does not
    /// count.
    pub fn make_params(&self, width: u32, height: u32, samples: usize, key: &Key) -> Option<BatchParams> {
        self.at_path((width, height), samples, &Key { view: VIEW, ..*key }, child(0, 0))
    }

    fn at_path(&self, size: (u32, u32), samples: usize, key: &Key, path: u64) -> Option<BatchParams> {
        let mut numbers = key.numbers(path);
        match self {
            BatchTransform::MixUp(MixUp { alpha, partner }) => {
                let mix = Mix::MixUp { lambda: lambda(*alpha, &mut numbers) };
                Some(BatchParams::all(mix, *partner))
            }
            BatchTransform::TimmMixup(mixup) => Some(mixup.make_params(size, samples, &mut numbers)),
            BatchTransform::CutMix(CutMix { alpha, partner }) => {
                let lambda = lambda(*alpha, &mut numbers);
                Some(BatchParams::all(cut_mix::rectangle(lambda, size, &mut numbers), *partner))
            }
            BatchTransform::Identity(_) => None,
            BatchTransform::RandomChoice(choice) => {
                let (number, transform) = choice.choose(&mut numbers)?;
                transform.at_path(size, samples, key, child(path, number))
            }
        }
    }

    /// True if one of its transforms is such a one.
    fn any(&self, is: &impl Fn(&BatchTransform) -> bool) -> bool {
        match self {
            BatchTransform::RandomChoice(choice) => choice.transforms.iter().any(|transform| transform.any(is)),
            other => is(other),
        }
    }

    /// True if batches may be blended in floats, which bytes cannot hold.
    pub(crate) fn needs_floats(&self) -> bool {
        self.any(&|transform| matches!(transform, BatchTransform::MixUp(_)))
    }

    /// True if bytes may be blended, and rounded.
    pub(crate) fn blends_bytes(&self) -> bool {
        self.any(&|transform| matches!(transform, BatchTransform::TimmMixup(mixup) if mixup.mixup_alpha > 0.0))
    }

    /// True if the samples of a batch may be mixed each in its own way.
    pub(crate) fn mixes_each(&self) -> bool {
        self.any(&|transform| matches!(transform, BatchTransform::TimmMixup(mixup) if mixup.mode != MixupMode::Batch))
    }

    /// True if labels may be smoothed.
    pub(crate) fn smooths_labels(&self) -> bool {
        self.any(&|transform| matches!(transform, BatchTransform::TimmMixup(mixup) if mixup.label_smoothing > 0.0))
    }
}

impl std::fmt::Display for BatchTransform {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let name = self.name();
        match self {
            BatchTransform::MixUp(MixUp { alpha, partner }) | BatchTransform::CutMix(CutMix { alpha, partner }) => {
                write!(f, "{name}(alpha {alpha}, partner {partner:?})")
            }
            BatchTransform::TimmMixup(mixup) => write!(f, "{mixup}"),
            BatchTransform::Identity(_) => f.write_str(name),
            BatchTransform::RandomChoice(choice) => write!(f, "{name} of {choice}"),
        }
    }
}

fn check_alpha(alpha: f64) -> Result<()> {
    if alpha.is_finite() && alpha > 0.0 {
        Ok(())
    } else {
        Err(Error::argument("alpha", format!("{alpha}; a finite number > 0 works")))
    }
}

/// torchvision's default `alpha`, for serde.
fn one() -> f64 {
    1.0
}

/// λ of Beta(alpha, alpha) as torch's sampler gives it: an f32 that is neither 0 nor 1.
fn lambda(alpha: f64, numbers: &mut Numbers) -> f64 {
    const LARGEST: f32 = 1.0 - f32::EPSILON / 2.0;
    let lambda = symmetric_beta(alpha, numbers) as f32;
    f64::from(lambda.clamp(f32::MIN_POSITIVE, LARGEST))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partners_are_those_of_roll_and_flip() {
        let all =
            |partner: Partner, samples| (0..samples).map(|sample| partner.of(sample, samples)).collect::<Vec<_>>();
        assert_eq!(all(Partner::Previous, 4), [3, 0, 1, 2]);
        assert_eq!(all(Partner::Reversed, 4), [3, 2, 1, 0]);
        assert_eq!(all(Partner::Reversed, 3), [2, 1, 0]);
        assert_eq!((all(Partner::Previous, 1), all(Partner::Reversed, 1)), (vec![0], vec![0]));
    }

    #[test]
    fn lambda_is_an_f32_inside_the_interval() {
        let mut numbers = Numbers::new([1; 32], 0);
        for _ in 0..2000 {
            let lambda = lambda(0.02, &mut numbers);
            assert!(lambda > 0.0 && lambda < 1.0 && f64::from(lambda as f32) == lambda, "{lambda}");
        }
    }

    #[test]
    fn every_part_of_the_key_but_the_view_counts() {
        let transform: BatchTransform = CutMix::new(1.0).into();
        let key = Key { seed: 1, epoch: 2, sample: 3, occurrence: 4, view: 5 };
        let made = |key: Key| transform.make_params(64, 64, 8, &key);
        assert_eq!(made(key), made(Key { view: 0, ..key }));
        for other in
            [Key { seed: 0, ..key }, Key { epoch: 0, ..key }, Key { sample: 0, ..key }, Key { occurrence: 0, ..key }]
        {
            assert_ne!(made(key), made(other));
        }
    }
}
