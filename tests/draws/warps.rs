//! The angles, moves, scales, corners and sigmas of warps and blurs have torchvision's distributions
//! (`tests/golden/draw_quantiles.json`).

use crate::quantiles::{SIGNIFICANCE, compare, ops};
use crate::statistics::chi2_probability;
use gpufeed::transforms::{
    GaussianBlur, Key, Op, Params, RandomAdjustSharpness, RandomAffine, RandomAutocontrast, RandomEqualize,
    RandomPerspective, RandomRotation, Transform,
};
use gpufeed::{Output, Plan};

#[test]
fn random_rotation_draws_as_torchvision() {
    let angle = |params: &Params| {
        let [Op::Rotate { angle, .. }] = ops(params)[..] else { panic!("{params:?}") };
        vec![("angle", angle)]
    };
    let wrong = vec![RandomRotation::new(31.5).into(), RandomRotation::new((-28.5, 30.0)).into()];
    compare("RandomRotation", RandomRotation::new(30.0), wrong, angle);
}

#[test]
fn random_affine_draws_as_torchvision() {
    let numbers = |params: &Params| {
        let [Op::Affine { angle, translate: [tx, ty], scale, shear: [shear_x, shear_y], .. }] = ops(params)[..] else {
            panic!("{params:?}")
        };
        let [right, down] = [tx, ty];
        assert_eq!([right.fract(), down.fract()], [0.0; 2], "whole pixels");
        vec![("angle", angle), ("tx", tx), ("ty", ty), ("scale", scale), ("shear_x", shear_x), ("shear_y", shear_y)]
    };
    let affine = RandomAffine::new(15.0).translate(0.1, 0.2).scale(0.8, 1.2).shear(10.0);
    let other = |change: fn(RandomAffine) -> RandomAffine| Transform::from(change(affine.clone()));
    let wrong = vec![
        other(|affine| RandomAffine { degrees: 15.8.into(), ..affine }),
        // A pixel more to the right, and shares of the other side.
        other(|affine| affine.translate(0.105, 0.2)),
        other(|affine| affine.translate(0.2, 0.1)),
        other(|affine| affine.scale(0.8, 1.22)),
        other(|affine| affine.shear(10.6)),
        other(|affine| affine.shear_y(0.1)),
    ];
    compare("RandomAffine", affine, wrong, numbers);
}

const CORNERS: [[&str; 2]; 4] = [["x0", "y0"], ["x1", "y1"], ["x2", "y2"], ["x3", "y3"]];

#[test]
fn random_perspective_draws_as_torchvision() {
    let corners = |params: &Params| {
        let [Op::Perspective { startpoints, endpoints, .. }] = ops(params)[..] else { panic!("{params:?}") };
        assert_eq!(startpoints, [[0, 0], [199, 0], [199, 149], [0, 149]]);
        CORNERS.as_flattened().iter().copied().zip(endpoints.as_flattened().iter().map(|&at| f64::from(at))).collect()
    };
    let perspective = RandomPerspective::new(0.5).p(1.0);
    // One place fewer across (50 in place of 51), and one more down.
    let wrong = vec![RandomPerspective::new(0.499).p(1.0).into(), RandomPerspective::new(0.51).p(1.0).into()];
    compare("RandomPerspective", perspective, wrong, corners);
}

#[test]
fn gaussian_blur_draws_as_torchvision() {
    let sigma = |params: &Params| {
        let [Op::GaussianBlur { kernel_size, sigma: [across, down] }] = ops(params)[..] else { panic!("{params:?}") };
        assert_eq!((kernel_size, across), ([9, 9], down), "one sigma for both axes");
        vec![("sigma", across)]
    };
    let blur = GaussianBlur::new(9).sigma(0.1, 2.0);
    let wrong = vec![GaussianBlur::new(9).sigma(0.1, 2.08).into(), GaussianBlur::new(9).sigma(0.18, 2.0).into()];
    compare("GaussianBlur", blur, wrong, sigma);
}

/// Returns the p-value of `transform` having probability `p` of an op.
fn chance(transform: &Transform, p: f64) -> f64 {
    let plan = Plan::compile(std::slice::from_ref(transform), &Output::default()).unwrap();
    let emits = |&sample: &u64| !plan.make_params(9, 8, &Key { sample, ..Key::default() }).unwrap().ops.is_empty();
    let (n, count) = (20_000.0, (0..20_000).filter(emits).count() as f64);
    let chi2 = (count - n * p).powi(2) / (n * p * (1.0 - p));
    chi2_probability(chi2, 1)
}

#[test]
fn transforms_apply_as_often_as_p_says() {
    for p in [0.5, 0.13] {
        for transform in [
            RandomAdjustSharpness::new(2.0).p(p).into(),
            RandomAutocontrast::new(p).into(),
            RandomEqualize::new(p).into(),
            RandomPerspective::new(0.5).p(p).into(),
        ] as [Transform; 4]
        {
            assert!(chance(&transform, p) > SIGNIFICANCE, "{transform:?}");
            assert!(chance(&transform, p + 0.02) < SIGNIFICANCE, "{transform:?} passes with another p");
        }
    }
}
