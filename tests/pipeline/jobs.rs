//! Data sets that are told which samples a worker reads next: `Access::job_samples` and `Access::begin_job`.

use gpufeed::dataset::Access;
use gpufeed::transforms::RandomResizedCrop;
use gpufeed::{Backend, Cache, DataLoader, DataLoaderBuilder, Dataset, InMemory, Result, Sample};
use gpufeed_testing::pipeline::{assert_same, seen, small_files, within};
use std::collections::HashMap;
use std::sync::Mutex;
use std::thread::ThreadId;

/// What the data set was told and asked: for each thread the samples that it was told of and has not read, and the
/// lengths of all jobs.
#[derive(Default)]
struct Told {
    due: HashMap<ThreadId, Vec<usize>>,
    jobs: Vec<usize>,
    unannounced: usize,
}

struct Jobs(InMemory, usize, Mutex<Told>);

impl Jobs {
    fn new(samples: usize) -> Jobs {
        Jobs(small_files(60), samples, Mutex::default())
    }
}

impl Dataset for &'static Jobs {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn inner(&self) -> Option<&dyn Dataset> {
        None
    }

    fn read<'a>(&'a self, index: usize, buffer: &'a mut Vec<u8>) -> Result<Sample<'a>> {
        let mut told = self.2.lock().unwrap();
        let due = told.due.entry(std::thread::current().id()).or_default();
        // They are read in the order in which they were announced.
        if due.first() == Some(&index) {
            due.remove(0);
        } else {
            told.unannounced += 1;
        }
        self.0.read(index, buffer)
    }

    fn name(&self, index: usize) -> String {
        self.0.name(index)
    }

    fn access(&self) -> Option<&dyn Access> {
        Some(self)
    }
}

impl Access for &'static Jobs {
    fn job_samples(&self) -> usize {
        self.1
    }

    fn begin_job(&self, indices: &[usize]) {
        let mut told = self.2.lock().unwrap();
        told.jobs.push(indices.len());
        let due = told.due.insert(std::thread::current().id(), indices.to_vec());
        assert!(due.is_none_or(|due| due.is_empty()), "the job before was read to its end");
    }
}

fn builder(data: &'static Jobs) -> DataLoaderBuilder {
    DataLoader::builder(data).transform(RandomResizedCrop::new(8)).batch_size(30).shuffle(true).workers(2)
}

#[test]
fn jobs_have_as_many_samples_as_the_data_set_asks_for() {
    within(60, "jobs", || {
        let expected = seen(builder(Box::leak(Box::new(Jobs::new(1)))).build(&Backend::Cpu).unwrap().epoch(0).unwrap());
        // A batch of 30 is divided into jobs of four samples and one more where they do not divide it.
        for (samples, most) in [(0, 0), (1, 0), (2, 2), (3, 3), (1000, 5)] {
            let data: &'static Jobs = Box::leak(Box::new(Jobs::new(samples)));
            let loader = builder(data).build(&Backend::Cpu).unwrap();
            data.2.lock().unwrap().unannounced = 0; // building reads the first sample
            assert_same(&expected, &seen(loader.epoch(0).unwrap()), &format!("{samples} at once"));
            let told = data.2.lock().unwrap();
            assert_eq!(told.jobs.iter().max().copied().unwrap_or(0), most, "{samples} at once");
            let announced = if samples > 1 { 60 } else { 0 };
            assert_eq!((told.jobs.iter().sum::<usize>(), told.unannounced), (announced, 60 - announced));
        }
    });
}

#[test]
fn cached_samples_are_not_announced() {
    within(60, "a cache", || {
        let data: &'static Jobs = Box::leak(Box::new(Jobs::new(8)));
        let loader = builder(data).cache(Cache::Host(1 << 30)).build(&Backend::Cpu).unwrap();
        for _ in 0..2 {
            drop(seen(loader.epoch(0).unwrap()));
            assert_eq!(data.2.lock().unwrap().jobs.iter().sum::<usize>(), 60);
        }
    });
}
