//! The sizes and borders of the transforms that change an image's size at random are torchvision's, number for number
//! (`tests/golden/random_sizes.json`), and lists that end in one of them are refused.

use gpufeed::transforms::{
    CenterCrop, Key, Op, Pad, RandomApply, RandomChoice, RandomCrop, RandomHorizontalFlip, RandomResize,
    RandomResizedCrop, RandomShortestSize, RandomZoomOut, Resize, ScaleJitter, Transform,
};
use gpufeed::{Backend, DataLoader, ErrorKind, Output, Plan};
use gpufeed_testing::pipeline::small_files;
use serde::Deserialize;
use std::sync::LazyLock;

#[derive(Deserialize)]
struct Tables {
    zoom_out: Vec<ZoomOut>,
    scale_jitter: Vec<Jitter>,
    shortest_size: Vec<Shortest>,
}

#[derive(Deserialize)]
struct ZoomOut {
    height: u32,
    width: u32,
    side_range: (f64, f64),
    /// What `torch.rand` gave, in f32: the side, then left and top.
    rand: [f32; 3],
    padding: [u32; 4],
}

#[derive(Deserialize)]
struct Jitter {
    height: u32,
    width: u32,
    target_size: (u32, u32),
    scale_range: (f64, f64),
    rand: f32,
    /// Height and width.
    size: (u32, u32),
}

#[derive(Deserialize)]
struct Shortest {
    height: u32,
    width: u32,
    min_size: Vec<u32>,
    max_size: Option<u32>,
    /// The index that was drawn.
    choice: usize,
    /// Height and width.
    size: (u32, u32),
}

static TABLES: LazyLock<Tables> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../golden/random_sizes.json")).expect("random_sizes.json is valid")
});

/// Returns what torchvision makes of a number of `torch.rand` and a range: all in f32.
fn in_range((least, greatest): (f64, f64), rand: f32) -> f32 {
    least as f32 + rand * (greatest - least) as f32
}

#[test]
fn zoomed_out_canvases_are_torchvisions() {
    assert_eq!(TABLES.zoom_out.len(), 60);
    for case in &TABLES.zoom_out {
        let [side, left, top] = case.rand;
        let zoom = RandomZoomOut::default();
        let side = in_range(case.side_range, side);
        assert_eq!(zoom.padding(case.width, case.height, side, [left, top]), case.padding);
    }
}

#[test]
fn jittered_scales_are_torchvisions() {
    assert_eq!(TABLES.scale_jitter.len(), 60);
    for case in &TABLES.scale_jitter {
        let scale = in_range(case.scale_range, case.rand);
        let (width, height) = ScaleJitter::new(case.target_size).output_size(case.width, case.height, scale);
        assert_eq!((height, width), case.size);
    }
}

#[test]
fn shortest_sizes_are_torchvisions() {
    assert_eq!(TABLES.shortest_size.len(), 60);
    for case in &TABLES.shortest_size {
        let sizes = RandomShortestSize { max_size: case.max_size, ..RandomShortestSize::new(case.min_size.clone()) };
        let (width, height) = sizes.output_size(case.width, case.height, case.min_size[case.choice]);
        assert_eq!((height, width), case.size);
    }
    // A rule that rounds gives other sizes, so the comparison can fail.
    let rounded = |case: &&Shortest| {
        let (low, high) = (case.width.min(case.height), case.width.max(case.height));
        let long = f64::from(case.min_size[case.choice]) * f64::from(high) / f64::from(low);
        case.max_size.is_none() && long.round() as u32 != case.size.0.max(case.size.1)
    };
    assert!(TABLES.shortest_size.iter().filter(rounded).count() > 3);
}

fn sizes() -> [Transform; 4] {
    [
        RandomResize::new(20, 30).into(),
        RandomShortestSize::new([20, 25]).into(),
        ScaleJitter::new((30, 20)).into(),
        RandomZoomOut::new(1.0).into(),
    ]
}

/// A panorama of 1:5000 keeps a pixel of height; a canvas or image that is too long is an error of its sample.
#[test]
fn extreme_images_keep_a_pixel_or_are_refused() {
    let make = |transform: &Transform, width, height| {
        let plan = Plan::compile(std::slice::from_ref(transform), &Output::default()).unwrap();
        plan.make_params(width, height, &Key::default())
    };
    for transform in [ScaleJitter::new((300, 200)).into(), RandomShortestSize::new([20]).max_size(90).into()] {
        let params = make(&transform, 5000, 1).unwrap();
        assert!(matches!(params.ops[0].op, Op::Resize { height: 1, .. }), "{params:?}");
    }
    let largest = 1 << 22;
    for transform in [
        RandomResize::new(20, 30).into(),
        RandomShortestSize::new([20]).into(),
        ScaleJitter::new((largest, 8)).scale_range(3.0, 3.0).into(),
        RandomZoomOut::new(1.0).side_range(2.0, 1e300).into(),
    ] as [Transform; 4]
    {
        let error = make(&transform, largest, 1).unwrap_err();
        let name = transform.name();
        assert!(matches!(error.kind(), ErrorKind::Transform { transform, .. } if *transform == name), "{error}");
        assert!(error.to_string().contains("set "), "{error}");
    }
}

#[test]
fn a_list_that_leaves_sizes_open_is_refused_by_name() {
    let build = |list: Vec<Transform>| DataLoader::builder(small_files(2)).recipe(list).build(&Backend::Cpu);
    let flip: Transform = RandomHorizontalFlip::default().into();
    for transform in sizes().into_iter().chain([Resize::new(20).into(), Pad::new(2).into()]) {
        let name = transform.name();
        let error = build(vec![flip.clone(), CenterCrop::new(16).into(), transform.clone(), flip.clone()]);
        // The size of a crop that is padded or resized by fixed numbers is known.
        if ["Resize", "Pad"].contains(&name) {
            assert!(error.is_ok(), "{name}");
        } else {
            let error = error.unwrap_err().to_string();
            assert!(error.contains(&format!("after {name} (transform 3) they differ")), "{error}");
            assert!(
                error.contains("end with RandomResizedCrop, RandomCrop, CenterCrop, FiveCrop, TenCrop or Resize"),
                "{error}"
            );
        }
        let loader = build(vec![transform.clone(), CenterCrop::new(16).into()]).unwrap();
        assert_eq!(loader.epoch(0).unwrap().next().unwrap().unwrap().shape()[2..], [16, 16]);
    }
    let error = build(vec![flip]).unwrap_err().to_string();
    assert!(error.contains("no transform gives them one"), "{error}");
}

#[test]
fn a_list_that_is_always_applied_fixes_the_size() {
    let build = |p: f64, size: u32| {
        let simple: [Transform; 2] = [Resize::new(20).into(), RandomCrop::new(size).into()];
        let choice: [Transform; 2] = [RandomApply::new(p, simple).into(), RandomResizedCrop::new(16).into()];
        DataLoader::builder(small_files(2)).transform(RandomChoice::new(choice)).build(&Backend::Cpu)
    };
    let loader = build(1.0, 16).unwrap();
    assert_eq!(loader.epoch(0).unwrap().next().unwrap().unwrap().shape()[2..], [16, 16]);
    for (p, size) in [(0.999, 16), (1.0, 15)] {
        let error = build(p, size).unwrap_err().to_string();
        assert!(error.contains("after RandomChoice (transform 1) they differ"), "{error}");
    }
}
