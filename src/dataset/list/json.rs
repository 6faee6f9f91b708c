//! Reads a list in JSON lines.

use crate::advice::{self, Reason};
use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::super::label_numbers;
use super::columns::{LABELS, PATHS, Settings, list};
use super::fields::FieldColumns;
use super::members::members;
use super::rows::{Failure, ListedSample, Parsed, Rows};

/// The most names of unread keys that are remembered: lines can have any keys.
const UNREAD: usize = 64;

/// Parses rows of JSON lines.
pub(super) fn rows(text: &str, settings: &Settings) -> Result<Rows, Failure> {
    const LIKE: &str = "write lines like {\"path\": \"a.jpg\", \"label\": 3}";
    let lines = text.strip_prefix('\u{FEFF}').unwrap_or(text).lines().zip(1u64..);
    let mut found = Rows { what: "key", fields: FieldColumns::of(&settings.asked), ..Rows::default() };
    let is_free = |key: &str| !settings.asked.name(key);
    let mut unread = BTreeSet::new();
    for (text, line) in lines.filter(|(text, _)| !text.trim().is_empty()) {
        let fail = |reason: String| (line, Reason::from(reason));
        let object: Map<String, Value> =
            serde_json::from_str(text).map_err(|error| fail(format!("{error}; {LIKE}")))?;
        let key = match &settings.path_column {
            Some(name) => object.get_key_value(name),
            None => match usual(&object, &PATHS, &is_free).map_err(fail)? {
                None => usual(&object, &PATHS, &|_| true).map_err(fail)?,
                found => found,
            },
        };
        let Some((path_key, path)) = key else {
            let names = settings.path_column.clone().unwrap_or_else(|| PATHS.join(", "));
            return Err(fail(format!("no path, whose key is {names}; {LIKE}")));
        };
        let path = path.as_str().ok_or_else(|| fail(format!("{path_key} is no text; {LIKE}")))?;
        if path.is_empty() {
            return Err(fail("no path".to_owned()));
        }
        let mut labels = Vec::new();
        for name in &settings.label_columns {
            let label = object.get_key_value(name).filter(|(_, value)| !value.is_null());
            let part = if settings.label_columns.len() == 1 { "is the label" } else { "is part of the label" };
            labels.push(label.ok_or_else(|| fail(format!("no {name}, which {part}")))?);
        }
        if settings.label_columns.is_empty() {
            // The first line that has a usual key chooses for the whole list, as the header of a CSV file does.
            let chosen = found.labels.first().map(|key| [key.as_str()]);
            let names = chosen.as_ref().map_or(&LABELS[..], |key| &key[..]);
            labels.extend(usual(&object, names, &is_free).map_err(fail)?);
        }
        let label = match labels[..] {
            [] => Parsed::None,
            [(key, value)] => label(key, value, settings.names).map_err(|reason| (line, reason))?,
            _ => Parsed::Numbers(
                labels
                    .iter()
                    .map(|(key, value)| {
                        let none = || Err(format!("{key} is not a number, and labels of several keys are numbers"));
                        label_numbers::of_json(value).unwrap_or_else(none).map_err(fail)
                    })
                    .collect::<Result<_, _>>()?,
            ),
        };
        let is_other = |key: &String| key != path_key && !labels.iter().any(|(label, _)| *label == key);
        if !found.fields.is_empty() {
            for (key, value) in members(text).unwrap_or_default() {
                if settings.asked.name(&key) || is_other(&key) {
                    let pushed = match value {
                        "null" => found.fields.push_null(found.rows.len(), &key),
                        value => found.fields.push(found.rows.len(), &key, value),
                    };
                    pushed.map_err(fail)?;
                }
            }
        }
        let rest = object.keys().filter(|key| is_other(key) && !settings.asked.take(key));
        for key in rest.take(UNREAD.saturating_sub(unread.len())) {
            if !unread.contains(key) {
                unread.insert(key.clone());
            }
        }
        for (key, _) in &labels {
            if !found.labels.contains(*key) {
                found.labels.push((*key).clone());
            }
        }
        found.rows.push(ListedSample { line, path: path.to_owned(), label });
    }
    found.unread = unread.into_iter().collect();
    Ok(found)
}

/// Returns the first of the usual keys that a line has and that may be it, whatever its value.
///
/// # Errors
/// The reason if two keys have its name, in upper or lower case.
fn usual<'a>(
    object: &'a Map<String, Value>,
    names: &[&str],
    may_be: &dyn Fn(&str) -> bool,
) -> Result<Option<(&'a String, &'a Value)>, String> {
    for name in names {
        let same: Vec<_> = object.iter().filter(|(key, _)| key.eq_ignore_ascii_case(name) && may_be(key)).collect();
        match same[..] {
            [] => {}
            [one] => return Ok(Some(one)),
            _ => {
                let keys: Vec<&str> = same.iter().map(|(key, _)| key.as_str()).collect();
                return Err(format!("two keys are called {}; which is meant is not known", list(&keys)));
            }
        }
    }
    Ok(None)
}

/// Parses the label of a line.
fn label(key: &str, value: &Value, names: bool) -> Result<Parsed, Reason> {
    let class = value.as_u64().and_then(|class| u32::try_from(class).ok());
    match value {
        Value::Null => Ok(Parsed::None),
        Value::Number(number) if names => Ok(Parsed::Text(match number.as_f64() {
            Some(float) if number.is_f64() => float.to_string(),
            _ => number.to_string(),
        })),
        Value::Number(_) => match (class, label_numbers::of_json(value)) {
            (Some(class), _) => Ok(Parsed::Class(class)),
            (None, Some(Ok(number))) => Ok(Parsed::Numbers(vec![number])),
            (None, Some(Err(reason))) => Err(Reason::new(reason).advise(advice::LIST_NAMES)),
            (None, None) => Err(no_label(key).into()),
        },
        Value::String(text) => Parsed::one(text.trim(), names),
        Value::Array(numbers) if numbers.is_empty() => Err(format!("the {key} is a list without numbers").into()),
        Value::Array(numbers) => {
            let number = |value| label_numbers::of_json(value).unwrap_or_else(|| Err(no_label(key)));
            numbers.iter().map(number).collect::<Result<_, _>>().map(Parsed::Numbers).map_err(Reason::from)
        }
        Value::Bool(_) | Value::Object(_) => Err(no_label(key).into()),
    }
}

fn no_label(key: &str) -> String {
    format!("the {key} is not a label: a class number, a name, a number or a list of numbers")
}
