//! Which parts of a struct of lists, or of a list of structs, are read as objects: Hugging Face's sets have both.

use super::schema::{Leaf, Node, Shape, Value, names};
use crate::objects::{is_label, is_place, labels_among};

/// Parts that say something of the image or of all its objects: those that are texts, and those that are numbers.
const TEXTS: [&str; 2] = ["format", "clamping_mode"];
const NUMBERS: [&str; 3] = ["stored", "width", "height"];

/// Returns the node with those parts that objects have: boxes, keypoints, classes, and numbers of each object. Texts, masks and
/// others are left out, as documents of objects cannot have them.
///
/// # Errors
/// The reason, for a node that is neither a struct of lists nor a list of structs, or has neither boxes nor keypoints.
pub(super) fn read_parts(node: &Node, path: &str) -> Result<Node, String> {
    let (parts, in_list) = parts(node).ok_or_else(|| {
        format!(
            "{path} has JSON, which cannot be read as objects: a struct of lists, a list of structs, and texts work"
        )
    })?;
    if !parts.iter().any(|(name, _)| is_place(name)) {
        let all = names(parts.iter().map(|(name, _)| name));
        return Err(format!("{path} has neither boxes nor keypoints; its parts are {all}"));
    }
    let is_read = |(name, part): &&(String, Node)| {
        let value = |node: &Node| match &node.shape {
            Shape::Leaf(Leaf { value, .. }) => Some(*value),
            _ => None,
        };
        let of_image = || match value(part) {
            Some(Value::Text) => TEXTS.contains(&&**name),
            Some(Value::Number(_)) => NUMBERS.contains(&&**name),
            _ => false,
        };
        let of_object = match &part.shape {
            Shape::List(list) if !in_list => value(&list.element),
            _ if in_list => value(part),
            _ => None,
        };
        // A class that is not a number makes its sample fail, with the class in the error.
        let is_value = of_object.is_some_and(|value| is_label(name) || matches!(value, Value::Number(_)));
        is_place(name) || is_value || (!in_list && of_image())
    };
    let parts = Shape::Struct(parts.iter().filter(is_read).cloned().collect());
    let mut node = node.clone();
    match &mut node.shape {
        Shape::List(list) => list.element.shape = parts,
        shape => *shape = parts,
    }
    Ok(node)
}

/// The name of the part that becomes `labels`.
pub(super) fn labels_of(node: &Node) -> Option<&'static str> {
    let (parts, _) = parts(node)?;
    labels_among(|name| parts.iter().any(|(part, _)| part == name))
}

/// The parts of a struct, or of the structs in a list, for which the flag is true.
fn parts(node: &Node) -> Option<(&[(String, Node)], bool)> {
    match &node.shape {
        Shape::Struct(parts) => Some((parts, false)),
        Shape::List(list) => match &list.element.shape {
            Shape::Struct(parts) => Some((parts, true)),
            _ => None,
        },
        _ => None,
    }
}
