//! `gpufeed pack`: a data set in any format into tar shards or an LMDB.

mod journal;
mod recode;
mod shards;
mod source;
mod summary;
mod verify;
mod workers;

use crate::{FINDINGS, Outcome};
use clap::ValueEnum;
use clap::builder::RangedU64ValueParser;
use gpufeed::Dataset;
use gpufeed::dataset::TarShards;
use indicatif::{ProgressBar, ProgressStyle};
use journal::{Found, Job, Journal, Lock, Manifest, Shard};
use recode::{How, Packed, Recoding};
use serde::{Deserialize, Serialize};
use shards::ShardWriter;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread::available_parallelism;
use std::time::{Duration, Instant};
use workers::Workers;

/// Packs images into tar shards (WebDataset's convention) or an LMDB, as they are or encoded anew.
///
/// Interrupted work goes on where it ended: shards that were whole are kept. Until all is done the folder is no data set.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// A data set in any format: a folder of class folders or of images, a list, tar shards (a folder of them, or a
    /// brace list), an LMDB, the files of MNIST, CIFAR or numpy
    source: PathBuf,
    /// The folder to pack into
    out: PathBuf,
    /// What is written [default: tar]
    #[arg(long, value_name = "FORMAT", default_value = "tar", hide_default_value = true)]
    to: To,
    /// Bytes of a tar shard at the most, one larger sample aside; an LMDB is written to the disk after so many, or 32M.
    /// A killed run goes on behind these. K, M, G are powers of 1024
    #[arg(long, value_name = "BYTES", default_value = "1G", value_parser = bytes)]
    shard_bytes: u64,
    /// Which part is packed of a data set that comes in two: MNIST, CIFAR, an .npz that says train and test; train or
    /// test [default: train]
    #[arg(long, value_name = "PART", default_value = "train", hide_default_value = true, hide_possible_values = true)]
    split: source::Part,
    /// What the shards' names begin with: PREFIX-000000.tar
    #[arg(long, value_name = "NAME", default_value = "shard", value_parser = prefix)]
    prefix: String,
    /// Images with a longer side are reduced to it, bilinear and antialiased, and become JPEGs
    #[arg(long, value_name = "PIXELS", value_parser = RangedU64ValueParser::<u32>::new().range(1..=65535))]
    max_side: Option<u32>,
    /// All images become JPEGs of this quality [default: files stay as they are; 90 for those that --max-side reduces]
    #[arg(long, value_name = "1-100", value_parser = RangedU64ValueParser::<u8>::new().range(1..=100))]
    quality: Option<u8>,
    /// Then reads all back and compares it with the source: byte for byte, and pixels where they were encoded anew
    #[arg(long)]
    verify: bool,
    /// Threads [default: all cores]
    #[arg(long, value_name = "N", value_parser = RangedU64ValueParser::<usize>::new().range(1..=4096))]
    workers: Option<usize>,
    /// Prints what was done as JSON
    #[arg(long)]
    json: bool,
}

/// What is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
enum To {
    /// Tar shards
    Tar,
    /// An LMDB
    #[cfg(feature = "lmdb")]
    Lmdb,
}

impl To {
    fn name(self) -> &'static str {
        match self {
            To::Tar => "tar",
            #[cfg(feature = "lmdb")]
            To::Lmdb => "lmdb",
        }
    }
}

fn bytes(text: &str) -> Result<u64, String> {
    let (digits, unit) = match text.char_indices().last() {
        Some((at, 'K' | 'k')) => (&text[..at], 1 << 10),
        Some((at, 'M' | 'm')) => (&text[..at], 1 << 20),
        Some((at, 'G' | 'g')) => (&text[..at], 1 << 30),
        _ => (text, 1),
    };
    let bytes = digits.parse::<u64>().ok().and_then(|number| number.checked_mul(unit));
    bytes.filter(|bytes| *bytes > 0).ok_or_else(|| "a number of bytes, like 256M".to_owned())
}

