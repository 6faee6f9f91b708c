//! The head of a list: the transforms before the first random one, which every epoch does alike. A cache keeps what they
//! give.
//!
//! Crops, flips and borders move pixels, so the source's own pixels are kept, those that the head leaves in sight, and
//! the whole program runs on them. A resize is worth keeping: the list is then divided into stages behind the head's last
//! crop or resize, and the f32 intermediate at that border is kept. Where that holds nothing but levels of the source, as
//! behind a nearest-neighbour resize, it is kept in bytes instead; samples that are not kept then run undivided.

use super::program::{Program, StageProgram};
use super::sampling::{Filter, Sampling};
use super::{Plan, fuse};
use crate::color::Facts;
use crate::error::Result;
use crate::geometry::Rect;
use crate::transforms::{Effect, PaddingMode, Params};
use std::sync::Arc;

/// What a loader keeps behind a resize.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Behind {
    /// Nothing: it keeps the source.
    Nothing,
    /// Bytes, or floats of float pixels, where these are exactly the head's result; else nothing.
    Exact,
    /// The same; else floats.
    Floats,
    /// Bytes, to which the head's result is rounded for every sample, kept or not. The workers run the head.
    Bytes,
}

/// How much of a plan is its head.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Head {
    /// Slots of the transforms before the first random one.
    slots: u16,
    /// The first stage that runs in every epoch: 0 where source pixels are kept.
    stage: u16,
    /// Transforms whose result is kept.
    kept: usize,
    /// It is rounded to bytes.
    bytes: bool,
}

impl Plan {
    /// The same plan for a loader that keeps the result of the head.
    ///
    /// Every image has the same bits as without, where it is not rounded: the border between two stages is exact, and
    /// none is made where the stage behind it would be sampled another way.
    pub(crate) fn with_head(mut self, behind: Behind) -> Plan {
        let fixed = self.transforms.iter().take_while(|transform| transform.is_fixed()).count();
        let slots = self.first_slots.get(fixed).map_or(self.slots.len(), |&slot| usize::from(slot));
        self.head = Head { slots: slots as u16, ..Head::default() };
        let mut of_head = self.slots[..slots].iter();
        let end = match behind {
            // Bytes hold nothing below 0 or above 1.
            Behind::Bytes => of_head.position(|slot| leaves_range(slot.effect)).unwrap_or(slots),
            Behind::Floats | Behind::Exact | Behind::Nothing => slots,
        };
        let effects = || self.slots[..end].iter().map(|slot| slot.effect);
        let resizes = effects().any(|effect| matches!(effect, Effect::Resize { .. }));
        let last = effects().rposition(|effect| matches!(effect, Effect::Crop | Effect::Resize { .. }));
        let (Some(last), true) = (last, resizes && behind != Behind::Nothing) else { return self };
        let exact = behind != Behind::Bytes && self.slots[..=last].iter().all(|slot| keeps_levels(slot.effect));
        if (behind == Behind::Exact && !exact) || (behind != Behind::Bytes && self.borders_and_resizes_around(last)) {
            return self;
        }
        let mut undivided = self.clone();
        (self.stages, self.places) = fuse::divide(&self.slots, &self.places, last + 1);
        let stage = self.places.get(last + 1).map_or(self.stages.len() - 1, |place| usize::from(place.stage));
        let kept = self.first_slots.partition_point(|&first| usize::from(first) <= last);
        self.head = Head { stage: stage as u16, kept, bytes: behind == Behind::Bytes, ..self.head };
        if exact {
            undivided.head.kept = kept;
            undivided.divided = Some(Arc::new(self));
            return undivided;
        }
        self.undivided = Some(Arc::new(undivided));
        self
    }

