//! The columns of a file as a tree of structs, lists and values, with the levels at which each is there.

use parquet::basic::{ConvertedType, LogicalType, Repetition, Type as Physical};
use parquet::schema::types::Type;

use crate::dataset::NumberType;
use crate::quote::shortened;

/// The most names that an error lists.
const NAMED: usize = 20;

/// A column, or a part of one.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Node {
    /// The definition level from which it is not null.
    pub(super) definition: u32,
    pub(super) shape: Shape,
}

/// The content of a node.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Shape {
    Leaf(Leaf),
    /// The parts and their names.
    Struct(Vec<(String, Node)>),
    List(Box<List>),
    /// Something that is not read, in words.
    Unread(&'static str),
}

/// A list.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct List {
    /// The levels of its elements.
    pub(super) levels: ListLevels,
    pub(super) element: Node,
}

/// The levels by which the elements of a list are told apart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ListLevels {
    /// The repetition level of a further element.
    pub(super) repetition: u32,
    /// The definition level from which the list has an element.
    pub(super) filled: u32,
}

/// A column of values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Leaf {
    /// The number of the column in the file.
    pub(super) number: usize,
    pub(super) definition: u32,
    pub(super) repetition: u32,
    pub(super) value: Value,
}

/// The type of a column's values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Value {
    Text,
    Json,
    Bytes,
    /// Bytes of one length.
    Fixed(usize),
    Number(Number),
    /// Something that is not read, in words.
    Unread(&'static str),
}

/// A type of numbers, and the bytes that each takes in the file; 0 if it takes a bit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Number {
    pub(super) number_type: NumberType,
    pub(super) stored: usize,
}

/// Returns the columns of a file and their names.
pub(super) fn columns(root: &Type) -> Vec<(String, Node)> {
    let mut next = 0;
    let mut column = |field: &Type| (field.name().to_owned(), node(field, (0, 0), &mut next));
    // A root that is no group has no columns.
    if root.is_group() { root.get_fields().iter().map(|field| column(field)).collect() } else { Vec::new() }
}

/// Returns the node of `field`, which lies at these levels of definition and repetition. `next` is the number of the
/// next column of values.
fn node(field: &Type, (definition, repetition): (u32, u32), next: &mut usize) -> Node {
    match repetition_of(field) {
        Repetition::REQUIRED => content(field, (definition, repetition), next),
        Repetition::OPTIONAL => content(field, (definition + 1, repetition), next),
        Repetition::REPEATED => {
            let levels = ListLevels { repetition: repetition + 1, filled: definition + 1 };
            let element = content(field, (levels.filled, levels.repetition), next);
            Node { definition, shape: Shape::List(Box::new(List { levels, element })) }
        }
    }
}

fn repetition_of(field: &Type) -> Repetition {
    let info = field.get_basic_info();
    if info.has_repetition() { info.repetition() } else { Repetition::REQUIRED }
}

fn content(field: &Type, levels: (u32, u32), next: &mut usize) -> Node {
    let (definition, repetition) = levels;
    let info = field.get_basic_info();
    if !field.is_group() {
        let number = *next;
        *next += 1;
        let shape = Shape::Leaf(Leaf { number, definition, repetition, value: value(field) });
        return Node { definition, shape };
    }
    let is = |logical: LogicalType, converted: ConvertedType| {
        info.logical_type_ref() == Some(&logical) || info.converted_type() == converted
    };
    if is(LogicalType::Map, ConvertedType::MAP) || info.converted_type() == ConvertedType::MAP_KEY_VALUE {
        *next += leaves_of(field);
        return Node { definition, shape: Shape::Unread("a map") };
    }
    if let [inner] = field.get_fields()
        && is(LogicalType::List, ConvertedType::LIST)
        && repetition_of(inner) == Repetition::REPEATED
    {
        let list = ListLevels { repetition: repetition + 1, filled: definition + 1 };
        let below = (list.filled, list.repetition);
        // The repeated group stands for the list itself, or is its element in files of old writers.
        let element = match inner.is_group().then(|| inner.get_fields()) {
            Some([only]) if inner.name() != "array" && inner.name() != format!("{}_tuple", field.name()) => {
                node(only, below, next)
            }
            _ => content(inner, below, next),
        };
        return Node { definition, shape: Shape::List(Box::new(List { levels: list, element })) };
    }
    let parts: Vec<_> =
        field.get_fields().iter().map(|part| (part.name().to_owned(), node(part, levels, next))).collect();
    let shape = if parts.is_empty() { Shape::Unread("a group of nothing") } else { Shape::Struct(parts) };
    Node { definition, shape }
}

fn leaves_of(field: &Type) -> usize {
    if field.is_group() { field.get_fields().iter().map(|field| leaves_of(field)).sum() } else { 1 }
}

