//! EXIF orientations of the images of a sample: each is turned by its own.

use super::sources::{Stored, depth_at, rig, size};
use gpufeed::decode::{Orientation, ReadMode};
use gpufeed::transforms::{CenterCrop, Transform};
use gpufeed::{Backend, DataLoader, Views};
use gpufeed_testing::pipeline::picture;
use image::codecs::png::PngEncoder;
use image::{DynamicImage, ImageBuffer, ImageEncoder, Luma};

/// A PNG with an EXIF orientation.
pub(super) fn oriented(image: &DynamicImage, orientation: u8) -> Vec<u8> {
    // A TIFF of one entry: the tag 0x112, a short, the orientation.
    let exif = [b'I', b'I', 42, 0, 8, 0, 0, 0, 1, 0, 0x12, 1, 3, 0, 1, 0, 0, 0, orientation, 0, 0, 0, 0, 0, 0, 0];
    let mut file = Vec::new();
    let mut encoder = PngEncoder::new(&mut file);
    encoder.set_exif_metadata(exif.to_vec()).unwrap();
    image.write_with_encoder(encoder).unwrap();
    file
}

#[test]
fn a_follower_is_turned_by_its_own_orientation() {
    let (width, height) = size(0);
    let crop = || Transform::from(CenterCrop::new(8));
    let depths = |turned: bool, exif: Orientation| {
        let mut data = rig();
        data.samples.truncate(1);
        data.samples[0].0 = oriented(&picture(0, width, height).into(), 3);
        if turned {
            let pixels = ImageBuffer::from_fn(width, height, |x, y| Luma([depth_at(0, x, y)]));
            data.samples[0].1[1] = Stored::File(oriented(&DynamicImage::ImageLuma16(pixels), 3));
        }
        let loader = DataLoader::builder(data)
            .group("image", Views::new(1).transform(crop()))
            .group("depth", Views::new(1).source("depth").read_mode(ReadMode::Gray16).follows("image"))
            .exif(exif)
            .batch_size(1)
            .build(&Backend::Cpu)
            .unwrap();
        let batch = loader.epoch(0).unwrap().next().unwrap().unwrap();
        batch.group("depth").unwrap().to_host_f32().unwrap()
    };
    let (left, top) = ((width - 8) / 2, (height - 8) / 2);
    let at = |turn: bool| {
        let place = move |x: u32, y: u32| match turn {
            true => (width - 1 - left - x, height - 1 - top - y),
            false => (left + x, top + y),
        };
        let places = (0..8).flat_map(|y| (0..8).map(move |x| place(x, y)));
        places.map(|(x, y)| f32::from(depth_at(0, x, y))).collect::<Vec<_>>()
    };
    assert_eq!(depths(false, Orientation::Apply), at(false));
    assert_eq!(depths(true, Orientation::Apply), at(true));
    assert_eq!(depths(true, Orientation::Ignore), at(false));
}
