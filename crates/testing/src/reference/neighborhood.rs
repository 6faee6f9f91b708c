//! Blur, sharpness and noise: operators that look at the pixels about a pixel, or at none.

use super::picture::{Picture, Semantics};

/// Blurs with a Gaussian of `size` [x, y] (odd numbers) and `sigma` [x, y] (`gaussian_blur_image` in torchvision's
/// `functional/_misc.py`). `None` is torchvision's default, 0.15 · size + 0.35.
///
/// torchvision sums the outer product of both kernels at once; the sums are the same but for the last bits.
pub fn gaussian_blur(picture: &Picture, size: [usize; 2], sigma: Option<[f64; 2]>) -> Picture {
    let sigma = sigma.unwrap_or(size.map(|k| 0.15 * k as f64 + 0.35));
    let (across, down) = (blur_kernel(size[0], sigma[0]), blur_kernel(size[1], sigma[1]));
    let shape = picture.shape();
    let (_, height, width) = shape;
    let offset = |j: usize, length: usize| j as i64 - (length / 2) as i64;
    let rows = picture.build(shape, |c, y, x| {
        let tap = |(j, weight): (usize, &f64)| {
            weight * picture.at(c, y, reflected(x as i64 + offset(j, across.len()), width as i64))
        };
        across.iter().enumerate().map(tap).sum()
    });
    rows.rounded(shape, |c, y, x| {
        let tap = |(j, weight): (usize, &f64)| {
            weight * rows.at(c, reflected(y as i64 + offset(j, down.len()), height as i64), x)
        };
        down.iter().enumerate().map(tap).sum()
    })
}

/// Returns the weights of a blur along one axis: exp(-i²/(2σ²)), normalized (`_get_gaussian_kernel1d` in torchvision's
/// `functional/_misc.py` writes it as a softmax).
pub fn blur_kernel(size: usize, sigma: f64) -> Vec<f64> {
    let distance = |i: usize| i as f64 - (size as f64 - 1.0) / 2.0;
    let weights: Vec<f64> = (0..size).map(|i| (-distance(i).powi(2) / (2.0 * sigma * sigma)).exp()).collect();
    let sum: f64 = weights.iter().sum();
    weights.into_iter().map(|weight| weight / sum).collect()
}

/// Returns the pixel that coordinate `i` of a side of `length` pixels shows. The border is a mirror that does not
/// repeat the edge; where the image is smaller than the border, it is mirrored again.
pub(super) fn reflected(mut i: i64, length: i64) -> usize {
    while !(0..length).contains(&i) {
        i = match i {
            _ if length == 1 => 0,
            _ if i < 0 => -i,
            _ => 2 * (length - 1) - i,
        };
    }
    i as usize
}

/// Blends with a smoothed image (`adjust_sharpness_image` in torchvision's `functional/_color.py`): the smoothed pixel
/// is (the sum of the 3 × 3 pixels + 4 · the pixel) / 13. The outermost pixels stay, and so does an image of at most
/// two rows or columns.
pub fn adjust_sharpness(picture: &Picture, factor: f64) -> Picture {
    let shape = picture.shape();
    let (_, height, width) = shape;
    if height <= 2 || width <= 2 {
        return picture.clone();
    }
    picture.truncated(shape, |c, y, x| {
        let value = picture.at(c, y, x);
        if y == 0 || x == 0 || y == height - 1 || x == width - 1 {
            return value;
        }
        let around: f64 = (0..9).map(|i| picture.at(c, y + i / 3 - 1, x + i % 3 - 1)).sum();
        let smooth = (around + 4.0 * value) / 13.0;
        match picture.semantics {
            Semantics::Float => value + (1.0 - factor) * (smooth - value),
            // torch multiplies and adds with one rounding to f32.
            Semantics::Uint8 => {
                let difference = smooth.round_ties_even() - value;
                f64::from(((1.0 - factor) as f32).mul_add(difference as f32, value as f32))
            }
        }
    })
}

/// Adds noise made of standard normal numbers, one for each value, plane by plane (`gaussian_noise_image` in
/// torchvision's `functional/_misc.py`). Bytes get whole numbers, and are always clamped.
pub fn gaussian_noise(picture: &Picture, mean: f64, sigma: f64, clip: bool, normals: &[f64]) -> Picture {
    let (_, height, width) = picture.shape();
    picture.build(picture.shape(), |c, y, x| {
        let (value, normal) = (picture.at(c, y, x), normals[(c * height + y) * width + x]);
        match picture.semantics {
            Semantics::Float if clip => (value + (mean + normal * sigma)).clamp(0.0, 1.0),
            Semantics::Float => value + (mean + normal * sigma),
            Semantics::Uint8 => {
                let noise = (255.0 * mean) as f32 + normal as f32 * (255.0 * sigma) as f32;
                (value + f64::from(noise.trunc())).clamp(0.0, 255.0)
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_border_is_mirrored_as_often_as_it_takes() {
        let seen: Vec<usize> = (-5..8).map(|i| reflected(i, 3)).collect();
        assert_eq!(seen, [1, 0, 1, 2, 1, 0, 1, 2, 1, 0, 1, 2, 1]);
        assert_eq!([reflected(-9, 1), reflected(4, 1)], [0, 0]);
    }

    #[test]
    fn a_blur_larger_than_the_image_is_a_mean_of_it() {
        let picture = Picture::from_planes((1, 2, 2), &[0, 0, 255, 255], Semantics::Uint8);
        let blurred = gaussian_blur(&picture, [9, 9], Some([50.0, 50.0]));
        assert!(blurred.image.planes.iter().all(|&value| (value - 127.0).abs() < 20.0), "{blurred:?}");
    }

    #[test]
    fn sharpness_one_changes_nothing() {
        let bytes: Vec<u8> = (0..27u32).map(|i| (i * i % 251) as u8).collect();
        let picture = Picture::from_planes((3, 3, 3), &bytes, Semantics::Uint8);
        assert_eq!(adjust_sharpness(&picture, 1.0), picture);
        assert_ne!(adjust_sharpness(&picture, 9.0), picture);
    }
}
