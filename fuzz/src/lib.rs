//! Code that the fuzz targets share.

pub mod readers;
