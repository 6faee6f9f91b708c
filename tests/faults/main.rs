//! Lost devices, files with false headers, panics, leaks. Each test runs alone, because threads, open files and memory
//! are counted for the whole process.

mod adapters;
mod data;
mod gpu;
mod leaks;
mod shutdown;
