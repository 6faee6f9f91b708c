//! Files of settings, in TOML and JSON. Errors name the file, the line and the key.

use super::LoaderSettings;
use crate::error::{Error, Result};
use crate::regular_file;
use crate::spelling::meant;
use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error as _, MapAccess, Visitor};
use serde_json::{Map, Value};
use std::fmt;
use std::path::Path;

/// The settings that a file has, each checked by itself, in their written forms.
pub fn given(path: &Path) -> Result<Map<String, Value>> {
    let text = regular_file::read_to_string(path).map_err(|error| Error::io(path, error))?;
    let json = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("json"));
    let read = if json { from_json(&text) } else { from_toml(&text) };
    let Given(given) = read.map_err(|(line, reason)| {
        let reason = reason.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("; ");
        Error::argument("settings", format!("{}: line {line}: {reason}", path.display()))
    })?;
    Ok(given)
}

/// What was read, or the line of an error and its text.
type Read = std::result::Result<Given, (usize, String)>;

fn from_toml(text: &str) -> Read {
    toml::from_str(text).map_err(|error| {
        let start = error.span().map_or(0, |span| span.start.min(text.len()));
        (1 + text.as_bytes()[..start].iter().filter(|byte| **byte == b'\n').count(), error.message().to_owned())
    })
}

fn from_json(text: &str) -> Read {
    serde_json::from_str(text).map_err(|error| {
        let reason = error.to_string();
        // The line stands at the beginning already.
        let reason = reason.rsplit_once(" at line ").map_or(&*reason, |(reason, _)| reason);
        (error.line().max(1), reason.to_owned())
    })
}

/// The settings of a file.
struct Given(Map<String, Value>);

impl<'de> Deserialize<'de> for Given {
    fn deserialize<D: Deserializer<'de>>(from: D) -> std::result::Result<Self, D::Error> {
        from.deserialize_map(Keys).map(Given)
    }
}

struct Keys;

impl<'de> Visitor<'de> for Keys {
    type Value = Map<String, Value>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("settings by their names")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<Self::Value, A::Error> {
        let mut given = Map::new();
        while let Some(key) = map.next_key::<String>()? {
            let value = map.next_value_seed(Setting(&key))?;
            if given.insert(key.clone(), value).is_some() {
                return Err(A::Error::custom(format!("{key}: stands twice")));
            }
        }
        Ok(given)
    }
}

/// The value of one setting. It is checked where it is read, so that an error is about its place.
struct Setting<'a>(&'a str);

impl<'de> DeserializeSeed<'de> for Setting<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> std::result::Result<Value, D::Error> {
        let key = self.0;
        let refused = |error: serde_json::Error| {
            let reason = error.to_string();
            let reason = match meant(&reason) {
                Some(advice) => format!("no such setting{advice}"),
                None => reason,
            };
            D::Error::custom(format!("{key}: {reason}"))
        };
        let value = Value::deserialize(from)?;
        let alone = Map::from_iter([(key.to_owned(), value)]);
        let settings: LoaderSettings = serde_json::from_value(alone.into()).map_err(refused)?;
        let mut written = serde_json::to_value(settings).map_err(refused)?;
        Ok(written[key].take())
    }
}
