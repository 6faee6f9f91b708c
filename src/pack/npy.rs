//! Writes the numbers of a field as NumPy's `.npy`, in version 1.0 of the format.

use crate::dataset::{NumberType, Numbers};

/// The header's bytes in front of the dictionary: the magic, the version and the dictionary's length.
const FRONT: usize = 10;
/// The values begin at a multiple of this many bytes, as NumPy wants it.
const ALIGNED: usize = 64;

/// Returns the file of these numbers.
///
/// # Errors
/// The reason, if the shape has too many sides for a header, whose length has 16 bits.
pub(super) fn file(numbers: &Numbers<'_>) -> Result<Vec<u8>, String> {
    let sides: Vec<_> = numbers.shape().iter().map(usize::to_string).collect();
    // A tuple of one value has a comma in Python: `(3,)`.
    let comma = if sides.len() == 1 { "," } else { "" };
    let (descr, shape) = (descr(numbers.number_type()), sides.join(", "));
    let mut text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({shape}{comma}), }}");
    // Spaces and a line break fill the header up to where the values begin.
    let length = (FRONT + text.len() + 1).next_multiple_of(ALIGNED) - FRONT;
    text.extend(std::iter::repeat_n(' ', length - 1 - text.len()));
    text.push('\n');
    let Ok(length) = u16::try_from(length) else {
        return Err(format!("numbers of {} dimensions are too many for the header of an .npy", sides.len()));
    };
    Ok([b"\x93NUMPY\x01\x00", &length.to_le_bytes()[..], text.as_bytes(), numbers.bytes()].concat())
}

/// Returns NumPy's code of a type, with the order of bytes of this machine.
fn descr(number_type: NumberType) -> String {
    let kind = match number_type {
        NumberType::Bool => 'b',
        NumberType::U8 | NumberType::U16 | NumberType::U32 | NumberType::U64 => 'u',
        NumberType::I8 | NumberType::I16 | NumberType::I32 | NumberType::I64 => 'i',
        NumberType::F16 | NumberType::F32 | NumberType::F64 => 'f',
    };
    let order = match number_type.bytes() {
        1 => '|',
        _ if cfg!(target_endian = "big") => '>',
        _ => '<',
    };
    format!("{order}{kind}{}", number_type.bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_as_numpy_writes_it() {
        // The files that numpy.save writes of numpy.float32([[1, 2, 3]]), numpy.int64([7]) and numpy.bool_(True).
        let floats = [1.0_f32, 2.0, 3.0].map(f32::to_ne_bytes).concat();
        for (numbers, dictionary) in [
            (
                Numbers::new(NumberType::F32, [1, 3], floats).unwrap(),
                "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 3), }",
            ),
            (
                Numbers::new(NumberType::I64, [1], 7_i64.to_ne_bytes().to_vec()).unwrap(),
                "{'descr': '<i8', 'fortran_order': False, 'shape': (1,), }",
            ),
            (Numbers::from(true), "{'descr': '|b1', 'fortran_order': False, 'shape': (), }"),
        ] {
            let file = file(&numbers).unwrap();
            let (header, values) = file.split_at(128);
            assert_eq!(&header[..10], b"\x93NUMPY\x01\x00\x76\x00");
            let text = std::str::from_utf8(&header[10..]).unwrap();
            assert_eq!(text.trim_end(), dictionary);
            assert!(text.ends_with(" \n") && values == numbers.bytes(), "{text:?}");
        }
    }

    #[test]
    fn a_shape_of_any_length_is_aligned_or_refused() {
        for sides in 0..40 {
            let numbers = Numbers::new(NumberType::U8, vec![1; sides], vec![9]).unwrap();
            let file = file(&numbers).unwrap();
            assert_eq!(((file.len() - 1) % 64, file.last()), (0, Some(&9)), "{sides}");
        }
        let numbers = Numbers::new(NumberType::U8, vec![1; 30_000], vec![9]).unwrap();
        assert!(file(&numbers).unwrap_err().contains("30000 dimensions"));
    }
}
