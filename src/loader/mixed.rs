//! The labels of a batch that was mixed, and the partner of each of its images.

use super::batch::Batch;
use crate::advice::{self, Reason, Setting};
use crate::allocate::{Use, product};
use crate::dataset::Label;
use crate::error::{Error, Result};
use crate::transforms::{Mix, Mixed};

impl Batch {
    /// For each image its class, its partner's class, and the share λ of its own; `None` if a label is no class.
    ///
    /// An image that was not mixed has its own class twice, and λ is 1. The loss of a mixed image is
    /// `λ * loss(own) + (1 - λ) * loss(partner's)`.
    /// [`DataLoaderBuilder::batch_transform`](crate::DataLoaderBuilder::batch_transform) has an example.
    pub fn mixed(&self) -> Option<Vec<(u32, u32, f64)>> {
        let classes = self.classes()?;
        let of = |(image, own): (usize, &u32)| match self.mix_of(image) {
            Some((mix, partner)) => (*own, classes[partner], mix.lambda()),
            None => (*own, *own, 1.0),
        };
        Some(classes.iter().enumerate().map(of).collect())
    }

    /// The labels as probabilities: a row of `num_classes` numbers for each image, one row after the other. An image has
    /// λ at its own class, and 1 - λ at its partner's, as torchvision's `MixUp` and `CutMix` compute them in f32; where labels
    /// are smoothed ([`TimmMixup`](crate::transforms::TimmMixup)), both are smooth before they are mixed. Labels that
    /// are vectors, such as the rows of a one-hot matrix, are mixed as they are: λ times the own one, plus 1 - λ times the
    /// partner's.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`](crate::ErrorKind::Argument) if a label is missing, if some are classes and some vectors, if a
    /// class is not below `num_classes`, or a vector has another length.
    pub fn soft_labels(&self, num_classes: usize) -> Result<Vec<f32>> {
        match self.mixed() {
            Some(mixed) => soft_labels(&mixed, num_classes, self.label_smoothing()),
            None => self.mixed_vectors(num_classes),
        }
    }

    /// The rows of labels that are vectors.
    fn mixed_vectors(&self, num_classes: usize) -> Result<Vec<f32>> {
        let vector = |image: usize| match &self.labels[image] {
            Label::Multi(vector) if vector.len() == num_classes => Ok(vector),
            Label::Multi(vector) => {
                let reason =
                    format!("{num_classes}, but a sample has a vector of {} numbers as its label", vector.len());
                Err(Error::argument("num_classes", reason))
            }
            _ => Err(self.no_label_of_one_kind()),
        };
        let mut rows = Vec::new();
        ROWS.reserve(&mut rows, product(self.labels.len(), num_classes))?;
        for image in 0..self.labels.len() {
            let own = vector(image)?;
            match self.mix_of(image) {
                None => rows.extend_from_slice(own),
                Some((mix, partner)) => {
                    let (own_share, partner_share) = (mix.lambda() as f32, (1.0 - mix.lambda()) as f32);
                    let partner = vector(partner)?;
                    rows.extend(own.iter().zip(partner.iter()).map(|(own, partner)| {
                        // torchvision's order, of two roundings: a fused step would differ in the last bit.
                        partner * partner_share + own * own_share
                    }));
                }
            }
        }
        Ok(rows)
    }

    /// The error for a batch with labels that are missing, or of both kinds.
    fn no_label_of_one_kind(&self) -> Error {
        let missing = self.labels.contains(&Label::None);
        let both = (&self.labels[0], self.labels.iter().find(|label| !is_same_kind(label, &self.labels[0])));
        let reason = match both {
            (first, Some(other)) if !missing => {
                Reason::new(format!("the labels of a batch differ: {first:?} and {other:?}"))
            }
            _ => Reason::new("None is no class number").advise(advice::ANY_LABELS),
        };
        Error::argument("dataset", reason)
    }

    /// How an image was mixed, and its partner; `None` if it was not.
    fn mix_of(&self, image: usize) -> Option<(Mix, usize)> {
        let params = self.mix.as_ref()?;
        let outputs = self.views() * self.crops();
        let (sample, output) = (image / outputs, image % outputs);
        let mix = Some(params.mix(sample)).filter(|mix| *mix != Mix::NONE)?;
        Some((mix, params.partner.of(sample, self.len() / outputs) * outputs + output))
    }

    /// The share of each label that is spread over all classes.
    pub fn label_smoothing(&self) -> f64 {
        self.mix.as_ref().map_or(0.0, |params| params.label_smoothing)
    }

    /// Adds to the parameters of each image what it was mixed with. `indices` has the samples' indices in the data set.
    pub(super) fn name_partners(&mut self, indices: &[usize]) {
        if self.mix.is_none() {
            return;
        }
        let name = |image: usize| {
            let (mix, partner) = self.mix_of(image)?;
            let index = indices[partner / (self.views() * self.crops())];
            let (id, params) = (self.ids()[partner], self.params()[partner].clone());
            Some(Box::new(Mixed { mix, index, id, params }))
        };
        let mixed: Vec<_> = (0..self.len()).map(name).collect();
        // Only a loader of one group mixes.
        let images = self.groups.iter_mut().take(1).flat_map(|group| &mut group.params);
        images.zip(mixed).for_each(|(params, mixed)| params.mixed = mixed);
    }
}

fn is_same_kind(one: &Label, other: &Label) -> bool {
    std::mem::discriminant(one) == std::mem::discriminant(other)
}

/// The rows of soft labels.
const ROWS: Use = Use { what: "a batch of soft labels", settings: &[Setting::NumClasses, Setting::BatchSize] };

/// The rows of labels with a class, a partner's class and the share of the first; `smoothing` of each label is spread over
/// all classes.
pub fn soft_labels(mixed: &[(u32, u32, f64)], num_classes: usize, smoothing: f64) -> Result<Vec<f32>> {
    let mut classes = mixed.iter().flat_map(|&(own, partner, _)| [own, partner]);
    if let Some(class) = classes.find(|class| *class as usize >= num_classes) {
        let reason = format!("{num_classes}, but a sample has class {class}; {} or more work", u64::from(class) + 1);
        return Err(Error::argument("num_classes", reason));
    }
    let mut rows: Vec<f32> = ROWS.zeroed(product(mixed.len(), num_classes))?;
    let (off, on) = (smoothing / num_classes as f64, 1.0 - smoothing);
    for (row, &(own, partner, lambda)) in rows.chunks_exact_mut(num_classes.max(1)).zip(mixed) {
        // A label has `off` at every class, and `on` more at its own; the shares of two add up to 1.
        row.fill(off as f32);
        row[partner as usize] += ((1.0 - lambda) * on) as f32;
        row[own as usize] += (lambda * on) as f32;
    }
    Ok(rows)
}
