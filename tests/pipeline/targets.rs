//! Objects of samples in batches: every backend, worker count and cache moves them as the pixels of their image.

use super::source_orientation::oriented;
use gpufeed::dataset::{Field, FieldKind, FieldValue};
use gpufeed::targets::{BoxFormat, Moves, ObjectValues, Objects};
use gpufeed::transforms::{
    BBoxSafeRandomCrop, CenterCrop, ConvertBoundingBoxFormat, Op, RandomHorizontalFlip, RandomIoUCrop,
    RandomResizedCrop, RandomVerticalFlip, Resize, SanitizeBoundingBoxes, SanitizeVisibility, Transform,
};
use gpufeed::{
    Backend, Batch, Cache, DataLoader, DataLoaderBuilder, Dataset, InMemory, Label, OnError, PixelFormat, Pixels,
    Sample, SampleData, Views,
};
use gpufeed_testing::pipeline::places;
use image::{DynamicImage, GrayImage};

const SAMPLES: u32 = 11;
const SIZE: (u32, u32) = (40, 30);

/// The edges of the white rectangle of a sample.
fn edges(number: u32) -> [f32; 4] {
    let (left, top) = (2 * number, number);
    [left, top, left + 10 + number, top + 12].map(|edge| edge as f32)
}

fn objects(number: u32) -> Objects {
    let [left, top, right, bottom] = edges(number);
    let boxes = vec![[left, top, right - left, bottom - top], [0.0, 0.0, 40.0, 30.0]];
    let points = vec![[left, top], [0.0, 0.0], [right - 1.0, bottom - 1.0], [39.0, 29.0]];
    Objects::of_boxes(BoxFormat::Xywh, boxes)
        .with_keypoints(2, points, vec![2, 0, 1, 2])
        .unwrap()
        .with_labels(vec![i64::from(number), 99])
        .unwrap()
        .with_values("area", ObjectValues::Floats(vec![120.0 + 12.0 * number as f32, 1200.0]))
        .unwrap()
}

/// White rectangles in black images, one of them in each, with their objects.
fn painted() -> InMemory {
    let mut data = InMemory::new().with_fields([Field::new("objects").kind(FieldKind::Objects)]);
    for number in 0..SAMPLES {
        let [left, top, right, bottom] = edges(number).map(|edge| edge as u32);
        let white = |x: u32, y: u32| (left..right).contains(&x) && (top..bottom).contains(&y);
        let pixels = (0..SIZE.1).flat_map(|y| (0..SIZE.0).map(move |x| if white(x, y) { 255 } else { 0 }));
        data.push_pixels(SIZE.0, SIZE.1, PixelFormat::R8, pixels.collect::<Vec<u8>>(), Label::Class(number)).unwrap();
        data.push_fields([FieldValue::from(objects(number))]).unwrap();
    }
    data
}

fn builder() -> DataLoaderBuilder {
    DataLoader::builder(painted())
        .transform(RandomResizedCrop::new((24, 20)).scale(0.5, 1.0))
        .transform(RandomHorizontalFlip::new(0.5))
        .transform(RandomVerticalFlip::new(0.5))
        .batch_size(4)
        .shuffle(true)
        .seed(5)
        .views(2)
}

/// Each image's sample, parameters and objects, of two epochs.
fn all(loader: &DataLoader) -> Vec<(u64, String, Objects)> {
    let mut found = Vec::new();
    for epoch in 0..2 {
        for batch in loader.epoch(epoch).unwrap() {
            let batch = batch.unwrap();
            check(&batch);
            for image in 0..batch.len() {
                let params = serde_json::to_string(&batch.params()[image].ops).unwrap();
                found.push((batch.ids()[image], params, batch.targets(image).unwrap().clone()));
            }
            assert!(batch.targets(batch.len()).is_none() && batch.columns().is_empty());
        }
    }
    found
}

/// Checks that the objects of each image have moved as its parameters say, and that its white pixels lie in the first box.
fn check(batch: &Batch) {
    let (values, [_, _, height, width]) = (batch.to_host_f32().unwrap(), batch.shape());
    for (image, values) in values.chunks_exact(height * width).enumerate() {
        let mut expected = objects(batch.ids()[image] as u32);
        Moves::of(&batch.params()[image]).unwrap().objects(&mut expected).unwrap();
        let found = batch.targets(image).unwrap();
        assert_eq!(*found, expected);
        assert_eq!((found.size(), found.format()), (Some((20, 24)), BoxFormat::Xywh));
        let [left, top, w, h] = found.boxes()[0];
        for at in (0..values.len()).filter(|at| values[*at] > 0.6) {
            let (x, y) = ((at % width) as f32 + 0.5, (at / width) as f32 + 0.5);
            let inside = (left - 0.5..=left + w + 0.5).contains(&x) && (top - 0.5..=top + h + 0.5).contains(&y);
            assert!(inside, "{x}, {y} is white beyond {:?}", found.boxes()[0]);
        }
        // A keypoint that is not labelled stays where it is.
        assert_eq!((found.keypoints()[1], found.visibility()), ([0.0, 0.0], &[2, 0, 1, 2][..]));
    }
}

