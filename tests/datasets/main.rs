//! Data sets and the files that they read.

mod archives;
mod arrays;
mod lmdb_mutants;
mod shard;
mod special_files;
