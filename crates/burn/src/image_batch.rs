//! A batch as tensors, without its padding.

use crate::BatchExt;
use burn::tensor::{Device, Int, Tensor, TensorData, s};
use gpufeed::internals::soft_labels;
use gpufeed::{Batch, ErrorKind, Result};
use std::ops::Range;

/// A batch as tensors on the loader's device, without the padding of a last batch: the item of a
/// [`BurnLoader`](crate::BurnLoader), or the input of its [`map`](crate::BurnLoader::map).
///
/// ```no_run
/// # fn show(batch: gpufeed_burn::ImageBatch) {
/// println!("{:?} {:?}", batch.images.dims(), batch.classes.dims());
/// println!("{}", batch.soft_labels(1000).unwrap());
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct ImageBatch {
    /// The images, as [`BatchExt::to_tensor`] returns them.
    pub images: Tensor<4>,
    /// The class numbers, as [`BatchExt::class_tensor`] returns them.
    pub classes: Tensor<1, Int>,
    /// The class of each image, its partner's, and the share of the first, as [`Batch::mixed`] returns them.
    pub mixed: Vec<(u32, u32, f64)>,
    /// The share of each label that `soft_labels` spreads over all classes, as [`Batch::label_smoothing`] returns it.
    pub label_smoothing: f64,
    /// The sample id (`Dataset::id`) of each image.
    pub ids: Vec<u64>,
}

impl ImageBatch {
    /// Returns the labels as a tensor of shape `[images, num_classes]` beside the images, as
    /// [`BatchExt::soft_label_tensor`] does: those of a batch that was mixed, one-hot rows of one that was not.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`](gpufeed::ErrorKind::Argument) if a class, or a partner's, is not below `num_classes`.
    pub fn soft_labels(&self, num_classes: usize) -> Result<Tensor<2>> {
        let rows = soft_labels(&self.mixed, num_classes, self.label_smoothing)?;
        Ok(Tensor::from_data(TensorData::new(rows, [self.mixed.len(), num_classes]), &self.images.device()))
    }

    /// # Errors
    /// [`ErrorKind::Argument`](gpufeed::ErrorKind::Argument) for a batch with several groups or with fields, which an
    /// `ImageBatch` has no place for; those of the tensors.
    pub(crate) fn new(batch: &Batch, samples: Range<usize>, device: &Device) -> Result<ImageBatch> {
        let groups: Vec<_> = batch.groups().map(|group| group.name().to_owned()).collect();
        if groups.len() > 1 {
            let reason =
                format!("{}; an ImageBatch has the images of one group, BurnLoader::grouped all", groups.join(", "));
            return Err(ErrorKind::Argument { setting: "group", reason }.into());
        }
        if let Some(column) = batch.columns().first() {
            let reason =
                format!("{:?}; an ImageBatch has images and labels alone, BurnLoader::grouped all", column.name());
            return Err(ErrorKind::Argument { setting: "fields", reason }.into());
        }
        // All views of a sample, with their crops, are consecutive rows of the batch.
        let each = batch.views() * batch.crops();
        let rows = each * samples.start..each * samples.end;
        let (mut images, mut classes) = (batch.to_tensor(device)?, batch.class_tensor(device)?);
        if rows != (0..batch.len()) {
            images = images.slice(s![rows.clone(), .., .., ..]);
            classes = classes.slice(s![rows.clone()]);
        }
        let mixed = batch.mixed().map_or_else(Vec::new, |mixed| mixed[rows.clone()].to_vec());
        let label_smoothing = batch.label_smoothing();
        Ok(ImageBatch { images, classes, mixed, label_smoothing, ids: batch.ids()[rows].to_vec() })
    }
}
