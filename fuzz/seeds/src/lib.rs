//! Files that the fuzz targets write, too.

pub mod environment;
