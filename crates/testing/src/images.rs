//! 8-bit images that the tests feed to a processor and, as floats, to the reference.

use crate::reference::{Image, Picture, Semantics};
use gpufeed::{PixelFormat, Pixels};

/// An 8-bit image of 1 or 3 interleaved channels.
#[derive(Clone, Debug)]
pub struct Source {
    pub width: u32,
    pub height: u32,
    pub channels: u32,
    pub bytes: Vec<u8>,
}

impl Source {
    pub fn pixels(&self) -> Pixels<'_> {
        let format = if self.channels == 1 { PixelFormat::R8 } else { PixelFormat::Rgb8 };
        Pixels::new(self.width, self.height, format, &self.bytes).expect("the bytes fit the size")
    }

    /// Returns the image in either semantics.
    pub fn picture(&self, semantics: Semantics) -> Picture {
        let (channels, plane) = (self.channels as usize, (self.width * self.height) as usize);
        let planes: Vec<u8> = (0..channels * plane).map(|i| self.bytes[i % plane * channels + i / plane]).collect();
        Picture::from_planes((channels, self.height as usize, self.width as usize), &planes, semantics)
    }

    /// Returns the image as floats in [0, 1].
    pub fn floats(&self) -> Image {
        let (width, channels) = (self.width as usize, self.channels as usize);
        Image::build((channels, self.height as usize, width), |c, y, x| {
            f64::from(self.bytes[(y * width + x) * channels + c]) / 255.0
        })
    }
}
