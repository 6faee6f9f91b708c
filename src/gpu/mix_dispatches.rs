//! Divides the mixing of a batch into dispatches whose bindings a device allows: one, unless the batch is larger than a
//! binding.

use super::ALIGNMENT;
use crate::advice::Setting;
use crate::error::{ErrorKind, Result};
use crate::plan::mixing::{Blend, Mixing};
use crate::transforms::Partner;
use bytemuck::{Pod, Zeroable};
use std::ops::Range;

/// The parameters of one dispatch: twin of `Mix` in `shaders/batch/mix.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
pub(crate) struct Parameters {
    first: u32,
    run: u32,
    runs: u32,
    pitch: u32,
    plane: u32,
    region: u32,
    image: u32,
    sample: u32,
    base: u32,
    others_base: u32,
    samples: u32,
    pub(super) threads: u32,
    mode: u32,
    copies: u32,
    own_share: f32,
    partner_share: f32,
}

/// The modes of the shader.
const PREVIOUS: u32 = 0;
const PREVIOUS_ONLY_READ: u32 = 1;
const PREVIOUS_SAVED: u32 = 2;
const REVERSED: u32 = 3;
const REVERSED_APART: u32 = 4;

/// The buffers that a dispatch reads beside its part of the batch.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Others {
    None,
    /// The batch's last sample, which is saved before the first dispatch.
    Saved,
    /// These bytes of the samples that are saved before the first dispatch, of which the batch has more at its end.
    SavedPart(Range<u64>),
    /// These bytes of the batch.
    Batch(Range<u64>),
}

/// One dispatch.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct MixDispatch {
    pub(super) parameters: Parameters,
    /// Bytes of the batch.
    pub(super) batch: Range<u64>,
    pub(super) others: Others,
}

/// The most samples in a binding of `limit` bytes, wherever they begin; an error if it has no room for two.
pub(super) fn samples_in_binding(sample_bytes: u64, limit: u64) -> Result<usize> {
    let samples = limit.saturating_sub(ALIGNMENT) / sample_bytes.max(1);
    if samples >= 2 {
        return Ok(samples.min(usize::MAX as u64) as usize);
    }
    Err(ErrorKind::DoesNotFit {
        what: "two samples of a batch that is mixed, in f32",
        needed: 2 * sample_bytes + ALIGNMENT,
        limit,
        whose: "a binding of this adapter",
        settings: &[Setting::Views, Setting::OutputSize],
    }
    .into())
}

/// The dispatches of a batch, in order. `most` is the number of samples that a binding has room for, at least 2.
pub(super) fn dispatches(mixing: &Mixing, most: usize) -> Vec<MixDispatch> {
    let (all, mut dispatches) = (mixing.samples, Vec::new());
    let mut add = |range: Range<usize>, mode: u32, others: Option<Range<usize>>| {
        dispatches.push(dispatch(mixing, range, mode, others));
    };
    match mixing.partner {
        Partner::Previous if all <= most => add(0..all, PREVIOUS, None),
        Partner::Previous => {
            // From the end, so that each part reads the sample before it as it was.
            let mut end = all;
            while end > most {
                add(end - most..end, PREVIOUS_ONLY_READ, None);
                end -= most - 1;
            }
            add(0..end, PREVIOUS_SAVED, None);
        }
        Partner::Reversed => {
            // From both ends towards the middle. The two parts of a dispatch leave a sample between them.
            let (mut begin, mut end) = (0, all);
            while end - begin > most {
                let part = most.min((end - begin - 1) / 2);
                add(end - part..end, REVERSED_APART, Some(begin..begin + part));
                (begin, end) = (begin + part, end - part);
            }
            add(begin..end, REVERSED, None);
        }
    }
    dispatches
}

/// The number of samples from the batch's first one on that are saved for samples that are mixed each in its own way: the
/// first half, and one more, as bindings of two neighbours may overlap.
pub(super) fn saved_samples(samples: usize) -> usize {
    (samples / 2 + 1).min(samples)
}

/// The dispatches of a batch whose samples are mixed each in its own way: those of the first half read their partners as
/// they are, then those of the second half read the saved ones.
pub(super) fn dispatches_of_each(each: &[Option<Mixing>]) -> Vec<MixDispatch> {
    let (samples, saved) = (each.len(), saved_samples(each.len()));
    let of = |own: usize| {
        let (mixing, partner) = (each[own].as_ref()?, samples - 1 - own);
        if own == partner {
            return Some(dispatch(mixing, own..own + 1, PREVIOUS, None));
        }
        let mut found = dispatch(mixing, own..own + 1, PREVIOUS_SAVED, Some(partner..partner + 1));
        if let (Others::Batch(range), true) = (&found.others, partner < saved) {
            found.others = Others::SavedPart(range.clone());
        }
        Some(found)
    };
    (0..samples).filter_map(of).collect()
}