    /// Whether the stage of slot `last` could not be divided there without other last bits: a border keeps an image
    /// from the strip kernel, whose sums are in another order, and taps that a resize has beyond a border add up its
    /// colour one by one.
    fn borders_and_resizes_around(&self, last: usize) -> bool {
        let stage = self.places[last].stage;
        let has = |slots: std::ops::Range<usize>, wanted: fn(Effect) -> bool| {
            slots.into_iter().any(|i| self.places[i].stage == stage && wanted(self.slots[i].effect))
        };
        let pads: fn(Effect) -> bool = |effect| matches!(effect, Effect::Pad { .. });
        let resizes: fn(Effect) -> bool = |effect| matches!(effect, Effect::Resize { .. });
        let (before, behind) = (0..last + 1, last + 1..self.slots.len());
        has(behind.clone(), pads) || (has(before, pads) && has(behind, resizes))
    }

    /// Whether the head's result is rounded to bytes, and the stages behind it read these.
    pub(crate) fn rounds(&self) -> bool {
        self.head.bytes
    }

    /// Whether the head's result is kept as it is, in bytes, though every stage of this plan begins at the source.
    pub(crate) fn keeps_exact(&self) -> bool {
        self.divided.is_some()
    }

    /// Where [`keeps_exact`](Self::keeps_exact): the program of the head, and what is left behind it. That runs along this
    /// plan's stages, on the kernels of samples that are not kept: what the head has of them passes pixels on as they are.
    ///
    /// # Errors
    /// As [`program`](Self::program).
    pub(crate) fn around_head(&self, params: &Params) -> Result<Option<(Program, Program)>> {
        let Some(divided) = &self.divided else { return Ok(None) };
        let (head, rest) = divided.program(params)?.divided(divided.first_stage());
        let idle = self.stages.len() - rest.stages.len();
        let mut stages = vec![StageProgram { sampling: Sampling::identity(head.size()), steps: Vec::new() }; idle];
        stages.extend(rest.stages);
        Ok(Some((head, Program { stages }.trimmed(idle))))
    }

    /// The plan of a GPU's kernels: where the head's result is rounded, the stages behind it.
    pub(crate) fn for_kernels(&self) -> Plan {
        let mut plan = self.clone();
        if self.rounds() {
            plan.stages.drain(..self.first_stage());
            for place in &mut plan.places {
                // Of the head: no stage of these kernels has it.
                place.stage = place.stage.checked_sub(self.head.stage).unwrap_or(u16::MAX);
            }
            plan.head = Head::default();
        }
        plan
    }

    /// The plan before it was divided, for samples that are not kept.
    pub(crate) fn undivided(&self) -> &Plan {
        self.undivided.as_deref().unwrap_or(self)
    }

    /// The first stage that runs in every epoch; 0 where source pixels are kept.
    pub(crate) fn first_stage(&self) -> usize {
        usize::from(self.head.stage)
    }

    /// Which source pixels an image drawn like this can show, whatever is drawn behind the head.
    ///
    /// # Errors
    /// As [`program`](Self::program).
    pub(crate) fn kept_region(&self, params: &Params) -> Result<Rect> {
        let ops = params.ops.partition_point(|op| op.slot < self.head.slots);
        let program = Program::compose_ops(self, (params.width, params.height), &params.ops[..ops])?;
        Ok(program.stages[0].sampling.hull())
    }

    /// Names of the transforms whose result is kept.
    pub(crate) fn kept_names(&self) -> Vec<&'static str> {
        self.transforms[..self.head.kept].iter().map(|transform| transform.name()).collect()
    }
}

/// Tells whether nothing but levels of a byte comes out where nothing else went in.
fn keeps_levels(effect: Effect) -> bool {
    match effect {
        Effect::Never | Effect::Crop | Effect::Flip => true,
        Effect::Resize { interpolation, antialias } => {
            matches!(Filter::new(interpolation, antialias), Filter::Nearest | Filter::NearestExact)
        }
        Effect::Pad { mode: PaddingMode::Constant, fill } => fill.into_iter().all(is_level),
        Effect::Pad { .. } => true,
        Effect::Color(_) | Effect::Custom | Effect::Channels(_) | Effect::Normalize => {
            effect.opcodes().all(|opcode| Facts::of(opcode).keeps_levels)
        }
    }
}

