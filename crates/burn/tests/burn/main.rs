//! Tests of batches as Burn's tensors: equal values on a shared device, with Burn's fusion on or off
//! (`scripts/test-burn.sh` runs both).

mod errors;
mod hand_over;
mod loader;
mod places;
mod several_devices;
mod stress;
