//! The prefix of a plan, which a worker runs for a cache or for the views: its result in floats, or rounded to bytes.

use super::{CpuScratch, run_to_floats};
use crate::allocate::{AUGMENTING, reserve_like};
use crate::error::Result;
use crate::geometry::Rect;
use crate::pixels::PixelsRef;
use crate::plan::Plan;
use crate::plan::route::Prefix;

/// The memory for the result of a prefix; it grows to the largest result and is reused.
#[derive(Debug, Default)]
pub(crate) struct PrefixBuffers {
    floats: Vec<f32>,
    bytes: Vec<u8>,
}

impl PrefixBuffers {
    /// Makes room for as much as `other` has room for.
    pub(crate) fn reserve_like(&mut self, other: &PrefixBuffers) {
        reserve_like(&mut self.floats, &other.floats);
        reserve_like(&mut self.bytes, &other.bytes);
    }
}

/// Runs `prefix` on the pixels of `region` and returns its whole result, which is in `buffers`.
///
/// A result in bytes is rounded to the nearest level, as torchvision rounds when it resizes bytes.
///
/// # Errors
/// Those of [`run`](super::run).
pub(crate) fn run_prefix<'a>(
    plan: &Plan,
    prefix: &Prefix,
    pixels: PixelsRef<'_>,
    region: Rect,
    buffers: &'a mut PrefixBuffers,
    scratch: &mut CpuScratch,
) -> Result<PixelsRef<'a>> {
    let PrefixBuffers { floats, bytes } = buffers;
    run_to_floats(plan, &prefix.program, pixels, region, floats, scratch)?;
    let stride = 4 * prefix.program.size().0 as usize;
    if prefix.float {
        return Ok(PixelsRef::Floats { data: floats, stride });
    }
    bytes.clear();
    AUGMENTING.reserve(bytes, floats.len())?;
    // The fourth channel is 1. The cast turns a NaN into 0.
    bytes.extend(floats.iter().map(|value| (value.clamp(0.0, 1.0) * 255.0 + 0.5) as u8));
    Ok(PixelsRef::Bytes { data: bytes, stride, size: 4 })
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
        let (pixels, region) = (PixelsRef::Floats { data: &data, stride: 16 }, program.region());
        let prefix = Prefix { program, float: false };
        let (mut buffers, mut scratch) = (PrefixBuffers::default(), CpuScratch::default());
        let Ok(PixelsRef::Bytes { data, .. }) = run_prefix(&plan, &prefix, pixels, region, &mut buffers, &mut scratch)
        else {
            panic!("floats")
        };
        let expected = [0, 255, 0, 1, 254, 0, 255, 0].map(|level| [level, level, level, 255]);
        assert_eq!(data, expected.as_flattened());
    }
}
