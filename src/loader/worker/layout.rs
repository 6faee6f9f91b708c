//! The bytes of a sample in a staging slot: the pixels that its views read, once for all views that share them, and the
//! results of views that the CPU executor finishes.

use crate::geometry::Rect;
use crate::plan::cpu_fallback::pixel_bytes;
use crate::plan::route::{Route, View, around};

/// Images begin at multiples of this in a slot: whole `vec4<f32>`s. Mapped ranges need multiples of 8.
const IMAGE_ALIGNMENT: u64 = 16;

/// Bytes that the pixels of a region take in a slot.
pub(super) fn bytes_of_region(region: Rect, float: bool) -> u64 {
    pixel_bytes(region, float).next_multiple_of(IMAGE_ALIGNMENT)
}

/// Bytes that the result of a view takes which the CPU executor finishes.
pub(super) fn bytes_of_finished(view: &View) -> u64 {
    bytes_of_region(Rect::whole(view.program.size()), true)
}

/// The region that a slot has once for all views of a source which shaders make. `None` where each view has a copy of its
/// own: of one view, and where the regions lie so far apart that the one around them has more than `most` bytes, or more
/// than they have together.
///
/// The pixels are the same in either case, and so are the bits of the images.
pub(super) fn shared_region(route: &Route, most: u64) -> Option<Rect> {
    if route.views.len() < 2 {
        return None;
    }
    let (begin, float) = route.views_begin();
    let regions = route.views.iter().filter(|view| !view.cpu_fallback).map(|view| view.region);
    let shared = regions.reduce(around)?;
    let bytes = bytes_of_region(shared, float);
    // A view that shows only a border reads no pixel: its region may be anywhere, also where there are no pixels.
    let exists = around(begin, shared) == begin;
    (exists && bytes <= most && bytes <= bytes_of_copies(route, None)).then_some(shared)
}

/// Bytes of all views of a source in a slot. Views that read the same region one after the other, as the crops of a view do,
/// have it once.
pub(super) fn bytes_of_views(route: &Route, most: u64) -> u64 {
    let shared = shared_region(route, most);
    let finished = route.views.iter().filter(|view| view.cpu_fallback).map(bytes_of_finished);
    finished.sum::<u64>() + bytes_of_copies(route, shared)
}

/// Bytes of the pixels that shaders read, if the views share this region, or each reads its own.
fn bytes_of_copies(route: &Route, shared: Option<Rect>) -> u64 {
    let (_, float) = route.views_begin();
    let (mut bytes, mut copied) = (0, None);
    for view in route.views.iter().filter(|view| !view.cpu_fallback) {
        let region = shared.unwrap_or(view.region);
        if copied.replace(region) != Some(region) {
            bytes += bytes_of_region(region, float);
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::program::Program;

    const READ: Rect = Rect { left: 100, top: 50, width: 200, height: 100 };

    fn rect(left: u32, top: u32, width: u32, height: u32) -> Rect {
        Rect { left, top, width, height }
    }

    /// The route of views of 6x4 pixels with these regions; the CPU executor finishes those without one.
    fn route(regions: &[Option<Rect>], float: bool) -> Route {
        let view = |region: &Option<Rect>| View {
            program: Program::finished((6, 4), 1),
            region: region.unwrap_or(READ),
            cpu_fallback: region.is_none(),
        };
        Route { read: READ, float, on_worker: None, to_cache: None, views: regions.iter().map(view).collect() }
    }

    const ALL: u64 = u64::MAX;

    #[test]
    fn views_share_the_region_around_theirs() {
        let [left, right, around_both] = [rect(100, 50, 60, 40), rect(120, 60, 60, 40), rect(100, 50, 80, 50)];
        for (float, pixel) in [(false, 4), (true, 16)] {
            let two = route(&[Some(left), Some(right)], float);
            assert_eq!(shared_region(&two, ALL), Some(around_both));
            assert_eq!(bytes_of_views(&two, ALL), pixel * 80 * 50);
            // The bytes are those of the copies where the shared region would not fit.
            assert_eq!(shared_region(&two, pixel * 80 * 50 - 1), None);
            assert_eq!(bytes_of_views(&two, pixel * 80 * 50 - 1), 2 * pixel * 60 * 40);
            // A view of the CPU has its result, whatever it reads.
            let three = route(&[Some(left), None, Some(right)], float);
            assert_eq!(shared_region(&three, ALL), Some(around_both));
            assert_eq!(bytes_of_views(&three, ALL), pixel * 80 * 50 + 16 * 6 * 4);
        }
    }

    #[test]
    fn views_have_copies_of_their_own_where_these_are_smaller() {
        let [left, right] = [rect(100, 50, 20, 20), rect(280, 130, 20, 20)];
        let far = route(&[Some(left), Some(right), Some(right)], false);
        assert_eq!((shared_region(&far, ALL), bytes_of_views(&far, ALL)), (None, 2 * 4 * 20 * 20));
        // So has one view, whose bytes are rounded up.
        let one = route(&[Some(rect(100, 50, 5, 5))], false);
        assert_eq!((shared_region(&one, ALL), bytes_of_views(&one, ALL)), (None, 112));
        let finished = route(&[None, None], false);
        assert_eq!((shared_region(&finished, ALL), bytes_of_views(&finished, ALL)), (None, 2 * 16 * 6 * 4));
    }

    #[test]
    fn a_region_without_pixels_is_not_shared() {
        let (inside, outside) = (rect(250, 100, 50, 50), rect(290, 140, 11, 1));
        let views = route(&[Some(inside), Some(outside)], false);
        assert_eq!(shared_region(&views, ALL), None);
        assert_eq!(shared_region(&route(&[Some(inside), Some(inside)], false), ALL), Some(inside));
    }
}
