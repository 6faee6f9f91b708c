//! Batch transforms that cannot work: errors of `build`, of recipes with their line, and of replays.

use gpufeed::transforms::{BatchTransform, CenterCrop, CutMix, Mix, MixUp, Mixed, Params};
use gpufeed::{Backend, DType, DataLoader, DataLoaderBuilder, InMemory, Label, Layout, PixelFormat, Recipe, recipe};

fn data(label: Label) -> InMemory {
    let mut data = InMemory::new();
    for number in 0..4u8 {
        data.push_pixels(9, 8, PixelFormat::Rgb8, vec![60 * number; 216], label.clone()).unwrap();
    }
    data
}

fn builder() -> DataLoaderBuilder {
    DataLoader::builder(data(Label::Class(1))).transform(CenterCrop::new(8)).batch_size(2)
}

fn refused(builder: DataLoaderBuilder) -> String {
    builder.build(&Backend::Cpu).unwrap_err().to_string()
}

#[test]
fn arguments_that_cannot_work_name_what_does() {
    for alpha in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let expected = format!("alpha: {alpha}; a finite number > 0 works");
        assert_eq!(refused(builder().batch_transform(MixUp::new(alpha))), expected);
        assert_eq!(refused(builder().batch_transform(CutMix::new(alpha))), expected);
        let nested = BatchTransform::choice([CutMix::new(1.0).into(), MixUp::new(alpha).into()]);
        assert_eq!(refused(builder().batch_transform(nested)), expected);
    }
    let choice = || BatchTransform::choice([MixUp::new(1.0).into(), CutMix::new(1.0).into()]);
    for weights in [
        vec![],
        vec![1.0],
        vec![1.0; 3],
        vec![0.0, 0.0],
        vec![2.0, -1.0],
        vec![1.0, f64::NAN],
        vec![1.0, f64::INFINITY],
    ] {
        let error = refused(builder().batch_transform(choice().p(weights)));
        assert!(
            error.starts_with("p: [") && error.contains("one finite number >= 0 for each works, not all 0"),
            "{error}"
        );
    }
    assert!(builder().batch_transform(choice().p([0.0, 3.0])).build(&Backend::Cpu).is_ok());
    let error = refused(builder().batch_transform(BatchTransform::choice([])));
    assert_eq!(error, "transforms: 0 of them; 1 to 255 work");
    let deep = (0..5).fold(BatchTransform::from(MixUp::new(1.0)), |inner, _| BatchTransform::choice([inner]).into());
    assert_eq!(refused(builder().batch_transform(deep)), "transforms: 5 choices inside each other; up to 4 work");
}

#[test]
fn bytes_are_not_blended() {
    let bytes = || builder().output(Layout::Nhwc, DType::U8);
    let choice = BatchTransform::choice([CutMix::new(1.0).into(), MixUp::new(1.0).into()]);
    for transform in [MixUp::new(1.0).into(), BatchTransform::from(choice)] {
        let error = refused(bytes().batch_transform(transform));
        assert!(error.starts_with("batch_transform: MixUp blends floats, but the output has 8-bit numbers"), "{error}");
        assert!(error.ends_with("; DType::F32, DType::F16 and DType::BF16 work"), "{error}");
    }
    assert!(bytes().batch_transform(CutMix::new(1.0)).build(&Backend::Cpu).is_ok());
}

#[test]
fn mixing_needs_labels() {
    let unlabelled = DataLoader::builder(data(Label::None)).transform(CenterCrop::new(8));
    assert_eq!(
        refused(unlabelled.batch_transform(CutMix::new(1.0))),
        "batch_transform: mixing needs samples with a class or a vector each, but sample 0 has no label"
    );
    // A label of a later sample is seen when it is asked for.
    let mut mixed = data(Label::Class(1));
    mixed.push_pixels(8, 8, PixelFormat::Rgb8, vec![0; 192], Label::None).unwrap();
    let loader =
        DataLoader::builder(mixed).transform(CenterCrop::new(8)).batch_size(5).batch_transform(CutMix::new(1.0));
    let batch = loader.build(&Backend::Cpu).unwrap().epoch(0).unwrap().next().unwrap().unwrap();
    assert_eq!(batch.mixed(), None);
    assert!(batch.soft_labels(2).unwrap_err().to_string().contains("None is no class number"));
}

/// Returns the error for a recipe with these lines after its only transform, which takes lines 1 to 3.
fn line(text: &str) -> String {
    let text = format!("[[transform]]\ntype = \"CenterCrop\"\nsize = 8\n{text}");
    recipe::from_toml(&text).map(|recipe| panic!("{recipe:?}")).unwrap_err().to_string()
}

