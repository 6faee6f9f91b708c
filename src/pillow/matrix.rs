//! The matrices, from the pixels of a result to places in the image, of torchvision's `affine` and Pillow's `rotate`.

use super::sines::{cos, sin, tan};

/// The matrix of torchvision's `affine` on PIL images about `center`, pixels from the left and from above. Angles are in
/// degrees.
pub(crate) fn affine_matrix(
    angle: f64,
    [move_x, move_y]: [f64; 2],
    scale: f64,
    shear: [f64; 2],
    [x, y]: [f64; 2],
) -> [f64; 6] {
    let (turn, [shear_x, shear_y]) = (angle.to_radians(), shear.map(f64::to_radians));
    let (cosine, tangent) = (cos(shear_y), tan(shear_x));
    let a = cos(turn - shear_y) / cosine;
    let b = -(a * tangent + sin(turn));
    let c = sin(turn - shear_y) / cosine;
    let d = cos(turn) - c * tangent;
    let [m0, m1, m3, m4] = [d / scale, -b / scale, -c / scale, a / scale];
    let (moved_x, moved_y) = (x + move_x, y + move_y);
    [m0, m1, x - m0 * moved_x - m1 * moved_y, m3, m4, y - m3 * moved_x - m4 * moved_y]
}

/// The matrix of Pillow's `Image.rotate` without `expand`: degrees counter-clockwise about `center`. Its sines have 15
/// decimals. Whole quarter turns about the middle, which Pillow transposes, lie exactly on pixels, so they are the same.
pub(crate) fn rotation_matrix(angle: f64, [x, y]: [f64; 2]) -> [f64; 6] {
    let turn = -angle.rem_euclid(360.0).to_radians();
    let (cosine, sine) = (rounded(cos(turn)), rounded(sin(turn)));
    let minus_sine = rounded(-sin(turn));
    let at = |first: f64, second: f64| first * -x + second * -y + 0.0;
    [cosine, sine, at(cosine, sine) + x, minus_sine, cosine, at(minus_sine, cosine) + y]
}

/// A number to 15 decimals, as Python's `round` rounds it.
fn rounded(number: f64) -> f64 {
    format!("{number:.15}").parse().unwrap_or(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quarter_turns_lie_on_pixels() {
        assert_eq!(rotation_matrix(90.0, [4.0, 4.0]), [0.0, -1.0, 8.0, 1.0, 0.0, 0.0]);
        assert_eq!(rotation_matrix(-180.0, [2.5, 4.0]), [-1.0, 0.0, 5.0, 0.0, -1.0, 8.0]);
        assert_eq!(rotation_matrix(360.0, [2.5, 4.0]), [1.0, 0.0, 0.0, 0.0, 1.0, 0.0]);
    }

    #[test]
    fn a_move_is_exact() {
        let matrix = affine_matrix(0.0, [3.0, -2.0], 1.0, [0.0; 2], [10.5, 7.0]);
        assert_eq!(matrix, [1.0, 0.0, -3.0, 0.0, 1.0, 2.0]);
    }
}
