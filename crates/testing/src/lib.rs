//! Code that tests, benchmarks and fuzz targets share: backends to run on, images, reference results, frozen hashes,
//! clocks and counters.

pub mod counting;
pub mod dice;
pub mod jpeg_engine;
pub mod store_server;

#[cfg(feature = "gpufeed")]
pub mod adapters;
#[cfg(feature = "gpufeed")]
pub mod bits;
#[cfg(feature = "gpufeed")]
pub mod compare;
#[cfg(feature = "gpufeed")]
pub mod damaged;
#[cfg(feature = "gpufeed")]
pub mod device;
#[cfg(feature = "gpufeed")]
pub mod encoded;
#[cfg(feature = "gpufeed")]
pub mod frozen;
#[cfg(feature = "gpufeed")]
pub mod images;
#[cfg(feature = "gpufeed")]
pub mod jpeg_decode;
#[cfg(feature = "gpufeed")]
pub mod lists;
#[cfg(feature = "gpufeed")]
pub mod named;
#[cfg(feature = "parquet")]
pub mod parquet_files;
#[cfg(feature = "gpufeed")]
pub mod pipeline;
#[cfg(feature = "gpufeed")]
pub mod procedural;
#[cfg(feature = "gpufeed")]
pub mod quirks;
#[cfg(feature = "gpufeed")]
pub mod reference;
#[cfg(feature = "gpufeed")]
pub mod sequences;
#[cfg(feature = "gpufeed")]
pub mod sparse_shard;
#[cfg(feature = "gpufeed")]
pub mod vectors;
#[cfg(feature = "gpufeed")]
pub mod watch;
