//! Parameters that the transforms draw: their distributions, their independence, torchvision's rules.

mod aug_mix;
mod custom;
mod distributions;
mod independence;
mod iou_crop;
mod mixing;
mod parameters;
mod policies;
mod quantiles;
mod random_sizes;
mod statistics;
mod tables;
mod timm;
mod warps;
