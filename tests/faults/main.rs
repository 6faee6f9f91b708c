//! Lost devices, lying files, panics, leaks. Threads, open files and memory are counted in the whole process: each test runs alone.

mod data;
mod gpu;
mod leaks;
mod shutdown;
