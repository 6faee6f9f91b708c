//! Writes a data set as tar shards or as an LMDB, and resumes work that earlier runs have left unfinished.

use super::arguments::To;
use super::journal::{self, Job, Journal, Manifest, Progress, Shard};
use super::names::{self, Names};
use super::run::{Prepared, Run, Totals};
use super::shards::{self, ShardWriter};
use super::workers::Workers;
use crate::dataset::NamedDataset;
use gpufeed::Dataset;
use gpufeed::dataset::TarShards;
use indicatif::ProgressBar;
use std::error::Error;
use std::fs;
use std::path::Path;

/// The source, the folder to pack into, and the settings.
struct Target<'a> {
    source: &'a NamedDataset,
    folder: &'a Path,
    /// The beginning of the shards' names.
    prefix: &'a str,
    job: &'a Job,
}

/// Packs the samples that are not packed yet, then marks the folder as a data set.
pub(super) fn pack(
    source: &NamedDataset,
    (folder, prefix): (&Path, &str),
    job: &Job,
    found: Progress,
    workers: &Workers,
    bar: &ProgressBar,
) -> Result<(Manifest, Totals), Box<dyn Error>> {
    let target = Target { source, folder, prefix, job };
    let mut run = Run::new(source, job.recoding, workers, bar);
    let (journal, shards) = match job.to {
        To::Tar => target.write_shards(&mut run, found)?,
        #[cfg(feature = "lmdb")]
        To::Lmdb => (target.write_lmdb(&mut run, found)?, Vec::new()),
    };
    let Run { totals, skipped, .. } = run;
    let gpufeed = env!("CARGO_PKG_VERSION").to_owned();
    let manifest = Manifest { gpufeed, job: job.clone(), classes: source.data.classes().len(), shards, skipped };
    journal.finish(folder, &manifest)?;
    Ok((manifest, totals))
}

impl Target<'_> {
    fn write_shards(&self, run: &mut Run<'_>, mut found: Progress) -> Result<(Journal, Vec<Shard>), Box<dyn Error>> {
        let (data, folder) = (&*self.source.data, self.folder);
        // Packs damaged or missing shards and all later ones again. There may be fewer of them now.
        let good = found.shards.iter().take_while(|shard| shard.is_in(folder)).count();
        let dropped = found.shards.split_off(good);
        let packed = found.shards.last().map_or(0, |shard| shard.first + shard.samples);
        let first = run.resume(&mut found, packed)?;
        let mut journal = Journal::open(folder, self.job, &found)?;
        for path in dropped.iter().map(|shard| folder.join(&shard.file)).filter(|path| path.exists()) {
            fs::remove_file(&path).map_err(journal::failed(&path))?;
        }
        let names = Names::new(self.source);
        let shards = {
            let settings = (self.prefix, self.job.shard_bytes);
            let mut writer = ShardWriter::new(folder, settings, &mut journal, found.shards);
            run.each(first, |index, prepared| match prepared {
                Prepared::Packed(sample) => {
                    let label = shards::label_of(index, &sample.label)?;
                    let extension = names::extension(self.source, index, &sample);
                    let key = names.key(self.source, index);
                    writer.put((&key, &extension), &sample.file, label).map_err(resumable)
                }
                Prepared::Skipped(skipped) => writer.skip(skipped).map_err(resumable),
            })?;
            writer.finish().map_err(resumable)?
        };
        if !data.classes().is_empty() {
            journal::write_whole(&folder.join("classes.json"), &serde_json::to_vec(data.classes())?)?;
        }
        self.check_shards(&shards, data.len() - run.skipped.len())?;
        Ok((journal, shards))
    }

    /// Opens the shards, which writes their indexes, and checks the number of samples.
    fn check_shards(&self, shards: &[Shard], samples: usize) -> Result<(), Box<dyn Error>> {
        let paths = shards.iter().map(|shard| self.folder.join(&shard.file));
        let packed = TarShards::builder().allow_unlabelled(true).open_list(paths)?;
        if packed.len() != samples {
            let (folder, all) = (self.folder.display(), self.source.data.len());
            return Err(format!("{folder}: {} samples of {all}", packed.len()).into());
        }
        Ok(())
    }

    #[cfg(feature = "lmdb")]
    fn write_lmdb(&self, run: &mut Run<'_>, mut found: Progress) -> Result<Journal, Box<dyn Error>> {
        let (data, folder) = (&*self.source.data, self.folder);
        // The LMDB has its final name, so it is complete, and only the manifest is missing.
        if folder.join("data.mdb").exists() {
            let packed = data.len() - found.skipped.len();
            run.resume(&mut found, packed)?;
            return Ok(Journal::open(folder, self.job, &found)?);
        }
        let mut writer = gpufeed::dataset::LmdbWriter::open(folder)?;
        let first = run.resume(&mut found, writer.len() as usize)?;
        let mut journal = Journal::open(folder, self.job, &found)?;
        let mut bytes = 0;
        run.each(first, |_, prepared| match prepared {
            Prepared::Packed(sample) => {
                bytes += sample.file.len() as u64;
                let put = writer.put(&sample.file, &sample.label).and_then(|()| {
                    if bytes < self.job.shard_bytes {
                        return Ok(());
                    }
                    bytes = 0;
                    writer.commit()
                });
                put.map_err(|error| match error.kind() {
                    gpufeed::ErrorKind::Io { .. } => resumable(error.to_string()),
                    _ => error.to_string(),
                })
            }
            Prepared::Skipped(skipped) => journal.skip(skipped).map_err(resumable),
        })?;
        writer.finish(data.classes())?;
        Ok(journal)
    }
}

/// Adds to a write error that the same command continues later. Samples that are on the disk by then are kept.
fn resumable(reason: String) -> String {
    format!("{reason}; the same command continues after the last sample that is on the disk")
}
