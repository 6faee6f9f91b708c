//! The options of `gpufeed bench`, with their checks, and the outputs that they name.

use crate::backend::BackendChoice;
use crate::dataset::FieldArguments;
use crate::output::{self, Output};
use clap::ValueEnum;
use clap::builder::RangedU64ValueParser;
use gpufeed::decode::{Orientation, SeekIndexes};
use gpufeed::internals::{SWITCHES, Switches};
use gpufeed::{Execute, LoaderSettings};
use std::error::Error;
use std::path::{Path, PathBuf};
use std::thread::available_parallelism;
use std::time::Duration;

/// Measures the whole pipeline and each of its parts on this machine.
#[derive(clap::Args)]
pub(crate) struct BenchArguments {
    /// A data set in any format, the address of one in a store or on a web server, or pictures drawn in memory
    #[arg(long, value_name = "PATH|procedural", default_value = super::data::PROCEDURAL)]
    pub(crate) data: String,
    #[command(flatten)]
    pub(crate) fields: FieldArguments,
    /// A recipe by its name, or a TOML file
    #[arg(long, value_name = "NAME|FILE.toml", default_value = "imagenet-train")]
    pub(crate) recipe: String,
    /// The adapter with this number, UUID or PCI address, or the first with this in its name (`gpufeed doctor` lists
    /// them); software ones too
    #[arg(long, value_name = "N|NAME")]
    pub(crate) adapter: Option<String>,
    /// Where batches go; `auto` passes software adapters over unless --adapter names one
    #[arg(long, value_enum, default_value = "auto")]
    pub(crate) backend: BackendChoice,
    /// Runs the shaders even on a software adapter, where the CPU executor is faster
    #[arg(long)]
    pub(crate) shaders: bool,
    /// What is kept between epochs
    #[arg(long, value_enum, default_value = "none")]
    pub(crate) cache: Cache,
    /// Bytes of that, in MiB
    #[arg(long, value_name = "MIB", default_value_t = 4096)]
    pub(crate) cache_mib: u64,
    /// Decodes JPEGs at 1/2, 1/4 or 1/8 where the recipe reduces them by as much; pixels differ a little
    #[arg(long)]
    pub(crate) scaled_decode: bool,
    /// Where seek indexes of JPEGs are kept; `beside` writes a file into the data's folder
    #[arg(long, value_enum, default_value = "memory")]
    pub(crate) seek_index: SeekIndex,
    /// A TOML or JSON file of a loader's settings, which stands in the place of the options for them
    #[arg(long, value_name = "FILE", conflicts_with_all = ["shaders", "cache", "cache_mib", "scaled_decode", "seek_index", "batch_size"])]
    pub(crate) settings: Option<PathBuf>,
    /// Numbers of workers to compare, with commas between; the last one is the main run's [default: 1 and all cores]
    #[arg(long, value_name = "LIST", value_delimiter = ',', overrides_with = "workers", value_parser = RangedU64ValueParser::<usize>::new().range(1..=4096))]
    workers: Vec<usize>,
    /// Images in a batch
    #[arg(long, value_name = "N", default_value = "64", value_parser = RangedU64ValueParser::<usize>::new().range(1..=65_536))]
    pub(crate) batch_size: usize,
    /// Seconds of the main runs, 0.1 to 3600; everything together takes five to ten times as long
    #[arg(long, value_name = "S", default_value = "4", value_parser = seconds)]
    pub(crate) seconds: f64,
    /// Writes the report as JSON; `-` is standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Writes the report as one HTML file with charts; `-` as for --json
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Shows the HTML file when it is written; bench.html without --html
    #[arg(long)]
    pub(crate) open: bool,
    /// Writes the report without names and paths, to be sent to the developers of gpufeed; `-` as for --json
    #[arg(long, value_name = "FILE")]
    pub(crate) report_card: Option<PathBuf>,
    /// Writes a trace of a short run, apart from the measured ones, for Chrome or Perfetto; `-` as for --json
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,
    /// The consumer sleeps so many milliseconds a batch, as a training step would take
    #[arg(long, value_name = "MS", default_value = "0", value_parser = milliseconds)]
    pub(crate) emulate_step: f64,
    /// Sets a choice about the GPU's work by hand, to measure it against the rule's; --help lists them
    #[arg(long = "switch", value_name = "NAME=VALUE", value_parser = switch, long_help = switches_help())]
    pub(crate) switches: Vec<String>,
    /// Leaves out the kernels, the ways in and the memory
    #[arg(long)]
    pub(crate) quick: bool,
    /// Prints the time to the first batch of this process as JSON: what the command starts itself with.
    #[arg(long, hide = true)]
    pub(crate) first_batch: bool,
}

/// Where seek indexes are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SeekIndex {
    /// In memory: the first epoch of every run builds them.
    Memory,
    /// In a file beside the data.
    Beside,
    /// Nowhere: every image is decoded from its start.
    Off,
}

