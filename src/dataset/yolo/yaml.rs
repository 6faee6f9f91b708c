//! A tree of a YAML document: maps, lists and texts, each with its line. Aliases are refused, so that no document becomes larger
//! than its file.

use saphyr_parser::{Event, Parser, ScalarStyle};

use crate::quote::shortened;

/// A fault in a document: its place, and the reason.
pub(super) type Wrong = (String, String);

/// The most maps and lists within each other.
const DEPTH: usize = 32;

#[derive(Debug, PartialEq)]
pub(super) struct Node {
    pub(super) line: usize,
    pub(super) value: Value,
}

#[derive(Debug, PartialEq)]
pub(super) enum Value {
    /// Nothing, `~` or `null`.
    Null,
    Text(String),
    List(Vec<Node>),
    /// In the order of the document; keys are texts.
    Map(Vec<(String, Node)>),
}

/// A map or list that has not ended yet.
struct Open {
    node: Node,
    /// The key whose value comes next.
    key: Option<String>,
}

/// Parses a document.
///
/// # Errors
/// The line, and the reason.
pub(super) fn parse(text: &str) -> Result<Node, Wrong> {
    let (mut open, mut root) = (Vec::<Open>::new(), None);
    let mut parser = Parser::new_from_str(text);
    while let Some(event) = parser.next_event() {
        let (event, span) = event.map_err(|error| {
            (format!("line {}", error.marker().line()), format!("is no YAML: {}", shortened(error.info())))
        })?;
        let line = span.start.line();
        let wrong = |reason: String| Err((format!("line {line}"), reason));
        let begun = |value: Value| Open { node: Node { line, value }, key: None };
        let ended = match event {
            Event::MappingStart(..) | Event::SequenceStart(..) if open.len() == DEPTH => {
                return wrong(format!("has more than {DEPTH} lists and maps within each other"));
            }
            Event::MappingStart(..) => {
                open.push(begun(Value::Map(Vec::new())));
                continue;
            }
            Event::SequenceStart(..) => {
                open.push(begun(Value::List(Vec::new())));
                continue;
            }
            Event::MappingEnd | Event::SequenceEnd => open.pop().map(|ended| ended.node),
            Event::Scalar(text, style, ..) => {
                let is_null = style == ScalarStyle::Plain && ["", "~", "null", "Null", "NULL"].contains(&&*text);
                let value = if is_null { Value::Null } else { Value::Text(text.into_owned()) };
                Some(Node { line, value })
            }
            Event::Alias(_) => return wrong("has an alias (*), which is not read".to_owned()),
            Event::DocumentStart(_) if root.is_some() => {
                return wrong("begins a second document, where one works".to_owned());
            }
            _ => None,
        };
        let Some(node) = ended else { continue };
        match open.last_mut() {
            None => root = Some(node),
            Some(Open { node: Node { value: Value::List(list), .. }, .. }) => list.push(node),
            Some(Open { node: Node { value: Value::Map(map), .. }, key }) => match (key.take(), node.value) {
                (Some(name), value) => map.push((name, Node { line: node.line, value })),
                (None, Value::Text(name)) if map.iter().any(|(known, _)| *known == name) => {
                    return wrong(format!("has the key {} a second time", shortened(&name)));
                }
                (None, Value::Text(name)) => *key = Some(name),
                (None, _) => return wrong("has a key that is no text or number".to_owned()),
            },
            // Texts are never open.
            Some(_) => {}
        }
    }
    Ok(root.unwrap_or(Node { line: 1, value: Value::Null }))
}
