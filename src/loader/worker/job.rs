//! A sample with its parameters and its route, ready to be decoded.

use super::read::{ReadData, ReadSample};
use crate::advice::{self, Reason};
use crate::dataset::{PixelFormat, Pixels, SampleData};
use crate::decode::Probe;
use crate::error::{Error, Result};
use crate::geometry::Scale;
use crate::loader::buffers::BESIDES;
use crate::loader::cache::{CacheStore, CachedSample, HostEntry, Reservation};
use crate::loader::group::{Group, route};
use crate::loader::pipeline::Pipeline;
use crate::plan::Semantics;
use crate::plan::route::{Origin, Route};
use crate::transforms::{Key, Params};

/// A sample that a worker is about to decode.
#[derive(Debug)]
pub(super) struct SampleJob<'a> {
    pub(super) content: Content<'a>,
    /// The parameters of each view.
    pub(super) params: Vec<Params>,
    pub(super) route: Route,
    /// Bytes that a worker takes for it between the stages of the plan.
    pub(super) intermediate: u64,
    attempt: Attempt,
}

/// A sample's pixels, encoded or not.
#[derive(Clone, Copy, Debug)]
pub(in crate::loader) enum Content<'a> {
    /// An encoded file, its header, and the scale at which it is decoded.
    File {
        bytes: &'a [u8],
        probe: Probe,
        scale: Scale,
    },
    Pixels(Pixels<'a>),
    Cached(&'a HostEntry),
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

impl<'a> Content<'a> {
    /// The content of a sample of the data set; reads the header of an encoded one.
    pub(in crate::loader) fn new(pipeline: &Pipeline, data: &SampleData<'a>) -> Result<Content<'a>> {
        let (content, channels) = match *data {
            SampleData::Encoded(bytes) => {
                (Content::File { bytes, probe: pipeline.decoder.probe(bytes)?, scale: Scale::Full }, 3)
            }
            SampleData::Pixels(pixels) => (Content::Pixels(pixels), pixels.format().channels()),
        };
        let is_float = matches!(data, SampleData::Pixels(pixels) if matches!(pixels.format(), PixelFormat::F32 { .. }));
        let is_uint8 = |group: &Group| group.plan().semantics() == Semantics::Uint8;
        if is_float && pipeline.groups.iter().any(is_uint8) {
            let reason = "Uint8 needs 8-bit images, but the data set gives floats; Float works with both";
            return Err(Error::argument("semantics", reason));
        }
        if pipeline.plan().input_channels() == 1 && channels != 1 {
            let reason = Reason::new(format!("the image has {channels} channels, but the data set promises 1"));
            return Err(Error::argument("channels", reason.advise(advice::CHANNELS)));
        }
        Ok(content)
    }

    /// Width and height of the source.
    pub(in crate::loader) fn size(&self) -> (u32, u32) {
        match self {
            Content::File { probe, .. } => (probe.width, probe.height),
            Content::Pixels(pixels) => (pixels.width(), pixels.height()),
            Content::Cached(entry) => entry.sample.size,
        }
    }

    /// The origin of the pixels of a sample that is not cached.
    pub(in crate::loader) fn origin(&self) -> Origin {
        match self {
            Content::Pixels(pixels) if matches!(pixels.format(), PixelFormat::R8 | PixelFormat::Rgb8) => {
                Origin::InPlace
            }
            _ => Origin::Source { float: self.is_float() },
        }
    }

    /// True if the pixels of the source are floats.
    fn is_float(&self) -> bool {
        matches!(self, Content::Pixels(pixels) if matches!(pixels.format(), PixelFormat::F32 { .. }))
    }
}

/// The route of a sample, whose images between the stages of the plan fit into the budget, and the bytes of these.
fn route_of(pipeline: &Pipeline, params: &[Params], origin: Origin) -> Result<(Route, u64)> {
    let routed = route(&pipeline.groups, params, origin)?;
    let size = params.first().map_or((0, 0), |params| (params.width, params.height));
    let bytes = routed.check(&pipeline.groups, size, pipeline.most_intermediate)?;
    Ok((routed.route, bytes))
}

impl<'a> SampleJob<'a> {
    /// Makes the parameters of every view, and chooses the first attempt. Returns the job, and room in the cache if the
    /// route inserts the sample there.
    pub(super) fn new(
        pipeline: &'a Pipeline,
        sample: &ReadSample<'a>,
        key: &Key,
    ) -> Result<(SampleJob<'a>, Option<Reservation<'a>>)> {
        let content = match &sample.data {
            ReadData::Dataset(data) => Content::new(pipeline, data)?,
            ReadData::Cache(entry) => Content::Cached(entry),
        };
        let (width, height) = content.size();
        let mut params = Vec::with_capacity(pipeline.outputs);
        for group in &pipeline.groups {
            for image in 0..group.outputs {
                params.push(group.plan().make_params(width, height, &group.key(key, image))?);
            }
        }
        if let Content::Cached(entry) = content {
            let (route, intermediate) = route_of(pipeline, &params, Origin::Cache(entry.sample.pixels))?;
            return Ok((SampleJob { content, params, route, intermediate, attempt: Attempt::Full }, None));
        }
        // Pixels that the data set holds in memory anyway are not stored a second time.
        let stored_twice = matches!(pipeline.cache, CacheStore::Host(_))
            && pipeline.first().split.stores_source()
            && sample.is_in_memory(&*pipeline.dataset);
        if pipeline.cache.lacks(sample.index) && !stored_twice {
            let routed = route(&pipeline.groups, &params, Origin::Insert { float: content.is_float() })?;
            let cached = |pixels| CachedSample {
                size: (width, height),
                pixels,
                label: sample.label.clone(),
                fields: sample.fields.clone(),
            };
            // What the cache needs besides must not make a sample fail, nor its prefix let one through that fails without.
            let most = pipeline.most_intermediate;
            let fits = routed.check(&pipeline.groups, (width, height), most);
            let route = routed.route;
            let fits = fits.and_then(|bytes| match bytes > BESIDES {
                true => route_of(pipeline, &params, content.origin()).map(|(_, streamed)| bytes.max(streamed)),
                false => Ok(bytes),
            });
            let wanted = route.to_cache.as_ref().map(|insertion| cached(insertion.cached));
            if let (Some(cached), Ok(intermediate)) = (wanted, fits)
                && let Some(reservation) = pipeline.cache.reserve(sample.index, cached)
            {
                let job = SampleJob { content, params, route, intermediate, attempt: Attempt::Insert };
                return Ok((job, Some(reservation)));
            }
        }
        Ok((SampleJob::scaled_or_full(pipeline, content, params)?, None))
    }

    fn scaled_or_full(pipeline: &Pipeline, content: Content<'a>, mut params: Vec<Params>) -> Result<SampleJob<'a>> {
        let (route, intermediate) = route_of(pipeline, &params, content.origin())?;
        if let Content::File { bytes, probe, .. } = content
            && pipeline.settings.scaled_decode
        {
            let scale = route.scale();
            if !scale.is_full() && probe.can_scale() {
                params.iter_mut().for_each(|params| params.scale = scale);
                let (content, route) =
                    (Content::File { bytes, probe, scale }, route.scaled_down(&probe.scaled(scale), pipeline.crops()));
                return Ok(SampleJob { content, params, route, intermediate, attempt: Attempt::Scaled });
            }
        }
        Ok(SampleJob { content, params, route, intermediate, attempt: Attempt::Full })
    }

    /// The next attempt after this one has failed; `None` if none is left. The pixels that an epoch reads decide
    /// whether a sample fails; those that are only stored do not.
    pub(super) fn retry(self, pipeline: &Pipeline) -> Result<Option<SampleJob<'a>>> {
        let SampleJob { mut content, mut params, attempt, route: failed, .. } = self;
        if attempt == Attempt::Full {
            return Ok(None);
        }
        if let Content::File { scale, .. } = &mut content {
            *scale = Scale::Full;
        }
        params.iter_mut().for_each(|params| params.scale = Scale::Full);
        let (route, intermediate) = route_of(pipeline, &params, content.origin())?;
        let differs = attempt == Attempt::Scaled || route.read != failed.read;
        Ok(differs.then_some(SampleJob { content, params, route, intermediate, attempt: Attempt::Full }))
    }
}
