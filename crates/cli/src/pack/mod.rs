//! `gpufeed pack`: a data set in any format into tar shards or an LMDB.

mod input;
mod journal;
mod names;
mod recode;
mod shards;
mod summary;
mod verify;
mod workers;

use crate::dataset::NamedDataset;
use crate::{DONE, FINDINGS, Outcome};
use clap::ValueEnum;
use clap::builder::RangedU64ValueParser;
use gpufeed::Dataset;
use gpufeed::dataset::TarShards;
use indicatif::{ProgressBar, ProgressStyle};
use journal::{Found, Job, Journal, Lock, Manifest, Progress, Skipped};
use names::Names;
use recode::{How, Packed, Recoding};
use serde::{Deserialize, Serialize};
use shards::ShardWriter;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread::available_parallelism;
use std::time::{Duration, Instant};
use workers::Workers;

/// Packs images into tar shards (WebDataset's convention) or an LMDB, as they are or encoded anew.
///
/// Interrupted work goes on where it ended: shards that were whole are kept, as long as the source has not changed. Until
/// all is done the folder is no data set. Samples that cannot be read are left out, named, and counted: exit code 3.
///
/// Members of shards are called as their files are, from the source's folder on: `cat/1.JPEG` and `cat/1.cls`. Dots within
/// a name become `_`, as a sample's key ends at its first dot; a key that is there already gets the sample's number.
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
    split: input::Part,
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
    /// Names, and why; of those that are left out, too, from runs before as well.
    undecodable: Vec<(String, String)>,
    skipped: Vec<(String, String)>,
    read: u64,
    written: u64,
}

