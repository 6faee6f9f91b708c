//! Compares the report's claims with its measurements; nothing here measures. `bottleneck.rs` compares the resource
//! that the statistics name with the effect of slowed stages, and `consistency.rs` marks contradictions between parts
//! of a finished report.

pub(crate) mod bottleneck;
pub(crate) mod consistency;
