//! Plans of images that follow others: the same crops, borders, sizes, flips and warps, without the others' colour.
//!
//! Such a plan has the list of the one that it follows, and its own list after it. Operators draw as they do there, by
//! the same paths in the list; of what they emit, the plan keeps what moves pixels. Slots that change colours alone stay
//! as [`Effect::Never`], so that all slots have the numbers that they have there.

use super::host_code::Begin;
use super::{Output, Plan, Semantics};
use crate::error::{Error, Result};
use crate::transforms::{
    Effect, GatherClass, Interpolation, JPEG_NAME, Op, ParamsOp, PolicyOp, Slot, Slots, Transform,
};

/// What a plan takes over from the plan that it follows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Following {
    /// The number of transforms that are the other plan's.
    pub(super) transforms: usize,
    /// The number of slots that are.
    slots: usize,
    /// How pixels between others are computed, in place of what the other list says.
    interpolation: Interpolation,
    fill: Outside,
    /// Channels of the images of the other plan, by which its operators draw.
    pub(super) channels: u32,
    /// True if operators of the other plan call functions of the user.
    pub(super) calls_users: bool,
}

/// How the images of a plan follow those of another one, besides their geometry.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FollowedBy {
    pub(crate) interpolation: Interpolation,
    pub(crate) fill: Outside,
}

/// The number of constant borders, and of what warps leave outside of the image.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outside {
    pub(crate) number: f32,
    /// The number that operators on floats have as 1. Those on 8-bit numbers have all as they are.
    pub(crate) white: f32,
}

impl Outside {
    /// The number as an operator has it.
    fn of(self, is_uint8: bool) -> [f32; 3] {
        [if is_uint8 { self.number } else { self.number / self.white }; 3]
    }
}

impl Plan {
    /// A plan whose images have the geometry that this plan's images have for the same key and the same size. Colours stay
    /// as they are, and then go through `own`.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`](crate::ErrorKind::Argument) for operators in `own` that draw or move pixels, for an `AugMix`
    /// in this plan, which has no geometry that another image could have, and for an interpolation that its warps have not;
    /// those of [`compile_as`](Self::compile_as) for `own`.
    pub(crate) fn followed_by(
        &self,
        own: &[Transform],
        FollowedBy { interpolation, fill }: FollowedBy,
        semantics: Semantics,
        input_channels: u32,
        output: &Output,
    ) -> Result<Plan> {
        let refuse = |reason: String| Err(Error::argument("follows", reason));
        if self.following.is_some() {
            return refuse("the other group follows one itself; follow that one".to_owned());
        }
        if let Some(other) = own.iter().find(|transform| !is_fixed_color(transform)) {
            let name = other.name();
            return refuse(format!(
                "{name} stands in the list, but the geometry is the other group's: operators that change colours and draw \
                 nothing work, which are Normalize, ToDtype, Grayscale and AdjustGamma"
            ));
        }
        let has = |wanted: fn(Effect) -> bool| self.slots.iter().find(|slot| wanted(slot.effect));
        if let Some(slot) = has(|effect| effect == Effect::Mixture) {
            return refuse(format!(
                "{} of the other group mixes geometries, which no image can follow",
                slot.transform
            ));
        }
        if has(|effect| effect == Effect::HostCode).is_some() {
            return refuse("own code of the other group may move pixels, which no image can follow".to_owned());
        }
        let warps = |effect: Effect| {
            use GatherClass::{Native, PillowAffine, Timm, Warp};
            effect.is_policy() || matches!(effect, Effect::Gather(Warp | Native | PillowAffine(_) | Timm))
        };
        if !matches!(interpolation, Interpolation::Nearest | Interpolation::Bilinear)
            && let Some(slot) = self.slots.iter().find(|slot| warps(slot.effect) && slot.transform != JPEG_NAME)
        {
            let reason = format!("{interpolation:?}; Nearest and Bilinear work with {}", slot.transform);
            return Err(Error::argument("interpolation", reason));
        }
        let following = Following {
            transforms: self.transforms.len(),
            slots: self.slots.len(),
            interpolation,
            fill,
            channels: self.input_channels,
            calls_users: self.calls_users(),
        };
        let list = [&self.transforms, own].concat();
        Plan::compile_list(semantics, input_channels, &list, output, Some(following), Begin::default())
    }

