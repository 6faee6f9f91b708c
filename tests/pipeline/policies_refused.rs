//! Wrong arguments of warps, neighbourhoods and policies are errors of `build()` that name the key and what works, and
//! in a file the line.

use gpufeed::transforms::{
    FiveCrop, GaussianBlur, Interpolation, MixUp, RandAugment, RandomAffine, RandomApply, RandomChoice, RandomInvert,
    RandomOrder, RandomPerspective, RandomResize, RandomRotation, RandomZoomOut, Resize, ScaleJitter, Transform,
    TrivialAugmentWide,
};
use gpufeed::{Backend, DType, DataLoader, DataLoaderBuilder, ErrorKind, Layout, Recipe, Semantics, recipe};
use gpufeed_testing::pipeline::{seen, small_files};

fn builder(list: Vec<Transform>, semantics: Semantics) -> DataLoaderBuilder {
    DataLoader::builder(small_files(4)).recipe(list).semantics(semantics)
}

/// Each line of a transform with the line of the file that is wrong, the key, and words of what works.
const LINES: [(&str, u32, &str, &str); 33] = [
    ("type = \"GaussianBlur\"\nkernel_size = 0", 3, "kernel_size", "odd numbers of pixels work"),
    ("type = \"GaussianBlur\"\nkernel_size = 6", 3, "kernel_size", "odd numbers of pixels work"),
    ("type = \"GaussianBlur\"\nkernel_size = [3, 4]", 3, "kernel_size", "odd numbers of pixels work"),
    ("type = \"GaussianBlur\"\nkernel_size = 5\nsigma = 0", 4, "sigma", "0 < least <= greatest works"),
    ("type = \"GaussianBlur\"\nkernel_size = 5\nsigma = [-1, 2]", 4, "sigma", "0 < least <= greatest works"),
    ("type = \"GaussianBlur\"\nkernel_size = 5\nsigma = [2, 1]", 4, "sigma", "0 < least <= greatest works"),
    ("type = \"RandomAdjustSharpness\"\nsharpness_factor = -1", 3, "sharpness_factor", "work"),
    ("type = \"RandomAdjustSharpness\"\nsharpness_factor = 2\np = 1.5", 4, "p", "0 to 1 work"),
    ("type = \"RandomEqualize\"\np = -0.5", 3, "p", "0 to 1 work"),
    ("type = \"RandomAutocontrast\"\np = nan", 3, "p", "0 to 1 work"),
    ("type = \"RandomAffine\"\ndegrees = 3\nscale = [0, 1]", 4, "scale", "0 < least <= greatest works"),
    ("type = \"RandomAffine\"\ndegrees = 3\nscale = [2, 1]", 4, "scale", "0 < least <= greatest works"),
    ("type = \"RandomAffine\"\ndegrees = 3\ntranslate = [0.1, 1.1]", 4, "translate", "two shares in [0, 1] work"),
    ("type = \"RandomAffine\"\ndegrees = 3\ntranslate = [-0.1, 0]", 4, "translate", "two shares in [0, 1] work"),
    ("type = \"RandomAffine\"\ndegrees = [3, 1]", 3, "degrees", "least <= greatest"),
    ("type = \"RandomAffine\"\ndegrees = 3\nshear = [3, 1]", 4, "shear", "least <= greatest"),
    ("type = \"RandomAffine\"\ndegrees = 3\ninterpolation = \"NearestExact\"", 4, "interpolation", "Bicubic"),
    ("type = \"RandomAffine\"\ndegrees = 3\nfill = inf", 4, "fill", "finite numbers work"),
    ("type = \"RandomRotation\"\ndegrees = [3, 1]", 3, "degrees", "least <= greatest"),
    ("type = \"RandomRotation\"\ndegrees = 3\ncenter = [nan, 1]", 4, "center", "two finite numbers work"),
    ("type = \"RandomPerspective\"\ndistortion_scale = 1.5", 3, "distortion_scale", "0 to 1 work"),
    ("type = \"RandomPerspective\"\ninterpolation = \"NearestExact\"", 3, "interpolation", "Nearest and Bilinear"),
    ("type = \"RandAugment\"\nmagnitude = 31", 3, "magnitude", "0 to 30 work with 31 bins"),
    ("type = \"RandAugment\"\nmagnitude = 9\nnum_magnitude_bins = 5", 3, "magnitude", "0 to 4 work with 5 bins"),
    ("type = \"RandAugment\"\nnum_magnitude_bins = 1", 3, "num_magnitude_bins", "2 to 65536 work"),
    ("type = \"RandAugment\"\nnum_ops = 17", 3, "num_ops", "0 to 16 work"),
    ("type = \"TrivialAugmentWide\"\nnum_magnitude_bins = 0", 3, "num_magnitude_bins", "2 to 65536 work"),
    ("type = \"AutoAugment\"\ninterpolation = \"NearestExact\"", 3, "interpolation", "Bicubic"),
    ("type = \"RandomChoice\"\ntransforms = []", 3, "transforms", "1 to 255 work"),
    ("type = \"RandomOrder\"\ntransforms = []", 3, "transforms", "work"),
    ("type = \"RandomChoice\"\np = [1, 2]\ntransforms = [{type = \"RandomInvert\"}]", 3, "p", "one each works"),
    ("type = \"RandomChoice\"\np = [-1]\ntransforms = [{type = \"RandomInvert\"}]", 3, "p", "weights >= 0 work"),
    ("type = \"RandomChoice\"\np = [0]\ntransforms = [{type = \"RandomInvert\"}]", 3, "p", "one is more than 0"),
];

