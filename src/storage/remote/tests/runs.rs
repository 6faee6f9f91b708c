//! Tests of loaders whose data set reads from a store: reading ahead, and a network that fails.

use super::*;
use crate::dataset::{Access, Dataset as _, Label, PixelFormat, Pixels, Sample, SampleData};
use crate::transforms::CenterCrop;
use crate::{Backend, DType, Layout, OnError};

/// A data set of gray images of 32x32 pixels, which lie one after the other in an object. The second field counts the
/// samples that were announced.
struct Raw(RemoteObject, Arc<AtomicU64>);

const RAW: usize = 32 * 32;

impl crate::Dataset for Raw {
    fn len(&self) -> usize {
        self.0.len() as usize / RAW
    }

    fn inner(&self) -> Option<&dyn crate::Dataset> {
        None
    }

    fn read<'a>(&'a self, index: usize, buffer: &'a mut Vec<u8>) -> Result<Sample<'a>> {
        buffer.resize(RAW, 0);
        self.0.read_exact(buffer, (index * RAW) as u64).map_err(|error| Error::io(self.0.name(), error))?;
        let pixels = Pixels::new(32, 32, PixelFormat::R8, buffer)?;
        Ok(Sample::new(SampleData::Pixels(pixels), Label::None))
    }

    fn name(&self, index: usize) -> String {
        format!("{} {index}", self.0.name())
    }

    fn channels(&self) -> u32 {
        1
    }

    fn access(&self) -> Option<&dyn Access> {
        Some(self)
    }
}

impl Access for Raw {
    fn prefetch_samples(&self) -> usize {
        self.0.remote().samples_ahead(RAW as u64)
    }

    fn prefetch(&self, indices: &[usize]) {
        self.1.fetch_add(indices.len() as u64, Relaxed);
        for index in indices {
            self.0.expect((index * RAW) as u64..((index + 1) * RAW) as u64);
        }
        self.0.remote().fetch_expected();
    }

    fn remotes(&self) -> Vec<Remote> {
        vec![self.0.remote().clone()]
    }
}

/// A data set that wraps another one, and has only the methods that the compiler asks for.
struct Wrapper<D>(D);

impl<D: crate::Dataset> crate::Dataset for Wrapper<D> {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn read<'a>(&'a self, index: usize, buffer: &'a mut Vec<u8>) -> Result<Sample<'a>> {
        self.0.read(index, buffer)
    }

    fn name(&self, index: usize) -> String {
        self.0.name(index)
    }

    fn inner(&self) -> Option<&dyn crate::Dataset> {
        Some(&self.0)
    }
}

fn loader(object: RemoteObject, on_error: OnError) -> crate::DataLoader {
    loader_of(Raw(object, Arc::default()), on_error)
}

fn loader_of(data: impl crate::Dataset + 'static, on_error: OnError) -> crate::DataLoader {
    let builder =
        crate::DataLoader::builder(data).transform(CenterCrop::new(32)).output(Layout::Nhwc, DType::U8).batch_size(64);
    builder.read_ahead(32 << 20).workers(2).on_error(on_error).build(&Backend::Cpu).unwrap()
}

#[test]
fn a_loader_reads_ahead_of_its_workers_over_the_end_of_an_epoch() {
    watched(|| {
        let bytes = content(20 * MIB, 11);
        let server = StoreServer::start();
        server.put("bucket/a", bytes.clone());
        let object = open(&server.s3("bucket/a"), options(&server).timeout(Duration::from_secs(20)));
        let before = server.requests();
        let loader = loader(object, OnError::Fail);
        for epoch in 0..2 {
            let mut all = Vec::new();
            for batch in loader.epoch(epoch).unwrap() {
                all.extend_from_slice(&batch.unwrap().to_host().unwrap());
            }
            assert!(all == bytes, "other pixels");
        }
        assert!(loader.explain().contains("remote: 32 MiB read ahead, nothing kept on disk\n"), "{}", loader.explain());
        let stats = loader.stats();
        let remote = stats.remote.clone().unwrap();
        assert_eq!(remote.evicted_unread, 0, "{remote}");
        assert_eq!(remote.bytes, 20 << 20, "what is in memory is not fetched again: {remote}");
        assert_eq!(server.requests() - before, remote.requests as usize);
        assert!(remote.requests <= 3 && format!("{stats}").contains("remote: 20 MB"), "{stats}");
    });
}

