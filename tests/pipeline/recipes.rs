//! Recipes: the built-in files, what a file may say, what is wrong with a wrong file and where, and recipes that are
//! written and read again.

use gpufeed::recipe::{self, Recipe};
use gpufeed::transforms::{
    AdjustGamma, BatchTransform, CenterCrop, ColorJitter, CutMix, ElasticTransform, ErasingValue, FiveCrop,
    GaussianNoise, Grayscale, Interpolation, JPEG, MixUp, Normalize, Pad, PaddingMode, RandomApply,
    RandomChannelPermutation, RandomCrop, RandomErasing, RandomGrayscale, RandomHorizontalFlip, RandomInvert,
    RandomPhotometricDistort, RandomPosterize, RandomResize, RandomResizedCrop, RandomShortestSize, RandomSolarize,
    RandomVerticalFlip, RandomZoomOut, Resize, ScaleJitter, TenCrop, Transform,
};
use gpufeed::{Backend, DType, DataLoader, Layout, Output, Plan, Semantics};
use gpufeed_testing::lists::{self, Dice};
use gpufeed_testing::pipeline::small_files;
use gpufeed_testing::sequences::sequence;

#[test]
fn built_in_files_are_the_functions() {
    let functions: [(&str, Vec<Transform>); 17] = [
        ("imagenet-train", recipe::imagenet_train()),
        ("imagenet-train-jitter", recipe::imagenet_train_jitter()),
        ("imagenet-eval", recipe::imagenet_eval()),
        ("resize-crop-256", recipe::resize_crop_256()),
        ("resize-crop-224", recipe::resize_crop()),
        ("resize-jitter-gray", recipe::resize_jitter_gray()),
        ("augment-only", recipe::augment_only()),
        ("decode-only", recipe::decode_only()),
        ("cifar-train", recipe::cifar_train()),
        ("mnist-train", recipe::mnist_train()),
        ("two-views", recipe::two_views()),
        ("imagenet-randaugment", recipe::imagenet_randaugment()),
        ("imagenet-trivialaugment", recipe::imagenet_trivialaugment()),
        ("imagenet-augmix", recipe::imagenet_augmix()),
        ("simclr", recipe::simclr()),
        ("dino-global", recipe::dino_global()),
        ("deit", recipe::deit()),
    ];
    assert_eq!(functions.each_ref().map(|(name, _)| *name), recipe::NAMES);
    for (name, transforms) in functions {
        let built_in = recipe::named(name).unwrap();
        assert_eq!(built_in.name, name);
        assert!(built_in.description.len() > 20, "{name}");
        assert_eq!(built_in.transforms, transforms, "{name}");
        assert_eq!(built_in.views, if ["two-views", "simclr"].contains(&name) { 2 } else { 1 });
        let uint8 =
            ["imagenet-randaugment", "imagenet-trivialaugment", "imagenet-augmix", "simclr", "dino-global", "deit"];
        assert_eq!(built_in.semantics, uint8.contains(&name).then_some(Semantics::Uint8), "{name}");
        let mixed = BatchTransform::choice([MixUp::new(0.8).into(), CutMix::new(1.0).into()]).p([0.5, 0.5]);
        assert_eq!(built_in.batch_transform, (name == "deit").then(|| mixed.into()), "{name}");
        let decodes = name == "decode-only";
        let (layout, dtype) = if decodes { (Layout::Nhwc, DType::U8) } else { (Layout::Nchw, DType::F32) };
        assert_eq!(built_in.output, Some(Output { layout, dtype }), "{name}");
        // Every recipe makes batches of one size from any image that it is for.
        let semantics = built_in.semantics.unwrap_or_default();
        let plan = Plan::compile_as(semantics, 3, &built_in.transforms, &built_in.output.unwrap()).unwrap();
        assert!(plan.output_size().is_some(), "{name}");
        assert_eq!(plan.channels(), if name == "mnist-train" { 1 } else { 3 });
        assert_eq!(recipe::load(name).unwrap(), built_in);
    }
}

