//! The files that describe a part of a pack: a journal while the part is packed, a record when it is done.

use crate::error::{Error, Result};
use crate::pack::errors::permitted;
use crate::pack::journal::{Progress, Record, Shard, Skipped, journal_text, line, read_journal};
use crate::pack::number::PartNumber;
use crate::pack::planned::Planned;
use crate::pack::run::Totals;
use crate::storage::Folder;
use serde::{Deserialize, Serialize};

/// Identifies a part by its plan and its number.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct PartOfPlan {
    #[serde(flatten)]
    pub(super) planned: Planned,
    pub(super) part: usize,
}

impl PartOfPlan {
    pub(super) fn number(&self) -> PartNumber {
        PartNumber { part: self.part, parts: self.planned.parts }
    }

    /// Returns the beginning of the names of the part's files.
    pub(super) fn stem(&self) -> String {
        format!("part-{:04}-of-{:04}", self.part, self.planned.parts)
    }
}

/// The record of a part that is done.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Done {
    #[serde(flatten)]
    pub(super) of: PartOfPlan,
    /// The version of gpufeed that packed the part.
    pub(super) gpufeed: String,
    /// The shards of the part. The index of a shard's first sample is counted within the part.
    pub(super) shards: Vec<Shard>,
    pub(super) skipped: Vec<Skipped>,
    #[serde(flatten)]
    pub(super) totals: Totals,
}

impl Done {
    pub(super) fn packed(&self) -> usize {
        self.shards.iter().map(|shard| shard.samples).sum()
    }

    /// Reads a record; `None` if there is none.
    pub(super) fn read(records: &Folder, name: &str) -> Result<Option<Done>> {
        let wrong = |error| Error::pack(records.path(name), format!("it is no part's record: {error}"));
        records.read(name).map_err(permitted)?.map(|text| serde_json::from_slice(&text)).transpose().map_err(wrong)
    }
}

/// Returns true if a file of this name is the record of a part.
pub(super) fn is_record(name: &str) -> bool {
    name.starts_with("part-") && name.ends_with(".json")
}

/// The journal of a part. Its file is replaced as a whole after each shard. On a file system without locks, two
/// processes may pack the same part; then the file is the journal of one of the two processes.
pub(super) struct PartJournal<'a> {
    folder: &'a Folder,
    name: String,
    text: Vec<u8>,
}

impl<'a> PartJournal<'a> {
    fn name(of: &PartOfPlan) -> String {
        format!("{}.jsonl", of.stem())
    }

    /// Reads from the journal how far the part is packed.
    ///
    /// # Errors
    /// If the journal belongs to another plan.
    pub(super) fn find(folder: &Folder, of: &PartOfPlan) -> Result<Progress> {
        let name = PartJournal::name(of);
        match read_journal::<PartOfPlan>(folder, &name)? {
            None => Ok(Progress::default()),
            Some((Some(found), progress)) if found == *of => Ok(progress),
            Some(_) => Err(Error::pack(folder.path(&name), "it belongs to another plan; remove it")),
        }
    }

    /// Writes a journal that has the progress so far, and returns it, so that shards can be added.
    pub(super) fn open(folder: &'a Folder, of: &PartOfPlan, progress: &Progress) -> Result<PartJournal<'a>> {
        let journal = PartJournal { folder, name: PartJournal::name(of), text: journal_text(of, progress)? };
        journal.folder.write(&journal.name, &journal.text).map_err(permitted)?;
        Ok(journal)
    }
}

impl Record for PartJournal<'_> {
    fn add(&mut self, shard: &Shard) -> Result<()> {
        self.text.extend(line(shard)?);
        self.folder.write(&self.name, &self.text).map_err(permitted)
    }

    /// Adds a skipped sample to the journal's text, which is written to the file with the next shard. If the run is
    /// stopped before, the next run tries the sample again.
    fn skip(&mut self, skipped: &Skipped) -> Result<()> {
        self.text.extend(line(skipped)?);
        Ok(())
    }
}
