//! Code that tests, benchmarks and fuzz targets share: places to run at, pictures, reference results, frozen hashes, clocks and
//! counters.

pub mod adapters;
pub mod bits;
pub mod compare;
pub mod counting;
pub mod damaged;
pub mod device;
pub mod dice;
pub mod encoded;
pub mod frozen;
pub mod images;
pub mod jpeg_engine;
pub mod line;
pub mod lists;
pub mod procedural;
pub mod reference;
pub mod watch;
