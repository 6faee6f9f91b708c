//! Writes a data set as tar shards or as an LMDB, and resumes work that earlier runs have left unfinished.

use crate::dataset::{Dataset as _, Field, FieldChoice, FieldKind, Lmdb, LmdbBuilder, TarShards, TarShardsBuilder};
use crate::error::Result;
use crate::storage::Folder;

use super::errors::{permitted, resumable, there};
use super::events::Watch;
use super::job::Job;
use super::journal::{Journal, Manifest, Progress, Record, Shard};
use super::names::{self, Names};
use super::run::{PackRun, Prepared, Totals};
use super::settings::PackFormat;
use super::shards::{self, ShardWriter};
use super::source::OpenedSource;

/// Packs the samples that are not packed yet, then writes the manifest, which makes the folder a data set. Returns the
/// manifest, and the counts of this run.
pub(super) fn pack(
    source: &OpenedSource,
    folder: &Folder,
    job: &Job,
    found: Progress,
    watch: &Watch,
) -> Result<(Manifest, Totals)> {
    let mut run = PackRun::new((source, 0..source.data.len()), job.recoding, folder, watch);
    let (journal, shards) = match job.to {
        PackFormat::Tar => {
            let names = Names::new(source, watch)?;
            let open = |found: &Progress| Journal::open(folder, job, found);
            let (journal, shards) = write_shards(&mut run, &names, (&job.prefix, job.shard_bytes), found, open)?;
            write_classes(folder, source.data.classes())?;
            (journal, shards)
        }
        PackFormat::Lmdb => (write_lmdb(source, folder, job, &mut run, found)?, Vec::new()),
    };
    let PackRun { totals, skipped, .. } = run;
    let (gpufeed, classes) = (env!("CARGO_PKG_VERSION").to_owned(), source.data.classes().len());
    let manifest = Manifest { gpufeed, job: job.clone(), classes, shards, skipped, plan: None };
    journal.finish(&manifest)?;
    Ok((manifest, totals))
}

/// Writes the names of the classes, if there are any, into a file beside the shards.
pub(super) fn write_classes(folder: &Folder, classes: &[String]) -> Result<()> {
    if !classes.is_empty() {
        let text = serde_json::to_vec(classes).map_err(|error| there(folder, error.to_string()))?;
        folder.write("classes.json", &text).map_err(permitted)?;
    }
    Ok(())
}

/// Packs the run's samples into shards of at most `bytes` bytes, whose names begin with `prefix`. `open` opens the
/// journal; it gets the progress of earlier runs without the shards that are missing or damaged. Returns the journal,
/// and all shards.
pub(super) fn write_shards<J: Record>(
    run: &mut PackRun<'_>,
    names: &Names,
    (prefix, bytes): (&str, u64),
    mut found: Progress,
    open: impl FnOnce(&Progress) -> Result<J>,
) -> Result<(J, Vec<Shard>)> {
    let (source, folder) = (run.source, run.out);
    // Keeps the shards before the first one that is missing or damaged. All other shards are packed again, and their
    // files are removed, because there may be fewer shards now.
    let contents = folder.contents().map_err(permitted)?;
    let good = found.shards.iter().take_while(|shard| shard.is_in(&contents)).count();
    let dropped = found.shards.split_off(good);
    let packed = found.shards.last().map_or(0, |shard| shard.first + shard.samples);
    let first = run.resume(&mut found, packed)?;
    let mut journal = open(&found)?;
    for shard in dropped.iter().filter(|shard| contents.has(&shard.file)) {
        folder.remove(&shard.file).map_err(permitted)?;
    }
    let shards = {
        let mut writer = ShardWriter::new(folder, (prefix, bytes), &mut journal, found.shards);
        run.each(first, |index, prepared| match prepared {
            Prepared::Packed(sample) => {
                let label = shards::label_of(&source.data.name(index), &sample.label, &sample.members)?;
                let extension = names::extension(source, index, &sample);
                let key = names.key(source, index);
                writer.put((&key, &extension), &sample.file, label, &sample.members).map_err(resumable)
            }
            Prepared::Skipped(skipped) => writer.skip(skipped).map_err(resumable),
        })?;
        writer.finish().map_err(resumable)?
    };
    check_shards(folder, &shards, run.packed(), &source.fields.listed())?;
    Ok((journal, shards))
}