    /// The first operator that may compute numbers between those of pixels.
    pub(crate) fn interpolates(&self) -> Option<&'static str> {
        let is_nearest = |interpolation| matches!(interpolation, Interpolation::Nearest | Interpolation::NearestExact);
        let follows_nearest = self.following.is_some_and(|following| is_nearest(following.interpolation));
        let blends = |slot: &&Slot| match slot.effect {
            Effect::Resize { interpolation, .. } => !is_nearest(interpolation),
            Effect::Gather(_) | Effect::Policy | Effect::BicubicPolicy => !follows_nearest,
            _ => false,
        };
        self.slots.iter().find(blends).map(|slot| slot.transform)
    }

    /// The first operator that may change numbers otherwise than by `Normalize`: it takes white for 1, and gray of 16 bits
    /// has larger numbers.
    pub(crate) fn changes_colors(&self) -> Option<&'static str> {
        let of_other = self.following.map_or(0, |following| following.slots);
        let changes = |(number, slot): &(usize, &Slot)| match slot.effect {
            Effect::Never | Effect::Crop | Effect::Pad { .. } | Effect::Resize { .. } | Effect::Flip => false,
            Effect::ToFloat | Effect::Normalize | Effect::Objects => false,
            Effect::Gather(GatherClass::Warp | GatherClass::PillowAffine(_)) => false,
            Effect::Gather(GatherClass::Native) => slot.transform == JPEG_NAME,
            Effect::Policy | Effect::BicubicPolicy | Effect::Gather(GatherClass::Timm) => *number >= of_other,
            Effect::Color(_) | Effect::Custom | Effect::Channels(_) | Effect::Gather(_) | Effect::Mixture => true,
            Effect::HostCode => true,
        };
        self.slots.iter().enumerate().find(changes).map(|(_, slot)| slot.transform)
    }
}

impl Following {
    /// Leaves of the other plan's slots what moves pixels or changes objects.
    pub(super) fn restrict(&self, slots: &mut [Slot]) {
        for slot in slots.iter_mut().take(self.slots) {
            slot.custom = None;
            slot.effect = match slot.effect {
                Effect::Crop | Effect::Flip | Effect::Policy | Effect::Objects => slot.effect,
                Effect::Gather(GatherClass::Warp | GatherClass::Timm) => slot.effect,
                Effect::BicubicPolicy => Effect::Policy,
                Effect::Gather(GatherClass::PillowAffine(_)) => {
                    Effect::Gather(GatherClass::PillowAffine(self.interpolation))
                }
                Effect::Gather(GatherClass::Native) if slot.transform != JPEG_NAME => slot.effect,
                Effect::Pad { mode, .. } => Effect::Pad { mode, fill: [0.0; 3] },
                Effect::Resize { antialias, .. } => Effect::Resize { interpolation: self.interpolation, antialias },
                _ => Effect::Never,
            };
        }
    }

    /// Gives the borders of restricted slots the plan's fill. Slots before `first_float_slot` work on 8-bit numbers.
    pub(super) fn fill(&self, slots: &mut [Slot], first_float_slot: usize) {
        for (number, slot) in slots.iter_mut().enumerate().take(self.slots) {
            if let Effect::Pad { fill, .. } = &mut slot.effect {
                *fill = self.fill.of(number < first_float_slot);
            }
        }
    }

    /// Leaves of an image's ops those that move pixels or change objects, and those of the plan's own list.
    pub(super) fn keep(&self, ops: &mut Vec<ParamsOp>, first_float_slot: usize) {
        ops.retain_mut(|ParamsOp { slot, op }| {
            let slot = usize::from(*slot);
            slot >= self.slots || self.moves_pixels(op, self.fill.of(slot < first_float_slot))
        });
    }

