//! Masks: groups whose images are the numbers of classes. Each number of a mask lies on the pixel that shows it, whatever the list,
//! the executor and the arithmetic, and what lies outside of the image has the mask's own fill.

use super::sources::{Stored, rig};
use gpufeed::dataset::{Field, FieldKind, FieldValue, MaskFolder};
use gpufeed::decode::ReadMode;
use gpufeed::transforms::{
    ColorJitter, ElasticTransform, Interpolation, Normalize, Pad, RandomAffine, RandomCrop, RandomHorizontalFlip,
    RandomPerspective, RandomResize, RandomRotation, RandomZoomOut, Resize, Transform,
};
use gpufeed::{
    Arrangement, Backend, DType, DataLoader, DataLoaderBuilder, Dataset, Label, Layout, OnError, Sample, SampleData,
    Semantics, Views, recipe,
};
use gpufeed_testing::pipeline::{encoded, places, within};
use image::{DynamicImage, ImageBuffer, ImageFormat, Luma, Rgb};

const SAMPLES: usize = 6;
const NEAREST: Interpolation = Interpolation::Nearest;

/// The number of a class outside of images, as many segmenters have it.
const IGNORED: u8 = 255;

/// The class of a pixel, 1 to 15.
fn class(number: usize, x: u32, y: u32) -> u8 {
    ((number as u32 * 3 + x / 3 + y / 2 * 5) % 15 + 1) as u8
}

fn sides(number: usize) -> (u32, u32) {
    (21 + 7 * number as u32, 40 - 4 * number as u32)
}

/// An image whose colours are the classes of its pixels.
fn image(number: usize) -> Vec<u8> {
    let (width, height) = sides(number);
    let pixels = ImageBuffer::from_fn(width, height, |x, y| Rgb([class(number, x, y); 3]));
    encoded(DynamicImage::ImageRgb8(pixels), ImageFormat::Png)
}

/// The mask of an image: gray, or numbers of a palette in 4 bits.
fn mask(number: usize) -> Vec<u8> {
    let (width, height) = sides(number);
    if number.is_multiple_of(2) {
        let pixels = ImageBuffer::from_fn(width, height, |x, y| Luma([class(number, x, y)]));
        return encoded(DynamicImage::ImageLuma8(pixels), ImageFormat::Png);
    }
    let row = |y| {
        let at = move |x| if x < width { class(number, x, y) } else { 0 };
        (0..width).step_by(2).map(move |x| at(x) << 4 | at(x + 1))
    };
    let rows: Vec<u8> = (0..height).flat_map(row).collect();
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, width, height);
    encoder.set_color(png::ColorType::Indexed);
    encoder.set_depth(png::BitDepth::Four);
    encoder.set_palette((0..48).map(|value| 255 - value * 5).collect::<Vec<u8>>());
    encoder.write_header().and_then(|mut writer| writer.write_image_data(&rows)).unwrap();
    file
}

/// Images with a field `mask`.
struct Classes {
    fields: [Field; 1],
    samples: Vec<[Vec<u8>; 2]>,
}

impl Classes {
    fn new() -> Classes {
        let samples = (0..SAMPLES).map(|number| [image(number), mask(number)]).collect();
        Classes { fields: [Field::new("mask").kind(FieldKind::Image)], samples }
    }
}

impl Dataset for Classes {
    fn len(&self) -> usize {
        self.samples.len()
    }

    fn read<'a>(&'a self, index: usize, _: &'a mut Vec<u8>) -> gpufeed::Result<Sample<'a>> {
        let [image, mask] = &self.samples[index];
        let mask = FieldValue::Image(SampleData::Encoded(mask));
        Ok(Sample::new(SampleData::Encoded(image), Label::None).with_fields(vec![mask]))
    }

    fn name(&self, index: usize) -> String {
        format!("sample {index}")
    }

    fn inner(&self) -> Option<&dyn Dataset> {
        None
    }

    fn fields(&self) -> &[Field] {
        &self.fields
    }
}

/// Everything that moves pixels, without computing between them.
fn lists() -> [Vec<Transform>; 4] {
    let resize = |side: u32| Resize::new((side, side)).interpolation(NEAREST);
    [
        vec![
            RandomResize::new(16, 60).interpolation(NEAREST).into(),
            RandomHorizontalFlip::new(0.5).into(),
            RandomCrop::new(32).pad_if_needed(true).into(),
        ],
        vec![
            RandomRotation::new(40.0).expand(true).into(),
            RandomPerspective::new(0.5).p(0.8).interpolation(NEAREST).into(),
            resize(24).into(),
        ],
        vec![
            RandomZoomOut::new(0.7).side_range(1.5, 2.0).into(),
            RandomAffine::new(30.0).translate(0.3, 0.3).into(),
            resize(31).into(),
        ],
        vec![
            ElasticTransform::new(40.0, 4.0).interpolation(NEAREST).into(),
            resize(20).into(),
            Pad::new([3, 5]).into(),
        ],
    ]
}

