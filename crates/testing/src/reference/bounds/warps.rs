//! Bounds of warps: the values at all places that are as near to the exact one as arithmetic in f32 may lead.

use super::statistics::ends;
use super::{Bounds, ROUNDING};
use crate::reference::Picture;
use crate::reference::affine::{Affine, Rotation, places, rotate};
use crate::reference::perspective::{coefficients, place};
use crate::reference::sampling::{Filter, read, sample};
use gpufeed::transforms::{Interpolation, Op};

/// The error of a place in a source, in pixels.
const PLACE: f64 = 1e-4;

fn filter(interpolation: Interpolation) -> Filter {
    match interpolation {
        Interpolation::Nearest => Filter::Nearest,
        Interpolation::Bilinear => Filter::Bilinear,
        other => panic!("no warp reads by {other:?}"),
    }
}

impl Bounds {
    pub(super) fn warp(&self, op: &Op) -> Bounds {
        let size = self.size();
        match *op {
            Op::Affine { angle, translate, scale, shear, center, interpolation, fill } => {
                let matrix = Affine { angle, translate, scale, shear, center }.inverse_matrix(size);
                let places = places(matrix, size, size);
                self.sampled(size, (interpolation, fill), |x, y| (places(x, y), PLACE))
            }
            Op::Rotate { angle, expand, center, interpolation, fill } => {
                let rotation = Rotation { angle, expand, center };
                if rotation.quarter_turns(size).is_some() {
                    return self.each(|picture| rotate(picture, &rotation, Filter::Nearest, None));
                }
                let result = rotation.size(size);
                let places = places(rotation.map().inverse_matrix(size), size, result);
                self.sampled(result, (interpolation, fill), |x, y| (places(x, y), PLACE))
            }
            Op::Perspective { startpoints, endpoints, interpolation, fill } => {
                let [start, end] = [startpoints, endpoints].map(|points| points.map(|point| point.map(f64::from)));
                let map = coefficients(start, end);
                let [a, b, c, d, e, f, g, h] = map.map(f64::abs);
                self.sampled(size, (interpolation, fill), |x, y| {
                    let (sx, sy) = place(map, x, y);
                    let (x, y) = (x + 0.5, y + 0.5);
                    // One bit more or less of a coefficient counts for more near the horizon.
                    let z = (map[6] * x + map[7] * y + 1.0).abs().max(1e-9);
                    let sum =
                        (a * x + b * y + c).max(d * x + e * y + f) + (g * x + h * y + 1.0) * sx.abs().max(sy.abs());
                    ((sx, sy), PLACE + 1.2e-7 * sum / z)
                })
            }
            ref other => panic!("the reference does not know {other:?}"),
        }
    }

    /// Samples at `place`, which returns the error with each place.
    fn sampled(
        &self,
        (height, width): (usize, usize),
        (interpolation, fill): (Interpolation, Option<[f32; 3]>),
        place: impl Fn(f64, f64) -> ((f64, f64), f64),
    ) -> Bounds {
        let filter = filter(interpolation);
        let fill = fill.map(|fill| fill.map(f64::from));
        let fill = fill.as_ref().map(|fill| &fill[..]);
        let middle = sample(&self.middle, (height, width), filter, fill, |x, y| place(x, y).0);
        let shape = (middle.shape().0, height, width);
        // Whatever place it reads, and however it is mixed with zeros and the fill.
        let anything: Vec<[f64; 2]> = (0..shape.0)
            .map(|c| {
                let fill = fill.map_or(0.0, |fill| fill[c]);
                let (low, high) = (ends(&self.low, c).0, ends(&self.high, c).1);
                [low.min(fill).min(0.0), high.max(fill).max(0.0)].map(|value| self.whole(value))
            })
            .collect();
        let bounds = |c: usize, y: usize, x: usize| {
            let ((sx, sy), error) = place(x as f64, y as f64);
            if error.is_nan() || error > 1e-2 {
                return anything[c];
            }
            let near = |at: f64| {
                // Between two places on both sides of a pixel's middle, the value may be more than at either.
                let edge = at.round();
                let inner = if (edge - at).abs() < error { edge } else { at };
                [at - error, inner, at + error]
            };
            let mut near_by = [f64::MAX, f64::MIN];
            for place in near(sx).into_iter().flat_map(|sx| near(sy).map(|sy| (sx, sy))) {
                let value = |picture: &Picture| read(picture, c, place, filter, fill);
                near_by = [near_by[0].min(value(&self.low)), near_by[1].max(value(&self.high))];
            }
            match (self.is_float(), filter) {
                (true, Filter::Nearest) => near_by,
                // Between these places the product with the mask is a parabola.
                (true, Filter::Bilinear) => {
                    [near_by[0] - ROUNDING - error * error, near_by[1] + ROUNDING + error * error]
                }
                (false, Filter::Nearest) => near_by.map(f64::round_ties_even),
                (false, Filter::Bilinear) => [near_by[0] - 5e-4, near_by[1] + 5e-4].map(f64::round_ties_even),
            }
        };
        self.build(shape, middle, bounds)
    }

    fn whole(&self, value: f64) -> f64 {
        if self.is_float() { value } else { value.round_ties_even() }
    }
}
