//! Reads the loader's settings from a file in TOML or JSON. Errors name the file, the line and the key.

use super::LoaderSettings;
use crate::error::{Error, Result};
use crate::spelling::meant;
use crate::storage::local::regular_file;
use serde_json::{Map, Value};
use std::path::Path;
use toml::de::DeTable;

/// Returns the settings that a file has, as JSON: each name with its value. Each setting is checked on its own.
pub fn given(path: &Path) -> Result<Map<String, Value>> {
    let text = regular_file::read_to_string(path).map_err(|error| Error::io(path, error))?;
    let json = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("json"));
    let read = if json { from_json(&text) } else { from_toml(&text) };
    read.map_err(|Wrong { line, reason }| {
        let reason = reason.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("; ");
        Error::argument("settings", format!("{}: line {line}: {reason}", path.display()))
    })
}

/// What is wrong with a file, and the number of the line with the mistake, counted from 1.
struct Wrong {
    line: usize,
    reason: String,
}

type Read = std::result::Result<Map<String, Value>, Wrong>;

fn from_toml(text: &str) -> Read {
    let syntax = |error: toml::de::Error| Wrong {
        line: line(text, error.span().map_or(0, |span| span.start)),
        reason: error.message().to_owned(),
    };
    let table: toml::Table = toml::from_str(text).map_err(syntax)?;
    let positions = DeTable::parse(text).map_err(syntax)?;
    let mut given = Map::new();
    for key in positions.get_ref().keys() {
        let wrong = |reason| Wrong { line: line(text, key.span().start), reason };
        let key = key.get_ref().as_ref();
        let value = serde_json::to_value(&table[key]).map_err(|error| wrong(error.to_string()))?;
        given.insert(key.to_owned(), checked(key, value).map_err(wrong)?);
    }
    Ok(given)
}

fn from_json(text: &str) -> Read {
    let table: Map<String, Value> = serde_json::from_str(text).map_err(|error| {
        let reason = error.to_string();
        // serde_json's text ends with the line. Here the line is removed, because `Wrong` names it before the reason.
        let reason = reason.rsplit_once(" at line ").map_or(&*reason, |(reason, _)| reason);
        Wrong { line: error.line().max(1), reason: reason.to_owned() }
    })?;
    let mut given = Map::new();
    for (key, value) in table {
        // Finds the line of the key. Within a JSON string, a quote has a backslash before it, so `quoted` and a colon
        // after it are always a key.
        let quoted = format!("\"{key}\"");
        let places =
            text.match_indices(&quoted).filter(|(at, _)| text[at + quoted.len()..].trim_start().starts_with(':'));
        let places: Vec<usize> = places.map(|(at, _)| at).collect();
        let wrong = |reason| Wrong { line: line(text, places.last().copied().unwrap_or(0)), reason };
        if places.len() > 1 {
            return Err(wrong(format!("{key}: stands twice")));
        }
        let value = checked(&key, value).map_err(wrong)?;
        given.insert(key, value);
    }
    Ok(given)
}

/// Checks the value of the setting `key`, and returns it in the form in which [`LoaderSettings`] writes it.
fn checked(key: &str, value: Value) -> std::result::Result<Value, String> {
    let alone = Map::from_iter([(key.to_owned(), value)]);
    let written = serde_json::from_value::<LoaderSettings>(alone.into()).and_then(serde_json::to_value);
    written.map(|mut all| all[key].take()).map_err(|error| {
        let reason = error.to_string();
        match meant(&reason) {
            Some(advice) => format!("{key}: no such setting{advice}"),
            None => format!("{key}: {reason}"),
        }
    })
}

/// Returns the number of the line that byte `at` is in, from 1.
fn line(text: &str, at: usize) -> usize {
    1 + text.as_bytes()[..at.min(text.len())].iter().filter(|byte| **byte == b'\n').count()
}
