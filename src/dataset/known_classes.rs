//! The classes of all samples of a set, where it knows them.

use super::{Dataset, Label};
use crate::error::{Error, Result};

/// Returns the class of each sample, as [`Orders::class_balanced`](crate::Orders::class_balanced) takes them, without reading a
/// sample.
///
/// ```
/// use gpufeed::{Dataset, InMemory, Label, dataset};
///
/// let files: InMemory = (0..4).map(|i| (vec![i], Label::Class(u32::from(i) / 3))).collect();
/// assert_eq!(dataset::known_classes(&files)?, [0, 0, 0, 1]);
/// # Ok::<(), gpufeed::Error>(())
/// ```
///
/// # Errors
///
/// [`ErrorKind::Argument`](crate::ErrorKind::Argument) if the label of a sample is no class, or is known only by reading it.
pub fn known_classes(dataset: &dyn Dataset) -> Result<Vec<u32>> {
    let class = |index: usize| match dataset.label(index) {
        Some(Label::Class(class)) => Ok(class),
        Some(_) => Err(Error::argument("labels", format!("that of sample {index} is no class"))),
        None => {
            let reason = format!("that of sample {index} is known only by reading it; give the class of each sample");
            Err(Error::argument("labels", reason))
        }
    };
    (0..dataset.len()).map(class).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::{InMemory, Sample};

    struct Silent(InMemory);

    impl Dataset for Silent {
        fn len(&self) -> usize {
            self.0.len()
        }

        fn read<'a>(&'a self, index: usize, buffer: &'a mut Vec<u8>) -> Result<Sample<'a>> {
            self.0.read(index, buffer)
        }

        fn name(&self, index: usize) -> String {
            self.0.name(index)
        }

        fn inner(&self) -> Option<&dyn Dataset> {
            Some(&self.0)
        }
    }

    #[test]
    fn what_is_not_known_is_an_error() {
        let files = |label: Label| (0..4u8).map(|i| (vec![i], label.clone())).collect::<InMemory>();
        let refused = |data: &dyn Dataset| known_classes(data).unwrap_err().to_string();
        assert_eq!(known_classes(&files(Label::Class(3))).unwrap(), [3; 4]);
        assert_eq!(refused(&files(Label::None)), "labels: that of sample 0 is no class");
        assert!(
            refused(&Silent(files(Label::Class(3))))
                .starts_with("labels: that of sample 0 is known only by reading it")
        );
    }
}