fn mask_views() -> Views {
    Views::new(1).source("mask").follows("image").read_mode(ReadMode::Mask).fill(f32::from(IGNORED))
}

fn builder(list: Vec<Transform>, semantics: Semantics) -> DataLoaderBuilder {
    let image = Views::new(1).transforms(list).output(Layout::Nchw, DType::U8).semantics(semantics);
    DataLoader::builder(Classes::new())
        .group("image", image)
        .group("mask", mask_views().semantics(semantics))
        .batch_size(3)
        .shuffle(true)
        .seed(4)
        .workers(2)
        .on_error(OnError::Fail)
}

/// The class that a mask has where the image has this number.
fn expected(shown: u8) -> u8 {
    if shown == 0 { IGNORED } else { shown }
}

#[test]
fn each_number_lies_on_the_pixel_that_shows_it() {
    within(240, "all places", || {
        for place in places() {
            // There are no shaders of the last list.
            let lists = lists().into_iter().take(if place.is_shaders() { 3 } else { 4 });
            for (number, list) in lists.enumerate() {
                for semantics in [Semantics::Float, Semantics::Uint8] {
                    let loader = place.build(builder(list.clone(), semantics));
                    let mut outside = 0;
                    for batch in loader.epochs(0..3).unwrap() {
                        let batch = batch.unwrap();
                        let masks = batch.group("mask").unwrap();
                        let [count, channels, height, width] = masks.shape();
                        assert_eq!((count, channels, masks.dtype()), (3, 1, DType::U8));
                        let area = height * width;
                        let (images, masks) = (batch.to_host().unwrap(), masks.to_host().unwrap());
                        let shown = images.chunks(3 * area).flat_map(|image| &image[..area]);
                        let wanted: Vec<u8> = shown.map(|shown| expected(*shown)).collect();
                        assert!(masks == wanted, "{}: list {number}, {semantics:?}", place.name);
                        outside += masks.iter().filter(|class| **class == IGNORED).count();
                    }
                    assert!(outside > 50, "list {number} leaves {outside} pixels outside");
                }
            }
        }
    });
}

#[test]
fn masks_of_any_size_lie_in_listed_batches() {
    within(120, "all places", || {
        for place in places() {
            let list = vec![RandomResize::new(16, 40).interpolation(NEAREST).into(), RandomRotation::new(20.0).into()];
            let loader = builder(list, Semantics::Float).arrangement(Arrangement::listed().largest(160, 160));
            let loader = place.build(loader);
            for batch in loader.epoch(1).unwrap() {
                let batch = batch.unwrap();
                let [images, masks] = ["image", "mask"].map(|name| batch.group(name).unwrap());
                let (of_images, of_masks) = (images.to_host().unwrap(), masks.to_host().unwrap());
                let (mut image_at, mut mask_at) = (0, 0);
                for number in 0..3 {
                    let (width, height) = masks.image_size(number).unwrap();
                    assert_eq!(images.image_size(number), Some((width, height)));
                    let area = (width * height) as usize;
                    let wanted = of_images[image_at..][..area].iter().map(|shown| expected(*shown));
                    assert!(of_masks[mask_at..][..area].iter().copied().eq(wanted), "{}: {number}", place.name);
                    (image_at, mask_at) = (image_at + 3 * area, mask_at + area);
                }
            }
        }
    });
}

#[test]
fn folders_of_masks_are_loaded() {
    let root = tempfile::tempdir().unwrap();
    for folder in ["images", "masks"] {
        std::fs::create_dir(root.path().join(folder)).unwrap();
    }
    for number in 0..SAMPLES {
        std::fs::write(root.path().join(format!("images/{number}.png")), image(number)).unwrap();
        std::fs::write(root.path().join(format!("masks/{number}.png")), mask(number)).unwrap();
    }
    let opened = gpufeed::dataset::open(root.path()).unwrap().train;
    let direct = MaskFolder::open(root.path()).unwrap();
    assert_eq!((opened.len(), direct.len()), (SAMPLES, SAMPLES));
    let list = Resize::new((9, 9)).interpolation(NEAREST);
    let loader = DataLoader::builder(opened)
        .group("image", Views::new(1).transform(list).transform(Normalize::IMAGENET))
        .group("mask", mask_views())
        .batch_size(SAMPLES)
        .on_error(OnError::Fail)
        .build(&Backend::Cpu)
        .unwrap();
    let batch = loader.epoch(0).unwrap().next().unwrap().unwrap();
    let masks = batch.group("mask").unwrap().to_host().unwrap();
    for (sample, mask) in batch.ids().iter().zip(masks.chunks(81)) {
        let (width, height) = sides(*sample as usize);
        let at = |pixel: u32| class(*sample as usize, pixel % 9 * width / 9, pixel / 9 * height / 9);
        assert!(mask.iter().copied().eq((0..81).map(at)), "sample {sample}");
    }
}