impl Done {
    fn add(&mut self, data: &dyn Dataset, index: usize, sample: &Packed) {
        match &sample.how {
            How::Kept => self.kept += 1,
            How::Encoded => self.encoded += 1,
            How::Undecodable(reason) => self.undecodable.push((data.name(index), reason.clone())),
            // The journal has it.
            How::Unreadable(_) => return,
        }
        self.read += sample.read as u64;
        self.written += sample.file.len() as u64;
    }
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let Arguments { source, out, to, shard_bytes, split, prefix, max_side, quality, .. } = arguments;
    let start = Instant::now();
    let opened = input::open(source, *split)?;
    let data = &*opened.data;
    refuse_inside(source, out)?;
    let recoding = Recoding { max_side: *max_side, quality: *quality };
    let job = Job::new(&opened, source, (*to, *shard_bytes, prefix), recoding);
    let workers = Workers::new(arguments.workers.unwrap_or_else(|| available_parallelism().map_or(1, usize::from)))?;
    fs::create_dir_all(out).map_err(journal::failed(out))?;
    let before = |manifest: Manifest| {
        let resumed = data.len() - manifest.skipped.len();
        (manifest, Done { resumed, ..Done::default() })
    };
    let (manifest, mut done) = match journal::look(out, &job, arguments.verify)? {
        Found::Whole(manifest) => before(*manifest),
        _ => {
            let lock = Lock::take(out)?;
            // Another run may have been at work until now.
            let packed = match journal::look(out, &job, arguments.verify)? {
                Found::Whole(manifest) => before(*manifest),
                Found::Part(found) => {
                    let bar = progress(data.len(), "packed")?;
                    let packed = pack(&opened, arguments, &job, found, &workers, &bar);
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
        let verified = verify::verify(data, out, &manifest, &workers, &bar);
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
    done.skipped = manifest.skipped.iter().map(|left| (left.name.clone(), left.reason.clone())).collect();
    let seconds = start.elapsed().as_secs_f64();
    if arguments.json {
        summary::print_json(out, &manifest, &done, verified.as_ref(), seconds)?;
    } else {
        summary::print(out, &manifest, &done, verified.as_ref(), seconds)?;
    }
    let left = !done.undecodable.is_empty() || !done.skipped.is_empty();
    let findings = left || verified.is_some_and(|verified| !verified.different.is_empty());
    Ok(if findings { FINDINGS } else { DONE })
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

/// More samples than these, and than a tenth of all, that cannot be read are no odd files but a source that is gone.
const MOST_SKIPPED: usize = 16;

/// Packs what is not yet packed, then makes the folder a data set.
fn pack(
    source: &NamedDataset,
    arguments: &Arguments,
    job: &Job,
    mut found: Progress,
    workers: &Workers,
    bar: &ProgressBar,
) -> Result<(Manifest, Done), Box<dyn std::error::Error>> {
    let (data, folder) = (&*source.data, &arguments.out);
    // Shards that are not as they were noted, and what came after, are packed again; there may be fewer now.
    let good = found.shards.iter().take_while(|shard| shard.is_in(folder)).count();
    let dropped = found.shards.split_off(good);
    let mut run = Run { source, recoding: job.recoding, done: Done::default(), skipped: Vec::new(), workers, bar };
    let (journal, shards) = match job.to {
        To::Tar => {
            let packed = found.shards.last().map_or(0, |shard| shard.first + shard.samples);
            let first = run.go_on(&mut found, packed)?;
            let mut journal = Journal::open(folder, job, &found)?;
            for path in dropped.iter().map(|shard| folder.join(&shard.file)).filter(|path| path.exists()) {
                fs::remove_file(&path).map_err(journal::failed(&path))?;
            }
            let names = Names::new(source);
            let shards = {
                let mut writer =
                    ShardWriter::new(folder, (&arguments.prefix, job.shard_bytes), &mut journal, found.shards);
                run.each(first, |index, what| match what {
                    What::Sample(sample) => {
                        let label = shards::label_of(index, &sample.label)?;
                        let extension = names::extension(source, index, &sample);
                        writer.put((&names.key(source, index), &extension), &sample.file, label).map_err(goes_on)
                    }
                    What::Skipped(skipped) => writer.skip(skipped).map_err(goes_on),
                })?;
                writer.finish().map_err(goes_on)?
            };
            let names = serde_json::to_vec(data.classes())?;
            if !data.classes().is_empty() {
                journal::write_whole(&folder.join("classes.json"), &names)?;
            }
            // The indexes are made, and the shards are what they should be.
            let paths = shards.iter().map(|shard| folder.join(&shard.file));
            let packed = TarShards::builder().allow_unlabelled(true).open_list(paths)?;
            if packed.len() != data.len() - run.skipped.len() {
                return Err(format!("{}: {} samples of {}", folder.display(), packed.len(), data.len()).into());
            }
            (journal, shards)
        }
        #[cfg(feature = "lmdb")]
        To::Lmdb => {
            // Renamed, but not noted: it is whole.
            if folder.join("data.mdb").exists() {
                let packed = data.len() - found.skipped.len();
                run.go_on(&mut found, packed)?;
                (Journal::open(folder, job, &found)?, Vec::new())
            } else {
                let mut writer = gpufeed::dataset::LmdbWriter::open(folder)?;
                let first = run.go_on(&mut found, writer.len() as usize)?;
                let mut journal = Journal::open(folder, job, &found)?;
                let mut bytes = 0;
                run.each(first, |_, what| match what {
                    What::Sample(sample) => {
                        bytes += sample.file.len() as u64;
                        let put = writer.put(&sample.file, &sample.label).and_then(|()| {
                            if bytes < job.shard_bytes {
                                return Ok(());
                            }
                            bytes = 0;
                            writer.commit()
                        });
                        put.map_err(|error| match error.kind() {
                            gpufeed::ErrorKind::Io { .. } => goes_on(error.to_string()),
                            _ => error.to_string(),
                        })
                    }
                    What::Skipped(skipped) => journal.skip(skipped).map_err(goes_on),
                })?;
                writer.finish(data.classes())?;
                (journal, Vec::new())
            }
        }
    };
    let Run { done, skipped, .. } = run;
    let gpufeed = env!("CARGO_PKG_VERSION").to_owned();
    let manifest = Manifest { gpufeed, job: job.clone(), classes: data.classes().len(), shards, skipped };
    journal.finish(folder, &manifest)?;
    Ok((manifest, done))
}

/// An error of writing: what is on the disk by then is kept.
fn goes_on(reason: String) -> String {
    format!("{reason}; the same command goes on behind the last sample that is on the disk")
}

/// The outcome for a sample.
enum What<'a> {
    Sample(Packed),
    Skipped(&'a Skipped),
}

/// A run over the samples that are not packed yet.
struct Run<'a> {
    source: &'a NamedDataset,
    recoding: Recoding,
    done: Done,
    /// Those of runs before are among them.
    skipped: Vec<Skipped>,
    workers: &'a Workers,
    bar: &'a ProgressBar,
}

impl Run<'_> {
    /// The sample at which to go on, of which so many are packed.
    ///
    /// # Errors
    /// If one that was left out can be read now: it has its place among those that are packed.
    fn go_on(&mut self, found: &mut Progress, packed: usize) -> Result<usize, String> {
        let first = found.go_on(packed);
        let mut buffer = Vec::new();
        if let Some(back) = found.skipped.iter().find(|left| self.source.data.read(left.skipped, &mut buffer).is_ok()) {
            let name = &back.name;
            return Err(format!(
                "{name}: it could not be read before, and can be now; remove the folder that is packed into, or pack elsewhere"
            ));
        }
        self.done.resumed = packed;
        self.skipped = found.skipped.clone();
        Ok(first)
    }

    /// Prepares the samples from `first` on, and hands them on in their order.
    fn each(
        &mut self,
        first: usize,
        mut put: impl FnMut(usize, What<'_>) -> Result<(), String>,
    ) -> Result<(), Box<dyn std::error::Error>> {
        let (data, recoding, bar) = (&*self.source.data, self.recoding, self.bar);
        bar.set_position(first as u64);
        bar.reset_eta();
        let step = self.workers.at_once();
        for first in (first..data.len()).step_by(step) {
            let next = first..data.len().min(first + step);
            let packed = self.workers.map(next, |recoder, index| recoder.pack(data, index, recoding));
            for (index, sample) in (first..).zip(packed) {
                let sample = sample.map_err(|error| error.to_string())?;
                self.done.add(data, index, &sample);
                match &sample.how {
                    How::Unreadable(reason) => {
                        let left = Skipped { skipped: index, name: data.name(index), reason: reason.clone() };
                        put(index, What::Skipped(&left))?;
                        self.skipped.push(left);
                        self.check_skipped()?;
                    }
                    _ => put(index, What::Sample(sample))?,
                }
                bar.inc(1);
            }
        }
        Ok(())
    }

    fn check_skipped(&self) -> Result<(), String> {
        let (left, all) = (self.skipped.len(), self.source.data.len());
        if left < all && left <= MOST_SKIPPED.max(all / 10) {
            return Ok(());
        }
        let last = self.skipped.last().map_or(String::new(), |last| format!("{}: {}", last.name, last.reason));
        Err(format!("{left} of {all} samples cannot be read, which is no data set to pack; the last: {last}"))
    }
}
