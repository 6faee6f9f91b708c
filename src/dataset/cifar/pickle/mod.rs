//! Reads Python's pickles of plain data and byte arrays: the content of CIFAR's files.
//!
//! A general reader of pickles would be dangerous. A hostile file can make it nest values until the stack overflows, or
//! share values until they fill the memory; and a reader that ignores classes cannot tell a byte array from another
//! one. This one stores values in a list and refers to them by index, so that it neither recurses nor copies; each
//! opcode makes at most one value. It knows the classes that numpy's arrays are made of, and runs no code.

mod machine;

use std::borrow::Cow;

use crate::quote::shortened;
use machine::Machine;

/// Index of a value in [`Pickle::values`].
pub(super) type Id = usize;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value<'a> {
    None,
    Bool(bool),
    Int(i64),
    Float,
    /// Strings and bytes of Python 2 and 3; text is UTF-8.
    Bytes(Cow<'a, [u8]>),
    List(Vec<Id>),
    Tuple(Vec<Id>),
    Dict(Vec<(Id, Id)>),
    Class(Class),
    /// A numpy type: its name, such as "u1".
    Type(Id),
    /// A numpy array; `None` until its state is set.
    Array(Option<Array>),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Class {
    /// numpy's function that makes an array without content.
    Reconstruct,
    /// numpy's function that makes an array of a buffer, used since protocol 5.
    FromBuffer,
    NdArray,
    DType,
    /// Python's function that makes bytes of text, used in protocols before 3.
    Encode,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Array {
    shape: Id,
    /// Refers to a [`Value::Type`].
    dtype: Id,
    fortran: bool,
    data: Id,
}

/// The position of an error in bytes, and its reason.
pub(super) type Failure = (usize, String);

/// The values of a file; the last one is its result.
#[derive(Debug)]
pub(super) struct Pickle<'a> {
    values: Vec<Value<'a>>,
    root: Id,
}

/// An array of bytes.
#[derive(Debug, PartialEq)]
pub(super) struct ByteArray<'p> {
    pub(super) shape: Vec<i64>,
    pub(super) data: &'p [u8],
}

impl<'a> Pickle<'a> {
    pub(super) fn parse(bytes: &'a [u8]) -> Result<Self, Failure> {
        let mut machine = Machine::new(bytes);
        loop {
            let start = machine.position();
            match machine.step() {
                Ok(None) => {}
                Ok(Some(root)) => return Ok(Pickle { values: machine.into_values(), root }),
                Err(reason) => return Err((start, reason)),
            }
        }
    }

