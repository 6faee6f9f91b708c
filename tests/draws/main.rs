//! Parameters that the transforms draw: their distributions, their independence, torchvision's rules.

mod custom;
mod distributions;
mod independence;
mod mixing;
mod parameters;
mod statistics;
mod tables;
