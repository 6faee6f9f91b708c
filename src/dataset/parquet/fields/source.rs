//! The source of a field: a column, a part of a struct, an element of a list.

use super::objects;
use super::schema::{Leaf, ListLevels, Node, Shape, Value, names};
use crate::dataset::{FieldKind, NumberType};
use crate::quote::shortened;

/// A place in the columns of a file, and how its values are read.
#[derive(Clone, Debug)]
pub(super) struct Source {
    /// The path as it was given.
    pub(super) path: String,
    pub(super) form: Form,
    pub(super) node: Node,
    /// The elements that are picked out of lists on the way, from the outermost list.
    pub(super) picks: Vec<(ListLevels, usize)>,
    /// The columns of values that are read, in the file's order.
    pub(super) leaves: Vec<Leaf>,
}

/// How the values of a field are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// Bytes as they are, text and JSON among them.
    Text,
    Json,
    Bytes,
    /// Numbers, or lists of lists of them to this depth.
    Numbers(NumberType, usize),
    /// JSON, written of structs, lists and values.
    Tree,
    /// Objects, read of the JSON of a struct of lists or a list of structs.
    Objects,
    /// Objects, read of a text that is JSON.
    ObjectsText,
    /// The place of an image's file.
    Image,
}

impl Form {
    /// Returns the kind of the values.
    pub(super) fn kind(self) -> FieldKind {
        match self {
            Form::Text => FieldKind::Text,
            Form::Json | Form::Tree => FieldKind::Json,
            Form::Bytes => FieldKind::Bytes,
            Form::Numbers(..) => FieldKind::Numbers,
            Form::Objects | Form::ObjectsText => FieldKind::Objects,
            Form::Image => FieldKind::Image,
        }
    }

    /// Returns the form in words, with the type of numbers.
    pub(super) fn what(self) -> String {
        match self {
            Form::Numbers(number_type, 0) => number_type.name().to_owned(),
            Form::Numbers(number_type, _) => format!("lists of {}", number_type.name()),
            form => form.kind().to_string(),
        }
    }
}

impl Source {
    /// Finds the place that `path` names: `caption`, `meta.author`, `images[0]`. `other` says of a column at the top
    /// whether the file calls it an image, or what else it calls a struct of bytes and path.
    ///
    /// # Errors
    /// The reason: no such place, or values that are not read, or not as this kind.
    pub(super) fn find(
        columns: &[(String, Node)],
        path: &str,
        kind: Option<FieldKind>,
        featured: impl Fn(&str) -> Featured,
    ) -> Result<Source, String> {
        let (top, rest) = step(columns, path).ok_or_else(|| {
            format!("there is no column {}; there are {}", shortened(path), names(columns.iter().map(|(name, _)| name)))
        })?;
        let (name, mut node) = (&columns[top].0, &columns[top].1);
        let (mut rest, mut picks, mut featured) = (rest, Vec::new(), featured(name));
        while !rest.is_empty() {
            let so_far = shortened(&path[..path.len() - rest.len()]);
            if let Some((at, after)) = picked(rest) {
                let Shape::List(list) = &node.shape else { return Err(format!("{so_far} is no list")) };
                picks.push((list.levels, at));
                (node, rest) = (&list.element, after);
                continue;
            }
            let Shape::Struct(parts) = &node.shape else {
                return Err(match &node.shape {
                    Shape::List(_) => format!("{so_far} is a list; {so_far}[0] is the first of its elements"),
                    _ => format!("{so_far} has no parts"),
                });
            };
            let part = rest.strip_prefix('.').and_then(|rest| step(parts, rest));
            let Some((number, after)) = part else {
                let all = names(parts.iter().map(|(name, _)| name));
                return Err(format!("{so_far} has no part {}; it has {all}", shortened(rest.trim_start_matches('.'))));
            };
            // The features of a column do not say what its parts are.
            (node, rest, featured) = (&parts[number].1, after, Featured::Nothing);
        }
        let form = form(node, kind, &shortened(path), featured)?;
        let node = if form == Form::Objects { objects::read_parts(node, &shortened(path))? } else { node.clone() };
        let leaves = match (form, node.image()) {
            (Form::Image, Some(bytes)) => vec![bytes],
            _ => node.leaves(),
        };
        Ok(Source { path: path.to_owned(), form: tree_checked(form, &node, &shortened(path))?, node, picks, leaves })
    }
}

