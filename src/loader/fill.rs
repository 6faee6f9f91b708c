//! How samples come into the cache: the first worker that has one decodes all that any epoch can read of it.
//!
//! What happens to a sample (which executor, whether it fails) does not depend on the cache: that is decided by the
//! undivided plan, and by what the views of the epoch read.

use super::cache::{DeviceClaim, HostClaim, Known, Store};
use super::drafted::{ALIGNMENT, Drafted, View, pixel_bytes};
use super::line::Line;
use super::prepare::Prepared;
use super::round::{exactly, whole};
use crate::cpu;
use crate::dataset::Label;
use crate::error::Result;
use crate::geometry::Rect;
use crate::gpu::limits::{REGION_BYTES, is_for_cpu};
use crate::pixels::PixelsRef;
use crate::plan::program::Program;
use crate::transforms::Params;

/// What is to be kept of a drafted sample.
#[derive(Debug)]
pub(super) struct Keeping {
    known: Known,
    /// The region of the source that it takes; of the head's result where that is rounded.
    source: Rect,
    /// What makes of that what is kept, where no other sample needs it of a worker.
    head: Option<Program>,
    /// Each view's, from there on, along the stages of the plan that keeps.
    programs: Vec<Program>,
}

impl Keeping {
    /// Bytes that go into a slot for a place in GPU memory, in whole `vec4<f32>`s.
    pub(super) fn slot_bytes(&self, drafted: &Drafted) -> u64 {
        match &self.head {
            Some(_) => pixel_bytes(self.known.region, self.known.float).next_multiple_of(ALIGNMENT),
            None => drafted.whole_bytes(),
        }
    }

    /// What goes there, of the decoded pixels or made of them, its region, and each view's program.
    pub(super) fn sent<'a>(
        self,
        line: &Line,
        (pixels, region): (PixelsRef<'a>, Rect),
        to: (&'a mut Vec<f32>, &'a mut Vec<u8>),
        executor: &mut cpu::Scratch,
    ) -> (PixelsRef<'a>, Rect, Vec<Program>) {
        match self.head {
            Some(head) => {
                (exactly(&line.plan, &head, (pixels, region), to, executor), self.known.region, self.programs)
            }
            None => (pixels, region, self.programs),
        }
    }
}

impl Line {
    /// `None` where nothing is to be kept.
    fn keeping(&self, prepared: &Prepared<'_>, drafted: &Drafted) -> Option<Keeping> {
        let view = drafted.views.first().filter(|_| drafted.may_be_kept && !prepared.is_kept())?;
        let size = (view.params.width, view.params.height);
        let label = prepared.label.clone();
        if let Some(head) = &drafted.head {
            // The views begin behind it already.
            let source = whole(head.size());
            let known = Known { size, region: source, float: false, from_floats: false, label };
            let programs = drafted.views.iter().map(|view| view.program.clone()).collect();
            return Some(Keeping { known, source, head: None, programs });
        }
        if self.plan.keeps_exact() {
            return self.keeping_exactly(view, drafted, label);
        }
        let source = self.plan.kept_region(&view.params).ok()?;
        let programs = drafted.views.iter().map(|view| self.plan.program(&view.params)).collect::<Result<Vec<_>>>();
        let programs = programs.ok()?;
        let (region, float) = match self.plan.first_stage().checked_sub(1) {
            None => (source, view.float),
            Some(last) => (whole(programs[0].stages[last].sampling.size()), true),
        };
        let known = Known { size, region, float, from_floats: view.float, label };
        Some(Keeping { known, source, head: None, programs })
    }

    /// The head's result as it is; `None` where a slot might not hold it.
    fn keeping_exactly(&self, view: &View, drafted: &Drafted, label: Label) -> Option<Keeping> {
        let around = drafted.views.iter().map(|view| self.plan.around_head(&view.params).ok().flatten());
        let (heads, programs): (Vec<_>, Vec<_>) = around.collect::<Option<Vec<_>>>()?.into_iter().unzip();
        // The same in every view.
        let head = heads.into_iter().next()?;
        let (source, region, float) = (head.stages[0].sampling.hull(), whole(head.size()), view.float);
        if !self.augments_on_cpu() && pixel_bytes(region, float) > REGION_BYTES {
            return None;
        }
        let size = (view.params.width, view.params.height);
        let known = Known { size, region, float, from_floats: float, label };
        Some(Keeping { known, source, head: Some(head), programs })
    }

