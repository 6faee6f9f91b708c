//! Data sets by shares.

use super::Concat;
use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::sampler::Orders;

/// Joins data sets, each with its weight, and returns with them the order in which a loader takes samples of each by its share:
/// `samples_per_epoch` in each epoch. [`Orders::blend`] has the rules, and [`Orders::blend_by`] weights that change by epoch.
///
/// ```
/// use gpufeed::transforms::CenterCrop;
/// use gpufeed::{Backend, DataLoader, Dataset, InMemory, Label, PixelFormat, dataset};
///
/// let mut data = InMemory::new();
/// for class in 0..100 {
///     data.push_pixels(4, 4, PixelFormat::Rgb8, vec![0; 48], Label::Class(class))?;
/// }
/// let (many, few) = (data.clone().subset(0..90)?, data.subset(90..100)?);
/// let parts: [(Box<dyn Dataset>, f64); 2] = [(Box::new(many), 0.75), (Box::new(few), 0.25)];
/// let (both, orders) = dataset::blend(parts, 20)?;
/// let loader = DataLoader::builder(both).transform(CenterCrop::new(4)).batch_size(20).sampler(orders).build(&Backend::Cpu)?;
/// let batch = loader.epoch(0)?.next().unwrap()?;
/// assert_eq!(batch.classes().unwrap().iter().filter(|class| **class >= 90).count(), 5);
/// # Ok::<(), gpufeed::Error>(())
/// ```
///
/// # Errors
///
/// Those of [`Concat::new`] and [`Orders::blend`]; [`ErrorKind::Argument`](crate::ErrorKind::Argument) for a data set with
/// [weights](Dataset::weights), which draw with replacement.
pub fn blend(
    parts: impl IntoIterator<Item = (Box<dyn Dataset>, f64)>,
    samples_per_epoch: usize,
) -> Result<(Concat, Orders)> {
    let (parts, weights): (Vec<_>, Vec<f64>) = parts.into_iter().unzip();
    if let Some(number) = parts.iter().position(|part| part.weights().is_some()) {
        let reason = format!(
            "data set {number} has weights, which draw with replacement, and a blend takes each sample once a pass; leave them \
             out"
        );
        return Err(Error::argument("blend", reason));
    }
    let lengths: Vec<usize> = parts.iter().map(|part| part.len()).collect();
    let orders = Orders::blend(&lengths, weights, samples_per_epoch)?;
    Ok((Concat::new(parts)?, orders))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::{InMemory, Label};

    #[test]
    fn weights_of_a_part_and_other_classes_are_refused() {
        let files = || (0..4u8).map(|i| (vec![i], Label::Class(0))).collect::<InMemory>();
        let refused = |second: Box<dyn Dataset>| {
            let parts: [(Box<dyn Dataset>, f64); 2] = [(Box::new(files()), 0.5), (second, 0.5)];
            blend(parts, 4).unwrap_err().to_string()
        };
        let error = refused(Box::new(files().with_weights([1.0; 4]).unwrap()));
        assert!(error.starts_with("blend: data set 1 has weights"), "{error}");
        assert!(
            refused(Box::new(files().with_classes(["a"]))).starts_with("concat: part 0 has 0 classes and part 1 has 1")
        );
    }
}
