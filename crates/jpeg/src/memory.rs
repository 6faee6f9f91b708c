//! Buffers that grow to the size of the largest image.

use crate::Error;

/// Makes `buffer` at least `length` elements long. Its content is lost if it grows.
///
/// The old memory is freed first. The new memory comes zeroed from the system, so the size in a hostile header reserves
/// pages and touches none of them.
///
/// # Errors
/// [`Error::NoMemory`] if the allocation fails. The buffer is then empty.
pub fn try_grow<T: bytemuck::Zeroable>(buffer: &mut Vec<T>, length: usize) -> Result<(), Error> {
    if buffer.len() < length {
        *buffer = Vec::new();
        let zeroed = bytemuck::allocation::try_zeroed_vec(length);
        *buffer = zeroed.map_err(|()| Error::NoMemory { bytes: length.saturating_mul(size_of::<T>()) })?;
    }
    Ok(())
}

/// Makes `buffer` at least `length` bytes long, for lengths of data that are in memory already. Its content is lost if
/// it grows. The process aborts if the allocation fails.
pub(crate) fn grow(buffer: &mut Vec<u8>, length: usize) {
    if buffer.len() < length {
        *buffer = Vec::new();
        *buffer = vec![0; length];
    }
}
