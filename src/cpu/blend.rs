//! Blends the elements of one sample of a batch with those of its partner.

use crate::plan::DType;
use crate::plan::mixing::Blend;
use bytemuck::Pod;
use half::slice::HalfFloatSliceExt;
use half::{bf16, f16};
use multiversion::multiversion;

/// Bytes of a block.
pub(super) const BLOCK: usize = 8 << 10;

/// The bytes that one step of the loop mixes: the same range of every sample.
pub(super) struct Blocks {
    /// The first byte in the first sample.
    pub(super) first: usize,
    pub(super) bytes: usize,
    /// Bytes from one sample to the next.
    pub(super) stride: usize,
}

impl Blocks {
    pub(super) fn of<'a>(&self, sample: usize, batch: &'a mut [u8]) -> &'a mut [u8] {
        &mut batch[self.first + sample * self.stride..][..self.bytes]
    }

    /// The blocks of two samples; `later` comes after `earlier`.
    pub(super) fn two<'a>(&self, earlier: usize, later: usize, batch: &'a mut [u8]) -> (&'a mut [u8], &'a mut [u8]) {
        let (before, after) = batch.split_at_mut(self.first + later * self.stride);
        (&mut before[self.first + earlier * self.stride..][..self.bytes], &mut after[..self.bytes])
    }
}

/// Mixes elements of `dtype` with a partner's.
pub(super) fn combine(blend: Blend, dtype: DType, own: &mut [u8], partner: &[u8]) {
    let Blend::Shares { own: own_share, partner: partner_share } = blend else {
        own.copy_from_slice(partner);
        return;
    };
    let shares = (own_share, partner_share);
    match dtype {
        DType::F32 => self::blend(bytemuck::cast_slice_mut(own), bytemuck::cast_slice(partner), shares),
        DType::F16 => blend_halves::<f16>(bytemuck::cast_slice_mut(own), bytemuck::cast_slice(partner), shares),
        DType::BF16 => blend_halves::<bf16>(bytemuck::cast_slice_mut(own), bytemuck::cast_slice(partner), shares),
        DType::U8 => blend_bytes(own, partner, shares),
    }
}

#[multiversion(targets("x86_64+avx2"))]
fn blend(own: &mut [f32], partner: &[f32], (own_share, partner_share): (f32, f32)) {
    for (own, partner) in own.iter_mut().zip(partner) {
        *own = partner * partner_share + *own * own_share;
    }
}

/// Halves go to the even number, as NumPy's `rint` and torch's `round` have it.
#[multiversion(targets("x86_64+avx2"))]
fn blend_bytes(own: &mut [u8], partner: &[u8], (own_share, partner_share): (f32, f32)) {
    for (own, partner) in own.iter_mut().zip(partner) {
        *own = (f32::from(*partner) * partner_share + f32::from(*own) * own_share).round_ties_even() as u8;
    }
}

fn blend_halves<H: Pod>(own: &mut [H], partner: &[H], shares: (f32, f32))
where
    [H]: HalfFloatSliceExt,
{
    const VALUES: usize = 64;
    let (mut mixed, mut other) = ([0.0; VALUES], [0.0; VALUES]);
    for (own, partner) in own.chunks_mut(VALUES).zip(partner.chunks(VALUES)) {
        let (mixed, other) = (&mut mixed[..own.len()], &mut other[..own.len()]);
        own.convert_to_f32_slice(mixed);
        partner.convert_to_f32_slice(other);
        blend(mixed, other, shares);
        own.convert_from_f32_slice(mixed);
    }
}