#[test]
fn a_wrapper_that_forwards_len_read_and_name_reads_ahead_as_what_it_wraps() {
    watched(|| {
        let bytes = content(20 * MIB, 11);
        let server = StoreServer::start();
        server.put("bucket/a", bytes.clone());
        let announced: Arc<AtomicU64> = Arc::default();
        let raw = || {
            let object = open(&server.s3("bucket/a"), options(&server).timeout(Duration::from_secs(20)));
            Wrapper(Raw(object, announced.clone()))
        };
        let samples = 20 * MIB / RAW;
        // A subset turns the order of the samples round; below, a subset of this wrapper turns it round again.
        let backwards = Wrapper(Box::new(raw()).subset((0..samples).rev()).unwrap());
        let all: [Box<dyn crate::Dataset>; 3] = [
            Box::new(raw()),
            Box::new(Wrapper(Arc::new(Wrapper(raw())))),
            Box::new(backwards.subset((0..samples).rev()).unwrap()),
        ];
        for (number, data) in all.into_iter().enumerate() {
            announced.store(0, Relaxed);
            let loader = loader_of(data, OnError::Fail);
            let batches = loader.epoch(0).unwrap().map(|batch| batch.unwrap().to_host().unwrap());
            assert!(batches.collect::<Vec<_>>().concat() == bytes, "{number}: other pixels");
            assert_eq!(announced.load(Relaxed), samples as u64, "{number}");
            assert!(loader.explain().contains("32 MiB read ahead"), "{number}: {}", loader.explain());
            let remote = loader.stats().remote.clone().unwrap();
            assert_eq!((remote.bytes, remote.evicted_unread), (20 << 20, 0), "{number}: {remote}");
        }
    });
}

#[test]
fn a_network_that_fails_ends_the_run_and_replaces_no_sample() {
    watched(|| {
        let server = StoreServer::start();
        server.put("bucket/a", content(20 * MIB, 11));
        let object = open(&server.s3("bucket/a"), options(&server).retries(1));
        let loader = loader(object, OnError::Skip { max_share: 1.0 });
        server.script(|request| match request.range.as_ref() {
            Some(range) if range.end > 9 << 20 => Fault::Status(503),
            _ => Fault::None,
        });
        let error = loader.epoch(0).unwrap().find_map(Result::err).expect("the second block never comes").to_string();
        for word in ["s3://bucket/a", "bytes ", "503", "RemoteOptions::retries"] {
            assert!(error.contains(word), "{word}: {error}");
        }
        assert_eq!(loader.stats().failed, 0);
    });
}

#[test]
fn a_run_that_begins_forgets_what_was_expected_unless_another_goes_on() {
    watched(|| {
        let server = StoreServer::start();
        server.put("bucket/a", content(20 * MIB, 11));
        // Reads the three blocks of an object, and returns in how many requests they came. A first run announces the
        // blocks, and then ends. `second` may begin a second run before the first one ends.
        let fetched = |second: fn(&Remote) -> Option<RemoteRun>| {
            let object = open(&server.s3("bucket/a"), options(&server).timeout(Duration::from_secs(20)));
            let before = server.requests();
            let first = object.remote().begin_run();
            object.expect(0..20 << 20);
            let second = second(object.remote());
            drop(first);
            let third = object.remote().begin_run();
            object.remote().fetch_expected();
            let mut pixel = [0];
            (0..3).for_each(|block| object.read_exact(&mut pixel, block << 23).unwrap());
            drop((second, third));
            server.requests() - before
        };
        assert_eq!(fetched(|remote| Some(remote.begin_run())), 1, "the second run goes on: neighbours share a request");
        assert_eq!(fetched(|_| None), 3, "each block is fetched when it is read");
    });
}
