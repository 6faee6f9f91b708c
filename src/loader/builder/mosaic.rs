//! The settings that a mosaic needs.

use crate::dataset::{Dataset, FieldKind};
use crate::error::{Error, Result};
use crate::loader::cache::Cache;
use crate::loader::group::Group;
use crate::loader::mosaic::LoaderMosaic;
use crate::loader::source::Source;
use crate::recipe::Recipe;

/// Makes the mosaic of a loader; `None` where its recipe has none.
///
/// # Errors
/// [`ErrorKind::Argument`](crate::ErrorKind::Argument) for what a mosaic cannot be: several groups, views or sources, a cache, a
/// transform of batches, images of one channel, and fields that belong to one image.
pub(super) fn of(
    recipe: &Recipe,
    groups: &[Group],
    sources: &[Source],
    cache: Cache,
    dataset: &dyn Dataset,
) -> Result<Option<LoaderMosaic>> {
    let Some(mosaic) = &recipe.mosaic else { return Ok(None) };
    let refuse = |setting: &'static str, reason: &str| Err(Error::argument(setting, reason));
    if groups.len() > 1 || sources.iter().any(|source| source.field().is_some()) {
        return refuse("mosaic", "it is made of the samples' own images alone; a loader with one list works");
    }
    if groups.iter().any(|group| group.views() > 1) {
        return refuse("views", "a mosaic shows four samples, and views show one; 1 works");
    }
    if cache != Cache::Off {
        return refuse("cache", "a mosaic is another one in each epoch, so nothing of it is kept; Cache::Off works");
    }
    if let Some(transform) = &recipe.batch_transform {
        let reason = format!(
            "{} mixes the images of samples, and a mosaic shows four; leave one of the two out",
            transform.name()
        );
        return refuse("batch_transform", &reason);
    }
    if dataset.channels() != 3 {
        return refuse("mosaic", "its images have three channels, but those of the data set have one");
    }
    let of_one = |field: &&crate::dataset::Field| field.values() != Some(FieldKind::Objects);
    if let Some(field) = dataset.fields().iter().find(of_one) {
        let reason = format!("{:?} belongs to one image, and a mosaic shows four; objects alone work", field.name());
        return refuse("fields", &reason);
    }
    LoaderMosaic::new(mosaic.clone()).map(Some)
}