/// The feature of a column, as Hugging Face's metadata has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Featured {
    Image,
    /// Sounds or videos, which have the columns of an image.
    Other,
    Nothing,
}

/// Returns the number of the longest name with which `path` begins, and what follows it.
fn step<'a>(parts: &[(String, Node)], path: &'a str) -> Option<(usize, &'a str)> {
    let after = |name: &str| {
        let rest = path.strip_prefix(name)?;
        (rest.is_empty() || rest.starts_with(['.', '['])).then_some(rest)
    };
    let found = parts.iter().enumerate().filter_map(|(number, (name, _))| Some((number, after(name)?)));
    found.min_by_key(|(_, rest)| rest.len())
}

/// Returns the number in brackets with which `rest` begins, and what follows it.
fn picked(rest: &str) -> Option<(usize, &str)> {
    let (number, after) = rest.strip_prefix('[')?.split_once(']')?;
    Some((number.parse().ok()?, after))
}

/// Returns how the values of a node are read.
fn form(node: &Node, kind: Option<FieldKind>, path: &str, featured: Featured) -> Result<Form, String> {
    let natural = natural(node, path, featured)?;
    let Some(kind) = kind else { return Ok(natural) };
    Ok(match (natural, kind) {
        (natural, kind) if natural.kind() == kind => natural,
        (Form::Text | Form::Bytes, FieldKind::Json) => Form::Json,
        (Form::Json | Form::Bytes, FieldKind::Text) => Form::Text,
        (Form::Text | Form::Json, FieldKind::Bytes) => Form::Bytes,
        (Form::Bytes, FieldKind::Image) if is_fixed(node) => {
            return Err(format!("{path} has bytes of one length, which are no files of images; write them as binary"));
        }
        (Form::Bytes, FieldKind::Image) => Form::Image,
        (Form::Numbers(..), FieldKind::Json) => Form::Tree,
        (Form::Tree, FieldKind::Objects) => Form::Objects,
        (Form::Text | Form::Json | Form::Bytes, FieldKind::Objects) => Form::ObjectsText,
        (natural, kind) => return Err(format!("{path} has {}, which cannot be read as {kind}", natural.what())),
    })
}

/// Returns true for values of one length, which do not have it before them as the files of images do.
fn is_fixed(node: &Node) -> bool {
    matches!(&node.shape, Shape::Leaf(leaf) if matches!(leaf.value, Value::Fixed(_)))
}

/// Returns how the values are read if no setting says it.
fn natural(node: &Node, path: &str, featured: Featured) -> Result<Form, String> {
    if node.image().is_some() {
        return match featured {
            Featured::Other => Err(format!("{path} has sounds or videos; {path}.bytes is their files")),
            _ => Ok(Form::Image),
        };
    }
    Ok(match &node.shape {
        Shape::Leaf(leaf) => match leaf.value {
            Value::Text => Form::Text,
            Value::Json => Form::Json,
            Value::Bytes if featured == Featured::Image => Form::Image,
            Value::Bytes | Value::Fixed(_) => Form::Bytes,
            Value::Number(number) => Form::Numbers(number.number_type, 0),
            Value::Unread(what) => return Err(unread(path, what)),
        },
        Shape::Unread(what) => return Err(unread(path, what)),
        Shape::Struct(_) => Form::Tree,
        Shape::List(list) => match natural(&list.element, path, featured) {
            Ok(Form::Numbers(number_type, depth)) => Form::Numbers(number_type, depth + 1),
            Ok(Form::Image) => {
                return Err(format!(
                    "{path} has several images, but a field has one: {path}[0] is the first, {path}[1] the second"
                ));
            }
            Ok(_) => Form::Tree,
            Err(reason) => return Err(reason),
        },
    })
}