/// Returns the settings with which shards that have these fields are read. The values of fields are the bytes of their
/// members.
pub(super) fn reader(fields: &FieldChoice) -> TarShardsBuilder {
    TarShards::builder().allow_unlabelled(true).fields_of_pack(as_bytes(fields)).max_field_bytes(u64::MAX)
}

/// Returns the settings with which an LMDB that has these fields is read, as [`reader`] does for shards.
pub(super) fn lmdb_reader(fields: &FieldChoice) -> LmdbBuilder {
    Lmdb::builder().allow_unlabelled(true).fields_of_pack(as_bytes(fields)).max_field_bytes(u64::MAX)
}

/// Returns fields whose values are the bytes that were packed.
fn as_bytes(fields: &FieldChoice) -> FieldChoice {
    let FieldChoice::Named(named) = fields else { return FieldChoice::None };
    let as_bytes = |field: &Field| Field::new(field.name()).kind(FieldKind::Bytes).optional();
    FieldChoice::Named(named.iter().map(|(source, field)| (source.clone(), as_bytes(field))).collect())
}

/// Opens the shards, which writes missing indexes, and checks the number of samples. A shard in a store has to be read
/// back for its index, because the index has the ETag that the store has given the shard.
pub(super) fn check_shards(folder: &Folder, shards: &[Shard], samples: usize, fields: &FieldChoice) -> Result<()> {
    let paths: Vec<_> = shards.iter().map(|shard| folder.path(&shard.file)).collect();
    let builder = reader(fields).put_indexes(folder.is_in_store());
    // A part may have no samples, and an empty data set cannot be opened.
    let found = if paths.is_empty() { 0 } else { builder.open_list(paths)?.len() };
    if found != samples {
        return Err(there(folder, format!("{found} samples in the shards, which should be {samples}")));
    }
    Ok(())
}

#[cfg(feature = "lmdb")]
fn write_lmdb(
    source: &OpenedSource,
    folder: &Folder,
    job: &Job,
    run: &mut PackRun<'_>,
    mut found: Progress,
) -> Result<Journal> {
    use crate::error::ErrorKind;
    let data = &*source.data;
    // If the LMDB has its final name, it is complete, and only the manifest is missing.
    if folder.contents().map_err(permitted)?.has("data.mdb") {
        let packed = data.len() - found.skipped.len();
        run.resume(&mut found, packed)?;
        return Journal::open(folder, job, &found);
    }
    let mut writer = crate::dataset::LmdbWriter::open(folder.local())?;
    let first = run.resume(&mut found, writer.len() as usize)?;
    let mut journal = Journal::open(folder, job, &found)?;
    let mut bytes = 0;
    run.each(first, |_, prepared| match prepared {
        Prepared::Packed(sample) => {
            let values: Vec<_> = sample.members.iter().map(|(name, value)| (&**name, &**value)).collect();
            bytes += (sample.file.len() + values.iter().map(|(_, value)| value.len()).sum::<usize>()) as u64;
            let put = writer.put_fields(&sample.file, &sample.label, &values).and_then(|()| {
                if bytes < job.shard_bytes {
                    return Ok(());
                }
                bytes = 0;
                writer.commit()
            });
            put.map_err(|error| if matches!(error.kind(), ErrorKind::Io { .. }) { resumable(error) } else { error })
        }
        Prepared::Skipped(skipped) => journal.skip(skipped).map_err(resumable),
    })?;
    writer.finish(data.classes())?;
    Ok(journal)
}

/// Replaces the other `write_lmdb` in a build without LMDB. It is never called: the settings refuse an LMDB, and the
/// journal of an LMDB does not fit settings for shards.
#[cfg(not(feature = "lmdb"))]
fn write_lmdb(_: &OpenedSource, folder: &Folder, _: &Job, _: &mut PackRun<'_>, _: Progress) -> Result<Journal> {
    Err(there(folder, "this build writes no LMDB"))
}
