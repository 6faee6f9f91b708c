//! Reads and writes a file at a given offset. The file's own position is not used, so many threads can share the file.

use std::fs::File;
use std::io;

/// Fills `buffer` with the bytes of the file from `offset` on.
///
/// # Errors
/// [`UnexpectedEof`](io::ErrorKind::UnexpectedEof) if the file ends too early; the system's errors.
#[cfg(unix)]
pub(crate) fn read_exact(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, buffer, offset)
}

/// Fills `buffer` with the bytes of the file from `offset` on.
///
/// # Errors
/// [`UnexpectedEof`](io::ErrorKind::UnexpectedEof) if the file ends too early; the system's errors.
#[cfg(windows)]
pub(crate) fn read_exact(file: &File, mut buffer: &mut [u8], mut offset: u64) -> io::Result<()> {
    use std::os::windows::fs::FileExt;
    while !buffer.is_empty() {
        match file.seek_read(buffer, offset)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            read => (buffer, offset) = (&mut buffer[read..], offset + read as u64),
        }
    }
    Ok(())
}

/// Writes `bytes` into the file from `offset` on.
///
/// # Errors
/// The system's errors.
#[cfg(unix)]
pub(crate) fn write_all(file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, offset)
}

/// Writes `bytes` into the file from `offset` on.
///
/// # Errors
/// The system's errors.
#[cfg(windows)]
pub(crate) fn write_all(file: &File, mut bytes: &[u8], mut offset: u64) -> io::Result<()> {
    use std::os::windows::fs::FileExt;
    while !bytes.is_empty() {
        match file.seek_write(bytes, offset)? {
            0 => return Err(io::ErrorKind::WriteZero.into()),
            written => (bytes, offset) = (&bytes[written..], offset + written as u64),
        }
    }
    Ok(())
}
