//! Formats numbers for people: three digits and a unit. Reads numbers of bytes.

/// Formats seconds: `1.27 ms`.
pub(crate) fn duration(seconds: f64) -> String {
    scaled(seconds, &[(1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")])
}

/// Formats bytes with decimal units: `98.3 MB`.
pub(crate) fn bytes(bytes: f64) -> String {
    scaled(bytes, &[(1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B")])
}

/// Reads a number of bytes, at least 1, such as `4096` or `256M`.
///
/// # Errors
/// Another text.
pub(crate) fn parse_bytes(text: &str) -> Result<u64, String> {
    let (digits, unit) = match text.char_indices().last() {
        Some((at, 'K' | 'k')) => (&text[..at], 1 << 10),
        Some((at, 'M' | 'm')) => (&text[..at], 1 << 20),
        Some((at, 'G' | 'g')) => (&text[..at], 1 << 30),
        _ => (text, 1),
    };
    let bytes = digits.parse::<u64>().ok().and_then(|number| number.checked_mul(unit));
    bytes.filter(|bytes| *bytes > 0).ok_or_else(|| "a number of bytes, like 256M".to_owned())
}

/// Formats a rate of bytes: `11.3 GB/s`.
pub(crate) fn gigabytes(gb_per_second: f64) -> String {
    format!("{} GB/s", number(gb_per_second))
}

/// Formats a share as `98 %`, with tenths below 10 %.
pub(crate) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if !percent.is_finite() {
        "–".to_owned()
    } else if percent != 0.0 && percent.abs() < 9.95 {
        format!("{} %", minus(&trimmed(&format!("{percent:.1}"))))
    } else {
        format!("{} %", minus(&format!("{percent:.0}")))
    }
}

/// Formats a gain with its sign: 0.94 is `+94 %`.
pub(crate) fn gain(share: f64) -> String {
    let text = percent(share);
    if share > 0.0 { format!("+{text}") } else { text }
}

/// Formats a number with three digits. From 100 on it is whole, with commas between thousands: `1,164`.
pub(crate) fn number(value: f64) -> String {
    let size = value.abs();
    if !value.is_finite() {
        "–".to_owned()
    } else if size >= 99.95 {
        grouped(value.round())
    } else if value == 0.0 {
        "0".to_owned()
    } else if size < 0.001 {
        format!("{value:.1e}")
    } else {
        let decimals = if size >= 9.995 { 1 } else { 2 + usize::from(size < 0.0995) };
        minus(&format!("{value:.decimals$}"))
    }
}

/// Formats a count: `16`, `1,164`.
pub(crate) fn count(things: u64) -> String {
    grouped(things as f64)
}

/// Formats a ratio. Near 1 it has a third decimal: `0.974`, `1.77`, `31`.
pub(crate) fn ratio(value: f64) -> String {
    let decimals = if value.abs() < 1.1 { 3 } else { 2 };
    if !value.is_finite() {
        "–".to_owned()
    } else if value.abs() < 9.995 {
        format!("{value:.decimals$}")
    } else {
        number(value)
    }
}

/// Formats seconds since 1970 as `2026-11-21 13:10 UTC`. 0 means unknown and becomes a dash.
pub(crate) fn date(unix_time: u64) -> String {
    if unix_time == 0 {
        return "–".to_owned();
    }
    let (minutes, mut days) = (unix_time / 60 % 1440, unix_time / 86_400);
    let leap = |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let mut year = 1970;
    while days >= 365 + u64::from(leap(year)) {
        days -= 365 + u64::from(leap(year));
        year += 1;
        if year > 9999 {
            return format!("{unix_time} s");
        }
    }
    let february = 28 + u64::from(leap(year));
    let mut month = 1;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30] {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    format!("{year}-{month:02}-{:02} {:02}:{:02} UTC", days + 1, minutes / 60, minutes % 60)
}

/// Formats a value in the largest unit that it reaches.
fn scaled(value: f64, units: &[(f64, &str)]) -> String {
    let Some(&(least, name)) = units.last() else { return number(value) };
    if value == 0.0 || !value.is_finite() {
        return format!("{} {name}", number(value));
    }
    // Switches to the next unit if three digits would show 1,000 of the smaller one.
    let (scale, name) = units.iter().find(|(scale, _)| value.abs() >= scale * 0.9995).copied().unwrap_or((least, name));
    format!("{} {name}", trimmed(&number(value / scale)))
}

/// Removes the decimals if all of them are 0: `2.00` becomes `2`.
fn trimmed(text: &str) -> String {
    match text.split_once('.') {
        Some((whole, rest)) if rest.bytes().all(|digit| digit == b'0') => whole.to_owned(),
        _ => text.to_owned(),
    }
}

/// Replaces the hyphen by a minus sign, which is as wide as the plus.
fn minus(text: &str) -> String {
    text.replace('-', "−")
}

fn grouped(value: f64) -> String {
    if value.abs() >= 1e15 {
        return format!("{value:.2e}");
    }
    let digits = format!("{:.0}", value.abs());
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    if value < 0.0 { format!("−{text}") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_three_digits() {
        for (value, text) in [
            (0.0, "0"),
            (0.0123, "0.012"),
            (1.664, "1.66"),
            (21.87, "21.9"),
            (99.97, "100"),
            (1164.4, "1,164"),
            (1_234_567.0, "1,234,567"),
            (-1164.0, "−1,164"),
            (f64::NAN, "–"),
        ] {
            assert_eq!(number(value), text);
        }
        assert_eq!([count(16), count(1_164)], ["16", "1,164"]);
        assert_eq!([ratio(0.9741), ratio(1.769), ratio(12.34)], ["0.974", "1.77", "12.3"]);
    }

    #[test]
    fn units_are_the_largest_that_fit() {
        assert_eq!(
            [1.27e-3, 4.1e-7, 0.9996, 2.0, 0.0].map(duration),
            ["1.27 ms", "410 ns", "1 s", "2 s", "0 ns"].map(str::to_owned)
        );
        assert_eq!([551_968.0, 99e6, 25_769_803_776.0].map(bytes), ["552 kB", "99 MB", "25.8 GB"].map(str::to_owned));
    }

    #[test]
    fn shares_and_gains() {
        assert_eq!([percent(0.984), percent(0.003), percent(0.05), percent(0.0)], ["98 %", "0.3 %", "5 %", "0 %"]);
        assert_eq!([gain(0.94), gain(-0.031), gain(0.0)], ["+94 %", "−3.1 %", "0 %"]);
    }

    #[test]
    fn dates_are_those_of_the_calendar() {
        assert_eq!(date(1), "1970-01-01 00:00 UTC");
        assert_eq!(date(951_782_400), "2000-02-29 00:00 UTC");
        assert_eq!(date(1_795_266_629), "2026-11-21 13:10 UTC");
        assert_eq!(date(1_798_761_599), "2026-12-31 23:59 UTC");
        assert_eq!(date(0), "–");
    }
}
