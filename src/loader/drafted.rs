//! A sample that is drawn and not yet decoded: which pixels its views read.

use crate::decode::Probe;
use crate::geometry::{Rect, Scale};
use crate::gpu::limits::is_for_cpu;
use crate::pixels::PixelsRef;
use crate::plan::program::Program;
use crate::transforms::Params;

/// Offsets in a slot: whole `vec4<f32>`s, and what mapped ranges need.
pub(super) const ALIGNMENT: u64 = 16;

/// What is known of a sample before it is decoded.
#[derive(Debug)]
pub(super) struct Drafted {
    pub(super) views: Vec<View>,
    /// What is decoded: what all views together read, or what is kept.
    pub(super) region: Rect,
    /// The source's pixels are floats.
    pub(super) float: bool,
    /// The part that the worker has yet to run before the views begin: `round.rs`.
    pub(super) head: Option<Program>,
    /// The header, for encoded samples.
    pub(super) probe: Option<Probe>,
    /// The size at which it is decoded; regions and programs are for that.
    pub(super) scale: Scale,
    /// No attempt to decode all that is kept of it has failed.
    pub(super) may_be_kept: bool,
    /// The region is what is kept.
    pub(super) claimed: bool,
}

/// One output of a sample.
#[derive(Debug)]
pub(super) struct View {
    pub(super) params: Params,
    pub(super) program: Program,
    pub(super) region: Rect,
    /// Four floats a pixel instead of four bytes.
    pub(super) float: bool,
    /// What [`reduce`](Self::reduce) says where `program` has not decided it.
    pub(super) reduced: Option<bool>,
}

impl View {
    pub(super) fn new(params: Params, program: Program, region: Rect, float: bool) -> View {
        View { params, program, region, float, reduced: None }
    }

    /// Whether the GPU gets the result instead of the region.
    pub(super) fn reduce(&self) -> bool {
        let bytes = || pixel_bytes(self.region, self.float);
        self.reduced.unwrap_or_else(|| is_for_cpu(&self.program, bytes(), self.float))
    }

    /// Bytes that go into a slot, in whole `vec4<f32>`s.
    pub(super) fn slot_bytes(&self) -> u64 {
        let (width, height) = self.program.size();
        let bytes = if self.reduce() {
            16 * u64::from(width) * u64::from(height)
        } else {
            pixel_bytes(self.region, self.float)
        };
        bytes.next_multiple_of(ALIGNMENT)
    }

    /// This view's pixels of those that were decoded for all views of `drafted`.
    pub(super) fn pixels<'a>(&self, drafted: &Drafted, pixels: PixelsRef<'a>) -> PixelsRef<'a> {
        // A view that shows nothing but a border reads none of them, wherever its region lies.
        let left = self.region.left.saturating_sub(drafted.region.left) as usize;
        let top = self.region.top.saturating_sub(drafted.region.top) as usize;
        pixels.part(left, top)
    }
}

impl Drafted {
    pub(super) fn new(views: Vec<(Params, Program)>, probe: Option<Probe>, scale: Scale, float: bool) -> Self {
        let scaled = probe.as_ref().filter(|_| scale != Scale::Full).map(|probe| probe.scaled(scale));
        let view = |(params, program): (Params, Program)| {
            let program = scaled.iter().fold(program, Program::scaled_down);
            let region = program.stages[0].sampling.hull();
            View::new(Params { scale, ..params }, program, region, float)
        };
        let views: Vec<_> = views.into_iter().map(view).collect();
        let region = read_by(&views);
        Drafted { views, region, float, head: None, probe, scale, may_be_kept: true, claimed: false }
    }

    /// Of views that begin behind `head`, which reads `region`.
    pub(super) fn behind(
        views: Vec<View>,
        head: Option<Program>,
        region: Rect,
        probe: Option<Probe>,
        float: bool,
    ) -> Self {
        Drafted { views, region, float, head, probe, scale: Scale::Full, may_be_kept: true, claimed: false }
    }

    /// Its `source` is kept, so that is decoded.
    pub(super) fn claim(&mut self, source: Rect) {
        if self.head.is_some() {
            // It is decoded anyway.
            return;
        }
        // The CPU executor was told that all of the image is there.
        self.views.iter_mut().for_each(|view| view.region = view.program.stages[0].sampling.hull());
        (self.region, self.claimed) = (source, true);
    }

    /// What was to be kept could not be decoded: from now on it is a sample like any other. `false` if it was one.
    pub(super) fn unclaim(&mut self) -> bool {
        if !std::mem::take(&mut self.claimed) {
            return false;
        }
        self.region = read_by(&self.views);
        self.may_be_kept = false;
        true
    }

    /// Bytes of the pixels that are decoded for all views.
    pub(super) fn decoded_bytes(&self) -> u64 {
        pixel_bytes(self.region, self.float)
    }

    /// Bytes that go into a slot where all that is kept does, in whole `vec4<f32>`s.
    pub(super) fn whole_bytes(&self) -> u64 {
        let bytes = match self.head.as_ref().map(Program::size) {
            Some((width, height)) => pixel_bytes(Rect { left: 0, top: 0, width, height }, false),
            None => self.decoded_bytes(),
        };
        bytes.next_multiple_of(ALIGNMENT)
    }

    /// Bytes that go into a slot.
    pub(super) fn slot_bytes(&self) -> u64 {
        self.views.iter().map(View::slot_bytes).sum()
    }
}

/// Whether the CPU executor finishes what `program` makes of a source of floats or bytes, for the GPU.
pub(super) fn is_reduced(program: &Program, float: bool) -> bool {
    is_for_cpu(program, pixel_bytes(program.stages[0].sampling.hull(), float), float)
}

/// What views together read.
fn read_by(views: &[View]) -> Rect {
    views.iter().map(|view| view.region).reduce(hull).unwrap_or(Rect { left: 0, top: 0, width: 1, height: 1 })
}

/// Bytes of a region, as the GPU reads it.
pub(super) fn pixel_bytes(region: Rect, float: bool) -> u64 {
    u64::from(region.width) * u64::from(region.height) * if float { 16 } else { 4 }
}

/// The smallest rectangle around both.
fn hull(a: Rect, b: Rect) -> Rect {
    let (left, top) = (a.left.min(b.left), a.top.min(b.top));
    let (right, bottom) = ((a.left + a.width).max(b.left + b.width), (a.top + a.height).max(b.top + b.height));
    Rect { left, top, width: right - left, height: bottom - top }
}