fn prefix(text: &str) -> Result<String, String> {
    let plain = !text.is_empty() && !text.starts_with('.') && !text.contains(['/', '\\', '{', '}', ':']);
    plain.then(|| text.to_owned()).ok_or_else(|| "a file name's beginning, like train".to_owned())
}

/// What this run has done.
#[derive(Default)]
struct Done {
    /// Samples that were there from a run before.
    resumed: usize,
    kept: usize,
    encoded: usize,
    /// Names, and why.
    undecodable: Vec<(String, String)>,
    read: u64,
    written: u64,
}

impl Done {
    fn add(&mut self, data: &dyn Dataset, index: usize, sample: &Packed) {
        match &sample.how {
            How::Kept => self.kept += 1,
            How::Encoded => self.encoded += 1,
            How::Undecodable(reason) => self.undecodable.push((data.name(index), reason.clone())),
        }
        self.read += sample.read as u64;
        self.written += sample.file.len() as u64;
    }
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let Arguments { source, out, to, shard_bytes, split, prefix, max_side, quality, .. } = arguments;
    let start = Instant::now();
    let data = source::open(source, *split)?;
    refuse_inside(source, out)?;
    let recoding = Recoding { max_side: *max_side, quality: *quality };
    let job = Job::new(&*data, source, (*to, *shard_bytes, prefix), recoding);
    let workers = Workers::new(arguments.workers.unwrap_or_else(|| available_parallelism().map_or(1, usize::from)))?;
    fs::create_dir_all(out).map_err(journal::failed(out))?;
    let before = |manifest: Manifest| (manifest, Done { resumed: data.len(), ..Done::default() });
    let (manifest, mut done) = match journal::look(out, &job)? {
        Found::Whole(manifest) => before(*manifest),
        _ => {
            let lock = Lock::take(out)?;
            // Another run may have been at work until now.
            let packed = match journal::look(out, &job)? {
                Found::Whole(manifest) => before(*manifest),
                Found::Part(shards) => {
                    let bar = progress(data.len(), "packed")?;
                    let packed = pack(&*data, arguments, &job, shards, &workers, &bar);
                    bar.finish_and_clear();
                    packed?
                }
            };
            lock.remove();
            packed
        }
    };
    let mut verified = if arguments.verify {
        let bar = progress(data.len(), "compared")?;
        let verified = verify::verify(&*data, out, &manifest, &workers, &bar);
        bar.finish_and_clear();
        Some(verified?)
    } else {
        None
    };
    // It has seen all samples, this run only those that were not packed before.
    if let Some(verified) = &mut verified
        && !verified.undecodable.is_empty()
    {
        done.undecodable = std::mem::take(&mut verified.undecodable);
    }
    let seconds = start.elapsed().as_secs_f64();
    if arguments.json {
        summary::print_json(out, &manifest, &done, verified.as_ref(), seconds)?;
    } else {
        summary::print(out, &manifest, &done, verified.as_ref(), seconds);
    }
    let findings = !done.undecodable.is_empty() || verified.is_some_and(|verified| !verified.different.is_empty());
    Ok(if findings { ExitCode::from(FINDINGS) } else { ExitCode::SUCCESS })
}

/// What lies in the source would be a part of it next time.
fn refuse_inside(source: &Path, out: &Path) -> Result<(), String> {
    let there = std::path::absolute(out).map_err(journal::failed(out))?;
    let real = there.ancestors().find_map(|folder| fs::canonicalize(folder).ok());
    match (fs::canonicalize(source), real) {
        (Ok(source), Some(real)) if source.is_dir() && real.starts_with(&source) => {
            Err(format!("{}: it lies in the source; pack elsewhere", out.display()))
        }
        _ => Ok(()),
    }
}

fn progress(samples: usize, what: &str) -> Result<ProgressBar, indicatif::style::TemplateError> {
    let template = format!("{{bar:24}} {{pos}}/{{len}} {what}, {{per_sec}}, {{eta}} left");
    let bar = ProgressBar::new(samples as u64).with_style(ProgressStyle::with_template(&template)?);
    bar.enable_steady_tick(Duration::from_millis(100));
    Ok(bar)
}

