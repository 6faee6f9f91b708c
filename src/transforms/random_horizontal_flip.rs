use super::by_chance::by_chance;
use super::{Effect, Op};

by_chance! {
    /// Mirrors left and right with probability `p`: torchvision's `RandomHorizontalFlip`.
    ///
    /// ```
    /// use gpufeed::transforms::RandomHorizontalFlip;
    ///
    /// assert_eq!(RandomHorizontalFlip::default().p, 0.5);
    /// ```
    RandomHorizontalFlip emits Op::HorizontalFlip, Effect::Flip
}
