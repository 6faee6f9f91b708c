//! Checks a footer before the crate `parquet` reads it, because anybody may have written the footer.
//!
//! The crate believes a footer: it makes room for lists, recurses into the schema and goes through lists of unknown
//! fields. A footer that passes this check has the shape that the crate expects, every list has its elements, and the
//! schema has a limited depth. So reading it takes time and memory in proportion to its bytes. The check also finds
//! encrypted columns, which the crate passes over, as it is built without its feature for them.

use super::thrift::{Broken, Kind, Thrift};

/// The deepest column that is accepted.
const DEEPEST: usize = 32;

/// The reason for a file that has encrypted columns.
pub(super) const ENCRYPTED: Broken = Broken::Says("it is encrypted");

/// The type of a field.
enum Shape {
    Flag,
    Byte,
    Number,
    Double,
    Text,
    List(&'static Shape),
    /// A structure, with the shapes of fields by their numbers. Other fields are passed over.
    Struct(&'static [(i64, Shape)]),
    /// A field that only an encrypted file has.
    Encrypted,
}

use Shape::{Byte, Double, Encrypted, Flag, List, Number, Struct, Text};

const EMPTY: Shape = Struct(&[]);
const TIME: Shape = Struct(&[(1, Flag), (2, Struct(&[(1, EMPTY), (2, EMPTY), (3, EMPTY)]))]);

const LOGICAL_TYPE: Shape = Struct(&[
    (1, EMPTY),
    (2, EMPTY),
    (3, EMPTY),
    (4, EMPTY),
    (5, Struct(&[(1, Number), (2, Number)])),
    (6, EMPTY),
    (7, TIME),
    (8, TIME),
    (10, Struct(&[(1, Byte), (2, Flag)])),
    (11, EMPTY),
    (12, EMPTY),
    (13, EMPTY),
    (14, EMPTY),
    (15, EMPTY),
    (16, Struct(&[(1, Byte)])),
    (17, Struct(&[(1, Text)])),
    (18, Struct(&[(1, Text), (2, Number)])),
]);

const ELEMENT: Shape = Struct(&[
    (1, Number),
    (2, Number),
    (3, Number),
    (4, Text),
    (5, Number),
    (6, Number),
    (7, Number),
    (8, Number),
    (9, Number),
    (10, LOGICAL_TYPE),
]);

const BOX: Shape =
    Struct(&[(1, Double), (2, Double), (3, Double), (4, Double), (5, Double), (6, Double), (7, Double), (8, Double)]);

const COLUMN: Shape = Struct(&[
    (1, Number),
    (2, List(&Number)),
    (3, List(&Text)),
    (4, Number),
    (5, Number),
    (6, Number),
    (7, Number),
    (9, Number),
    (10, Number),
    (11, Number),
    (14, Number),
    (15, Number),
    (17, Struct(&[(1, BOX), (2, List(&Number))])),
]);

const CHUNK: Shape = Struct(&[
    (1, Text),
    (2, Number),
    (3, COLUMN),
    (4, Number),
    (5, Number),
    (6, Number),
    (7, Number),
    (8, Encrypted),
    (9, Encrypted),
]);

const ROW_GROUP: Shape = Struct(&[
    (1, List(&CHUNK)),
    (2, Number),
    (3, Number),
    (4, List(&Struct(&[(1, Number), (2, Flag), (3, Flag)]))),
    (5, Number),
    (6, Number),
    (7, Number),
]);

const FOOTER: Shape = Struct(&[
    (1, Number),
    (2, List(&ELEMENT)),
    (3, Number),
    (4, List(&ROW_GROUP)),
    (5, List(&Struct(&[(1, Text), (2, Text)]))),
    (6, Text),
    (7, List(&Struct(&[(1, EMPTY), (2, EMPTY)]))),
    (8, Encrypted),
]);

/// Checks a footer.
///
/// # Errors
/// The reason why the crate does not get the footer.
pub(super) fn check(footer: &[u8]) -> Result<(), Broken> {
    walk(&mut Thrift::new(footer), &FOOTER)?;
    let mut children = Vec::new();
    Thrift::new(footer).structure(|thrift, field, _| {
        if field != 2 {
            return Ok(false);
        }
        children.clear();
        for _ in 0..thrift.list(Kind::Struct)? {
            let mut count = 0;
            thrift.structure(|thrift, field, _| match field {
                5 => thrift.number().map(|number| count = number).map(|()| true),
                _ => Ok(false),
            })?;
            children.push(usize::try_from(count).map_err(|_| Broken::Says("a negative number of columns"))?);
        }
        Ok(true)
    })?;
    check_depth(&children)
}

/// Checks the depth of a schema, which is given as the number of children of each of its elements, from the top down.
fn check_depth(children: &[usize]) -> Result<(), Broken> {
    // For each open group, the number of children that are still to come.
    let mut open = vec![1usize];
    for children in children {
        while open.last() == Some(&0) {
            open.pop();
        }
        let Some(left) = open.last_mut() else { return Err(Broken::Says("its schema has several roots")) };
        *left -= 1;
        if *children > 0 {
            open.push(*children);
        }
        if open.len() > DEEPEST {
            return Err(Broken::Says("its columns are nested more than 32 deep"));
        }
    }
    match open.iter().all(|left| *left == 0) {
        true => Ok(()),
        false => Err(Broken::Says("its schema has fewer columns than it says")),
    }
}

fn walk(thrift: &mut Thrift<'_>, shape: &Shape) -> Result<(), Broken> {
    match shape {
        Number => thrift.number().map(drop),
        Text => thrift.binary().map(drop),
        Struct(fields) => thrift.structure(|thrift, field, kind| {
            let Some((_, shape)) = fields.iter().find(|(number, _)| *number == field) else { return Ok(false) };
            if let Encrypted = shape {
                return Err(ENCRYPTED);
            }
            if !shape.is(kind) {
                return Err(Broken::Says("a field is of another type"));
            }
            match shape {
                // No bytes follow the field, or only bytes that are skipped as they are read.
                Flag | Byte | Double => return Ok(false),
                shape => walk(thrift, shape)?,
            }
            Ok(true)
        }),
        List(shape) => {
            let kind = match shape {
                Number => Kind::Integer,
                Text => Kind::Binary,
                _ => Kind::Struct,
            };
            for _ in 0..thrift.list(kind)? {
                walk(thrift, shape)?;
            }
            Ok(())
        }
        Flag | Byte | Double | Encrypted => Ok(()),
    }
}

impl Shape {
    fn is(&self, kind: Kind) -> bool {
        matches!(
            (self, kind),
            (Flag, Kind::True | Kind::False)
                | (Byte, Kind::Byte)
                | (Number, Kind::Integer)
                | (Double, Kind::Double)
                | (Text, Kind::Binary)
                | (List(_), Kind::List)
                | (Struct(_), Kind::Struct)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schemas_are_trees_of_a_bounded_depth() {
        let says = |children: &[usize]| check_depth(children).err().map(|broken| broken.to_string());
        assert_eq!(says(&[2, 2, 0, 0, 0]), None);
        assert_eq!(says(&[0]), None);
        assert_eq!(says(&[2, 0]).as_deref(), Some("its schema has fewer columns than it says"));
        assert_eq!(says(&[]).as_deref(), Some("its schema has fewer columns than it says"));
        assert_eq!(says(&[1, 0, 0]).as_deref(), Some("its schema has several roots"));
        assert_eq!(says(&[[1; 30].as_slice(), &[0]].concat()), None);
        let deep = says(&[[1; 40].as_slice(), &[0]].concat());
        assert_eq!(deep.as_deref(), Some("its columns are nested more than 32 deep"));
    }

    #[test]
    fn fields_of_other_types_and_encryption_are_found() {
        // A version that is a text; a list of row groups that are numbers; a schema that goes on; encryption.
        assert_eq!(check(&[0x18, 1, b'x', 0]), Err(Broken::Says("a field is of another type")));
        assert_eq!(check(&[0x49, 0x15, 2, 0]), Err(Broken::Says("a list has elements of another type")));
        assert_eq!(check(&[0x29, 0xfc, 0xff, 0xff, 3, 0]), Err(Broken::Ends));
        assert_eq!(check(&[0x8c, 0, 0]), Err(ENCRYPTED));
        // A schema of one root, and an unknown field.
        assert_eq!(check(&[0x29, 0x1c, 0x48, 1, b'r', 0, 0x06, 0xd0, 0x0f, 0x02, 0]), Ok(()));
    }
}
