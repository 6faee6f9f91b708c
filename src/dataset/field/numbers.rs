//! Numbers of a field: their type, their shape and their bytes.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// The type of a field's numbers.
///
/// ```
/// use gpufeed::dataset::NumberType;
///
/// assert_eq!((NumberType::F16.bytes(), NumberType::I64.name()), (2, "int64"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum NumberType {
    /// `true` and `false`, a byte each.
    Bool,
    /// Whole numbers of 8 bits without a sign.
    U8,
    /// Whole numbers of 8 bits.
    I8,
    /// Whole numbers of 16 bits without a sign.
    U16,
    /// Whole numbers of 16 bits.
    I16,
    /// Whole numbers of 32 bits without a sign.
    U32,
    /// Whole numbers of 32 bits.
    I32,
    /// Whole numbers of 64 bits without a sign.
    U64,
    /// Whole numbers of 64 bits.
    I64,
    /// Floats of 16 bits.
    F16,
    /// Floats of 32 bits.
    F32,
    /// Floats of 64 bits.
    F64,
}

impl NumberType {
    /// Bytes of a number.
    pub fn bytes(self) -> usize {
        match self {
            NumberType::Bool | NumberType::U8 | NumberType::I8 => 1,
            NumberType::U16 | NumberType::I16 | NumberType::F16 => 2,
            NumberType::U32 | NumberType::I32 | NumberType::F32 => 4,
            NumberType::U64 | NumberType::I64 | NumberType::F64 => 8,
        }
    }

    /// The name of the type in NumPy, such as `float32`.
    pub fn name(self) -> &'static str {
        match self {
            NumberType::Bool => "bool",
            NumberType::U8 => "uint8",
            NumberType::I8 => "int8",
            NumberType::U16 => "uint16",
            NumberType::I16 => "int16",
            NumberType::U32 => "uint32",
            NumberType::I32 => "int32",
            NumberType::U64 => "uint64",
            NumberType::I64 => "int64",
            NumberType::F16 => "float16",
            NumberType::F32 => "float32",
            NumberType::F64 => "float64",
        }
    }
}

/// Numbers of one type in a shape, the last axis fastest; a single number has the shape `[]`.
///
/// ```
/// use gpufeed::dataset::{NumberType, Numbers};
///
/// let half = Numbers::from(0.5);
/// assert_eq!((half.number_type(), half.shape()), (NumberType::F64, &[][..]));
/// let pair = Numbers::new(NumberType::I32, [2], [1_i32, 2].map(i32::to_ne_bytes).concat())?;
/// assert_eq!(pair.shape(), [2]);
/// # Ok::<(), gpufeed::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Numbers<'a> {
    number_type: NumberType,
    shape: Vec<usize>,
    bytes: Cow<'a, [u8]>,
}

