use super::by_chance::by_chance;
use super::{Effect, GatherClass, Op};

by_chance! {
    /// Equalises the histogram of each channel, with probability `p`: torchvision's `RandomEqualize`.
    ///
    /// ```
    /// use gpufeed::transforms::RandomEqualize;
    ///
    /// assert_eq!(RandomEqualize::default().p, 0.5);
    /// ```
    RandomEqualize emits Op::Equalize, Effect::Gather(GatherClass::Tables)
}
