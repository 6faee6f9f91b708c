use super::by_chance::by_chance;
use super::{Effect, Op};
use crate::color::opcode;

by_chance! {
    /// Inverts the colours with probability `p`: torchvision's `RandomInvert`.
    ///
    /// ```
    /// use gpufeed::transforms::RandomInvert;
    ///
    /// assert_eq!(RandomInvert::default().p, 0.5);
    /// ```
    RandomInvert emits Op::Invert, Effect::Color(opcode::INVERT)
}
