//! The `data.yaml` of a set, as far as it is read.

use super::yaml::{Node, Value, Wrong, parse};
use crate::quote::shortened;

/// Keys that are no splits.
const SETTINGS: [&str; 10] =
    ["path", "names", "nc", "kpt_shape", "flip_idx", "download", "yaml_file", "channels", "kpt_names", "roboflow"];

/// The most classes and keypoints, for which a file claims room.
const MOST: usize = 65_536;

#[derive(Debug, Default, PartialEq)]
pub(super) struct Document {
    /// The folder to which the places of splits are relative.
    pub(super) path: Option<String>,
    /// Folders of images or lists of images of each split.
    splits: Vec<(String, Vec<String>)>,
    pub(super) names: Vec<String>,
    /// The number of keypoints of an object, and the numbers of each: 2 or 3.
    pub(super) kpt_shape: Option<(usize, usize)>,
}

impl Document {
    /// Parses a document.
    ///
    /// # Errors
    /// The line, and the reason.
    pub(super) fn parse(text: &str) -> Result<Document, Wrong> {
        let root = parse(text)?;
        let Value::Map(entries) = root.value else {
            return Err(wrong(root.line, "holds no map of settings such as train and names"));
        };
        let (mut document, mut count) = (Document::default(), None);
        for (key, node) in entries {
            match &*key {
                "path" => match node.value {
                    Value::Null => {}
                    Value::Text(text) => document.path = Some(text),
                    _ => return Err(wrong(node.line, "has something else than one folder as path")),
                },
                "names" => document.names = names(node)?,
                "nc" => count = number(&node).map(|number| (node.line, number)),
                "kpt_shape" => document.kpt_shape = Some(shape(&node)?),
                key if SETTINGS.contains(&key) => {}
                // Other settings are maps and numbers, too.
                _ if matches!(node.value, Value::Map(_)) => {}
                _ => {
                    if let Some(places) = texts(&key, node)? {
                        document.splits.push((key, places));
                    }
                }
            }
        }
        match count {
            Some((line, count)) if !document.names.is_empty() && count != document.names.len() => {
                let names = document.names.len();
                Err(wrong(line, &format!("has nc: {count}, but {names} names; each class has one")))
            }
            _ => Ok(document),
        }
    }

    /// The places of a split; `None` if the document does not name it.
    pub(super) fn split(&self, name: &str) -> Option<&[String]> {
        self.splits.iter().find(|(own, _)| own == name).map(|(_, places)| &**places)
    }

    /// The names of the splits.
    pub(super) fn split_names(&self) -> impl Iterator<Item = &str> {
        self.splits.iter().map(|(name, _)| &**name)
    }
}

fn wrong(line: usize, reason: &str) -> Wrong {
    (format!("line {line}"), reason.to_owned())
}

/// A text, or a list of texts; `None` for nothing.
fn texts(key: &str, node: Node) -> Result<Option<Vec<String>>, Wrong> {
    let refused =
        |line| wrong(line, &format!("has something else than a text, or a list of texts, as {}", shortened(key)));
    match node.value {
        Value::Null => Ok(None),
        Value::Text(text) => Ok(Some(vec![text])),
        Value::List(list) => {
            let text = |each: Node| match each.value {
                Value::Text(text) => Ok(text),
                _ => Err(refused(each.line)),
            };
            list.into_iter().map(text).collect::<Result<_, _>>().map(Some)
        }
        Value::Map(_) => Err(refused(node.line)),
    }
}

/// The names of classes: a list, or a map of their numbers.
fn names(node: Node) -> Result<Vec<String>, Wrong> {
    let line = node.line;
    match node.value {
        Value::Map(map) => {
            let mut names = vec![None; map.len()];
            for (key, each) in map {
                let Value::Text(name) = each.value else {
                    return Err(wrong(each.line, &format!("has no text as the name of class {}", shortened(&key))));
                };
                let place = key.parse().ok().and_then(|number: usize| names.get_mut(number));
                let Some(place @ None) = place else {
                    let last = names.len() - 1;
                    let reason =
                        format!("has a name of class {}; each number from 0 to {last} once works", shortened(&key));
                    return Err(wrong(each.line, &reason));
                };
                *place = Some(name);
            }
            Ok(names.into_iter().flatten().collect())
        }
        value => texts("names", Node { line, value }).map(Option::unwrap_or_default),
    }
}

fn number(node: &Node) -> Option<usize> {
    match &node.value {
        Value::Text(text) => text.parse().ok(),
        _ => None,
    }
}

fn shape(node: &Node) -> Result<(usize, usize), Wrong> {
    if let Value::List(list) = &node.value
        && let [Some(points), Some(numbers @ (2 | 3))] = list.iter().map(number).collect::<Vec<_>>()[..]
        && (1..MOST).contains(&points)
    {
        return Ok((points, numbers));
    }
    Err(wrong(node.line, "has another kpt_shape than the number of keypoints and 2 or 3, such as [17, 3]"))
}
