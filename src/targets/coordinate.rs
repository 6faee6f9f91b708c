//! The numbers of which boxes and keypoints are made.

/// A number of pixels: `f32`, or `i64`, whose results are cut to whole numbers after each operation, as torchvision cuts them.
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
pub trait Coordinate: Copy + sealed::Sealed {
    /// Returns the number as an f64.
    fn get(self) -> f64;

    /// Makes the nearest number of this type, or the next whole one towards zero.
    fn of(value: f64) -> Self;
}

mod sealed {
    pub trait Sealed {
        /// True for whole numbers.
        const IS_WHOLE: bool;
    }

    impl Sealed for f32 {
        const IS_WHOLE: bool = false;
    }

    impl Sealed for i64 {
        const IS_WHOLE: bool = true;
    }
}

impl Coordinate for f32 {
    fn get(self) -> f64 {
        self.into()
    }

    fn of(value: f64) -> f32 {
        value as f32
    }
}

impl Coordinate for i64 {
    fn get(self) -> f64 {
        self as f64
    }

    fn of(value: f64) -> i64 {
        // A sum that f64 leaves a little below a whole number is that number in f32, in which torch computes.
        if value.abs() < f64::from(1 << 22) { (value as f32) as i64 } else { value as i64 }
    }
}
