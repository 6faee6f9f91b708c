//! Opens files of this machine, reads them at an offset, and replaces them as a whole.

pub(crate) mod atomic_file;
pub(crate) mod read_at;
pub(crate) mod regular_file;
