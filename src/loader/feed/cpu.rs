//! Batches for the CPU executor. Neighbouring small samples share a job, because the cost of handing out each of them
//! would be noticeable.

use super::{Feeder, SMALL};
use crate::error::Result;
use crate::loader::cache::CacheStore;
use crate::loader::executor_buffers::CpuBuffers;
use crate::loader::messages::{BatchStart, ChunkJob, CpuMessage};
use crate::sampler::Position;
use bytes::BytesMut;

/// The most small samples in one job.
const MAX_CHUNK: usize = 64;

/// The samples of a job where the data set wants several at once, if the batch has as many: a call for one of them would
/// cost as much as one for all. More would leave workers idle in small batches.
const TOGETHER: usize = 4;

impl Feeder<'_, CpuMessage> {
    /// Announces a batch with its memory, and divides both into jobs; `None` once the run has ended.
    pub(in crate::loader) fn announce_chunks(
        &mut self,
        executor: &CpuBuffers,
        start: BatchStart,
        positions: Vec<Position>,
    ) -> Result<Option<Vec<ChunkJob>>> {
        let (number, epoch) = (start.number, start.epoch);
        let jobs = self.jobs(positions);
        let taken = self.clock.blocked(|| executor.take_buffer(self.pipeline.batch_bytes, self.shares, self.stop))?;
        let Some(mut lease) = taken else { return Ok(None) };
        let chunks = lease.get_mut().split(self.chunk_bytes(&jobs).into_iter())?;
        if !self.send(CpuMessage::Start(start, lease)) {
            return Ok(None);
        }
        // The chunks of the first group come first, one for each job.
        let count = jobs.len();
        let mut out: Vec<Vec<BytesMut>> = jobs.iter().map(|_| Vec::with_capacity(self.pipeline.groups.len())).collect();
        for (at, chunk) in chunks.into_iter().enumerate() {
            out[at % count].push(chunk);
        }
        let job = |((first, positions), out)| ChunkJob { batch: number, epoch, first, positions, out };
        Ok(Some(jobs.into_iter().zip(out).map(job).collect()))
    }

    /// Bytes of the chunk of each job, group by group. The last chunk of a group reaches to the beginning of the next one.
    fn chunk_bytes(&self, jobs: &[(usize, Vec<Position>)]) -> Vec<usize> {
        let groups = &self.pipeline.groups;
        let mut bytes = Vec::with_capacity(groups.len() * jobs.len());
        for (number, group) in groups.iter().enumerate() {
            bytes.extend(jobs.iter().map(|(_, positions)| positions.len() * group.sample_bytes()));
            if let (Some(next), Some(last)) = (groups.get(number + 1), bytes.last_mut()) {
                let samples: usize = jobs.iter().map(|(_, positions)| positions.len()).sum();
                *last += next.begin - group.begin - samples * group.sample_bytes();
            }
        }
        bytes
    }

    /// Groups neighbouring positions into jobs, by the batch index of their first position.
    fn jobs(&self, positions: Vec<Position>) -> Vec<(usize, Vec<Position>)> {
        let mut jobs: Vec<(usize, Vec<Position>)> = Vec::new();
        // Every worker gets several jobs of a batch.
        let share = positions.len() / (4 * self.pipeline.workers);
        // Of equal length: nine samples are five and four.
        let several = positions.len().div_ceil((positions.len() / TOGETHER).max(1)).max(share);
        let wanted = self.pipeline.dataset.access().map_or(1, |access| access.job_samples());
        let together = several.min(wanted.min(MAX_CHUNK)).max(1);
        let most = |small: bool| if small { share.clamp(1, MAX_CHUNK) } else { together };
        let mut open = false;
        for (index, position) in positions.into_iter().enumerate() {
            let small = share > 1 && self.is_small(position.index);
            let most = most(small);
            match jobs.last_mut() {
                Some((_, job)) if small == open && job.len() < most => job.push(position),
                _ => {
                    let mut job = Vec::with_capacity(most);
                    job.push(position);
                    jobs.push((index, job));
                }
            }
            open = small;
        }
        jobs
    }

    /// True if a worker needs so little time for the sample that the cost of handing it out would be noticeable.
    fn is_small(&self, index: usize) -> bool {
        let small_in_memory = self.pipeline.small_in_memory;
        match &self.pipeline.cache {
            CacheStore::Host(cache) => cache.get(index).map_or(small_in_memory, |entry| entry.bytes() <= SMALL),
            CacheStore::Off | CacheStore::Device(_) => small_in_memory,
        }
    }
}
