//! What a plan needs between its stages: whatever the image, when a loader is built, and for a sample, before it is
//! decoded.

use super::scratch::Intermediates;
use crate::cpu::needed::{Needed, by_route};
use crate::error::{ErrorKind, Result};
use crate::plan::route::{Origin, Route};
use crate::plan::split::{CacheSplit, Executor};
use crate::transforms::{Key, Params};
use parking_lot::{Condvar, Mutex};

/// Bounds what the workers of a loader take together. A worker may keep its share; an image that needs more waits until
/// the other ones that do have left it room, and its memory is freed after it.
#[derive(Debug)]
pub(super) struct LargeImages {
    share: u64,
    /// Bytes that large images may still take.
    left: Mutex<u64>,
    freed: Condvar,
}

/// The room of a large image. Dropping it returns the room.
#[derive(Debug)]
struct Room<'a> {
    images: &'a LargeImages,
    bytes: u64,
}

impl LargeImages {
    /// Images of more than `share` bytes, which take `most` together.
    pub(super) fn new(share: u64, most: u64) -> LargeImages {
        LargeImages { share, left: Mutex::new(most), freed: Condvar::new() }
    }

    /// Does `work` for an image that takes `bytes` of a worker's memory, at most those of all. A large image waits for room,
    /// and its memory is freed before others have the room, also where the work has failed. `work` waits for nobody, so
    /// that the wait ends.
    pub(super) fn within<T>(
        &self,
        bytes: u64,
        memory: &mut Intermediates,
        work: impl FnOnce(&mut Intermediates) -> T,
    ) -> T {
        let room = self.enter(bytes);
        let done = work(memory);
        if room.is_some() {
            *memory = Intermediates::default();
        }
        done
    }

    /// Waits for the room of an image; `None` for an image that needs no room.
    fn enter(&self, bytes: u64) -> Option<Room<'_>> {
        if bytes <= self.share {
            return None;
        }
        let mut left = self.left.lock();
        self.freed.wait_while(&mut left, |left| *left < bytes);
        *left -= bytes;
        Some(Room { images: self, bytes })
    }
}

impl Drop for Room<'_> {
    fn drop(&mut self) {
        *self.images.left.lock() += self.bytes;
        self.images.freed.notify_all();
    }
}

/// Sides of the square images that are tried, the smallest first: some lists have no crop of a small one. A list needs
/// the least for a square.
const SIDES: [u32; 4] = [64, 256, 1024, 4096];
/// Random parameters that are tried for a size.
const DRAWS: u64 = 4;

/// Returns the least bytes that a worker needs for an image, of a few small images.
///
/// # Errors
/// [`ErrorKind::IntermediateTooLarge`] if these are more than `most`; then no sample would be made.
pub(super) fn least(split: &CacheSplit, most: u64) -> Result<u64> {
    let draw = |side: u32, sample: u64| -> Result<(Params, Route)> {
        let params = split.plan().make_params(side, side, &Key { sample, ..Key::default() })?;
        let route = split.route(std::slice::from_ref(&params), Origin::Source { float: false })?;
        Ok((params, route))
    };
    if split.plan().calls_users() {
        // Their functions run for samples alone, each of which is checked.
        return Ok(0);
    }
    for side in SIDES {
        let tried = (0..DRAWS).filter_map(|sample| draw(side, sample).ok());
        let needed = tried.map(|(params, route)| (of_route(split, &route), params));
        if let Some((needed, params)) = needed.min_by_key(|(needed, _)| needed.bytes) {
            check(split, needed, (params.width, params.height), most)?;
            return Ok(needed.bytes);
        }
    }
    Ok(0)
}

/// Returns what a worker needs for a sample.
pub(super) fn of_route(split: &CacheSplit, route: &Route) -> Needed {
    by_route(split.plan(), route, split.executor() == Executor::Cpu)
}

/// Checks what a worker needs for an image of `size`.
///
/// # Errors
/// [`ErrorKind::IntermediateTooLarge`] for more than `most` bytes.
pub(super) fn check(split: &CacheSplit, needed: Needed, size: (u32, u32), most: u64) -> Result<()> {
    if needed.bytes <= most {
        return Ok(());
    }
    let (width, height) = needed.largest;
    let names = |stage: usize| split.plan().stages().get(stage).map(|stage| stage.transforms.join(" + "));
    Err(ErrorKind::IntermediateTooLarge {
        transforms: needed
            .stage
            .and_then(names)
            .filter(|names| !names.is_empty())
            .unwrap_or_else(|| "the list".to_owned()),
        source_width: size.0,
        source_height: size.1,
        width,
        height,
        needed: needed.bytes,
        memory_budget: most,
    }
    .into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_memory_of_a_large_image_is_freed_also_where_it_has_failed() {
        let images = LargeImages::new(100, 1000);
        let mut memory = Intermediates::default();
        let fail = |memory: &mut Intermediates| {
            memory.fallback = vec![1.0; 50];
            Err::<(), _>("failed")
        };
        assert!(images.within(500, &mut memory, fail).is_err());
        assert_eq!((memory.fallback.capacity(), *images.left.lock()), (0, 1000));
        assert!(images.within(100, &mut memory, fail).is_err());
        assert_eq!(memory.fallback.len(), 50, "a worker keeps its share");
    }
}
