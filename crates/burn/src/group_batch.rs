//! A batch of several groups and of columns, as tensors and values, without its padding.

use crate::BatchExt;
use burn::tensor::{Device, Tensor, s};
use gpufeed::{Batch, ColumnValues, ErrorKind, Label, Result};
use std::ops::Range;

/// A batch with the images of each group as a tensor on the loader's device, and with the columns of the data set's
/// fields, without the padding of a last batch: the item of a [`BurnLoader::grouped`](crate::BurnLoader::grouped).
///
/// ```
/// use burn::data::dataloader::DataLoader as _;
/// use gpufeed::transforms::RandomCrop;
/// use gpufeed::{Backend, DataLoader, InMemory, Label, PixelFormat, Views};
/// use gpufeed_burn::{BackendExt, BurnLoader};
///
/// let mut data = InMemory::new();
/// for class in 0..4 {
///     data.push_pixels(40, 40, PixelFormat::Rgb8, vec![9; 4800], Label::Class(class))?;
/// }
/// let (backend, device) = Backend::for_burn()?;
/// let loader = DataLoader::builder(data)
///     .group("global", Views::new(2).transform(RandomCrop::new(32)))
///     .group("local", Views::new(6).transform(RandomCrop::new(16)))
///     .batch_size(4)
///     .build(&backend)?;
/// let loader = BurnLoader::new(loader, device).grouped();
/// let batch = loader.iter().next().unwrap().unwrap();
/// assert_eq!(batch.images("local").unwrap().dims(), [24, 3, 16, 16]);
/// assert_eq!(batch.labels.len(), 4);
/// # Ok::<(), gpufeed::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct GroupBatch {
    /// The name of each group with its images, as [`BatchExt::group_tensor`] returns them. The views of a sample stand side
    /// by side.
    pub groups: Vec<(String, Tensor<4>)>,
    /// The label of each sample; of an image that was mixed its own one alone.
    pub labels: Vec<Label>,
    /// The class of each image of the first group, its partner's, and the share of the first, as [`Batch::mixed`] returns
    /// them; empty where a label is no class.
    pub mixed: Vec<(u32, u32, f64)>,
    /// The name of each column with a value for each sample.
    pub columns: Vec<(String, ColumnValues)>,
    /// The id (`Dataset::id`) of each sample.
    pub ids: Vec<u64>,
}

impl GroupBatch {
    /// Returns the images of the group with this name.
    pub fn images(&self, group: &str) -> Option<&Tensor<4>> {
        self.groups.iter().find(|(name, _)| name == group).map(|(_, images)| images)
    }

    /// Returns the values of the column with this name.
    pub fn column(&self, name: &str) -> Option<&ColumnValues> {
        self.columns.iter().find(|(own, _)| own == name).map(|(_, values)| values)
    }

    /// # Errors
    /// [`ErrorKind::Argument`] for a batch that was mixed whose labels are no classes, as nothing here would say of which
    /// two an image is; those of the tensors.
    pub(crate) fn new(batch: &Batch, samples: Range<usize>, device: &Device) -> Result<GroupBatch> {
        let all = samples == (0..batch.samples());
        let mut groups = Vec::new();
        for group in batch.groups() {
            let mut images = batch.group_tensor(group.name(), device)?;
            if !all {
                let each = group.views() * group.crops();
                let rows = each * samples.start..each * samples.end;
                images = images.slice(s![rows, .., .., ..]);
            }
            groups.push((group.name().to_owned(), images));
        }
        let columns = batch.columns().iter().map(|column| {
            let values = if all { column.values().clone() } else { cut(column.values(), &samples)? };
            Ok((column.name().to_owned(), values))
        });
        // The batch has a label and an id for each image of the first group.
        let each = batch.views() * batch.crops();
        let rows = each * samples.start..each * samples.end;
        let mixed = match batch.mixed() {
            Some(mixed) => mixed[rows].to_vec(),
            None if batch.params().iter().any(|params| params.mixed.is_some()) => {
                let reason = "a GroupBatch has mixed labels that are classes; BatchExt::soft_label_tensor has others";
                return Err(ErrorKind::Argument { setting: "batch_transform", reason: reason.to_owned() }.into());
            }
            None => Vec::new(),
        };
        Ok(GroupBatch {
            groups,
            mixed,
            labels: samples.clone().map(|sample| batch.labels()[sample * each].clone()).collect(),
            columns: columns.collect::<Result<_>>()?,
            ids: samples.map(|sample| batch.ids()[sample * each]).collect(),
        })
    }
}

/// The values of some of the samples.
fn cut(values: &ColumnValues, samples: &Range<usize>) -> Result<ColumnValues> {
    Ok(match values {
        ColumnValues::Text(texts) => ColumnValues::Text(texts[samples.clone()].to_vec()),
        ColumnValues::Json(documents) => ColumnValues::Json(documents[samples.clone()].to_vec()),
        ColumnValues::Bytes(all) => ColumnValues::Bytes(all[samples.clone()].to_vec()),
        ColumnValues::Numbers { number_type, shape, bytes } => {
            let each = shape.iter().product::<usize>() * number_type.bytes();
            let bytes = bytes[each * samples.start..each * samples.end].to_vec();
            ColumnValues::Numbers { number_type: *number_type, shape: shape.clone(), bytes }
        }
        _ => {
            let reason = "values of a kind that gpufeed-burn does not know".to_owned();
            return Err(ErrorKind::Argument { setting: "fields", reason }.into());
        }
    })
}