/// Whether a byte becomes this very float, as both executors convert it.
fn is_level(value: f32) -> bool {
    let byte = (value.clamp(0.0, 1.0) * 255.0 + 0.5) as u8;
    (f32::from(byte) * (1.0 / 255.0)).to_bits() == value.to_bits()
}

/// Tells whether values below 0 or above 1 may come out where none went in.
fn leaves_range(effect: Effect) -> bool {
    match effect {
        Effect::Pad { fill, .. } => fill.iter().any(|value| !(0.0..=1.0).contains(value)),
        _ => effect.opcodes().any(|opcode| Facts::of(opcode).leaves_range),
    }
}

impl Program {
    /// The stages before `stage`, and those from it on.
    pub(crate) fn divided(mut self, stage: usize) -> (Program, Program) {
        let tail = self.stages.split_off(stage);
        (self, Program { stages: tail })
    }

    /// The same, where the stages before `stage` give no more than what it reads: what `stage` begins with a crop, they
    /// begin.
    ///
    /// Exact, as a crop of a resize is: no step of theirs depends on pixels beside it, or a crop would have begun a stage.
    pub(crate) fn trimmed(mut self, stage: usize) -> Program {
        let (head, tail) = self.stages.split_at_mut(stage);
        if let (Some(last), Some(first)) = (head.last_mut(), tail.first_mut()) {
            let seen = first.sampling.hull();
            last.sampling = last.sampling.cropped(seen);
            first.sampling = first.sampling.relative_to(seen);
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Output;
    use crate::transforms::*;

    /// The first stage of every epoch, of how many.
    fn stages(list: &[Transform], behind: Behind) -> (usize, usize) {
        let plan = Plan::compile(list, &Output::default()).unwrap().with_head(behind);
        (plan.first_stage(), plan.stages().len())
    }

    fn nearest() -> Transform {
        Resize::new(40).interpolation(Interpolation::Nearest).into()
    }

    fn exact() -> Transform {
        Resize::new(40).interpolation(Interpolation::NearestExact).antialias(true).into()
    }

    #[test]
    fn where_a_list_is_divided() {
        use Behind::{Bytes, Exact, Floats, Nothing};
        let resize = || -> Transform { Resize::new(40).into() };
        let crop = || -> Transform { RandomCrop::new(20).into() };
        let behind_gray = [
            resize(),
            Grayscale::new(3).into(),
            Pad::new(4).into(),
            CenterCrop::new(44).into(),
            RandomResizedCrop::new(16).into(),
        ];
        let early = [Normalize::IMAGENET.into(), resize(), crop()];
        for (list, behind, expected) in [
            (&[resize(), crop()][..], Floats, (1, 2)),
            (&[resize(), crop()], Bytes, (1, 2)),
            (&[resize(), crop()], Nothing, (0, 1)),
            (&[crop(), resize()], Floats, (0, 1)),
            // A border in front of a crop, and in front of another resize.
            (&[resize(), Pad::new(2).into(), crop()], Floats, (0, 1)),
            (&[resize(), Pad::new(2).into(), crop()], Bytes, (1, 2)),
            (&behind_gray, Floats, (0, 2)),
            (&behind_gray, Bytes, (2, 3)),
            (&early, Floats, (2, 3)),
            (&early, Bytes, (0, 2)),
            // What bytes hold exactly leaves the plan as it is, but where all is to be rounded.
            (&[nearest(), crop()], Floats, (0, 1)),
            (&[nearest(), crop()], Bytes, (1, 2)),
            (&[resize(), crop()], Exact, (0, 1)),
        ] {
            assert_eq!(stages(list, behind), expected, "{list:?}, {behind:?}");
        }
    }

    /// What is kept exactly, in bytes.
    fn kept(list: &[Transform], behind: Behind) -> Option<Vec<&'static str>> {
        let plan = Plan::compile(list, &Output::default()).unwrap().with_head(behind);
        plan.keeps_exact().then(|| plan.kept_names())
    }

    #[test]
    fn what_bytes_hold_exactly() {
        use Behind::{Bytes, Exact, Floats, Nothing};
        let crop = || -> Transform { RandomCrop::new(20).into() };
        let center = || -> Transform { CenterCrop::new(24).into() };
        let pad = |fill: f32| -> Transform { Pad::new(2).fill([0.0, fill, 1.0]).into() };
        let resized: &[&str] = &["Resize"];
        for (list, expected) in [
            (vec![nearest(), crop()], Some(resized)),
            (vec![nearest(), Normalize::IMAGENET.into(), crop()], Some(resized)),
            (vec![exact(), center(), crop()], Some(&["Resize", "CenterCrop"])),
            (vec![exact(), nearest(), RandomResizedCrop::new(16).into()], Some(&["Resize", "Resize"])),
            (vec![pad(51.0 * (1.0 / 255.0)), nearest(), crop()], Some(&["Pad", "Resize"])),
            (vec![pad(0.5), nearest(), crop()], None),
            (vec![pad(-0.0), nearest(), crop()], None),
            (vec![pad(f32::from_bits(1.0_f32.to_bits() + 1)), nearest(), crop()], None),
            (vec![Pad::new(2).padding_mode(PaddingMode::Reflect).into(), nearest(), crop()], Some(&["Pad", "Resize"])),
            // A border that a crop behind the head would have to divide.
            (vec![nearest(), Pad::new(2).into(), crop()], None),
            (vec![nearest(), Grayscale::new(3).into(), center(), crop()], None),
            (vec![nearest(), Resize::new(30).into(), crop()], None),
            (vec![center(), crop()], None),
        ] {
            let expected = expected.map(<[_]>::to_vec);
            for behind in [Exact, Floats] {
                assert_eq!(kept(&list, behind), expected, "{list:?}");
            }
            assert!([Nothing, Bytes].iter().all(|&behind| kept(&list, behind).is_none()), "{list:?}");
        }
    }

    #[test]
    fn every_level_is_one_and_no_number_between() {
        for level in 0..=255_u8 {
            let value = f32::from(level) * (1.0 / 255.0);
            assert!(is_level(value), "{level}");
            assert!(![value.next_down(), value.next_up(), value + 0.001].into_iter().any(is_level), "{level}");
        }
        assert!(!is_level(f32::NAN) && !is_level(f32::INFINITY) && !is_level(-0.0));
    }

    #[test]
    fn what_lies_behind_runs_along_the_same_stages() {
        let random: Transform = RandomApply::new(0.5, [Resize::new((30, 30))]).into();
        for (list, head, idle) in [
            (vec![nearest(), RandomCrop::new(20).into()], (53, 40), 0),
            // Nothing else joins the head's stage.
            (vec![nearest(), random, RandomCrop::new(20).into()], (53, 40), 1),
            (vec![exact(), nearest(), RandomResizedCrop::new(16).into()], (53, 40), 1),
            (vec![Resize::new((8, 9)).interpolation(Interpolation::Nearest).into()], (9, 8), 0),
        ] {
            let plan = Plan::compile(&list, &Output::default()).unwrap().with_head(Behind::Exact);
            let params = plan.make_params(64, 48, &Key::default()).unwrap();
            let (before, rest) = plan.around_head(&params).unwrap().unwrap();
            assert_eq!(before.size(), head, "{list:?}");
            assert_eq!((rest.stages.len(), rest.size()), (plan.stages().len(), plan.program(&params).unwrap().size()));
            let identity = |stage: &&StageProgram| stage.sampling.x.scale == 1.0 && stage.steps.is_empty();
            assert_eq!(rest.stages[..idle].iter().take_while(identity).count(), idle, "{list:?}");
        }
    }
}
