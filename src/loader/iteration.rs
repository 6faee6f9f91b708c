//! `for batch in &loader`: each loop takes the next epoch.

use super::{Batch, DataLoader, Epochs};
use crate::error::{Error, Result};
use std::sync::atomic::Ordering;

/// The batches of the next epoch of a [`DataLoader`], made by iterating over `&loader`.
///
/// The first loop takes epoch 0, the next one epoch 1, and so on, whether or not a loop ran to its end.
/// [`DataLoader::epoch`] and its like name an epoch, and do not change which one the next loop takes. Where the epoch
/// cannot begin, the error is the only item.
///
/// ```
/// use gpufeed::transforms::CenterCrop;
/// use gpufeed::{Backend, DataLoader, InMemory, Label, PixelFormat};
///
/// let mut data = InMemory::new();
/// for class in 0..4 {
///     data.push_pixels(4, 4, PixelFormat::Rgb8, vec![0; 48], Label::Class(class))?;
/// }
/// let loader =
///     DataLoader::builder(data).transform(CenterCrop::new(2)).batch_size(2).shuffle(true).build(&Backend::Cpu)?;
/// for epoch in 0..3 {
///     for batch in &loader {
///         assert_eq!(batch?.epoch(), epoch);
///     }
/// }
/// # Ok::<(), gpufeed::Error>(())
/// ```
#[derive(Debug)]
pub struct NextEpoch(Begun);

#[derive(Debug)]
enum Begun {
    Run(Epochs),
    /// The reason why the epoch could not begin, until it has been returned.
    Failed(Option<Error>),
}

impl Iterator for NextEpoch {
    type Item = Result<Batch>;

    fn next(&mut self) -> Option<Self::Item> {
        match &mut self.0 {
            Begun::Run(epochs) => epochs.next(),
            Begun::Failed(error) => error.take().map(Err),
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = match &self.0 {
            Begun::Run(epochs) => epochs.len(),
            Begun::Failed(error) => usize::from(error.is_some()),
        };
        (left, Some(left))
    }
}

impl ExactSizeIterator for NextEpoch {}

impl IntoIterator for &DataLoader {
    type Item = Result<Batch>;
    type IntoIter = NextEpoch;

    fn into_iter(self) -> NextEpoch {
        let epoch = self.next_epoch.fetch_add(1, Ordering::Relaxed);
        NextEpoch(self.epoch(epoch).map_or_else(|error| Begun::Failed(Some(error)), Begun::Run))
    }
}
