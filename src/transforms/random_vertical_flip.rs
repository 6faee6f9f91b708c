use super::by_chance::by_chance;
use super::{Effect, Op};

by_chance! {
    /// Mirrors top and bottom with probability `p`: torchvision's `RandomVerticalFlip`.
    ///
    /// ```
    /// use gpufeed::transforms::RandomVerticalFlip;
    ///
    /// assert_eq!(RandomVerticalFlip::default().p, 0.5);
    /// ```
    RandomVerticalFlip emits Op::VerticalFlip, Effect::Flip
}
