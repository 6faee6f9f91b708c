//! Lists with warps, policies and 8-bit numbers through the whole pipeline: the same batches whatever the workers, the
//! cache and the backend, replays from their parameters, and the errors of `build()`.

use gpufeed::transforms::{
    AugMix, AutoAugment, ElasticTransform, Fill, GaussianBlur, GaussianNoise, Interpolation, JPEG, Normalize, Params,
    RandAugment, RandomAdjustSharpness, RandomAffine, RandomApply, RandomChoice, RandomCrop, RandomEqualize,
    RandomHorizontalFlip, RandomOrder, RandomPerspective, RandomResizedCrop, RandomRotation, RandomSolarize, Resize,
    TimmAugMix, TimmAugmentOp, TimmAutoAugment, TimmOp, TimmRandAugment, ToDtype, Transform, TrivialAugmentWide,
};
use gpufeed::{Backend, Cache, DataLoader, DataLoaderBuilder, InMemory, Semantics, recipe};
use gpufeed_testing::pipeline::{assert_same, places, seen, small_files, within};
use std::sync::LazyLock;

static FILES: LazyLock<InMemory> = LazyLock::new(|| small_files(24));

/// Lists whose first transform is fixed, so that a cache divides them, each with the semantics to run it in.
pub(super) fn lists() -> Vec<(Semantics, Vec<Transform>)> {
    let choice: [Transform; 3] =
        [RandAugment::default().into(), TrivialAugmentWide::new().into(), AutoAugment::default().into()];
    let order: [Transform; 4] = [
        RandomAdjustSharpness::new(2.0).into(),
        RandomEqualize::new(0.5).into(),
        RandomSolarize::new(0.5).into(),
        GaussianBlur::new(5).into(),
    ];
    let warps: [Transform; 2] = [
        RandomRotation::new(30.0).interpolation(Interpolation::Bilinear).fill(0.5).into(),
        RandomApply::new(0.5, [RandomPerspective::new(0.4).p(0.8)]).into(),
    ];
    let float = vec![
        Resize::new(40).into(),
        RandomResizedCrop::new(24).into(),
        RandomChoice::new(choice.clone()).p([1.0, 2.0, 1.0]).into(),
        RandomOrder::new(order.clone()).into(),
        Normalize::IMAGENET.into(),
    ];
    let uint8 = vec![
        Resize::new(40).into(),
        RandomCrop::new(24).padding(2).fill([200.0, 3.0, 90.0]).into(),
        RandomChoice::new(choice).into(),
        RandomOrder::new(warps).into(),
        RandomAffine::new(10.0).translate(0.1, 0.1).shear(5.0).fill(Fill::None).into(),
        ToDtype::new().into(),
        Normalize::IMAGENET.into(),
    ];
    let pixels =
        vec![RandomHorizontalFlip::new(0.5).into(), RandAugment::new(3, 20).into(), Resize::new((24, 24)).into()];
    let neighbors: [Transform; 3] = [
        JPEG::new((20, 80)).into(),
        GaussianNoise::new(0.1).into(),
        ElasticTransform::new(30.0, 3.0).fill([9.0, 99.0, 200.0]).into(),
    ];
    let noisy = vec![Resize::new((24, 24)).into(), RandomOrder::new(neighbors).into()];
    let moved = vec![
        Resize::new(30).into(),
        RandomCrop::new(24).into(),
        ElasticTransform::default().interpolation(Interpolation::Nearest).into(),
        GaussianNoise::new(0.2).mean(-0.1).clip(false).into(),
        RandomApply::new(0.5, [ElasticTransform::new(20.0, 2.0)]).into(),
        RandomHorizontalFlip::new(0.5).into(),
    ];
    let mixtures = vec![
        Resize::new(32).into(),
        RandomCrop::new(24).into(),
        AugMix::new().severity(7).into(),
        RandomApply::new(0.5, [AugMix::new().mixture_width(2).chain_depth(4).alpha(0.4).all_ops(false)]).into(),
        RandomHorizontalFlip::new(0.5).into(),
    ];
    // DeiT III's: a simple crop or a resized one, which both end in one size.
    let simple: Transform =
        RandomApply::new(1.0, [Resize::new(26).into(), RandomCrop::new(24).into()] as [Transform; 2]).into();
    let crops = vec![
        Resize::new(40).into(),
        RandomChoice::new([simple, RandomResizedCrop::new(24).into()]).into(),
        RandomHorizontalFlip::new(0.5).into(),
    ];
    vec![
        (Semantics::Float, float),
        (Semantics::Uint8, uint8),
        (Semantics::Uint8, pixels),
        (Semantics::Uint8, noisy),
        (Semantics::Float, moved),
        (Semantics::Uint8, mixtures.clone()),
        (Semantics::Float, mixtures),
        (Semantics::Uint8, crops.clone()),
        (Semantics::Float, crops),
        (Semantics::Uint8, timms()),
    ]
}

