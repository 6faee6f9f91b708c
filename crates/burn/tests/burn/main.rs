//! Batches as Burn's tensors: the same numbers, on the same device, with Burn's fusion on or off (`scripts/test-burn.sh`
//! runs both).

mod errors;
mod hand_over;
mod loader;
mod places;
mod readme;
mod stress;
