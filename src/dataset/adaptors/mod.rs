//! Data sets made of other data sets: subsets, concatenations, blends, weights, repetitions.
//!
//! They change no sample, and forward everything else; those that give samples other numbers translate these for
//! [`Access`](super::Access), too. Two samples of an epoch must not share random numbers, so a sample that comes again
//! has another id (`ids.rs`).

mod blend;
mod concat;
mod ids;
mod repeat;
mod split;
mod subset;
mod weights;

/// Implements [`Access`](super::Access) and [`Stored`](super::Stored) for an adaptor of one data set, whose method
/// `inner_index` translates its indices to those of the data set. Only called where that data set has them.
macro_rules! translated {
    ($adaptor:ident) => {
        impl<D: Dataset> $crate::dataset::Access for $adaptor<D> {
            fn is_remote(&self) -> bool {
                self.data.access().is_some_and(|access| access.is_remote())
            }

            fn job_samples(&self) -> usize {
                self.data.access().map_or(1, |access| access.job_samples())
            }

            fn begin_job(&self, indices: &[usize]) {
                let inner: Vec<_> = indices.iter().filter_map(|&index| self.inner_index(index)).collect();
                if let Some(access) = self.data.access() {
                    access.begin_job(&inner);
                }
            }

            fn prefetch_samples(&self) -> usize {
                self.data.access().map_or(0, |access| access.prefetch_samples())
            }

            fn prefetch(&self, indices: &[usize]) {
                let inner: Vec<_> = indices.iter().filter_map(|&index| self.inner_index(index)).collect();
                if let Some(access) = self.data.access() {
                    access.prefetch(&inner);
                }
            }

            fn remotes(&self) -> Vec<$crate::storage::Remote> {
                self.data.access().map_or(Vec::new(), |access| access.remotes())
            }
        }

        impl<D: Dataset> $crate::dataset::Stored for $adaptor<D> {
            fn own_name(&self, index: usize) -> Option<String> {
                self.data.stored()?.own_name(self.inner_index(index)?)
            }

            fn has_ending(&self, index: usize) -> bool {
                let inner = self.data.stored().zip(self.inner_index(index));
                inner.is_none_or(|(files, index)| files.has_ending(index))
            }

            fn file(&self, index: usize) -> Option<&std::path::Path> {
                self.data.stored()?.file(self.inner_index(index)?)
            }

            fn label(&self, index: usize) -> Option<$crate::dataset::Label> {
                self.data.stored()?.label(self.inner_index(index)?)
            }

            fn whole_folder(&self) -> Option<&std::path::Path> {
                self.data.stored()?.whole_folder()
            }

            fn each(&self, see: &mut dyn FnMut(&std::path::Path, Option<$crate::dataset::ObjectStamp>)) {
                // Files of their own are those of these samples, in this order.
                let own: Option<Vec<_>> = (0..self.len()).map(|index| self.file(index)).collect();
                match (own, self.data.stored()) {
                    (Some(own), _) => own.into_iter().for_each(|file| see(file, None)),
                    (None, files) => files.into_iter().for_each(|files| files.each(see)),
                }
            }
        }
    };
}

/// Writes those methods of [`Dataset`](super::Dataset) that adaptors of one data set share whose method `inner_index`
/// translates their indices.
macro_rules! of_one_set {
    () => {
        fn read<'a>(&'a self, index: usize, buffer: &'a mut Vec<u8>) -> $crate::Result<$crate::dataset::Sample<'a>> {
            let out_of_range = || $crate::dataset::out_of_range(index, self.len());
            self.data.read(self.inner_index(index).ok_or_else(out_of_range)?, buffer)
        }

        fn name(&self, index: usize) -> String {
            self.inner_index(index).map_or_else(|| format!("sample {index}"), |inner| self.data.name(inner))
        }

        fn label(&self, index: usize) -> Option<$crate::dataset::Label> {
            self.data.label(self.inner_index(index)?)
        }

        fn inner(&self) -> Option<&dyn Dataset> {
            None
        }

        $crate::dataset::forward::forward!(self => self.data; of the set);

        fn access(&self) -> Option<&dyn $crate::dataset::Access> {
            self.data.access().map(|_| self as &dyn $crate::dataset::Access)
        }

        fn stored(&self) -> Option<&dyn $crate::dataset::Stored> {
            self.data.stored().map(|_| self as &dyn $crate::dataset::Stored)
        }

        fn weights(&self) -> Option<&[f64]> {
            self.weights.as_deref()
        }
    };
}

use {of_one_set, translated};

pub use blend::blend;
pub use concat::Concat;
pub use repeat::Repeat;
pub use split::SplitPart;
pub(super) use split::split;
pub use subset::Subset;
pub use weights::Weighted;

#[cfg(test)]
mod tests {
    use crate::dataset::{Access, Dataset, Label, Notice, ObjectStamp, Sample, SampleData, Stored};
    use crate::error::Result;
    use std::path::Path;
    use std::sync::{Arc, Mutex};

    /// Overrides every method: a method that an adaptor does not forward returns its default, which the test notices.
    #[derive(Clone)]
    struct Odd(Vec<String>, Arc<Mutex<Vec<usize>>>);

    impl Dataset for Odd {
        fn len(&self) -> usize {
            2
        }

        fn read<'a>(&'a self, index: usize, buffer: &'a mut Vec<u8>) -> Result<Sample<'a>> {
            buffer.clear();
            buffer.push(index as u8 + 50);
            Ok(Sample::new(SampleData::Encoded(buffer), Label::Class(7)))
        }

