//! Batches of images whose sizes differ: each image is what it is alone, its padding is 0, on every backend; and what is refused.

use gpufeed::transforms::{
    CenterCrop, ColorJitter, GaussianBlur, MixUp, Normalize, RandomHorizontalFlip, RandomRotation, RandomShortestSize,
    RandomZoomOut, Resize, ScaleJitter, Transform,
};
use gpufeed::{
    Arrangement, Backend, Batch, Cache, DType, DataLoader, DataLoaderBuilder, Images, InMemory, Label, Layout, OnError,
    Output, PixelFormat, Pixels, Plan, Processor, Semantics, Views,
};
use gpufeed_testing::pipeline::{Place, picture, places, within};
use image::RgbImage;

const SAMPLES: u32 = 13;

fn pictures() -> Vec<RgbImage> {
    (0..SAMPLES).map(|number| picture(number, 20 + number * 11 % 47, 22 + number * 17 % 41)).collect()
}

fn data(pictures: &[RgbImage]) -> InMemory {
    let mut data = InMemory::new();
    for picture in pictures {
        let pixels = picture.as_raw().clone();
        data.push_pixels(picture.width(), picture.height(), PixelFormat::Rgb8, pixels, Label::None).unwrap();
    }
    data
}

/// DETR's sizes, smaller.
fn detection() -> Vec<Transform> {
    vec![
        RandomHorizontalFlip::new(0.5).into(),
        RandomShortestSize::new([18, 23, 31]).max_size(44).into(),
        Normalize::IMAGENET.into(),
    ]
}

/// A statistic of the whole image, and an operator that begins a stage.
fn colors() -> Vec<Transform> {
    vec![
        Resize::new(24).max_size(40).into(),
        ColorJitter::new(0.4, 0.4, 0.4, 0.1).into(),
        GaussianBlur::new(5).into(),
        RandomHorizontalFlip::new(0.5).into(),
    ]
}

/// One of the image, whose pixels are not resampled: the executors have shorter ways for it.
fn unscaled() -> Vec<Transform> {
    vec![RandomHorizontalFlip::new(0.5).into()]
}

struct Case {
    list: Vec<Transform>,
    semantics: Semantics,
    output: Output,
    arrangement: Arrangement,
}

impl Case {
    fn builder(&self, pictures: &[RgbImage]) -> DataLoaderBuilder {
        let Output { layout, dtype } = self.output;
        DataLoader::builder(data(pictures))
            .recipe(self.list.clone())
            .semantics(self.semantics)
            .output(layout, dtype)
            .arrangement(self.arrangement)
            .batch_size(4)
            .shuffle(true)
            .workers(3)
    }
}

fn cases() -> Vec<Case> {
    let all = [
        (detection(), Semantics::Float, Layout::Nchw, DType::F32, Arrangement::padded()),
        (detection(), Semantics::Uint8, Layout::Nchw, DType::F32, Arrangement::padded().multiple_of(8)),
        (detection(), Semantics::Float, Layout::Nhwc, DType::F16, Arrangement::padded().multiple_of(16)),
        (detection(), Semantics::Float, Layout::Nchw, DType::BF16, Arrangement::listed()),
        (colors(), Semantics::Uint8, Layout::Nchw, DType::U8, Arrangement::padded()),
        (colors(), Semantics::Uint8, Layout::Nhwc, DType::U8, Arrangement::padded().multiple_of(32)),
        (colors(), Semantics::Float, Layout::Nhwc, DType::F32, Arrangement::padded()),
        (colors(), Semantics::Float, Layout::Nchw, DType::U8, Arrangement::listed()),
        (unscaled(), Semantics::Float, Layout::Nchw, DType::F32, Arrangement::padded().largest(63, 67)),
        (unscaled(), Semantics::Uint8, Layout::Nhwc, DType::U8, Arrangement::padded().largest(63, 67)),
        (unscaled(), Semantics::Uint8, Layout::Nchw, DType::U8, Arrangement::listed().largest(63, 67)),
    ];
    let case = |(list, semantics, layout, dtype, arrangement)| Case {
        list,
        semantics,
        output: Output { layout, dtype },
        arrangement,
    };
    all.into_iter().map(case).collect()
}