/// The built-in recipes give batches of images and masks, also where a recipe is written and read again.
#[test]
fn segmentation_recipes_have_masks() {
    for name in ["segmentation-train", "segmentation-eval"] {
        let built_in = recipe::named(name).unwrap();
        let loader = DataLoader::builder(Classes::new()).recipe(built_in.clone()).batch_size(2).on_error(OnError::Fail);
        let loader = loader.workers(1).build(&Backend::Cpu).unwrap();
        assert_eq!(recipe::from_toml(&loader.recipe().to_toml().unwrap()).unwrap(), *loader.recipe());
        let again = DataLoader::builder(Classes::new()).recipe(loader.recipe()).build(&Backend::Cpu).unwrap();
        assert_eq!(again.recipe(), loader.recipe());
        let batch = loader.epoch(0).unwrap().next().unwrap().unwrap();
        let [images, masks] = ["image", "mask"].map(|name| batch.group(name).unwrap());
        assert_eq!((images.dtype(), masks.dtype()), (DType::F32, DType::U8), "{name}");
        assert_eq!(
            (0..2).map(|image| masks.image_size(image)).collect::<Vec<_>>(),
            [0, 1].map(|image| images.image_size(image))
        );
        let classes = masks.to_host().unwrap();
        assert!(classes.iter().all(|class| (1..16).contains(class) || *class == IGNORED), "{name}");
    }
}

#[test]
fn a_loader_refuses_what_masks_cannot_have() {
    let list = || vec![Transform::from(Resize::new((8, 8)))];
    let loader = |views: Views| {
        let image = Views::new(1).transforms(list());
        DataLoader::builder(Classes::new()).group("image", image).group("mask", views).build(&Backend::Cpu)
    };
    let mask = || Views::new(1).source("mask").read_mode(ReadMode::Mask);
    for (views, says) in [
        (mask().follows("image").output(Layout::Nchw, DType::F32), "output: group \"mask\": F32 divides by 255"),
        (
            mask().follows("image").interpolation(Interpolation::Bilinear),
            "Resize computes numbers between those of pixels",
        ),
        (mask().transforms(list()), "interpolation: group \"mask\": Resize computes numbers between"),
        (mask().transform(RandomRotation::new(5.0)), "RandomRotation computes numbers between"),
        (mask().transform(ColorJitter::new(0.1, 0.1, 0.1, 0.1)), "ColorJitter changes colours"),
        (
            mask().follows("image").transform(Normalize::new([0.5; 3], [0.5; 3])).output(Layout::Nchw, DType::F32),
            "Normalize changes colours",
        ),
        (mask().fill(255.0), "fill: group \"mask\": it follows none"),
        (mask().follows("image").fill(256.0), "256; a mask has whole numbers from 0 to 255"),
        (mask().follows("image").fill(0.5), "0.5; a mask has whole numbers"),
        (
            mask().follows("image").fill(255.0).arrangement(Arrangement::padded().largest(9, 9)),
            "255, but padded batches are filled up with 0",
        ),
    ] {
        let error = loader(views).unwrap_err().to_string();
        assert!(error.contains(says), "{says}: {error}");
    }
}

/// The error of the only sample, whose mask is this file.
fn error_of(data: impl Dataset + 'static, source: &'static str) -> String {
    let list = Resize::new((8, 8));
    let mask = Views::new(1).source(source).follows("image").read_mode(ReadMode::Mask);
    let loader = DataLoader::builder(data).group("image", Views::new(1).transform(list)).group("mask", mask);
    let loader = loader.on_error(OnError::Fail).build(&Backend::Cpu).unwrap();
    let error = loader.epoch(0).unwrap().find_map(Result::err).unwrap();
    error.to_string()
}

#[test]
fn a_sample_whose_mask_is_none_fails_by_name() {
    let mut colored = Classes::new();
    colored.samples.truncate(1);
    colored.samples[0][1] = colored.samples[0][0].clone();
    let error = error_of(colored, "mask");
    assert!(error.contains("\"mask\": a mask has a palette or gray of up to 8 bits, but this is Rgb"), "{error}");
    let mut smaller = Classes::new();
    smaller.samples.truncate(1);
    smaller.samples[0][1] = mask(3);
    let error = error_of(smaller, "mask");
    assert!(error.contains("21x40") && error.contains("42x28"), "{error}");
    let mut deep = rig();
    deep.samples.truncate(1);
    let error = error_of(deep, "depth");
    assert!(error.contains("but this is Grayscale of 16 bits"), "{error}");
    let mut pixels = rig();
    pixels.samples.truncate(1);
    pixels.samples[0].1[1] = Stored::Text("no image");
    assert!(error_of(pixels, "depth").contains("\"depth\" of the sample is text"));
}
