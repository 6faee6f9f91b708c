//! Mixes a finished batch in place: the native twin of `shaders/batch/mix.wgsl`.
//!
//! A block of a few KiB goes down the batch, from image to image, so that memory reads and writes every byte once: a
//! partner is still in the first-level cache when it is mixed itself.

use super::blend::{BLOCK, Blocks, combine};
use super::mix_each::mix_each;
use crate::plan::DType;
use crate::plan::mixing::{BatchMixing, Mixing};
use crate::transforms::Partner;

/// Mixes a batch of `dtype`. Values in f16 and bf16 are blended in f32 and rounded again; bytes are rounded to whole numbers.
pub(crate) fn mix(mixing: &BatchMixing, dtype: DType, batch: &mut [u8]) {
    match mixing {
        BatchMixing::All(mixing) => {
            blocks(mixing, dtype.bytes(), batch, |to, from| combine(mixing.blend, dtype, to, from));
        }
        BatchMixing::Each(each) => mix_each(each, dtype, batch),
    }
}

/// Goes down the batch with each block of the region. `combine` mixes a block with its partner's.
fn blocks(mixing: &Mixing, size: usize, batch: &mut [u8], combine: impl Fn(&mut [u8], &[u8])) {
    let mut saved = [0u32; BLOCK / 4];
    let saved: &mut [u8] = bytemuck::cast_slice_mut(&mut saved);
    for view in 0..mixing.views {
        for run in mixing.region.runs() {
            let (begin, end) = ((view * mixing.image + run.start) * size, (view * mixing.image + run.end) * size);
            for first in (begin..end).step_by(BLOCK) {
                let blocks = Blocks { first, bytes: BLOCK.min(end - first), stride: mixing.sample() * size };
                let saved = &mut saved[..blocks.bytes];
                match mixing.partner {
                    Partner::Previous => previous(&blocks, mixing.samples, batch, saved, &combine),
                    Partner::Reversed => reversed(&blocks, mixing.samples, batch, saved, &combine),
                }
            }
        }
    }
}

fn previous(blocks: &Blocks, samples: usize, batch: &mut [u8], saved: &mut [u8], combine: &impl Fn(&mut [u8], &[u8])) {
    saved.copy_from_slice(blocks.of(samples - 1, batch));
    for sample in (1..samples).rev() {
        let (partner, own) = blocks.two(sample - 1, sample, batch);
        combine(own, partner);
    }
    combine(blocks.of(0, batch), saved);
}

fn reversed(blocks: &Blocks, samples: usize, batch: &mut [u8], saved: &mut [u8], combine: &impl Fn(&mut [u8], &[u8])) {
    for sample in 0..samples / 2 {
        let (low, high) = blocks.two(sample, samples - 1 - sample, batch);
        saved.copy_from_slice(low);
        combine(low, high);
        combine(high, saved);
    }
    if samples % 2 == 1 {
        let middle = blocks.of(samples / 2, batch);
        saved.copy_from_slice(middle);
        combine(middle, saved);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::mixing::{Blend, Region};
    use half::{bf16, f16};

    /// The formula, from a copy of the batch.
    fn naive(mixing: &Mixing, batch: &[f32]) -> Vec<f32> {
        let mut mixed = batch.to_vec();
        for image in 0..mixing.samples * mixing.views {
            let (sample, view) = (image / mixing.views, image % mixing.views);
            let partner = mixing.partner.of(sample, mixing.samples) * mixing.views + view;
            for at in mixing.region.runs().flatten() {
                let (own, other) = (batch[image * mixing.image + at], batch[partner * mixing.image + at]);
                mixed[image * mixing.image + at] = match mixing.blend {
                    Blend::Shares { own: own_share, partner } => other * partner + own * own_share,
                    Blend::Partner => other,
                };
            }
        }
        mixed
    }

    fn whole(image: usize) -> Region {
        Region { first: 0, run: image, runs: 1, pitch: image, planes: 1, plane: image }
    }

    #[test]
    fn batches_are_the_formula_for_every_number_of_samples_views_and_blocks() {
        let part = Region { first: 9, run: 11, runs: 5, pitch: 20, planes: 3, plane: 2000 };
        for (samples, views) in [(1, 1), (1, 3), (2, 1), (3, 2), (4, 1), (5, 3)] {
            for (image, region) in [(7, whole(7)), (6000, whole(6000)), (6000, part)] {
                for partner in [Partner::Previous, Partner::Reversed] {
                    for blend in [Blend::Shares { own: 0.3, partner: 0.7 }, Blend::Partner] {
                        let mixing = Mixing { blend, partner, samples, views, image, region };
                        let mut batch: Vec<f32> =
                            (0..samples * views * image).map(|i| (i * 37 % 1009) as f32 / 1009.0).collect();
                        let expected = naive(&mixing, &batch);
                        mix(&BatchMixing::All(mixing), DType::F32, bytemuck::cast_slice_mut(&mut batch));
                        assert!(batch == expected, "{mixing:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn bfloats_are_rounded_once_after_the_blend() {
        let blend = Blend::Shares { own: 0.3, partner: 0.7 };
        let mixing = Mixing { blend, partner: Partner::Reversed, samples: 3, views: 1, image: 130, region: whole(130) };
        let mut mixed: Vec<bf16> = (0..390).map(|i| bf16::from_f32((i * 37 % 101) as f32 / 101.0)).collect();
        let floats: Vec<f32> = mixed.iter().map(|value| value.to_f32()).collect();
        let expected: Vec<bf16> = naive(&mixing, &floats).into_iter().map(bf16::from_f32).collect();
        mix(&BatchMixing::All(mixing), DType::BF16, bytemuck::cast_slice_mut(&mut mixed));
        assert!(mixed == expected);
    }

    #[test]
    fn halves_are_rounded_once_after_the_blend_and_bytes_are_copied() {
        let blend = Blend::Shares { own: 0.3, partner: 0.7 };
        let mixing = Mixing { blend, partner: Partner::Previous, samples: 3, views: 1, image: 130, region: whole(130) };
        let batch: Vec<f16> = (0..390).map(|i| f16::from_f32((i * 37 % 101) as f32 / 101.0)).collect();
        let floats: Vec<f32> = batch.iter().map(|value| value.to_f32()).collect();
        let expected: Vec<f16> = naive(&mixing, &floats).into_iter().map(f16::from_f32).collect();
        let mut mixed = batch;
        mix(&BatchMixing::All(mixing), DType::F16, bytemuck::cast_slice_mut(&mut mixed));
        assert!(mixed == expected);
        let mut bytes = [1u8, 2, 3, 4, 5, 6];
        let mixing = Mixing { blend: Blend::Partner, image: 2, region: whole(2), ..mixing };
        mix(&BatchMixing::All(mixing), DType::U8, &mut bytes);
        assert_eq!(bytes, [5, 6, 1, 2, 3, 4]);
    }
}
