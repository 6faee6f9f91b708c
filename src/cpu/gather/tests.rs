//! The blocks of `warp.rs` against one pixel after the other.

use super::Part;
use super::warp::{bytes, one_by_one};
use crate::geometry::Rect;
use crate::warp::{Map, Warp};

/// A generator of numbers; the same ones in every run.
struct Numbers(u64);

impl Numbers {
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    fn below(&mut self, n: u32) -> u32 {
        (self.unit() * f64::from(n)) as u32
    }

    fn within(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }
}

/// A map as 8-bit numbers have it.
fn map(numbers: &mut Numbers, size: (u32, u32)) -> Map {
    map_of_floats(numbers, size).on_grid(size, size).unwrap_or(Map::Affine([1.0, 0.0, 0.0, 0.0, 1.0, 0.0]))
}

fn map_of_floats(numbers: &mut Numbers, (width, height): (u32, u32)) -> Map {
    if numbers.below(3) > 0 {
        let angle = numbers.within(-180.0, 180.0);
        let translate = [numbers.within(-9.0, 9.0), numbers.within(-9.0, 9.0)];
        // Now and then halves of pixels, which lie at ties and on edges.
        let exact = numbers.below(4) == 0;
        let angle = if exact { 90.0 * f64::from(numbers.below(4)) } else { angle };
        let translate = if exact { translate.map(|by| (2.0 * by).round() / 2.0) } else { translate };
        let scale = if exact { 1.0 } else { numbers.within(0.3, 3.0) };
        if numbers.below(4) == 0 {
            // Rows or columns that are only moved.
            let mut shear = [0.0; 2];
            shear[numbers.below(2) as usize] = numbers.within(-50.0, 50.0);
            return Map::affine(((width, height), (width, height)), 0.0, translate, 1.0, shear, [0.0; 2]);
        }
        let shear = if exact { [0.0; 2] } else { [numbers.within(-40.0, 40.0), numbers.within(-9.0, 9.0)] };
        return Map::affine(((width, height), (width, height)), angle, translate, scale, shear, [0.0; 2]);
    }
    let (right, bottom) = (width as i32 - 1, height as i32 - 1);
    let start = [[0, 0], [right, 0], [right, bottom], [0, bottom]];
    let end = start.map(|corner| corner.map(|at| at + numbers.below(width.max(4)) as i32 - width as i32 / 2));
    Map::perspective(start, end).unwrap_or(Map::Affine([1.0, 0.0, 0.0, 0.0, 1.0, 0.0]))
}

#[test]
fn blocks_equal_one_pixel_after_the_other() {
    let mut numbers = Numbers(7);
    let (mut differ, mut shown) = (0, 0);
    for case in 0..600 {
        let size = (1 + numbers.below(90), 1 + numbers.below(40));
        let pixels: Vec<[u8; 4]> = (0..size.0 * size.1)
            .map(|_| [numbers.below(256) as u8, numbers.below(256) as u8, numbers.below(256) as u8, 255])
            .collect();
        let fill = match numbers.below(3) {
            0 => None,
            1 => Some([0.0; 3]),
            _ => Some([0.25, 1.0, 0.371]),
        };
        let nearest = numbers.below(2) == 0;
        let warp = Warp { map: map(&mut numbers, size), size, nearest, fill };
        let (left, top) = (numbers.below(size.0), numbers.below(size.1));
        let window =
            Rect { left, top, width: 1 + numbers.below(size.0 - left), height: 1 + numbers.below(size.1 - top) };
        // As a worker has it: only the part that the window shows.
        let rect = warp.read_region(window, size);
        let first = (rect.top * size.0 + rect.left) as usize;
        let part = Part { pixels: &pixels[first..], stride: size.0 as usize, rect };
        let mut actual = vec![[9; 4]; numbers.below(50) as usize];
        bytes(&warp, part, size, window, &mut actual);
        let mut expected = Vec::new();
        if nearest {
            let outside = fill.unwrap_or_default().map(|value| (value * 255.0).round_ties_even() as u8);
            for (y, x) in (window.top..window.top + window.height)
                .flat_map(|y| (window.left..window.left + window.width).map(move |x| (y, x)))
            {
                let (x, y) = warp.map.at(f64::from(x), f64::from(y));
                let (x, y) = (x.round_ties_even(), y.round_ties_even());
                let inside = x >= 0.0 && x < f64::from(size.0) && y >= 0.0 && y < f64::from(size.1);
                let [r, g, b] = outside;
                expected.push(if inside { pixels[y as usize * size.0 as usize + x as usize] } else { [r, g, b, 255] });
            }
        } else {
            let fill = fill.map(|fill| fill.map(|value| value * 255.0));
            let round = |value: [f32; 4]| value.map(|value| value.round_ties_even() as u8);
            one_by_one(&warp, part, size, window, fill, |pixel| pixel.map(f32::from), round, &mut expected);
        }
        let colours = |pixels: &[[u8; 4]]| pixels.iter().map(|&[r, g, b, _]| [r, g, b]).collect::<Vec<_>>();
        assert_eq!(colours(&actual), colours(&expected), "case {case}: {warp:?} {window:?} of {size:?}");
        differ += usize::from(actual.windows(2).any(|pair| pair[0] != pair[1]));
        shown += actual.len();
    }
    assert!(differ > 400 && shown > 40_000, "{differ} of 600 images are not plain, {shown} pixels");
}
