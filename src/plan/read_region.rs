//! The region of the source that a sampling reads: whatever is outside it need not be decoded.

use super::resize_u8;
use super::sampling::{Axis, Border, Filter, Sampling, border_index};
use crate::geometry::Rect;
use crate::transforms::PaddingMode;

impl Sampling {
    /// The smallest rectangle of the source with all pixels that are read. At least one pixel, even if only fill
    /// colours show.
    pub(crate) fn read_region(&self) -> Rect {
        let resized = |i: usize| self.resized_u8.map(|whole| whole[i]);
        let side = |axis: &Axis, resized: Option<u32>| {
            axis.read_range((self.filter, resized), self.source_border, self.grid_border)
                .unwrap_or((axis.source_start, axis.source_start))
        };
        let ((left, right), (top, bottom)) = (side(&self.x, resized(0)), side(&self.y, resized(1)));
        Rect { left: left as u32, top: top as u32, width: (right - left + 1) as u32, height: (bottom - top + 1) as u32 }
    }
}

impl Axis {
    /// First and last source pixel that any output reads, `None` if outputs show only fill colours.
    ///
    /// Looks at the first and the last output alone where it can: one look at each output took half of the time in
    /// which a worker makes the parameters of a 32×32 image.
    fn read_range(
        &self,
        (filter, resized_u8): (Filter, Option<u32>),
        source: Option<Border>,
        grid: Option<Border>,
    ) -> Option<(i32, i32)> {
        let window = (self.grid_window, self.grid_window + self.len - 1);
        let (first, last) = border_range(window, self.grid_len, grid)?;
        let reads = |i: i32| match resized_u8 {
            Some(outputs) => resize_u8::range(self.view_len as u32, outputs, filter, i as u32),
            None => self.view_range(i, filter),
        };
        let view = (reads(first + self.grid_start).0, reads(last + self.grid_start).1);
        let (low, high) =
            if self.view_mirror == 1 { (self.view_len - 1 - view.1, self.view_len - 1 - view.0) } else { view };
        let (low, high) = (low + self.source_window, high + self.source_window);
        // Taps that leave out pixels between them may also leave out those at the ends of a border.
        let antialiased = matches!(filter, Filter::LinearAntialias | Filter::CubicAntialias);
        if (low < 0 || high >= self.source_len) && self.scale > 1.0 && !antialiased {
            return self.read_range_of_each_output(filter, source, grid);
        }
        let (low, high) = border_range((low, high), self.source_len, source)?;
        Some((low + self.source_start, high + self.source_start))
    }

    /// The first and the last view pixel that grid coordinate `i` reads.
    fn view_range(&self, i: i32, filter: Filter) -> (i32, i32) {
        let centre = self.scale * (i as f32 + 0.5) + self.phase;
        let (first, last) = match filter {
            Filter::Nearest => ((self.scale * i as f32) as i32, (self.scale * i as f32) as i32),
            Filter::NearestExact => (centre as i32, centre as i32),
            Filter::Linear => ((centre - 0.5).max(0.0) as i32, (centre - 0.5).max(0.0) as i32 + 1),
            Filter::Cubic => ((centre - 0.5).floor() as i32 - 1, (centre - 0.5).floor() as i32 + 2),
            Filter::LinearAntialias | Filter::CubicAntialias => {
                ((centre - self.support + 0.5) as i32, (centre + self.support + 0.5) as i32 - 1)
            }
        };
        (first.clamp(0, self.view_len - 1), last.clamp(0, self.view_len - 1))
    }

    /// [`read_range`](Self::read_range) from the taps of each output.
    fn read_range_of_each_output(
        &self,
        filter: Filter,
        source: Option<Border>,
        grid: Option<Border>,
    ) -> Option<(i32, i32)> {
        // Those of one output at a time: all of them can be more than the image.
        let (mut taps, mut range) = (Vec::new(), None);
        for i in (0..self.len).filter_map(|i| self.grid(i, grid)) {
            taps.clear();
            self.taps(i, filter, source, &mut taps);
            for index in taps.iter().filter_map(|tap| tap.index) {
                let (low, high) = range.unwrap_or((index, index));
                range = Some((index.min(low), index.max(high)));
            }
        }
        range
    }
}

