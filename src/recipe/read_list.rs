//! Reads a list of operators, and finds the lines of what is wrong in it.

use super::{check_views, keys};
use crate::advice::Reason;
use crate::error::{ErrorKind, Result};
use crate::spelling::meant;
use crate::transforms::{BatchTransform, Transform};
use serde::de::DeserializeOwned;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// An operator of a list: one of images, or one of batches.
pub(super) trait Listed: DeserializeOwned {
    /// Checks the arguments; `uint8` tells whether it may get 8-bit numbers.
    fn validate(&self, uint8: bool) -> Result<()>;
    /// The values that work for a key.
    fn works(name: &str, key: &str) -> Option<String>;
}

impl Listed for Transform {
    fn validate(&self, uint8: bool) -> Result<()> {
        Transform::validate(self)?;
        self.validate_range(uint8)
    }

    fn works(name: &str, key: &str) -> Option<String> {
        keys::works(name, key)
    }
}

impl Listed for BatchTransform {
    fn validate(&self, _: bool) -> Result<()> {
        BatchTransform::validate(self)
    }

    fn works(_: &str, key: &str) -> Option<String> {
        keys::works_for_batches(key)
    }
}

/// Reads the list whose tables are at `position`.
pub(super) fn list<T: Listed>(
    text: &str,
    uint8: bool,
    tables: &[toml::Table],
    position: Option<&Spanned<DeValue<'_>>>,
) -> Result<Vec<T>, Reason> {
    let positions = position.and_then(|list| list.get_ref().as_array());
    let read = |(i, table)| transform(text, uint8, table, positions.and_then(|list| list.get(i)));
    let list = tables.iter().enumerate().map(read).collect::<Result<_, Reason>>();
    list.map_err(|Reason { text, advice }| Reason { text: on_one_line(&text), advice })
}

/// Reads one operator; `uint8` tells whether it may get 8-bit numbers. Reads operators inside it first, so that the error is about the innermost one.
fn transform<T: Listed>(
    text: &str,
    uint8: bool,
    table: &toml::Table,
    position: Option<&Spanned<DeValue<'_>>>,
) -> Result<T, Reason> {
    let keys = position.and_then(|position| position.get_ref().as_table());
    if let Some(toml::Value::Array(list)) = table.get("transforms") {
        let positions = keys.and_then(|keys| field(keys, "transforms")).and_then(|list| list.get_ref().as_array());
        for (i, nested) in list.iter().enumerate() {
            if let toml::Value::Table(nested) = nested {
                transform::<T>(text, uint8, nested, positions.and_then(|positions| positions.get(i)))?;
            }
        }
    }
    let start = |key: Option<&str>| {
        let of_key = key.and_then(|key| keys?.keys().find(|known| known.get_ref() == key)).map(Spanned::span);
        of_key.or_else(|| position.map(Spanned::span)).map_or(1, |span| line(text, span.start))
    };
    let name = table.get("type").and_then(toml::Value::as_str);
    let operator = name.map(|name| format!(", {name}")).unwrap_or_default();
    match table.clone().try_into::<T>() {
        Ok(transform) => match transform.validate(uint8) {
            Ok(()) => Ok(transform),
            Err(error) => {
                let key = match error.kind() {
                    ErrorKind::Argument { setting, .. } => Some(*setting),
                    _ => None,
                };
                Err(Reason::from(error).after(&format!("line {}{operator}: ", start(key))))
            }
        },
        Err(error) => {
            let message = error.to_string();
            let message = message.trim_end();
            let meant = meant(message).unwrap_or_default();
            let Some(key) = culprit::<T>(table, message) else {
                return Err(format!("line {}{operator}: {message}", start(None)).into());
            };
            let line = start(Some(key));
            if key == "type" {
                return Err(format!("line {line}: type: {message}{meant}").into());
            }
            match T::works(name.unwrap_or_default(), key) {
                Some(works) if !message.starts_with("unknown field") => {
                    Err(format!("line {line}{operator}: {key}: {}; {works}", table[key]).into())
                }
                _ => Err(format!("line {line}{operator}: {message}{meant}").into()),
            }
        }
    }
}

/// Returns the key that the error is about. serde reads the keys in order, so it is the first one with which this error
/// appears.
fn culprit<'a, T: Listed>(table: &'a toml::Table, message: &str) -> Option<&'a str> {
    // serde reports missing keys last, and the error is about none of the given keys.
    if message.starts_with("missing field") {
        return None;
    }
    let mut so_far = toml::Table::new();
    let first = table.keys().filter(|key| *key == "type");
    let mut keys = first.chain(table.keys().filter(|key| *key != "type"));
    keys.find(|key| {
        so_far.insert((*key).clone(), table[key.as_str()].clone());
        so_far.clone().try_into::<T>().is_err_and(|error| error.to_string().trim_end() == message)
    })
    .map(String::as_str)
}

/// Joins the lines of TOML's messages, since an error has one line.
pub(super) fn on_one_line(message: &str) -> String {
    message.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("; ")
}

pub(super) fn field<'a, 'i>(table: &'a DeTable<'i>, name: &str) -> Option<&'a Spanned<DeValue<'i>>> {
    table.iter().find(|(key, _)| key.get_ref() == name).map(|(_, value)| value)
}

/// Reads the number of views; 1 without one.
pub(super) fn views(text: &str, views: Option<&Spanned<toml::Value>>) -> Result<usize, Reason> {
    let Some(views) = views else { return Ok(1) };
    let reason = |what: Reason| what.after(&format!("line {}: ", line(text, views.span().start)));
    let number = views.get_ref().as_integer().and_then(|number| usize::try_from(number).ok());
    let works = format!("1 to {} work", super::MOST_VIEWS);
    let number = number
        .ok_or_else(|| reason(format!("views: {} is not a number of images; {works}", views.get_ref()).into()))?;
    check_views(number).map_err(|error| reason(error.into()))?;
    Ok(number)
}

/// Returns the line, counted from 1, of byte `at`.
pub(super) fn line(text: &str, at: usize) -> usize {
    1 + text.as_bytes()[..at.min(text.len())].iter().filter(|byte| **byte == b'\n').count()
}
