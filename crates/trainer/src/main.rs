//! Trains a small residual network with Burn on batches from gpufeed, on a GPU or on the CPU.
//!
//! `cargo run --release -p gpufeed-trainer [-- --help]`
//!
//! Without arguments it trains on a data set that it draws itself. Ctrl-C saves a checkpoint, and `--resume` continues
//! from it.

#![allow(clippy::print_stdout, clippy::print_stderr)]

use clap::Parser;
use gpufeed_trainer::options::Options;
use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

fn main() {
    if let Err(error) = run(&Options::parse()) {
        eprintln!("train: {error}");
        std::process::exit(1);
    }
}

fn run(options: &Options) -> Result<(), Box<dyn Error>> {
    let stop = Arc::new(AtomicBool::new(false));
    let asked = Arc::clone(&stop);
    ctrlc::set_handler(move || {
        // The first Ctrl-C ends the run after the current step and saves a checkpoint; the second ends the process at
        // once.
        if asked.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
    })?;
    let summary = gpufeed_trainer::run(options, &stop)?;
    println!("{}", gpufeed_trainer::report(&summary));
    let out = options.out.display();
    if summary.stopped {
        println!("stopped after {} steps; --resume --out {out} goes on", summary.steps);
    }
    println!("checkpoint and curves: {out}");
    Ok(())
}
