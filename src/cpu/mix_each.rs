//! Mixes a finished batch in place where samples are mixed each in its own way: a sample and its partner from the batch's
//! other end, block by block, so that both still have what the other one needs.

use super::blend::{BLOCK, Blocks, combine};
use crate::plan::DType;
use crate::plan::mixing::Mixing;
use std::ops::Range;

/// Mixes a batch of `dtype`: `each` has the mixing of every sample, `None` for those that stay as they are.
pub(super) fn mix_each(each: &[Option<Mixing>], dtype: DType, batch: &mut [u8]) {
    let Some(any) = each.iter().flatten().next() else { return };
    let (size, samples) = (dtype.bytes(), each.len());
    let mut saved = [0u32; BLOCK / 4];
    let saved: &mut [u8] = bytemuck::cast_slice_mut(&mut saved);
    for low in 0..samples.div_ceil(2) {
        let high = samples - 1 - low;
        let (of_low, of_high) = (each[low].as_ref(), each[high].as_ref());
        if of_low.or(of_high).is_none() {
            continue;
        }
        for view in 0..any.views {
            let first = view * any.image;
            let (mut low_runs, mut high_runs) = (Runs::new(of_low), Runs::new(of_high));
            for begin in (0..any.image).step_by(BLOCK / size) {
                let block = begin..any.image.min(begin + BLOCK / size);
                let blocks =
                    Blocks { first: (first + begin) * size, bytes: block.len() * size, stride: any.sample() * size };
                let saved = &mut saved[..blocks.bytes];
                if low == high {
                    let own = blocks.of(low, batch);
                    saved.copy_from_slice(own);
                    low_runs.within(block, |mixing, part| change(mixing, dtype, part, own, saved));
                    continue;
                }
                let (own, partner) = blocks.two(low, high, batch);
                saved.copy_from_slice(own);
                low_runs.within(block.clone(), |mixing, part| change(mixing, dtype, part, own, partner));
                high_runs.within(block, |mixing, part| change(mixing, dtype, part, partner, saved));
            }
        }
    }
}

/// Mixes these elements of a block with its partner's.
fn change(mixing: &Mixing, dtype: DType, part: Range<usize>, own: &mut [u8], partner: &[u8]) {
    let bytes = part.start * dtype.bytes()..part.end * dtype.bytes();
    combine(mixing.blend, dtype, &mut own[bytes.clone()], &partner[bytes]);
}

/// The runs of elements of an image that are mixed, from its first element to its last.
struct Runs<'a> {
    mixing: Option<&'a Mixing>,
    rest: Box<dyn Iterator<Item = Range<usize>> + 'a>,
    /// The run that has not yet been passed.
    current: Option<Range<usize>>,
}

impl<'a> Runs<'a> {
    fn new(mixing: Option<&'a Mixing>) -> Self {
        let mut rest: Box<dyn Iterator<Item = Range<usize>> + 'a> =
            Box::new(mixing.into_iter().flat_map(|mixing| mixing.region.runs()));
        let current = rest.next();
        Runs { mixing, rest, current }
    }

    /// Calls `work` with each part of a run that is in the block, counted from the block's first element. Blocks come one after
    /// the other.
    fn within(&mut self, block: Range<usize>, mut work: impl FnMut(&Mixing, Range<usize>)) {
        let Some(mixing) = self.mixing else { return };
        while let Some(run) = self.current.clone().filter(|run| run.start < block.end) {
            let part = run.start.max(block.start)..run.end.min(block.end);
            work(mixing, part.start - block.start..part.end - block.start);
            if run.end > block.end {
                return;
            }
            self.current = self.rest.next();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::mixing::{Blend, Region};
    use crate::transforms::Partner;

    /// The formula, from a copy of the batch.
    fn naive(each: &[Option<Mixing>], batch: &[f32]) -> Vec<f32> {
        let mut mixed = batch.to_vec();
        for (sample, mixing) in each.iter().enumerate() {
            let Some(mixing) = mixing else { continue };
            for view in 0..mixing.views {
                let first = |sample: usize| (sample * mixing.views + view) * mixing.image;
                let (own, partner) = (first(sample), first(each.len() - 1 - sample));
                for at in mixing.region.runs().flatten() {
                    mixed[own + at] = match mixing.blend {
                        Blend::Shares { own: own_share, partner: share } => {
                            batch[partner + at] * share + batch[own + at] * own_share
                        }
                        Blend::Partner => batch[partner + at],
                    };
                }
            }
        }
        mixed
    }

    #[test]
    fn every_sample_is_mixed_in_its_own_way() {
        let image = 6000;
        let whole = Region { first: 0, run: image, runs: 1, pitch: image, planes: 1, plane: image };
        let part = Region { first: 9, run: 11, runs: 5, pitch: 20, planes: 3, plane: 2000 };
        let wide = Region { first: 0, run: 20, runs: 100, pitch: 20, planes: 3, plane: 2000 };
        for (samples, views) in [(1, 1), (2, 1), (3, 2), (4, 1), (7, 3)] {
            let ways = [
                Some((Blend::Shares { own: 0.3, partner: 0.7 }, whole)),
                Some((Blend::Partner, part)),
                None,
                Some((Blend::Partner, wide)),
                Some((Blend::Shares { own: 0.9, partner: 0.1 }, whole)),
            ];
            for shift in 0..ways.len() {
                let mixing =
                    |(blend, region)| Mixing { blend, partner: Partner::Reversed, samples, views, image, region };
                let each: Vec<_> = (0..samples).map(|sample| ways[(sample + shift) % ways.len()].map(mixing)).collect();
                let mut batch: Vec<f32> =
                    (0..samples * views * image).map(|i| (i * 37 % 1009) as f32 / 1009.0).collect();
                let expected = naive(&each, &batch);
                mix_each(&each, DType::F32, bytemuck::cast_slice_mut(&mut batch));
                assert!(batch == expected, "{samples} samples, {views} views, from way {shift}");
            }
        }
    }

    #[test]
    fn bytes_are_rounded_to_the_even_number() {
        let region = Region { first: 0, run: 4, runs: 1, pitch: 4, planes: 1, plane: 4 };
        let blend = Blend::Shares { own: 0.5, partner: 0.5 };
        let mixing = Mixing { blend, partner: Partner::Reversed, samples: 2, views: 1, image: 4, region };
        let mut bytes = [1u8, 2, 255, 7, 2, 3, 255, 9];
        mix_each(&[Some(mixing), None], DType::U8, &mut bytes);
        assert_eq!(bytes, [2, 2, 255, 8, 2, 3, 255, 9]);
    }
}
