//! Outputs that must not change: the batches of the built-in recipes, bit for bit, the parameters that transforms draw,
//! and the meaning of today's files. A test that fails says which case differs and, where the change is meant, how to
//! renew the file.
//!
//! The shaders are frozen in `tests/shaders/frozen.rs`, which knows every shader's text; the report of `bench` is in
//! `crates/cli/src/results/frozen.rs`, beside its struct. Bits that a GPU computes depend on its driver, so
//! `scripts/same-bits.sh` compares those of two builds.

mod batches;
mod files;
mod operators;
mod parameters;
mod policies;