/// Every policy of timm.
fn timms() -> Vec<Transform> {
    use TimmOp::{AutoContrast, ContrastIncreasing, Desaturate, GaussianBlurRand, Rotate, SharpnessIncreasing, ShearX};
    let op = |name| TimmAugmentOp { prob: 0.8, uniform: true, ..TimmAugmentOp::new(name) };
    let ops = [Rotate, ContrastIncreasing, SharpnessIncreasing, AutoContrast, GaussianBlurRand, ShearX].map(op);
    vec![
        Resize::new(32).into(),
        RandomCrop::new(24).into(),
        TimmRandAugment::new(ops.clone()).into(),
        TimmAugMix { blended: true, ..TimmAugMix::new(ops.clone()) }.into(),
        TimmAutoAugment::new(vec![ops[..2].to_vec(), ops[2..].to_vec()]).into(),
        RandomApply::new(0.5, [Transform::from(TimmAugMix::new(ops)), op(Desaturate).into()]).into(),
        RandomHorizontalFlip::new(0.5).into(),
    ]
}

pub(super) fn builder((semantics, list): &(Semantics, Vec<Transform>)) -> DataLoaderBuilder {
    let builder = DataLoader::builder(FILES.clone()).recipe(list).semantics(*semantics);
    builder.batch_size(8).shuffle(true).seed(11).workers(2)
}

#[test]
fn every_way_gives_the_same_batches() {
    within(300, "every list", || {
        for list in lists() {
            let expected = seen(builder(&list).workers(1).build(&Backend::Cpu).unwrap().epochs(1..3).unwrap());
            for place in places().iter().filter(|place| !place.is_shaders()) {
                for (workers, depth) in [(2, 1), (8, 4)] {
                    let loader = place.build(builder(&list).workers(workers).queue_depth(depth));
                    let what = format!("{}, {workers} workers, {:?}", place.name, list.0);
                    assert_same(&expected, &seen(loader.epochs(1..3).unwrap()), &what);
                }
            }
            for (what, builder) in [
                ("host cache", builder(&list).cache(Cache::Host(64 << 20))),
                ("a cache too small for all", builder(&list).cache(Cache::Host(20 << 10))),
            ] {
                let loader = builder.build(&Backend::Cpu).unwrap();
                // The second run reads what the first one cached.
                for _ in 0..2 {
                    assert_same(&expected, &seen(loader.epochs(1..3).unwrap()), what);
                }
            }
        }
    });
}

#[test]
fn parameters_from_json_replay_each_image() {
    for list in lists() {
        let loader = builder(&list).views(2).build(&Backend::Cpu).unwrap();
        for batch in loader.epoch(5).unwrap() {
            let batch = batch.unwrap();
            let bytes = batch.to_host().unwrap();
            let image = bytes.len() / batch.ids().len();
            for (i, params) in batch.params().iter().enumerate() {
                let params: Params = serde_json::from_str(&serde_json::to_string(params).unwrap()).unwrap();
                let again = loader.replay(batch.ids()[i] as usize, &params).unwrap();
                assert!(again == bytes[i * image..][..image], "image {i}: {params:?}");
            }
        }
    }
}

/// The same sample has the same bits in a batch of one and among other samples with other operations.
#[test]
fn an_image_does_not_depend_on_its_neighbours() {
    for list in lists() {
        let together = seen(builder(&list).shuffle(false).build(&Backend::Cpu).unwrap().epoch(2).unwrap());
        let alone = seen(builder(&list).shuffle(false).batch_size(1).build(&Backend::Cpu).unwrap().epoch(2).unwrap());
        for (i, one) in alone.iter().enumerate() {
            assert!(together[i / 8].image(i % 8) == one.image(0), "sample {i}");
        }
    }
}

/// 8-bit numbers that no operator has made floats are the bytes of a `U8` batch.
#[test]
fn bytes_stay_bytes() {
    let list = [Resize::new((20, 30)).into(), RandAugment::default().into()];
    let builder = || DataLoader::builder(FILES.clone()).recipe(&list).semantics(Semantics::Uint8).batch_size(8);
    let floats = seen(builder().build(&Backend::Cpu).unwrap().epoch(0).unwrap());
    let dtype = gpufeed::DType::U8;
    let bytes = seen(builder().output(gpufeed::Layout::Nchw, dtype).build(&Backend::Cpu).unwrap().epoch(0).unwrap());
    for (floats, bytes) in floats.iter().zip(&bytes) {
        let exact = |(value, byte): (f32, &u8)| value == f32::from(*byte) * (1.0 / 255.0);
        assert!(floats.floats().into_iter().zip(&bytes.bytes).all(exact));
    }
}

