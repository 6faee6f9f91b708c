//! Goes through the samples that are not packed yet: lets all threads prepare them, passes them to the writer in order,
//! and counts them.

use crate::dataset::Dataset;
use crate::dataset::in_order::InOrder;
use crate::error::{Error, Result};
use crate::storage::Folder;
use serde::{Deserialize, Serialize};
use std::ops::Range;

use super::errors::there;
use super::events::{Event, Watch};
use super::journal::{Manifest, Progress, Skipped};
use super::recode::{Packed, Recoder, Recoding, Treatment};
use super::source::OpenedSource;
use super::workers;

/// A pack may skip this many samples that cannot be read, or a tenth of all samples if a tenth is more. If more samples
/// cannot be read, the source itself is probably gone.
const MOST_SKIPPED: usize = 16;

/// The counts of a run that packs samples. The record of a part stores these counts, too.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Totals {
    /// The number of samples that earlier runs had packed.
    pub(super) resumed: usize,
    /// The number of samples whose files were copied unchanged.
    pub(super) kept: usize,
    pub(super) encoded: usize,
    /// The names of samples that cannot be decoded, each with the reason.
    pub(super) undecodable: Vec<(String, String)>,
    /// Bytes read from the source.
    pub(super) bytes_read: u64,
    pub(super) bytes_packed: u64,
}

impl Totals {
    /// Returns the counts of a run that finds all samples packed already.
    pub(super) fn of_whole(manifest: &Manifest) -> Totals {
        Totals { resumed: manifest.job.samples - manifest.skipped.len(), ..Totals::default() }
    }

    fn add(&mut self, data: &dyn Dataset, index: usize, sample: &Packed) {
        match &sample.treatment {
            Treatment::Kept => self.kept += 1,
            Treatment::Encoded => self.encoded += 1,
            Treatment::Undecodable(reason) => self.undecodable.push((data.name(index), reason.clone())),
            // Samples that cannot be read are skipped: the journal lists them, and they are not counted here.
            Treatment::Unreadable(_) => return,
        }
        self.bytes_read += sample.read as u64;
        let of_fields = sample.members.iter().map(|(_, content)| content.len()).sum::<usize>();
        self.bytes_packed += (sample.file.len() + of_fields) as u64;
    }
}

/// Fails if too many of `all` samples were skipped.
pub(super) fn check_skipped(out: &Folder, skipped: &[Skipped], all: usize) -> Result<()> {
    let left = skipped.len();
    match skipped.last() {
        Some(last) if left == all || left > MOST_SKIPPED.max(all / 10) => {
            let Skipped { name, reason, .. } = last;
            let what = "samples cannot be read, which is no data set to pack; the last";
            Err(there(out, format!("{left} of {all} {what}: {name}: {reason}")))
        }
        _ => Ok(()),
    }
}

/// A sample that the writer receives: packed, or skipped because it cannot be read.
pub(super) enum Prepared<'a> {
    Packed(Packed),
    Skipped(&'a Skipped),
}

/// A run over the samples that are not packed yet.
pub(super) struct PackRun<'a> {
    pub(super) source: &'a OpenedSource,
    /// The samples to pack: all samples of the source, or those of a part.
    range: Range<usize>,
    recoding: Recoding,
    pub(super) totals: Totals,
    /// The skipped samples, including those that earlier runs have skipped.
    pub(super) skipped: Vec<Skipped>,
    pub(super) out: &'a Folder,
    watch: &'a Watch,
}

impl<'a> PackRun<'a> {
    pub(super) fn new(
        (source, range): (&'a OpenedSource, Range<usize>),
        recoding: Recoding,
        out: &'a Folder,
        watch: &'a Watch,
    ) -> PackRun<'a> {
        PackRun { source, range, recoding, totals: Totals::default(), skipped: Vec::new(), out, watch }
    }

    /// Returns the number of samples that are packed once the run is done: all but the skipped ones.
    pub(super) fn packed(&self) -> usize {
        self.range.len() - self.skipped.len()
    }

    /// Takes over the progress of earlier runs, which packed `packed` samples. Returns the index of the sample to
    /// continue with.
    ///
    /// # Errors
    /// If a skipped sample can be read now: the samples after it are packed already, so it has no place any more.
    pub(super) fn resume(&mut self, found: &mut Progress, packed: usize) -> Result<usize> {
        let first = found.resume_at(self.range.start, packed);
        let mut buffer = Vec::new();
        if let Some(back) = found.skipped.iter().find(|left| self.source.data.read(left.skipped, &mut buffer).is_ok()) {
            let reason = "it could not be read before, and can be now; remove the folder that is packed into, or pack \
                          elsewhere";
            return Err(Error::pack(&back.name, reason));
        }
        self.totals.resumed = packed;
        self.skipped = found.skipped.clone();
        Ok(first)
    }

    /// Prepares the samples from `first` on, and passes them to `put` in order.
    pub(super) fn each(&mut self, first: usize, mut put: impl FnMut(usize, Prepared<'_>) -> Result<()>) -> Result<()> {
        let (source, recoding, watch) = (self.source, self.recoding, self.watch);
        let data = &*source.data;
        let Range { start, end } = self.range;
        let say = |next: usize| watch.say(Event::Packed { done: next - start, all: end - start });
        say(first);
        let announced = InOrder::new(data, first..end);
        let before = |index| announced.before(index);
        let prepare = |recoder: &mut Recoder, index| recoder.pack((data, &source.fields), index, recoding);
        workers::in_order(watch.threads, first..end, watch, before, prepare, |index, sample| {
            self.totals.add(data, index, &sample);
            match &sample.treatment {
                Treatment::Unreadable(reason) => {
                    let left = Skipped { skipped: index, name: data.name(index), reason: reason.clone() };
                    put(index, Prepared::Skipped(&left))?;
                    self.skipped.push(left);
                    self.check_skipped()?;
                }
                _ => put(index, Prepared::Packed(sample))?,
            }
            say(index + 1);
            Ok(())
        })
    }

    /// Fails if too many samples were skipped.
    fn check_skipped(&self) -> Result<()> {
        let all = self.range.len();
        // In a small part, all samples may happen to be unreadable. So a part may skip `MOST_SKIPPED` samples in any
        // case, and the join checks all parts together.
        match all < self.source.data.len() && self.skipped.len() <= MOST_SKIPPED {
            true => Ok(()),
            false => check_skipped(self.out, &self.skipped, all),
        }
    }
}