impl SeekIndex {
    pub(crate) fn setting(self) -> SeekIndexes {
        match self {
            SeekIndex::Memory => SeekIndexes::Memory,
            SeekIndex::Beside => SeekIndexes::Beside,
            SeekIndex::Off => SeekIndexes::Off,
        }
    }
}

/// The cache between epochs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Cache {
    /// Nothing but what the system keeps.
    None,
    /// Samples, in RAM.
    Host,
    /// Samples, in GPU memory; in RAM where the CPU augments.
    Device,
}

impl Cache {
    pub(crate) fn setting(self, mib: u64) -> gpufeed::Cache {
        let bytes = mib.saturating_mul(1 << 20);
        match self {
            Cache::None => gpufeed::Cache::Off,
            Cache::Host => gpufeed::Cache::Host(bytes),
            Cache::Device => gpufeed::Cache::Device(bytes),
        }
    }
}

/// Refuses a switch that there is not.
fn switch(text: &str) -> Result<String, String> {
    Switches::default().set(text).map(|()| text.to_owned())
}

/// Lists the switches.
fn switches_help() -> String {
    let mut text =
        "Sets a choice about the GPU's work by hand, to measure it against the one that a rule makes by what the \
                    device has. May be given several times. No switch changes a bit of a batch:"
            .to_owned();
    for (name, values, what) in SWITCHES {
        text += &format!("\n\n{name}={values}: {what}");
    }
    text
}

fn seconds(text: &str) -> Result<f64, String> {
    within(text, 0.1, 3600.0)
}

fn milliseconds(text: &str) -> Result<f64, String> {
    within(text, 0.0, 60_000.0)
}

fn within(text: &str, low: f64, high: f64) -> Result<f64, String> {
    let number: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    if (low..=high).contains(&number) { Ok(number) } else { Err(format!("{low} to {high} work")) }
}

impl BenchArguments {
    /// Refuses options that contradict each other.
    pub(crate) fn check(&self) -> Result<(), clap::Error> {
        let conflict = match self {
            BenchArguments { backend: BackendChoice::Cpu, adapter: Some(_), .. } => {
                "--adapter cannot be used with --backend cpu"
            }
            BenchArguments { backend: BackendChoice::Cpu, shaders: true, .. } => {
                "--shaders cannot be used with --backend cpu"
            }
            BenchArguments { backend: BackendChoice::Cpu, switches, .. } if !switches.is_empty() => {
                "--switch cannot be used with --backend cpu"
            }
            BenchArguments { data, fields, .. } if data == super::data::PROCEDURAL && fields.are_given() => {
                "--fields needs a data set in --data"
            }
            BenchArguments { scaled_decode: true, cache: Cache::Host | Cache::Device, .. } => {
                "--scaled-decode cannot be used with --cache"
            }
            _ => return Ok(()),
        };
        Err(crate::conflict(conflict))
    }

    /// Opens the outputs: JSON, the page, the trace and the report card. This comes before the measurement, which takes
    /// a minute, so that an output that cannot be written is reported early.
    pub(crate) fn outputs(&self) -> Result<[Option<Output>; 4], Box<dyn Error>> {
        let html = self.html.as_deref().or_else(|| self.open.then_some(Path::new("bench.html")));
        output::open([
            ("--json", self.json.as_deref()),
            ("--html", html),
            ("--trace", self.trace.as_deref()),
            ("--report-card", self.report_card.as_deref()),
        ])
    }

    /// Returns the settings of the loaders, without their workers. Their order is also left out, unless a file sets it.
    pub(crate) fn settings(&self) -> gpufeed::Result<LoaderSettings> {
        let mut settings = LoaderSettings::default();
        settings.batch_size = self.batch_size;
        settings.shuffle = true;
        // torchvision ignores the orientation, too, so the rates can be compared.
        settings.exif = Orientation::Ignore;
        settings.seek_indexes = self.seek_index.setting();
        settings.cache = self.cache.setting(self.cache_mib);
        settings.scaled_decode = self.scaled_decode;
        settings.execute = if self.shaders { Execute::Gpu } else { Execute::Auto };
        match &self.settings {
            Some(file) => settings.updated(file),
            None => Ok(settings),
        }
    }

    /// Returns the numbers of workers of the sweep. The last one is that of the main run.
    pub(crate) fn workers(&self, settings: &LoaderSettings) -> Result<Vec<usize>, clap::Error> {
        let most = settings.workers.unwrap_or_else(|| available_parallelism().map_or(1, usize::from));
        match &self.workers[..] {
            [] if most == 1 => Ok(vec![1]),
            [] => Ok(vec![1, most]),
            _ if settings.workers.is_some() => {
                Err(crate::conflict("--workers cannot be used with a file of --settings that has workers"))
            }
            list => Ok(list.to_vec()),
        }
    }

    /// Returns the choices that are set by hand.
    pub(crate) fn switches(&self) -> Result<Switches, String> {
        let mut switches = Switches::default();
        self.switches.iter().try_for_each(|text| switches.set(text))?;
        Ok(switches)
    }

    pub(crate) fn step(&self) -> Duration {
        Duration::from_secs_f64(self.emulate_step / 1e3)
    }
}
