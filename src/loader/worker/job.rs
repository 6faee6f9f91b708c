//! A sample with its parameters and its routes, ready to be decoded.

use super::content::{Canvas, Content};
use super::others::{Others, compose, of_other};
use super::read::{ReadData, ReadSample};
use std::sync::atomic::Ordering::Relaxed;

use crate::dataset::FieldValue;
use crate::error::{Error, Result};
use crate::geometry::Scale;
use crate::loader::buffers::BESIDES;
use crate::loader::cache::{CacheStore, CachedSample, Reservation};
use crate::loader::group::{Group, of_source, route};
use crate::loader::mosaic::LoaderMosaic;
use crate::loader::pipeline::Pipeline;
use crate::plan::route::{Origin, Route};
use crate::transforms::{Key, Params};

/// A sample that a worker is about to decode.
#[derive(Debug)]
pub(super) struct SampleJob<'a> {
    /// The parameters of each view.
    pub(super) params: Vec<Params>,
    /// The source of the first group.
    pub(super) first: SourceJob<'a>,
    /// The other sources; empty for one source, so that nothing is allocated.
    pub(super) others: Vec<SourceJob<'a>>,
}

/// An image of the sample for the groups that are made of it.
#[derive(Debug)]
pub(super) struct SourceJob<'a> {
    /// The number of the source.
    pub(super) source: usize,
    pub(super) content: Content<'a>,
    pub(super) route: Route,
    /// Bytes that a worker takes for it between the stages of the plan.
    pub(super) intermediate: u64,
    attempt: Attempt,
}

/// The attempts to decode a sample, in the order in which they are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Attempt {
    /// All pixels that the cache stores. They can be more than the views read, so damage outside the views' region can
    /// make this attempt fail.
    Insert,
    /// A smaller scale, which a decoder may reject after it has read the headers.
    Scaled,
    /// The pixels that the views read, at full size.
    Full,
}

/// The route of an image of a sample, whose images between the stages of the plan fit into the budget, and the bytes of
/// these. The image has `size`.
fn route_of(
    pipeline: &Pipeline,
    source: usize,
    params: &[Params],
    size: (u32, u32),
    origin: Origin,
) -> Result<(Route, u64)> {
    let routed = route(&pipeline.groups, source, params, origin)?;
    let bytes = routed.check(&pipeline.groups, size, pipeline.most_intermediate)?;
    Ok((routed.route, bytes))
}

/// Sets the scale of all images that are made of a source.
fn set_scale(pipeline: &Pipeline, source: usize, params: &mut [Params], scale: Scale) {
    for group in of_source(&pipeline.groups, source) {
        params.iter_mut().take(group.images().end).skip(group.first).for_each(|params| params.scale = scale);
    }
}

/// The parameters of all images of a sample, whose sources have these contents.
fn make_params<'c, 'a: 'c>(
    pipeline: &Pipeline,
    content_of: impl Fn(usize) -> &'c Content<'a>,
    key: &Key,
    fields: &[FieldValue<'static>],
) -> Result<Vec<Params>> {
    let mut params = Vec::with_capacity(pipeline.outputs);
    for group in &pipeline.groups {
        let content = content_of(group.source);
        let (width, height) = content.size();
        if let Some(followed) = group.follows {
            let followed = &pipeline.groups[followed];
            let its = content_of(followed.source);
            check_followed((group, (width, height)), (followed, its.size()))?;
            if content.orientation() != its.orientation() && !pipeline.turned_apart.swap(true, Relaxed) {
                let (sample, group, follows) = (key.sample, &group.name, &followed.name);
                tracing::warn!(
                    sample,
                    group,
                    follows,
                    "each image is turned by its own EXIF orientation, and those of this sample differ: the image of the \
                     group that follows has to lie as the other one does once it is turned"
                );
            }
        }
        for image in 0..group.outputs {
            let key = group.key(key, image);
            let made = match &pipeline.objects {
                Some(objects) if group.plan().looks_at_objects() => {
                    objects.make_params(group, (width, height), &key, fields)
                }
                _ => group.plan().make_params(width, height, &key),
            };
            params.push(made.map_err(|error| pipeline.sources[group.source].named(error))?);
        }
    }
    Ok(params)
}

