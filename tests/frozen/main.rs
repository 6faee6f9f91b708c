//! What must not change: the batches of the built-in recipes, bit for bit, the parameters that are drawn, and what files
//! of today mean. A test that fails says which case differs and how to renew the file, where the change is meant.
//!
//! The shaders are in `tests/shaders/frozen.rs`, which knows every text; `bench`'s report is in
//! `crates/cli/src/results/frozen.rs`, beside its struct. Bits of a GPU belong to its driver: `scripts/same-bits.sh`.

mod batches;
mod files;
mod operators;
mod parameters;
