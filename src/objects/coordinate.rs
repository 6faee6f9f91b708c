//! The numbers of which boxes and keypoints are made.

/// A number of pixels: `f32`, `f64`, or `i64`. Whole numbers are cut towards zero after each operation, from its result in f32, as
/// torchvision cuts them.
///
/// ```
/// use gpufeed::targets::{BoxFormat, Clamping, Moves};
/// use gpufeed::transforms::{Interpolation, Op};
///
/// let (interpolation, antialias) = (Interpolation::Bilinear, true);
/// let halved = Op::Resize { height: 5, width: 5, interpolation, antialias };
/// let moves = Moves::new([&halved], (10, 10)).unwrap();
/// let (mut floats, mut whole) = ([[1.0f32, 1.0, 7.0, 7.0]], [[1i64, 1, 7, 7]]);
/// moves.boxes(&mut floats, BoxFormat::Xyxy, Clamping::Soft).unwrap();
/// moves.boxes(&mut whole, BoxFormat::Xyxy, Clamping::Soft).unwrap();
/// assert_eq!((floats, whole), ([[0.5, 0.5, 3.5, 3.5]], [[0, 0, 3, 3]]));
/// ```
pub trait Coordinate: sealed::Number {}

impl Coordinate for f32 {}
impl Coordinate for f64 {}
impl Coordinate for i64 {}

pub(crate) mod sealed {
    /// A number with its conversions: the functions of this module compute in f64.
    pub trait Number: Copy {
        /// True for whole numbers.
        const IS_WHOLE: bool;

        fn get(self) -> f64;

        /// The number of this type for the result of an operation.
        fn of(value: f64) -> Self;

        /// Rounds an intermediate result to this type: torch rounds each to f32.
        fn rounded(value: f64) -> f64;
    }

    impl Number for f32 {
        const IS_WHOLE: bool = false;

        fn get(self) -> f64 {
            self.into()
        }

        fn of(value: f64) -> f32 {
            value as f32
        }

        fn rounded(value: f64) -> f64 {
            f64::from(value as f32)
        }
    }

    impl Number for f64 {
        const IS_WHOLE: bool = false;

        fn get(self) -> f64 {
            self
        }

        fn of(value: f64) -> f64 {
            value
        }

        fn rounded(value: f64) -> f64 {
            value
        }
    }

    impl Number for i64 {
        const IS_WHOLE: bool = true;

        fn get(self) -> f64 {
            self as f64
        }

        fn of(value: f64) -> i64 {
            // In f32, in which torch computes, a sum a little below a whole number is that number.
            if value.abs() < f64::from(1 << 22) { (value as f32) as i64 } else { value as i64 }
        }

        fn rounded(value: f64) -> f64 {
            value
        }
    }
}
