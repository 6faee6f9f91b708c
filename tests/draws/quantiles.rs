//! 20,000 draws of a transform have the distribution of torchvision's, whose quantiles and counts are in
//! `tests/golden/draw_quantiles.json`.

use crate::statistics::{of_distance, same_distribution, uniform};
use gpufeed::transforms::{
    Key, Op, Params, RandomPhotometricDistort, RandomResize, RandomShortestSize, RandomZoomOut, ScaleJitter, Transform,
};
use gpufeed::{Output, Plan};
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::LazyLock;

pub(crate) const DRAWS: u64 = 20_000;

/// The significance level: a p-value below it counts as a difference.
pub(crate) const SIGNIFICANCE: f64 = 1e-4;

#[derive(Deserialize)]
struct Table {
    /// The probabilities of the quantiles.
    quantiles: Vec<f64>,
    draws: Vec<Case>,
}

#[derive(Deserialize)]
pub(crate) struct Case {
    cls: String,
    args: Value,
    pub(crate) height: u32,
    pub(crate) width: u32,
    #[serde(default)]
    values: Numbers,
    /// The magnitudes of each operation of a policy.
    #[serde(default)]
    pub(crate) magnitudes: Numbers,
    /// How often a policy applied these operations, joined by `+`.
    #[serde(default)]
    pub(crate) ops: BTreeMap<String, u64>,
}

/// What torchvision drew, by its names.
type Numbers = BTreeMap<String, Values>;

/// The values that torchvision drew of one number.
#[derive(Deserialize)]
pub(crate) struct Values {
    /// How many draws had the number.
    n: u64,
    quantiles: Vec<f64>,
    /// Each value with its count, where there are few.
    #[serde(default)]
    counts: Vec<(f64, u64)>,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../golden/draw_quantiles.json")).expect("draw_quantiles.json is valid")
});

/// The numbers that a transform drew, by torchvision's names for them.
pub(crate) type Drawn = BTreeMap<String, Vec<f64>>;

/// The parameters of 20,000 images of the case's size.
pub(crate) fn params(transform: Transform, case: &Case) -> Vec<Params> {
    let plan = Plan::compile(&[transform], &Output::default()).unwrap();
    let key = |sample| Key { seed: 31, sample, ..Key::default() };
    (0..DRAWS).map(|sample| plan.make_params(case.width, case.height, &key(sample)).unwrap()).collect()
}

fn draw(transform: Transform, case: &Case, numbers: impl Fn(&Params) -> Vec<(&'static str, f64)>) -> Drawn {
    let mut drawn = Drawn::new();
    for params in params(transform, case) {
        for (name, number) in numbers(&params) {
            drawn.entry(name.to_owned()).or_default().push(number);
        }
    }
    drawn
}

/// Returns the least p-value of all comparisons, with the name of its number.
pub(crate) fn least(values: &Numbers, mut drawn: Drawn) -> (f64, String) {
    drawn.values_mut().for_each(|values| values.sort_by(f64::total_cmp));
    let mut least = (1.0, String::new());
    let mut compared = |name: String, probability: f64| {
        if probability < least.0 {
            least = (probability, name);
        }
    };
    for (name, theirs) in values {
        // The ops show the place of a contrast only where there is one.
        if name == "contrast_before" {
            continue;
        }
        let Some(ours) = drawn.get(name) else { return (0.0, format!("{name}, never drawn")) };
        let (n, m) = (ours.len() as f64, theirs.n as f64);
        // A share p of torchvision's values is at most its quantile, and a share 1 - p at least: ours differ by as much
        // as they lack on either side.
        let mut distance = 0f64;
        for (p, quantile) in TABLE.quantiles.iter().zip(&theirs.quantiles) {
            // Both may round the last digit of a number that comes often.
            let margin = 1e-6 * quantile.abs();
            let below = ours.partition_point(|value| *value < quantile - margin) as f64 / n;
            let up_to = ours.partition_point(|value| *value <= quantile + margin) as f64 / n;
            distance = distance.max(p - up_to).max(below - p);
        }
        compared(format!("{name}, Kolmogorov-Smirnov"), of_distance(distance, n, m));
        let drawn_or_not =
            same_distribution(&[ours.len() as u64, DRAWS - ours.len() as u64], &[theirs.n, 20_000 - theirs.n]);
        compared(format!("{name}, drawn or not"), drawn_or_not);
        if !theirs.counts.is_empty() {
            let equal = |ours: f64, value: f64| (ours - value).abs() <= 1e-6 * value.abs();
            let count = |value| ours.iter().filter(|&&ours| equal(ours, value)).count() as u64;
            let counted: Vec<u64> = theirs.counts.iter().map(|&(value, _)| count(value)).collect();
            let others = ours.len() as u64 - counted.iter().sum::<u64>();
            let ours: Vec<u64> = counted.into_iter().chain([others]).collect();
            let theirs: Vec<u64> = theirs.counts.iter().map(|&(_, count)| count).chain([0]).collect();
            compared(format!("{name}, chi²"), same_distribution(&ours, &theirs));
        }
    }
    least
}

pub(crate) fn case(cls: &str) -> &'static Case {
    TABLE.draws.iter().find(|case| case.cls == cls).unwrap_or_else(|| panic!("no case {cls}"))
}

