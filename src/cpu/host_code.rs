//! An image of a list with code of the user's own: the transforms before it, the code, and those after it with the size
//! that it returns.

use super::{CpuScratch, run};
use crate::allocate::{AUGMENTING, product};
use crate::error::{Error, Result};
use crate::geometry::Rect;
use crate::pixels::{PixelFormat, Pixels, PixelsRef, widen_floats};
use crate::plan::host_code::CodePart;
use crate::plan::program::Program;
use crate::plan::{DType, Plan};
use crate::transforms::{HostImage, HostValues, Key};

/// Runs the program of a plan with code as [`run`] does one without.
///
/// # Errors
/// Those of [`run`], and those of the code and of the transforms after it, with the code's name.
pub(super) fn run_around(
    part: &CodePart,
    (program, key): (&Program, &Key),
    pixels: PixelsRef<'_>,
    region: Rect,
    out: &mut [u8],
    scratch: &mut CpuScratch,
) -> Result<()> {
    let image = before(&part.before, program, pixels, region, scratch)?;
    let image = part.call(image, key)?;
    let named = |error: Error| part.code.named(error);
    let rest = part.rest(matches!(image.values(), HostValues::F32(_))).map_err(named)?;
    let size = (image.width(), image.height());
    let program = part.program(rest, size, key).map_err(named)?;
    after(rest, &program, &image, out, scratch)
}

/// The image that the code gets.
fn before(
    plan: &Plan,
    program: &Program,
    pixels: PixelsRef<'_>,
    region: Rect,
    scratch: &mut CpuScratch,
) -> Result<HostImage> {
    let (width, height) = program.size();
    let count = product(plan.channels() as usize, product(width as usize, height as usize));
    let values = if plan.output().dtype == DType::U8 {
        let mut values = Vec::new();
        AUGMENTING.resize(&mut values, count, 0u8)?;
        run(plan, program, pixels, region, &mut values, scratch)?;
        HostValues::U8(values)
    } else {
        let mut values = Vec::new();
        AUGMENTING.resize(&mut values, count, 0.0f32)?;
        run(plan, program, pixels, region, bytemuck::cast_slice_mut(&mut values), scratch)?;
        HostValues::F32(values)
    };
    HostImage::new(width, height, plan.channels(), values)
}

/// Runs the transforms after the code on the image that it has returned.
fn after(plan: &Plan, program: &Program, image: &HostImage, out: &mut [u8], scratch: &mut CpuScratch) -> Result<()> {
    let (width, channels) = (image.width() as usize, image.channels());
    let (whole, region) = (Rect::whole((image.width(), image.height())), program.region());
    match image.values() {
        HostValues::U8(values) => {
            let size = channels as usize;
            let pixels = PixelsRef::Bytes { data: values, stride: size * width, size };
            run(plan, program, pixels.region(whole, region), region, out, scratch)
        }
        HostValues::F32(values) => {
            let format = PixelFormat::F32 { channels };
            let pixels = Pixels::new(image.width(), image.height(), format, bytemuck::cast_slice(values))?;
            let mut wide = Vec::new();
            AUGMENTING.reserve(&mut wide, product(4 * width, image.height() as usize))?;
            widen_floats(pixels, whole, &mut wide);
            let pixels = PixelsRef::Floats { data: &wide, stride: 4 * width };
            run(plan, program, pixels.region(whole, region), region, out, scratch)
        }
    }
}
