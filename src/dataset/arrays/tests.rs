//! Layouts, labels and shapes of arrays.

use super::*;
use crate::dataset::Label;

fn pixels(data: &Arrays, index: usize) -> (u32, u32, PixelFormat, Vec<u8>) {
    let mut buffer = Vec::new();
    let sample = data.read(index, &mut buffer).unwrap();
    let SampleData::Pixels(pixels) = sample.data else { panic!("encoded") };
    (pixels.width(), pixels.height(), pixels.format(), pixels.bytes().to_vec())
}

#[test]
fn bytes_and_floats_are_moved_in() {
    let bytes: Vec<u8> = (0..24).collect();
    let at = bytes.as_ptr();
    let data = Arrays::nhwc([2, 2, 2, 3], bytes).unwrap();
    assert_eq!(data.pixels().as_ptr(), at);
    assert_eq!(pixels(&data, 1), (2, 2, PixelFormat::Rgb8, (12..24).collect()));

    let floats = vec![0.5f32; 6];
    let at: *const u8 = floats.as_ptr().cast();
    let data = Arrays::nchw([2, 1, 1, 3], floats).unwrap();
    assert_eq!(data.pixels().as_ptr(), at);
    assert_eq!(pixels(&data, 0).2, PixelFormat::F32 { channels: 1 });
    assert_eq!(pixels(&data, 1).3, bytemuck::cast_slice::<f32, u8>(&[0.5; 3]));
    assert_eq!((data.channels(), data.name(1)), (1, "sample 1".into()));
    assert_eq!(data.with_source("x.npy").name(1), "x.npy, image 1");
}

#[test]
fn channels_first_is_put_in_order() {
    // A value is 100 × image + 10 × channel + pixel.
    let value = |i: usize| (100 * (i / 18) + 10 * (i / 6 % 3) + i % 6) as u8;
    let expected = [100, 110, 120, 101, 111, 121, 102, 112, 122, 103, 113, 123, 104, 114, 124, 105, 115, 125];
    let bytes = Arrays::nchw([2, 3, 2, 3], (0..36).map(value).collect::<Vec<u8>>()).unwrap();
    assert_eq!(pixels(&bytes, 1), (3, 2, PixelFormat::Rgb8, expected.to_vec()));
    let floats = Arrays::nchw([2, 3, 2, 3], (0..36).map(|i| value(i).into()).collect::<Vec<f32>>()).unwrap();
    assert_eq!(floats.format(), PixelFormat::F32 { channels: 3 });
    assert_eq!(pixels(&floats, 1).3, bytemuck::cast_slice::<f32, u8>(&expected.map(f32::from)));
    let alpha = Arrays::nchw([1, 4, 1, 2], (0..8).collect::<Vec<u8>>()).unwrap();
    assert_eq!(pixels(&alpha, 0), (2, 1, PixelFormat::Rgba8, vec![0, 2, 4, 6, 1, 3, 5, 7]));
}

#[test]
fn labels_of_every_kind() {
    let data = || Arrays::nhwc([2, 1, 1, 1], vec![0u8; 2]).unwrap();
    let label = |data: &Arrays, index| data.read(index, &mut Vec::new()).unwrap().label;
    assert_eq!(label(&data(), 1), Label::None);
    let classes = data().with_labels(vec![3, 4]).unwrap().with_classes(["a", "b"]);
    assert_eq!(
        (label(&classes, 1), classes.classes().len(), classes.targets()),
        (Label::Class(4), 2, Some(&[3, 4][..]))
    );
    let targets = data().with_targets([0.1, 0.2, 0.3, 0.4]).unwrap();
    assert_eq!(label(&targets, 1), Label::from(vec![0.3, 0.4]));
    let refused = |result: Result<Arrays>| result.unwrap_err().to_string();
    assert_eq!(refused(data().with_labels([1])), "labels: 1 for 2 images; give one for each");
    assert!(refused(data().with_targets([0.5; 3])).starts_with("targets: 3 values for 2 images"));
    assert!(refused(data().with_targets([])).starts_with("targets: 0 values for 2 images"));
}

#[test]
fn refuses_shapes_that_do_not_fit() {
    let refused = |shape, values: usize| Arrays::nhwc(shape, vec![0u8; values]).unwrap_err().to_string();
    assert!(refused([2, 2, 2, 1], 9).contains("[2, 2, 2, 1] (images, height, width, channels), but there are 9"));
    assert!(refused([usize::MAX, 2, 2, 1], 8).contains("there are 8 values"));
    assert!(refused([1, 0, 2, 1], 0).starts_with("shape: height 0"));
    assert!(refused([1, 2, 0, 1], 0).starts_with("shape: width 0"));
    assert!(refused([1, 3, 2, 2], 12).contains("2 channels") && refused([1, 3, 2, 2], 12).contains("Arrays::nchw"));
    assert!(refused([0, 1 << 40, 1, 1], 0).starts_with("shape: height 1099511627776"));
    let refused = |shape, values: usize| Arrays::nchw(shape, vec![0.0f32; values]).unwrap_err().to_string();
    assert!(refused([1, 3, 2, 2], 11).contains("(images, channels, height, width), but there are 11 values"));
    assert!(refused([1, 3, usize::MAX, usize::MAX], 12).contains("there are 12 values"));
    assert!(refused([1, 5, 2, 2], 20).contains("Arrays::nhwc"));
    assert!(refused([1, 4, 2, 2], 16).contains("4 channels"), "floats have no alpha");
    assert!(refused([1, 0, 2, 2], 0).contains("0 channels"));
    // 6 bytes are one and a half floats.
    assert!(Arrays::nhwc([1, 1, 1, 1], ArrayValues::floats(vec![0; 6])).is_err());
    let empty = Arrays::nhwc([0, 2, 2, 1], vec![0u8; 0]).unwrap();
    assert!(empty.is_empty() && empty.read(0, &mut Vec::new()).is_err());
    assert!(Arrays::nhwc([0, 1 << 31, 1 << 31, 4], vec![0u8; 0]).unwrap().transposed().is_empty());
}