impl<'a> Numbers<'a> {
    /// Numbers of a type and a shape, from their bytes in the machine's order.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`](crate::ErrorKind::Argument) if there are more or fewer bytes than the shape has.
    pub fn new(
        number_type: NumberType,
        shape: impl Into<Vec<usize>>,
        bytes: impl Into<Cow<'a, [u8]>>,
    ) -> Result<Numbers<'a>> {
        let (shape, bytes) = (shape.into(), bytes.into());
        let count = shape.iter().try_fold(1_usize, |count, &side| count.checked_mul(side));
        let expected = count.and_then(|count| count.checked_mul(number_type.bytes()));
        if expected != Some(bytes.len()) {
            let (name, found) = (number_type.name(), bytes.len());
            let reason = format!("{name} of shape {shape:?} has another number of bytes than the {found} given");
            return Err(Error::argument("numbers", reason));
        }
        Ok(Numbers { number_type, shape, bytes })
    }

    /// The type of the numbers.
    pub fn number_type(&self) -> NumberType {
        self.number_type
    }

    /// The shape; `[]` of a single number.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The numbers in the machine's order of bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(super) fn into_owned(self) -> Numbers<'static> {
        Numbers { number_type: self.number_type, shape: self.shape, bytes: Cow::Owned(self.bytes.into_owned()) }
    }

    /// The numbers in another type; `None` if it does not hold one of them. A fraction becomes the nearest of a smaller
    /// float. Numbers of a type other than `bool`, int64 and float64 are only converted to their own type.
    pub(crate) fn in_type(&self, to: NumberType) -> Option<Numbers<'static>> {
        if self.number_type == to {
            return Some(self.clone().into_owned());
        }
        let mut bytes = Vec::with_capacity(self.bytes.len() / self.number_type.bytes() * to.bytes());
        for number in self.bytes.chunks_exact(self.number_type.bytes()) {
            let (whole, float) = match self.number_type {
                NumberType::I64 => {
                    let whole = i64::from_ne_bytes(number.try_into().ok()?);
                    (Some(whole), whole as f64)
                }
                NumberType::F64 => {
                    let float = f64::from_ne_bytes(number.try_into().ok()?);
                    let is_whole = float.fract() == 0.0 && float.abs() < (1_u64 << 53) as f64;
                    (is_whole.then_some(float as i64), float)
                }
                _ => return None,
            };
            // A float is taken as it is, a whole number only if it stays the same.
            let is_float = self.number_type == NumberType::F64;
            let holds = |near: f64| {
                (is_float && near.is_infinite() == float.is_infinite()) || Some(near as i128) == whole.map(i128::from)
            };
            match to {
                NumberType::Bool => return None,
                NumberType::U8 => bytes.extend(u8::try_from(whole?).ok()?.to_ne_bytes()),
                NumberType::I8 => bytes.extend(i8::try_from(whole?).ok()?.to_ne_bytes()),
                NumberType::U16 => bytes.extend(u16::try_from(whole?).ok()?.to_ne_bytes()),
                NumberType::I16 => bytes.extend(i16::try_from(whole?).ok()?.to_ne_bytes()),
                NumberType::U32 => bytes.extend(u32::try_from(whole?).ok()?.to_ne_bytes()),
                NumberType::I32 => bytes.extend(i32::try_from(whole?).ok()?.to_ne_bytes()),
                NumberType::U64 => bytes.extend(u64::try_from(whole?).ok()?.to_ne_bytes()),
                NumberType::I64 => bytes.extend(whole?.to_ne_bytes()),
                NumberType::F16 => {
                    let near = half::f16::from_f64(float);
                    bytes.extend(holds(near.to_f64()).then_some(near)?.to_ne_bytes());
                }
                NumberType::F32 => {
                    let near = float as f32;
                    bytes.extend(holds(near.into()).then_some(near)?.to_ne_bytes());
                }
                NumberType::F64 => bytes.extend(holds(float).then_some(float)?.to_ne_bytes()),
            }
        }
        Some(Numbers { number_type: to, shape: self.shape.clone(), bytes: Cow::Owned(bytes) })
    }

    fn single(number_type: NumberType, bytes: &[u8]) -> Numbers<'static> {
        Numbers { number_type, shape: Vec::new(), bytes: Cow::Owned(bytes.to_vec()) }
    }
}

impl From<f64> for Numbers<'static> {
    fn from(number: f64) -> Self {
        Numbers::single(NumberType::F64, &number.to_ne_bytes())
    }
}

impl From<i64> for Numbers<'static> {
    fn from(number: i64) -> Self {
        Numbers::single(NumberType::I64, &number.to_ne_bytes())
    }
}

impl From<bool> for Numbers<'static> {
    fn from(number: bool) -> Self {
        Numbers::single(NumberType::Bool, &[u8::from(number)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_have_to_fit_type_and_shape() {
        assert!(Numbers::new(NumberType::F32, [2, 3], vec![0; 24]).is_ok());
        assert!(Numbers::new(NumberType::F32, [], vec![0; 4]).is_ok());
        assert!(Numbers::new(NumberType::U8, [0], Vec::new()).is_ok());
        for (shape, bytes) in [(vec![2, 3], 23), (vec![2], 4), (vec![usize::MAX, 2], 0), (vec![], 0)] {
            let error = Numbers::new(NumberType::F32, shape, vec![0; bytes]).unwrap_err().to_string();
            assert!(error.contains("another number of bytes"), "{error}");
        }
    }

    #[test]
    fn numbers_change_their_type_where_it_holds_them() {
        let whole = |number: i64, to| Numbers::from(number).in_type(to).map(|numbers| numbers.bytes().to_vec());
        let float = |number: f64, to| Numbers::from(number).in_type(to).map(|numbers| numbers.bytes().to_vec());
        assert_eq!(whole(-1, NumberType::F32), Some((-1.0_f32).to_ne_bytes().into()));
        assert_eq!(whole(-1, NumberType::I8), Some((-1_i8).to_ne_bytes().into()));
        assert_eq!(float(-1.0, NumberType::I64), Some((-1_i64).to_ne_bytes().into()));
        assert_eq!(float(0.1, NumberType::F32), Some(0.1_f32.to_ne_bytes().into()));
        assert_eq!(float(0.5, NumberType::F16), Some(half::f16::from_f64(0.5).to_ne_bytes().into()));
        assert!(float(f64::NAN, NumberType::F32).is_some_and(|bytes| bytes.len() == 4));
        assert!(float(f64::INFINITY, NumberType::F16).is_some());
        for lost in [
            whole(-1, NumberType::U8),
            whole(300, NumberType::I8),
            whole((1 << 53) + 1, NumberType::F64),
            whole(2049, NumberType::F16),
            whole(1, NumberType::Bool),
            float(0.5, NumberType::I32),
            float(1e300, NumberType::F32),
            float(f64::NAN, NumberType::I64),
        ] {
            assert_eq!(lost, None);
        }
    }
}
