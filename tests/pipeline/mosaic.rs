//! Mosaics: four images on one canvas, the objects of all four in its places, the same on every executor and for every number of
//! workers, and replayed.

use gpufeed::dataset::{Field, FieldKind, FieldValue};
use gpufeed::recipe::{self, Recipe};
use gpufeed::targets::{BoxFormat, Objects};
use gpufeed::transforms::{
    CenterCrop, CutMix, Interpolation, Mosaic, Params, RandomAffine, RandomCrop, RandomHorizontalFlip, Resize,
    SanitizeBoundingBoxes, Transform,
};
use gpufeed::{
    Backend, Cache, DType, DataLoader, DataLoaderBuilder, InMemory, Label, Layout, OnError, PixelFormat, Semantics,
    Views,
};
use gpufeed_testing::pipeline::{encoded, places, within};
use image::{DynamicImage, ImageBuffer, ImageFormat, Rgb};

const SAMPLES: u32 = 7;
const SIZE: u32 = 48;

/// Width and height of an image.
fn sides(number: u32) -> (u32, u32) {
    (30 + number * 9, 80 - number * 8)
}

/// The level of all pixels of an image; no other image has it, nor the canvas.
fn level(number: u32) -> u8 {
    (20 * (number + 1)) as u8
}

fn objects(number: u32) -> Objects {
    let (width, height) = sides(number);
    let all = [0.0, 0.0, width as f32, height as f32];
    Objects::of_boxes(BoxFormat::Xyxy, vec![all]).with_labels(vec![i64::from(number)]).unwrap()
}

/// Images of one level each, with a box around all of it: files, and every third one as pixels.
fn data() -> InMemory {
    let mut data = InMemory::new().with_fields([Field::new("objects").kind(FieldKind::Objects)]);
    for number in 0..SAMPLES {
        let (width, height) = sides(number);
        let pixels = ImageBuffer::from_pixel(width, height, Rgb([level(number); 3]));
        match number % 3 {
            0 => data.push_pixels(width, height, PixelFormat::Rgb8, pixels.into_raw(), Label::None).unwrap(),
            _ => data.push_encoded(encoded(DynamicImage::ImageRgb8(pixels), ImageFormat::Png), Label::None).unwrap(),
        };
        data.push_fields([FieldValue::from(objects(number))]).unwrap();
    }
    data
}

fn builder() -> DataLoaderBuilder {
    DataLoader::builder(data())
        .mosaic(Mosaic::new(SIZE))
        .output(Layout::Nhwc, DType::U8)
        .batch_size(3)
        .shuffle(true)
        .seed(5)
        .workers(2)
        .on_error(OnError::Fail)
}

/// The pixels and the boxes of each image of an epoch, with the sample and its parameters.
type Image = (u64, Params, Vec<u8>, Vec<[f32; 4]>, Vec<i64>);

fn images(loader: &DataLoader, epoch: u64) -> Vec<Image> {
    let mut found = Vec::new();
    for batch in loader.epoch(epoch).unwrap() {
        let batch = batch.unwrap();
        let host = batch.to_host().unwrap();
        let bytes = host.len() / batch.len();
        for (number, pixels) in host.chunks(bytes).enumerate() {
            let targets = batch.targets(number).unwrap();
            let labels = targets.labels().unwrap_or_default().to_vec();
            let (boxes, params) = (targets.boxes().to_vec(), batch.params()[number].clone());
            found.push((batch.ids()[number], params, pixels.to_vec(), boxes, labels));
        }
    }
    found
}

