//! Data sets and the files that they read.

mod archives;
mod arrays;
mod class_names;
#[cfg(all(feature = "parquet", feature = "remote"))]
mod counts;
mod folder_fields;
mod known_labels;
mod list_fields;
mod lmdb_mutants;
mod notices;
mod opening;
mod packed_fields;
#[cfg(feature = "parquet")]
mod parquet;
#[cfg(feature = "parquet")]
mod parquet_columns;
#[cfg(feature = "parquet")]
mod parquet_damage;
#[cfg(feature = "parquet")]
mod parquet_fields;
#[cfg(feature = "parquet")]
mod parquet_fields_datasets;
#[cfg(feature = "parquet")]
mod parquet_fields_refused;
#[cfg(feature = "parquet")]
mod parquet_objects;
#[cfg(feature = "parquet")]
mod real_sets;
mod shard;
mod special_files;
#[cfg(all(feature = "parquet", feature = "remote"))]
mod store_faults;
#[cfg(feature = "remote")]
mod store_order;
#[cfg(all(feature = "parquet", feature = "remote"))]
mod stores;
mod tar_fields;
mod tar_fields_index;
#[cfg(all(feature = "parquet", feature = "remote"))]
mod tar_fields_stores;
mod tar_members;
