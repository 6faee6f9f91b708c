//! Data sets that end the run that reads them: by an error for which no sample can stand in, or by dropping it; and runs
//! that end while a read goes on.

use gpufeed::transforms::CenterCrop;
use gpufeed::{Backend, DataLoader, Dataset, Epochs, ErrorKind, InMemory, OnError, Result, Sample};
use gpufeed_testing::pipeline::{small_files, within};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::task::Poll;
use std::time::{Duration, Instant};

/// Does `work` before it reads sample 5.
struct At5<F>(InMemory, F);

impl<F: Fn() -> Result<()> + Send + Sync> Dataset for At5<F> {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn inner(&self) -> Option<&dyn Dataset> {
        None
    }

    fn read<'a>(&'a self, index: usize, buffer: &'a mut Vec<u8>) -> Result<Sample<'a>> {
        if index == 5 {
            self.1()?;
        }
        self.0.read(index, buffer)
    }

    fn name(&self, index: usize) -> String {
        self.0.name(index)
    }
}

fn loader(work: impl Fn() -> Result<()> + Send + Sync + 'static) -> DataLoader {
    let builder =
        DataLoader::builder(At5(small_files(40), work)).transform(CenterCrop::new(8)).batch_size(4).workers(2);
    builder.on_error(OnError::Skip { max_share: 1.0 }).build(&Backend::Cpu).unwrap()
}

#[test]
fn a_fatal_error_ends_the_run_though_samples_may_fail() {
    within(60, "a fatal error", || {
        let reads = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&reads);
        let loader = loader(move || {
            counted.fetch_add(1, Ordering::Relaxed);
            Err(ErrorKind::Fatal { source: "interrupted".into() }.into())
        });
        let ended: Result<Vec<_>> = loader.epoch(0).unwrap().collect();
        let error = ended.unwrap_err();
        assert!(error.to_string().contains("interrupted"), "{error}");
        let ErrorKind::Sample { id: 5, source, .. } = error.kind() else { panic!("{error:?}") };
        assert!(matches!(source.kind(), ErrorKind::Fatal { .. }));
        assert_eq!(reads.load(Ordering::Relaxed), 1);
    });
}

#[test]
fn a_data_set_drops_the_run_that_reads_it() {
    within(60, "a dropped run", || {
        let held: Arc<Mutex<Option<Epochs>>> = Arc::default();
        let (inside, (told, dropped)) = (Arc::clone(&held), mpsc::channel());
        let loader = loader(move || {
            let run = inside.lock().unwrap().take();
            drop(run);
            told.send(()).unwrap();
            Ok(())
        });
        // Held until the run is in its place.
        let mut place = held.lock().unwrap();
        *place = Some(loader.epoch(0).unwrap());
        drop(place);
        dropped.recv().unwrap();
        assert_eq!(loader.epoch(1).unwrap().count(), 10);
    });
}

#[test]
fn an_error_is_not_late_because_another_read_goes_on() {
    within(60, "an error beside a long read", || {
        static GOES_ON: AtomicBool = AtomicBool::new(true);
        struct Long(InMemory);
        impl Dataset for Long {
            fn len(&self) -> usize {
                self.0.len()
            }

            fn inner(&self) -> Option<&dyn Dataset> {
                None
            }
            fn read<'a>(&'a self, index: usize, buffer: &'a mut Vec<u8>) -> Result<Sample<'a>> {
                match index {
                    0 => return Err(ErrorKind::Fatal { source: "no".into() }.into()),
                    1 => {
                        while GOES_ON.load(Ordering::Relaxed) {
                            std::thread::sleep(Duration::from_millis(1));
                        }
                    }
                    _ => {}
                }
                self.0.read(index, buffer)
            }
            fn name(&self, index: usize) -> String {
                self.0.name(index)
            }
        }
        let builder = DataLoader::builder(Long(small_files(40))).transform(CenterCrop::new(8)).workers(2);
        let loader = builder.build(&Backend::Cpu).unwrap();
        let mut epoch = loader.epoch(0).unwrap();
        let began = Instant::now();
        let error = loop {
            match epoch.next_within(Duration::from_millis(20)) {
                Poll::Pending => assert!(began.elapsed() < Duration::from_secs(20), "the error waits for the read"),
                Poll::Ready(item) => break item.unwrap().unwrap_err(),
            }
        };
        assert!(error.to_string().contains("no"), "{error}");
        assert!(matches!(epoch.next_within(Duration::from_millis(20)), Poll::Ready(None)));
        assert_eq!(epoch.len(), 0);
        GOES_ON.store(false, Ordering::Relaxed);
        drop(epoch);
    });
}
