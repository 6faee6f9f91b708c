//! Waiting for a batch no longer than some time: `Epochs::next_within`.

use gpufeed::transforms::RandomResizedCrop;
use gpufeed::{Backend, Batch, DataLoader, DataLoaderBuilder, Dataset, Epochs, ErrorKind, InMemory, Result, Sample};
use gpufeed_testing::pipeline::{Seen, assert_same, places, seen, small_files, within};
use std::task::Poll;
use std::time::{Duration, Instant};

fn builder() -> DataLoaderBuilder {
    DataLoader::builder(small_files(20)).transform(RandomResizedCrop::new(8)).batch_size(3).shuffle(true).workers(2)
}

/// The items of a run, and how often it was not ready.
fn all(run: &mut Epochs, time: Duration) -> (Vec<Result<Batch>>, usize) {
    let (mut items, mut pending) = (Vec::new(), 0);
    loop {
        match run.next_within(time) {
            Poll::Ready(Some(item)) => items.push(item),
            Poll::Ready(None) => return (items, pending),
            Poll::Pending => {
                pending += 1;
                std::thread::yield_now();
            }
        }
    }
}

#[test]
fn the_batches_are_those_of_next() {
    within(120, "all places", || {
        for place in places() {
            let loader = place.build(builder());
            let expected = seen(loader.epochs(0..2).unwrap());
            for time in [Duration::ZERO, Duration::from_micros(10), Duration::from_secs(60)] {
                let mut run = loader.epochs(0..2).unwrap();
                let (mut found, mut left) = (Vec::new(), run.len());
                loop {
                    match run.next_within(time) {
                        Poll::Ready(Some(batch)) => {
                            found.push(Seen::from(&batch.unwrap()));
                            left -= 1;
                        }
                        Poll::Ready(None) => break,
                        Poll::Pending => assert_ne!(time.as_secs(), 60, "a batch was there"),
                    }
                    assert_eq!(run.len(), left, "only a batch counts");
                }
                assert_same(&expected, &found, &format!("{}, within {time:?}", place.name));
                assert!(matches!(run.next_within(time), Poll::Ready(None)), "the end stays the end");
            }
        }
    });
}

/// Files that take a while to read.
struct Slow(InMemory, Duration);

impl Dataset for Slow {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn inner(&self) -> Option<&dyn Dataset> {
        None
    }

    fn read<'a>(&'a self, index: usize, buffer: &'a mut Vec<u8>) -> Result<Sample<'a>> {
        std::thread::sleep(self.1);
        self.0.read(index, buffer)
    }

    fn name(&self, index: usize) -> String {
        self.0.name(index)
    }
}

#[test]
fn a_batch_that_is_not_ready_is_not_waited_for() {
    within(60, "a slow data set", || {
        let slow = Slow(small_files(2), Duration::from_millis(700));
        let loader =
            DataLoader::builder(slow).transform(RandomResizedCrop::new(8)).workers(1).build(&Backend::Cpu).unwrap();
        let mut run = loader.epoch(0).unwrap();
        let state = run.state();
        let asked = Instant::now();
        assert!(run.next_within(Duration::from_millis(50)).is_pending());
        assert!((50..600).contains(&asked.elapsed().as_millis()), "{:?}", asked.elapsed());
        assert_eq!(run.state(), state, "nothing was handed out");
        let (items, pending) = all(&mut run, Duration::from_millis(50));
        assert_eq!(items.len(), 2);
        assert!(pending > 5, "{pending}");
        assert_eq!(loader.stats().batches, 2);
    });
}

#[test]
fn errors_come_as_from_next() {
    within(60, "errors", || {
        // A caller that holds all buffers and waits is told so, although it wakes up in between.
        let loader = builder().memory_budget(6 * 3 * 8 * 8 * 3 * 4).build(&Backend::Cpu).unwrap();
        let (items, pending) = all(&mut loader.epoch(0).unwrap(), Duration::from_millis(20));
        let error = items.last().unwrap().as_ref().unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::OutputsHeld { held: 6, .. }), "{error}");
        assert_eq!(items.len(), 7);
        assert!(pending > 10, "{pending}");
    });
}
