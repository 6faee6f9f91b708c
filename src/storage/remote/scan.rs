//! Reads a remote object from front to back, for a scan such as that of a tar shard's headers, in parts of the size
//! that a connection fetches.

use super::object::RemoteObject;
use std::io;

/// Bytes of a part. A part is one block, the smallest piece that a connection fetches.
const PART: u64 = super::blocks::BLOCK;
/// The number of parts that are announced ahead of the part that is read.
const AHEAD: u64 = 4;
/// The most parts in memory. There are several, because a scan goes back a little now and then.
const HELD: usize = 3;

/// A scan of an object. It keeps the parts that it has fetched last.
#[derive(Debug, Default)]
pub(crate) struct ObjectScan {
    /// The parts in memory, each with its number. The part that was fetched last is at the end.
    parts: Vec<(u64, Vec<u8>)>,
    /// The number of the first part that was not announced yet.
    expected: u64,
}

impl ObjectScan {
    /// Fills `buffer` with the bytes of `object` from `offset` on.
    ///
    /// # Errors
    /// The errors of [`RemoteObject::read_exact`].
    pub(crate) fn read(&mut self, object: &RemoteObject, mut buffer: &mut [u8], mut offset: u64) -> io::Result<()> {
        if offset.checked_add(buffer.len() as u64).is_none_or(|end| end > object.len()) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        while !buffer.is_empty() {
            let number = offset / PART;
            let at = self.part(object, number)?;
            let part = &self.parts[at].1[(offset % PART) as usize..];
            let count = part.len().min(buffer.len());
            buffer[..count].copy_from_slice(&part[..count]);
            (buffer, offset) = (&mut buffer[count..], offset + count as u64);
        }
        Ok(())
    }

    /// Returns the index in `parts` of the part with this number. Fetches the part if it is not in memory.
    fn part(&mut self, object: &RemoteObject, number: u64) -> io::Result<usize> {
        if let Some(at) = self.parts.iter().position(|(known, _)| *known == number) {
            return Ok(at);
        }
        let range = |number: u64| number * PART..((number + 1) * PART).min(object.len());
        // If this part follows the part that was fetched last, the next parts are announced, too: the scan will read
        // them.
        let goes_on = self.parts.last().is_some_and(|(last, _)| last + 1 == number);
        let last = if goes_on { number + AHEAD } else { number };
        for part in self.expected.max(number)..=last {
            if part * PART < object.len() {
                object.expect(range(part));
                self.expected = part + 1;
            }
        }
        object.remote().fetch_expected();
        let mut bytes = if self.parts.len() == HELD { self.parts.remove(0).1 } else { Vec::new() };
        let range = range(number);
        bytes.resize((range.end - range.start) as usize, 0);
        object.read_exact(&mut bytes, range.start)?;
        self.parts.push((number, bytes));
        Ok(self.parts.len() - 1)
    }
}
