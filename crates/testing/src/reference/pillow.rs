//! Pillow's affine transform (`Geometry.c`), its Gaussian blur (`BoxBlur.c`) and the matrices that torchvision and Pillow
//! hand over to the former (`_get_inverse_affine_matrix` in torchvision's `transforms/v2/functional/_geometry.py`,
//! `Image.rotate` in Pillow's `Image.py`), on bytes.

use super::picture::{Picture, Semantics, channel};

/// Moves pixels by `Image.transform(image.size, AFFINE, matrix, interpolation, fillcolor=fill)`.
///
/// # Panics
/// If there is no such interpolation.
pub fn affine(picture: &Picture, matrix: [f64; 6], interpolation: &str, fill: &[f64]) -> Picture {
    assert_eq!(picture.semantics, Semantics::Uint8, "Pillow's images are bytes");
    let (channels, height, width) = picture.shape();
    let outside = |c: usize| channel(fill, c.min(fill.len() - 1)).trunc().clamp(0.0, 255.0);
    if interpolation == "Nearest" {
        let places = nearest(matrix, width, height);
        return picture.build((channels, height, width), |c, y, x| {
            let (at_x, at_y) = places[y * width + x];
            let inside = (0..width as i64).contains(&at_x) && (0..height as i64).contains(&at_y);
            if inside { picture.at(c, at_y as usize, at_x as usize) } else { outside(c) }
        });
    }
    let [a, b, c, d, e, f] = matrix;
    picture.build((channels, height, width), |plane, y, x| {
        let (x, y) = (x as f64 + 0.5, y as f64 + 0.5);
        let (at_x, at_y) = (a * x + b * y + c, d * x + e * y + f);
        if at_x < 0.0 || at_y < 0.0 || at_x >= width as f64 || at_y >= height as f64 {
            return outside(plane);
        }
        let (at_x, at_y) = (at_x - 0.5, at_y - 0.5);
        let pixel = |row: f64, column: f64| {
            let (row, column) = (row.clamp(0.0, height as f64 - 1.0), column.clamp(0.0, width as f64 - 1.0));
            picture.at(plane, row as usize, column as usize)
        };
        let (left, top) = (at_x.floor(), at_y.floor());
        let value = match interpolation {
            "Bilinear" => {
                let row = |i: f64| line(pixel(top + i, left), pixel(top + i, left + 1.0), at_x - left);
                line(row(0.0), row(1.0), at_y - top)
            }
            "Bicubic" => {
                let row = |i: f64| cubic([-1.0, 0.0, 1.0, 2.0].map(|j| pixel(top + i, left + j)), at_x - left);
                cubic([-1.0, 0.0, 1.0, 2.0].map(row), at_y - top)
            }
            other => panic!("Pillow has no interpolation {other:?}"),
        };
        value.clamp(0.0, 255.0).trunc()
    })
}

fn line(a: f64, b: f64, share: f64) -> f64 {
    a + (b - a) * share
}

/// The cubic with a = -1, by Horner's rule.
fn cubic([a, b, c, d]: [f64; 4], share: f64) -> f64 {
    b + share * (c - a + share * (2.0 * (a - b) + c - d + share * (b - a - c + d)))
}

/// The nearest pixel of each place, row by row: by sums of 16.16 bits, or of f64 for a scale and for places too far away.
fn nearest([a, b, c, d, e, f]: [f64; 6], width: usize, height: usize) -> Vec<(i64, i64)> {
    let corners = [(0.0, 0.0), (width as f64, height as f64), (0.0, height as f64), (width as f64, 0.0)];
    let fits = |[a, b, c]: [f64; 3]| corners.iter().all(|(x, y)| (x * a + y * b + c).abs() < 32768.0);
    let places = (0..height).flat_map(|y| (0..width).map(move |x| (x, y)));
    if (b != 0.0 || d != 0.0) && fits([a, b, c]) && fits([d, e, f]) {
        let fixed = |number: f64| (number * 65536.0 + 0.5).floor() as i64;
        let axis = |[a, b, c]: [f64; 3], (x, y): (usize, usize)| {
            (fixed(c + a * 0.5 + b * 0.5) + fixed(a) * x as i64 + fixed(b) * y as i64) >> 16
        };
        return places.map(|place| (axis([a, b, c], place), axis([d, e, f], place))).collect();
    }
    let whole = |at: f64| if at < 0.0 { -1 } else { at as i64 };
    let mut found = Vec::new();
    let (mut left, mut top) = (c + b * 0.5 + a * 0.5, f + e * 0.5 + d * 0.5);
    for _ in 0..height {
        let (mut x, mut y) = (left, top);
        for _ in 0..width {
            found.push((whole(x), whole(y)));
            (x, y) = (x + a, y + d);
        }
        (left, top) = (left + b, top + e);
    }
    found
}