/// An image of a batch without padding, by its place, and the number of bytes of padding that are not 0.
fn image(batch: &Batch, bytes: &[u8], number: usize) -> (Vec<u8>, usize) {
    let (width, height) = batch.image_size(number).unwrap();
    let (width, height, element) = (width as usize, height as usize, batch.dtype().bytes());
    if matches!(batch.arrangement(), Arrangement::Listed { .. }) {
        let before = (0..number).map(|other| batch.image_size(other).unwrap()).map(|(w, h)| (w * h) as usize);
        let begin = 3 * element * before.sum::<usize>();
        return (bytes[begin..begin + 3 * element * width * height].to_vec(), 0);
    }
    let ([_, planes, rows, line], pixel) = match batch.layout() {
        Layout::Nchw => (batch.shape(), 1),
        Layout::Nhwc => (batch.shape().map(|_| 0), 3),
    };
    let [planes, rows, line] = if pixel == 3 { [1, batch.shape()[1], batch.shape()[2]] } else { [planes, rows, line] };
    let (pixel, mut own, mut wrong) = (pixel * element, Vec::new(), 0);
    for row in 0..planes * rows {
        let begin = (number * planes * rows + row) * line * pixel;
        let (inside, outside) = bytes[begin..begin + line * pixel].split_at(width * pixel);
        let is_inside = row % rows < height;
        if is_inside {
            own.extend_from_slice(inside);
        }
        let padding = outside.iter().chain(if is_inside { &[] } else { inside });
        wrong += padding.filter(|byte| **byte != 0).count();
    }
    (own, wrong)
}

/// The batch's memory, read by the strides.
fn by_strides(batch: &Batch, memory: &[u8]) -> Vec<u8> {
    let ([n, a, b, c], strides, element) = (batch.shape(), batch.strides(), batch.dtype().bytes());
    let mut bytes = Vec::new();
    for index in 0..n * a * b * c {
        let indices = [index / (a * b * c), index / (b * c) % a, index / c % b, index % c];
        let at = indices.iter().zip(strides).map(|(index, stride)| index * stride).sum::<usize>() * element;
        bytes.extend_from_slice(&memory[at..at + element]);
    }
    bytes
}

fn check(place: &Place, case: &Case, what: &str) {
    let pictures = pictures();
    let loader = place.build(case.builder(&pictures));
    let plan = Plan::compile_as(case.semantics, 3, &case.list, &case.output).unwrap();
    let backend = if place.is_shaders() { &place.backend } else { &Backend::Cpu };
    let processor = Processor::new(&plan, backend).unwrap();
    let mut shapes = Vec::new();
    for epoch in 0..3 {
        for batch in loader.epoch(epoch).unwrap() {
            let batch = batch.unwrap();
            let bytes = batch.to_host().unwrap();
            if let (Images::Host(memory), Arrangement::Padded { .. }) = (batch.images(), batch.arrangement()) {
                assert!(by_strides(&batch, memory) == bytes, "{what}: strides");
            }
            let sizes: Vec<_> = (0..batch.len()).map(|number| batch.image_size(number).unwrap()).collect();
            let most = [sizes.iter().map(|size| size.1).max(), sizes.iter().map(|size| size.0).max()];
            if let Arrangement::Padded { multiple_of, .. } = case.arrangement {
                let [height, width] = most.map(|side| side.unwrap().next_multiple_of(multiple_of) as usize);
                let expected = match case.output.layout {
                    Layout::Nchw => [sizes.len(), 3, height, width],
                    Layout::Nhwc => [sizes.len(), height, width, 3],
                };
                assert_eq!(batch.shape(), expected, "{what}");
            }
            shapes.push(batch.shape());
            for (number, (id, params)) in batch.ids().iter().zip(batch.params()).enumerate() {
                let picture = &pictures[*id as usize];
                let (width, height) = picture.dimensions();
                let pixels = Pixels::new(width, height, PixelFormat::Rgb8, picture.as_raw()).unwrap();
                let expected = processor.run(&[(pixels, params)]).unwrap();
                let (own, wrong) = image(&batch, &bytes, number);
                assert_eq!(wrong, 0, "{what}, epoch {epoch}, image {number}: padding");
                assert!(own == expected, "{what}, epoch {epoch}, image {number} of {:?}", sizes[number]);
                if number == 0 {
                    let again = loader.replay(*id as usize, params).unwrap();
                    assert!(again == expected, "{what}: replay");
                }
            }
        }
    }
    shapes.sort_unstable();
    shapes.dedup();
    let listed = matches!(case.arrangement, Arrangement::Listed { .. });
    assert!(listed || shapes.len() > 2, "{what}: {shapes:?}");
}

