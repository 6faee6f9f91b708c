//! Writes a data set as tar shards or as an LMDB, and resumes work that earlier runs have left unfinished.

use super::arguments::To;
use super::job::Job;
use super::journal::{Journal, Manifest, Progress, Record, Shard};
use super::names::{self, Names};
use super::out_folder::told;
use super::run::{Prepared, Run, Totals};
use super::shards::{self, ShardWriter};
use super::workers::Workers;
use crate::dataset::NamedDataset;
#[cfg(feature = "lmdb")]
use crate::error_text;
use gpufeed::Dataset as _;
use gpufeed::dataset::TarShards;
use gpufeed::storage::Folder;
use indicatif::ProgressBar;
use std::error::Error;

/// Packs the samples that are not packed yet, then marks the folder as a data set.
pub(super) fn pack(
    source: &NamedDataset,
    (folder, prefix): (&Folder, &str),
    job: &Job,
    found: Progress,
    workers: &Workers,
    bar: &ProgressBar,
) -> Result<(Manifest, Totals), Box<dyn Error>> {
    let mut run = Run::new((source, 0..source.data.len()), job.recoding, workers, bar);
    let (journal, shards) = match job.to {
        To::Tar => {
            let names = Names::new(source);
            let target = Shards { source, names: &names, folder, prefix, bytes: job.shard_bytes };
            let open = |found: &Progress| Journal::open(folder, job, found);
            let (journal, shards) = target.write(&mut run, found, open)?;
            write_classes(folder, source.data.classes())?;
            (journal, shards)
        }
        #[cfg(feature = "lmdb")]
        To::Lmdb => (write_lmdb(source, folder, job, &mut run, found)?, Vec::new()),
    };
    let Run { totals, skipped, .. } = run;
    let (gpufeed, classes) = (env!("CARGO_PKG_VERSION").to_owned(), source.data.classes().len());
    let manifest = Manifest { gpufeed, job: job.clone(), classes, shards, skipped, plan: None };
    journal.finish(&manifest)?;
    Ok((manifest, totals))
}

/// Writes the names of the classes beside the shards, if there are any.
pub(super) fn write_classes(folder: &Folder, classes: &[String]) -> Result<(), Box<dyn Error>> {
    if !classes.is_empty() {
        folder.write("classes.json", &serde_json::to_vec(classes)?).map_err(told)?;
    }
    Ok(())
}

/// The source and the folder of a pack into tar shards.
pub(super) struct Shards<'a> {
    pub(super) source: &'a NamedDataset,
    pub(super) names: &'a Names,
    pub(super) folder: &'a Folder,
    /// The beginning of the shards' names.
    pub(super) prefix: &'a str,
    /// The most bytes of a shard.
    pub(super) bytes: u64,
}

impl Shards<'_> {
    /// Packs the run's samples. `open` opens the record of the progress, after damaged shards were taken from it.
    pub(super) fn write<J: Record>(
        &self,
        run: &mut Run<'_>,
        mut found: Progress,
        open: impl FnOnce(&Progress) -> Result<J, String>,
    ) -> Result<(J, Vec<Shard>), Box<dyn Error>> {
        let folder = self.folder;
        // Packs damaged or missing shards and all later ones again. There may be fewer of them now.
        let contents = folder.contents().map_err(told)?;
        let good = found.shards.iter().take_while(|shard| shard.is_in(&contents)).count();
        let dropped = found.shards.split_off(good);
        let packed = found.shards.last().map_or(0, |shard| shard.first + shard.samples);
        let first = run.resume(&mut found, packed)?;
        let mut journal = open(&found)?;
        for shard in dropped.iter().filter(|shard| contents.has(&shard.file)) {
            folder.remove(&shard.file).map_err(told)?;
        }
        let shards = {
            let mut writer = ShardWriter::new(folder, (self.prefix, self.bytes), &mut journal, found.shards);
            run.each(first, |index, prepared| match prepared {
                Prepared::Packed(sample) => {
                    let label = shards::label_of(index, &sample.label)?;
                    let extension = names::extension(self.source, index, &sample);
                    let key = self.names.key(self.source, index);
                    writer.put((&key, &extension), &sample.file, label).map_err(resumable)
                }
                Prepared::Skipped(skipped) => writer.skip(skipped).map_err(resumable),
            })?;
            writer.finish().map_err(resumable)?
        };
        self.check(&shards, run.packed())?;
        Ok((journal, shards))
    }

    fn check(&self, shards: &[Shard], samples: usize) -> Result<(), Box<dyn Error>> {
        check_shards(self.folder, shards, samples)
    }
}

/// Opens the shards, which writes the indexes that are missing, and checks the number of samples. A shard in a store is
/// read back for its index, as the index belongs to what the store calls that content.
pub(super) fn check_shards(folder: &Folder, shards: &[Shard], samples: usize) -> Result<(), Box<dyn Error>> {
    let paths: Vec<_> = shards.iter().map(|shard| folder.path(&shard.file)).collect();
    let builder = TarShards::builder().allow_unlabelled(true).put_indexes(folder.is_in_store());
    // A part may have no samples, and an empty data set cannot be opened.
    let found = if paths.is_empty() { 0 } else { builder.open_list(paths)?.len() };
    if found != samples {
        let shown = folder.path("");
        return Err(format!("{}: {found} samples in the shards, which should be {samples}", shown.display()).into());
    }
    Ok(())
}

#[cfg(feature = "lmdb")]
fn write_lmdb(
    source: &NamedDataset,
    folder: &Folder,
    job: &Job,
    run: &mut Run<'_>,
    mut found: Progress,
) -> Result<Journal, Box<dyn Error>> {
    let data = &*source.data;
    // The LMDB has its final name, so it is complete, and only the manifest is missing.
    if folder.contents().map_err(told)?.has("data.mdb") {
        let packed = data.len() - found.skipped.len();
        run.resume(&mut found, packed)?;
        return Ok(Journal::open(folder, job, &found)?);
    }
    let mut writer = gpufeed::dataset::LmdbWriter::open(folder.local())?;
    let first = run.resume(&mut found, writer.len() as usize)?;
    let mut journal = Journal::open(folder, job, &found)?;
    let mut bytes = 0;
    run.each(first, |_, prepared| match prepared {
        Prepared::Packed(sample) => {
            bytes += sample.file.len() as u64;
            let put = writer.put(&sample.file, &sample.label).and_then(|()| {
                if bytes < job.shard_bytes {
                    return Ok(());
                }
                bytes = 0;
                writer.commit()
            });
            put.map_err(|error| match error.kind() {
                gpufeed::ErrorKind::Io { .. } => resumable(error_text::describe(&error)),
                _ => error_text::describe(&error),
            })
        }
        Prepared::Skipped(skipped) => journal.skip(skipped).map_err(resumable),
    })?;
    writer.finish(data.classes())?;
    Ok(journal)
}
/// Adds to a write error that the same command continues later. Samples that are on the disk by then are kept.
fn resumable(reason: String) -> String {
    format!("{reason}; the same command continues after the last sample that is on the disk")
}
