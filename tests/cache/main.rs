//! A cache changes no bit of a batch.

mod batches;
mod edges;
mod in_bytes;