/// The whole canvas: each image lies in the place that the parameters say, its box around what it shows, and gray is around them.
#[test]
fn four_images_meet_in_the_center() {
    within(120, "all places", || {
        for place in places() {
            let loader = place.build(builder());
            for (id, params, pixels, boxes, labels) in images(&loader, 1) {
                let mosaic = params.mosaic.as_ref().unwrap();
                let [across, down] = mosaic.center;
                assert_eq!((params.width, params.height), (2 * SIZE, 2 * SIZE));
                assert!((SIZE / 2..SIZE * 3 / 2).contains(&across) && (SIZE / 2..SIZE * 3 / 2).contains(&down));
                let samples = [id, mosaic.others[0].1, mosaic.others[1].1, mosaic.others[2].1];
                assert_eq!(labels, samples.map(|id| id as i64), "{}", place.name);
                for (number, (sample, each)) in samples.iter().zip(&boxes).enumerate() {
                    let (width, height) = Mosaic::new(SIZE).resized(sides(*sample as u32).0, sides(*sample as u32).1);
                    let (left, right) = match number % 2 {
                        0 => (across.saturating_sub(width), across),
                        _ => (across, (across + width).min(2 * SIZE)),
                    };
                    let (top, bottom) = match number / 2 {
                        0 => (down.saturating_sub(height), down),
                        _ => (down, (down + height).min(2 * SIZE)),
                    };
                    assert_eq!(each.map(|edge| edge.round() as u32), [left, top, right, bottom], "{}", place.name);
                }
                for (at, pixel) in (0..).zip(pixels.chunks(3)) {
                    let (x, y) = ((at % (2 * SIZE)) as f32 + 0.5, (at / (2 * SIZE)) as f32 + 0.5);
                    let inside = |[left, top, right, bottom]: &[f32; 4]| {
                        (*left..*right).contains(&x) && (*top..*bottom).contains(&y)
                    };
                    let expected = boxes.iter().position(inside).map_or(114, |image| level(samples[image] as u32));
                    assert_eq!(pixel, [expected; 3], "{}: {x}, {y} of sample {id}", place.name);
                }
            }
        }
    });
}

/// A bright rectangle in each image, and its box: each box on the canvas holds bright pixels alone, and no other pixel is bright. Where an
/// image is cut off, the right part of it has to be shown.
#[test]
fn boxes_lie_on_what_they_show() {
    const BRIGHT: [u8; 3] = [250; 3];
    let mut painted = InMemory::new().with_fields([Field::new("objects").kind(FieldKind::Objects)]);
    for number in 0..SAMPLES {
        let (width, height) = sides(number);
        let (left, top, right, bottom) = (width / 8, height / 2, width / 2, height * 7 / 8);
        let inside = |x, y| (left..right).contains(&x) && (top..bottom).contains(&y);
        let pixels = ImageBuffer::from_fn(width, height, |x, y| if inside(x, y) { Rgb(BRIGHT) } else { Rgb([20; 3]) });
        painted.push_encoded(encoded(DynamicImage::ImageRgb8(pixels), ImageFormat::Png), Label::None).unwrap();
        let each = [left, top, right, bottom].map(|edge| edge as f32);
        painted.push_fields([FieldValue::from(Objects::of_boxes(BoxFormat::Xyxy, vec![each]))]).unwrap();
    }
    let loader =
        DataLoader::builder(painted).mosaic(Mosaic::new(SIZE).center(0.1, 1.9)).output(Layout::Nhwc, DType::U8);
    let loader = loader.batch_size(7).shuffle(true);
    let loader = loader.on_error(OnError::Fail).build(&Backend::Cpu).unwrap();
    let (mut cut, mut bright) = (0, 0);
    for epoch in 0..8 {
        for (id, params, pixels, boxes, _) in images(&loader, epoch) {
            for (at, pixel) in (0..).zip(pixels.chunks(3)) {
                let (x, y) = ((at % (2 * SIZE)) as f32 + 0.5, (at / (2 * SIZE)) as f32 + 0.5);
                let within = |by: f32| {
                    boxes.iter().any(|[left, top, right, bottom]| {
                        (left + by..right - by).contains(&x) && (top + by..bottom - by).contains(&y)
                    })
                };
                if within(2.0) {
                    assert!(pixel[0] > 240, "{x}, {y} of sample {id} is {pixel:?} in a box of {boxes:?}");
                    bright += 1;
                } else if !within(-6.0) {
                    assert!(pixel[0] < 130, "{x}, {y} of sample {id} is {pixel:?}, outside of {boxes:?}");
                }
            }
            let edge = 2.0 * SIZE as f32;
            let is_cut = |[left, top, right, bottom]: &[f32; 4]| {
                *left == 0.0 || *top == 0.0 || *right == edge || *bottom == edge
            };
            cut += boxes.iter().filter(|each| is_cut(each)).count();
            assert!(params.mosaic.is_some());
        }
    }
    assert!(cut > 10 && bright > 1000, "{cut} boxes are cut off, {bright} pixels are bright");
}

