//! Pixels that the transforms make, on every backend: against torchvision, against a reference of our own, against each other.

mod composition;
mod custom;
mod golden;
mod noise;
mod numpy;
mod quirks;
mod run_into;
mod shared_golden;
mod source_region;
mod stores;
