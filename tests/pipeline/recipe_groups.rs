//! Recipes with groups of views: what a file may say, what is refused and where, what a loader makes of them, and the
//! built-in one.

use super::groups::{assert_same, run};
use gpufeed::decode::ReadMode;
use gpufeed::recipe::{self, Recipe, ViewGroup};
use gpufeed::transforms::{CenterCrop, Interpolation, MixUp, RandomHorizontalFlip, RandomResizedCrop, Transform};
use gpufeed::{Backend, DType, DataLoader, DataLoaderBuilder, Layout, Output, Semantics, Views};
use gpufeed_testing::pipeline::small_files;

const TWO: &str = "\
name = \"two\"
description = \"Views of two sizes\"
semantics = \"Uint8\"

[output]
layout = \"Nhwc\"
dtype = \"F16\"

[[group]]
name = \"global\"
views = 2

[[group.transform]]
type = \"RandomResizedCrop\"
size = 20

[[group.transform]]
type = \"RandomHorizontalFlip\"

[[group]]
name = \"local\"
semantics = \"Float\"
output = { layout = \"Nchw\", dtype = \"F32\" }

[[group.transform]]
type = \"RandomResizedCrop\"
size = 9
scale = [0.05, 0.4]
";

fn global() -> Vec<Transform> {
    vec![RandomResizedCrop::new(20).into(), RandomHorizontalFlip::default().into()]
}

fn local() -> Vec<Transform> {
    vec![RandomResizedCrop::new(9).scale(0.05, 0.4).into()]
}

fn builder() -> DataLoaderBuilder {
    DataLoader::builder(small_files(5)).batch_size(2).shuffle(true).seed(4).workers(2)
}

fn refused(builder: DataLoaderBuilder) -> String {
    builder.build(&Backend::Cpu).unwrap_err().to_string()
}

#[test]
fn groups_are_read_and_written_again() {
    let read = recipe::from_toml(TWO).unwrap();
    let mut second = ViewGroup::new("local", 1, local());
    second.semantics = Some(Semantics::Float);
    second.output = Some(Output { layout: Layout::Nchw, dtype: DType::F32 });
    let output = Some(Output { layout: Layout::Nhwc, dtype: DType::F16 });
    let mut expected = Recipe {
        name: "two".into(),
        description: "Views of two sizes".into(),
        output,
        semantics: Some(Semantics::Uint8),
        groups: vec![ViewGroup::new("global", 2, global()), second],
        ..Recipe::default()
    };
    assert_eq!(read, expected);
    expected.validate().unwrap();
    let mut depth = ViewGroup::new("depth", 1, []);
    (depth.source, depth.follows) = (Some("depth.png".into()), Some("global".into()));
    (depth.read_mode, depth.interpolation) = (ReadMode::Gray16, Some(Interpolation::Bilinear));
    expected.groups.push(depth);
    let text = expected.to_toml().unwrap();
    assert_eq!(recipe::from_toml(&text).unwrap(), expected, "{text}");
    let lists = expected.lists();
    assert_eq!((lists[0].output, lists[0].semantics), (output, Some(Semantics::Uint8)));
    assert_eq!(lists[1].semantics, Some(Semantics::Float));
}

#[test]
fn what_is_wrong_with_a_group_names_its_line() {
    let group = "[[group]]\nname = \"a\"\n[[group.transform]]\ntype = \"CenterCrop\"\nsize = 8\n";
    for (text, line, words) in [
        (
            format!("{group}[[transform]]\ntype = \"CenterCrop\"\nsize = 8\n"),
            6,
            "transform: the recipe has groups, too",
        ),
        (format!("views = 2\n{group}"), 1, "views: the recipe has groups; give each its views"),
        (format!("{group}[[batch_transform]]\ntype = \"MixUp\"\n"), 6, "batch_transform: the recipe has groups"),
        (format!("{group}{group}"), 6, "group: two groups have the name \"a\""),
        ("group = []\n".to_owned(), 1, "group: there is no group; 1 and more work"),
        (group.replace("\"a\"", "\"\""), 1, "group: \"\" is no name for a group"),
        (group.replace("\"a\"", "\"label\""), 1, "group: \"label\" is no name for a group"),
        (group.replace("name", "views = 65\nname"), 2, "views: 65; 1 to 64 work"),
        (group.replace("name", "views = \"two\"\nname"), 2, "views: \"two\" is not a number of images"),
        (group.replace("name", "view = 2\nname"), 2, "unknown field `view`"),
        (group.replace("name = \"a\"\n", ""), 1, "missing field `name`"),
        (group.replace("size = 8", "size = 0"), 5, "CenterCrop: size: "),
        (group.replace("size = 8", "sizes = 8"), 5, "CenterCrop: unknown field `sizes`"),
        ("[[group]]\nname = \"a\"\n".to_owned(), 1, "group \"a\": missing field `transform`"),
        (group.replace("name", "read_mode = \"Gray\"\nname"), 2, "unknown variant `Gray`"),
    ] {
        let error = recipe::from_toml(&text).expect_err(&text).to_string();
        assert!(error.starts_with(&format!("recipe: line {line}")) && error.contains(words), "{text}{error}");
    }
    // A group without semantics has the recipe's: thresholds of 8-bit images are up to 255.
    let solarize = |semantics: &str| {
        format!(
            "{semantics}[[group]]\nname = \"a\"\n[[group.transform]]\ntype = \"RandomSolarize\"\nthreshold = 128.0\n"
        )
    };
    assert!(recipe::from_toml(&solarize("semantics = \"Uint8\"\n")).is_ok());
    let error = recipe::from_toml(&solarize("")).unwrap_err().to_string();
    assert!(error.contains("line 5, RandomSolarize: threshold"), "{error}");
}

#[test]
fn a_loader_of_a_recipe_has_its_groups() {
    let recipe = recipe::from_toml(TWO).unwrap();
    let loader = builder().recipe(&recipe).build(&Backend::Cpu).unwrap();
    let by_hand = builder()
        .output(Layout::Nhwc, DType::F16)
        .semantics(Semantics::Uint8)
        .group("global", Views::new(2).transforms(global()))
        .group("local", Views::new(1).transforms(local()).output(Layout::Nchw, DType::F32).semantics(Semantics::Float))
        .build(&Backend::Cpu)
        .unwrap();
    assert_same(&run(&loader, 1), &run(&by_hand, 1), "by hand");
    assert_eq!(loader.recipe(), &recipe);
    assert_eq!(by_hand.recipe().groups, recipe.groups);
    let again = recipe::from_toml(&by_hand.recipe().to_toml().unwrap()).unwrap();
    assert_same(&run(&builder().recipe(again).build(&Backend::Cpu).unwrap(), 1), &run(&loader, 1), "written");
    // Settings replace what the recipe says for all groups, not what a group says.
    let loader = builder().recipe(&recipe).output(Layout::Nchw, DType::U8).build(&Backend::Cpu).unwrap();
    let outputs: Vec<_> = loader.plans().map(|(name, plan)| (name, plan.output().dtype)).collect();
    assert_eq!(outputs, [("global", DType::U8), ("local", DType::F32)]);
    // Other groups may be added.
    let more = builder().recipe(&recipe).group("third", Views::new(1).transform(CenterCrop::new(4)));
    assert_eq!(more.build(&Backend::Cpu).unwrap().recipe().groups.len(), 3);
}

#[test]
fn what_is_for_one_list_is_refused_beside_groups() {
    let recipe = recipe::from_toml(TWO).unwrap();
    let own = "the loader has a list or views of its own, too";
    assert!(refused(builder().recipe(&recipe).transform(CenterCrop::new(4))).contains(own));
    assert!(refused(builder().recipe(local()).recipe(&recipe)).contains(own));
    assert!(refused(builder().recipe(&recipe).views(2)).contains(own));
    let mixed = refused(builder().recipe(&recipe).batch_transform(MixUp::new(0.8)));
    assert!(mixed.contains("the loader has global, local"), "{mixed}");
    // The groups of one would have the output of the other.
    let other = |name: &str, head: &str| {
        let toml =
            format!("{head}\n[[group]]\nname = \"{name}\"\n[[group.transform]]\ntype = \"CenterCrop\"\nsize = 4\n");
        recipe::from_toml(&toml).unwrap()
    };
    let bytes = other("bytes", "output = { layout = \"Nhwc\", dtype = \"U8\" }");
    let floats = other("floats", "");
    let apart = refused(builder().recipe(&bytes).recipe(&floats));
    assert!(
        apart.contains("two recipes with groups differ in the output") && apart.contains("into the groups"),
        "{apart}"
    );
    let both = builder().recipe(&floats).recipe(other("more", "")).build(&Backend::Cpu).unwrap();
    assert_eq!(both.plans().map(|(name, _)| name).collect::<Vec<_>>(), ["floats", "more"]);
    let nested = refused(builder().group("views", Views::new(2).recipe(&recipe)));
    assert!(nested.contains("\"views\" is given a recipe with groups; give that to the loader itself"), "{nested}");
    for (wrong, words) in [
        (Recipe { transforms: local(), ..recipe.clone() }, "group: the recipe has a list of its own, too"),
        (Recipe { views: 2, ..recipe.clone() }, "views: the recipe has groups; each has views of its own"),
        (Recipe { batch_transform: Some(MixUp::new(0.8).into()), ..recipe.clone() }, "batch_transform: the recipe has"),
        (
            Recipe { groups: vec![ViewGroup::new("", 1, local())], ..recipe.clone() },
            "group: \"\" is no name for a group",
        ),
        (Recipe { groups: vec![ViewGroup::new("a", 0, local())], ..recipe.clone() }, "views: 0; 1 to 64 work"),
    ] {
        for error in [wrong.validate().unwrap_err(), wrong.to_toml().unwrap_err()] {
            assert!(error.to_string().starts_with(words), "{error}");
        }
    }
}

#[test]
fn dino_has_ten_views_and_its_first_group_is_the_global_list() {
    let loader = |builder: DataLoaderBuilder| builder.build(&Backend::Cpu).unwrap();
    let dino = loader(builder().recipe(recipe::dino()));
    assert_eq!(dino.recipe(), &recipe::named("dino").unwrap());
    let batches = run(&dino, 0);
    let shapes: Vec<_> = batches[0].iter().map(|group| (&*group.name, group.shape)).collect();
    assert_eq!(shapes, [("first", [2, 3, 224, 224]), ("second", [2, 3, 224, 224]), ("local", [16, 3, 96, 96])]);
    let alone = run(&loader(builder().recipe(recipe::named("dino-global").unwrap())), 0);
    for (all, alone) in batches.iter().zip(&alone) {
        assert!(all[0].params == alone[0].params && all[0].bytes == alone[0].bytes);
        assert!(all[1].params != all[0].params);
    }
}
