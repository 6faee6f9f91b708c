//! Autocontrast and equalize: operators that need a statistic of the whole image, channel by channel.

use super::picture::{Picture, Semantics, to_byte};

fn values(picture: &Picture, c: usize) -> impl Iterator<Item = f64> + '_ {
    let (_, height, width) = picture.shape();
    (0..height * width).map(move |i| picture.at(c, i / width, i % width))
}

/// Stretches each channel from its least and greatest value to the whole range (`autocontrast_image` in torchvision's
/// `functional/_color.py`). A channel of one value stays.
pub fn autocontrast(picture: &Picture) -> Picture {
    let (channels, ..) = picture.shape();
    let ranges: Vec<(f64, f64)> = (0..channels)
        .map(|c| values(picture, c).fold((f64::MAX, f64::MIN), |(low, high), v| (low.min(v), high.max(v))))
        .collect();
    picture.truncated(picture.shape(), |c, y, x| {
        let (value, (low, high)) = (picture.at(c, y, x), ranges[c]);
        match picture.semantics {
            _ if low == high => value,
            Semantics::Float => (value - low) / (high - low),
            // In f32, each step rounded: the quotient is cut to a whole number.
            Semantics::Uint8 => {
                let scale = (high - low) as f32 * (1.0 / 255.0) as f32;
                f64::from((value - low) as f32 / scale)
            }
        }
    })
}

/// Equalizes the histogram of each channel (`equalize_image` in torchvision's `functional/_color.py`, as Pillow does).
/// Floats become bytes first, and are multiples of 1/255 afterwards.
pub fn equalize(picture: &Picture) -> Picture {
    let bytes = match picture.semantics {
        Semantics::Float => picture.map(to_byte),
        Semantics::Uint8 => picture.clone(),
    };
    let (channels, ..) = picture.shape();
    let tables: Vec<Vec<u64>> = (0..channels).map(|c| equalizing_table(values(&bytes, c))).collect();
    bytes.build(bytes.shape(), |c, y, x| {
        let level = tables[c][bytes.at(c, y, x) as usize] as f64;
        if picture.semantics == Semantics::Float { level * (1.0 / 255.0) } else { level }
    })
}

/// Returns the new level of each level.
fn equalizing_table(levels: impl Iterator<Item = f64>) -> Vec<u64> {
    let mut histogram = [0u64; 256];
    levels.for_each(|level| histogram[level as usize] += 1);
    let last = histogram.iter().rev().find(|&&count| count != 0).expect("an image has pixels");
    let step = (histogram.iter().sum::<u64>() - last) / 255;
    if step == 0 {
        return (0..256).collect();
    }
    let below = |level: usize| histogram[..level].iter().sum::<u64>();
    (0..256).map(|level| if level == 0 { 0 } else { ((below(level) + step / 2) / step).min(255) }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_channel_of_one_value_stays() {
        for semantics in [Semantics::Float, Semantics::Uint8] {
            let picture = Picture::from_planes((1, 2, 2), &[9; 4], semantics);
            assert_eq!(autocontrast(&picture), picture);
            assert_eq!(autocontrast(&Picture::from_planes((1, 1, 2), &[9, 11], semantics)).at(0, 0, 0), 0.0);
        }
    }

    #[test]
    fn few_pixels_are_not_equalized() {
        let picture = Picture::from_planes((1, 1, 3), &[10, 20, 30], Semantics::Uint8);
        assert_eq!(equalize(&picture), picture);
    }

    #[test]
    fn equalizing_spreads_two_levels() {
        let bytes: Vec<u8> = (0..1020).map(|i| if i < 510 { 100 } else { 101 }).collect();
        let picture = Picture::from_planes((1, 1, 1020), &bytes, Semantics::Uint8);
        let equal = equalize(&picture);
        // step = (1020 - 510) / 255 = 2; 0 and then 510 pixels are below.
        assert_eq!([equal.at(0, 0, 0), equal.at(0, 0, 1019)], [0.0, 255.0]);
    }
}