    /// True if an op moves pixels, which it then does as a follower does.
    fn moves_pixels(&self, op: &mut Op, outside: [f32; 3]) -> bool {
        match op {
            Op::Crop { .. } | Op::HorizontalFlip | Op::VerticalFlip | Op::Objects(_) => {}
            Op::Pad { fill, .. } => *fill = outside,
            Op::Resize { interpolation, .. } => *interpolation = self.interpolation,
            Op::PillowAffine { interpolation, fill, .. } => (*interpolation, *fill) = (self.interpolation, outside),
            Op::Policy { id, .. } if !is_warp(*id) => return false,
            Op::Timm { id, .. } if !id.is_warp() => return false,
            Op::Timm { interpolation, fill, .. } => (*interpolation, *fill) = (self.interpolation, outside),
            Op::Affine { interpolation, fill, .. }
            | Op::Rotate { interpolation, fill, .. }
            | Op::Perspective { interpolation, fill, .. }
            | Op::Elastic { interpolation, fill, .. }
            | Op::Policy { interpolation, fill, .. } => {
                *interpolation = self.interpolation;
                // Without a fill, what is outside is 0.
                *fill = if outside == [0.0; 3] { fill.map(|_| outside) } else { Some(outside) };
            }
            _ => return false,
        }
        true
    }
}

/// True if an operation of a policy moves pixels.
fn is_warp(id: PolicyOp) -> bool {
    use PolicyOp::{Rotate, ShearX, ShearY, TranslateX, TranslateY};
    matches!(id, ShearX | ShearY | TranslateX | TranslateY | Rotate)
}

