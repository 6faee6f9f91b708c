//! Files of this machine: opened, read at an offset, replaced as a whole.

pub(crate) mod atomic_file;
pub(crate) mod read_at;
pub(crate) mod regular_file;
