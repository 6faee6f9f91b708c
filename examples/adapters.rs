//! Lists the GPU adapters that gpufeed can use, the best first. The exit code is 1 if there is none.

#![allow(clippy::print_stdout)]

use std::process::ExitCode;

fn main() -> ExitCode {
    let adapters = gpufeed::Gpu::adapters();
    adapters.iter().enumerate().for_each(|(number, adapter)| println!("{number}: {adapter}"));
    if adapters.is_empty() { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