/// True for an operator that draws nothing and changes colours alone.
fn is_fixed_color(transform: &Transform) -> bool {
    let mut slots = Slots::default();
    transform.slots(&mut slots);
    let is_color = |slot: &Slot| {
        matches!(
            slot.effect,
            Effect::Never
                | Effect::ToFloat
                | Effect::Objects
                | Effect::Normalize
                | Effect::Channels(_)
                | Effect::Color(_)
        )
    };
    transform.is_fixed() && slots.list.iter().all(is_color)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transforms::*;

    const NEAREST: Interpolation = Interpolation::Nearest;
    const BLACK: FollowedBy = FollowedBy { interpolation: NEAREST, fill: Outside { number: 0.0, white: 255.0 } };

    fn everything() -> Vec<Transform> {
        vec![
            RandomResizedCrop::new(24).into(),
            RandomApply::new(0.7, [ColorJitter::new(0.4, 0.4, 0.4, 0.1)]).into(),
            RandomHorizontalFlip::new(0.5).into(),
            RandomGrayscale::new(0.3).into(),
            RandomRotation::new(20.0).into(),
            TrivialAugmentWide::new().into(),
            RandomPerspective::new(0.5).into(),
            ElasticTransform::new(20.0, 3.0).into(),
            GaussianBlur::new(5).into(),
            RandomErasing::new(0.5).into(),
            Pad::new(2).fill([0.1, 0.2, 0.3]).into(),
            RandomCrop::new(20).into(),
            Normalize::IMAGENET.into(),
        ]
    }

    fn follow(own: &[Transform], interpolation: Interpolation, channels: u32) -> Result<Plan> {
        let plan = Plan::compile(&everything(), &Output::default()).unwrap();
        plan.followed_by(own, FollowedBy { interpolation, ..BLACK }, Semantics::Float, channels, &Output::default())
    }

    #[test]
    fn a_follower_has_the_geometry_and_no_colour() {
        let plan = Plan::compile(&everything(), &Output::default()).unwrap();
        let own = [Normalize::new([0.5; 3], [0.5; 3]).into()];
        let follower = follow(&own, NEAREST, 1).unwrap();
        assert_eq!((follower.output_size(), follower.channels()), (Some((20, 20)), 1));
        let mut kinds = std::collections::HashSet::new();
        for sample in 0..200 {
            let key = Key { seed: 9, sample, ..Key::default() };
            let (all, kept) = (plan.make_params(90, 70, &key).unwrap(), follower.make_params(90, 70, &key).unwrap());
            assert!(follower.program(&kept).is_ok(), "{kept:?}");
            let (last, kept) = kept.ops.split_last().unwrap();
            assert_eq!(last.op, Op::Normalize { mean: [0.5; 3], std: [0.5; 3] });
            let mut of_all = all.ops.iter();
            for kept in kept {
                // What is kept stands there in the same order; only interpolations and colours differ.
                let other = of_all.find(|other| other.slot == kept.slot).unwrap();
                let mut expected = other.op.clone();
                match &mut expected {
                    Op::Resize { interpolation, .. } => *interpolation = NEAREST,
                    Op::Pad { fill, .. } => *fill = [0.0; 3],
                    _ => {}
                }
                if matches!(expected, Op::Resize { .. } | Op::Pad { .. } | Op::Crop { .. }) {
                    assert_eq!(kept.op, expected);
                }
                kinds.insert(std::mem::discriminant(&kept.op));
            }
            let moves = |op: &ParamsOp| !matches!(op.op.effect(), Effect::Color(_) | Effect::Normalize);
            assert!(kept.iter().all(moves), "{kept:?}");
        }
        // Crop, resize, flip, rotation, policy, perspective, elastic, border.
        assert_eq!(kinds.len(), 8);
    }

    /// Each op that leaves something outside of the image fills it with the follower's own number.
    #[test]
    fn a_follower_has_its_own_fill() {
        let plan = Plan::compile(&everything(), &Output::default()).unwrap();
        let own = FollowedBy { interpolation: NEAREST, fill: Outside { number: 251.0, white: 255.0 } };
        let mut kinds = std::collections::HashSet::new();
        for (sample, semantics) in (0..400).zip([Semantics::Float, Semantics::Uint8].into_iter().cycle()) {
            let follower = plan.followed_by(&[], own, semantics, 1, &Output::default()).unwrap();
            let expected = if semantics == Semantics::Uint8 { 251.0 } else { 251.0 / 255.0 };
            let kept = follower.make_params(90, 70, &Key { seed: 9, sample, ..Key::default() }).unwrap();
            assert!(follower.program(&kept).is_ok(), "{kept:?}");
            for op in &kept.ops {
                let fill = match &op.op {
                    Op::Pad { fill, .. } => Some(*fill),
                    Op::Rotate { fill, .. } | Op::Perspective { fill, .. } => *fill,
                    Op::Elastic { fill, .. } | Op::Policy { fill, .. } => *fill,
                    _ => continue,
                };
                assert_eq!(fill, Some([expected; 3]), "{op:?}");
                kinds.insert(std::mem::discriminant(&op.op));
            }
        }
        assert_eq!(kinds.len(), 5);
    }

    #[test]
    fn a_follower_of_bicubic_warps_reads_nearest_pixels() {
        let cubic = Interpolation::Bicubic;
        let list = [
            RandomRotation::new(20.0).interpolation(cubic).fill(9.0).into(),
            RandAugment::new(2, 9).interpolation(cubic).into(),
            PillowGaussianBlur::new(1.0, 2.0).into(),
            CenterCrop::new(8).into(),
        ];
        let plan = Plan::compile_as(Semantics::Uint8, 3, &list, &Output::default()).unwrap();
        let follower = plan.followed_by(&[], BLACK, Semantics::Uint8, 3, &Output::default()).unwrap();
        let mut warps = 0;
        for sample in 0..40 {
            let key = Key { sample, ..Key::default() };
            let (all, kept) = (plan.make_params(30, 20, &key).unwrap(), follower.make_params(30, 20, &key).unwrap());
            assert!(follower.program(&kept).is_ok(), "{kept:?}");
            let Op::PillowAffine { matrix, .. } = all.ops[0].op else { panic!("{all:?}") };
            let expected = Op::PillowAffine { matrix, interpolation: NEAREST, fill: [0.0; 3] };
            assert_eq!(kept.ops[0].op, expected);
            for op in &kept.ops[1..kept.ops.len() - 1] {
                assert!(matches!(op.op, Op::Policy { interpolation: NEAREST, .. }), "{kept:?}");
                warps += 1;
            }
        }
        assert!(warps > 10, "{warps} operations of policies move pixels");
    }

    #[test]
    fn a_follower_of_timms_policies_has_their_warps() {
        let ops = [TimmOp::Rotate, TimmOp::Invert, TimmOp::TranslateXRel];
        let ops = ops.map(|name| TimmAugmentOp { prob: 1.0, ..TimmAugmentOp::new(name) });
        let list = [TimmRandAugment::new(ops).into(), CenterCrop::new(8).into()];
        let output = Output::default();
        let plan = Plan::compile_as(Semantics::Uint8, 3, &list, &output).unwrap();
        let follower = plan.followed_by(&[], BLACK, Semantics::Uint8, 1, &output).unwrap();
        let mut left_out = 0;
        for sample in 0..50 {
            let key = Key { sample, ..Key::default() };
            let [all, kept] = [&plan, &follower].map(|plan| plan.make_params(20, 30, &key).unwrap().ops);
            let warp = |op: &ParamsOp| match op.op {
                Op::Timm { id, argument, .. } if id != TimmOp::Invert => {
                    let op = Op::Timm { id, argument, interpolation: NEAREST, fill: [0.0; 3] };
                    Some(op)
                }
                Op::Timm { .. } => None,
                ref other => Some(other.clone()),
            };
            let expected: Vec<Op> = all.iter().filter_map(warp).collect();
            left_out += all.len() - expected.len();
            assert_eq!(kept.into_iter().map(|op| op.op).collect::<Vec<_>>(), expected);
        }
        assert!(left_out > 10, "{left_out} inversions");
        let error = plan.followed_by(&[], BLACK, Semantics::Float, 1, &output).unwrap_err().to_string();
        assert!(error.contains("TimmRandAugment needs 8-bit numbers"), "{error}");
    }

    #[test]
    fn lists_that_no_image_can_follow_are_refused() {
        let refused = |own: Transform| follow(&[own], NEAREST, 3).unwrap_err().to_string();
        let flip = refused(RandomHorizontalFlip::new(0.5).into());
        assert!(flip.starts_with("follows: RandomHorizontalFlip stands in the list"), "{flip}");
        assert!(refused(Resize::new(8).into()).contains("Resize stands in the list"));
        assert!(refused(ColorJitter::new(0.1, 0.1, 0.1, 0.1).into()).contains("ColorJitter stands"));
        let cubic = follow(&[], Interpolation::Bicubic, 3).unwrap_err().to_string();
        assert!(cubic.contains("Bicubic; Nearest and Bilinear work with RandomRotation"), "{cubic}");
        let output = Output::default();
        let mixed = Plan::compile(&[AugMix::new().into(), CenterCrop::new(8).into()], &output).unwrap();
        let error = mixed.followed_by(&[], BLACK, Semantics::Float, 3, &output).unwrap_err().to_string();
        assert!(error.contains("AugMix of the other group mixes geometries"), "{error}");
        let follower = follow(&[], NEAREST, 3).unwrap();
        let error = follower.followed_by(&[], BLACK, Semantics::Float, 3, &output).unwrap_err().to_string();
        assert!(error.contains("follows one itself"), "{error}");
    }

    #[test]
    fn operators_that_take_white_for_1_are_known() {
        assert_eq!(follow(&[Normalize::IMAGENET.into()], NEAREST, 3).unwrap().changes_colors(), None);
        assert_eq!(follow(&[AdjustGamma::new(2.0).into()], NEAREST, 3).unwrap().changes_colors(), Some("AdjustGamma"));
        let plan = Plan::compile(&everything(), &Output::default()).unwrap();
        assert_eq!(plan.changes_colors(), Some("ColorJitter"));
    }

    #[test]
    fn a_follower_in_bytes_needs_no_floats() {
        let list = [JPEG::new((50, 90)).into(), RandomCrop::new(8).into(), Normalize::IMAGENET.into()];
        let plan = Plan::compile_as(Semantics::Uint8, 3, &list, &Output::default()).unwrap();
        for semantics in [Semantics::Uint8, Semantics::Float] {
            let follower = plan.followed_by(&[], BLACK, semantics, 3, &Output::default()).unwrap();
            assert!(follower.without_shaders().is_empty());
            let params = follower.make_params(30, 30, &Key::default()).unwrap();
            assert!(matches!(params.ops[..], [ParamsOp { op: Op::Crop { .. }, .. }]), "{params:?}");
        }
    }
}