        fn name(&self, index: usize) -> String {
            format!("odd {index}")
        }

        fn label(&self, index: usize) -> Option<Label> {
            Some(Label::Class(index as u32 + 20))
        }

        fn id(&self, index: usize) -> u64 {
            index as u64 + 100
        }

        fn channels(&self) -> u32 {
            1
        }

        fn classes(&self) -> &[String] {
            &self.0
        }

        fn is_in_memory(&self) -> bool {
            true
        }

        fn inner(&self) -> Option<&dyn Dataset> {
            None
        }

        fn folder(&self) -> Option<&Path> {
            Some(Path::new("odd"))
        }

        fn notices(&self) -> Vec<Notice> {
            vec![Notice::Labels { what: "odd".to_owned() }]
        }

        fn weights(&self) -> Option<&[f64]> {
            Some(&[1.0, 3.0])
        }

        fn access(&self) -> Option<&dyn Access> {
            Some(self)
        }

        fn stored(&self) -> Option<&dyn Stored> {
            Some(self)
        }
    }

    impl Stored for Odd {
        fn own_name(&self, index: usize) -> Option<String> {
            Some(format!("{index}.odd"))
        }

        fn has_ending(&self, _: usize) -> bool {
            false
        }

        fn file(&self, index: usize) -> Option<&Path> {
            self.0.get(index).map(Path::new)
        }

        fn label(&self, index: usize) -> Option<Label> {
            Some(Label::Class(index as u32))
        }

        fn each(&self, see: &mut dyn FnMut(&Path, Option<ObjectStamp>)) {
            see(Path::new("all"), None);
        }
    }

    impl Access for Odd {
        fn is_remote(&self) -> bool {
            true
        }

        fn job_samples(&self) -> usize {
            7
        }

        fn begin_job(&self, indices: &[usize]) {
            self.1.lock().unwrap().extend(indices);
        }

        fn prefetch_samples(&self) -> usize {
            11
        }

        fn prefetch(&self, indices: &[usize]) {
            self.1.lock().unwrap().extend(indices.iter().map(|index| index + 100));
        }
    }

    #[test]
    fn adaptors_of_data_that_is_simply_there_have_no_access() {
        let files = || (0..2u8).map(|byte| (vec![byte], Label::None)).collect::<crate::InMemory>();
        let all: [Box<dyn Dataset>; 4] = [
            Box::new(files().concat(files()).unwrap()),
            Box::new(files().subset([0, 1]).unwrap()),
            Box::new(files().with_weights([1.0, 3.0]).unwrap()),
            Box::new(files().repeat(2).unwrap()),
        ];
        assert!(all.iter().all(|data| data.access().is_none()));
    }

    #[test]
    fn every_adaptor_forwards_every_method() {
        let begun = Arc::new(Mutex::new(Vec::new()));
        let odd = || Odd(vec!["a".to_owned()], begun.clone());
        let all: [Box<dyn Dataset>; 5] = [
            Box::new(odd().concat(odd()).unwrap()),
            Box::new(odd().subset([0, 1]).unwrap()),
            Box::new(odd().split(1.0, 0).unwrap().0),
            Box::new(odd().with_weights([1.0, 3.0]).unwrap()),
            Box::new(odd().repeat(2).unwrap()),
        ];
        for (number, data) in all.iter().enumerate() {
            assert_eq!((data.name(1), data.id(1), data.channels()), ("odd 1".to_owned(), 101, 1), "{number}");
            assert_eq!((data.classes(), data.folder()), (&["a".to_owned()][..], Some(Path::new("odd"))), "{number}");
            assert_eq!(data.weights().unwrap()[..2], [1.0, 3.0], "{number}");
            let labels = [1, data.len() - 1].map(|index| data.label(index));
            assert_eq!(labels, [Some(Label::Class(21)), Some(Label::Class(21))], "{number}");
            assert_eq!(data.weights().unwrap().len(), data.len(), "{number}");
            let access = data.access().unwrap();
            assert_eq!((access.job_samples(), access.prefetch_samples()), (7, 11), "{number}");
            assert!(access.is_remote(), "{number}");
            assert_eq!(data.notices(), [Notice::Labels { what: "odd".to_owned() }], "{number}");
            access.begin_job(&[1, data.len() - 1]);
            assert_eq!(std::mem::take(&mut *begun.lock().unwrap()), [1, 1], "{number}");
            access.prefetch(&[0, data.len() - 1]);
            let mut announced = std::mem::take(&mut *begun.lock().unwrap());
            announced.sort_unstable();
            assert_eq!(announced, [100, 101], "{number}");
            let files = data.stored().unwrap();
            let last = data.len() - 1;
            assert_eq!(
                (files.own_name(1).as_deref(), files.own_name(last).as_deref()),
                (Some("1.odd"), Some("1.odd")),
                "{number}"
            );
            assert_eq!((files.file(0), files.file(1)), (Some(Path::new("a")), None), "{number}");
            assert_eq!((files.label(last), files.has_ending(last)), (Some(Label::Class(1)), false), "{number}");
            let mut seen = Vec::new();
            files.each(&mut |file, _| seen.push(file.to_owned()));
            assert!(!seen.is_empty() && seen.iter().all(|file| file == Path::new("all")), "{number}: {seen:?}");
            let mut buffer = Vec::new();
            let sample = data.read(1, &mut buffer).unwrap();
            assert!(matches!(sample.data, SampleData::Encoded([51])) && sample.label == Label::Class(7), "{number}");
        }
    }
}
