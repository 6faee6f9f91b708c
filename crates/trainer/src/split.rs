//! Splits one folder of classes into a training and a validation part.

use gpufeed::dataset::Subset;
use gpufeed::{Dataset, ImageFolder, Sampler};
use std::error::Error;
use std::sync::Arc;

type Part = Subset<Arc<ImageFolder>>;

/// Returns the parts for training and for validation. Of each class the rounded share `share` validates, but at least
/// one image, and not all images. `seed` determines which.
pub(crate) fn split(whole: ImageFolder, share: f64, seed: u64) -> Result<(Part, Part), Box<dyn Error>> {
    let whole = Arc::new(whole);
    let mut by_class = vec![Vec::new(); whole.classes().len()];
    for position in Sampler::new(whole.len(), whole.len())?.shuffle(true).seed(seed).epoch(0).batch(0) {
        by_class[whole.targets()[position.index] as usize].push(position.index);
    }
    let (mut train, mut val) = (Vec::new(), Vec::new());
    for (class, images) in by_class.into_iter().enumerate() {
        if images.len() < 2 {
            let (class, len) = (&whole.classes()[class], images.len());
            return Err(format!("--data: {class} has {len} image; it takes 2 to train and to validate").into());
        }
        let validating = ((images.len() as f64 * share).round() as usize).clamp(1, images.len() - 1);
        val.extend(&images[..validating]);
        train.extend(&images[validating..]);
    }
    train.sort_unstable();
    val.sort_unstable();
    Ok((Arc::clone(&whole).subset(train)?, whole.subset(val)?))
}
