//! Divides a line of JSON into the keys of its object and the texts of their values, as they are written.

use serde::de::{Deserialize, IgnoredAny};
use serde_json::Deserializer;

/// Returns the keys of the object that a text is, each with the text of its value; `None` if the text is no object.
pub(super) fn members(text: &str) -> Option<Vec<(String, &str)>> {
    let mut members = Vec::new();
    let mut rest = text.trim_start().strip_prefix('{')?.trim_start();
    if rest.starts_with('}') {
        return Some(members);
    }
    loop {
        let (key, _, behind) = first::<String>(rest)?;
        let (_, value, behind) = first::<IgnoredAny>(behind.trim_start().strip_prefix(':')?)?;
        members.push((key, value));
        let behind = behind.trim_start();
        match behind.strip_prefix(',') {
            Some(next) => rest = next,
            None => return behind.starts_with('}').then_some(members),
        }
    }
}

/// Returns the value with which a text begins, how it is written, and what is behind it.
fn first<'a, T: Deserialize<'a>>(text: &'a str) -> Option<(T, &'a str, &'a str)> {
    let text = text.trim_start();
    let mut values = Deserializer::from_str(text).into_iter::<T>();
    let value = values.next()?.ok()?;
    let (written, behind) = text.split_at_checked(values.byte_offset())?;
    Some((value, written.trim_end(), behind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_as_they_are_written() {
        let text = "{ \"b\" : {\"y\": [1, 2] , \"a\":1.50},\"\\u0061\":-1e2 , \"c\": \"x, \\\"}\",\"d\":null}";
        let expected = [("b", "{\"y\": [1, 2] , \"a\":1.50}"), ("a", "-1e2"), ("c", "\"x, \\\"}\""), ("d", "null")];
        assert_eq!(members(text).unwrap(), expected.map(|(key, value)| (key.to_owned(), value)));
        assert_eq!(members(" {} "), Some(Vec::new()));
        for text in ["[1]", "{\"a\"}", "{\"a\": 1", "{\"a\": 1, }", "{a: 1}", ""] {
            assert_eq!(members(text), None, "{text}");
        }
    }
}
