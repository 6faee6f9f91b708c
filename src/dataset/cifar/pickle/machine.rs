//! The machine that a pickle's opcodes run on.

use std::borrow::Cow;
use std::collections::HashMap;

use super::{Array, Class, Id, Value};
use crate::dataset::shown::shortened;

/// Most values in a file, of marks at a time, of values remembered, and of references to these; CIFAR's largest has
/// 150,000 values. A value takes a byte of the file, less of a packed one, and 100 bytes in memory.
pub(super) const MOST_VALUES: usize = 1 << 20;

/// The pickle machine between two opcodes.
pub(super) struct Machine<'a> {
    bytes: &'a [u8],
    at: usize,
    values: Vec<Value<'a>>,
    stack: Vec<Id>,
    /// Heights of the stack.
    marks: Vec<usize>,
    memo: HashMap<u32, Id>,
    /// How often the memo was asked: each time costs a place on the stack, and later in a list or tuple.
    references: usize,
    /// Bytes of values that are no part of the file.
    owned: usize,
}

impl<'a> Machine<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Machine {
            bytes,
            at: 0,
            values: Vec::new(),
            stack: Vec::new(),
            marks: Vec::new(),
            memo: HashMap::new(),
            references: 0,
            owned: 0,
        }
    }

    /// Bytes of the file that have been read.
    pub(super) fn position(&self) -> usize {
        self.at
    }

    /// All values that have been made.
    pub(super) fn into_values(self) -> Vec<Value<'a>> {
        self.values
    }

    /// Carries out an opcode; the result of the file if it is the last one.
    pub(super) fn step(&mut self) -> Result<Option<Id>, String> {
        let [opcode] = self.fixed()?;
        match opcode {
            0x80 => {
                let [protocol] = self.fixed()?;
                if protocol > 5 {
                    return Err(format!("protocol {protocol}, but the latest known is 5"));
                }
            }
            0x95 => drop(self.fixed::<8>()?), // A frame's length, which reading whole files needs not.
            b'.' => return self.pop().map(Some),
            b'(' => {
                most(self.marks.len(), "marks")?;
                self.marks.push(self.stack.len());
            }
            b'0' => drop(self.pop()?),
            b'N' => self.push(Value::None)?,
            0x88 => self.push(Value::Bool(true))?,
            0x89 => self.push(Value::Bool(false))?,
            b'J' => {
                let value = i32::from_le_bytes(self.fixed()?);
                self.push(Value::Int(value.into()))?;
            }
            b'K' => {
                let [value] = self.fixed()?;
                self.push(Value::Int(value.into()))?;
            }
            b'M' => {
                let value = u16::from_le_bytes(self.fixed()?);
                self.push(Value::Int(value.into()))?;
            }
            0x8A => {
                let bytes = self.counted::<1>()?;
                let negative = bytes.last().is_some_and(|&byte| byte > 127);
                let mut wide = [if negative { 255 } else { 0 }; 8];
                wide.get_mut(..bytes.len()).ok_or("a number of more than 64 bits")?.copy_from_slice(bytes);
                self.push(Value::Int(i64::from_le_bytes(wide)))?;
            }
            b'G' => {
                self.fixed::<8>()?;
                self.push(Value::Float)?;
            }
            b'T' | b'X' | b'B' => self.string::<4>()?,
            b'U' | b'C' | 0x8C => self.string::<1>()?,
            0x8D | 0x8E | 0x96 => self.string::<8>()?,
            b']' => self.push(Value::List(Vec::new()))?,
            b')' => self.push(Value::Tuple(Vec::new()))?,
            b'}' => self.push(Value::Dict(Vec::new()))?,
            b't' => {
                let items = self.marked()?;
                self.push(Value::Tuple(items))?;
            }
            0x85..=0x87 => {
                let from = self
                    .stack
                    .len()
                    .checked_sub(usize::from(opcode - 0x84))
                    .ok_or("a tuple of values that are missing")?;
                self.above_mark(from)?;
                let items = self.stack.split_off(from);
                self.push(Value::Tuple(items))?;
            }
            b'a' => {
                let item = self.pop()?;
                self.extend(&[item])?;
            }
            b'e' => {
                let items = self.marked()?;
                self.extend(&items)?;
            }
            b's' => {
                let (value, key) = (self.pop()?, self.pop()?);
                self.extend(&[key, value])?;
            }
            b'u' => {
                let items = self.marked()?;
                self.extend(&items)?;
            }
            b'q' => {
                let [number] = self.fixed()?;
                self.put(number.into())?;
            }
            b'r' => {
                let number = u32::from_le_bytes(self.fixed()?);
                self.put(number)?;
            }
            0x94 => self.put(self.memo.len() as u32)?,
            b'h' => {
                let [number] = self.fixed()?;
                self.get(number.into())?;
            }
            b'j' => {
                let number = u32::from_le_bytes(self.fixed()?);
                self.get(number)?;
            }
            b'c' => {
                let (module, name) = (self.line()?, self.line()?);
                self.class(module, name)?;
            }
            0x93 => {
                let (name, module) = (self.pop()?, self.pop()?);
                let text = |id: Id| match &self.values[id] {
                    Value::Bytes(bytes) => Ok(bytes.to_vec()),
                    _ => Err("a class whose name is no string"),
                };
                let (module, name) = (text(module)?, text(name)?);
                self.class(&module, &name)?;
            }
            b'R' => self.reduce()?,
            b'b' => self.build()?,
            other => {
                return Err(format!("opcode {:?}: objects that are no plain data are not read", char::from(other)));
            }
        }
        Ok(None)
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

    /// Bytes whose number is in the `N` bytes before them.
    fn counted<const N: usize>(&mut self) -> Result<&'a [u8], String> {
        let mut count = [0; 8];
        count[..N].copy_from_slice(self.next(N)?);
        let count = u64::from_le_bytes(count);
        self.next(usize::try_from(count).unwrap_or(usize::MAX))
    }

    /// Bytes up to the end of a line.
    fn line(&mut self) -> Result<&'a [u8], String> {
        let rest = &self.bytes[self.at..];
        let length = rest.iter().position(|&byte| byte == b'\n').ok_or("a line without an end")?;
        self.at += length + 1;
        Ok(&rest[..length])
    }

    fn string<const N: usize>(&mut self) -> Result<(), String> {
        let bytes = self.counted::<N>()?;
        self.push(Value::Bytes(Cow::Borrowed(bytes)))
    }

    fn push(&mut self, value: Value<'a>) -> Result<(), String> {
        most(self.values.len(), "values")?;
        self.values.push(value);
        self.stack.push(self.values.len() - 1);
        Ok(())
    }

    /// An error if an opcode takes values from below the last mark.
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

    /// The values above the last mark.
    fn marked(&mut self) -> Result<Vec<Id>, String> {
        let mark = self.marks.pop().ok_or("a mark that is missing")?;
        Ok(self.stack.split_off(mark.min(self.stack.len())))
    }

    /// Adds `items` to the list, or pairs of them to the dictionary, on top of the stack.
    fn extend(&mut self, items: &[Id]) -> Result<(), String> {
        let target = self.pop()?;
        self.stack.push(target);
        match &mut self.values[target] {
            Value::List(list) => list.extend_from_slice(items),
            Value::Dict(entries) => {
                let (pairs, []) = items.as_chunks::<2>() else { return Err("a key without a value".to_owned()) };
                entries.extend(pairs.iter().map(|&[key, value]| (key, value)));
            }
            _ => return Err("items for what is no list or dictionary".to_owned()),
        }
        Ok(())
    }

    fn put(&mut self, number: u32) -> Result<(), String> {
        let value = self.pop()?;
        self.stack.push(value);
        most(self.memo.len(), "values to remember")?;
        self.memo.insert(number, value);
        Ok(())
    }

    fn get(&mut self, number: u32) -> Result<(), String> {
        let value = *self.memo.get(&number).ok_or_else(|| format!("value {number}, which is not in the file"))?;
        most(self.references, "references")?;
        self.references += 1;
        self.stack.push(value);
        Ok(())
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
                return Err(format!("the class {module}.{name}: objects that are no plain data are not read"));
            }
        };
        self.push(Value::Class(class))
    }

    /// Calls a class with a tuple of arguments.
    fn reduce(&mut self) -> Result<(), String> {
        let (arguments, class) = (self.pop()?, self.pop()?);
        let Value::Tuple(arguments) = &self.values[arguments] else {
            return Err("arguments that are no tuple".to_owned());
        };
        let made = match (&self.values[class], &arguments[..]) {
            (Value::Class(Class::Reconstruct), _) => Value::Array(None),
            (Value::Class(Class::DType), &[name, ..]) => Value::Type(name),
            (Value::Class(Class::FromBuffer), &[data, dtype, shape, order]) => {
                let fortran = matches!(&self.values[order], Value::Bytes(order) if **order == *b"F");
                Value::Array(Some(Array { shape, dtype, fortran, data }))
            }
            (Value::Class(Class::Encode), &[text, ref encoding @ ..]) => {
                let Value::Bytes(text) = &self.values[text] else { return Err("text that is no string".to_owned()) };
                let latin = |&id: &Id| matches!(&self.values[id], Value::Bytes(name) if **name == *b"latin1");
                if !encoding.first().is_some_and(latin) {
                    return Err("bytes in an encoding other than latin1".to_owned());
                }
                let text = std::str::from_utf8(text).map_err(|_| "text that is no UTF-8")?;
                self.owned += text.len();
                if self.owned > self.bytes.len() {
                    return Err("more bytes than the file has".to_owned());
                }
                let bytes = text.chars().map(|letter| u8::try_from(letter).map_err(|_| "bytes above 255"));
                Value::Bytes(Cow::Owned(bytes.collect::<Result<_, _>>()?))
            }
            _ => return Err("a call that makes no plain data".to_owned()),
        };
        self.push(made)
    }

    /// Sets an object's state.
    fn build(&mut self) -> Result<(), String> {
        let (state, object) = (self.pop()?, self.pop()?);
        self.stack.push(object);
        let Value::Tuple(state) = &self.values[state] else { return Err("a state that is no tuple".to_owned()) };
        match (&self.values[object], &state[..]) {
            // Of one-byte types, the state says nothing; byte_array() takes no others.
            (Value::Type(_), _) => {}
            (Value::Array(None), &[_, shape, dtype, fortran, data]) => {
                let fortran = self.values[fortran] == Value::Bool(true);
                self.values[object] = Value::Array(Some(Array { shape, dtype, fortran, data }));
            }
            _ => return Err("a state for what is no array".to_owned()),
        }
        Ok(())
    }
}

/// An error if `count` things leave no room for another one: a small packed file can ask for billions.
fn most(count: usize, what: &str) -> Result<(), String> {
    if count < MOST_VALUES { Ok(()) } else { Err(format!("more than {MOST_VALUES} {what}")) }
}
