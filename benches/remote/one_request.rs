//! For comparison: a data set that makes a request for each image, as a loader does that knows no blocks.

use gpufeed::{Dataset, Label, Result, Sample, SampleData};
use object_store::http::{HttpBuilder, HttpStore};
use object_store::path::Path;
use object_store::{ClientOptions, ObjectStoreExt};
use std::cell::RefCell;
use std::ops::Range;
use tokio::runtime::{Builder, Runtime};

thread_local! {
    static RUNTIME: RefCell<Option<Runtime>> = const { RefCell::new(None) };
}

pub(crate) struct OneRequest {
    store: HttpStore,
    samples: Vec<(Path, Range<u64>)>,
}

impl OneRequest {
    /// Opens the samples of a server: the name of each one's file, and the range of its bytes there.
    pub(crate) fn new(server: &str, ranges: Vec<(String, Range<u64>)>) -> OneRequest {
        let options = ClientOptions::new().with_allow_http(true);
        let store = HttpBuilder::new().with_url(server).with_client_options(options).build().unwrap();
        OneRequest { store, samples: ranges.into_iter().map(|(name, range)| (Path::from(name), range)).collect() }
    }
}

impl Dataset for OneRequest {
    fn len(&self) -> usize {
        self.samples.len()
    }

    fn inner(&self) -> Option<&dyn Dataset> {
        None
    }

    fn read<'a>(&'a self, index: usize, buffer: &'a mut Vec<u8>) -> Result<Sample<'a>> {
        let (path, range) = &self.samples[index];
        let bytes = RUNTIME.with_borrow_mut(|runtime| {
            let runtime = runtime.get_or_insert_with(|| Builder::new_current_thread().enable_all().build().unwrap());
            runtime.block_on(self.store.get_range(path, range.clone())).unwrap()
        });
        buffer.clear();
        buffer.extend_from_slice(&bytes);
        Ok(Sample::new(SampleData::Encoded(buffer), Label::None))
    }

    fn name(&self, index: usize) -> String {
        format!("{index}")
    }

    fn channels(&self) -> u32 {
        3
    }
}
