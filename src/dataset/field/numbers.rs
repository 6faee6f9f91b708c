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
}
