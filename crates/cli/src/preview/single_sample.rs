//! A data set of one selectable sample of another data set. A loader gives that sample in every epoch, with the same
//! random parameters as in the whole data set, because they depend on the sample's id.

use gpufeed::{Dataset, Field, FieldKind, Result, Sample};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

pub(super) struct SingleSample {
    data: Arc<dyn Dataset>,
    at: AtomicUsize,
}

impl SingleSample {
    pub(super) fn new(data: Arc<dyn Dataset>) -> Self {
        SingleSample { data, at: AtomicUsize::new(0) }
    }

    /// Selects a sample. Allowed only between two runs, because a run reads ahead.
    pub(super) fn select(&self, index: usize) {
        self.at.store(index, Ordering::SeqCst);
    }

    fn at(&self) -> usize {
        self.at.load(Ordering::SeqCst)
    }
}

impl Dataset for SingleSample {
    fn len(&self) -> usize {
        1
    }

    fn inner(&self) -> Option<&dyn Dataset> {
        None
    }

    fn read<'a>(&'a self, _: usize, buffer: &'a mut Vec<u8>) -> Result<Sample<'a>> {
        self.data.read(self.at(), buffer)
    }

    fn name(&self, _: usize) -> String {
        self.data.name(self.at())
    }

    fn id(&self, _: usize) -> u64 {
        self.data.id(self.at())
    }

    fn channels(&self) -> u32 {
        self.data.channels()
    }

    fn classes(&self) -> &[String] {
        self.data.classes()
    }

    fn fields(&self) -> &[Field] {
        self.data.fields()
    }
}

/// The selected sample without its fields of images, for the loader of originals: it has no group that shows them, and would
/// warn of each.
pub(super) struct WithoutImages {
    single: Arc<SingleSample>,
    fields: Vec<Field>,
}

impl WithoutImages {
    pub(super) fn new(single: Arc<SingleSample>) -> Self {
        let fields = single.fields().iter().filter(|field| !is_image(field)).cloned().collect();
        WithoutImages { single, fields }
    }
}

fn is_image(field: &Field) -> bool {
    field.values() == Some(FieldKind::Image)
}

impl Dataset for WithoutImages {
    fn len(&self) -> usize {
        1
    }

    fn inner(&self) -> Option<&dyn Dataset> {
        Some(&*self.single)
    }

    fn read<'a>(&'a self, index: usize, buffer: &'a mut Vec<u8>) -> Result<Sample<'a>> {
        let mut sample = self.single.read(index, buffer)?;
        let mut fields = self.single.fields().iter();
        sample.fields.retain(|_| fields.next().is_some_and(|field| !is_image(field)));
        Ok(sample)
    }

    fn name(&self, index: usize) -> String {
        self.single.name(index)
    }

    fn fields(&self) -> &[Field] {
        &self.fields
    }
}