/// The first and the last pixel in a rectangle of `len` pixels that the coordinates from `first` to `last` of a window
/// show, or `None` if all of them show the fill colour: the range of [`border_index`].
fn border_range((first, last): (i32, i32), len: i32, border: Option<Border>) -> Option<(i32, i32)> {
    if first >= 0 && last < len {
        return Some((first, last));
    }
    let period = match border.map(|border| border.mode) {
        None | Some(PaddingMode::Edge) => return Some((first.clamp(0, len - 1), last.clamp(0, len - 1))),
        Some(PaddingMode::Constant) => {
            let (first, last) = (first.max(0), last.min(len - 1));
            return (first <= last).then_some((first, last));
        }
        Some(PaddingMode::Reflect) => 2 * (len - 1).max(1),
        Some(PaddingMode::Symmetric) => 2 * len,
    };
    // The range also holds an end of the rectangle if the window holds one of its repetitions.
    let holds = |end: i32| first + (end - first).rem_euclid(period) <= last;
    let [a, b] = [first, last].map(|i| border_index(i, len, border).unwrap_or(0));
    Some((if holds(0) { 0 } else { a.min(b) }, if holds(len - 1) { len - 1 } else { a.max(b) }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::composer::Composer;

    /// A generator of numbers below `n`; the same ones in every run.
    fn random(state: &mut u64, n: u32) -> u32 {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((*state >> 33) % u64::from(n)) as u32
    }

    #[test]
    fn the_range_from_the_ends_is_that_of_each_output() {
        let modes = [PaddingMode::Constant, PaddingMode::Edge, PaddingMode::Reflect, PaddingMode::Symmetric];
        let filters = [
            Filter::Nearest,
            Filter::NearestExact,
            Filter::Linear,
            Filter::Cubic,
            Filter::LinearAntialias,
            Filter::CubicAntialias,
        ];
        let (mut state, mut with_borders, mut hidden) = (1, 0, 0);
        for case in 0..60_000 {
            let mut number = |n| random(&mut state, n);
            let mut composer = Composer::new((1 + number(40), 1 + number(40)));
            for on_grid in [false, true] {
                let mut bordered = false;
                for _ in 0..number(4) {
                    let (width, height) = composer.size();
                    match number(4) {
                        0 => composer.flip(on_grid, 0),
                        1 if !bordered => {
                            bordered = true;
                            let border = Border { mode: modes[number(4) as usize], fill: [0.5; 3] };
                            composer.pad(on_grid, [number(50), number(3), number(50), number(3)], border);
                        }
                        _ => {
                            let (new_width, new_height) = (1 + number(width), 1 + number(height));
                            let offset = (number(width - new_width + 1), number(height - new_height + 1));
                            composer.crop(on_grid, offset, (new_width, new_height));
                        }
                    }
                }
                if !on_grid && number(3) > 0 {
                    composer.resize((1 + number(60), 1 + number(60)), filters[number(6) as usize]);
                }
            }
            let sampling = composer.finish();
            let (filter, source, grid) = (sampling.filter, sampling.source_border, sampling.grid_border);
            with_borders += u32::from(source.is_some() && grid.is_some());
            for axis in [sampling.x, sampling.y] {
                let expected = axis.read_range_of_each_output(filter, source, grid);
                hidden += u32::from(expected.is_none());
                assert_eq!(
                    axis.read_range((filter, None), source, grid),
                    expected,
                    "case {case}: {axis:?} {filter:?} {source:?} {grid:?}"
                );
            }
        }
        assert!(with_borders > 1000 && hidden > 100, "{with_borders} with two borders, {hidden} without a pixel");
    }
}