fn dispatch(mixing: &Mixing, samples: Range<usize>, mode: u32, others: Option<Range<usize>>) -> MixDispatch {
    let sample = 4 * mixing.sample() as u64;
    let bytes = |samples: &Range<usize>| {
        let begin = samples.start as u64 * sample;
        (begin / ALIGNMENT * ALIGNMENT..samples.end as u64 * sample, (begin % ALIGNMENT / 4) as u32)
    };
    let (batch, base) = bytes(&samples);
    let (others, others_base) = match others.as_ref().map(bytes) {
        Some((range, base)) => (Others::Batch(range), base),
        None if mode == PREVIOUS_SAVED => (Others::Saved, 0),
        None => (Others::None, 0),
    };
    let (copies, own_share, partner_share) = match mixing.blend {
        Blend::Partner => (1, 0.0, 0.0),
        Blend::Shares { own, partner } => (0, own, partner),
    };
    let region = &mixing.region;
    let parameters = Parameters {
        first: region.first as u32,
        run: region.run as u32,
        runs: region.runs as u32,
        pitch: region.pitch as u32,
        plane: region.plane as u32,
        region: region.elements() as u32,
        image: mixing.image as u32,
        sample: mixing.sample() as u32,
        base,
        others_base,
        samples: samples.len() as u32,
        threads: (region.elements() * mixing.views) as u32,
        mode,
        copies,
        own_share,
        partner_share,
    };
    MixDispatch { parameters, batch, others }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::mixing::Region;

    fn mixing(samples: usize, partner: Partner) -> Mixing {
        let region = Region { first: 0, run: 50, runs: 1, pitch: 50, planes: 1, plane: 50 };
        Mixing { blend: Blend::Partner, partner, samples, views: 2, image: 50, region }
    }

    /// The shader's result for a batch of samples that hold their number.
    fn run(dispatches: &[MixDispatch], samples: usize) -> Vec<usize> {
        let mut batch: Vec<usize> = (0..samples).collect();
        let saved = samples - 1;
        for MixDispatch { parameters, batch: range, others } in dispatches {
            let first = |range: &Range<u64>, base: u32| (range.start as usize + 4 * base as usize) / 400;
            let (begin, count) = (first(range, parameters.base), parameters.samples as usize);
            assert_eq!(range.end, (begin + count) as u64 * 400);
            let before = batch.clone();
            for i in 0..count {
                let own = begin + i;
                batch[own] = match (parameters.mode, i, others) {
                    (PREVIOUS, 0, _) => before[begin + count - 1],
                    (PREVIOUS_ONLY_READ, 0, _) => continue,
                    (PREVIOUS_SAVED, 0, _) => saved,
                    (REVERSED, ..) => before[begin + count - 1 - i],
                    (REVERSED_APART, _, Others::Batch(low)) => {
                        let low_begin = first(low, parameters.others_base);
                        assert!(low.end < range.start, "the two parts are apart");
                        batch[low_begin + count - 1 - i] = before[own];
                        before[low_begin + count - 1 - i]
                    }
                    _ => before[own - 1],
                };
            }
        }
        batch
    }

    #[test]
    fn parts_together_give_every_sample_its_partner() {
        for partner in [Partner::Previous, Partner::Reversed] {
            for samples in 1..40 {
                for most in 2..=samples.max(2) {
                    let dispatches = dispatches(&mixing(samples, partner), most);
                    assert_eq!(dispatches.len() == 1, samples <= most);
                    assert!(dispatches.iter().all(|dispatch| dispatch.parameters.samples as usize <= most));
                    let expected: Vec<usize> = (0..samples).map(|sample| partner.of(sample, samples)).collect();
                    assert_eq!(run(&dispatches, samples), expected, "{partner:?}, {samples} by {most}");
                }
            }
        }
    }

    #[test]
    fn each_sample_reads_its_partner_as_it_was() {
        for samples in 1..20 {
            for left_out in 0..=samples {
                let mixing = |sample| (sample != left_out).then(|| mixing(samples, Partner::Reversed));
                let each: Vec<_> = (0..samples).map(mixing).collect();
                let mut batch: Vec<usize> = (0..samples).collect();
                let saved = batch[..saved_samples(samples)].to_vec();
                for MixDispatch { parameters, batch: range, others } in dispatches_of_each(&each) {
                    let first = |range: &Range<u64>, base: u32| (range.start as usize + 4 * base as usize) / 400;
                    let own = first(&range, parameters.base);
                    let partner = match &others {
                        Others::None => batch[own],
                        Others::SavedPart(range) => saved[first(range, parameters.others_base)],
                        Others::Batch(other) => {
                            assert!(range.end <= other.start || other.end <= range.start, "{range:?} {other:?}");
                            batch[first(other, parameters.others_base)]
                        }
                        Others::Saved => panic!("the last sample is not saved by itself"),
                    };
                    assert_eq!((parameters.samples, own == partner), (1, samples % 2 == 1 && own == samples / 2));
                    batch[own] = partner;
                }
                let expected = (0..samples).map(|own| if own == left_out { own } else { samples - 1 - own });
                assert_eq!(batch, expected.collect::<Vec<_>>(), "{samples} without {left_out}");
            }
        }
    }

    #[test]
    fn a_larger_batch_never_takes_fewer_dispatches() {
        for partner in [Partner::Previous, Partner::Reversed] {
            for most in 2..20 {
                let counts = (1..100).map(|samples| dispatches(&mixing(samples, partner), most).len());
                assert!(counts.clone().zip(counts.skip(1)).all(|(one, more)| one <= more), "{partner:?} {most}");
            }
        }
    }

    #[test]
    fn two_samples_must_fit_a_binding() {
        assert_eq!(samples_in_binding(400, 1 << 20).unwrap(), ((1 << 20) - 256) / 400);
        assert_eq!(samples_in_binding(400, 800 + ALIGNMENT).unwrap(), 2);
        assert!(samples_in_binding(400, 799 + ALIGNMENT).unwrap_err().to_string().contains("two samples"));
    }
}
