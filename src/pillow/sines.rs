//! Sines, cosines and tangents to the nearest f64, as C's library on Linux has nearly all of them, so that the matrices of
//! angles are those of Python to the last bit: where a place lies on a pixel, that bit decides a level. With those of `libm`
//! one of twelve random matrices was another one, with these one of two hundred.
//!
//! Numbers are sums of two f64, the second of which is below half a unit of the first (T. J. Dekker, "A Floating-Point
//! Technique for Extending the Available Precision", Numerische Mathematik 18, 1971).

/// The sine of an angle in radians, up to 1,000,000 turns.
pub(super) fn sin(angle: f64) -> f64 {
    let (quarter, rest) = reduced(angle);
    of_quarter(quarter, rest).0
}

/// The cosine.
pub(super) fn cos(angle: f64) -> f64 {
    let (quarter, rest) = reduced(angle);
    of_quarter(quarter + 1, rest).0
}

/// The tangent.
pub(super) fn tan(angle: f64) -> f64 {
    let (quarter, rest) = reduced(angle);
    divided(of_quarter(quarter, rest), of_quarter(quarter + 1, rest)).0
}

type Double = (f64, f64);

/// A quarter of a turn, in three parts.
const QUARTER: [f64; 3] = [std::f64::consts::FRAC_PI_2, 6.123_233_995_736_766e-17, -1.497_384_904_859_169_8e-33];

/// The number of quarter turns next to an angle, and what is left of it.
fn reduced(angle: f64) -> (i64, Double) {
    let turns = (angle / QUARTER[0]).round();
    let rest = QUARTER.iter().fold((angle, 0.0), |rest, &part| sum(rest, product((-turns, 0.0), (part, 0.0))));
    (turns as i64, rest)
}

/// The sine of `rest`, an angle of up to an eighth of a turn, and a number of quarters.
fn of_quarter(quarter: i64, rest: Double) -> Double {
    let (sine, cosine) = (series(rest, 1.0, rest), series((1.0, 0.0), 0.0, rest));
    match quarter.rem_euclid(4) {
        0 => sine,
        1 => cosine,
        2 => (-sine.0, -sine.1),
        _ => (-cosine.0, -cosine.1),
    }
}

/// The sum of `term` and the terms that follow it in the series of the sine or the cosine; its power is `power`.
fn series(mut term: Double, mut power: f64, rest: Double) -> Double {
    let square = product(rest, rest);
    let mut total = (0.0, 0.0);
    while term.0.abs() > 1e-36 {
        total = sum(total, term);
        term = divided(product(term, square), (-(power + 1.0) * (power + 2.0), 0.0));
        power += 2.0;
    }
    total
}

/// The sum of two f64 and what rounding loses of it.
fn exact_sum(a: f64, b: f64) -> Double {
    let whole = a + b;
    let of_b = whole - a;
    (whole, (a - (whole - of_b)) + (b - of_b))
}

fn sum(a: Double, b: Double) -> Double {
    let (whole, lost) = exact_sum(a.0, b.0);
    exact_sum(whole, lost + (a.1 + b.1))
}

fn product(a: Double, b: Double) -> Double {
    let whole = a.0 * b.0;
    let lost = libm::fma(a.0, b.0, -whole);
    exact_sum(whole, lost + (a.0 * b.1 + a.1 * b.0))
}

fn divided(a: Double, b: Double) -> Double {
    let whole = a.0 / b.0;
    let (rest, lost) = sum(a, product((-whole, 0.0), b));
    exact_sum(whole, (rest + lost) / b.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rounded from 90 decimals.
    #[test]
    fn sines_are_the_nearest_numbers() {
        for (degrees, expected) in [
            (33.7, [0.5548444274479993, 0.8319541221304825, 0.66691709637443]),
            (-48.9, [-0.7535633923016378, 0.6573752457940958, -1.1463215220271168]),
            (90.0, [1.0, 6.123233995736766e-17, 1.633123935319537e16]),
            (17.2, [0.29570805004404666, 0.9552783621223436, 0.3095517095007486]),
            (179.99, [0.0001745329243134484, -0.9999999847691291, -0.0001745329269717369]),
            (355.5, [-0.07845909572784475, 0.996917333733128, -0.07870170682461824]),
            (-0.001, [-1.7453292519057202e-05, 0.9999999998476913, -1.745329252171549e-05]),
            (30.0, [0.49999999999999994, 0.8660254037844387, 0.5773502691896257]),
            (0.0, [0.0, 1.0, 0.0]),
        ] {
            let angle = f64::to_radians(degrees);
            assert_eq!([sin(angle), cos(angle), tan(angle)], expected, "{degrees}");
        }
    }

    #[test]
    fn many_turns_and_small_angles_are_close_to_those_of_libm() {
        for i in 0..20_000 {
            let angle = f64::from(i) * 0.37 - 900.0 + f64::from(i % 7) * 1e-9;
            let near = |a: f64, b: f64| (a - b).abs() <= 1e-15 * (1.0 + b * b);
            assert!(near(sin(angle), libm::sin(angle)) && near(cos(angle), libm::cos(angle)), "{angle}");
            assert!(near(tan(angle), libm::tan(angle)), "{angle}");
        }
    }
}