/// Blurs by `ImageFilter.GaussianBlur(radius)`: rows, then columns, three times each.
pub fn gaussian_blur(picture: &Picture, radius: [f64; 2]) -> Picture {
    assert_eq!(picture.semantics, Semantics::Uint8, "Pillow's images are bytes");
    let mut blurred = picture.clone();
    for (axis, radius) in radius.map(|radius| box_radius(radius as f32)).into_iter().enumerate() {
        for _ in 0..if radius > 0.0 { 3 } else { 0 } {
            blurred = box_blur(&blurred, axis, radius);
        }
    }
    blurred
}

/// The radius of the boxes for a Gaussian (`_gaussian_blur_radius`).
fn box_radius(sigma: f32) -> f32 {
    let variance = sigma * sigma / 3.0;
    let length = (12.0 * f64::from(variance) + 1.0).sqrt() as f32;
    let l = ((f64::from(length) - 1.0) / 2.0).floor() as f32;
    let a = (2.0 * l + 1.0) * (l * (l + 1.0) - 3.0 * variance);
    l + a / (6.0 * (variance - (l + 1.0) * (l + 1.0)))
}

/// One mean along x (0) or y (1); edges go on.
fn box_blur(picture: &Picture, axis: usize, radius: f32) -> Picture {
    let (channels, height, width) = picture.shape();
    let weight = ((1 << 24) as f32 / (radius * 2.0 + 1.0)) as u64;
    let whole = radius as i64;
    let end = ((1 << 24) - (2 * whole as u64 + 1) * weight) / 2;
    picture.build((channels, height, width), |c, y, x| {
        let at = |i: i64| {
            let place = |middle: usize, side: usize| (middle as i64 + i).clamp(0, side as i64 - 1) as usize;
            let value = if axis == 0 { picture.at(c, y, place(x, width)) } else { picture.at(c, place(y, height), x) };
            value as u64
        };
        let sum: u64 = (-whole..=whole).map(at).sum();
        let ends = at(-whole - 1) + at(whole + 1);
        ((sum * weight + ends * end + (1 << 23)) >> 24) as f64
    })
}

/// The matrix of torchvision's `affine` on PIL images; angles are degrees.
pub fn affine_matrix(angle: f64, translate: [f64; 2], scale: f64, shear: [f64; 2], center: [f64; 2]) -> [f64; 6] {
    let (turn, sx, sy) = (angle.to_radians(), shear[0].to_radians(), shear[1].to_radians());
    let a = (turn - sy).cos() / sy.cos();
    let b = -(a * sx.tan() + turn.sin());
    let c = (turn - sy).sin() / sy.cos();
    let d = turn.cos() - c * sx.tan();
    let [a, b, d, e] = [d / scale, -b / scale, -c / scale, a / scale];
    let (x, y) = (center[0] + translate[0], center[1] + translate[1]);
    [a, b, center[0] - a * x - b * y, d, e, center[1] - d * x - e * y]
}

/// The matrix of `Image.rotate` without `expand`.
pub fn rotation_matrix(angle: f64, [x, y]: [f64; 2]) -> [f64; 6] {
    let rounded = |number: f64| format!("{number:.15}").parse::<f64>().expect("a number");
    let turn = -angle.rem_euclid(360.0).to_radians();
    let (cos, sin) = (rounded(turn.cos()), rounded(turn.sin()));
    let at = |a: f64, b: f64| a * -x + b * -y;
    [cos, sin, at(cos, sin) + x, -sin, cos, at(-sin, cos) + y]
}
