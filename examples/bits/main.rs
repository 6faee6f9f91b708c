//! Prints hashes of the built-in recipes' batches, one line for each backend, executor and case. `scripts/same-bits.sh`
//! compares the lines of two builds, `scripts/hardware.sh` those of numbers of workers.
//!
//!     bits [--workers N] [WORD...]     N: threads of a loader (2); a line is printed if it contains each word

#![allow(clippy::print_stdout)]

use gpufeed::{Backend, ErrorKind, Execute, Gpu};
use gpufeed_testing::bits::{Kept, cases};
use gpufeed_testing::device::adapters;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut words: Vec<String> = std::env::args().skip(1).collect();
    let mut workers = 2;
    if words.first().is_some_and(|word| word == "--workers") {
        let number = words.get(1).and_then(|number| number.parse().ok());
        workers = number.expect("a number after --workers");
        words.drain(..2);
    }
    let mut places = vec![("CPU".to_owned(), Backend::Cpu, Execute::Auto)];
    for adapter in adapters() {
        match Gpu::open(&adapter) {
            Ok(gpu) => places.extend([("copied up", Execute::Cpu), ("shaders", Execute::Gpu)].map(|(way, execute)| {
                let info = gpu.info();
                (format!("{} ({:?}), {way}", info.name, info.backend), Backend::Gpu(gpu.clone()), execute)
            })),
            Err(error) => println!("{}: {error}", adapter.get_info().name),
        }
    }
    let mut failed = false;
    for (place, backend, execute) in &places {
        let kept: &[Kept] = match execute {
            Execute::Gpu => &[Kept::Nothing, Kept::Host, Kept::HostBytes, Kept::Device, Kept::DeviceBytes],
            // On the other executors the cache is in host memory, whichever cache is asked for.
            _ => &[Kept::Nothing, Kept::Host, Kept::HostBytes],
        };
        for case in cases(kept) {
            let name = format!("{place}, {case}");
            if !words.iter().all(|word| name.contains(word.as_str())) {
                continue;
            }
            match case.bits(backend, *execute, workers) {
                Ok(bits) => println!("{name}: {bits}"),
                Err(error) if matches!(error.kind(), ErrorKind::Argument { setting: "execute", .. }) => {
                    println!("{name}: it has no shaders");
                }
                Err(error) => {
                    failed = true;
                    println!("{name}: {error}");
                }
            }
        }
    }
    if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
