//! The part of the fuzz targets that they share.

pub mod readers;
