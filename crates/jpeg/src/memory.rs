//! Buffers that grow to the largest image.

use crate::Error;

/// Makes `buffer` at least `length` bytes long. The old memory goes first and the new one comes zeroed from the system, so
/// a hostile header reserves pages but touches none.
///
/// # Errors
/// [`Error::NoMemory`]; the buffer is then empty.
pub fn try_grow(buffer: &mut Vec<u8>, length: usize) -> Result<(), Error> {
    if buffer.len() < length {
        *buffer = Vec::new();
        *buffer = bytemuck::allocation::try_zeroed_vec(length).map_err(|()| Error::NoMemory { bytes: length })?;
    }
    Ok(())
}

/// As [`try_grow`], for lengths of what is in memory already: without that memory the process ends.
pub(crate) fn grow(buffer: &mut Vec<u8>, length: usize) {
    if buffer.len() < length {
        *buffer = Vec::new();
        *buffer = vec![0; length];
    }
}
