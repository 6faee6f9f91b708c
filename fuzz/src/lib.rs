//! Code that the fuzz targets share.

pub mod objects;
pub mod readers;