/// Returns what the values of a column are, by what the file says of them.
fn value(field: &Type) -> Value {
    let Type::PrimitiveType { basic_info, physical_type, type_length, .. } = field else {
        return Value::Unread("a group");
    };
    let (logical, converted) = (basic_info.logical_type_ref(), basic_info.converted_type());
    if matches!(logical, Some(LogicalType::Decimal(_))) || converted == ConvertedType::DECIMAL {
        return Value::Unread("decimal numbers");
    }
    if matches!(logical, Some(LogicalType::Unknown)) {
        return Value::Unread("nulls alone");
    }
    let number = |number_type: NumberType, stored| Value::Number(Number { number_type, stored });
    match physical_type {
        Physical::BOOLEAN => number(NumberType::Bool, 0),
        Physical::INT32 | Physical::INT64 => {
            let stored = if *physical_type == Physical::INT32 { 4 } else { 8 };
            number(integer(logical, converted, stored), stored)
        }
        Physical::INT96 => Value::Unread("timestamps of 96 bits"),
        Physical::FLOAT => number(NumberType::F32, 4),
        Physical::DOUBLE => number(NumberType::F64, 8),
        Physical::BYTE_ARRAY => match (logical, converted) {
            (Some(LogicalType::Json), _) | (_, ConvertedType::JSON) => Value::Json,
            (Some(LogicalType::String | LogicalType::Enum), _) | (_, ConvertedType::UTF8 | ConvertedType::ENUM) => {
                Value::Text
            }
            _ => Value::Bytes,
        },
        Physical::FIXED_LEN_BYTE_ARRAY => match (logical, usize::try_from(*type_length)) {
            (Some(LogicalType::Float16), Ok(2)) => number(NumberType::F16, 2),
            _ if converted == ConvertedType::INTERVAL => Value::Unread("intervals of time"),
            (_, Ok(length @ 1..)) => Value::Fixed(length),
            _ => Value::Unread("bytes of no length"),
        },
    }
}

/// Returns the type of whole numbers that take `stored` bytes. Dates, times and timestamps are the numbers that they are
/// stored as.
fn integer(logical: Option<&LogicalType>, converted: ConvertedType, stored: usize) -> NumberType {
    let (bits, signed) = match (logical, converted) {
        (Some(LogicalType::Integer(integer)), _) => (integer.bit_width.into(), integer.is_signed),
        (_, ConvertedType::INT_8) => (8, true),
        (_, ConvertedType::INT_16) => (16, true),
        (_, ConvertedType::UINT_8) => (8, false),
        (_, ConvertedType::UINT_16) => (16, false),
        (_, ConvertedType::UINT_32 | ConvertedType::UINT_64) => (8 * stored as i32, false),
        _ => (8 * stored as i32, true),
    };
    match (bits, signed, stored) {
        (8, true, 4) => NumberType::I8,
        (8, false, 4) => NumberType::U8,
        (16, true, 4) => NumberType::I16,
        (16, false, 4) => NumberType::U16,
        (_, true, 4) => NumberType::I32,
        (_, false, 4) => NumberType::U32,
        (_, true, _) => NumberType::I64,
        (_, false, _) => NumberType::U64,
    }
}

/// Lists names, the first of them.
pub(super) fn names<'a>(all: impl Iterator<Item = &'a String>) -> String {
    let mut names: Vec<String> = all.take(NAMED + 1).map(|name| shortened(name)).collect();
    if names.len() > NAMED {
        names[NAMED] = "...".to_owned();
    }
    names.join(", ")
}

impl Node {
    /// Returns the columns of values below this node, in the file's order.
    pub(super) fn leaves(&self) -> Vec<Leaf> {
        match &self.shape {
            Shape::Leaf(leaf) => vec![*leaf],
            Shape::Struct(parts) => parts.iter().flat_map(|(_, part)| part.leaves()).collect(),
            Shape::List(list) => list.element.leaves(),
            Shape::Unread(_) => Vec::new(),
        }
    }

    /// Returns the number of columns of values below this node.
    pub(super) fn count(&self) -> usize {
        match &self.shape {
            Shape::Leaf(_) => 1,
            Shape::Struct(parts) => parts.iter().map(|(_, part)| part.count()).sum(),
            Shape::List(list) => list.element.count(),
            Shape::Unread(_) => 0,
        }
    }

    /// Returns the column of an image's bytes, if the node is a struct of `bytes` and perhaps `path`.
    pub(super) fn image(&self) -> Option<Leaf> {
        let Shape::Struct(parts) = &self.shape else { return None };
        let known = parts.iter().all(|(name, _)| name == "bytes" || name == "path");
        let bytes = parts.iter().find(|(name, _)| name == "bytes").map(|(_, node)| &node.shape);
        match bytes {
            Some(Shape::Leaf(leaf)) if known && leaf.value == Value::Bytes => Some(*leaf),
            _ => None,
        }
    }
}

impl Number {
    /// Appends a number of the file in the machine's order of bytes. Returns false for one that its type does not have.
    pub(super) fn append(self, stored: &[u8], out: &mut Vec<u8>) -> bool {
        fn word<const N: usize>(stored: &[u8]) -> Option<[u8; N]> {
            stored.try_into().ok()
        }
        fn add<const N: usize>(out: &mut Vec<u8>, bytes: Option<[u8; N]>) -> bool {
            bytes.inspect(|bytes| out.extend_from_slice(bytes)).is_some()
        }
        let signed = || word(stored).map(i32::from_le_bytes);
        let unsigned = || word(stored).map(u32::from_le_bytes);
        match self.number_type {
            NumberType::Bool => add(out, word::<1>(stored)),
            NumberType::I8 => add(out, signed().and_then(|n| i8::try_from(n).ok()).map(i8::to_ne_bytes)),
            NumberType::U8 => add(out, unsigned().and_then(|n| u8::try_from(n).ok()).map(u8::to_ne_bytes)),
            NumberType::I16 => add(out, signed().and_then(|n| i16::try_from(n).ok()).map(i16::to_ne_bytes)),
            NumberType::U16 => add(out, unsigned().and_then(|n| u16::try_from(n).ok()).map(u16::to_ne_bytes)),
            NumberType::F16 => add(out, word(stored).map(|n| u16::from_le_bytes(n).to_ne_bytes())),
            NumberType::I32 | NumberType::U32 | NumberType::F32 => add(out, unsigned().map(u32::to_ne_bytes)),
            NumberType::I64 | NumberType::U64 | NumberType::F64 => {
                add(out, word(stored).map(|n| u64::from_le_bytes(n).to_ne_bytes()))
            }
        }
    }
}
