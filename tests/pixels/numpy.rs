//! A reader of NumPy's `.npy` files, version 1, as far as the golden vectors use them: little-endian f32 or u8 in C
//! order.

use std::path::Path;

pub(crate) enum Array {
    Floats(Vec<f32>),
    Bytes(Vec<u8>),
}

/// Returns the elements of the file at `path`.
///
/// # Panics
/// If the file is no such array or has another shape.
pub(crate) fn read(path: &Path, shape: [usize; 3]) -> Array {
    let file = std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    parse(&file, shape).unwrap_or_else(|reason| panic!("{}: {reason}", path.display()))
}

/// Parses a file: ten bytes (magic, version, length of the header), the header as a Python dictionary, the elements.
fn parse(file: &[u8], [channels, height, width]: [usize; 3]) -> Result<Array, String> {
    let (start, rest) = file.split_at_checked(10).ok_or("too short")?;
    if &start[..8] != b"\x93NUMPY\x01\x00" {
        return Err(format!("starts with {:?}", &start[..8]));
    }
    let header_len = usize::from(u16::from_le_bytes([start[8], start[9]]));
    let (header, data) = rest.split_at_checked(header_len).ok_or("ends in its header")?;
    let header = std::str::from_utf8(header).map_err(|error| error.to_string())?;
    let says = |text: &str| header.contains(text);
    if !says("'fortran_order': False") || !says(&format!("'shape': ({channels}, {height}, {width})")) {
        return Err(format!("not {channels}x{height}x{width} in C order: {header}"));
    }
    let count = channels * height * width;
    if says("'descr': '|u1'") && data.len() == count {
        Ok(Array::Bytes(data.to_vec()))
    } else if says("'descr': '<f4'") && data.len() == 4 * count {
        Ok(Array::Floats(data.as_chunks::<4>().0.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect()))
    } else {
        Err(format!("{} bytes of data: {header}", data.len()))
    }
}

#[test]
fn the_parser_rejects_other_files() {
    let header = "{'descr': '|u1', 'fortran_order': False, 'shape': (1, 1, 2), }\n";
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend((header.len() as u16).to_le_bytes());
    file.extend(header.as_bytes());
    file.extend([7, 9]);
    assert!(matches!(parse(&file, [1, 1, 2]), Ok(Array::Bytes(bytes)) if bytes == [7, 9]));
    assert!(parse(&file, [1, 2, 1]).is_err());
    assert!(parse(&file[..file.len() - 1], [1, 1, 2]).is_err());
    assert!(parse(&file[..40], [1, 1, 2]).is_err());
    assert!(parse(&file[1..], [1, 1, 2]).is_err());
}
