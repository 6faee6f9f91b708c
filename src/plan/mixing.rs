//! How a finished batch is mixed, as both executors read it.

use super::{Layout, Plan};
use crate::transforms::{BatchParams, Mix, Partner};
use std::ops::Range;

/// The result for an element.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Blend {
    /// It becomes `partner * partner_share + own * own_share`.
    Shares { own: f32, partner: f32 },
    /// It becomes the partner's.
    Partner,
}

/// The elements of an image that are mixed, in its layout: `planes` times `runs` runs of `run` neighbours each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Region {
    pub(crate) first: usize,
    pub(crate) run: usize,
    pub(crate) runs: usize,
    /// Elements from the beginning of a run to that of the next one.
    pub(crate) pitch: usize,
    pub(crate) planes: usize,
    /// Elements from the beginning of a plane to that of the next one.
    pub(crate) plane: usize,
}

impl Region {
    pub(crate) fn elements(&self) -> usize {
        self.run * self.runs * self.planes
    }

    /// The elements of each run.
    pub(crate) fn runs(self) -> impl Iterator<Item = Range<usize>> {
        let firsts = (0..self.planes).flat_map(move |plane| (0..self.runs).map(move |run| (plane, run)));
        firsts.map(move |(plane, run)| {
            let first = self.first + plane * self.plane + run * self.pitch;
            first..first + self.run
        })
    }
}

/// A batch that is to be mixed: view `v` of sample `s` is its image `s * views + v`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Mixing {
    pub(crate) blend: Blend,
    pub(crate) partner: Partner,
    pub(crate) samples: usize,
    pub(crate) views: usize,
    /// Elements of an image.
    pub(crate) image: usize,
    pub(crate) region: Region,
}

/// A batch that is to be mixed, by its parameters.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum BatchMixing {
    /// All samples in one way.
    All(Mixing),
    /// Each sample in its own, with the partner from the batch's other end; `None` where none of its elements changes.
    Each(Vec<Option<Mixing>>),
}

impl BatchMixing {
    /// The mixing of `samples` samples with images of `size`; `None` if no element changes.
    pub(crate) fn new(
        params: &BatchParams,
        plan: &Plan,
        size: (u32, u32),
        samples: usize,
        views: usize,
    ) -> Option<BatchMixing> {
        let mixing = |mix: &Mix| Mixing::new(mix, params.partner, plan, size, samples, views);
        match &params.mixes[..] {
            [mix] => mixing(mix).map(BatchMixing::All),
            mixes => {
                let each: Vec<_> = mixes.iter().map(mixing).collect();
                each.iter().any(Option::is_some).then_some(BatchMixing::Each(each))
            }
        }
    }
}

impl Mixing {
    /// The mixing of `samples` samples with images of `size` in one way; `None` if no element changes.
    pub(crate) fn new(
        mix: &Mix,
        partner: Partner,
        plan: &Plan,
        (width, height): (u32, u32),
        samples: usize,
        views: usize,
    ) -> Option<Mixing> {
        let channels = plan.channels() as usize;
        let (columns, rows) = (width as usize, height as usize);
        let image = columns * rows * channels;
        let (blend, region) = match *mix {
            Mix::NONE => return None,
            Mix::MixUp { lambda } => {
                let blend = Blend::Shares { own: lambda as f32, partner: (1.0 - lambda) as f32 };
                (blend, Region { first: 0, run: image, runs: 1, pitch: image, planes: 1, plane: image })
            }
            Mix::CutMix { top, left, height, width, .. } => {
                let [top, left, height, width] = [top, left, height, width].map(|side| side as usize);
                // NHWC has the channels of a pixel side by side, NCHW in planes.
                let (wide, planes) = match plan.output().layout {
                    Layout::Nchw => (1, channels),
                    Layout::Nhwc => (channels, 1),
                };
                let (pitch, plane) = (columns * wide, columns * rows);
                let first = top * pitch + left * wide;
                (Blend::Partner, Region { first, run: width * wide, runs: height, pitch, planes, plane })
            }
        };
        (region.elements() > 0).then_some(Mixing { blend, partner, samples, views, image, region })
    }

    /// Elements of all views of a sample.
    pub(crate) fn sample(&self) -> usize {
        self.image * self.views
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Output;
    use crate::transforms::CenterCrop;

    #[test]
    fn a_rectangle_is_the_same_pixels_in_both_layouts() {
        let mix = Mix::CutMix { top: 1, left: 2, height: 2, width: 3, lambda: 0.0 };
        for layout in [Layout::Nchw, Layout::Nhwc] {
            let output = Output { layout, ..Output::default() };
            let plan = Plan::compile(&[CenterCrop::new((4, 6)).into()], &output).unwrap();
            let mixing = Mixing::new(&mix, Partner::Previous, &plan, (6, 4), 5, 2).unwrap();
            let mut found: Vec<(usize, usize, usize)> = mixing
                .region
                .runs()
                .flatten()
                .map(|at| match layout {
                    Layout::Nchw => (at / 24, at % 24 / 6, at % 6),
                    Layout::Nhwc => (at % 3, at / 18, at % 18 / 3),
                })
                .collect();
            found.sort_unstable();
            let all = (0..3).flat_map(|c| (1..3).flat_map(move |y| (2..5).map(move |x| (c, y, x))));
            assert_eq!(found, all.collect::<Vec<_>>(), "{layout:?}");
            assert_eq!((mixing.region.elements(), mixing.sample()), (18, 144));
        }
        let nothing = Mix::CutMix { top: 4, left: 0, height: 0, width: 3, lambda: 1.0 };
        let plan = Plan::compile(&[CenterCrop::new((4, 6)).into()], &Output::default()).unwrap();
        assert_eq!(Mixing::new(&nothing, Partner::Previous, &plan, (6, 4), 5, 2), None);
    }
}