/// The case of a class with these arguments.
pub(crate) fn case_with(cls: &str, args: &Value) -> &'static Case {
    let wanted = |case: &&Case| case.cls == cls && case.args == *args;
    TABLE.draws.iter().find(wanted).unwrap_or_else(|| panic!("no case {cls} {args}"))
}

/// Compares the draws of `right` with torchvision's, and those of each of `wrong`, which must differ.
pub(crate) fn compare(
    cls: &str,
    right: impl Into<Transform>,
    wrong: Vec<Transform>,
    numbers: impl Fn(&Params) -> Vec<(&'static str, f64)> + Copy,
) {
    let case = case(cls);
    let (probability, name) = least(&case.values, draw(right.into(), case, numbers));
    assert!(probability > SIGNIFICANCE, "{cls}: {probability:.1e} ({name})");
    for wrong in wrong {
        let (probability, _) = least(&case.values, draw(wrong.clone(), case, numbers));
        assert!(probability < SIGNIFICANCE, "{wrong:?} passes with {probability:.1e}");
    }
}

fn size(params: &Params) -> Vec<(&'static str, f64)> {
    let [Op::Resize { height, width, .. }] = ops(params)[..] else { panic!("{params:?}") };
    vec![("height", height.into()), ("width", width.into())]
}

pub(crate) fn ops(params: &Params) -> Vec<Op> {
    params.ops.iter().map(|op| op.op.clone()).collect()
}

#[test]
fn random_resize_draws_as_torchvision() {
    let short = |params: &Params| vec![("size", size(params)[0].1)];
    // One size too many at the upper end, and one too few.
    let wrong = vec![RandomResize::new(64, 71).into(), RandomResize::new(64, 69).into()];
    compare("RandomResize", RandomResize::new(64, 70), wrong, short);
}

#[test]
fn random_shortest_size_draws_as_torchvision() {
    let sizes = RandomShortestSize::new([64, 96, 128, 160]);
    let wrong =
        vec![sizes.clone().max_size(210).into(), RandomShortestSize::new([64, 96, 128, 160, 160]).max_size(230).into()];
    compare("RandomShortestSize", sizes.max_size(230), wrong, size);
}

#[test]
fn scale_jitter_draws_as_torchvision() {
    let jitter = ScaleJitter::new((300, 200));
    let wrong = vec![
        jitter.clone().scale_range(0.1, 1.95).into(),
        jitter.clone().scale_range(0.15, 2.0).into(),
        // Height and width the other way round.
        ScaleJitter::new((200, 300)).into(),
    ];
    compare("ScaleJitter", jitter, wrong, size);
}

#[test]
fn random_zoom_out_draws_as_torchvision() {
    let border = |params: &Params| {
        let [left, top, right, bottom] = match ops(params)[..] {
            // A canvas of the image's size needs no border.
            [] => [0; 4],
            [Op::Pad { left, top, right, bottom, .. }] => [left, top, right, bottom],
            _ => panic!("{params:?}"),
        };
        ["left", "top", "right", "bottom"].into_iter().zip([left, top, right, bottom].map(f64::from)).collect()
    };
    let zoom = RandomZoomOut::new(1.0);
    let wrong = vec![zoom.clone().side_range(1.0, 3.7).into(), zoom.clone().side_range(1.15, 4.0).into()];
    compare("RandomZoomOut", zoom, wrong, border);
}

#[test]
fn random_photometric_distort_draws_as_torchvision() {
    let numbers = |params: &Params| {
        let number = |op| match op {
            Op::Brightness { factor } => ("brightness_factor", factor.into()),
            Op::Contrast { factor } => ("contrast_factor", factor.into()),
            Op::Saturation { factor } => ("saturation_factor", factor.into()),
            Op::Hue { factor } => ("hue_factor", factor.into()),
            Op::PermuteChannels { permutation: [a, b, c] } => ("channel_permutation", f64::from(100 * a + 10 * b + c)),
            other => panic!("{other:?}"),
        };
        ops(params).into_iter().map(number).collect()
    };
    let distort = RandomPhotometricDistort::default();
    let wrong = vec![
        RandomPhotometricDistort::new(0.54).into(),
        distort.clone().brightness(0.875, 1.14).into(),
        distort.clone().contrast(0.56, 1.5).into(),
        distort.clone().saturation(0.5, 1.56).into(),
        distort.clone().hue(-0.05, 0.056).into(),
    ];
    compare("RandomPhotometricDistort", distort.clone(), wrong, numbers);

    // The contrast is before the saturation in half of the images that have one, and after the hue in the others.
    let plan = Plan::compile(&[distort.into()], &Output::default()).unwrap();
    let mut places = [0; 2];
    for sample in 0..DRAWS {
        let params = plan.make_params(9, 9, &Key { sample, ..Key::default() }).unwrap();
        let position = |wanted: fn(&Op) -> bool| params.ops.iter().position(|op| wanted(&op.op));
        let contrast = position(|op| matches!(op, Op::Contrast { .. }));
        let saturation = position(|op| matches!(op, Op::Saturation { .. }));
        let hue = position(|op| matches!(op, Op::Hue { .. }));
        if let (Some(contrast), Some(saturation), Some(hue)) = (contrast, saturation, hue) {
            assert!(saturation < hue && (contrast < saturation || contrast > hue), "{params:?}");
            places[usize::from(contrast > hue)] += 1;
        }
    }
    assert!(uniform(&places) > SIGNIFICANCE, "{places:?}");
}