/// Returns every operator, with every argument away from its default.
fn every_operator() -> Vec<Transform> {
    vec![
        Resize::new((40, 50)).interpolation(Interpolation::Bicubic).antialias(false).into(),
        Resize::new(30).max_size(44).interpolation(Interpolation::NearestExact).into(),
        RandomResize::new(33, 44).interpolation(Interpolation::Nearest).antialias(false).into(),
        RandomShortestSize::new([31, 37]).max_size(41).interpolation(Interpolation::Bicubic).antialias(false).into(),
        RandomShortestSize::new([34]).into(),
        ScaleJitter::new((35, 36))
            .scale_range(0.7, 1.3)
            .interpolation(Interpolation::NearestExact)
            .antialias(false)
            .into(),
        RandomZoomOut::new(0.35).side_range(1.25, 2.5).fill([0.4, 0.5, 0.6]).into(),
        Pad::new(3).into(),
        Pad::new([1, 2, 3, 4]).fill([0.1, 0.2, 0.3]).padding_mode(PaddingMode::Reflect).into(),
        RandomCrop::new((28, 27)).padding([2, 3]).fill([0.7; 3]).pad_if_needed(true).into(),
        RandomCrop::new(26).padding_mode(PaddingMode::Symmetric).into(),
        RandomResizedCrop::new((25, 24)).scale(0.3, 0.9).ratio(0.9, 1.3).antialias(false).into(),
        RandomHorizontalFlip::new(0.3).into(),
        RandomVerticalFlip::new(0.7).into(),
        ColorJitter::new(0.1, (0.5, 1.5), 0.3, (-0.1, 0.2)).into(),
        RandomApply::new(
            0.6,
            [Transform::from(ColorJitter::new(0.4, 0.0, 0.0, 0.5)), {
                RandomApply::new(0.4, [RandomSolarize::new(0.3)]).into()
            }],
        )
        .into(),
        RandomPhotometricDistort::new(0.65)
            .brightness(0.8, 1.3)
            .contrast(0.6, 1.4)
            .saturation(0.7, 1.6)
            .hue(-0.1, 0.2)
            .into(),
        RandomGrayscale::new(0.15).into(),
        RandomInvert::new(0.25).into(),
        RandomSolarize::new(0.4).p(0.35).into(),
        RandomPosterize::new(3).p(0.45).into(),
        RandomChannelPermutation::new().into(),
        AdjustGamma::new(0.45).gain(1.25).into(),
        RandomErasing::new(0.55).scale(0.1, 0.2).ratio(0.5, 2.0).value([0.1, 0.9, 0.5]).into(),
        RandomErasing::new(0.65).value(ErasingValue::Random).into(),
        GaussianNoise::new(0.35).mean(0.05).clip(false).into(),
        JPEG::new((20, 70)).into(),
        JPEG::new(55).into(),
        ElasticTransform::new(40.0, 4.0).alpha(30.0, 20.5).sigma(3.0, 2.5).fill(0.5).into(),
        CenterCrop::new((20, 22)).into(),
        FiveCrop::new((18, 19)).into(),
        TenCrop::new(17).into(),
        TenCrop::new((15, 16)).vertical_flip(true).into(),
        Grayscale::new(1).into(),
        Normalize::new([0.485, 0.1307, 1e-7], [0.229, -1.0, 3e10]).into(),
    ]
}