#[test]
fn recipes_name_the_line() {
    let one = |lines: &str| line(&format!("[[batch_transform]]\n{lines}"));
    let cases = [
        ("type = \"MixUp\"\nalpha = 0\n", "line 6, MixUp: alpha: 0; a finite number > 0 works"),
        ("type = \"CutMix\"\nalpha = \"x\"\n", "line 6, CutMix: alpha: \"x\"; a finite number > 0 works"),
        ("type = \"MixUp\"\npartner = \"Next\"\n", "line 6, MixUp: partner: \"Next\"; Previous and Reversed work"),
        ("type = \"RandomChoice\"\ntransforms = []\n", "line 6, RandomChoice: transforms: 0 of them; 1 to 255 work"),
        (
            "type = \"RandomChoice\"\np = 0.5\ntransforms = [{type = \"MixUp\"}]\n",
            "line 6, RandomChoice: p: 0.5; a list of one",
        ),
        (
            "type = \"RandomChoice\"\np = [0, 0]\n[[batch_transform.transforms]]\ntype = \"MixUp\"\n[[batch_transform.transforms]]\ntype = \"CutMix\"\n",
            "line 6, RandomChoice: p: [0.0, 0.0] for 2 transforms",
        ),
        (
            "type = \"RandomChoice\"\n[[batch_transform.transforms]]\ntype = \"MixUp\"\n[[batch_transform.transforms]]\ntype = \"CutMix\"\nalpha = -1\n",
            "line 10, CutMix: alpha: -1; a finite number > 0 works",
        ),
        ("type = \"Identity\"\nalpha = 1\n", "line 6, Identity: unknown field `alpha`"),
        ("type = \"CenterCrop\"\nsize = 8\n", "line 5: type: unknown variant `CenterCrop`"),
        (
            "type = \"MixUp\"\n[[batch_transform]]\ntype = \"CutMix\"\n",
            "line 6: batch_transform: one works; a RandomChoice",
        ),
        (
            "type = \"MixUp\"\n[output]\nlayout = \"Nchw\"\ndtype = \"U8\"\n",
            "line 4: batch_transform: MixUp blends floats",
        ),
    ];
    for (text, expected) in cases {
        let error = one(text);
        assert!(error.starts_with(&format!("recipe: {expected}")), "{text}: {error}");
    }
}

#[test]
fn recipes_keep_the_batch_transform() {
    let choice = BatchTransform::choice([MixUp::new(0.8).into(), CutMix::default().into()]).p([1.0, 3.0]);
    let given = Recipe {
        transforms: vec![CenterCrop::new(8).into()],
        batch_transform: Some(choice.into()),
        ..Recipe::default()
    };
    let text = given.to_toml().unwrap();
    assert_eq!(recipe::from_toml(&text).unwrap(), given, "{text}");
    let loader = DataLoader::builder(data(Label::Class(0))).recipe(&given).build(&Backend::Cpu).unwrap();
    assert_eq!(loader.recipe().batch_transform, given.batch_transform);
    assert!(loader.explain().contains("mixing: "), "{}", loader.explain());
    let loader = DataLoader::builder(data(Label::Class(0))).recipe(&given).batch_transform(MixUp::new(0.5));
    let loader = loader.build(&Backend::Cpu).unwrap();
    assert_eq!(loader.recipe().batch_transform, Some(MixUp::new(0.5).into()));
    assert!(!builder().build(&Backend::Cpu).unwrap().explain().contains("mixing"));
}

#[test]
fn parameters_of_other_partners_are_refused() {
    let loader = builder().batch_transform(CutMix::new(1.0)).build(&Backend::Cpu).unwrap();
    let params = loader.epoch(0).unwrap().next().unwrap().unwrap().params()[0].clone();
    assert!(loader.replay(0, &params).is_ok());
    let refused = |change: &dyn Fn(&mut Mixed)| {
        let mut params = params.clone();
        change(params.mixed.as_mut().unwrap());
        loader.replay(0, &params).unwrap_err().to_string()
    };
    let share = |lambda: f64| refused(&move |mixed| mixed.mix = Mix::MixUp { lambda });
    assert!([-0.1, 1.1, f64::NAN, f64::INFINITY].map(share).iter().all(|error| error.contains("0 to 1 work")));
    let rectangle = |[top, left, height, width]: [u32; 4]| {
        refused(&move |mixed| mixed.mix = Mix::CutMix { top, left, height, width, lambda: 0.5 })
    };
    for sides in [[0, 0, 9, 1], [0, 8, 1, 1], [u32::MAX, 0, 1, 1], [0, u32::MAX, 0, u32::MAX]] {
        assert!(rectangle(sides).contains("leaves the image, 8x8"), "{sides:?}");
    }
    assert!(refused(&|mixed| mixed.index = 4).contains("this data set does not have"));
    assert!(refused(&|mixed| mixed.id += 1).contains("this data set does not have"));
    assert!(refused(&|mixed| mixed.params.width = 5).contains("they were made for 5x8 pixels"));
    let nested = params.clone();
    assert!(refused(&|mixed| mixed.params = nested.clone()).contains("say that it was mixed"));
    // A processor has no data set to read the partner from.
    let processor = gpufeed::Processor::new(loader.plan(), &Backend::Cpu).unwrap();
    let pixels = gpufeed::Pixels::new(9, 8, PixelFormat::Rgb8, &[0; 216]).unwrap();
    let error = processor.run(&[(pixels, &params)]).unwrap_err().to_string();
    assert!(error.contains("whose pixels only the replay of a loader reads"), "{error}");
    assert!(processor.run(&[(pixels, &Params { mixed: None, ..params.clone() })]).is_ok());
    let bytes = builder().output(Layout::Nchw, DType::U8).build(&Backend::Cpu).unwrap();
    let mut blended = params.clone();
    blended.mixed.as_mut().unwrap().mix = Mix::MixUp { lambda: 0.5 };
    assert!(bytes.replay(0, &blended).unwrap_err().to_string().contains("MixUp blends floats"));
}
