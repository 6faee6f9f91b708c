//! Composes the geometry of one stage, op by op, into a [`Sampling`].

use super::sampling::{Axis, Border, Filter, Sampling};

/// One axis of the source or of the grid during composition.
#[derive(Clone, Copy, Debug)]
struct Span {
    start: i64,
    len: i64,
    window: i64,
    size: i64,
    mirror: bool,
}

impl Span {
    fn new(len: u32) -> Self {
        Span { start: 0, len: i64::from(len), window: 0, size: i64::from(len), mirror: false }
    }

    fn crop(&mut self, offset: u32, len: u32) {
        let (offset, len) = (i64::from(offset), i64::from(len));
        self.window += if self.mirror { self.size - offset - len } else { offset };
        self.size = len;
    }

    fn pad(&mut self, before: u32, after: u32, bordered: bool) {
        let (before, after) = (i64::from(before), i64::from(after));
        if !bordered {
            // The border surrounds the part that the crop has left.
            (self.start, self.len, self.window) = (self.start + self.window, self.size, 0);
        }
        self.window -= if self.mirror { after } else { before };
        self.size += before + after;
    }
}

/// The output grid of the resize, while the ops of a stage are composed.
#[derive(Clone, Copy, Debug)]
struct Grid {
    spans: [Span; 2],
    /// The size of the resize, before crops and pads.
    whole: [u32; 2],
    filter: Filter,
    /// True if the resize computes on 8-bit numbers.
    is_uint8: bool,
}

impl Grid {
    fn new((width, height): (u32, u32), filter: Filter) -> Self {
        Grid { spans: [Span::new(width), Span::new(height)], whole: [width, height], filter, is_uint8: false }
    }
}

/// Composes the geometry of one stage, op by op; `fuse` has made sure that the ops compose.
#[derive(Clone, Debug)]
pub(crate) struct Composer {
    source: [Span; 2],
    grid: Option<Grid>,
    source_border: Option<Border>,
    grid_border: Option<Border>,
}

impl Composer {
    pub(crate) fn new((width, height): (u32, u32)) -> Self {
        Composer { source: [Span::new(width), Span::new(height)], grid: None, source_border: None, grid_border: None }
    }

    /// The current width and height.
    pub(crate) fn size(&self) -> (u32, u32) {
        let [x, y] = self.grid.map_or(self.source, |grid| grid.spans);
        (x.size as u32, y.size as u32)
    }

    fn level(&mut self, on_grid: bool) -> (&mut [Span; 2], &mut Option<Border>) {
        if on_grid && self.grid.is_none() {
            // The parameters have no resize for this stage: the grid is the view itself.
            self.resize(self.size(), Filter::Nearest);
        }
        match &mut self.grid {
            Some(grid) if on_grid => (&mut grid.spans, &mut self.grid_border),
            _ => (&mut self.source, &mut self.source_border),
        }
    }

    pub(crate) fn crop(&mut self, on_grid: bool, (left, top): (u32, u32), (width, height): (u32, u32)) {
        let (spans, _) = self.level(on_grid);
        spans[0].crop(left, width);
        spans[1].crop(top, height);
    }

    pub(crate) fn pad(&mut self, on_grid: bool, [left, top, right, bottom]: [u32; 4], border: Border) {
        let (spans, current) = self.level(on_grid);
        let bordered = current.is_some();
        spans[0].pad(left, right, bordered);
        spans[1].pad(top, bottom, bordered);
        *current = Some(border);
    }

    pub(crate) fn flip(&mut self, on_grid: bool, axis: usize) {
        let (spans, _) = self.level(on_grid);
        spans[axis].mirror ^= true;
    }

    pub(crate) fn resize(&mut self, (width, height): (u32, u32), filter: Filter) {
        // torchvision returns an image that already has the size unchanged.
        let filter = if self.size() == (width, height) { Filter::Nearest } else { filter };
        self.grid = Some(Grid::new((width, height), filter));
    }

    /// Resizes in torchvision's arithmetic on 8-bit numbers.
    pub(crate) fn resize_u8(&mut self, size: (u32, u32), filter: Filter) {
        self.resize(size, filter);
        if let Some(grid) = &mut self.grid {
            grid.is_uint8 = !matches!(grid.filter, Filter::Nearest | Filter::NearestExact);
        }
    }

    pub(crate) fn finish(&self) -> Sampling {
        let Grid { spans, whole, filter, is_uint8 } =
            self.grid.unwrap_or_else(|| Grid::new(self.size(), Filter::Nearest));
        let axis = |i: usize| {
            let (source, grid) = (self.source[i], spans[i]);
            let scale = source.size as f32 / whole[i] as f32;
            let reduces = scale > 1.0;
            Axis {
                len: grid.size as i32,
                grid_mirror: u32::from(grid.mirror),
                grid_window: grid.window as i32,
                grid_start: grid.start as i32,
                grid_len: grid.len as i32,
                scale,
                support: filter.half_width() * scale.max(1.0),
                inverse: if reduces { 1.0 / scale } else { 1.0 },
                view_len: source.size as i32,
                view_mirror: u32::from(source.mirror),
                source_window: source.window as i32,
                source_start: source.start as i32,
                source_len: source.len as i32,
                phase: 0.0,
                zero: 0,
                padding: 0,
            }
        };
        Sampling {
            x: axis(0),
            y: axis(1),
            filter,
            source_border: self.source_border,
            grid_border: self.grid_border,
            resized_u8: is_uint8.then_some(whole),
        }
    }
}

impl Sampling {
    /// The sampling that returns an image of `size` unchanged.
    pub(crate) fn identity(size: (u32, u32)) -> Self {
        Composer::new(size).finish()
    }
}