#[test]
fn every_image_is_what_it_is_alone() {
    within(400, "every image", || {
        for (number, case) in cases().iter().enumerate() {
            for place in places() {
                check(place, case, &format!("{}, case {number}", place.name));
            }
        }
    });
}

#[test]
fn caches_and_workers_change_nothing() {
    within(240, "caches", || {
        let pictures = pictures();
        let case = &cases()[0];
        let batches = |loader: &DataLoader| -> Vec<_> {
            let epochs = loader.epochs(0..3).unwrap().map(Result::unwrap);
            epochs.map(|batch| (batch.shape(), batch.ids().to_vec(), batch.to_host().unwrap())).collect()
        };
        for place in places() {
            let expected = batches(&place.build(case.builder(&pictures).workers(1)));
            for cache in [Cache::Host(1 << 20), Cache::Device(1 << 20)] {
                let found = batches(&place.build(case.builder(&pictures).cache(cache)));
                assert!(found == expected, "{}, {cache:?}", place.name);
            }
        }
    });
}

#[test]
fn groups_have_arrangements_of_their_own() {
    within(240, "groups", || {
        for place in places() {
            let pictures = pictures();
            let builder = DataLoader::builder(data(&pictures))
                .arrangement(Arrangement::padded())
                .group("views", Views::new(2).transforms(detection()))
                .group("listed", Views::new(1).transforms(colors()).arrangement(Arrangement::listed()))
                .group("square", Views::new(1).transform(CenterCrop::new(8)).arrangement(Arrangement::Uniform));
            let loader = place.build(builder.batch_size(5).workers(2));
            for batch in loader.epoch(0).unwrap() {
                let batch = batch.unwrap();
                let [views, listed, square] = &batch.groups().collect::<Vec<_>>()[..] else { panic!("three groups") };
                assert_eq!(views.shape()[..2], [2 * batch.samples(), 3]);
                assert_eq!((&listed.shape()[2..], &square.shape()[2..]), (&[0, 0][..], &[8, 8][..]));
                assert_eq!(square.strides(), [192, 64, 8, 1]);
                let elements = |number| {
                    let (width, height) = listed.image_size(number).unwrap();
                    3 * width as usize * height as usize
                };
                assert_eq!(listed.to_host().unwrap().len(), 4 * (0..listed.len()).map(elements).sum::<usize>());
                assert_eq!((listed.offset(1), listed.offset(listed.len())), (Some(3 * 40 * 40), None));
                let again = loader.replay_in("views", batch.ids()[0] as usize, &views.params()[1]).unwrap();
                let (width, height) = views.image_size(1).unwrap();
                assert_eq!(again.len(), 3 * 4 * (width * height) as usize);
            }
        }
    });
}

