//! Tests of the command `gpufeed` as a program: its output, its files, its exit codes.

mod arrangement;
mod bench;
mod captioned;
mod compare;
mod doctor;
mod doctor_machine;
mod doctor_objects;
mod doctor_sets;
mod doctoring;
mod fields;
mod help;
#[cfg(feature = "parquet")]
mod hub;
mod index;
#[cfg(unix)]
mod log;
mod names;
mod outputs;
mod pack;
mod pack_again;
mod pack_fields;
mod pack_order;
mod pack_parts;
mod pack_plans;
mod packing;
#[cfg(feature = "parquet")]
mod parquet;
#[cfg(all(feature = "parquet", feature = "remote"))]
mod parquet_stores;
mod pillow;
mod preview;
mod preview_objects;
#[cfg(feature = "remote")]
mod stores;
mod words;
