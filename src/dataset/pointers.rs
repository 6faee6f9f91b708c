//! Pointers to data sets are data sets.

use std::path::Path;
use std::sync::Arc;

#[cfg(feature = "remote")]
use super::Remote;
use super::{Dataset, Notice, Sample};
use crate::error::Result;

macro_rules! forward {
    ($pointer:ty) => {
        impl<D: Dataset + ?Sized> Dataset for $pointer {
            fn len(&self) -> usize {
                (**self).len()
            }

            fn is_empty(&self) -> bool {
                (**self).is_empty()
            }

            fn read<'a>(&'a self, index: usize, buffer: &'a mut Vec<u8>) -> Result<Sample<'a>> {
                (**self).read(index, buffer)
            }

            fn job_samples(&self) -> usize {
                (**self).job_samples()
            }

            fn begin_job(&self, indices: &[usize]) {
                (**self).begin_job(indices);
            }

            fn name(&self, index: usize) -> String {
                (**self).name(index)
            }

            fn id(&self, index: usize) -> u64 {
                (**self).id(index)
            }

            fn channels(&self) -> u32 {
                (**self).channels()
            }

            fn classes(&self) -> &[String] {
                (**self).classes()
            }

            fn is_in_memory(&self) -> bool {
                (**self).is_in_memory()
            }

            fn is_remote(&self) -> bool {
                (**self).is_remote()
            }

            fn folder(&self) -> Option<&Path> {
                (**self).folder()
            }

            fn notices(&self) -> Vec<Notice> {
                (**self).notices()
            }

            fn weights(&self) -> Option<&[f64]> {
                (**self).weights()
            }

            fn prefetch_samples(&self) -> usize {
                (**self).prefetch_samples()
            }

            fn prefetch(&self, indices: &[usize]) {
                (**self).prefetch(indices);
            }

            #[cfg(feature = "remote")]
            fn remotes(&self) -> Vec<Remote> {
                (**self).remotes()
            }
        }
    };
}

forward!(Arc<D>);
forward!(Box<D>);

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(feature = "remote")]
    use crate::dataset::RemoteOptions;
    use crate::dataset::{Label, SampleData};
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// Overrides every method: a method that is not forwarded returns its default, which the test notices.
    struct Odd {
        classes: Vec<String>,
        begun: Arc<AtomicUsize>,
    }

    impl Dataset for Odd {
        fn len(&self) -> usize {
            5
        }

        fn is_empty(&self) -> bool {
            true
        }

        fn read<'a>(&'a self, index: usize, buffer: &'a mut Vec<u8>) -> Result<Sample<'a>> {
            buffer.clear();
            buffer.push(index as u8);
            Ok(Sample { data: SampleData::Encoded(buffer), label: Label::None })
        }

        fn job_samples(&self) -> usize {
            7
        }

        fn begin_job(&self, indices: &[usize]) {
            self.begun.store(indices[0], Ordering::Relaxed);
        }

        fn name(&self, index: usize) -> String {
            format!("odd {index}")
        }

        fn id(&self, index: usize) -> u64 {
            index as u64 * 100
        }

        fn channels(&self) -> u32 {
            1
        }

        fn classes(&self) -> &[String] {
            &self.classes
        }

        fn is_in_memory(&self) -> bool {
            true
        }

        fn is_remote(&self) -> bool {
            true
        }

        fn folder(&self) -> Option<&Path> {
            Some(Path::new("odd"))
        }

        fn notices(&self) -> Vec<Notice> {
            vec![Notice::Labels { what: "odd".to_owned() }]
        }

        fn weights(&self) -> Option<&[f64]> {
            Some(&[0.5])
        }

        fn prefetch_samples(&self) -> usize {
            11
        }

        fn prefetch(&self, indices: &[usize]) {
            self.begun.store(100 + indices[0], Ordering::Relaxed);
        }

        #[cfg(feature = "remote")]
        fn remotes(&self) -> Vec<Remote> {
            vec![Remote::new(&RemoteOptions::new()).unwrap()]
        }
    }

    fn check(make: impl FnOnce(Odd) -> Box<dyn Dataset>) {
        let begun = Arc::new(AtomicUsize::new(0));
        let dataset = make(Odd { classes: vec!["a".into()], begun: begun.clone() });
        assert_eq!(dataset.len(), 5);
        assert!(dataset.is_empty());
        assert_eq!(dataset.name(2), "odd 2");
        assert_eq!(dataset.id(2), 200);
        assert_eq!(dataset.channels(), 1);
        assert_eq!(dataset.classes(), ["a"]);
        assert!(dataset.is_in_memory());
        assert!(dataset.is_remote());
        assert_eq!(dataset.folder(), Some(Path::new("odd")));
        assert_eq!(dataset.weights(), Some(&[0.5][..]));
        assert_eq!(dataset.notices(), [Notice::Labels { what: "odd".to_owned() }]);
        assert_eq!(dataset.job_samples(), 7);
        dataset.begin_job(&[4, 1]);
        assert_eq!(begun.load(Ordering::Relaxed), 4);
        assert_eq!(dataset.prefetch_samples(), 11);
        dataset.prefetch(&[4, 1]);
        assert_eq!(begun.load(Ordering::Relaxed), 104);
        #[cfg(feature = "remote")]
        assert_eq!(dataset.remotes().len(), 1);
        let mut buffer = vec![9; 9];
        let sample = dataset.read(3, &mut buffer).unwrap();
        assert!(matches!(sample.data, SampleData::Encoded([3])));
    }

    #[test]
    fn pointers_forward_every_method() {
        check(|odd| Box::new(Arc::new(odd)));
        check(|odd| Box::new(Box::new(odd)));
        check(|odd| Box::new(Box::new(odd) as Box<dyn Dataset>));
        check(|odd| Box::new(Arc::new(odd) as Arc<dyn Dataset>));
    }
}
