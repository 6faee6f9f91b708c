//! Batches for other libraries, without a trip through host memory.

pub mod burn;
