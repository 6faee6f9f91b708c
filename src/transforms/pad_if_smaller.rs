use super::arguments::check_fill;
use super::params::{Context, Numbers};
use super::{CropSize, Effect, Op, Operator, PaddingMode, Slots};
use crate::error::Result;
use serde::{Deserialize, Serialize};

/// Pads an image that is smaller than `size` on the right and below: `PadIfSmaller` of torchvision's segmentation references.
///
/// A side that is large enough stays as it is. It draws nothing. A [`RandomCrop`](super::RandomCrop) after it crops to the size;
/// its own `pad_if_needed` pads each side of the image by all that is missing.
///
/// ```
/// use gpufeed::transforms::{PadIfSmaller, RandomCrop, Transform};
///
/// let list: [Transform; 2] = [PadIfSmaller::new(480).into(), RandomCrop::new(480).into()];
/// # let _ = list;
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PadIfSmaller {
    /// The least height and width of the result, in pixels.
    pub size: CropSize,
    /// The border's colour in \[0, 1\], or of 8-bit numbers in 0 to 255, for the constant mode; black by default.
    #[serde(default)]
    pub fill: [f32; 3],
    /// The pixels of the border; `Constant` by default.
    #[serde(default)]
    pub padding_mode: PaddingMode,
}

impl PadIfSmaller {
    /// Pads to a square (`480`) or to `(height, width)` with black.
    pub fn new(size: impl Into<CropSize>) -> Self {
        PadIfSmaller { size: size.into(), fill: [0.0; 3], padding_mode: PaddingMode::Constant }
    }

    border_setters!();
}

/// The columns on the right and the rows below that an image of `width` × `height` lacks.
pub(super) fn missing(size: CropSize, width: u32, height: u32) -> (u32, u32) {
    (size.width.saturating_sub(width), size.height.saturating_sub(height))
}

impl Operator for PadIfSmaller {
    const NAME: &'static str = "PadIfSmaller";
    const FIXED: bool = true;

    fn validate(&self) -> Result<()> {
        check_fill(self.fill)?;
        self.size.validate()
    }

    fn slots(&self, slots: &mut Slots) {
        // An op that no image needs is left out, so that more of the operators after it can be fused.
        let fits = slots.size.is_some_and(|(width, height)| missing(self.size, width, height) == (0, 0));
        let pad = Effect::Pad { mode: self.padding_mode, fill: self.fill };
        slots.push(Self::NAME, if fits { Effect::Never } else { pad });
        let padded = |(width, height): (u32, u32)| (width.max(self.size.width), height.max(self.size.height));
        slots.set_size_or_most(slots.size.map(padded), slots.most.map(padded));
    }

    fn make_params(&self, context: &mut Context<'_>, _: &mut Numbers) -> Result<()> {
        let (right, bottom) = missing(self.size, context.width, context.height);
        if (right, bottom) == (0, 0) {
            return Ok(());
        }
        let (mode, fill) = (self.padding_mode, self.fill);
        context.emit(0, Op::Pad { left: 0, top: 0, right, bottom, mode, fill })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transforms::{Key, Params, RandomCrop};
    use crate::{Output, Plan};

    fn ops(list: &PadIfSmaller, width: u32, height: u32) -> Vec<Op> {
        let plan = Plan::compile(&[list.clone().into()], &Output::default()).unwrap();
        let Params { ops, .. } = plan.make_params(width, height, &Key::default()).unwrap();
        ops.into_iter().map(|op| op.op).collect()
    }

    #[test]
    fn what_is_missing_is_on_the_right_and_below() {
        let list = PadIfSmaller::new((30, 40)).fill([0.5; 3]);
        let pad = |right, bottom| {
            vec![Op::Pad { left: 0, top: 0, right, bottom, mode: PaddingMode::Constant, fill: [0.5; 3] }]
        };
        assert_eq!(ops(&list, 33, 21), pad(7, 9));
        assert_eq!(ops(&list, 50, 29), pad(0, 1));
        assert_eq!(ops(&list, 40, 30), []);
    }

    #[test]
    fn a_crop_behind_it_needs_no_border() {
        let list = [PadIfSmaller::new(20).into(), RandomCrop::new(20).into()];
        let plan = Plan::compile(&list, &Output::default()).unwrap();
        assert_eq!(plan.output_size(), Some((20, 20)));
        for sample in 0..20 {
            let params = plan.make_params(11, 60, &Key { sample, ..Key::default() }).unwrap();
            assert!(plan.program(&params).is_ok(), "{params:?}");
        }
    }
}