#[test]
fn a_loader_says_what_has_no_shaders() {
    let large = (Semantics::Float, vec![Resize::new((24, 24)).into(), GaussianBlur::new(301).into()]);
    for place in places().iter().filter(|place| place.is_shaders()) {
        let error = place.try_build(builder(&large)).unwrap_err().to_string();
        assert!(error.contains("execute") && error.contains("GaussianBlur"), "{}: {error}", place.name);
    }
    for (list, name) in [(3, "JPEG, ElasticTransform"), (4, "ElasticTransform"), (5, "AugMix"), (9, "TimmAugMix")] {
        let list = &lists()[list];
        for place in places().iter().filter(|place| place.is_shaders()) {
            let error = place.try_build(builder(list)).unwrap_err().to_string();
            assert!(error.contains("execute") && error.contains(name), "{}: {error}", place.name);
        }
    }
}

#[test]
fn wrong_lists_are_refused_with_what_works() {
    let resize = || Transform::from(Resize::new((24, 24)));
    let uint8: [(Vec<Transform>, &str); 10] = [
        (vec![resize(), RandomApply::new(0.5, [ToDtype::new()]).into()], "ToDtype inside RandomApply"),
        (vec![RandomRotation::new(9.0).expand(true).into()], "one size"),
        (
            vec![resize(), RandomRotation::new(9.0).interpolation(Interpolation::NearestExact).into()],
            "Nearest, Bilinear and Bicubic",
        ),
        (vec![resize(), RandomRotation::new((9.0, 3.0)).into()], "least <= greatest"),
        (vec![resize(), AugMix::new().severity(0).into()], "severity: 0; 1 to 10 work"),
        (vec![resize(), AugMix::new().severity(11).into()], "severity: 11; 1 to 10 work"),
        (vec![resize(), AugMix::new().mixture_width(0).into()], "mixture_width: 0; 1 to 64 work"),
        (vec![resize(), AugMix::new().chain_depth(0).into()], "chain_depth: 0; 1 to 64 work, and -1"),
        (vec![resize(), AugMix::new().chain_depth(-2).into()], "chain_depth: -2;"),
        (vec![resize(), AugMix::new().alpha(0.0).into()], "alpha: 0; a finite number > 0 works"),
    ];
    for (list, reason) in uint8 {
        let error = builder(&(Semantics::Uint8, list)).build(&Backend::Cpu).unwrap_err().to_string();
        assert!(error.contains(reason), "{error}");
    }
    let solarize = vec![resize(), RandomSolarize::new(128.0).into()];
    assert!(builder(&(Semantics::Uint8, solarize.clone())).build(&Backend::Cpu).is_ok());
    let error = builder(&(Semantics::Float, solarize)).build(&Backend::Cpu).unwrap_err().to_string();
    assert!(error.contains("threshold") && error.contains("0 to 255 work with Semantics::Uint8"), "{error}");
    for (text, reason) in [
        ("type = \"RandAugment\"\nmagnitude = 31", "line 3, RandAugment: magnitude: 31; 0 to 30 work with 31 bins"),
        ("type = \"GaussianBlur\"\nkernel_size = 4", "line 3, GaussianBlur: kernel_size: 4; odd numbers"),
        ("type = \"JPEG\"\nquality = 0", "line 3, JPEG: quality: (0, 0); 1 to 100"),
        ("type = \"JPEG\"\nquality = [50, 101]", "line 3, JPEG: quality: (50, 101); 1 to 100"),
        ("type = \"JPEG\"\nquality = \"best\"", "line 3"),
        ("type = \"GaussianNoise\"\nsigma = -1", "line 3, GaussianNoise: sigma: -1; 0 to 1,000,000 work"),
        ("type = \"GaussianNoise\"\nmean = nan", "line 3, GaussianNoise: mean: NaN"),
        ("type = \"GaussianNoise\"\nclip = 1", "line 3"),
        ("type = \"ElasticTransform\"\nalpha = inf", "line 3, ElasticTransform: alpha"),
        ("type = \"ElasticTransform\"\nsigma = [5, 0]", "line 3, ElasticTransform: sigma: [5.0, 0.0]; more than 0"),
        (
            "type = \"ElasticTransform\"\nalpha = 9\ninterpolation = \"Bicubic\"",
            "line 4, ElasticTransform: interpolation: Bicubic; Nearest and Bilinear work",
        ),
        ("type = \"RandomAffine\"\ndegrees = 3\nscale = [0, 1]", "line 4, RandomAffine: scale"),
        ("type = \"RandomPerspective\"\ndistortion_scale = 2", "line 3, RandomPerspective: distortion_scale: 2"),
        ("type = \"RandomChoice\"\np = [1]\ntransforms = []", "RandomChoice: transforms: 0 of them"),
    ] {
        let error = recipe::from_toml(&format!("[[transform]]\n{text}\n")).unwrap_err().to_string();
        assert!(error.contains(reason), "{error}");
    }
}
