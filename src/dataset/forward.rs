//! A macro that implements methods of [`Dataset`] by calling another data set. With it an `Arc` or `Box` of a data set
//! is a data set, too, and an adaptor such as `Subset` has the classes and channels of the data set that it wraps.

use std::sync::Arc;

use super::Dataset;

/// Implements methods of [`Dataset`] by calling the methods of the same names of another data set.
/// `forward!(self => self.data; of the set)` implements the methods about the set as a whole, such as `classes`;
/// `forward!(self => (**self); all)` implements every method.
macro_rules! forward {
    ($this:ident => $other:expr; of the set) => {
        fn channels(&$this) -> u32 {
            $other.channels()
        }

        fn classes(&$this) -> &[String] {
            $other.classes()
        }

        fn fields(&$this) -> &[$crate::dataset::Field] {
            $other.fields()
        }

        fn is_in_memory(&$this) -> bool {
            $other.is_in_memory()
        }

        fn folder(&$this) -> Option<&std::path::Path> {
            $other.folder()
        }

        fn notices(&$this) -> Vec<$crate::dataset::Notice> {
            $other.notices()
        }
    };
    ($this:ident => $other:expr; all) => {
        forward!($this => $other; of the set);

        fn len(&$this) -> usize {
            $other.len()
        }

        fn is_empty(&$this) -> bool {
            $other.is_empty()
        }

        fn read<'a>(
            &'a $this,
            index: usize,
            buffer: &'a mut Vec<u8>,
        ) -> $crate::Result<$crate::dataset::Sample<'a>> {
            $other.read(index, buffer)
        }

        fn name(&$this, index: usize) -> String {
            $other.name(index)
        }

        fn label(&$this, index: usize) -> Option<$crate::dataset::Label> {
            $other.label(index)
        }

        fn inner(&$this) -> Option<&dyn Dataset> {
            $other.inner()
        }

        fn id(&$this, index: usize) -> u64 {
            $other.id(index)
        }

        fn weights(&$this) -> Option<&[f64]> {
            $other.weights()
        }

        fn access(&$this) -> Option<&dyn $crate::dataset::Access> {
            $other.access()
        }

        fn stored(&$this) -> Option<&dyn $crate::dataset::Stored> {
            $other.stored()
        }
    };
}

pub(super) use forward;

impl<D: Dataset + ?Sized> Dataset for Arc<D> {
    forward!(self => (**self); all);
}

impl<D: Dataset + ?Sized> Dataset for Box<D> {
    forward!(self => (**self); all);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::{Access, Field, InMemory, Label, Notice, ObjectStamp, Sample, SampleData, Stored};
    use crate::error::Result;
    use std::path::Path;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// A data set in which every method returns something other than its default. So the test notices a method that is
    /// not forwarded.
    struct Odd {
        classes: Vec<String>,
        fields: Vec<Field>,
        begun: Arc<AtomicUsize>,
        wrapped: InMemory,
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
            Ok(Sample::new(SampleData::Encoded(buffer), Label::None))
        }

        fn name(&self, index: usize) -> String {
            format!("odd {index}")
        }

        fn label(&self, index: usize) -> Option<Label> {
            Some(Label::Class(index as u32))
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

        fn fields(&self) -> &[Field] {
            &self.fields
        }

        fn is_in_memory(&self) -> bool {
            true
        }

        fn inner(&self) -> Option<&dyn Dataset> {
            Some(&self.wrapped)
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

        fn each(&self, _: &mut dyn FnMut(&Path, Option<ObjectStamp>)) {}
    }

    impl Access for Odd {
        fn is_remote(&self) -> bool {
            true
        }

        fn begin_job(&self, indices: &[usize]) {
            self.begun.store(indices[0], Ordering::Relaxed);
        }
    }

    fn check(make: impl FnOnce(Odd) -> Box<dyn Dataset>) {
        let begun = Arc::new(AtomicUsize::new(0));
        let dataset = make(Odd {
            classes: vec!["a".into()],
            fields: vec![Field::new("odd")],
            begun: begun.clone(),
            wrapped: InMemory::new(),
        });
        assert_eq!(dataset.len(), 5);
        assert!(dataset.is_empty());
        assert_eq!(dataset.name(2), "odd 2");
        assert_eq!(dataset.id(2), 200);
        assert_eq!(dataset.label(2), Some(Label::Class(2)));
        assert_eq!(dataset.channels(), 1);
        assert_eq!(dataset.classes(), ["a"]);
        assert_eq!(dataset.fields(), [Field::new("odd")]);
        assert!(dataset.is_in_memory());
        assert_eq!(dataset.inner().map(Dataset::len), Some(0));
        assert_eq!(dataset.folder(), Some(Path::new("odd")));
        assert_eq!(dataset.weights(), Some(&[0.5][..]));
        assert_eq!(dataset.notices(), [Notice::Labels { what: "odd".to_owned() }]);
        let access = dataset.access().unwrap();
        assert!(access.is_remote());
        access.begin_job(&[4, 1]);
        assert_eq!(begun.load(Ordering::Relaxed), 4);
        assert_eq!(dataset.stored().and_then(|files| files.own_name(3)).as_deref(), Some("3.odd"));
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
