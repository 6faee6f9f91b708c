//! Files of this machine.

pub(crate) mod atomic_file;
pub(crate) mod read_at;
pub(crate) mod regular_file;
