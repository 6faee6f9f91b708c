//! Draws pictures that are the same on every machine: noise with the falling spectrum of photographs, so that their
//! files compress and decode about like photographs.

use super::hash::hash;

/// The side of the tiles. Pictures are windows of tiles, and wrap around at their borders.
const TILE: usize = 512;

/// The tiles that pictures are cut from.
pub(crate) struct Texture {
    /// Has every wavelength from 2 pixels to the tile's side.
    fine: Vec<f32>,
    /// Has only the long wavelengths. It is for colour, which changes more slowly than brightness.
    smooth: Vec<f32>,
}

/// Returns a pseudo-random number from -1 to 1.
fn signed(value: u64, salt: u64) -> f32 {
    (hash(value, salt) >> 40) as f32 / (1u32 << 23) as f32 - 1.0
}

/// Adds noise of one wavelength: a lattice of random numbers, interpolated.
fn add_octave(tile: &mut [f32], wavelength: usize, amplitude: f32) {
    let cells = TILE / wavelength;
    let node = |x: usize, y: usize| signed(((y % cells) * cells + x % cells) as u64, wavelength as u64);
    let ease = |t: f32| t * t * (3.0 - 2.0 * t);
    let mut lattice = vec![0.0; cells + 1];
    for (y, row) in tile.chunks_exact_mut(TILE).enumerate() {
        let t = ease((y % wavelength) as f32 / wavelength as f32);
        for (x, value) in lattice.iter_mut().enumerate() {
            let (above, below) = (node(x, y / wavelength), node(x, y / wavelength + 1));
            *value = amplitude * (above + t * (below - above));
        }
        for (pixels, ends) in row.chunks_exact_mut(wavelength).zip(lattice.windows(2)) {
            for (x, pixel) in pixels.iter_mut().enumerate() {
                *pixel += ends[0] + ease(x as f32 / wavelength as f32) * (ends[1] - ends[0]);
            }
        }
    }
}

impl Texture {
    pub(crate) fn new() -> Texture {
        let [mut fine, mut smooth] = [(); 2].map(|()| vec![0.0; TILE * TILE]);
        for power in 1..=8 {
            let wavelength = 1 << power;
            // The amplitude grows with the wavelength, but more slowly from 32 pixels on, because objects have a size.
            let amplitude = 4.6 * (wavelength as f32).powf(0.55);
            add_octave(&mut fine, wavelength, amplitude);
            if wavelength >= 32 {
                add_octave(&mut smooth, wavelength, 0.5 * amplitude);
            }
        }
        Texture { fine, smooth }
    }

    /// Draws picture `number` with interleaved channels: RGB, or gray for one channel.
    pub(crate) fn picture(&self, number: u64, width: u32, height: u32, channels: u32) -> Vec<u8> {
        // Pictures differ in contrast and brightness.
        let contrast = 0.7 + 0.6 * (hash(number, 7) % 1000) as f32 / 1000.0;
        let brightness = 96.0 + (hash(number, 8) % 64) as f32;
        let window = |tile: &'_ [f32], x: usize, y: usize, offset: usize| {
            tile[(y + offset / TILE) % TILE * TILE + (x + offset) % TILE]
        };
        let [at, red, blue] = [1, 2, 3].map(|salt| hash(number, salt) as usize % (TILE * TILE));
        let mut pixels = Vec::with_capacity(width as usize * height as usize * channels as usize);
        for y in 0..height as usize {
            for x in 0..width as usize {
                let luma = brightness + contrast * window(&self.fine, x, y, at);
                if channels == 1 {
                    pixels.push(luma as u8);
                    continue;
                }
                let [red, blue] = [red, blue].map(|offset| window(&self.smooth, x, y, offset));
                // `as` saturates, so highlights and shadows are cut as in a camera.
                pixels.extend([(luma + red) as u8, (luma - 0.5 * (red + blue)) as u8, (luma + blue) as u8]);
            }
        }
        pixels
    }
}

#[cfg(test)]
mod tests {
    use super::Texture;
    use image::ExtendedColorType;
    use image::codecs::jpeg::JpegEncoder;

    #[test]
    fn files_are_as_large_as_photographs_and_differ() {
        let texture = Texture::new();
        let file = |number| {
            let mut file = Vec::new();
            let pixels = texture.picture(number, 500, 375, 3);
            let mut encoder = JpegEncoder::new_with_quality(&mut file, crate::bench::setup::procedural::QUALITY);
            encoder.encode(&pixels, 500, 375, ExtendedColorType::Rgb8).unwrap();
            file
        };
        let files: Vec<_> = (0..16).map(file).collect();
        for file in &files {
            assert!((40_000..=110_000).contains(&file.len()), "{} bytes", file.len());
        }
        assert_ne!(files[0], files[1]);
        assert_eq!(files[3], file(3));
    }
}