fn unread(path: &str, what: &str) -> String {
    format!("{path} has {what}, which gpufeed does not read; write texts or plain numbers in their place")
}

/// # Errors
/// A tree with values that JSON does not have.
fn tree_checked(form: Form, node: &Node, path: &str) -> Result<Form, String> {
    fn check(node: &Node, path: &str) -> Result<(), String> {
        match &node.shape {
            Shape::Leaf(leaf) => match leaf.value {
                Value::Unread(what) => Err(unread(path, what)),
                Value::Bytes | Value::Fixed(_) => {
                    Err(format!("{path} has bytes, which JSON does not have; name the parts to read, each as a field"))
                }
                Value::Text | Value::Json | Value::Number(_) => Ok(()),
            },
            Shape::Unread(what) => Err(unread(path, what)),
            Shape::Struct(parts) => {
                parts.iter().try_for_each(|(name, part)| check(part, &format!("{path}.{}", shortened(name))))
            }
            Shape::List(list) => check(&list.element, path),
        }
    }
    if let Form::Tree | Form::Objects = form {
        check(node, path)?;
    }
    Ok(form)
}

#[cfg(test)]
mod tests {
    use super::super::schema;
    use super::*;
    use parquet::schema::parser::parse_message_type;

    fn found(schema: &str, path: &str) -> Result<(Form, Vec<usize>, Vec<usize>), String> {
        let columns = schema::columns(&parse_message_type(&format!("message m {{ {schema} }}")).unwrap());
        let source = Source::find(&columns, path, None, |_| Featured::Nothing)?;
        let leaves = source.leaves.iter().map(|leaf| leaf.number).collect();
        Ok((source.form, leaves, source.picks.iter().map(|(_, number)| *number).collect()))
    }

    #[test]
    fn paths_lead_through_structs_and_lists() {
        let schema = "
            required int32 a; optional group b { required int64 c; optional binary d.e (UTF8); optional binary d; }
            repeated float f;
            optional group g (LIST) { repeated group array { required int32 h; required boolean i; } }
            optional group j (LIST) { repeated int32 array; }
            optional group k (MAP) { repeated group key_value { required binary key; optional int32 value; } }
            required group l { required binary bytes; required binary more; }
            required double b.c;";
        let numbers = |number_type, depth| Form::Numbers(number_type, depth);
        for (path, form, leaves, picks) in [
            ("a", numbers(NumberType::I32, 0), vec![0], vec![]),
            // A column with a dot in its name is taken before a part of a struct.
            ("b.c", numbers(NumberType::F64, 0), vec![12], vec![]),
            ("b.d.e", Form::Text, vec![2], vec![]),
            ("b.d", Form::Bytes, vec![3], vec![]),
            ("f", numbers(NumberType::F32, 1), vec![4], vec![]),
            ("f[7]", numbers(NumberType::F32, 0), vec![4], vec![7]),
            ("g", Form::Tree, vec![5, 6], vec![]),
            ("g[1].i", numbers(NumberType::Bool, 0), vec![6], vec![1]),
            ("j", numbers(NumberType::I32, 1), vec![7], vec![]),
            ("l.bytes", Form::Bytes, vec![10], vec![]),
        ] {
            assert_eq!(found(schema, path), Ok((form, leaves, picks)), "{path}");
        }
        for (path, says) in
            [("k", "a map"), ("l", "has bytes, which JSON"), ("b.x", "no part x; it has c, d.e, d"), ("", "no column")]
        {
            let error = found(schema, path).unwrap_err();
            assert!(error.contains(says), "{path}: {error}");
        }
    }
}
