//! The list of an epoch's samples, or of its batches, as an order gives it.

use crate::error::{Error, Result};
use crate::sampler::Position;
use xxhash_rust::xxh3::Xxh3;

/// What an order gives for an epoch: indices into the data set, in one list or in one for each batch.
pub(in crate::sampler) enum Given {
    Samples(Vec<usize>),
    Batches(Vec<Vec<usize>>),
}

/// What an epoch's list has to be.
#[derive(Clone, Copy, Debug)]
pub(in crate::sampler) struct Bounds {
    /// Indices of the list, or its batches.
    pub(in crate::sampler) len: usize,
    /// Samples of the data set.
    pub(in crate::sampler) samples: usize,
    /// The most samples of a batch.
    pub(in crate::sampler) batch_size: usize,
}

/// The samples of an epoch in the order of positions.
#[derive(Debug)]
pub(in crate::sampler) struct EpochList {
    indices: Vec<u32>,
    /// Where a sample comes more than once: for each position the number of earlier positions with the same sample, and for
    /// each sample the number of its positions.
    repeats: Option<(Vec<u32>, Vec<u32>)>,
    /// Of a list of batches: where each ends.
    ends: Option<Vec<usize>>,
    /// A hash of indices and ends, the same on every platform and in every version: states have it.
    digest: u64,
}

impl EpochList {
    /// Checks what was given, and counts how often each sample comes.
    pub(super) fn new(given: Given, bounds: Bounds, epoch: u64) -> Result<Self> {
        let setting = match given {
            Given::Samples(_) => "sampler",
            Given::Batches(_) => "batch_sampler",
        };
        let refused = |reason: String| Err(Error::argument(setting, reason));
        let (found, what) = match &given {
            Given::Samples(indices) => (indices.len(), "indices"),
            Given::Batches(batches) => (batches.len(), "batches"),
        };
        if found != bounds.len {
            let reason = match found {
                0 => format!("epoch {epoch} has no {what}, but each epoch of this loader has {}", bounds.len),
                _ => format!(
                    "epoch {epoch} has {found} {what}, but each epoch of this loader has {}; an order has as many in every \
                     epoch",
                    bounds.len
                ),
            };
            return refused(reason);
        }
        let (listed, ends) = match given {
            Given::Samples(indices) => (indices, None),
            Given::Batches(batches) => {
                let mut ends = Vec::with_capacity(batches.len());
                let mut all = Vec::with_capacity(batches.iter().map(Vec::len).sum());
                for (number, batch) in batches.into_iter().enumerate() {
                    if batch.is_empty() || batch.len() > bounds.batch_size {
                        let (has, most) = (batch.len(), bounds.batch_size);
                        return refused(format!(
                            "batch {number} of epoch {epoch} has {has} samples; 1 to batch_size work, which is {most}"
                        ));
                    }
                    all.extend(batch);
                    ends.push(all.len());
                }
                (all, Some(ends))
            }
        };
        if let Some(at) = listed.iter().position(|&index| index >= bounds.samples) {
            let place = match ends.as_ref().map(|ends| ends.partition_point(|&end| end <= at)) {
                None => format!("position {at}"),
                Some(batch) => format!("position {} of batch {batch}", at - start_of(&ends, batch)),
            };
            return refused(format!(
                "index {} at {place} of epoch {epoch}, but the data set has {} samples, 0 to {}",
                listed[at],
                bounds.samples,
                bounds.samples - 1
            ));
        }
        // `Sampler::checked` lets no more samples in.
        let indices: Vec<u32> = listed.into_iter().map(|index| index as u32).collect();
        let digest = digest(&indices, ends.as_deref());
        let repeats = repeats(&indices, bounds.samples);
        Ok(EpochList { indices, repeats, ends, digest })
    }

    pub(in crate::sampler) fn digest(&self) -> u64 {
        self.digest
    }

    /// Returns all indices, batch after batch.
    pub(in crate::sampler) fn indices(&self) -> &[u32] {
        &self.indices
    }

    /// Returns what is at `position`, counted on beyond the last sample.
    pub(in crate::sampler) fn at(&self, position: usize) -> Position {
        let (round, within) = (position / self.indices.len(), position % self.indices.len());
        let index = self.indices[within] as usize;
        // No cast truncates: Sampler::checked limits positions.
        let occurrence = match &self.repeats {
            None => round as u32,
            Some((earlier, counts)) => earlier[within] + round as u32 * counts[index],
        };
        Position { index, occurrence, global: position as u64, padding: round > 0 }
    }

    /// Returns the positions of batch `number` of a list of batches, counted on beyond the last batch.
    pub(in crate::sampler) fn batch(&self, number: usize) -> std::ops::Range<usize> {
        let batches = self.ends.as_ref().map_or(1, Vec::len);
        let (round, within) = (number / batches, number % batches);
        let end = self.ends.as_ref().map_or(self.indices.len(), |ends| ends[within]);
        let before = round * self.indices.len();
        before + start_of(&self.ends, within)..before + end
    }
}

fn start_of(ends: &Option<Vec<usize>>, batch: usize) -> usize {
    ends.as_ref().and_then(|ends| ends.get(batch.checked_sub(1)?)).copied().unwrap_or(0)
}

/// Changing it makes every state of such an order one of another order.
fn digest(indices: &[u32], ends: Option<&[usize]>) -> u64 {
    let mut hash = Xxh3::new();
    for index in indices {
        hash.update(&index.to_le_bytes());
    }
    for end in ends.into_iter().flatten() {
        hash.update(&(*end as u64).to_le_bytes());
    }
    hash.digest()
}

/// Counts how often each sample comes; `None` if none comes twice.
fn repeats(indices: &[u32], samples: usize) -> Option<(Vec<u32>, Vec<u32>)> {
    let mut counts = vec![0u32; samples];
    let mut earlier = Vec::with_capacity(indices.len());
    for &index in indices {
        let count = &mut counts[index as usize];
        earlier.push(*count);
        *count += 1;
    }
    earlier.iter().any(|&times| times > 0).then_some((earlier, counts))
}
