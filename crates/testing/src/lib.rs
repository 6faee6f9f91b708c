//! Code that tests, benchmarks and fuzz targets share: backends to run on, images, reference results, frozen hashes,
//! clocks and counters.
//!
//! | file | has |
//! |---|---|
//! | `adapters.rs`, `device.rs`, `pipeline.rs` | places to run at: adapters, devices with WebGPU's limits, loaders |
//! | `reference/`, `named.rs`, `compare.rs` | a naive interpreter in f64, also by torchvision's names; tolerances |
//! | `vectors.rs`, `golden.rs` | torchvision's results; golden data that is read at run time, and which of it has to be there |
//! | `operators.rs` | every operator: torchvision's functions, examples of its arguments, and what it refuses |
//! | `lists.rs`, `sequences.rs`, `one_channel.rs` | random lists of transforms |
//! | `images.rs`, `procedural.rs`, `encoded.rs`, `damaged.rs` | images, and files of them, whole and damaged |
//! | `jpeg_engine.rs`, `jpeg_decode.rs` | what must hold whatever a JPEG's bytes are |
//! | `frozen.rs`, `bits.rs` | committed files to compare with; hashes of batches |
//! | `store_server.rs`, `sparse_shard.rs`, `parquet_files.rs`, `parquet_columns.rs` | a server of objects; shards and Parquet files |
//! | `watch.rs`, `counting.rs` | threads and buffers that are left; large allocations |
//! | `dice.rs`, `quirks.rs` | random numbers of the tests' own; drivers that deviate |

pub mod counting;
pub mod dice;
pub mod golden;
pub mod jpeg_engine;
pub mod operators;
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
#[cfg(feature = "gpufeed")]
pub mod one_channel;
#[cfg(feature = "parquet")]
pub mod parquet_columns;
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