/// Packs what is not yet packed, then makes the folder a data set.
fn pack(
    data: &dyn Dataset,
    arguments: &Arguments,
    job: &Job,
    mut whole: Vec<Shard>,
    workers: &Workers,
    bar: &ProgressBar,
) -> Result<(Manifest, Done), Box<dyn std::error::Error>> {
    let folder = &arguments.out;
    // Shards that are not as they were noted, and what came after, are packed again; there may be fewer now.
    let good = whole.iter().take_while(|shard| shard.is_in(folder)).count();
    let dropped = whole.split_off(good);
    let mut done = Done::default();
    let mut journal = Journal::open(folder, job, &whole)?;
    for path in dropped.iter().map(|shard| folder.join(&shard.file)).filter(|path| path.exists()) {
        fs::remove_file(&path).map_err(journal::failed(&path))?;
    }
    let shards = match job.to {
        To::Tar => {
            done.resumed = whole.last().map_or(0, |shard| shard.first + shard.samples);
            let mut writer = ShardWriter::new(folder, (&arguments.prefix, job.shard_bytes), &mut journal, whole);
            each(data, job.recoding, &mut done, (workers, bar), |index, sample| writer.put(index, &sample))?;
            let shards = writer.finish()?;
            let names = serde_json::to_vec(data.classes())?;
            if !data.classes().is_empty() {
                journal::write_whole(&folder.join("classes.json"), &names)?;
            }
            // The indexes are made, and the shards are what they should be.
            let paths = shards.iter().map(|shard| folder.join(&shard.file));
            let packed = TarShards::builder().allow_unlabelled(true).open_list(paths)?;
            if packed.len() != data.len() {
                return Err(format!("{}: {} samples of {}", folder.display(), packed.len(), data.len()).into());
            }
            shards
        }
        #[cfg(feature = "lmdb")]
        To::Lmdb => {
            // Renamed, but not noted: it is whole.
            if folder.join("data.mdb").exists() {
                done.resumed = data.len();
            } else {
                let mut writer = gpufeed::dataset::LmdbWriter::open(folder)?;
                done.resumed = writer.len() as usize;
                let mut bytes = 0;
                each(data, job.recoding, &mut done, (workers, bar), |_, sample| {
                    bytes += sample.file.len() as u64;
                    let put = writer.put(&sample.file, &sample.label).and_then(|()| {
                        if bytes < job.shard_bytes {
                            return Ok(());
                        }
                        bytes = 0;
                        writer.commit()
                    });
                    put.map_err(|error| error.to_string())
                })?;
                writer.finish(data.classes())?;
            }
            Vec::new()
        }
    };
    let gpufeed = env!("CARGO_PKG_VERSION").to_owned();
    let manifest = Manifest { gpufeed, job: job.clone(), classes: data.classes().len(), shards };
    journal.finish(folder, &manifest)?;
    Ok((manifest, done))
}

/// Prepares the samples behind those that are done, and hands them on in their order.
fn each(
    data: &dyn Dataset,
    recoding: Recoding,
    done: &mut Done,
    (workers, bar): (&Workers, &ProgressBar),
    mut put: impl FnMut(usize, Packed) -> Result<(), String>,
) -> Result<(), Box<dyn std::error::Error>> {
    bar.set_position(done.resumed as u64);
    bar.reset_eta();
    let step = workers.at_once();
    for first in (done.resumed..data.len()).step_by(step) {
        let packed =
            workers.map(first..data.len().min(first + step), |recoder, index| recoder.pack(data, index, recoding));
        for (index, sample) in (first..).zip(packed) {
            let again = |reason: String| {
                format!("{reason}; the same command goes on behind the last sample that is on the disk")
            };
            let sample = sample.map_err(|error| again(error.to_string()))?;
            done.add(data, index, &sample);
            put(index, sample).map_err(again)?;
            bar.inc(1);
        }
    }
    Ok(())
}
