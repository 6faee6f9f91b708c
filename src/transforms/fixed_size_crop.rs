use super::arguments::check_fill;
use super::pad_if_smaller::missing;
use super::params::{Context, Numbers};
use super::{CropSize, Effect, Op, Operator, PaddingMode, Slots};
use crate::error::Result;
use serde::{Deserialize, Serialize};

/// Crops an image that is larger than `size` at a random place, and pads one that is smaller on the right and below: `FixedSizeCrop` of
/// torchvision's detection references, which its large scale jitter has.
///
/// One random number r in \[0, 1) chooses both offsets, `floor(r · (height - size))` and `floor(r · (width - size))`, as there: a crop
/// lies on the diagonal of its places. Boxes that the crop leaves empty stay, until
/// [`SanitizeBoundingBoxes`](super::SanitizeBoundingBoxes) removes them; torchvision's removes them itself.
///
/// ```
/// use gpufeed::transforms::{FixedSizeCrop, RandomHorizontalFlip, ScaleJitter, Transform};
///
/// let lsj: [Transform; 3] = [
///     ScaleJitter::new((1024, 1024)).into(),
///     FixedSizeCrop::new(1024).fill([0.485, 0.456, 0.406]).into(),
///     RandomHorizontalFlip::new(0.5).into(),
/// ];
/// # let _ = lsj;
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FixedSizeCrop {
    /// Height and width of the result, in pixels.
    pub size: CropSize,
    /// The border's colour in \[0, 1\], or of 8-bit numbers in 0 to 255, for the constant mode; black by default.
    #[serde(default)]
    pub fill: [f32; 3],
    /// The pixels of the border; `Constant` by default.
    #[serde(default)]
    pub padding_mode: PaddingMode,
}

impl FixedSizeCrop {
    /// Makes results of a square (`1024`) or of `(height, width)`, with a black border.
    pub fn new(size: impl Into<CropSize>) -> Self {
        FixedSizeCrop { size: size.into(), fill: [0.0; 3], padding_mode: PaddingMode::Constant }
    }

    border_setters!();
}

impl Operator for FixedSizeCrop {
    const NAME: &'static str = "FixedSizeCrop";

    fn validate(&self) -> Result<()> {
        check_fill(self.fill)?;
        self.size.validate()
    }

    fn slots(&self, slots: &mut Slots) {
        let CropSize { height, width } = self.size;
        // An op that no image needs is left out, so that more of the operators after it can be fused.
        let known = slots.size;
        let needs = |other: fn(u32, u32) -> bool| known.is_none_or(|(w, h)| other(w, width) || other(h, height));
        slots.push(Self::NAME, if needs(|side, size| side > size) { Effect::Crop } else { Effect::Never });
        let pad = Effect::Pad { mode: self.padding_mode, fill: self.fill };
        slots.push(Self::NAME, if needs(|side, size| side < size) { pad } else { Effect::Never });
        slots.set_size(Some((width, height)));
    }

    fn make_params(&self, context: &mut Context<'_>, numbers: &mut Numbers) -> Result<()> {
        let (width, height) = (context.width.min(self.size.width), context.height.min(self.size.height));
        if (width, height) != (context.width, context.height) {
            let r = numbers.unit();
            let offset = |side: u32, crop: u32| (f64::from(side - crop) * r) as u32;
            let (top, left) = (offset(context.height, height), offset(context.width, width));
            context.emit(0, Op::Crop { top, left, height, width })?;
        }
        let (right, bottom) = missing(self.size, width, height);
        if (right, bottom) == (0, 0) {
            return Ok(());
        }
        let (mode, fill) = (self.padding_mode, self.fill);
        context.emit(1, Op::Pad { left: 0, top: 0, right, bottom, mode, fill })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transforms::Key;
    use crate::{Output, Plan};

    fn ops(width: u32, height: u32, sample: u64) -> Vec<Op> {
        let plan = Plan::compile(&[FixedSizeCrop::new((30, 40)).into()], &Output::default()).unwrap();
        assert_eq!(plan.output_size(), Some((40, 30)));
        let params = plan.make_params(width, height, &Key { sample, ..Key::default() }).unwrap();
        plan.program(&params).unwrap();
        params.ops.into_iter().map(|op| op.op).collect()
    }

    #[test]
    fn each_image_has_the_size_in_the_end() {
        let fill = [0.0; 3];
        let mode = PaddingMode::Constant;
        assert_eq!(ops(40, 30, 0), []);
        assert_eq!(ops(33, 21, 0), [Op::Pad { left: 0, top: 0, right: 7, bottom: 9, mode, fill }]);
        for sample in 0..50 {
            let tall = ops(33, 131, sample);
            let [Op::Crop { top, left: 0, height: 30, width: 33 }, Op::Pad { right: 7, bottom: 0, .. }] = tall[..]
            else {
                panic!("{tall:?}")
            };
            assert!(top < 101);
        }
    }

    #[test]
    fn one_number_chooses_both_offsets() {
        let mut seen = std::collections::HashSet::new();
        for sample in 0..400 {
            let large = ops(140, 80, sample);
            let [Op::Crop { top, left, height: 30, width: 40 }] = large[..] else { panic!("{large:?}") };
            assert!(left / 2 == top && top < 50, "{large:?}");
            seen.insert(left);
        }
        assert!(seen.len() > 90, "{} of 100 places", seen.len());
    }
}