#[test]
fn files_name_line_key_and_what_works() {
    for (text, line, key, words) in LINES {
        let error = recipe::from_toml(&format!("[[transform]]\n{text}\n")).expect_err(text).to_string();
        let name = text.split('"').nth(1).unwrap();
        let expected = format!("line {line}, {name}: {key}: ");
        assert!(error.contains(&expected) && error.contains(words), "{text}: {error}, not {expected}… {words}");
    }
}

/// Returns the setting and the reason of the error that `build()` gives.
fn refused(builder: DataLoaderBuilder) -> (String, String) {
    let error = builder.build(&Backend::Cpu).expect_err("refused");
    let ErrorKind::Argument { setting, .. } = error.kind() else { panic!("{error}") };
    (setting.to_string(), error.to_string())
}

#[test]
fn loaders_name_the_key_and_what_works() {
    let nothing: [Transform; 0] = [];
    let invert = || [RandomInvert::new(0.5)];
    let exact = RandomAffine::new(3.0).interpolation(Interpolation::NearestExact);
    let bins = RandAugment { num_magnitude_bins: 9, ..RandAugment::default() };
    let lists: [(Transform, &str, &str); 14] = [
        (GaussianBlur::new(0).into(), "kernel_size", "odd"),
        (GaussianBlur::new(4).into(), "kernel_size", "odd"),
        (GaussianBlur::new(3).sigma(0.0, 1.0).into(), "sigma", "0 < least"),
        (RandomAffine::new(3.0).scale(-1.0, 1.0).into(), "scale", "0 < least"),
        (RandomAffine::new(3.0).translate(0.0, 1.01).into(), "translate", "[0, 1]"),
        (RandomRotation::new((2.0, 1.0)).into(), "degrees", "least <= greatest"),
        (RandomPerspective::new(-0.1).into(), "distortion_scale", "0 to 1"),
        (exact.into(), "interpolation", "Nearest, Bilinear and Bicubic"),
        (bins.into(), "magnitude", "0 to 8 work with 9 bins"),
        (RandomChoice::new(nothing.clone()).into(), "transforms", "work"),
        (RandomOrder::new(nothing).into(), "transforms", "work"),
        (RandomChoice::new(invert()).p([f64::NAN]).into(), "p", "weights >= 0"),
        (RandomChoice::new(invert()).p([1.0, 1.0]).into(), "p", "one each"),
        (RandomApply::new(0.5, [RandomChoice::new(invert()).p([0.0])]).into(), "p", "more than 0"),
    ];
    for (transform, key, words) in lists {
        for semantics in [Semantics::Float, Semantics::Uint8] {
            let list = vec![Resize::new((20, 20)).into(), transform.clone()];
            let (setting, error) = refused(builder(list, semantics));
            assert!(error.contains(&format!("{key}: ")) && error.contains(words), "{setting}: {error}");
        }
    }
}

