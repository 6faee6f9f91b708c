//! One sample of a data set at a time, as a data set of its own: a loader of it gives that sample in every epoch, with the
//! numbers that it draws in the whole data set, because they depend on the sample's id.

use gpufeed::{Dataset, Result, Sample};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

pub(super) struct Cursor {
    data: Arc<dyn Dataset>,
    at: AtomicUsize,
}

impl Cursor {
    pub(super) fn new(data: Arc<dyn Dataset>) -> Self {
        Cursor { data, at: AtomicUsize::new(0) }
    }

    /// Only between two runs: a run reads ahead.
    pub(super) fn go_to(&self, index: usize) {
        self.at.store(index, Ordering::SeqCst);
    }

    fn at(&self) -> usize {
        self.at.load(Ordering::SeqCst)
    }
}

impl Dataset for Cursor {
    fn len(&self) -> usize {
        1
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
}
