//! The groups of a loader: each has a list of operators with a plan, and views of every sample.

use super::intermediates;
use crate::cpu::needed::Needed;
use crate::error::{Error, Result};
use crate::plan::cpu_fallback::{REGION_BYTES, pixel_bytes};
use crate::plan::route::{Origin, Route};
use crate::plan::split::{CacheSplit, Executor};
use crate::plan::{Arrangement, Plan};
use crate::transforms::{Key, Params};
use std::ops::Range;

/// Groups begin at multiples of this in a batch in host memory, as batches do.
pub(super) const ALIGNMENT: usize = 64;

/// Bits of the number of a view in the key of its random numbers. The number of the group stands above them, so that the
/// first group draws as a loader without groups.
const VIEW_BITS: u32 = 16;

/// A group of views.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) name: String,
    /// Its number, from 0.
    pub(super) number: usize,
    /// The number of its source.
    pub(super) source: usize,
    /// The number of the group whose geometry it has.
    pub(super) follows: Option<usize>,
    pub(super) split: CacheSplit,
    /// How the outputs lie.
    pub(super) arrangement: Arrangement,
    /// Width and height of every output, or of the place that each has.
    pub(super) size: (u32, u32),
    /// Images of each sample: its views, times the crops of each.
    pub(super) outputs: usize,
    /// The number of the first of them among the images of all groups.
    pub(super) first: usize,
    /// The number of the first of them among the images of the groups of its source. For a loader of one source this and the
    /// next number are those in the field before.
    pub(super) first_of_source: usize,
    /// The number of the first of them among all images, source by source.
    pub(super) first_by_source: usize,
    /// The byte of a batch in host memory at which the group's images begin.
    pub(super) begin: usize,
}

impl Group {
    /// The plan as it was compiled.
    pub(super) fn plan(&self) -> &Plan {
        self.split.plan()
    }

    pub(super) fn views(&self) -> usize {
        self.outputs / self.plan().crops()
    }

    /// Bytes of the place of an image.
    pub(super) fn image_bytes(&self) -> usize {
        self.plan().image_bytes(self.size)
    }

    /// Bytes of all outputs of a sample.
    pub(super) fn sample_bytes(&self) -> usize {
        self.outputs * self.image_bytes()
    }

    /// Elements of all outputs of a sample.
    pub(super) fn sample_elements(&self) -> u64 {
        u64::from(self.size.0) * u64::from(self.size.1) * u64::from(self.plan().channels()) * self.outputs as u64
    }

    /// The key of image `image` of the group's for a sample with this key.
    pub(super) fn key(&self, key: &Key, image: usize) -> Key {
        // A group that follows another one draws what that one draws.
        let views = self.follows.unwrap_or(self.number) << VIEW_BITS;
        // The crops of a view share its number, which is this one divided by the number of crops.
        Key { view: (views * self.plan().crops() + image) as u32, ..*key }
    }

    /// The numbers of the group's images among those of a sample.
    pub(super) fn images(&self) -> Range<usize> {
        self.first..self.first + self.outputs
    }

    /// The numbers of the group's images among those of its source: the views of a route.
    pub(super) fn routed(&self) -> Range<usize> {
        self.first_of_source..self.first_of_source + self.outputs
    }

    /// The numbers of the group's images among those of a sample, source by source: the views of a slot or a page.
    pub(super) fn staged(&self) -> Range<usize> {
        self.first_by_source..self.first_by_source + self.outputs
    }
}

/// The groups of a source.
pub(super) fn of_source(groups: &[Group], source: usize) -> impl Iterator<Item = &Group> + Clone {
    groups.iter().filter(move |group| group.source == source)
}

/// The way of a sample, and what a worker needs for it between the stages of the plans.
pub(super) struct Routed {
    pub(super) route: Route,
    source: usize,
    /// What the first group needs. A worker makes the images of the groups one after the other.
    first: Needed,
    /// What each other group needs; empty for one group, so that nothing is allocated.
    others: Vec<Needed>,
}

/// Chooses the route of an image of a sample for the groups of its source, with the parameters of all images of the
/// sample, group by group.
///
/// # Errors
/// Those of a plan, for parameters that it cannot run.
pub(super) fn route(groups: &[Group], source: usize, params: &[Params], origin: Origin) -> Result<Routed> {
    let of = |group: &Group| -> Result<(Route, Needed)> {
        let params = params.get(group.images()).unwrap_or_default();
        params.iter().try_for_each(|params| group.check_size(params))?;
        let route = group.split.route(params, origin)?;
        let needed = intermediates::of_route(&group.split, &route);
        Ok((route, needed))
    };
    let mut rest = of_source(groups, source);
    let Some(first) = rest.next() else {
        return Err(Error::argument("group", "a loader has at least one"));
    };
    let (mut route, of_first) = of(first)?;
    let mut others = Vec::new();
    for group in rest {
        let (its, needed) = of(group)?;
        others.push(needed);
        match route.joined(its) {
            Some(joined) => route = joined,
            // Only the way into the cache differs: the sample streams.
            None if matches!(origin, Origin::Insert { .. }) => {
                return self::route(groups, source, params, streamed(origin));
            }
            None => return Err(Error::argument("group", "groups read a sample in ways that do not join")),
        }
    }
    // Two regions that fit into a slot may be far apart.
    let too_large = first.split.executor() == Executor::Gpu && pixel_bytes(route.read, route.float) > REGION_BYTES;
    if too_large && !others.is_empty() && route.to_cache.is_some() {
        return self::route(groups, source, params, streamed(origin));
    }
    Ok(Routed { route, source, first: of_first, others })
}

/// The origin of a sample that is not inserted in the cache.
fn streamed(origin: Origin) -> Origin {
    match origin {
        Origin::Insert { float } => Origin::Source { float },
        other => other,
    }
}

impl Routed {
    /// Checks what a worker needs for the sample, whose source has `size`, before it decodes the sample; returns the bytes.
    ///
    /// # Errors
    /// [`ErrorKind::IntermediateTooLarge`](crate::ErrorKind::IntermediateTooLarge) for more than `most` bytes.
    pub(super) fn check(&self, groups: &[Group], size: (u32, u32), most: u64) -> Result<u64> {
        let mut bytes = 0;
        for (group, needed) in of_source(groups, self.source).zip(std::iter::once(&self.first).chain(&self.others)) {
            intermediates::check(&group.split, *needed, size, most)?;
            bytes = needed.bytes.max(bytes);
        }
        Ok(bytes)
    }
}
