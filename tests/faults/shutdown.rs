//! Tests that no thread outlives its run, no panic crosses the API, and no run hangs when a thread is lost.

use gpufeed::transforms::{CenterCrop, ColorJitter, RandomResizedCrop};
use gpufeed::{DataLoader, DataLoaderBuilder, Dataset, Epochs, ErrorKind, InMemory, Result, Sample};
use gpufeed_testing::pipeline::{self, assert_same, places, seen, small_files};
use gpufeed_testing::watch::{alone, left_over, threads};
use std::time::{Duration, Instant};

/// A data set whose reads sleep for a set time, and one of whose samples may panic.
struct Slow {
    files: InMemory,
    pause: Duration,
    panics_at: Option<usize>,
}

impl Dataset for Slow {
    fn len(&self) -> usize {
        self.files.len()
    }

    fn inner(&self) -> Option<&dyn Dataset> {
        None
    }

    fn read<'a>(&'a self, index: usize, buffer: &'a mut Vec<u8>) -> Result<Sample<'a>> {
        std::thread::sleep(self.pause);
        assert!(self.panics_at != Some(index), "sample {index} is cursed");
        self.files.read(index, buffer)
    }

    fn name(&self, index: usize) -> String {
        self.files.name(index)
    }
}

fn builder(pause: u64, panics_at: Option<usize>) -> DataLoaderBuilder {
    let data = Slow { files: small_files(40), pause: Duration::from_millis(pause), panics_at };
    let builder = DataLoader::builder(data).transform(RandomResizedCrop::new(16));
    builder.transform(ColorJitter::new(0.4, 0.4, 0.4, 0.1)).batch_size(4).slot_bytes(16 << 20)
}

/// Drops the run and checks that this takes less than a second and ends the run's threads.
fn drop_in_time(run: Epochs, what: &str) {
    let started = Instant::now();
    drop(run);
    assert!(started.elapsed() < Duration::from_secs(1), "{what}: took {:?}", started.elapsed());
    assert_eq!(left_over(), [""; 0], "{what}");
}

#[test]
fn dropping_a_run_at_any_moment_joins_its_threads() {
    alone(200, "dropping", || {
        for place in places() {
            let loader = place.build(builder(50, None).workers(4));
            for round in 0..20_u64 {
                let what = format!("{}, round {round}", place.name);
                let mut run = loader.epochs(0..3).unwrap();
                let mut held = Vec::new();
                for batch in run.by_ref().take(round as usize % 3) {
                    // Some batches are still held when the run ends.
                    held.extend((round % 2 == 0).then_some(batch.unwrap()));
                }
                std::thread::sleep(Duration::from_micros(round * round * 1_000_003 % 90_001));
                drop_in_time(run, &what);
            }
        }
    });
}

#[test]
fn dropping_a_run_of_a_fast_data_set_joins_its_threads() {
    alone(200, "dropping", || {
        for place in places() {
            let loader = place.build(builder(0, None).workers(3).queue_depth(1));
            let expected = seen(loader.epoch(0).unwrap());
            for round in 0..40_u64 {
                let mut run = loader.epochs(0..3).unwrap();
                run.by_ref().take(round as usize % 4).for_each(|batch| drop(batch.unwrap()));
                std::thread::sleep(Duration::from_micros(round * round * 1_000_003 % 20_001));
                drop_in_time(run, &format!("{}, round {round}", place.name));
            }
            assert_same(&expected, &seen(loader.epoch(0).unwrap()), &format!("{}, afterwards", place.name));
        }
    });
}

#[test]
fn dropping_the_loader_first_is_no_matter() {
    alone(60, "dropping the loader", || {
        for place in places() {
            let loader = place.build(builder(10, None).workers(2));
            let mut run = loader.epochs(0..2).unwrap();
            drop(loader);
            assert_eq!(run.next().unwrap().unwrap().len(), 4);
            // Unless threads can be counted, the other tests of this file check nothing.
            assert!(!cfg!(target_os = "linux") || threads().len() >= 4, "{}: {:?}", place.name, threads());
            drop_in_time(run, &place.name);
        }
    });
}

#[test]
fn a_finished_run_has_no_threads() {
    alone(60, "finishing", || {
        for place in places() {
            let loader = place.build(builder(0, None).workers(3));
            let mut run = loader.epoch(0).unwrap();
            assert_eq!(run.by_ref().map(|batch| batch.unwrap().len()).sum::<usize>(), 40);
            assert_eq!(left_over(), [""; 0], "{}", place.name);
            assert!(run.next().is_none());
        }
    });
}