    fn value(&self, id: Id) -> &Value<'a> {
        // Every `Id` is an index of an existing value.
        self.values.get(id).unwrap_or(&Value::None)
    }

    /// Returns the value under `key`, if the file holds a dictionary.
    pub(super) fn entry(&self, key: &str) -> Option<Id> {
        let Value::Dict(entries) = self.value(self.root) else { return None };
        let is_key = |id: Id| matches!(self.value(id), Value::Bytes(bytes) if **bytes == *key.as_bytes());
        // If a key occurs several times, its last value counts, as in Python.
        entries.iter().rev().find(|(name, _)| is_key(*name)).map(|(_, value)| *value)
    }

    /// Returns a list of whole numbers.
    pub(super) fn ints(&self, id: Id) -> Option<Vec<i64>> {
        let (Value::List(items) | Value::Tuple(items)) = self.value(id) else { return None };
        let int = |&id: &Id| match self.value(id) {
            Value::Int(value) => Some(*value),
            _ => None,
        };
        items.iter().map(int).collect()
    }

    /// Returns a list of strings.
    pub(super) fn strings(&self, id: Id) -> Option<Vec<String>> {
        let (Value::List(items) | Value::Tuple(items)) = self.value(id) else { return None };
        let string = |&id: &Id| match self.value(id) {
            Value::Bytes(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
            _ => None,
        };
        items.iter().map(string).collect()
    }

    /// Returns a byte array whose last dimension changes fastest.
    pub(super) fn byte_array(&self, id: Id) -> Result<ByteArray<'_>, String> {
        let Value::Array(Some(array)) = self.value(id) else { return Err("not a numpy array".to_owned()) };
        let shape = self.ints(array.shape).ok_or("an array whose shape is not a list of numbers")?;
        match self.value(array.dtype) {
            Value::Type(name) => match self.value(*name) {
                Value::Bytes(name) if matches!(&**name, b"u1" | b"|u1" | b"uint8") => {}
                Value::Bytes(name) => {
                    let name = shortened(&String::from_utf8_lossy(name));
                    return Err(format!("an array of {name}, but images are u1 (uint8)"));
                }
                _ => return Err("an array of a type without a name".to_owned()),
            },
            _ => return Err("an array without a numpy type".to_owned()),
        }
        if array.fortran && shape.len() > 1 {
            return Err("an array in Fortran's order".to_owned());
        }
        let Value::Bytes(data) = self.value(array.data) else { return Err("an array without bytes".to_owned()) };
        let size = shape.iter().try_fold(1i64, |size, &side| size.checked_mul(side).filter(|_| side >= 0));
        match size {
            Some(size) if usize::try_from(size) == Ok(data.len()) => Ok(ByteArray { shape, data }),
            _ => Err(format!("an array of shape {shape:?} with {} bytes", data.len())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::machine::MOST_VALUES;
    use super::*;

    /// Writes `{'data': numpy.uint8 [[1, 2, 3]], 'labels': [7, 300, -1], b'x': ...}` as Python 2's cPickle does.
    fn sample(dtype: &[u8; 2]) -> Vec<u8> {
        let mut bytes =
            b"\x80\x02}q\x01(U\x06labelsq\x02]q\x03(K\x07M\x2c\x01J\xff\xff\xff\xffeU\x04dataq\x04".to_vec();
        bytes.extend(b"cnumpy.core.multiarray\n_reconstruct\nq\x05cnumpy\nndarray\nq\x06K\x00\x85U\x01b\x87R");
        bytes.extend(b"(K\x01K\x01K\x03\x86cnumpy\ndtype\nq\x07U\x02");
        bytes.extend(dtype);
        bytes.extend(
            b"K\x00K\x01\x87R(K\x03U\x01|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb\x89U\x03\x01\x02\x03tbu.",
        );
        bytes
    }

    fn refused(bytes: &[u8]) -> String {
        Pickle::parse(bytes).unwrap_err().1
    }

    #[test]
    fn reads_arrays_lists_and_strings() {
        let bytes = sample(b"u1");
        let pickle = Pickle::parse(&bytes).unwrap();
        let data = pickle.byte_array(pickle.entry("data").unwrap()).unwrap();
        assert_eq!(data, ByteArray { shape: vec![1, 3], data: &[1, 2, 3] });
        assert_eq!(pickle.ints(pickle.entry("labels").unwrap()), Some(vec![7, 300, -1]));
        assert_eq!(pickle.entry("other"), None);
        assert_eq!(pickle.ints(pickle.entry("data").unwrap()), None);

        // Python 3 writes `['a', b'\xe9']` in protocols 0 to 2 with bytes as encoded text.
        let bytes = b"\x80\x02]q\x00(X\x01\x00\x00\x00ac_codecs\nencode\nX\x02\x00\x00\x00\xc3\xa9X\x06\x00\x00\x00latin1\x86Re.";
        let pickle = Pickle::parse(bytes).unwrap();
        let Value::List(items) = pickle.value(pickle.root) else { panic!("no list") };
        assert_eq!(pickle.value(items[1]), &Value::Bytes(Cow::Borrowed(&[0xE9])));
        assert_eq!(pickle.strings(pickle.root).unwrap()[0], "a");
    }

    #[test]
    fn every_cut_is_an_error() {
        let bytes = sample(b"u1");
        for end in 0..bytes.len() {
            assert!(Pickle::parse(&bytes[..end]).is_err(), "{end}");
        }
    }

    #[test]
    fn no_byte_can_make_it_panic() {
        let bytes = sample(b"u1");
        for at in 0..bytes.len() {
            for value in 0..=255 {
                let mut changed = bytes.clone();
                changed[at] = value;
                if let Ok(pickle) = Pickle::parse(&changed) {
                    for id in ["data", "labels"].iter().filter_map(|key| pickle.entry(key)) {
                        let _ = (pickle.byte_array(id), pickle.ints(id), pickle.strings(id));
                    }
                }
            }
        }
    }

    #[test]
    fn other_types_and_objects_are_refused() {
        let bytes = sample(b"i4");
        let pickle = Pickle::parse(&bytes).unwrap();
        let reason = pickle.byte_array(pickle.entry("data").unwrap()).unwrap_err();
        assert_eq!(reason, "an array of i4, but images are u1 (uint8)");
        assert!(refused(b"cos\nsystem\n(U\x02lstR.").starts_with("the class os.system: only plain data"));
        assert!(refused(b"\x80\x04\x8c\x08builtins\x8c\x04eval\x93.").starts_with("the class builtins.eval"));
        assert!(refused(b"(i__main__\nC\n.").starts_with("opcode 'i'"));
        assert!(refused(b"\x80\x09N.").starts_with("protocol 9"));
        assert!(refused(b"cnumpy\nndarray\n)R.").starts_with("a call that does not make plain data"));
        // A class name can be as long as the file.
        let long = [b"c", &[b'x'; 1 << 20][..], b"\nname\n."].concat();
        assert!(refused(&long).len() < 200);
    }

    #[test]
    fn hostile_files_cost_no_more_than_they_are_long() {
        // A million nested lists.
        let mut nested = vec![b']'; 1_000_000];
        nested.extend([b'a'; 999_999]);
        nested.push(b'.');
        let pickle = Pickle::parse(&nested).unwrap();
        assert_eq!(pickle.ints(pickle.root), None);
        // A list that contains itself.
        let pickle = Pickle::parse(b"]q\x00h\x00a.").unwrap();
        assert_eq!(pickle.strings(pickle.root), None);
        // Exponential growth: each list holds the previous one ten times.
        let mut laughs = b"]q\x00(U\x03lole".to_vec();
        for level in 0..200u8 {
            laughs.extend([b']', b'q', level + 1, b'(']);
            laughs.extend([b'h', level].repeat(10));
            laughs.push(b'e');
        }
        laughs.push(b'.');
        assert!(Pickle::parse(&laughs).unwrap().values.len() < 500);
        // Converts one text to bytes again and again.
        let mut copies = b"X\x00\x04\x00\x00".to_vec();
        copies.extend([b'x'; 1024]);
        copies.extend(b"q\x00");
        copies.extend(b"c_codecs\nencode\nh\x00X\x06\x00\x00\x00latin1\x86R".repeat(100));
        assert_eq!(refused(&copies), "more bytes than the file has");
        assert!(refused(b"B\xff\xff\xff\xff").contains("the file ends 4294967295 bytes too early"));
        assert!(refused(b"\x8e\xff\xff\xff\xff\xff\xff\xff\xff.").contains("too early"));
        assert!(refused(&vec![b'N'; MOST_VALUES + 1]).starts_with("more than 1048576 values"));
        // A mark takes one byte in the file, but more in memory.
        assert_eq!(refused(&vec![b'('; MOST_VALUES + 1]), "more than 1048576 marks");
        let remembered = [&b"N"[..], &vec![0x94; MOST_VALUES + 1]].concat();
        assert_eq!(refused(&remembered), "more than 1048576 values to remember");
        let references = [&b"]q\x00"[..], &b"h\x00a".repeat(MOST_VALUES + 1)].concat();
        assert_eq!(refused(&references), "more than 1048576 references");
    }
}