#[test]
fn random_sizes_need_a_later_transform_that_fixes_them() {
    let open: [Transform; 5] = [
        RandomRotation::new(20.0).expand(true).into(),
        RandomResize::new(20, 30).into(),
        ScaleJitter::new((30, 20)).into(),
        RandomZoomOut::new(1.0).into(),
        RandomChoice::new([Resize::new((20, 20)), Resize::new((20, 21))]).into(),
    ];
    for transform in open {
        for list in [vec![transform.clone()], vec![Resize::new((20, 20)).into(), transform.clone()]] {
            let (_, error) = refused(builder(list, Semantics::Float));
            assert!(error.contains(transform.name()) || error.contains("no transform gives them one"), "{error}");
        }
        let fixed = builder(vec![transform.clone(), Resize::new((20, 20)).into()], Semantics::Float);
        fixed.build(&Backend::Cpu).unwrap_or_else(|error| panic!("{}: {error}", transform.name()));
    }
}

#[test]
fn crops_in_the_middle_and_mixed_bytes_are_refused() {
    let middle = vec![FiveCrop::new(20).into(), RandAugment::default().into()];
    let (setting, error) = refused(builder(middle, Semantics::Float));
    assert!(setting == "transforms" && error.contains("FiveCrop"), "{error}");
    let bytes = vec![Resize::new((20, 20)).into(), TrivialAugmentWide::new().into()];
    let mixed = builder(bytes, Semantics::Uint8).output(Layout::Nchw, DType::U8).batch_transform(MixUp::new(0.2));
    let (setting, error) = refused(mixed);
    assert!(error.contains("MixUp"), "{setting}: {error}");
}

/// Saturation and hue leave a single channel as it is, as torchvision's do.
#[test]
fn policies_work_on_one_channel() {
    for semantics in [Semantics::Float, Semantics::Uint8] {
        let list: Vec<Transform> = vec![
            gpufeed::transforms::Grayscale::new(1).into(),
            Resize::new((20, 20)).into(),
            RandAugment::new(8, 9).into(),
            TrivialAugmentWide::new().into(),
        ];
        let batches = seen(builder(list, semantics).build(&Backend::Cpu).unwrap().epoch(0).unwrap());
        assert!(batches.iter().all(|batch| batch.shape[1..] == [1, 20, 20]));
    }
}

/// Numbers of files that torchvision would take are taken.
#[test]
fn what_works_is_read() {
    for text in [
        "type = \"GaussianBlur\"\nkernel_size = [1, 23]\nsigma = [1.5, 1.5]",
        "type = \"RandomAffine\"\ndegrees = 0\ntranslate = [0, 1]\nscale = [1, 1]\nshear = [-5, 5]\nshear_y = 3",
        "type = \"RandomRotation\"\ndegrees = [5, 5]\nexpand = true\nfill = [0, 0.5, 1]",
        "type = \"RandomPerspective\"\nfill = \"None\"",
        "type = \"RandAugment\"\nnum_ops = 0\nmagnitude = 0\nnum_magnitude_bins = 2",
        "type = \"RandomChoice\"\np = [0, 3]\ntransforms = [{type = \"RandomInvert\"}, {type = \"RandomEqualize\"}]",
    ] {
        let read = recipe::from_toml(&format!("semantics = \"Uint8\"\n[[transform]]\n{text}\n"));
        let read: Recipe = read.unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!((read.transforms.len(), read.semantics), (1, Some(Semantics::Uint8)));
    }
}
