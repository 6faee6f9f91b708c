//! Batches of a loader: their order, their samples, their settings, on every backend.

mod blocks;
mod buffers;
mod crops;
mod custom_refused;
mod determinism;
mod ending;
mod failures;
mod fields;
mod groups;
mod jobs;
mod large_sample;
mod mixing;
mod mixing_large;
mod mixing_refused;
mod mixing_vectors;
mod one_channel;
mod policies;
mod policies_mixed;
mod policies_refused;
mod policy_shaders;
mod recipes;
mod replay;
mod scaled_decode;
mod settings;
mod views;
mod waiting;
