//! The labels of a batch that was mixed, and the partner of each of its images.

use super::batch::Batch;
use crate::dataset::Label;
use crate::error::{Error, Result};
use crate::transforms::{BatchParams, Mixed};

impl Batch {
    /// For each image its class, its partner's class, and the share λ of its own; `None` if a label is no class.
    ///
    /// An image that was not mixed has its own class twice, and λ is 1. The loss of a mixed image is
    /// `λ * loss(own) + (1 - λ) * loss(partner's)`.
    /// [`DataLoaderBuilder::batch_transform`](crate::DataLoaderBuilder::batch_transform) has an example.
    pub fn mixed(&self) -> Option<Vec<(u32, u32, f64)>> {
        let classes = self.classes()?;
        let lambda = self.mix.map_or(1.0, |params| params.mix.lambda());
        let of = |(image, own): (usize, &u32)| (*own, classes[self.partner_of(image).unwrap_or(image)], lambda);
        Some(classes.iter().enumerate().map(of).collect())
    }

    /// The labels as probabilities: a row of `num_classes` numbers for each image, one row after the other. An image has
    /// λ at its own class, and 1 - λ at its partner's, as torchvision's `MixUp` and `CutMix` compute them in f32.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`](crate::ErrorKind::Argument) if a label is no class, or a class is not below
    /// `num_classes`.
    pub fn soft_labels(&self, num_classes: usize) -> Result<Vec<f32>> {
        let Some(mixed) = self.mixed() else {
            let other = self.labels.iter().find(|label| !matches!(label, Label::Class(_)));
            let reason = format!("{:?} is no class number; Batch::labels() has it", other.unwrap_or(&Label::None));
            return Err(Error::argument("dataset", reason));
        };
        soft_labels(&mixed, num_classes)
    }

    /// The partner of an image, if the batch was mixed.
    fn partner_of(&self, image: usize) -> Option<usize> {
        let BatchParams { partner, .. } = self.mix?;
        let outputs = self.views * self.crops;
        let (sample, output) = (image / outputs, image % outputs);
        Some(partner.of(sample, self.ids.len() / outputs) * outputs + output)
    }

    /// Adds to the parameters of each image what it was mixed with. `indices` has the samples' indices in the data set.
    pub(super) fn name_partners(&mut self, indices: &[usize]) {
        let Some(BatchParams { mix, .. }) = self.mix else { return };
        let name = |image: usize| {
            let partner = self.partner_of(image)?;
            let index = indices[partner / (self.views * self.crops)];
            let (id, params) = (self.ids[partner], self.params[partner].clone());
            Some(Box::new(Mixed { mix, index, id, params }))
        };
        let mixed: Vec<_> = (0..self.params.len()).map(name).collect();
        self.params.iter_mut().zip(mixed).for_each(|(params, mixed)| params.mixed = mixed);
    }
}

/// The rows of labels with a class, a partner's class and the share of the first.
pub fn soft_labels(mixed: &[(u32, u32, f64)], num_classes: usize) -> Result<Vec<f32>> {
    let mut classes = mixed.iter().flat_map(|&(own, partner, _)| [own, partner]);
    if let Some(class) = classes.find(|class| *class as usize >= num_classes) {
        let reason = format!("{num_classes}, but a sample has class {class}; {} or more work", u64::from(class) + 1);
        return Err(Error::argument("num_classes", reason));
    }
    let mut rows = vec![0.0; mixed.len() * num_classes];
    for (row, &(own, partner, lambda)) in rows.chunks_exact_mut(num_classes.max(1)).zip(mixed) {
        row[partner as usize] += (1.0 - lambda) as f32;
        row[own as usize] += lambda as f32;
    }
    Ok(rows)
}
