//! A batch under way: its finished samples, in the order in which the workers finish them.

use crate::allocate::BATCH;
use crate::error::{ErrorKind, Result};
use crate::gpu::submission::Completion;
use crate::loader::OnError;
use crate::loader::batch::{Batch, Failure};
use crate::loader::batch_group::GroupImages;
use crate::loader::batch_store::BatchStore;
use crate::loader::columns::ColumnBuilder;
use crate::loader::group::Group;
use crate::loader::messages::{BatchStart, Finished};
use crate::loader::moved_objects::ObjectField;
use crate::loader::pipeline::Pipeline;
use crate::plan::mixing::BatchMixing;
use crate::transforms::Params;

/// A batch between its announcement and its delivery, with the buffers that its executor needs for it.
#[derive(Debug)]
pub(in crate::loader::assemble) struct PendingBatch<B> {
    pub(in crate::loader::assemble) start: BatchStart,
    samples: Vec<Option<Finished<()>>>,
    failures: Vec<Failure>,
    /// Samples that are not yet augmented, or not yet submitted to be augmented.
    pub(in crate::loader::assemble) remaining: usize,
    pub(in crate::loader::assemble) buffers: B,
}

impl<B> PendingBatch<B> {
    /// A batch without a finished sample.
    ///
    /// # Errors
    /// [`ErrorKind::NoHostMemory`].
    pub(in crate::loader::assemble) fn new(start: BatchStart, buffers: B) -> Result<Self> {
        let (mut samples, remaining) = (Vec::new(), start.samples);
        BATCH.reserve(&mut samples, remaining)?;
        samples.resize_with(remaining, || None);
        Ok(PendingBatch { start, samples, failures: Vec::new(), remaining, buffers })
    }

    /// Adds the sample with this batch index, and returns the location of its pixels.
    pub(in crate::loader::assemble) fn add<P>(&mut self, index: usize, sample: Finished<P>) -> P {
        let Finished { index: of_dataset, id, label, fields, params, objects, pixels } = sample;
        self.samples[index] = Some(Finished { index: of_dataset, id, label, fields, params, objects, pixels: () });
        pixels
    }

    pub(in crate::loader::assemble) fn add_failures(&mut self, failures: Vec<Failure>) {
        self.failures.extend(failures);
    }

    /// The work that is left for a group of the batch once all of its images are there.
    pub(in crate::loader::assemble) fn completion(&self, pipeline: &Pipeline, group: usize) -> Completion {
        let (group, samples) = (&pipeline.groups[group], self.samples.len());
        let elements = group.sample_elements() * samples as u64;
        let mixing = |params| BatchMixing::new(params, group.plan(), group.size, samples, group.outputs);
        let mixing = self.start.mix.as_ref().and_then(mixing);
        Completion { elements, mixing }
    }

    /// The parameters of a group's images, in their order.
    pub(in crate::loader::assemble) fn params(&self, group: &Group) -> impl Iterator<Item = &Params> {
        let images = group.images();
        self.samples.iter().flatten().flat_map(move |sample| sample.params.get(images.clone()).unwrap_or_default())
    }

    /// The finished batch. `store` selects the buffer that holds its images.
    pub(in crate::loader::assemble) fn finish(
        mut self,
        pipeline: &Pipeline,
        store: impl FnOnce(B) -> BatchStore,
    ) -> Result<Batch> {
        pipeline.stats.ready(self.start.at.elapsed());
        self.failures.sort_by_key(|failure| failure.batch_index);
        let samples = self.samples.len();
        let shows_objects = |group: &Group| pipeline.objects.as_ref().is_some_and(|objects| objects.is_shown_by(group));
        let of_group = |group: &Group| -> Result<GroupImages> {
            let (sizes, size) = group.sizes(self.params(group));
            Ok(GroupImages {
                name: group.name.clone(),
                output: group.plan().output(),
                arrangement: group.arrangement,
                size,
                sizes,
                place: group.size,
                channels: group.plan().channels(),
                views: group.views(),
                crops: group.plan().crops(),
                begin: group.begin,
                valid: self.start.valid * group.outputs,
                ids: room_for(samples * group.outputs)?,
                params: room_for(samples * group.outputs)?,
                objects: room_for(if shows_objects(group) { samples * group.outputs } else { 0 })?,
            })
        };
        let groups = pipeline.groups.iter().map(of_group).collect::<Result<_>>()?;
        let mut batch = Batch {
            store: store(self.buffers),
            groups,
            labels: room_for(samples * pipeline.first().outputs)?,
            columns: Vec::new(),
            object_field: pipeline.objects.as_ref().map(ObjectField::name),
            failures: self.failures,
            epoch: self.start.epoch,
            index: self.start.index,
            mix: self.start.mix,
        };
        let mut indices = room_for(samples)?;
        let mut columns = ColumnBuilder::new(&pipeline.fields, samples)?;
        for Finished { index, id, label, fields, params, objects, .. } in self.samples.into_iter().flatten() {
            indices.push(index);
            let (mut params, mut objects) = (params.into_iter(), objects.into_iter());
            for (group, images) in pipeline.groups.iter().zip(&mut batch.groups) {
                images.ids.extend(std::iter::repeat_n(id, group.outputs));
                images.params.extend(params.by_ref().take(group.outputs));
                if shows_objects(group) {
                    images.objects.extend(objects.by_ref().take(group.outputs));
                }
            }
            batch.labels.extend(std::iter::repeat_n(label, pipeline.first().outputs));
            columns.push((index, id), fields, |index| pipeline.dataset.name(index))?;
        }
        batch.columns = columns.finish();
        batch.name_partners(&indices);
        Ok(batch)
    }
}

/// An empty list with room for what `count` images of a batch have.
fn room_for<T>(count: usize) -> Result<Vec<T>> {
    let mut list = Vec::new();
    BATCH.reserve(&mut list, count)?;
    Ok(list)
}

/// Ends the run once too large a share of the samples has failed. Batches are counted in order, so every run with the
/// same seed ends at the same batch.
#[derive(Debug, Default)]
pub(in crate::loader::assemble) struct FailureBudget {
    seen: u64,
    failed: u64,
}

/// The fewest samples from which the share is computed: one bad file among the first two is not half of the data set.
const MIN_SAMPLES: u64 = 100;

impl FailureBudget {
    pub(in crate::loader::assemble) fn count(&mut self, pipeline: &Pipeline, batch: &mut Batch) -> Result<()> {
        self.seen += (batch.len() / pipeline.first().outputs) as u64;
        self.failed += batch.failures.len() as u64;
        let OnError::Skip { max_share } = pipeline.settings.on_error else { return Ok(()) };
        if self.seen < MIN_SAMPLES || self.failed as f64 <= max_share * self.seen as f64 {
            return Ok(());
        }
        let Some(Failure { id, name, error, .. }) = batch.failures.pop() else { return Ok(()) };
        let last = ErrorKind::Sample { id, name, source: error }.into();
        Err(ErrorKind::TooManyFailures { failed: self.failed, seen: self.seen, max_share, last }.into())
    }
}
