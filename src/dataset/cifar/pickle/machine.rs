//! Executes a pickle's opcodes.

use std::borrow::Cow;
use std::collections::HashMap;

use super::{Array, Class, Id, Value};
use crate::quote::shortened;

/// Limit of the values in a file, of marks at a time, of memo entries, and of references to these; CIFAR's largest file
/// has 150,000 values. A value takes at least one byte of the unpacked file, and 100 bytes in memory.
pub(super) const MOST_VALUES: usize = 1 << 20;

/// The pickle machine between two opcodes.
#[derive(Default)]
pub(super) struct Machine<'a> {
    bytes: &'a [u8],
    at: usize,
    values: Vec<Value<'a>>,
    stack: Vec<Id>,
    /// The height of the stack at each mark.
    marks: Vec<usize>,
    memo: HashMap<u32, Id>,
    /// The number of reads of the memo. Each read takes an entry of the stack, and later one of a list or tuple.
    references: usize,
    /// The bytes of values that are copies and not parts of the file.
    owned: usize,
}

impl<'a> Machine<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Machine { bytes, ..Machine::default() }
    }

    /// Returns the number of bytes read so far.
    pub(super) fn position(&self) -> usize {
        self.at
    }

    /// Returns all values.
    pub(super) fn into_values(self) -> Vec<Value<'a>> {
        self.values
    }

    /// Executes an opcode. Returns the file's result if it is the last one.
    pub(super) fn step(&mut self) -> Result<Option<Id>, String> {
        let [opcode] = self.fixed()?;
        match opcode {
            0x80 => self.protocol()?,
            0x95 => drop(self.fixed::<8>()?), // FRAME: its length, which only readers of streams need
            b'.' => return self.pop().map(Some),
            b'(' => self.mark()?,
            b'0' => drop(self.pop()?),
            b'N' => self.push(Value::None)?,
            0x88 => self.push(Value::Bool(true))?,
            0x89 => self.push(Value::Bool(false))?,
            b'J' => self.int(|bytes| i32::from_le_bytes(bytes).into())?,
            b'K' => self.int(|[byte]| byte.into())?,
            b'M' => self.int(|bytes| u16::from_le_bytes(bytes).into())?,
            0x8A => self.long()?,
            b'G' => self.float()?,
            b'T' | b'X' | b'B' => self.string::<4>()?,
            b'U' | b'C' | 0x8C => self.string::<1>()?,
            0x8D | 0x8E | 0x96 => self.string::<8>()?,
            b']' => self.push(Value::List(Vec::new()))?,
            b')' => self.push(Value::Tuple(Vec::new()))?,
            b'}' => self.push(Value::Dict(Vec::new()))?,
            b't' => self.marked_tuple()?,
            0x85..=0x87 => self.short_tuple(usize::from(opcode - 0x84))?,
            b'a' => self.append::<1>()?,
            b's' => self.append::<2>()?,
            b'e' | b'u' => self.append_marked()?,
            b'q' => self.put_at::<1>()?,
            b'r' => self.put_at::<4>()?,
            0x94 => self.put(self.memo.len() as u32)?,
            b'h' => self.get::<1>()?,
            b'j' => self.get::<4>()?,
            b'c' => self.global()?,
            0x93 => self.stack_global()?,
            b'R' => self.reduce()?,
            b'b' => self.build()?,
            other => {
                return Err(format!("opcode {:?}: only plain data is read, no objects", char::from(other)));
            }
        }
        Ok(None)
    }

    fn protocol(&mut self) -> Result<(), String> {
        match self.fixed()? {
            [..=5] => Ok(()),
            [protocol] => Err(format!("protocol {protocol}, but the latest known is 5")),
        }
    }

    fn mark(&mut self) -> Result<(), String> {
        most(self.marks.len(), "marks")?;
        self.marks.push(self.stack.len());
        Ok(())
    }

    fn int<const N: usize>(&mut self, read: fn([u8; N]) -> i64) -> Result<(), String> {
        let value = read(self.fixed()?);
        self.push(Value::Int(value))
    }

    fn long(&mut self) -> Result<(), String> {
        let bytes = self.counted::<1>()?;
        let negative = bytes.last().is_some_and(|&byte| byte > 127);
        let mut wide = [if negative { 255 } else { 0 }; 8];
        wide.get_mut(..bytes.len()).ok_or("a number of more than 64 bits")?.copy_from_slice(bytes);
        self.push(Value::Int(i64::from_le_bytes(wide)))
    }

    fn float(&mut self) -> Result<(), String> {
        self.fixed::<8>()?;
        self.push(Value::Float)
    }

    fn string<const N: usize>(&mut self) -> Result<(), String> {
        let bytes = self.counted::<N>()?;
        self.push(Value::Bytes(Cow::Borrowed(bytes)))
    }

    fn marked_tuple(&mut self) -> Result<(), String> {
        let items = self.marked()?;
        self.push(Value::Tuple(items))
    }

    fn short_tuple(&mut self, count: usize) -> Result<(), String> {
        let from = self.stack.len().checked_sub(count).ok_or("a tuple of values that are missing")?;
        self.above_mark(from)?;
        let items = self.stack.split_off(from);
        self.push(Value::Tuple(items))
    }

    /// Pops `N` items and appends them to the list or dictionary below them.
    fn append<const N: usize>(&mut self) -> Result<(), String> {
        let mut items = [0; N];
        for item in items.iter_mut().rev() {
            *item = self.pop()?;
        }
        self.extend(&items)
    }

    fn append_marked(&mut self) -> Result<(), String> {
        let items = self.marked()?;
        self.extend(&items)
    }

    /// Refers to a class by two lines of the file.
    fn global(&mut self) -> Result<(), String> {
        let (module, name) = (self.line()?, self.line()?);
        self.class(module, name)
    }

    /// Refers to a class by two strings on the stack.
    fn stack_global(&mut self) -> Result<(), String> {
        let (name, module) = (self.pop()?, self.pop()?);
        let text = |id: Id| match &self.values[id] {
            Value::Bytes(bytes) => Ok(bytes.to_vec()),
            _ => Err("a class whose name is not a string"),
        };
        let (module, name) = (text(module)?, text(name)?);
        self.class(&module, &name)
    }

    fn next(&mut self, count: usize) -> Result<&'a [u8], String> {
        let end = self.at.checked_add(count).filter(|&end| end <= self.bytes.len());
        let end =
            end.ok_or_else(|| format!("the file ends {} bytes too early", count - (self.bytes.len() - self.at)))?;
        let bytes = &self.bytes[self.at..end];
        self.at = end;
        Ok(bytes)
    }

    fn fixed<const N: usize>(&mut self) -> Result<[u8; N], String> {
        let mut bytes = [0; N];
        bytes.copy_from_slice(self.next(N)?);
        Ok(bytes)
    }

    /// Reads bytes that follow their length, a number of `N` bytes.
    fn counted<const N: usize>(&mut self) -> Result<&'a [u8], String> {
        let mut count = [0; 8];
        count[..N].copy_from_slice(self.next(N)?);
        let count = u64::from_le_bytes(count);
        self.next(usize::try_from(count).unwrap_or(usize::MAX))
    }

    /// Reads up to the end of a line.
    fn line(&mut self) -> Result<&'a [u8], String> {
        let rest = &self.bytes[self.at..];
        let length = rest.iter().position(|&byte| byte == b'\n').ok_or("a line without an end")?;
        self.at += length + 1;
        Ok(&rest[..length])
    }

    fn push(&mut self, value: Value<'a>) -> Result<(), String> {
        most(self.values.len(), "values")?;
        self.values.push(value);
        self.stack.push(self.values.len() - 1);
        Ok(())
    }

    /// Returns an error if an opcode takes values from below the last mark.
    fn above_mark(&self, height: usize) -> Result<(), String> {
        match self.marks.last() {
            Some(&mark) if height < mark => Err("a value below a mark".to_owned()),
            _ => Ok(()),
        }
    }

    fn pop(&mut self) -> Result<Id, String> {
        let height = self.stack.len().checked_sub(1).ok_or("a value that is missing")?;
        self.above_mark(height)?;
        self.stack.pop().ok_or_else(|| "a value that is missing".to_owned())
    }

    /// Pops the values above the last mark.
    fn marked(&mut self) -> Result<Vec<Id>, String> {
        let mark = self.marks.pop().ok_or("a mark that is missing")?;
        Ok(self.stack.split_off(mark.min(self.stack.len())))
    }

    /// Appends `items` to the list on top of the stack, or inserts them as pairs into the dictionary there.
    fn extend(&mut self, items: &[Id]) -> Result<(), String> {
        let target = self.pop()?;
        self.stack.push(target);
        match &mut self.values[target] {
            Value::List(list) => list.extend_from_slice(items),
            Value::Dict(entries) => {
                let (pairs, []) = items.as_chunks::<2>() else { return Err("a key without a value".to_owned()) };
                entries.extend(pairs.iter().map(|&[key, value]| (key, value)));
            }
            _ => return Err("items for a value that is not a list or dictionary".to_owned()),
        }
        Ok(())
    }

    /// Stores the top of the stack in the memo, under a number of `N` bytes.
    fn put_at<const N: usize>(&mut self) -> Result<(), String> {
        let number = self.memo_number::<N>()?;
        self.put(number)
    }

    fn put(&mut self, number: u32) -> Result<(), String> {
        let value = self.pop()?;
        self.stack.push(value);
        most(self.memo.len(), "values to remember")?;
        self.memo.insert(number, value);
        Ok(())
    }

    /// Pushes the memo's value with a number of `N` bytes.
    fn get<const N: usize>(&mut self) -> Result<(), String> {
        let number = self.memo_number::<N>()?;
        let value = *self.memo.get(&number).ok_or_else(|| format!("value {number}, which is not in the file"))?;
        most(self.references, "references")?;
        self.references += 1;
        self.stack.push(value);
        Ok(())
    }

    fn memo_number<const N: usize>(&mut self) -> Result<u32, String> {
        let mut number = [0; 4];
        number[..N].copy_from_slice(self.next(N)?);
        Ok(u32::from_le_bytes(number))
    }

    fn class(&mut self, module: &[u8], name: &[u8]) -> Result<(), String> {
        let class = match (module, name) {
            (b"numpy.core.multiarray" | b"numpy._core.multiarray", b"_reconstruct") => Class::Reconstruct,
            (b"numpy.core.numeric" | b"numpy._core.numeric", b"_frombuffer") => Class::FromBuffer,
            (b"numpy", b"ndarray") => Class::NdArray,
            (b"numpy", b"dtype") => Class::DType,
            (b"_codecs", b"encode") => Class::Encode,
            _ => {
                let [module, name] = [module, name].map(|text| shortened(&String::from_utf8_lossy(text)));
                return Err(format!("the class {module}.{name}: only plain data is read, no objects"));
            }
        };
        self.push(Value::Class(class))
    }

    /// Calls a class with a tuple of arguments.
    fn reduce(&mut self) -> Result<(), String> {
        let (arguments, class) = (self.pop()?, self.pop()?);
        let Value::Tuple(arguments) = &self.values[arguments] else {
            return Err("arguments that are not a tuple".to_owned());
        };
        let made = match (&self.values[class], &arguments[..]) {
            (Value::Class(Class::Reconstruct), _) => Value::Array(None),
            (Value::Class(Class::DType), &[name, ..]) => Value::Type(name),
            (Value::Class(Class::FromBuffer), &[data, dtype, shape, order]) => {
                let fortran = matches!(&self.values[order], Value::Bytes(order) if **order == *b"F");
                Value::Array(Some(Array { shape, dtype, fortran, data }))
            }
            (Value::Class(Class::Encode), &[text, ref encoding @ ..]) => {
                let Value::Bytes(text) = &self.values[text] else { return Err("text that is not a string".to_owned()) };
                let latin = |&id: &Id| matches!(&self.values[id], Value::Bytes(name) if **name == *b"latin1");
                if !encoding.first().is_some_and(latin) {
                    return Err("bytes in an encoding other than latin1".to_owned());
                }
                let text = std::str::from_utf8(text).map_err(|_| "text that is not UTF-8")?;
                self.owned += text.len();
                if self.owned > self.bytes.len() {
                    return Err("more bytes than the file has".to_owned());
                }
                let bytes = text.chars().map(|letter| u8::try_from(letter).map_err(|_| "bytes above 255"));
                Value::Bytes(Cow::Owned(bytes.collect::<Result<_, _>>()?))
            }
            _ => return Err("a call that does not make plain data".to_owned()),
        };
        self.push(made)
    }

    /// Sets an object's state.
    fn build(&mut self) -> Result<(), String> {
        let (state, object) = (self.pop()?, self.pop()?);
        self.stack.push(object);
        let Value::Tuple(state) = &self.values[state] else { return Err("a state that is not a tuple".to_owned()) };
        match (&self.values[object], &state[..]) {
            // The state holds the byte order; byte_array() accepts one-byte types only.
            (Value::Type(_), _) => {}
            (Value::Array(None), &[_, shape, dtype, fortran, data]) => {
                let fortran = self.values[fortran] == Value::Bool(true);
                self.values[object] = Value::Array(Some(Array { shape, dtype, fortran, data }));
            }
            _ => return Err("a state for a value that is not an array".to_owned()),
        }
        Ok(())
    }
}

/// Returns an error if there are already [`MOST_VALUES`]: a small packed file can ask for billions.
fn most(count: usize, what: &str) -> Result<(), String> {
    if count < MOST_VALUES { Ok(()) } else { Err(format!("more than {MOST_VALUES} {what}")) }
}
