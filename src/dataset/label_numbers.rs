//! The numbers of labels that are vectors are f32. Those that f32 does not hold are refused: an id that is rounded is that
//! of another sample.
//!
//! A fraction is rounded, as 0.1 always is; a whole number has to stay as it is. Texts of numbers with a point or an exponent
//! may also be the shortest ones of the f32 that they become, as programs write f32.

use crate::quote::shortened;

/// Whole numbers of more than 64 bits are magnitudes, and no ids, whichever way they are written.
const IDS: u128 = 1 << 64;

/// Returns a number as f32.
///
/// # Errors
/// The reason, if f32 does not hold it.
pub(super) fn of_float(number: f64) -> Result<f32, String> {
    let near = number as f32;
    if number.is_finite() && !near.is_finite() {
        return Err(outside(format_args!("{number:e}")));
    }
    let is_id = number.fract() == 0.0 && number.abs() < IDS as f64;
    if is_id && f64::from(near) != number { Err(rounded(number, near)) } else { Ok(near) }
}

/// As [`of_float`], of a whole number.
pub(super) fn of_whole(number: i128) -> Result<f32, String> {
    let near = number as f32;
    let held = number.unsigned_abs() >= IDS || near as i128 == number;
    if held { Ok(near) } else { Err(rounded(number, near)) }
}

/// As [`of_float`], of a number that was a text with a point or an exponent.
fn of_written(number: f64) -> Result<f32, String> {
    let near = number as f32;
    let shortest = near.is_finite() && near.to_string().parse() == Ok(number);
    if shortest { Ok(near) } else { of_float(number) }
}

/// Reads a number; `None` for another text.
pub(super) fn of_text(text: &str) -> Option<Result<f32, String>> {
    let near: f32 = text.parse().ok()?;
    // Infinity has letters alone.
    if near.is_infinite() && text.contains(|c: char| c.is_ascii_digit()) {
        return Some(Err(outside(shortened(text))));
    }
    Some(match (text.parse::<i128>(), text.parse::<f64>()) {
        (Ok(whole), _) => of_whole(whole),
        // Rounded once, and not to f64 before.
        (_, Ok(number)) => of_written(number).map(|_| near),
        _ => Ok(near),
    })
}

/// Takes a JSON number; `None` for another value.
pub(super) fn of_json(value: &serde_json::Value) -> Option<Result<f32, String>> {
    let whole = value.as_i64().map(i128::from).or_else(|| value.as_u64().map(i128::from));
    Some(match whole {
        Some(whole) => of_whole(whole),
        None => of_written(value.as_f64()?),
    })
}

fn outside(number: impl std::fmt::Display) -> String {
    format!("the number {number} is outside the range of f32, which labels of numbers have")
}

fn rounded(number: impl std::fmt::Display, near: f32) -> String {
    format!(
        "f32, which labels of numbers have, does not hold {number}: it would become {}; scale such numbers, or give ids as \
         class numbers or names",
        f64::from(near)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_f32_holds() {
        for text in ["0", "-0.0", "0.1", "1e-50", "16777216", "-16777218", "5e9", "1e30", "1.2345678901e30", "inf"] {
            let expected: f32 = text.parse().unwrap();
            assert_eq!(of_text(text).unwrap(), Ok(expected), "{text}");
            assert_eq!(of_float(text.parse().unwrap()), Ok(expected), "{text}");
        }
        // A whole number beyond 64 bits is a magnitude, since ids have at most 64.
        for text in ["18446744073709551617", "-100000000000000000001", "100000000000000000000000000000000000001"] {
            let expected: f32 = text.parse().unwrap();
            assert_eq!(of_text(text).unwrap(), Ok(expected), "{text}");
            assert_eq!(of_json(&serde_json::from_str(text).unwrap()).unwrap(), Ok(expected), "{text}");
            assert_eq!(of_whole(text.parse().unwrap()), Ok(expected), "{text}");
        }
        // What programs write of an f32.
        for number in [f32::MAX, 1.2e15, 3.3e10, -1.5e38, 16_777_220.0] {
            assert_eq!(of_text(&format!("{number:?}")).unwrap(), Ok(number));
            let json = serde_json::from_str(&format!("{number:?}")).unwrap();
            assert_eq!(of_json(&json).unwrap(), Ok(number));
            assert_eq!(of_float(number.into()), Ok(number));
        }
    }

    #[test]
    fn numbers_that_f32_does_not_hold() {
        for text in ["16777217", "-16777217", "9007199254740993", "18446744073709551615", "4294967297", "4294967300"] {
            let reason = of_text(text).unwrap().unwrap_err();
            assert!(reason.contains(&format!("does not hold {text}: it would become ")), "{reason}");
            let json = serde_json::from_str(text).unwrap();
            assert_eq!(of_json(&json).unwrap().unwrap_err(), reason);
        }
        for text in ["16777217.0", "1.6777217e7"] {
            let reason = of_text(text).unwrap().unwrap_err();
            assert!(reason.contains("does not hold 16777217: it would become 16777216;"), "{reason}");
        }
        assert!(of_float(4_294_967_300.0).is_err());
        let long = format!("1{}", "0".repeat(400));
        for text in ["1e40", "-3.5e38", "1e400", &long] {
            assert!(of_text(text).unwrap().unwrap_err().contains("outside the range of f32"), "{text}");
        }
        assert!(of_text(&long).unwrap().unwrap_err().len() < 200);
        assert!(of_text("cat").is_none() && of_json(&serde_json::json!("1")).is_none());
    }
}
