//! Decides which ops share a stage, once, before any image is seen.
//!
//! A stage is one resampling followed by colour steps. An op joins the current stage if the result is *exactly* that of
//! one op after the other, whatever the parameters; otherwise it opens a new stage, which reads the result of the old
//! one through an f32 intermediate. [`PlanStage::absorb`] has the rules.
//!
//! Exactly: with exact numbers. Numbers of 8 bits are equal; of floats the last bits may differ, because they are rounded
//! in other places: those of 15 in 1,000 random lists do, by 2.4e-6 at most (`tests/pixels/fusion.rs`).

use super::positions::Positions;
use crate::color::Facts;
use crate::transforms::{Effect, GatherClass, PaddingMode, Slot};

/// The stage of an op slot, and the op's position in that stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SlotPlace {
    /// The number of the stage.
    pub(crate) stage: u16,
    /// For geometry: true if it works on the resize's grid, false if on the source.
    pub(crate) on_grid: bool,
    /// For contrast: the index among the stage's statistics.
    pub(crate) statistic: u16,
}

impl SlotPlace {
    /// The stage of an op that comes before the stages of a plan.
    pub(super) const NO_STAGE: u16 = u16::MAX;
}

/// Upper bounds for every image's program in one stage.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct PlanStage {
    /// Names of the transforms, for `explain`.
    pub(crate) transforms: Vec<&'static str>,
    /// The most colour steps that one image can have in the stage.
    pub(crate) steps: u32,
    /// The positions of these steps.
    pub(crate) positions: Positions,
    /// The most statistics that one image can need in the stage.
    pub(crate) statistics: u16,
    /// Width and height of the stage's result, if they are those of every image.
    pub(crate) size: Option<(u32, u32)>,
    resized: bool,
    /// True if a step must know the position of its pixel, which it counts in pixels of this stage's result.
    placed: bool,
    /// True if an op has joined that may change the image.
    begun: bool,
    /// True if the stage may begin with an operator of `gather.rs`.
    pub(crate) gathers: bool,
    /// True if such an operator may be a blur, whose shader computes rows of neighbours.
    blurs: bool,
    /// True if an op has joined that gets 8-bit numbers.
    begun_in_uint8: bool,
    /// Whether the statistics are of 8-bit numbers, if there are any: the shaders keep both kinds in one buffer.
    pub(crate) uint8_statistics: Option<bool>,
    /// The border at the current level, and whether a crop came after it.
    border: Option<((PaddingMode, [f32; 3]), bool)>,
}

impl PlanStage {
    /// Adds the op to the stage if the stage stays exact.
    fn absorb(&mut self, effect: Effect, is_uint8: bool) -> bool {
        match effect {
            // The last stage calls the code with its result.
            Effect::Never | Effect::ToFloat | Effect::HostCode | Effect::Objects => return true,
            // It reads the whole result of the ops before it.
            Effect::Gather(_) | Effect::Policy | Effect::BicubicPolicy | Effect::Mixture if self.begun => return false,
            Effect::Mixture => self.gathers = true,
            Effect::Gather(class) => {
                self.gathers = true;
                self.blurs = matches!(class, GatherClass::Blur(_));
                self.uint8_statistics = Some(is_uint8);
            }
            // It may be a colour step that needs the image's mean.
            Effect::Policy | Effect::BicubicPolicy => {
                (self.gathers, self.steps, self.statistics) = (true, 1, 1);
                self.uint8_statistics = Some(is_uint8);
            }
            // A shader would compute the operator anew for each pixel that a filter reads.
            Effect::Resize { .. } if self.gathers => return false,
            Effect::Pad { .. } if self.blurs => return false,
            // The pixels may still be bytes, which hold only two colours of floats exactly.
            Effect::Pad { mode: PaddingMode::Constant, fill }
                if self.begun_in_uint8 && !is_uint8 && fill.iter().any(|value| ![0.0, 1.0].contains(value)) =>
            {
                return false;
            }
            Effect::Crop | Effect::Pad { .. } | Effect::Flip if self.placed => return false,
            // The mean is that of the whole image: pixels that a later crop removes count in it. Other colour steps are
            // pointwise and commute with a crop.
            Effect::Crop if self.statistics > 0 => return false,
            Effect::Crop => {
                if let Some((_, cropped)) = &mut self.border {
                    *cropped = true;
                }
            }
            // A colour step before a constant border must not change the border's colour; copied pixels have been
            // through the step.
            Effect::Pad { mode, .. } if self.statistics > 0 || (self.steps > 0 && mode == PaddingMode::Constant) => {
                return false;
            }
            Effect::Pad { mode, fill } => match self.border {
                None => self.border = Some(((mode, fill), false)),
                // Constant around the same constant, edge around edge: one wider border.
                Some((border, false))
                    if matches!(mode, PaddingMode::Constant | PaddingMode::Edge)
                        && border.0 == mode
                        && (mode == PaddingMode::Edge || border.1 == fill) => {}
                Some(_) => return false,
            },
            // Colour steps clamp, so they do not commute with a resize.
            Effect::Resize { .. } if self.resized || self.steps > 0 => return false,
            // A border is rounded to 8 bits before it is resized.
            Effect::Resize { .. } if is_uint8 && self.border.is_some() => return false,
            Effect::Resize { .. } => {
                self.resized = true;
                self.border = None;
                // Its weights stand beside the statistics.
                if is_uint8 {
                    self.uint8_statistics = Some(true);
                }
            }
            Effect::Flip => {}
            Effect::Color(_) | Effect::Custom | Effect::Channels(_) | Effect::Normalize => {
                for facts in effect.opcodes().map(Facts::of) {
                    self.steps += 1;
                    self.statistics += u16::from(facts.needs_mean);
                    if facts.needs_mean {
                        self.uint8_statistics = Some(is_uint8);
                    }
                    self.placed |= facts.placed;
                }
            }
        }
        self.begun = true;
        self.begun_in_uint8 |= is_uint8;
        true
    }
}

