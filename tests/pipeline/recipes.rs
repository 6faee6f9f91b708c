//! Recipes: the built-in files, what a file may say, what is wrong with a wrong file and where, and recipes that are
//! written and read again.

use gpufeed::recipe::{self, Recipe};
use gpufeed::transforms::{
    BatchTransform, CenterCrop, CutMix, MixUp, Mosaic, Normalize, RandomInvert, RandomResizedCrop, RandomShortestSize,
    Transform,
};
use gpufeed::{Arrangement, Backend, DType, DataLoader, Layout, Output, Plan, Semantics};
use gpufeed_testing::lists::{self, Dice};
use gpufeed_testing::operators::OPERATORS;
use gpufeed_testing::pipeline::small_files;
use gpufeed_testing::sequences::sequence;

/// The recipes in floats; the others are in 8-bit numbers.
const FLOATS: [&str; 11] = [
    "imagenet-train",
    "imagenet-train-jitter",
    "imagenet-eval",
    "resize-crop-256",
    "resize-crop-224",
    "resize-jitter-gray",
    "augment-only",
    "decode-only",
    "cifar-train",
    "mnist-train",
    "two-views",
];

#[test]
fn built_in_files_are_the_functions() {
    let functions: [(&str, Vec<Transform>); 28] = [
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
        ("dino", Vec::new()),
        ("clip-train", recipe::clip_train()),
        ("clip-eval", recipe::clip_eval()),
        ("coco-ssd", recipe::coco_ssd().transforms),
        ("coco-detr", recipe::coco_detr().transforms),
        ("coco-retinanet", recipe::coco_retinanet().transforms),
        ("maskrcnn-lsj", recipe::maskrcnn_lsj().transforms),
        ("yolo-letterbox", recipe::yolo_letterbox().transforms),
        ("yolo-mosaic", recipe::yolo_mosaic().transforms),
        ("segmentation-train", recipe::segmentation_train().transforms),
        ("segmentation-eval", recipe::segmentation_eval().transforms),
    ];
    assert_eq!(functions.each_ref().map(|(name, _)| *name), recipe::NAMES);
    for (name, transforms) in functions {
        let built_in = recipe::named(name).unwrap();
        assert_eq!(built_in.name, name);
        assert!(built_in.description.len() > 20, "{name}");
        assert_eq!(built_in.transforms, transforms, "{name}");
        assert_eq!(built_in.views, if ["two-views", "simclr"].contains(&name) { 2 } else { 1 });
        let floats = FLOATS.contains(&name);
        assert_eq!(built_in.semantics, (!floats).then_some(Semantics::Uint8), "{name}");
        let mixed = BatchTransform::choice([MixUp::new(0.8).into(), CutMix::new(1.0).into()]).p([0.5, 0.5]);
        assert_eq!(built_in.batch_transform, (name == "deit").then(|| mixed.into()), "{name}");
        let decodes = name == "decode-only";
        let (layout, dtype) = if decodes { (Layout::Nhwc, DType::U8) } else { (Layout::Nchw, DType::F32) };
        assert_eq!(built_in.output, Some(Output { layout, dtype }), "{name}");
        // Every recipe makes batches of one size from any image that it is for, or says how they lie.
        for list in built_in.lists().iter().filter(|list| list.follows.is_none()) {
            let semantics = list.semantics.unwrap_or_default();
            let plan = Plan::compile_as(semantics, 3, &list.transforms, &list.output.unwrap()).unwrap();
            assert_eq!(plan.output_size().is_some(), list.arrangement.is_none(), "{name}");
            assert_eq!(plan.channels(), if name == "mnist-train" { 1 } else { 3 });
        }
        assert_eq!(recipe::load(name).unwrap(), built_in);
    }
}

fn through_toml(recipe: &Recipe) -> Recipe {
    let text = recipe.to_toml().unwrap();
    recipe::from_toml(&text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

#[test]
fn every_operator_there_and_back() {
    let mut all: Vec<Transform> = OPERATORS.iter().flat_map(|operator| operator.transforms()).collect();
    all.push(RandomShortestSize::new([34]).into());
    let output = Some(Output { layout: Layout::Nhwc, dtype: DType::F16 });
    let whole = Recipe {
        name: "all \"of\" it\n".into(),
        description: "x = 1 # no".into(),
        transforms: all,
        output,
        semantics: None,
        arrangement: Some(Arrangement::padded().multiple_of(32).largest(800, 1333)),
        views: 3,
        batch_transform: None,
        mosaic: Some(Mosaic::new(320).center(0.75, 1.25).fill([1, 2, 3])),
        groups: Vec::new(),
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
fn probabilities_out_of_range_name_line_key_and_range() {
    for operator in OPERATORS {
        // An operator's own probability, not one in its list.
        let lines: Vec<String> = operator.examples.iter().map(|arguments| format!(", {arguments}")).collect();
        let mut own =
            lines.iter().rev().filter_map(|line| line.split_once(", p = ")).filter(|(before, _)| !before.contains('{'));
        let Some((before, after)) = own.next() else {
            let has_one = |transform: &Transform| serde_json::to_value(transform).expect("data")["p"].is_number();
            assert!(!operator.transforms().iter().any(has_one), "{}: no example sets p", operator.name);
            continue;
        };
        for p in ["-0.1", "1.5", "nan", "inf", "-inf"] {
            let (_, rest) = after.split_at(after.find(',').unwrap_or(after.len()));
            let error = error_of(&format!("{{ type = \"{}\"{before}, p = {p}{rest} }}", operator.name));
            assert!(error.starts_with(&format!("recipe: line 3, {}: p: ", operator.name)), "{error}");
            assert!(error.contains("0 to 1 work"), "{error}");
        }
    }
}

#[test]
fn values_out_of_range_or_of_a_wrong_type_name_line_key_and_range() {
    for operator in OPERATORS {
        for (arguments, key, works) in operator.refused {
            let error = error_of(&format!("{{ type = \"{}\", {arguments} }}", operator.name));
            assert!(error.starts_with(&format!("recipe: line 3, {}: {key}: ", operator.name)), "{arguments}: {error}");
            assert!(error.contains(works), "{arguments}: {error}");
        }
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
            "expected one of `F32`, `F16`, `BF16`, `U8`",
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