    /// Room in host memory for a drafted sample, which then is decoded as far as it is kept.
    pub(super) fn claim_on_host(
        &self,
        prepared: &Prepared<'_>,
        drafted: &mut Drafted,
    ) -> Option<(HostClaim<'_>, Keeping)> {
        let Store::Host(cache) = &self.cache else { return None };
        // What the data set holds in memory anyway is not kept twice.
        let keeps_source = self.plan.first_stage() == 0 && !self.plan.keeps_exact();
        if !cache.is_free(prepared.index) || (keeps_source && prepared.is_held(&*self.dataset)) {
            return None;
        }
        let keeping = self.keeping(prepared, drafted)?;
        let claim = cache.claim(prepared.index, &keeping.known)?;
        drafted.claim(keeping.source);
        Some((claim, keeping))
    }

    /// Keeps the decoded pixels of a claimed sample. Behind a resize it keeps the head's result instead, in `head`, and the
    /// views go on from there.
    pub(super) fn keep<'a>(
        &self,
        (claim, keeping): (HostClaim<'_>, Keeping),
        drafted: &mut Drafted,
        pixels: PixelsRef<'a>,
        (head, bytes): (&'a mut Vec<f32>, &mut Vec<u8>),
        scratch: &mut cpu::Scratch,
    ) -> PixelsRef<'a> {
        let first_stage = self.plan.first_stage();
        if first_stage == 0 || self.plan.rounds() {
            self.keep_beside((claim, keeping), (pixels, drafted.region), (head, bytes), scratch);
            return pixels;
        }
        let Keeping { known, programs, .. } = keeping;
        let mut first = None;
        for (view, program) in drafted.views.iter_mut().zip(programs) {
            let (before, rest) = program.divided(first_stage);
            (view.program, view.region, view.float) = (rest, known.region, true);
            // The head is the same in every view.
            first.get_or_insert(before);
        }
        if let Some(program) = first {
            cpu::run_to_floats(&self.plan, &program, pixels, drafted.region, head, scratch);
        }
        drafted.region = known.region;
        let pixels = PixelsRef::Floats { data: head, stride: 4 * known.region.width as usize };
        claim.keep(known, pixels);
        pixels
    }

    /// Keeps the decoded pixels of a claimed sample, or what the head makes of them; its views go on from the pixels.
    pub(super) fn keep_beside(
        &self,
        (claim, keeping): (HostClaim<'_>, Keeping),
        (pixels, region): (PixelsRef<'_>, Rect),
        to: (&mut Vec<f32>, &mut Vec<u8>),
        scratch: &mut cpu::Scratch,
    ) {
        let Keeping { known, head, .. } = keeping;
        let kept = head.map_or(pixels, |head| exactly(&self.plan, &head, (pixels, region), to, scratch));
        claim.keep(known, kept);
    }

    /// A place in GPU memory for a drafted sample, which then is decoded as far as it is kept. What the CPU executor would
    /// finish has none: it streams.
    pub(super) fn claim_on_device(
        &self,
        prepared: &Prepared<'_>,
        drafted: &mut Drafted,
    ) -> Option<(DeviceClaim, Keeping)> {
        let Store::Device(cache) = &self.cache else { return None };
        if !cache.is_free(prepared.index) || drafted.views.iter().any(View::reduce) {
            return None;
        }
        let keeping = self.keeping(prepared, drafted)?;
        let Keeping { known, source, head, programs } = &keeping;
        let read = if head.is_some() { known.region } else { *source };
        let bytes = pixel_bytes(read, known.from_floats);
        if programs.iter().any(|program| is_for_cpu(program, bytes, known.from_floats)) {
            return None;
        }
        let claim = cache.claim(prepared.index, known.clone())?;
        drafted.claim(*source);
        Some((claim, keeping))
    }

    /// What the GPU runs for each view of a sample that is not kept: along the stages that its kernels have, reading no more
    /// than without a cache.
    pub(super) fn streamed(&self, drafted: &Drafted) -> Result<Vec<Program>> {
        let first_stage = self.plan.first_stage();
        let program = |view: &View| match first_stage {
            stage if stage == 0 || self.plan.rounds() => Ok(view.program.clone()),
            _ => Ok(self.plan.program(&view.params)?.trimmed(first_stage)),
        };
        drafted.views.iter().map(program).collect()
    }

    /// What is left of a view's program where its sample is kept.
    pub(super) fn rest(&self, params: &Params, program: Program) -> Result<Program> {
        if let Some((_, rest)) = self.plan.around_head(params)? {
            return Ok(rest);
        }
        match self.plan.first_stage() {
            0 => Ok(program),
            stage => Ok(self.plan.program(params)?.divided(stage).1),
        }
    }
}
