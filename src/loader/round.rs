//! What lies behind a resize, in bytes: where it is nothing else (`Plan::keeps_exact`), for the samples that are kept; where
//! `DataLoaderBuilder::cache_in_bytes` asks for it, rounded, for all.

use super::drafted::{Drafted, View};
use super::line::Line;
use crate::cpu;
use crate::decode::Probe;
use crate::error::Result;
use crate::geometry::Rect;
use crate::pixels::PixelsRef;
use crate::plan::Plan;
use crate::plan::program::Program;
use crate::transforms::Params;

/// Runs the head of a program in `floats`, and rounds what it gives to RGBA8 in `bytes`: to the nearest level, as
/// torchvision does when it resizes bytes.
pub(super) fn round(
    plan: &Plan,
    head: &Program,
    (pixels, region): (PixelsRef<'_>, Rect),
    (floats, bytes): (&mut Vec<f32>, &mut Vec<u8>),
    executor: &mut cpu::Scratch,
) {
    cpu::run_to_floats(plan, head, pixels, region, floats, executor);
    bytes.clear();
    // The fourth is 1. A cast takes what is no number for 0.
    bytes.extend(floats.iter().map(|value| (value.clamp(0.0, 1.0) * 255.0 + 0.5) as u8));
}

/// The head's result as it is: bytes of bytes, floats of floats.
pub(super) fn exactly<'a>(
    plan: &Plan,
    head: &Program,
    source: (PixelsRef<'_>, Rect),
    (floats, bytes): (&'a mut Vec<f32>, &'a mut Vec<u8>),
    executor: &mut cpu::Scratch,
) -> PixelsRef<'a> {
    let stride = 4 * head.size().0 as usize;
    if let (pixels @ PixelsRef::Floats { .. }, region) = source {
        cpu::run_to_floats(plan, head, pixels, region, floats, executor);
        return PixelsRef::Floats { data: floats, stride };
    }
    round(plan, head, source, (floats, bytes), executor);
    PixelsRef::Bytes { data: bytes, stride, size: 4 }
}

pub(super) fn whole((width, height): (u32, u32)) -> Rect {
    Rect { left: 0, top: 0, width, height }
}

impl Line {
    /// A sample whose head the worker runs: its views begin behind that, whether it is kept or not.
    pub(super) fn draft_behind(&self, params: Vec<Params>, probe: Option<Probe>, float: bool) -> Result<Drafted> {
        let (mut views, mut head, mut source) = (Vec::with_capacity(params.len()), None, None);
        for params in params {
            let (before, program) = self.plan.program(&params)?.divided(self.plan.first_stage());
            source.get_or_insert(self.plan.kept_region(&params)?);
            // The CPU executor reads where the pixels lie; a slot gets no more of them than the GPU reads.
            let region = if self.augments_on_cpu() { whole(before.size()) } else { program.stages[0].sampling.hull() };
            // The same in every view.
            head.get_or_insert(before);
            views.push(View::new(params, program, region, false));
        }
        Ok(Drafted::behind(views, head, source.unwrap_or(whole((1, 1))), probe, float))
    }

    /// The result of a drafted sample's head in bytes, if that is where its views begin.
    pub(super) fn round<'a>(
        &self,
        drafted: &mut Drafted,
        pixels: PixelsRef<'a>,
        floats: &mut Vec<f32>,
        bytes: &'a mut Vec<u8>,
        executor: &mut cpu::Scratch,
    ) -> PixelsRef<'a> {
        let Some(head) = drafted.head.take() else { return pixels };
        round(&self.plan, &head, (pixels, drafted.region), (floats, bytes), executor);
        let (width, height) = head.size();
        (drafted.region, drafted.float) = (whole((width, height)), false);
        PixelsRef::Bytes { data: bytes, stride: 4 * width as usize, size: 4 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Output;
    use crate::transforms::{Key, Resize};

    #[test]
    fn to_the_nearest_level_and_within_range() {
        let plan = Plan::compile(&[Resize::new((2, 4)).into()], &Output::default()).unwrap();
        let program = plan.program(&plan.make_params(4, 2, &Key::default()).unwrap()).unwrap();
        let values = [0.0, 1.0, 0.4 / 255.0, 0.6 / 255.0, 254.4 / 255.0, -3.0, 7.0, f32::NAN];
        let data: Vec<f32> = values.iter().flat_map(|&value| [value, value, value, 1.0]).collect();
        let (mut floats, mut bytes) = (Vec::new(), Vec::new());
        let source = (PixelsRef::Floats { data: &data, stride: 16 }, whole((4, 2)));
        round(&plan, &program, source, (&mut floats, &mut bytes), &mut cpu::Scratch::default());
        let expected = [0, 255, 0, 1, 254, 0, 255, 0].map(|level| [level, level, level, 255]);
        assert_eq!(bytes, expected.as_flattened());
    }
}
