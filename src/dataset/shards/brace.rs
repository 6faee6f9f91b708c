//! Expands brace lists as shells and WebDataset do: `train-{000..146}.tar`, `{train,val}-{0..9}.tar`.

use crate::credentials::without_credentials;
use crate::error::{Error, Result};
use crate::quote::shortened;

/// The most names. No data set has as many shards; the limit catches slips like `{0..99999999999}`.
const MOST: usize = 1_000_000;
/// The most lists in a pattern. Each list costs a level of recursion.
const MOST_LISTS: usize = 100;

/// Returns all names of `pattern`, in the order of the lists. The last list changes fastest.
///
/// `{a,b}` is one of the alternatives, which may hold lists themselves. `{000..146}` counts up or down, filled with
/// zeros to the width of the wider end if one of them starts with a zero. As in a shell, braces without a comma and
/// without `..` are left as they are.
///
/// # Errors
/// A brace without its partner, more than 100 lists, or more than a million names.
pub(super) fn expand(pattern: &str) -> Result<Vec<String>> {
    let shown = without_credentials(pattern);
    if pattern.matches('{').count() > MOST_LISTS {
        let start = shortened(&shown);
        return Err(Error::argument("shards", format!("{start}: it has more than {MOST_LISTS} lists in braces")));
    }
    expanded(pattern, 0).map_err(|reason| Error::argument("shards", format!("{shown}: {reason}")))
}

/// Expands the part of a pattern that begins at byte `start` of it. The error is the reason.
fn expanded(pattern: &str, start: usize) -> Result<Vec<String>, String> {
    let unopened = |at: usize| Err(format!("the '}}' at byte {} has no '{{'", start + at));
    let Some(open) = pattern.find('{') else {
        return pattern.find('}').map_or_else(|| Ok(vec![pattern.to_owned()]), unopened);
    };
    if let Some(at) = pattern[..open].find('}') {
        return unopened(at);
    }
    let (inside, after) = split(&pattern[open..])
        .ok_or_else(|| format!("the '{{' at byte {} has no '}}'; write {{000..146}} or {{a,b}}", start + open))?;
    let within = start + open + 1;
    let rests = expanded(after, within + inside.len() + 1)?;
    let too_many = || "it stands for more than a million names".to_owned();
    let mut choices = Vec::new();
    match (alternatives(inside), range(inside)) {
        (_, Some((first, last, width))) => {
            if first.abs_diff(last) >= MOST as u64 {
                return Err(too_many());
            }
            let numbers: Box<dyn Iterator<Item = i64>> =
                if first <= last { Box::new(first..=last) } else { Box::new((last..=first).rev()) };
            choices.extend(numbers.map(|number| format!("{number:0width$}")));
        }
        (parts, None) if parts.len() > 1 => {
            let mut part_start = within;
            for part in parts {
                choices.extend(expanded(part, part_start)?);
                part_start += part.len() + 1;
            }
        }
        _ => choices.extend(expanded(inside, within)?.into_iter().map(|inside| format!("{{{inside}}}"))),
    }
    if choices.len().saturating_mul(rests.len()) > MOST {
        return Err(too_many());
    }
    let before = &pattern[..open];
    let names = choices.iter().flat_map(|choice| rests.iter().map(move |rest| format!("{before}{choice}{rest}")));
    Ok(names.collect())
}

/// Returns the text between the first character, a '{', and its partner, and the text after the partner.
fn split(text: &str) -> Option<(&str, &str)> {
    let mut depth = 0;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' if depth == 1 => return Some((&text[1..at], &text[at + 1..])),
            b'}' => depth -= 1,
            _ => {}
        }
    }
    None
}

/// Returns the parts of a text between commas. Commas inside of an inner brace do not count.
fn alternatives(text: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0, 0);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' => depth -= 1,
            b',' if depth == 0 => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

/// Returns the first and the last number, and the number of digits to fill up to.
fn range(text: &str) -> Option<(i64, i64, usize)> {
    let (first, last) = text.split_once("..")?;
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(first) || !digits(last) {
        return None;
    }
    let padded = |text: &str| text.len() > 1 && text.starts_with('0');
    let width = if padded(first) || padded(last) { first.len().max(last.len()) } else { 1 };
    Some((first.parse().ok()?, last.parse().ok()?, width))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(pattern: &str) -> String {
        expand(pattern).unwrap().join(" ")
    }

    #[test]
    fn lists_are_those_of_a_shell() {
        // The expected names are bash's output.
        for (pattern, expected) in [
            ("train.tar", "train.tar"),
            ("t-{0..3}.tar", "t-0.tar t-1.tar t-2.tar t-3.tar"),
            ("{8..11}", "8 9 10 11"),
            ("{08..11}", "08 09 10 11"),
            ("{8..011}", "008 009 010 011"),
            ("{3..1}", "3 2 1"),
            ("{0..0}", "0"),
            ("{a,b}{0..1}", "a0 a1 b0 b1"),
            ("{train,val-{0..1}}.tar", "train.tar val-0.tar val-1.tar"),
            ("x{,y}", "x xy"),
            ("{one}.tar", "{one}.tar"),
            ("é{1,2}ü", "é1ü é2ü"),
        ] {
            assert_eq!(names(pattern), expected, "{pattern}");
        }
        assert_eq!(expand("{000000..099999}").unwrap().len(), 100_000);
    }

    #[test]
    fn slips_are_refused() {
        for (pattern, says) in [
            ("a{0..9.tar", "the '{' at byte 1 has no '}'"),
            ("a0..9}.tar", "the '}' at byte 5 has no '{'"),
            ("a}{0..9}", "the '}' at byte 1 has no '{'"),
            ("a{0..9}{x,b}c}", "the '}' at byte 13 has no '{'"),
            ("a{x,{0..9}b{c}", "the '{' at byte 1 has no '}'"),
            ("{0..9}}", "has no '{'"),
            ("{0..99999999}", "more than a million"),
            ("{0..9999}{0..9999}", "more than a million"),
            (&"{a".repeat(50_000), "more than 100 lists"),
            (&["{".repeat(50_000), "}".repeat(50_000)].concat(), "more than 100 lists"),
            (&"{a}".repeat(50_000), "more than 100 lists"),
        ] {
            let error = expand(pattern).unwrap_err().to_string();
            let start = &pattern[..pattern.len().min(40)];
            assert!(error.starts_with("shards: ") && error.contains(says) && error.len() < 200, "{start}: {error}");
        }
    }
    #[test]
    fn no_credentials_are_shown() {
        for pattern in [
            "https://user:secret@host/t-{0..9.tar?sig=secret",
            "https://u:secret@h/{0..99999999}?s=secret",
            "s3://k{e}y:secret@b/}",
        ] {
            let error = expand(pattern).unwrap_err().to_string();
            assert!(error.starts_with("shards: ") && !error.contains("secret"), "{error}");
        }
    }
}
