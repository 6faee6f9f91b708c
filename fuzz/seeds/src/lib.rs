//! File formats that both the seeds and the fuzz targets write.

pub mod environment;