fn through_toml(recipe: &Recipe) -> Recipe {
    let text = recipe.to_toml().unwrap();
    recipe::from_toml(&text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

#[test]
fn every_operator_there_and_back() {
    let all = every_operator();
    let output = Some(Output { layout: Layout::Nhwc, dtype: DType::F16 });
    let whole = Recipe {
        name: "all \"of\" it\n".into(),
        description: "x = 1 # no".into(),
        transforms: all,
        output,
        semantics: None,
        views: 3,
        batch_transform: None,
    };
    assert_eq!(through_toml(&whole), whole);
    for transform in &whole.transforms {
        assert_eq!(through_toml(&vec![transform.clone()].into()).transforms, std::slice::from_ref(transform));
    }
    let mut dice = Dice(11);
    for _ in 0..200 {
        let list: Recipe = lists::list(&mut dice, true).into();
        assert_eq!(through_toml(&list), list);
    }
    // Lists with policies, choices, orders and warps, in both semantics.
    for _ in 0..200 {
        let semantics = if dice.chance(50) { Semantics::Uint8 } else { Semantics::Float };
        let list: Recipe = sequence(&mut dice, semantics).transforms.into();
        let list = Recipe { semantics: Some(semantics), ..list };
        assert_eq!(through_toml(&list), list);
    }
}

#[test]
fn numbers_are_written_as_they_were_typed() {
    let text = recipe::to_toml([Normalize::IMAGENET.into()]).unwrap();
    assert!(text.contains("mean = [0.485, 0.456, 0.406]"), "{text}");
    let text = recipe::to_toml([RandomResizedCrop::new(224).into(), CenterCrop::new((200, 100)).into()]).unwrap();
    assert!(text.contains("size = 224\n") && text.contains("size = [200, 100]\n"), "{text}");
}

#[test]
fn a_loader_gives_the_recipe_that_it_was_given() {
    let mut given = recipe::named("two-views").unwrap();
    let build = |recipe: &Recipe| {
        DataLoader::builder(small_files(5)).recipe(recipe).batch_size(2).build(&Backend::Cpu).unwrap()
    };
    let loader = build(&given);
    assert_eq!(loader.recipe(), &given);
    let again = build(&recipe::from_toml(&loader.recipe().to_toml().unwrap()).unwrap());
    assert_eq!(again.plan().to_string(), loader.plan().to_string());
    assert_eq!(again.plan().transforms(), loader.plan().transforms());
    assert_eq!(again.epoch(0).unwrap().next().unwrap().unwrap().shape(), [4, 3, 224, 224]);

    // Settings after the recipe replace the recipe's own, and a recipe to which a transform is added has no name.
    let builder = DataLoader::builder(small_files(5)).recipe(&given).output(Layout::Nhwc, DType::F16).views(1);
    let loader = builder.clone().build(&Backend::Cpu).unwrap();
    given.output = Some(Output { layout: Layout::Nhwc, dtype: DType::F16 });
    given.views = 1;
    assert_eq!(loader.recipe(), &given);
    let loader = builder.transform(RandomInvert::default()).build(&Backend::Cpu).unwrap();
    assert_eq!(loader.recipe().name, "");
    assert_eq!(loader.recipe().transforms.len(), given.transforms.len() + 1);
    // A list without an output leaves the one that was set.
    let list = recipe::imagenet_eval();
    let builder = DataLoader::builder(small_files(1)).output(Layout::Nhwc, DType::F16).recipe(list);
    assert_eq!(builder.build(&Backend::Cpu).unwrap().recipe().output, given.output);
}

/// Returns the error of a file in which `operator` is the third line, after another operator.
fn error_of(operator: &str) -> String {
    let text = format!("transform = [\n  {{ type = \"RandomInvert\" }},\n  {operator}\n]\n");
    recipe::from_toml(&text).expect_err(&text).to_string()
}

#[test]
fn values_out_of_range_name_line_key_and_range() {
    let probability = [
        "RandomErasing",
        "RandomGrayscale",
        "RandomHorizontalFlip",
        "RandomInvert",
        "RandomVerticalFlip",
        "RandomZoomOut",
        "RandomPhotometricDistort",
    ];
    for p in ["-0.1", "1.5", "nan", "inf", "-inf"] {
        let plain = probability.map(|name| format!("{{ type = \"{name}\", p = {p} }}"));
        let others = ["RandomPosterize\", bits = 1", "RandomSolarize\", threshold = 0.5"]
            .map(|start| format!("{{ type = \"{start}, p = {p} }}"));
        let apply = format!("{{ type = \"RandomApply\", p = {p}, transforms = [{{ type = \"RandomInvert\" }}] }}");
        for operator in plain.iter().chain(&others).chain([&apply]) {
            let error = error_of(operator);
            assert!(error.starts_with("recipe: line 3, Random"), "{error}");
            assert!(error.contains(": p: ") && error.contains("0 to 1 work"), "{error}");
        }
    }
    let side = "1 to 4194304 work";
    #[rustfmt::skip]
    let cases = [
        ("CenterCrop", "size = 0", "size", side),
        ("CenterCrop", "size = [8, 0]", "size", side),
        ("CenterCrop", "size = 4194305", "size", side),
        ("FiveCrop", "size = 0", "size", side),
        ("TenCrop", "size = [8, 0]", "size", side),
        ("RandomCrop", "size = [0, 8]", "size", side),
        ("RandomCrop", "size = 8, padding = 4194305", "padding", "up to 4194304 work"),
        ("RandomCrop", "size = 8, fill = [0, nan, 0]", "fill", "finite numbers work"),
        ("RandomResizedCrop", "size = 0", "size", side),
        ("RandomResizedCrop", "size = 8, scale = [-0.1, 1]", "scale", "0 <= least <= greatest works"),
        ("RandomResizedCrop", "size = 8, scale = [0.9, 0.1]", "scale", "0 <= least <= greatest works"),
        ("RandomResizedCrop", "size = 8, scale = [0, inf]", "scale", "0 <= least <= greatest works"),
        ("RandomResizedCrop", "size = 8, ratio = [0, 1]", "ratio", "0 < least <= greatest works"),
        ("RandomResizedCrop", "size = 8, ratio = [2, 1]", "ratio", "0 < least <= greatest works"),
        ("RandomResizedCrop", "size = 8, ratio = [1, inf]", "ratio", "0 < least <= greatest works"),
        ("Resize", "size = 0", "size", side),
        ("Resize", "size = [8, 4194305]", "size", side),
        ("Resize", "size = 8, max_size = 8", "max_size", "more than size = 8, up to 4194304, work"),
        ("Resize", "size = 8, max_size = 4194305", "max_size", "more than size = 8, up to 4194304, work"),
        ("Resize", "size = [8, 8], max_size = 9", "max_size", "only if size is a short side"),
        ("RandomResize", "min_size = 0, max_size = 8", "min_size", side),
        ("RandomResize", "min_size = 8, max_size = 8", "max_size", "more than min_size = 8, up to 4194304, work"),
        ("RandomResize", "min_size = 8, max_size = 4194305", "max_size", "more than min_size = 8, up to 4194304, work"),
        ("RandomShortestSize", "min_size = []", "min_size", "1 or more work"),
        ("RandomShortestSize", "min_size = [8, 0]", "min_size", side),
        ("RandomShortestSize", "min_size = 4194305", "min_size", side),
        ("RandomShortestSize", "min_size = 8, max_size = 0", "max_size", side),
        ("ScaleJitter", "target_size = [8, 0]", "target_size", side),
        ("ScaleJitter", "target_size = [8, 8], scale_range = [0, 1]", "scale_range", "0 < least <= greatest works"),
        ("ScaleJitter", "target_size = [8, 8], scale_range = [2, 1]", "scale_range", "0 < least <= greatest works"),
        ("ScaleJitter", "target_size = [8, 8], scale_range = [1, inf]", "scale_range", "0 < least <= greatest works"),
        ("RandomZoomOut", "side_range = [0.9, 2]", "side_range", "1 <= least <= greatest works"),
        ("RandomZoomOut", "side_range = [2, 1.5]", "side_range", "1 <= least <= greatest works"),
        ("RandomZoomOut", "side_range = [1, nan]", "side_range", "1 <= least <= greatest works"),
        ("RandomZoomOut", "fill = [0, nan, 0]", "fill", "finite numbers work"),
        ("Pad", "padding = [1, 4194305]", "padding", "up to 4194304 work"),
        ("Pad", "padding = 1, fill = [inf, 0, 0]", "fill", "finite numbers work"),
        ("ColorJitter", "brightness = -0.1", "brightness", "a value >= 0 or a range 0 <= least <= greatest works"),
        ("ColorJitter", "contrast = [1.5, 0.5]", "contrast", "a value >= 0 or a range 0 <= least <= greatest works"),
        ("ColorJitter", "saturation = [-1, 1]", "saturation", "a value >= 0 or a range 0 <= least <= greatest works"),
        ("ColorJitter", "saturation = inf", "saturation", "a value >= 0 or a range 0 <= least <= greatest works"),
        ("ColorJitter", "hue = 0.6", "hue", "a value in [0, 0.5] or a range in [-0.5, 0.5] works"),
        ("ColorJitter", "hue = [-0.6, 0]", "hue", "a value in [0, 0.5] or a range in [-0.5, 0.5] works"),
        ("ColorJitter", "hue = nan", "hue", "a value in [0, 0.5] or a range in [-0.5, 0.5] works"),
        ("RandomPhotometricDistort", "brightness = [-0.1, 1]", "brightness", "0 <= least <= greatest works"),
        ("RandomPhotometricDistort", "contrast = [1, inf]", "contrast", "0 <= least <= greatest works"),
        ("RandomPhotometricDistort", "saturation = [1, 0.5]", "saturation", "0 <= least <= greatest works"),
        ("RandomPhotometricDistort", "hue = [-0.6, 0]", "hue", "-0.5 <= least <= greatest <= 0.5 works"),
        ("RandomPhotometricDistort", "hue = [0, nan]", "hue", "-0.5 <= least <= greatest <= 0.5 works"),
        ("Grayscale", "num_output_channels = 2", "num_output_channels", "1 or 3 work"),
        ("Normalize", "mean = [0, 0, nan], std = [1, 1, 1]", "mean", "finite numbers work"),
        ("Normalize", "mean = [0, 0, 0], std = [1, 0, 1]", "std", "finite numbers other than 0 work"),
        ("Normalize", "mean = [0, 0, 0], std = [1, inf, 1]", "std", "finite numbers other than 0 work"),
        ("RandomPosterize", "bits = 9", "bits", "0 to 8 work"),
        ("RandomSolarize", "threshold = 1.1", "threshold", "0 to 1 work"),
        ("RandomSolarize", "threshold = -0.1", "threshold", "0 to 1 work"),
        ("AdjustGamma", "gamma = -0.1", "gamma", "a finite number >= 0 works"),
        ("AdjustGamma", "gamma = nan", "gamma", "a finite number >= 0 works"),
        ("AdjustGamma", "gamma = inf", "gamma", "a finite number >= 0 works"),
        ("AdjustGamma", "gamma = 1, gain = nan", "gain", "a finite number works"),
        ("RandomErasing", "scale = [0.1, 1.1]", "scale", "0 <= least <= greatest <= 1 works"),
        ("RandomErasing", "scale = [0.3, 0.2]", "scale", "0 <= least <= greatest <= 1 works"),
        ("RandomErasing", "ratio = [0, 1]", "ratio", "0 < least <= greatest works"),
        ("RandomErasing", "value = nan", "value", "finite numbers work"),
        ("RandomErasing", "value = [0, inf, 0]", "value", "finite numbers work"),
        ("RandomApply", "transforms = []", "transforms", "1 to 255 work"),
    ];
    for (operator, rest, key, range) in cases {
        let error = error_of(&format!("{{ type = \"{operator}\", {rest} }}"));
        assert!(error.starts_with(&format!("recipe: line 3, {operator}: {key}: ")), "{rest}: {error}");
        assert!(error.contains(range), "{rest}: {error}");
    }
}

#[test]
fn values_of_a_wrong_type_name_line_key_and_range() {
    #[rustfmt::skip]
    let cases = [
        ("CenterCrop", "size = \"big\"", "size", "[height, width], each 1 to 4194304, works"),
        ("CenterCrop", "size = -1", "size", "[height, width], each 1 to 4194304, works"),
        ("CenterCrop", "size = 1.5", "size", "[height, width], each 1 to 4194304, works"),
        ("FiveCrop", "size = \"big\"", "size", "[height, width], each 1 to 4194304, works"),
        ("TenCrop", "size = 8, vertical_flip = 1", "vertical_flip", "true and false work"),
        ("RandomCrop", "size = [1, 2, 3]", "size", "[height, width], each 1 to 4194304, works"),
        ("RandomCrop", "size = 8, padding = [1, 2, 3]", "padding", "each 0 to 4194304, works"),
        ("RandomCrop", "size = 8, pad_if_needed = 1", "pad_if_needed", "true and false work"),
        ("RandomCrop", "size = 8, padding_mode = \"Mirror\"", "padding_mode", "Constant, Edge, Reflect and Symmetric work"),
        ("RandomResizedCrop", "size = 8, scale = 0.5", "scale", "0 <= least <= greatest works"),
        ("RandomResizedCrop", "size = 8, interpolation = \"Linear\"", "interpolation", "Nearest, NearestExact, Bilinear and Bicubic work"),
        ("Resize", "size = 8, antialias = \"yes\"", "antialias", "true and false work"),
        ("Resize", "size = 8, max_size = -4", "max_size", "greater than size works"),
        ("RandomResize", "min_size = [8], max_size = 9", "min_size", "1 to 4194304 pixels work"),
        ("RandomResize", "min_size = 8, max_size = -1", "max_size", "greater than min_size works"),
        ("RandomShortestSize", "min_size = [8, \"a\"]", "min_size", "a list of them, each 1 to 4194304, works"),
        ("RandomShortestSize", "min_size = 8, max_size = 1.5", "max_size", "1 to 4194304 pixels work"),
        ("ScaleJitter", "target_size = 8", "target_size", "[width, height], each 1 to 4194304, works"),
        ("ScaleJitter", "target_size = [8, 8], scale_range = 2", "scale_range", "0 < least <= greatest works"),
        ("RandomZoomOut", "side_range = 2", "side_range", "1 <= least <= greatest works"),
        ("ColorJitter", "contrast = \"a\", hue = \"a\"", "contrast", "0 <= least <= greatest works"),
        ("ColorJitter", "hue = \"a\"", "hue", "in [-0.5, 0.5] works"),
        ("RandomPhotometricDistort", "contrast = 0.5", "contrast", "0 <= least <= greatest works"),
        ("RandomPhotometricDistort", "hue = 0.1", "hue", "[least, greatest] in [-0.5, 0.5] works"),
        ("RandomGrayscale", "p = \"often\"", "p", "0 to 1 work"),
        ("RandomPosterize", "bits = -1", "bits", "0 to 8 work"),
        ("RandomPosterize", "p = 0.5, bits = 1.5", "bits", "0 to 8 work"),
        ("Normalize", "mean = 0.5, std = [1, 1, 1]", "mean", "three finite numbers work"),
        ("Normalize", "mean = [0, 0, 0], std = [1, 1]", "std", "three finite numbers other than 0 work"),
        ("AdjustGamma", "gamma = \"dark\"", "gamma", "a finite number >= 0 works"),
        ("AdjustGamma", "gamma = 1, gain = [1, 2]", "gain", "a finite number works"),
        ("RandomErasing", "value = \"noise\"", "value", "\"random\" works"),
        ("RandomApply", "transforms = 3", "transforms", "1 to 255 tables"),
    ];
    for (operator, rest, key, range) in cases {
        let error = error_of(&format!("{{ type = \"{operator}\", {rest} }}"));
        assert!(error.starts_with(&format!("recipe: line 3, {operator}: {key}: ")), "{rest}: {error}");
        assert!(error.contains(range), "{rest}: {error}");
    }
}

#[test]
fn unknown_keys_and_operators_are_named_with_what_there_is() {
    let error = error_of("{ type = \"RandomResizedCrop\", size = 8, scales = [0.1, 1] }");
    assert!(error.starts_with("recipe: line 3, RandomResizedCrop: unknown field `scales`, expected one of"), "{error}");
    assert!(error.contains("`scale`"), "{error}");
    let error = error_of("{ type = \"RandomChannelPermutation\", p = 0.5 }");
    assert!(error.starts_with("recipe: line 3, RandomChannelPermutation: unknown field `p`"), "{error}");
    let error = error_of("{ type = \"RandomCorp\", size = 8 }");
    assert!(error.starts_with("recipe: line 3: type: unknown variant `RandomCorp`, expected one of"), "{error}");
    assert!(error.contains("`RandomCrop`"), "{error}");
    let error = error_of("{ size = 8 }");
    assert!(error.starts_with("recipe: line 3: missing field `type`"), "{error}");
    let error = error_of("{ type = \"CenterCrop\" }");
    assert!(error.starts_with("recipe: line 3, CenterCrop: missing field `size`"), "{error}");
    for (text, line, words) in [
        ("nmae = \"a\"\ntransform = []\n", "line 1", "unknown field `nmae`"),
        ("name = \"a\"\n\n[[transforms]]\ntype = \"RandomInvert\"\n", "line 3", "unknown field `transforms`"),
        ("name = 3\ntransform = []\n", "line 1", "expected a string"),
        ("transform = []\n[output]\nlayout = \"Nchw\"\ndtypes = \"F32\"\n", "line 4", "unknown field `dtypes`"),
        (
            "transform = []\n[output]\nlayout = \"Nchw\"\ndtype = \"F64\"\n",
            "line 4",
            "expected one of `F32`, `F16`, `U8`",
        ),
        ("views = 0\ntransform = []\n", "line 1", "views: 0; 1 to 64 work"),
        ("\nviews = 65\ntransform = []\n", "line 2", "views: 65; 1 to 64 work"),
        ("views = \"two\"\ntransform = []\n", "line 1", "1 to 64 work"),
        ("name = \"a\"\nname = \"b\"\ntransform = []\n", "line 2", "duplicate key"),
        ("name = \"a\"\nnonsense\n", "line 2", ""),
        ("name = \"a\"\n", "line 1", "missing field `transform`"),
    ] {
        let error = recipe::from_toml(text).expect_err(text).to_string();
        assert!(error.starts_with("recipe: ") && error.contains(line) && error.contains(words), "{text}: {error}");
    }
}

#[test]
fn the_innermost_operator_is_the_one_that_is_named() {
    let text = "\
[[transform]]
type = \"RandomApply\"

[[transform.transforms]]
type = \"RandomInvert\"

[[transform.transforms]]
type = \"RandomApply\"
p = 0.5

[[transform.transforms.transforms]]
type = \"ColorJitter\"
brightness = 0.1
hue = 0.7
";
    let error = recipe::from_toml(text).unwrap_err().to_string();
    assert_eq!(error, "recipe: line 14, ColorJitter: hue: 0.7; a value in [0, 0.5] or a range in [-0.5, 0.5] works");
}

/// A text that nests tables, lists or keys deeper than any recipe gives an error, and does not end the process.
#[test]
fn what_is_nested_too_deep_is_an_error() {
    const DEEP: usize = 10_000;
    let path = |count: usize| vec!["transforms"; count].join(".");
    let lists = |count: usize| {
        let start = "[{ type = \"RandomApply\", transforms = ".repeat(count);
        format!("transform = {start}[{{ type = \"Grayscale\" }}]{}\n", " }]".repeat(count))
    };
    let headers = |count: usize| {
        let header = |depth: usize| {
            let operator = if depth == count { "Grayscale" } else { "RandomApply" };
            format!("[[transform{}{}]]\ntype = \"{operator}\"\n", if depth > 0 { "." } else { "" }, path(depth))
        };
        (0..=count).map(header).collect::<String>()
    };
    for text in [
        lists(DEEP),
        headers(500),
        format!("[[transform.{}]]\ntype = \"Grayscale\"\n", path(DEEP)),
        format!("[[transform]]\ntype = \"RandomApply\"\n{} = 1\n", path(DEEP)),
        format!("transform = []\nviews = {}1{}\n", "[".repeat(DEEP), "]".repeat(DEEP)),
        format!("transform = {}\n", "[".repeat(DEEP)),
        format!("transform = []\n{} = 1\n", vec!["a"; DEEP].join(".")),
    ] {
        let error = recipe::from_toml(&text).unwrap_err().to_string();
        assert!(error.starts_with("recipe: "), "{}", &error[..error.len().min(300)]);
    }
    // A depth of 12 works, which is as deep as anyone nests operators by hand.
    for text in [lists(12), headers(12)] {
        let recipe = recipe::from_toml(&text).unwrap();
        assert_eq!(recipe::from_toml(&recipe.to_toml().unwrap()).unwrap(), recipe);
    }
}

#[test]
fn files_and_names_that_are_none() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    std::fs::write(path("fine.toml"), recipe::to_toml(recipe::cifar_train()).unwrap()).unwrap();
    assert_eq!(recipe::load(&path("fine.toml")).unwrap().transforms, recipe::cifar_train());
    std::fs::write(path("wrong.toml"), "transform = 3\n").unwrap();
    let error = recipe::load(&path("wrong.toml")).unwrap_err().to_string();
    assert!(error.contains("wrong.toml") && error.contains("line 1"), "{error}");
    let error = recipe::load(&path("none.toml")).unwrap_err().to_string();
    assert!(error.contains("none.toml"), "{error}");
    let error = recipe::load("imagenet").unwrap_err().to_string();
    assert!(error.contains("imagenet-train") && error.contains("two-views"), "{error}");
}