fn list() -> Vec<Transform> {
    vec![
        RandomAffine::new(10.0).scale(0.7, 1.4).interpolation(Interpolation::Bilinear).fill([114.0 / 255.0; 3]).into(),
        RandomCrop::new(SIZE).into(),
        RandomHorizontalFlip::new(0.5).into(),
        SanitizeBoundingBoxes::new().into(),
    ]
}

/// A list that reads a part of the canvas has what it has of the whole.
#[test]
fn a_part_of_the_canvas_is_that_of_the_whole() {
    let whole = images(&builder().build(&Backend::Cpu).unwrap(), 0);
    for semantics in [Semantics::Float, Semantics::Uint8] {
        let cropped = builder().transform(RandomCrop::new(31)).semantics(semantics);
        let cropped = images(&cropped.build(&Backend::Cpu).unwrap(), 0);
        for ((id, _, pixels, ..), (own, params, part, ..)) in whole.iter().zip(&cropped) {
            let gpufeed::transforms::Op::Crop { top, left, .. } = params.ops[0].op else { panic!("{params:?}") };
            assert_eq!(id, own);
            let row = |y: u32| 3 * ((top + y) * 2 * SIZE + left) as usize;
            let expected = (0..31).flat_map(|y| &pixels[row(y)..][..93]);
            assert!(part.iter().eq(expected), "sample {id}, {semantics:?}");
        }
    }
}

#[test]
fn mosaics_are_the_same_everywhere_and_replayed() {
    within(240, "all places", || {
        let expected = images(&builder().recipe(list()).build(&Backend::Cpu).unwrap(), 2);
        for place in places() {
            for workers in [1, 3] {
                let loader = place.build(builder().recipe(list()).workers(workers));
                for ((id, params, pixels, boxes, labels), own) in images(&loader, 2).into_iter().zip(&expected) {
                    assert_eq!((&id, &params, &boxes, &labels), (&own.0, &own.1, &own.3, &own.4), "{}", place.name);
                    assert_eq!(loader.replay(id as usize, &params).unwrap(), pixels, "{}: sample {id}", place.name);
                    let off = pixels.iter().zip(&own.2).map(|(one, other)| one.abs_diff(*other)).max();
                    assert!(off <= Some(1), "{}: sample {id} is off by {off:?}", place.name);
                }
            }
        }
        let other = images(&builder().recipe(list()).build(&Backend::Cpu).unwrap(), 3);
        assert!(other.iter().zip(&expected).any(|(one, other)| one.1.mosaic != other.1.mosaic), "epochs draw alike");
    });
}

#[test]
fn recipes_have_mosaics() {
    let recipe = Recipe { mosaic: Some(Mosaic::new(SIZE).center(0.8, 1.2)), ..Recipe::from(list()) };
    assert_eq!(recipe::from_toml(&recipe.to_toml().unwrap()).unwrap(), recipe);
    let loader = builder().recipe(recipe.clone()).build(&Backend::Cpu).unwrap();
    assert_eq!(loader.recipe().mosaic, recipe.mosaic);
    assert!(loader.explain().contains("mosaic: images of four samples, each of up to 48 pixels a side, on 96x96"));
    let refused = |text: &str| recipe::from_toml(text).unwrap_err().to_string();
    let list = "[[transform]]\ntype = 'CenterCrop'\nsize = 8\n";
    assert!(refused(&format!("[mosaic]\nsize = 0\n{list}")).contains("line 1: mosaic: size: 0"));
    assert!(refused(&format!("[mosaic]\nsides = 8\n{list}")).contains("unknown field `sides`"));
    let group = "[[group]]\nname = 'a'\n[[group.transform]]\ntype = 'CenterCrop'\nsize = 8\n";
    assert!(refused(&format!("[mosaic]\nsize = 8\n{group}")).contains("the recipe has groups, and a mosaic"));
}