#[test]
fn a_panic_in_the_data_set_is_an_error_that_names_stage_and_sample() {
    alone(120, "panic", || {
        for place in places() {
            for (workers, panics_at, pause) in [(1, 0, 0), (2, 0, 5), (4, 0, 5), (4, 17, 0), (3, 39, 1), (8, 20, 5)] {
                let loader = place.build(builder(pause, Some(panics_at)).workers(workers));
                let mut run = loader.epoch(0).unwrap();
                let what = format!("{}, {workers} workers, sample {panics_at}", place.name);
                let error = run.by_ref().find_map(Result::err).unwrap_or_else(|| panic!("{what}: no error"));
                let ErrorKind::Sample { id, source, .. } = error.kind() else { panic!("{what}: {error}") };
                let ErrorKind::Panic { stage, message } = source.kind() else { panic!("{what}: {error}") };
                assert_eq!((*stage, *id), ("read", panics_at as u64), "{what}");
                assert_eq!(*message, format!("sample {panics_at} is cursed"), "{what}");
                assert!(run.next().is_none(), "{what}");
                assert_eq!(left_over(), [""; 0], "{what}");
            }
        }
    });
}

#[test]
fn a_panic_is_no_matter_to_a_run_that_is_dropped() {
    alone(60, "panic and drop", || {
        for place in places() {
            for round in 0..5 {
                let loader = place.build(builder(5, Some(9)).workers(4));
                let run = loader.epoch(0).unwrap();
                std::thread::sleep(Duration::from_millis(round * 7));
                drop(run);
                assert_eq!(left_over(), [""; 0], "{}", place.name);
            }
        }
    });
}

fn is_shared<T: Send + Sync + 'static>() {}
fn is_sent<T: Send + 'static>() {}

#[test]
fn what_threads_may_share_and_send() {
    is_shared::<DataLoader>();
    is_shared::<gpufeed::Batch>();
    is_sent::<Epochs>();
    is_sent::<DataLoaderBuilder>();
}

#[test]
fn two_runs_of_one_loader_in_turn() {
    alone(120, "in turn", || {
        for place in places() {
            for workers in [1, 8] {
                let loader = place.build(builder(0, None).workers(workers).batch_size(2));
                let expected = [seen(loader.epoch(0).unwrap()), seen(loader.epoch(1).unwrap())];
                let mut runs = [loader.epoch(0).unwrap(), loader.epoch(1).unwrap()];
                // The first run has time to take all the buffers that it can.
                std::thread::sleep(Duration::from_millis(200));
                let mut found = [Vec::new(), Vec::new()];
                for _ in 0..expected[0].len() {
                    for (run, found) in runs.iter_mut().zip(&mut found) {
                        found.push(pipeline::Seen::from(&run.next().unwrap().unwrap()));
                    }
                }
                for (found, expected) in found.iter().zip(&expected) {
                    assert_same(expected, found, &format!("{}, {workers} workers", place.name));
                }
            }
        }
    });
}

#[test]
fn runs_of_one_loader_on_several_threads() {
    alone(120, "beside each other", || {
        for place in places() {
            let loader = place.build(builder(0, None).workers(2));
            let expected: Vec<_> = (0..3).map(|epoch| seen(loader.epoch(epoch).unwrap())).collect();
            std::thread::scope(|scope| {
                let runs: Vec<_> = (0..3).map(|epoch| loader.epoch(epoch).unwrap()).collect();
                let threads: Vec<_> = runs.into_iter().map(|run| scope.spawn(|| seen(run))).collect();
                for (thread, expected) in threads.into_iter().zip(&expected) {
                    assert_same(expected, &thread.join().unwrap(), &place.name);
                }
            });
        }
    });
}

#[test]
fn two_loaders_share_a_backend() {
    alone(60, "two loaders", || {
        for place in places() {
            let other = || DataLoader::builder(small_files(12)).transform(CenterCrop::new(20)).batch_size(3).workers(2);
            let (a, b) = (place.build(builder(0, None)), place.build(other()));
            let expected = (seen(a.epoch(0).unwrap()), seen(b.epoch(0).unwrap()));
            std::thread::scope(|scope| {
                let first = scope.spawn(|| seen(a.epoch(0).unwrap()));
                let second = scope.spawn(|| seen(b.epoch(0).unwrap()));
                assert_same(&expected.0, &first.join().unwrap(), &place.name);
                assert_same(&expected.1, &second.join().unwrap(), &place.name);
            });
        }
    });
}
