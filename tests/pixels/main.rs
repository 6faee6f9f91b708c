//! Pixels that the transforms make on every backend, compared with torchvision's, with those of a reference of our own,
//! and with each other.

mod composition;
mod custom;
mod elastic;
mod finished;
mod functional;
mod fusion;
mod gather_regions;
mod golden;
mod hostile_params;
mod jpeg;
mod masks;
mod mixing;
mod mixtures;
mod noise;
mod numpy;
mod objects;
mod photometric;
mod pillow;
mod policy_levels;
mod quirks;
mod run_into;
mod same_bytes;
mod sequences;
mod shared_golden;
mod six_cases;
mod small_and_half;
mod source_region;
mod stores;
mod targets;
mod timm;
mod transforms;
