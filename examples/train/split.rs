//! One folder of classes becomes two data sets.

use gpufeed::{Dataset, ImageFolder, Result, Sample, Sampler};
use std::error::Error;
use std::sync::Arc;

/// Some samples of a data set. Ids stay those of the whole set, so that what is drawn for an image does not depend on the
/// split.
pub(crate) struct Subset {
    whole: Arc<ImageFolder>,
    indices: Vec<usize>,
}

impl Dataset for Subset {
    fn len(&self) -> usize {
        self.indices.len()
    }

    fn read<'a>(&'a self, index: usize, buffer: &'a mut Vec<u8>) -> Result<Sample<'a>> {
        self.whole.read(self.indices[index], buffer)
    }

    fn name(&self, index: usize) -> String {
        self.whole.name(self.indices[index])
    }

    fn id(&self, index: usize) -> u64 {
        self.whole.id(self.indices[index])
    }

    fn classes(&self) -> &[String] {
        self.whole.classes()
    }
}

/// Training and validation; of each class `share`, rounded, validates, but not none and not all. The seed says which.
pub(crate) fn split(whole: ImageFolder, share: f64, seed: u64) -> Result<(Subset, Subset), Box<dyn Error>> {
    let whole = Arc::new(whole);
    let mut by_class = vec![Vec::new(); whole.classes().len()];
    for slot in Sampler::new(whole.len(), whole.len())?.shuffle(true).seed(seed).epoch(0).batch(0) {
        by_class[whole.targets()[slot.index] as usize].push(slot.index);
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
    Ok((Subset { whole: Arc::clone(&whole), indices: train }, Subset { whole, indices: val }))
}