#[test]
fn a_loader_refuses_what_no_mosaic_can_be() {
    let labelled = || {
        let mut data = InMemory::new();
        data.push_pixels(9, 9, PixelFormat::Rgb8, vec![0; 243], Label::Class(0)).unwrap();
        data
    };
    let with = |data: InMemory| DataLoader::builder(data).mosaic(Mosaic::new(16)).transform(CenterCrop::new(16));
    let captioned = || {
        let mut captioned = InMemory::new().with_fields([Field::new("caption").kind(FieldKind::Text)]);
        captioned.push_pixels(9, 9, PixelFormat::Rgb8, vec![0; 243], Label::None).unwrap();
        captioned.push_fields([FieldValue::from("black")]).unwrap();
        captioned
    };
    let group = || Views::new(1).transform(Resize::new((8, 8)));
    for (builder, says) in [
        (builder().views(2), "views: a mosaic shows four samples"),
        (builder().cache(Cache::Host(1 << 20)), "cache: a mosaic is another one in each epoch"),
        (with(labelled()).batch_transform(CutMix::new(1.0)), "leave one of the two out"),
        (builder().mosaic(Mosaic::new(0)), "size: 0"),
        (with(captioned()), "fields: \"caption\" belongs to one image"),
        (
            DataLoader::builder(data()).mosaic(Mosaic::new(9)).group("a", group()).group("b", group()),
            "mosaic: it is made of",
        ),
    ] {
        let error = builder.build(&Backend::Cpu).unwrap_err().to_string();
        assert!(error.contains(says), "{says}: {error}");
    }
    let error =
        with(labelled()).on_error(OnError::Fail).build(&Backend::Cpu).unwrap().epoch(0).unwrap().find_map(Result::err);
    assert!(error.unwrap().to_string().contains("the sample has a label, but the mosaic shows four samples"));
}

/// A damaged image makes each mosaic fail that has it, by its name; a replacement stands in for these.
#[test]
fn a_damaged_partner_is_named() {
    let mut broken = data();
    broken.push_encoded(b"\x89PNG\r\n\x1a\nnothing".to_vec(), Label::None).unwrap();
    broken.push_fields([FieldValue::from(objects(0))]).unwrap();
    let loader = DataLoader::builder(broken).mosaic(Mosaic::new(SIZE)).batch_size(8).shuffle(true).workers(2);
    let loader = loader.build(&Backend::Cpu).unwrap();
    let mut named = 0;
    for batch in loader.epochs(0..4).unwrap() {
        let batch = batch.unwrap();
        assert_eq!(batch.len(), 8);
        for failure in batch.failures() {
            let error = failure.error.to_string();
            assert!(failure.id == 7 || error.contains("sample 7"), "{error}");
            named += usize::from(failure.id != 7);
        }
    }
    assert!(named > 3, "{named} mosaics failed by another sample");
    // Parameters from outside are checked.
    let good = builder().build(&Backend::Cpu).unwrap();
    let (id, params, ..) = images(&good, 0).remove(0);
    let replayed = |change: fn(&mut gpufeed::transforms::MosaicParams)| {
        let mut params = params.clone();
        change(params.mosaic.as_mut().unwrap());
        good.replay(id as usize, &params).unwrap_err().to_string()
    };
    assert!(replayed(|mosaic| mosaic.others[1] = (99, 99)).contains("which this data set does not have"));
    assert!(replayed(|mosaic| mosaic.center = [1000, 0]).contains("outside of its 96x96 pixels"));
    let plain = DataLoader::builder(data()).transform(CenterCrop::new(8)).build(&Backend::Cpu).unwrap();
    assert!(plain.replay(0, &params).unwrap_err().to_string().contains("this loader makes none"));
}
