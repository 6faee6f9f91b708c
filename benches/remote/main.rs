//! Measures data sets that are read from a web server on this machine against the same files on its disk, with one
//! worker, so that the second core serves: in memory alone, with an empty and a full cache on disk, through a proxy that
//! delays each answer by 50 ms, and with one image a request. All take turns; only ratios of one round are compared.
//!
//! `cargo bench --features remote,parquet --bench remote -- --data FOLDER` with a folder of class folders. Needs nginx.

#![allow(clippy::print_stdout, clippy::unwrap_used)]

mod cases;
mod files;
mod one_request;
mod servers;

use cases::{Case, Measured, Source};
use clap::Parser;
use std::path::PathBuf;
use std::time::Duration;

/// The command line arguments of the benchmark.
#[derive(Parser)]
struct Arguments {
    /// The photographs: a folder with one subfolder for each class.
    #[arg(long, required_unless_present = "proxy")]
    data: Option<PathBuf>,
    /// Samples of an epoch; the photographs are repeated.
    #[arg(long, default_value_t = 6000)]
    samples: usize,
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Where the files are written; a temporary folder by default.
    #[arg(long)]
    folder: Option<PathBuf>,
    /// Shuffles in this order, `blocks:SAMPLES:WINDOW`; without it samples are read as they lie in the files.
    #[arg(long)]
    order: Option<gpufeed::Order>,
    /// Only cases whose names contain this, and the local one.
    #[arg(long, default_value = "")]
    only: String,
    /// Is the proxy in front of this server.
    #[arg(long, hide = true)]
    proxy: Option<String>,
    #[arg(long, hide = true, default_value_t = 50)]
    delay_ms: u64,
    /// The flag that `cargo bench` passes to every benchmark; ignored.
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() {
    let arguments = Arguments::parse();
    let delay = Duration::from_millis(arguments.delay_ms);
    if let Some(target) = &arguments.proxy {
        servers::run_proxy(target, delay);
    }
    let folder = match &arguments.folder {
        Some(folder) => tempfile::tempdir_in(folder).unwrap(),
        None => tempfile::tempdir().unwrap(),
    };
    let at = |name: &str| folder.path().join(name);
    for name in ["files", "nginx", "indexes"] {
        std::fs::create_dir(at(name)).unwrap();
    }
    let photographs = files::photographs(arguments.data.as_deref().unwrap());
    let written = files::write(&at("files"), &photographs, arguments.samples);
    println!(
        "{} samples, {} MB in tar shards, {}",
        arguments.samples,
        written.bytes / 1_000_000,
        at("files").display()
    );
    let nginx = servers::nginx(&at("files"), &at("nginx"));
    let near = servers::delayed(&nginx, Duration::ZERO);
    let far = servers::delayed(&nginx, delay);
    let local = at("files").display().to_string();
    let (tar, table) = (written.list("tar"), written.list("parquet"));
    let address = |server: &str, list: &str| Source::Address(format!("{server}/{list}"));
    let cache = at("cache");
    let all = [
        Case::new("tar, local", address(&local, &tar)),
        Case::new("parquet, local", address(&local, &table)),
        Case::new("tar, no cache on disk", address(&nginx.address, &tar)),
        Case::new("tar, cache cold", address(&nginx.address, &tar)).empty(&cache),
        Case::new("tar, cache warm", address(&nginx.address, &tar)).cache(&cache),
        Case::new("parquet, no cache on disk", address(&nginx.address, &table)),
        Case::new("tar, proxy", address(&near.address, &tar)),
        Case::new("tar, proxy and 50 ms", address(&far.address, &tar)),
        Case::new("one image a request", Source::OneRequest(nginx.address.clone(), written.ranges.clone())),
    ];
    let chosen = |case: &&Case| case.name == all[0].name || case.name.contains(&arguments.only);
    let cases: Vec<&Case> = all.iter().filter(chosen).collect();
    // All indexes are made once, so that no case has to read a file for them.
    let indexes = at("indexes");
    cases.iter().for_each(|case| drop(case.open(&indexes)));
    cases[0].measure(&indexes, arguments.order, None);
    let mut rounds: Vec<Vec<Measured>> = Vec::new();
    for round in 0..arguments.rounds {
        let mut measured: Vec<Measured> = Vec::new();
        for case in &cases {
            // A step of training that takes a tenth longer than the local loader needs for its batch.
            let step = measured.first().map(|local| Duration::from_secs_f64(1.1 * cases::BATCH as f64 / local.rate));
            let mut found = case.measure(&indexes, arguments.order, None);
            if case.name.contains("50 ms") {
                found.stall = case.measure(&indexes, arguments.order, step).stall;
            }
            println!("round {round}: {}: {found}", case.name);
            measured.push(found);
        }
        rounds.push(measured);
    }
    println!(
        "\n| | images/s | of local | CPU-ms an image | of local | requests an image | first batch, s |\n|---|---|---|---|---|---|---|"
    );
    for (number, case) in cases.iter().enumerate() {
        let of = |value: &dyn Fn(&Vec<Measured>) -> f64| cases::spread(rounds.iter().map(value).collect());
        println!(
            "| {} | {} | {} | {} | {} | {} | {} |",
            case.name,
            of(&|round| round[number].rate).show(0),
            of(&|round| round[number].rate / round[0].rate).show(3),
            of(&|round| round[number].cpu_ms).show(3),
            of(&|round| round[number].cpu_ms / round[0].cpu_ms).show(3),
            of(&|round| round[number].requests).show(4),
            of(&|round| round[number].first.as_secs_f64()).show(2),
        );
    }
}