fn needs_mean(effect: Effect) -> bool {
    effect.opcodes().any(|opcode| Facts::of(opcode).needs_mean)
}

/// Distributes `slots` over stages. Ops before `first_float_slot` get 8-bit numbers.
pub(crate) fn fuse(slots: &[Slot], first_float_slot: usize) -> (Vec<PlanStage>, Vec<SlotPlace>) {
    distribute(slots, first_float_slot, |_| false)
}

/// Distributes `slots` as [`fuse`] does, with one more stage that begins at slot `boundary`. Stages that were separate
/// stay separate: merged ones would be sampled in another way.
pub(crate) fn divide(
    slots: &[Slot],
    first_float_slot: usize,
    places: &[SlotPlace],
    boundary: usize,
) -> (Vec<PlanStage>, Vec<SlotPlace>) {
    let begins = |number: usize| number > 0 && places[number].stage != places[number - 1].stage;
    let (mut stages, places) = distribute(slots, first_float_slot, |number| number == boundary || begins(number));
    if boundary == slots.len() {
        stages.push(PlanStage::default());
    }
    (stages, places)
}

/// Distributes `slots` over stages; `begins` tells which slots must open one. So does the first one on floats if means
/// come later and the stage has statistics of 8-bit numbers: within a transform none may open a stage, as its ops come
/// in any order.
fn distribute(
    slots: &[Slot],
    first_float_slot: usize,
    begins: impl Fn(usize) -> bool,
) -> (Vec<PlanStage>, Vec<SlotPlace>) {
    let mut stages = vec![PlanStage::default()];
    let places = slots
        .iter()
        .enumerate()
        .map(|(number, slot)| {
            let mut current = stages.len() - 1;
            let is_uint8 = number < first_float_slot;
            let other_statistics = number == first_float_slot
                && stages[current].uint8_statistics == Some(true)
                && slots[number..].iter().any(|slot| needs_mean(slot.effect));
            if begins(number) || other_statistics || !stages[current].absorb(slot.effect, is_uint8) {
                stages.push(PlanStage::default());
                current += 1;
                let fresh = stages[current].absorb(slot.effect, is_uint8);
                debug_assert!(fresh, "an empty stage takes any op");
            }
            let stage = &mut stages[current];
            stage.size = slot.size;
            let continues = number > 0 && slots[number - 1].transform == slot.transform;
            stage.positions.add(slot, number, is_uint8, continues);
            debug_assert_eq!(stage.positions.len(), stage.steps as usize, "a position for each step");
            if !matches!(slot.effect, Effect::Never | Effect::HostCode)
                && stage.transforms.last() != Some(&slot.transform)
            {
                stage.transforms.push(slot.transform);
            }
            SlotPlace { stage: current as u16, on_grid: stage.resized, statistic: stage.statistics.saturating_sub(1) }
        })
        .collect();
    (stages, places)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transforms::*;

    fn stages(transforms: &[Transform]) -> Vec<PlanStage> {
        let mut slots = Slots::default();
        transforms.iter().for_each(|transform| transform.slots(&mut slots));
        fuse(&slots.list, 0).0
    }

    #[test]
    fn a_border_opens_a_stage_and_only_there() {
        let mut slots = Slots::default();
        let list: [Transform; 3] =
            [Resize::new(64).into(), RandomCrop::new(32).into(), RandomHorizontalFlip::default().into()];
        list.iter().for_each(|transform| transform.slots(&mut slots));
        let places = fuse(&slots.list, 0).1;
        let stages =
            |border| divide(&slots.list, 0, &places, border).1.iter().map(|place| place.stage).collect::<Vec<_>>();
        assert!(places.iter().all(|place| place.stage == 0));
        assert_eq!(stages(1), [0, 1, 1, 1, 1]);
        assert_eq!(stages(5), [0; 5]);
        assert_eq!(divide(&slots.list, 0, &places, 5).0.len(), 2);
    }

    #[test]
    fn stages_that_were_apart_stay_apart() {
        let mut slots = Slots::default();
        let list: [Transform; 3] =
            [Resize::new(64).into(), RandomHorizontalFlip::default().into(), Resize::new(32).into()];
        list.iter().for_each(|transform| transform.slots(&mut slots));
        let places = fuse(&slots.list, 0).1;
        let stages = |places: &[SlotPlace]| places.iter().map(|place| place.stage).collect::<Vec<_>>();
        assert_eq!(stages(&places), [0, 0, 1]);
        assert_eq!(stages(&divide(&slots.list, 0, &places, 1).1), [0, 1, 2]);
    }

    #[test]
    fn the_imagenet_recipe_is_one_stage_and_one_statistic() {
        let fused = stages(&[
            RandomResizedCrop::new(224).into(),
            RandomHorizontalFlip::new(0.5).into(),
            ColorJitter::new(0.4, 0.4, 0.4, 0.1).into(),
            RandomGrayscale::new(0.2).into(),
            Normalize::IMAGENET.into(),
        ]);
        assert_eq!(fused.len(), 1);
        assert_eq!((fused[0].steps, fused[0].statistics), (7, 1));
    }

    #[test]
    fn a_colour_that_bytes_do_not_hold_opens_a_stage() {
        let stages = |fill: f32, first_float_slot: usize| {
            let mut slots = Slots::default();
            let list: [Transform; 2] =
                [RandomHorizontalFlip::default().into(), Pad::new(1).fill([0.0, fill, 1.0]).into()];
            list.iter().for_each(|transform| transform.slots(&mut slots));
            fuse(&slots.list, first_float_slot).0.len()
        };
        assert_eq!((stages(0.9, 1), stages(1.0, 1)), (2, 1));
        // A colour of 8-bit numbers, and no bytes at all.
        assert_eq!((stages(90.0, 2), stages(0.9, 0)), (1, 1));
    }

    #[test]
    fn what_does_not_commute_opens_a_stage() {
        let brightness = || ColorJitter::new(0.5, 0.0, 0.0, 0.0).into();
        let contrast = || ColorJitter::new(0.0, 0.5, 0.0, 0.0).into();
        let edge = || Pad::new(1).padding_mode(PaddingMode::Edge).into();
        assert_eq!(stages(&[Resize::new(64).into(), Resize::new(32).into()]).len(), 2);
        assert_eq!(stages(&[brightness(), Resize::new(32).into()]).len(), 2);
        assert_eq!(stages(&[brightness(), RandomCrop::new(32).into()]).len(), 1);
        assert_eq!(stages(&[contrast(), RandomCrop::new(32).into()]).len(), 2);
        assert_eq!(stages(&[brightness(), Pad::new(1).into()]).len(), 2);
        assert_eq!(stages(&[brightness(), edge()]).len(), 1);
        let erasing = || RandomErasing::default().into();
        let flip = || RandomHorizontalFlip::default().into();
        assert_eq!(
            stages(&[flip(), RandomCrop::new(32).into(), erasing(), contrast(), Normalize::IMAGENET.into()]).len(),
            1
        );
        for geometry in
            [flip(), RandomVerticalFlip::default().into(), RandomCrop::new(32).into(), edge(), Resize::new(9).into()]
        {
            assert_eq!(stages(&[erasing(), geometry]).len(), 2);
        }
        assert_eq!(stages(&[Pad::new(1).into(), Pad::new(2).into()]).len(), 1);
        assert_eq!(stages(&[Pad::new(1).into(), Pad::new(2).fill([1.0; 3]).into()]).len(), 2);
        assert_eq!(stages(&[Pad::new(1).into(), Resize::new(9).into(), Pad::new(2).fill([1.0; 3]).into()]).len(), 1);
    }
}
