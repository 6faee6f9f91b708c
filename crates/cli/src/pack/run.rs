//! A run over the samples that are not packed yet: prepares them on all threads, passes them to the writer in order,
//! and counts them.

use super::journal::{Progress, Skipped};
use super::recode::{Packed, Recoding, Treatment};
use super::workers::Workers;
use crate::dataset::NamedDataset;
use crate::error_text;
use gpufeed::Dataset;
use gpufeed::internals::InOrder;
use indicatif::ProgressBar;
use std::ops::Range;

/// The most samples that may be skipped, or a tenth of all. If more cannot be read, the source itself is probably gone.
const MOST_SKIPPED: usize = 16;

/// The counts of a run.
#[derive(Default)]
pub(super) struct Totals {
    /// Samples that earlier runs had packed.
    pub(super) resumed: usize,
    pub(super) kept: usize,
    pub(super) encoded: usize,
    /// Names of undecodable samples, and the reasons.
    pub(super) undecodable: Vec<(String, String)>,
    /// Names of skipped samples, and the reasons; earlier runs are included.
    pub(super) skipped: Vec<(String, String)>,
    /// Bytes read from the source.
    pub(super) read: u64,
    pub(super) written: u64,
}

impl Totals {
    fn add(&mut self, data: &dyn Dataset, index: usize, sample: &Packed) {
        match &sample.treatment {
            Treatment::Kept => self.kept += 1,
            Treatment::Encoded => self.encoded += 1,
            Treatment::Undecodable(reason) => self.undecodable.push((data.name(index), reason.clone())),
            // The journal has skipped samples.
            Treatment::Unreadable(_) => return,
        }
        self.read += sample.read as u64;
        self.written += sample.file.len() as u64;
    }
}

/// Fails if too many of `all` samples were skipped.
pub(super) fn check_skipped(skipped: &[Skipped], all: usize) -> Result<(), String> {
    let left = skipped.len();
    match skipped.last() {
        Some(last) if left == all || left > MOST_SKIPPED.max(all / 10) => Err(format!(
            "{left} of {all} samples cannot be read, which is no data set to pack; the last: {}: {}",
            last.name, last.reason
        )),
        _ => Ok(()),
    }
}

/// A sample for the writer.
pub(super) enum Prepared<'a> {
    Packed(Packed),
    Skipped(&'a Skipped),
}

/// A run over the samples that are not packed yet.
pub(super) struct Run<'a> {
    source: &'a NamedDataset,
    /// The samples to pack: all of them, or those of a part.
    range: Range<usize>,
    recoding: Recoding,
    pub(super) totals: Totals,
    /// Skipped samples, those of earlier runs included.
    pub(super) skipped: Vec<Skipped>,
    workers: &'a Workers,
    bar: &'a ProgressBar,
}

impl<'a> Run<'a> {
    pub(super) fn new(
        (source, range): (&'a NamedDataset, Range<usize>),
        recoding: Recoding,
        workers: &'a Workers,
        bar: &'a ProgressBar,
    ) -> Run<'a> {
        Run { source, range, recoding, totals: Totals::default(), skipped: Vec::new(), workers, bar }
    }

    /// Returns the number of samples that are packed when the run is done.
    pub(super) fn packed(&self) -> usize {
        self.range.len() - self.skipped.len()
    }

    /// Takes over the progress of earlier runs, which packed `packed` samples. Returns the sample to continue with.
    ///
    /// # Errors
    /// If a skipped sample can be read now: its place is among samples that are packed already.
    pub(super) fn resume(&mut self, found: &mut Progress, packed: usize) -> Result<usize, String> {
        let first = found.resume_at(self.range.start, packed);
        let mut buffer = Vec::new();
        if let Some(back) = found.skipped.iter().find(|left| self.source.data.read(left.skipped, &mut buffer).is_ok()) {
            let name = &back.name;
            return Err(format!(
                "{name}: it could not be read before, and can be now; remove the folder that is packed into, or pack elsewhere"
            ));
        }
        self.totals.resumed = packed;
        self.skipped = found.skipped.clone();
        Ok(first)
    }

    /// Prepares the samples from `first` on, and passes them to `put` in order.
    pub(super) fn each(
        &mut self,
        first: usize,
        mut put: impl FnMut(usize, Prepared<'_>) -> Result<(), String>,
    ) -> Result<(), Box<dyn std::error::Error>> {
        let (data, recoding, bar) = (&*self.source.data, self.recoding, self.bar);
        let end = self.range.end;
        bar.set_position((first - self.range.start) as u64);
        bar.reset_eta();
        let step = self.workers.at_once();
        let in_order = InOrder::new(data, first..end);
        for first in (first..end).step_by(step) {
            in_order.before(first);
            let next = first..end.min(first + step);
            let packed = self.workers.map(next, |recoder, index| recoder.pack(data, index, recoding));
            for (index, sample) in (first..).zip(packed) {
                let sample = sample.map_err(|error| error_text::describe_any(&*error))?;
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
                bar.inc(1);
            }
        }
        Ok(())
    }

    /// Fails if too many samples were skipped.
    fn check_skipped(&self) -> Result<(), String> {
        let all = self.range.len();
        // All samples of a small part may be unreadable. `--join` looks at those of all parts.
        match all < self.source.data.len() && self.skipped.len() <= MOST_SKIPPED {
            true => Ok(()),
            false => check_skipped(&self.skipped, all),
        }
    }
}
