use super::by_chance::by_chance;
use super::{Effect, GatherClass, Op};

by_chance! {
    /// Stretches each channel to the whole range, with probability `p`: torchvision's `RandomAutocontrast`.
    ///
    /// ```
    /// use gpufeed::transforms::RandomAutocontrast;
    ///
    /// assert_eq!(RandomAutocontrast::default().p, 0.5);
    /// ```
    RandomAutocontrast emits Op::Autocontrast, Effect::Gather(GatherClass::Tables)
}
