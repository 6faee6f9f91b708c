//! The positions of a stage's colour steps: a shader calls its steps one after the other, and the code at a position
//! knows only the steps that can be there.
//!
//! An operator has as many positions as it emits steps, after those of the operators before it; within an operator steps
//! come in any order. A position that an image leaves empty does nothing. With every step at every position
//! lavapipe compiled the shader of `imagenet-train-jitter` in twice the time (`benches/LOG.md`, 2026-11-23).

use super::wgsl::UNROLLED_STEPS;
use crate::color::{ColorStep, Step, opcode};
use crate::transforms::Slot;

/// The opcodes that each position of a stage can hold.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Positions {
    /// Sorted, each once.
    allowed: Vec<Vec<u32>>,
    /// The first position of the latest operator.
    first: usize,
}

impl Positions {
    /// Adds the positions of the slot `number`. `continues` tells whether it belongs to the same operator as the slot
    /// before it.
    pub(super) fn add(&mut self, slot: &Slot, number: usize, is_uint8: bool, continues: bool) {
        let in_arithmetic = |opcode| match opcode {
            opcode::CUSTOM => opcode::CUSTOM + number as u32,
            opcode if is_uint8 => ColorStep::on_uint8(opcode),
            opcode => opcode,
        };
        if !continues {
            self.first = self.allowed.len();
        }
        if slot.effect.is_policy() {
            self.allowed.push(POLICY.map(in_arithmetic).to_vec());
            return;
        }
        let opcodes: Vec<u32> = slot.effect.opcodes().map(in_arithmetic).collect();
        if opcodes.is_empty() {
            return;
        }
        let joins = self.first < self.allowed.len();
        self.allowed.extend(opcodes.into_iter().map(|opcode| vec![opcode]));
        if joins {
            let of_operator = &mut self.allowed[self.first..];
            let all = union(of_operator);
            of_operator.fill(all);
        }
    }

    /// Removes the last position that can hold such a step, and all later ones.
    pub(super) fn end_before_last(&mut self, is_such: impl Fn(u32) -> bool) {
        let last = self.allowed.iter().rposition(|opcodes| opcodes.iter().any(|&opcode| is_such(opcode)));
        self.allowed.truncate(last.unwrap_or(self.len()));
    }

    /// Removes such steps from every position.
    pub(super) fn remove(&mut self, is_such: impl Fn(u32) -> bool) {
        self.allowed.iter_mut().for_each(|opcodes| opcodes.retain(|&opcode| !is_such(opcode)));
    }

    /// The number of positions.
    pub(crate) fn len(&self) -> usize {
        self.allowed.len()
    }

    /// The opcodes of all positions, sorted.
    pub(super) fn opcodes(&self) -> Vec<u32> {
        union(&self.allowed)
    }

    /// The opcodes of each position, as far as a shader distinguishes them: more than [`UNROLLED_STEPS`] are a loop.
    pub(super) fn distinguished(&self) -> &[Vec<u32>] {
        if self.len() > UNROLLED_STEPS as usize { &[] } else { &self.allowed }
    }

    /// The position of each step of an image: the first free one that can hold it. `None` for a step that comes in an
    /// order which the operators cannot emit.
    pub(crate) fn of(&self, steps: &[Step]) -> impl Iterator<Item = Option<usize>> {
        let mut free = 0;
        let any = self.distinguished().is_empty();
        steps.iter().map(move |step| {
            let holds = |position: &usize| any || self.allowed[*position].contains(&step.opcode);
            let position = (free..self.len()).find(holds)?;
            free = position + 1;
            Some(position)
        })
    }

    /// The position after the last step of an image.
    pub(crate) fn end(&self, steps: &[Step]) -> usize {
        self.of(steps).flatten().last().map_or(0, |position| position + 1)
    }
}

fn union(sets: &[Vec<u32>]) -> Vec<u32> {
    let mut all = sets.concat();
    all.sort_unstable();
    all.dedup();
    all
}

/// The colour steps of a policy's operations.
const POLICY: [u32; 6] =
    [opcode::BRIGHTNESS, opcode::CONTRAST, opcode::SATURATION, opcode::INVERT, opcode::SOLARIZE, opcode::POSTERIZE];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Output, Plan};
    use crate::transforms::{ColorJitter, Normalize, RandomGrayscale, RandomInvert, Transform};

    const JITTER: [u32; 4] = [opcode::BRIGHTNESS, opcode::CONTRAST, opcode::SATURATION, opcode::HUE];

    fn positions(list: &[Transform]) -> Positions {
        Plan::compile(list, &Output::default()).unwrap().stages()[0].positions.clone()
    }

    fn step(opcode: u32) -> Step {
        Step { opcode, integers: [0; 3], value: [0.0; 4] }
    }

    fn places(positions: &Positions, opcodes: &[u32]) -> Vec<Option<usize>> {
        let steps: Vec<Step> = opcodes.iter().map(|&opcode| step(opcode)).collect();
        positions.of(&steps).collect()
    }

    #[test]
    fn an_operators_steps_come_in_any_order_and_before_the_next_operators() {
        let jitter = ColorJitter::new(0.4, 0.4, 0.4, 0.1);
        let list = [jitter.into(), RandomGrayscale::new(0.2).into(), Normalize::IMAGENET.into()];
        let positions = positions(&list);
        assert_eq!(positions.allowed[..4], [JITTER; 4].map(|set| set.to_vec()));
        assert_eq!(positions.allowed[4..], [[opcode::GRAYSCALE], [opcode::SUBTRACT], [opcode::DIVIDE]]);
        let whole =
            [opcode::HUE, opcode::CONTRAST, opcode::BRIGHTNESS, opcode::SATURATION, opcode::SUBTRACT, opcode::DIVIDE];
        assert_eq!(places(&positions, &whole), [0, 1, 2, 3, 5, 6].map(Some));
        assert_eq!(places(&positions, &[opcode::HUE, opcode::GRAYSCALE]), [0, 4].map(Some));
        assert_eq!(places(&positions, &[opcode::GRAYSCALE, opcode::HUE]), [Some(4), None]);
        assert_eq!(positions.end(&[step(opcode::SUBTRACT)]), 6);
        assert_eq!(positions.end(&[]), 0);
    }

    #[test]
    fn many_steps_are_looped_over_and_have_no_positions_of_their_own() {
        let list: Vec<Transform> =
            (0..9).flat_map(|_| [RandomInvert::new(0.5).into(), RandomGrayscale::new(0.5).into()]).collect();
        let positions = positions(&list);
        assert_eq!((positions.len(), positions.distinguished().len()), (18, 0));
        assert_eq!(places(&positions, &[opcode::GRAYSCALE, opcode::INVERT]), [0, 1].map(Some));
    }
}