/// Images of many sizes find room in the places that the bound of a list makes, of which the largest fills the half.
#[test]
fn no_image_is_larger_than_the_bound() {
    let bounded: [Vec<Transform>; 5] = [
        detection(),
        colors(),
        vec![ScaleJitter::new((30, 40)).into()],
        vec![Resize::new(20).max_size(30).into(), RandomZoomOut::new(0.5).into()],
        vec![CenterCrop::new((8, 9)).into(), RandomRotation::new(180.0).expand(true).into()],
    ];
    let pictures: Vec<_> = (0..400).map(|number| picture(number, 1 + number * 37 % 90, 1 + number * 53 % 80)).collect();
    for list in bounded {
        let (width, height) = Plan::compile(&list, &Output::default()).unwrap().largest_output().unwrap();
        let builder = DataLoader::builder(data(&pictures)).recipe(list).arrangement(Arrangement::listed());
        let loader = builder.batch_size(8).on_error(OnError::Fail).build(&Backend::Cpu).unwrap();
        let mut most = (0, 0);
        for batch in loader.epochs(0..3).unwrap() {
            let batch = batch.unwrap();
            for size in (0..batch.len()).map(|image| batch.image_size(image).unwrap()) {
                most = (most.0.max(size.0), most.1.max(size.1));
            }
        }
        assert!(most.0 <= width && most.1 <= height, "{most:?} of {:?}", (width, height));
        assert!(most.0 * 2 > width && most.1 * 2 > height, "{most:?} of {:?}", (width, height));
    }
    let unbounded = [vec![Resize::new(20).into()], vec![RandomZoomOut::new(1.0).into()], unscaled()];
    assert!(unbounded.iter().all(|list| Plan::compile(list, &Output::default()).unwrap().largest_output().is_none()));
}

#[test]
fn what_has_no_bound_or_no_sense_is_refused() {
    let build = |list: Vec<Transform>, arrangement: Arrangement| {
        let builder = DataLoader::builder(data(&pictures())).recipe(list).arrangement(arrangement).batch_size(2);
        builder.build(&Backend::Cpu).unwrap_err().to_string()
    };
    let error = build(vec![Resize::new(20).into()], Arrangement::padded());
    assert_eq!(
        error,
        "arrangement: the transforms do not bound the size of their images, whose memory is reserved before the first one is \
         read; give Arrangement the height and width of the largest image, or the transforms a bound, such as a max_size"
    );
    assert_eq!(
        build(detection(), Arrangement::padded().multiple_of(0)),
        "arrangement: a multiple of 0; at least 1 works"
    );
    let error = build(detection(), Arrangement::listed().largest(0, 3));
    assert_eq!(error, "arrangement: a largest image of 3x0 pixels; at least 1x1 works");
    let error = build(detection(), Arrangement::Uniform);
    assert!(error.ends_with("; Arrangement::padded() and Arrangement::listed() take images of any size"), "{error}");
    let mixing = DataLoader::builder(data(&pictures())).recipe(detection()).arrangement(Arrangement::padded());
    let error = mixing.batch_transform(MixUp::new(1.0)).build(&Backend::Cpu).unwrap_err().to_string();
    assert!(error.starts_with("arrangement: MixUp mixes images of one size"), "{error}");
}

/// An image that does not fit is a sample that fails.
#[test]
fn an_image_beyond_the_largest_is_replaced() {
    for place in places() {
        let builder =
            DataLoader::builder(data(&pictures())).arrangement(Arrangement::padded().largest(63, 60)).batch_size(4);
        let loader = place.build(builder.clone().on_error(OnError::Skip { max_share: 1.0 }).workers(2));
        let failures: Vec<_> = loader
            .epoch(0)
            .unwrap()
            .flat_map(|batch| {
                batch
                    .unwrap()
                    .failures()
                    .iter()
                    .map(|failure| (failure.id, failure.error.to_string()))
                    .collect::<Vec<_>>()
            })
            .collect();
        let wide: Vec<_> = pictures().iter().zip(0u64..).filter(|(p, _)| p.width() > 60).map(|(_, id)| id).collect();
        assert!(!wide.is_empty() && wide.iter().all(|id| failures.iter().any(|(failed, _)| failed == id)));
        assert!(failures.iter().all(|(id, _)| wide.contains(id)), "{failures:?}");
        let (_, reason) = &failures[0];
        assert!(reason.contains("pixels after the transforms, but there is room for 60x63"), "{reason}");
        let error = place.build(builder.on_error(OnError::Fail)).epoch(0).unwrap().find_map(Result::err).unwrap();
        assert!(error.to_string().contains("there is room for 60x63"), "{error}");
    }
}
