//! Parameters that the transforms draw: their distributions, their independence, torchvision's rules.

mod aug_mix;
mod bbox_safe_crop;
mod custom;
mod distributions;
mod independence;
mod iou_crop;
mod letterbox;
mod mixing;
mod parameters;
mod policies;
mod quantiles;
mod random_sizes;
mod statistics;
mod tables;
mod timm;
mod visibility;
mod warps;
