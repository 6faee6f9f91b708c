//! Labels of any numeric type.

use super::header::ArrayHeader;
use super::values;
use crate::dataset::unpacked::Unpacked;
use crate::dataset::{Arrays, Dataset, label_numbers};
use crate::error::Result;

/// Returns `data` with the labels of `source`: classes or targets.
pub(super) fn labelled(data: Arrays, source: &mut Unpacked<'_>) -> Result<Arrays> {
    let header = ArrayHeader::read(source)?;
    let count = data.len();
    let each = match header.shape[..] {
        [labels] if labels == count => 1,
        [labels, each] if labels == count && each > 0 && (each == 1 || header.kind == 'f') => each,
        _ => {
            let reason = format!(
                "labels of shape {:?} and type {}, but there are {count} images; whole numbers are ({count},), \
                 floats ({count},) or ({count}, k)",
                header.shape,
                header.type_name()
            );
            return Err(source.error(reason));
        }
    };
    if (header.kind, header.size) == ('f', 2) {
        return Err(source.error("labels of float16; save them as labels.astype(numpy.float32)"));
    }
    let start = source.offset();
    let bytes = values(source, &header, "labels")?;
    let numbers = bytes.chunks_exact(header.size).map(|bytes| {
        let mut number = [0; 8];
        number[..header.size].copy_from_slice(bytes);
        if header.big_endian {
            number[..header.size].reverse();
        }
        number
    });
    let wrong = |at: usize, reason: String| Err(source.error_at(start + (at * header.size) as u64, reason));
    match (header.kind, header.size) {
        ('f', size) => {
            let mut targets = Vec::with_capacity(count * each);
            for (at, [a, b, c, d, e, f, g, h]) in numbers.enumerate() {
                let value = match size {
                    4 => Ok(f32::from_le_bytes([a, b, c, d])),
                    _ => label_numbers::of_float(f64::from_le_bytes([a, b, c, d, e, f, g, h])),
                };
                let value = match value {
                    Ok(value) => value,
                    Err(reason) => return wrong(at, format!("label {at}: {reason}")),
                };
                if !value.is_finite() {
                    return wrong(at, format!("label {at} is {value}, which cannot be learnt"));
                }
                targets.push(value);
            }
            data.with_targets(targets)
        }
        (kind, size) => {
            let mut classes = Vec::with_capacity(count);
            for (at, number) in numbers.enumerate() {
                let value = u64::from_le_bytes(number);
                let negative = kind == 'i' && value >> (8 * size - 1) == 1;
                match u32::try_from(value) {
                    Ok(class) if !negative => classes.push(class),
                    _ if negative => return wrong(at, format!("label {at} is negative, but classes count from 0")),
                    _ => return wrong(at, format!("label {at} is {value}, but classes go up to {}", u32::MAX)),
                }
            }
            data.with_labels(classes)
        }
    }
}