/// The canvas of a mosaic, whose first image has this content. `fields` get the objects of all images.
fn of_mosaic<'a>(
    pipeline: &'a Pipeline,
    mosaic: &LoaderMosaic,
    own: Content<'a>,
    others: &mut Others<'a>,
    fields: &mut [FieldValue<'static>],
) -> Result<Content<'a>> {
    let mut contents = vec![own];
    for (partner, other) in others.params.others.iter().zip(&others.samples) {
        let content = Content::new(pipeline, 0, &other.data);
        contents.push(content.map_err(|error| of_other(pipeline, *partner, error))?);
    }
    let canvas = Canvas::new(&mosaic.mosaic, &others.params, contents)?;
    if let Some(objects) = &pipeline.objects {
        compose(pipeline, objects, fields, others, &canvas.images())?;
    }
    Ok(Content::Canvas(Box::new(canvas)))
}

/// Checks that a group has sources of the size that those of the followed group have.
fn check_followed((group, own): (&Group, (u32, u32)), (followed, its): (&Group, (u32, u32))) -> Result<()> {
    if own == its {
        return Ok(());
    }
    let (name, other) = (&group.name, &followed.name);
    let reason = format!(
        "the image of group {name:?} has {}x{} pixels, but that of {other:?}, which it follows, has {}x{}",
        own.0, own.1, its.0, its.1
    );
    Err(Error::argument("follows", reason))
}

impl<'a> SampleJob<'a> {
    /// Makes the parameters of every view, and chooses the first attempt. Returns the job, and room in the cache if the
    /// route inserts the sample there.
    pub(super) fn new(
        pipeline: &'a Pipeline,
        sample: &mut ReadSample<'a>,
        key: &Key,
    ) -> Result<(SampleJob<'a>, Option<Reservation<'a>>)> {
        let named = |source: usize| move |error| pipeline.sources[source].named(error);
        let content = match &sample.data {
            ReadData::Dataset(data) => Content::new(pipeline, 0, data).map_err(named(0))?,
            ReadData::Cache(entry) => Content::Cached(entry),
        };
        let mut contents = Vec::with_capacity(sample.others.len());
        for (source, data) in (1..).zip(&sample.others) {
            contents.push(Content::new(pipeline, source, data).map_err(named(source))?);
        }
        let content = match (&pipeline.mosaic, &mut sample.mosaic) {
            (Some(mosaic), Some(others)) => {
                let made = of_mosaic(pipeline, mosaic, content, others, &mut sample.fields);
                made.map_err(named(0))?
            }
            _ => content,
        };
        let content_of = |source: usize| match source.checked_sub(1) {
            None => &content,
            Some(other) => &contents[other],
        };
        // In a cache they are settled.
        if let Some(objects) = &pipeline.objects
            && matches!(sample.data, ReadData::Dataset(_))
            && sample.mosaic.is_none()
        {
            let shown = content_of(objects.source());
            objects.settle(&mut sample.fields, shown.size(), shown.orientation())?;
        }
        let mut params = make_params(pipeline, content_of, key, &sample.fields)?;
        if let Some(others) = &sample.mosaic {
            params.iter_mut().for_each(|params| params.mosaic = Some(Box::new(others.params.clone())));
        }
        let mut others = Vec::with_capacity(contents.len());
        for (source, content) in (1..).zip(contents) {
            others.push(SourceJob::scaled_or_full(pipeline, source, content, &mut params).map_err(named(source))?);
        }
        let (first, reservation) = SourceJob::first(pipeline, sample, content, &mut params).map_err(named(0))?;
        Ok((SampleJob { params, first, others }, reservation))
    }

    /// The sources, the first one first.
    pub(super) fn sources(&self) -> impl Iterator<Item = &SourceJob<'a>> {
        std::iter::once(&self.first).chain(&self.others)
    }

    /// The next attempt after this one has failed; `None` if none is left. The pixels that an epoch reads decide
    /// whether a sample fails; those that are only stored do not.
    pub(super) fn retry(self, pipeline: &Pipeline) -> Result<Option<SampleJob<'a>>> {
        let SampleJob { mut params, first, others } = self;
        let (first, mut differs) = first.full(pipeline, &mut params)?;
        let mut all = Vec::with_capacity(others.len());
        for other in others {
            let (other, own) = other.full(pipeline, &mut params)?;
            differs |= own;
            all.push(other);
        }
        Ok(differs.then_some(SampleJob { params, first, others: all }))
    }
}

