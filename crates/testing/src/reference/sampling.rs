//! Reading an image at source coordinates: the end of every warp (`_apply_grid_transform` in torchvision's
//! `functional/_geometry.py`, with torch's `grid_sample(align_corners=False, padding_mode="zeros")`).

use super::picture::{Picture, channel};

/// How a warp reads its source. torchvision's tensor path has no others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filter {
    Nearest,
    Bilinear,
}

/// The colour outside the image: `None` leaves zeros; else one number for all channels, or one for each, in the image's
/// units. `None` and 0 differ at the border.
pub type Fill<'a> = Option<&'a [f64]>;

/// A source pixel, which may lie outside the image, and its weight.
type Tap = (i64, i64, f64);

/// Makes an image of `height` × `width` pixels. Pixel (x, y) reads the source at `source(x, y)`, in pixels of the
/// source: (0, 0) is the centre of its first pixel.
pub fn sample(
    picture: &Picture,
    (height, width): (usize, usize),
    filter: Filter,
    fill: Fill<'_>,
    source: impl Fn(f64, f64) -> (f64, f64),
) -> Picture {
    let (channels, ..) = picture.shape();
    picture.rounded((channels, height, width), |c, y, x| {
        let (sx, sy) = source(x as f64, y as f64);
        read(picture, c, (sx, sy), filter, fill)
    })
}

/// Returns the value of channel `c` at a place of the source, before it is rounded.
pub(super) fn read(picture: &Picture, c: usize, (sx, sy): (f64, f64), filter: Filter, fill: Fill<'_>) -> f64 {
    let (_, rows, columns) = picture.shape();
    let inside = |x: i64, y: i64| (0..columns as i64).contains(&x) && (0..rows as i64).contains(&y);
    let taps = match filter {
        Filter::Nearest => vec![(sx.round_ties_even() as i64, sy.round_ties_even() as i64, 1.0)],
        Filter::Bilinear => bilinear(sx, sy),
    };
    // A place on the horizon of a perspective is nowhere.
    let somewhere = sx.is_finite() && sy.is_finite();
    let taps: Vec<Tap> = taps.into_iter().filter(|&(x, y, _)| somewhere && inside(x, y)).collect();
    // A tap outside the image adds 0 (zeros padding), so the value is attenuated by the mask.
    let value: f64 = taps.iter().map(|&(x, y, weight)| weight * picture.at(c, y as usize, x as usize)).sum();
    let mask: f64 = taps.iter().map(|&(_, _, weight)| weight).sum();
    let Some(fill) = fill.map(|fill| channel(fill, c)) else { return value };
    match filter {
        Filter::Nearest if mask < 0.5 => fill,
        Filter::Nearest => value,
        Filter::Bilinear => (value - fill) * mask + fill,
    }
}

/// Returns the four pixels about a point, weighted by the distance along each axis.
fn bilinear(sx: f64, sy: f64) -> Vec<Tap> {
    let (left, top) = (sx.floor(), sy.floor());
    let (fx, fy) = (sx - left, sy - top);
    // A coordinate of a pixel very far away becomes the nearest i64, which is outside, too.
    let (left, top) = (left.clamp(-1e9, 1e9) as i64, top.clamp(-1e9, 1e9) as i64);
    vec![
        (left, top, (1.0 - fx) * (1.0 - fy)),
        (left + 1, top, fx * (1.0 - fy)),
        (left, top + 1, (1.0 - fx) * fy),
        (left + 1, top + 1, fx * fy),
    ]
}

/// Moves each pixel by a displacement field (`elastic_image` in torchvision's `functional/_geometry.py`): pixel (x, y)
/// reads (x + dx · W/2, y + dy · H/2). `displacement` has [dx, dy] of every pixel, row by row.
pub fn elastic(picture: &Picture, displacement: &[[f64; 2]], filter: Filter, fill: Fill<'_>) -> Picture {
    let (_, height, width) = picture.shape();
    assert_eq!(displacement.len(), height * width, "a displacement for each pixel");
    sample(picture, (height, width), filter, fill, |x, y| {
        let [dx, dy] = displacement[y as usize * width + x as usize];
        (x + dx * width as f64 / 2.0, y + dy * height as f64 / 2.0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference::Semantics;

    fn picture(semantics: Semantics) -> Picture {
        Picture::from_planes((1, 1, 2), &[100, 200], semantics)
    }

    fn values(filter: Filter, fill: Fill<'_>, at: f64) -> f64 {
        sample(&picture(Semantics::Uint8), (1, 1), filter, fill, |_, _| (at, 0.0)).at(0, 0, 0)
    }

    #[test]
    fn a_fill_of_zero_differs_from_none_at_the_border() {
        // Half a pixel outside: the mask is 1/2, the attenuated value 100.
        assert_eq!(values(Filter::Bilinear, None, 1.5), 100.0);
        assert_eq!(values(Filter::Bilinear, Some(&[0.0]), 1.5), 50.0);
        assert_eq!(values(Filter::Bilinear, Some(&[7.0]), 1.5), 54.0, "46.5 + 7, rounded to even");
    }

    #[test]
    fn nearest_takes_the_even_pixel_of_a_tie() {
        assert_eq!(values(Filter::Nearest, None, 0.5), 100.0);
        assert_eq!(values(Filter::Nearest, None, 1.5), 0.0);
        assert_eq!(values(Filter::Nearest, Some(&[9.0]), 1.5), 9.0);
        assert_eq!(values(Filter::Nearest, Some(&[9.0]), 1e300), 9.0);
    }

    #[test]
    fn a_displacement_of_two_pixels_widths_is_in_half_images() {
        let moved = elastic(&picture(Semantics::Uint8), &[[1.0, 0.0], [-1.0, 0.0]], Filter::Nearest, None);
        assert_eq!(moved.image.planes, [200.0, 100.0]);
    }
}
