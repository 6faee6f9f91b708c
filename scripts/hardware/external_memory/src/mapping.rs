//! The memory behind a software driver's file descriptor, mapped into this process: what a CUDA made of `mmap` does.

use crate::pattern::{BYTES, WORDS, word, wrong};
use rustix::fs::fstat;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::ffi::c_void;
use std::os::fd::OwnedFd;
use std::ptr::null_mut;

/// Words in front of the memory that are looked through: lavapipe keeps a header of 4,096 bytes in its file.
const HEAD: usize = 1 << 16;
/// Equal words by which the memory's beginning is known.
const KNOWN_BY: usize = 16;

pub struct Mapping {
    address: *mut c_void,
    bytes: usize,
    /// The word of the file at which the memory begins; `None` before the first round.
    begin: Option<usize>,
}

impl Mapping {
    /// `None` where the descriptor is no file of the buffer's size.
    pub fn of(fd: OwnedFd) -> Option<Mapping> {
        let bytes = usize::try_from(fstat(&fd).ok()?.st_size).ok()?;
        if bytes < BYTES as usize {
            return None;
        }
        // SAFETY: a new mapping, of as many bytes as the file has. Nothing shortens the file while the driver has it.
        let address = unsafe { mmap(null_mut(), bytes, ProtFlags::READ, MapFlags::SHARED, &fd, 0) }.ok()?;
        Some(Mapping { address, bytes, begin: None })
    }

    /// Byte of the file at which the memory begins.
    pub fn begin(&self) -> usize {
        4 * self.begin.unwrap_or(0)
    }

    /// Counts the wrong words of a round that both sides have ended.
    pub fn wrong(&mut self, round: u32) -> Result<u64, String> {
        // SAFETY: the mapping is as long, aligned to pages, and nobody writes before the next round.
        let words = unsafe { std::slice::from_raw_parts(self.address.cast::<u32>(), self.bytes / 4) };
        let begins = |at: &usize| (0..KNOWN_BY).all(|index| words.get(at + index) == Some(&word(index, round)));
        let begin = match self.begin {
            Some(begin) => begin,
            None => (0..HEAD).find(begins).ok_or("the file has not the memory's words")?,
        };
        self.begin = Some(begin);
        let memory = words.get(begin..begin + WORDS).ok_or("the file ends before the memory does")?;
        Ok(wrong(memory, round))
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: it was mapped by `of`, and no slice of it is left.
        let _ = unsafe { munmap(self.address, self.bytes) };
    }
}