impl<'a> SourceJob<'a> {
    /// The first source, which alone may be in a cache.
    fn first(
        pipeline: &'a Pipeline,
        sample: &ReadSample<'a>,
        content: Content<'a>,
        params: &mut [Params],
    ) -> Result<(SourceJob<'a>, Option<Reservation<'a>>)> {
        let (size, source) = (content.size(), 0);
        if let Content::Cached(entry) = content {
            let (route, intermediate) = route_of(pipeline, source, params, size, Origin::Cache(entry.sample.pixels))?;
            return Ok((SourceJob { source, content, route, intermediate, attempt: Attempt::Full }, None));
        }
        // Pixels that the data set holds in memory anyway are not stored a second time.
        let stored_twice = matches!(pipeline.cache, CacheStore::Host(_))
            && pipeline.first().split.stores_source()
            && sample.is_in_memory(&*pipeline.dataset);
        if pipeline.cache.lacks(sample.index) && !stored_twice {
            let routed = route(&pipeline.groups, source, params, Origin::Insert { float: content.is_float() })?;
            let cached =
                |pixels| CachedSample { size, pixels, label: sample.label.clone(), fields: sample.fields.clone() };
            // What the cache needs besides must not make a sample fail, nor its prefix let one through that fails without.
            let most = pipeline.most_intermediate;
            let fits = routed.check(&pipeline.groups, size, most);
            let route = routed.route;
            let fits = fits.and_then(|bytes| match bytes > BESIDES {
                true => {
                    let streamed = route_of(pipeline, source, params, size, content.origin());
                    streamed.map(|(_, streamed)| bytes.max(streamed))
                }
                false => Ok(bytes),
            });
            let wanted = route.to_cache.as_ref().map(|insertion| cached(insertion.cached));
            if let (Some(cached), Ok(intermediate)) = (wanted, fits)
                && let Some(reservation) = pipeline.cache.reserve(sample.index, cached)
            {
                let job = SourceJob { source, content, route, intermediate, attempt: Attempt::Insert };
                return Ok((job, Some(reservation)));
            }
        }
        Ok((SourceJob::scaled_or_full(pipeline, source, content, params)?, None))
    }

    fn scaled_or_full(
        pipeline: &Pipeline,
        source: usize,
        content: Content<'a>,
        params: &mut [Params],
    ) -> Result<SourceJob<'a>> {
        let (route, intermediate) = route_of(pipeline, source, params, content.size(), content.origin())?;
        if let Content::File { bytes, probe, .. } = content
            && pipeline.settings.scaled_decode
        {
            let scale = route.scale();
            if !scale.is_full() && probe.can_scale() {
                set_scale(pipeline, source, params, scale);
                let route = route.scaled_down(&probe.scaled(scale), pipeline.crops(source));
                let content = Content::File { bytes, probe, scale };
                return Ok(SourceJob { source, content, route, intermediate, attempt: Attempt::Scaled });
            }
        }
        Ok(SourceJob { source, content, route, intermediate, attempt: Attempt::Full })
    }

    /// The last attempt: the pixels that the views read, at full size. Also tells whether it differs from this one.
    fn full(self, pipeline: &Pipeline, params: &mut [Params]) -> Result<(SourceJob<'a>, bool)> {
        if self.attempt == Attempt::Full {
            return Ok((self, false));
        }
        let SourceJob { source, mut content, attempt, route: failed, .. } = self;
        if let Content::File { scale, .. } = &mut content {
            *scale = Scale::Full;
        }
        set_scale(pipeline, source, params, Scale::Full);
        let (route, intermediate) = route_of(pipeline, source, params, content.size(), content.origin())?;
        let differs = attempt == Attempt::Scaled || route.read != failed.read;
        Ok((SourceJob { source, content, route, intermediate, attempt: Attempt::Full }, differs))
    }
}