#[test]
fn objects_move_with_their_image_everywhere() {
    let expected = all(&builder().workers(1).build(&Backend::Cpu).unwrap());
    assert_eq!(expected.len(), 2 * 2 * SAMPLES as usize);
    for place in places() {
        for (workers, cache) in [(1, Cache::Device(1 << 20)), (3, Cache::Host(1 << 20)), (7, Cache::Off)] {
            let loader = place.build(builder().workers(workers).cache(cache));
            assert!(all(&loader) == expected, "{} workers, {cache:?}", workers);
        }
    }
}

/// Two samples, each with a further image; the first one has an object.
struct Rig {
    fields: [Field; 2],
    pixels: Vec<u8>,
}

impl Rig {
    fn new() -> Rig {
        let objects = Field::new("objects").kind(FieldKind::Objects).optional();
        Rig { fields: [Field::new("right").kind(FieldKind::Image), objects], pixels: vec![128; 8 * 8 * 3] }
    }
}

impl Dataset for Rig {
    fn len(&self) -> usize {
        2
    }

    fn read<'a>(&'a self, index: usize, _: &'a mut Vec<u8>) -> gpufeed::Result<Sample<'a>> {
        let pixels = SampleData::Pixels(Pixels::new(8, 8, PixelFormat::Rgb8, &self.pixels)?);
        let objects = match index {
            0 => FieldValue::from(Objects::of_boxes(BoxFormat::Xyxy, vec![[0.0, 0.0, 2.0, 2.0]])),
            _ => FieldValue::Absent,
        };
        Ok(Sample::new(pixels, Label::None).with_fields(vec![FieldValue::Image(pixels), objects]))
    }

    fn name(&self, index: usize) -> String {
        format!("rig {index}")
    }

    fn inner(&self) -> Option<&dyn Dataset> {
        None
    }

    fn fields(&self) -> &[Field] {
        &self.fields
    }
}

#[test]
fn groups_of_the_samples_own_image_show_its_objects() {
    let flipped = Views::new(1).transform(RandomHorizontalFlip::new(1.0)).transform(CenterCrop::new(8));
    let loader = DataLoader::builder(Rig::new())
        .group("right", Views::new(1).source("right").transform(CenterCrop::new(8)))
        .group("left", Views::new(1).transform(CenterCrop::new(4)))
        .group("flipped", flipped)
        .batch_size(2)
        .build(&Backend::Cpu)
        .unwrap();
    let batch = loader.epoch(0).unwrap().next().unwrap().unwrap();
    let boxes = |group: &str, image: usize| {
        batch.group(group).unwrap().objects().map(|objects| objects[image].boxes().to_vec())
    };
    assert_eq!(boxes("right", 0), None);
    assert_eq!(boxes("left", 0), Some(vec![[0.0, 0.0, 0.0, 0.0]]));
    assert_eq!(boxes("flipped", 0), Some(vec![[6.0, 0.0, 8.0, 2.0]]));
    assert_eq!(boxes("flipped", 1), Some(vec![]));
    // Those of the first group that shows them.
    assert_eq!(batch.targets(0).unwrap().boxes(), [[0.0, 0.0, 0.0, 0.0]]);
}

#[test]
fn a_follower_has_the_objects_of_the_followed_group() {
    let list = Views::new(1).transform(RandomIoUCrop::new()).transform(RandomHorizontalFlip::new(0.5));
    let list = list.transform(Resize::new((20, 24))).transform(SanitizeBoundingBoxes::new().min_size(2.0));
    let loader = DataLoader::builder(painted())
        .group("image", list.transform(ConvertBoundingBoxFormat::new(BoxFormat::Xyxy)))
        .group("same", Views::new(1).follows("image"))
        .batch_size(SAMPLES as usize)
        .build(&Backend::Cpu)
        .unwrap();
    let batch = loader.epoch(0).unwrap().next().unwrap().unwrap();
    let [image, same] = ["image", "same"].map(|name| batch.group(name).unwrap().objects().unwrap());
    assert!(image == same && image.iter().all(|objects| objects.format() == BoxFormat::Xyxy));
}

#[test]
fn crops_by_boxes_are_the_same_everywhere_and_replayed() {
    crops_by_boxes_are_the_same(RandomIoUCrop::new().into());
    // The second box is the whole image.
    crops_by_boxes_are_the_same(BBoxSafeRandomCrop::new().erosion_rate(0.6).into());
}

