//! Numbers for each of three channels on images of one channel: three different ones are refused when the loader is built, by
//! the transform's name, as nobody can know which of them is meant; and two `Normalize` in one list.

use gpufeed::transforms::{
    AugMix, AutoAugment, AutoAugmentPolicy, CenterCrop, ElasticTransform, Grayscale, Normalize, Pad, PaddingMode,
    RandAugment, RandomAffine, RandomApply, RandomChoice, RandomCrop, RandomErasing, RandomOrder, RandomPerspective,
    RandomRotation, RandomZoomOut, Transform, TrivialAugmentWide,
};
use gpufeed::{Backend, DataLoader, InMemory, Label, Output, PixelFormat, Plan};

const COLOR: [f32; 3] = [0.1, 0.2, 0.3];

fn data(format: PixelFormat, bytes: usize) -> InMemory {
    let mut data = InMemory::new();
    data.push_pixels(8, 8, format, vec![7; 64 * bytes], Label::Class(0)).unwrap();
    data
}

/// The list in front of a crop of one size, as a loader of gray images takes it and one of colours after `Grayscale`.
fn built(transform: &Transform) -> [Result<DataLoader, String>; 2] {
    let crop = || Transform::from(CenterCrop::new(8));
    let loader = |data, list: Vec<Transform>| {
        let loader = DataLoader::builder(data).recipe(list).build(&Backend::Cpu);
        loader.map_err(|error| error.to_string())
    };
    [
        loader(data(PixelFormat::R8, 1), vec![transform.clone(), crop()]),
        loader(data(PixelFormat::Rgb8, 3), vec![Grayscale::new(1).into(), transform.clone(), crop()]),
    ]
}

fn all(color: [f32; 3]) -> Vec<(&'static str, Transform)> {
    vec![
        ("mean", Normalize::new(color, [0.5; 3]).into()),
        ("std", Normalize::new([0.5; 3], color).into()),
        ("fill", Pad::new(2).fill(color).into()),
        ("fill", RandomCrop::new(8).padding(2).fill(color).into()),
        ("fill", RandomZoomOut::default().fill(color).into()),
        ("value", RandomErasing::new(0.5).value(color).into()),
        ("fill", AugMix::default().fill(color).into()),
        ("fill", AutoAugment::new(AutoAugmentPolicy::ImageNet).fill(color).into()),
        ("fill", RandAugment::default().fill(color).into()),
        ("fill", TrivialAugmentWide::default().fill(color).into()),
        ("fill", ElasticTransform::default().fill(color).into()),
        ("fill", RandomAffine::new(10.0).fill(color).into()),
        ("fill", RandomPerspective::default().fill(color).into()),
        ("fill", RandomRotation::new(10.0).fill(color).into()),
    ]
}

#[test]
fn three_numbers_on_one_channel_are_refused_by_name() {
    for (argument, transform) in all(COLOR) {
        for (number, built) in (1..).zip(built(&transform)) {
            let error = built.map(|_| transform.name()).unwrap_err();
            let begins = format!(
                "transforms: {} (transform {number}) has the {argument} [0.1, 0.2, 0.3], but the images have one channel",
                transform.name()
            );
            assert!(error.starts_with(&begins), "{error}");
        }
    }
    // Inside of other transforms, at any depth.
    let inner = Transform::from(RandomRotation::new(10.0).fill(COLOR));
    for nested in [
        Transform::from(RandomApply::new(0.5, [inner.clone()])),
        RandomChoice::new([inner.clone()]).into(),
        RandomOrder::new([RandomApply::new(0.5, [inner])]).into(),
    ] {
        let error = built(&nested)[0].as_ref().map(|_| nested.name()).unwrap_err().clone();
        assert!(error.contains("RandomRotation (transform 1.1"), "{error}");
    }
}

#[test]
fn equal_numbers_and_unused_ones_work() {
    for (_, transform) in all([0.25; 3]) {
        assert!(built(&transform).iter().all(Result::is_ok), "{}", transform.name());
    }
    let unused = [
        Transform::from(Pad::new(2).fill(COLOR).padding_mode(PaddingMode::Edge)),
        RandomCrop::new(8).fill(COLOR).into(),
    ];
    for transform in unused {
        assert!(built(&transform).iter().all(Result::is_ok), "{}", transform.name());
    }
    // Before the images have one channel, and after they have three again.
    let list = [
        Pad::new(2).fill(COLOR).into(),
        Grayscale::new(1).into(),
        Grayscale::new(3).into(),
        Normalize::IMAGENET.into(),
    ];
    assert!(Plan::compile(&list, &Output::default()).is_ok());
}

#[test]
fn two_normalize_are_shown() {
    let explained = |list: Vec<Transform>| {
        let loader = DataLoader::builder(data(PixelFormat::Rgb8, 3)).recipe(list).build(&Backend::Cpu).unwrap();
        loader.explain()
    };
    let normalize = || Transform::from(Normalize::IMAGENET);
    let crop = || Transform::from(CenterCrop::new(8));
    let twice = explained(vec![normalize(), crop(), RandomApply::new(0.5, [normalize()]).into()]);
    assert!(twice.contains("warning: Normalize at transform 1 and at transform 3.1: images are"), "{twice}");
    for once in [vec![crop(), normalize()], vec![crop(), RandomChoice::new([normalize(), normalize()]).into()]] {
        assert!(!explained(once).contains("warning"));
    }
}