fn crops_by_boxes_are_the_same(crop: Transform) {
    let builder = |workers: usize| {
        let list = DataLoader::builder(painted()).transform(crop.clone()).transform(RandomHorizontalFlip::new(0.5));
        list.transform(Resize::new((20, 24)))
            .transform(SanitizeVisibility::new(0.4))
            .transform(SanitizeBoundingBoxes::new())
            .batch_size(4)
            .seed(7)
            .workers(workers)
    };
    let seen = |loader: &DataLoader| {
        let mut all = Vec::new();
        for batch in loader.epoch(2).unwrap() {
            let batch = batch.unwrap();
            let values = batch.to_host().unwrap();
            for (image, values) in values.chunks_exact(values.len() / batch.len()).enumerate() {
                assert_eq!(loader.replay(batch.ids()[image] as usize, &batch.params()[image]).unwrap(), values);
                all.push((batch.params()[image].clone(), batch.targets(image).unwrap().clone()));
            }
        }
        all
    };
    let expected = seen(&builder(1).build(&Backend::Cpu).unwrap());
    let crops = expected.iter().filter(|(params, _)| params.ops.iter().any(|each| matches!(each.op, Op::Crop { .. })));
    assert!(crops.count() > 4, "{expected:?}");
    for place in places() {
        for (workers, cache) in [(1, Cache::Device(1 << 20)), (5, Cache::Host(1 << 20))] {
            assert!(seen(&place.build(builder(workers).cache(cache))) == expected, "{workers} workers, {cache:?}");
        }
    }
}

#[test]
fn an_image_whose_objects_are_all_removed_stays_in_its_batch() {
    let loader = DataLoader::builder(painted())
        .transform(Resize::new((6, 8)))
        .transform(SanitizeBoundingBoxes::new().min_size(4.0))
        .transform(ConvertBoundingBoxFormat::new(BoxFormat::Cxcywh))
        .batch_size(SAMPLES as usize)
        .build(&Backend::Cpu)
        .unwrap();
    let batch = loader.epoch(0).unwrap().next().unwrap().unwrap();
    assert_eq!(batch.len(), SAMPLES as usize);
    for image in 0..batch.len() {
        let found = batch.targets(image).unwrap();
        // The first box has 12 rows of 30, which are 2.4 of 6.
        assert_eq!((found.boxes(), found.labels()), (&[[4.0, 3.0, 8.0, 6.0]][..], Some(&[99][..])));
        assert_eq!((found.keypoints().len(), found.values("area")), (2, Some(&ObjectValues::Floats(vec![1200.0]))));
    }
}

#[test]
fn places_of_a_stored_image_are_turned_with_it() {
    // White at the second row's first pixel, in an image of 4 columns and 3 rows.
    let pixels = GrayImage::from_fn(4, 3, |x, y| image::Luma([if (x, y) == (0, 1) { 255 } else { 0 }]));
    let shown = |size: Option<(u32, u32)>, stored: bool, orientation: u8| {
        let file = oriented(&DynamicImage::ImageLuma8(pixels.clone()), orientation);
        let mut objects = Objects::of_boxes(BoxFormat::Xyxy, vec![[0.0, 1.0, 1.0, 2.0]])
            .with_keypoints(1, vec![[0.0, 1.0]], vec![2])
            .unwrap()
            .in_stored_image(stored);
        if let Some(size) = size {
            objects = objects.with_size(size);
        }
        let mut data = InMemory::new().with_fields([Field::new("objects").kind(FieldKind::Objects)]);
        data.push_encoded(file, Label::None).unwrap();
        data.push_fields([FieldValue::from(objects)]).unwrap();
        let end = CenterCrop::new(if orientation >= 5 { (4, 3) } else { (3, 4) });
        let build = DataLoader::builder(data).transform(end).batch_size(1).on_error(OnError::Fail);
        let loader = build.cache(Cache::Host(1 << 20)).build(&Backend::Cpu).unwrap();
        // The second epoch reads the cache.
        let [first, second] = [0, 1].map(|epoch| {
            let batch = loader.epoch(epoch).unwrap().next().unwrap().map_err(|error| error.to_string())?;
            let values = batch.to_host_f32().unwrap();
            let [_, _, height, width] = batch.shape();
            let at = values[..height * width].iter().position(|value| *value > 0.5).unwrap();
            let (found, white) = (batch.targets(0).unwrap().clone(), [(at % width) as f32, (at / width) as f32]);
            Ok::<_, String>((found.boxes()[0], found.keypoints()[0], white))
        });
        assert_eq!(first, second);
        first
    };
    for orientation in 1..=8 {
        for (size, stored) in [(None, true), (Some((4, 3)), true)] {
            let ([left, top, right, bottom], point, white) = shown(size, stored, orientation).unwrap();
            assert_eq!(
                [left, top, right, bottom],
                [white[0], white[1], white[0] + 1.0, white[1] + 1.0],
                "{orientation}"
            );
            assert_eq!(point, white, "{orientation}");
        }
        // The annotation's size fits the stored image alone.
        if orientation >= 5 {
            assert_eq!(shown(Some((4, 3)), false, orientation), shown(None, true, orientation));
            assert_eq!(shown(Some((3, 4)), true, orientation), shown(None, false, orientation));
        }
        let ([left, top, ..], point, _) = shown(None, false, orientation).unwrap();
        assert_eq!(([left, top], point), ([0.0, 1.0], [0.0, 1.0]));
        let error = shown(Some((8, 6)), false, orientation).unwrap_err();
        assert!(error.contains("the objects are those of an image of 8x6 pixels, but the image has"), "{error}");
    }
}
