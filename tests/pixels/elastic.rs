//! `ElasticTransform` has the documented displacements, and moves pixels as the reference does.

use gpufeed::internals::given;
use gpufeed::transforms::{ElasticTransform, Interpolation, Key, Op};
use gpufeed::{Output, Plan, Semantics};
use gpufeed_testing::adapters::places;
use gpufeed_testing::dice::Dice;
use gpufeed_testing::images::Source;
use gpufeed_testing::procedural;
use gpufeed_testing::reference::sampling::{Filter, elastic};
use gpufeed_testing::reference::{self, elastic::field};

/// Sizes [x, y] of displacements and standard deviations, and images that are larger and smaller than the kernels.
const FIELDS: [([f64; 2], [f64; 2]); 7] = [
    ([50.0, 50.0], [5.0, 5.0]),
    ([20.0, 35.0], [2.0, 3.5]),
    ([-30.0, 12.0], [1.0, 9.0]),
    ([6.0, 4.0], [0.0, 0.0]),
    ([9.0, 0.0], [0.05, 0.3]),
    ([400.0, 300.0], [20.0, 0.7]),
    ([700.0, 700.0], [40.0, 31.0]),
];
const SIZES: [(u32, u32); 7] = [(64, 48), (37, 53), (1, 1), (1, 9), (7, 2), (90, 5), (33, 70)];

#[test]
fn displacements_are_the_documented_ones() {
    for ((width, height), (alpha, sigma)) in
        SIZES.into_iter().flat_map(|size| FIELDS.into_iter().map(move |field| (size, field)))
    {
        let expected = field([3, 4], alpha, sigma, (height as usize, width as usize));
        let worst = |key: [u32; 2], alpha: [f64; 2], sigma: [f64; 2]| {
            let [dx, dy] = given::elastic_field((width, height), alpha, sigma, key);
            assert_eq!((dx.len(), dy.len()), (expected.len(), expected.len()));
            let distance = |(i, [x, y]): (usize, &[f64; 2])| {
                let x = x * f64::from(width) / 2.0 - f64::from(dx[i]);
                let y = y * f64::from(height) / 2.0 - f64::from(dy[i]);
                x.abs().max(y.abs())
            };
            expected.iter().enumerate().map(distance).fold(0.0, f64::max)
        };
        let found = worst([3, 4], alpha, sigma);
        assert!(found < 1e-5 * alpha[0].abs().max(1.0), "{width}x{height}, {alpha:?}, {sigma:?}: {found} pixels");
        // The twins.
        assert!(worst([4, 4], alpha, sigma) > 1e-3);
        assert!(worst([3, 4], [alpha[0] * 1.01 + 0.1, alpha[1]], sigma) > 1e-4);
        if sigma[1] > 0.3 && width * height > 100 {
            assert!(worst([3, 4], alpha, [sigma[0], sigma[1] * 1.02]) > 1e-4, "{width}x{height}, {alpha:?}, {sigma:?}");
        }
    }
}

/// The standard deviation and the neighbours' correlation of 40 of torchvision's fields: `draws.json` of the larger set.
#[test]
fn fields_are_as_wide_and_as_smooth_as_torchvisions() {
    for (alpha, sigma, deviation, correlation) in [(50.0, 5.0, 0.904, 0.9908), (20.0, 2.0, 0.850, 0.9410)] {
        let (mut squares, mut products, mut of_pairs, mut count) = (0.0, 0.0, 0.0, 0.0);
        for number in 0..40 {
            let planes = given::elastic_field((64, 64), [alpha; 2], [sigma; 2], [number, 7]);
            for row in planes.iter().flat_map(|plane| plane.chunks(64)) {
                squares += row.iter().map(|&d| f64::from(d).powi(2)).sum::<f64>() / 64.0;
                let pairs = || row.windows(2).map(|d| (f64::from(d[0]), f64::from(d[1])));
                products += pairs().map(|(left, right)| left * right).sum::<f64>();
                of_pairs += pairs().map(|(left, right)| (left * left + right * right) / 2.0).sum::<f64>();
                count += 1.0;
            }
        }
        let (found, alike) = ((squares / count).sqrt(), products / of_pairs);
        // Fields of a wide blur have few independent parts.
        assert!((found / deviation - 1.0).abs() < 0.06, "{found} instead of {deviation}");
        assert!((alike - correlation).abs() < 0.003, "{alike} instead of {correlation}");
    }
}

struct Case {
    op: Op,
    alpha: [f64; 2],
    sigma: [f64; 2],
    key: [u32; 2],
    filter: Filter,
    fill: Option<[f32; 3]>,
}

fn case(dice: &mut Dice, number: u32, semantics: Semantics) -> Case {
    let (alpha, sigma) = FIELDS[number as usize % FIELDS.len()];
    let (interpolation, filter) = match dice.between(0, 1) {
        0 => (Interpolation::Nearest, Filter::Nearest),
        _ => (Interpolation::Bilinear, Filter::Bilinear),
    };
    let unit = if semantics == Semantics::Uint8 { 255.0 } else { 1.0 };
    let fill = [None, Some([0.0; 3]), Some([0.4, 0.2, 1.0].map(|value: f32| (value * unit).round() / unit * unit))];
    let (fill, key) = (fill[dice.between(0, 2) as usize], [number, dice.between(0, 99)]);
    Case { op: Op::Elastic { alpha, sigma, key, interpolation, fill }, alpha, sigma, key, filter, fill }
}

fn run(semantics: Semantics, source: &Source, ops: &[Op]) -> (Vec<f32>, gpufeed::decode::Rect) {
    let plan = Plan::fixed_as(semantics, source.channels, ops, &Output::default()).unwrap();
    let params = plan.make_params(source.width, source.height, &Key::default()).unwrap();
    (places()[0].prepare(&plan).floats(source, &params), plan.source_region(&params).unwrap())
}

/// Compares a crop of the moved image with that of the reference, and the pixels outside the region with others.
#[test]
fn pixels_move_as_those_of_the_reference() {
    let mut dice = Dice(8);
    let (mut doubtful, mut all, mut smaller) = (0, 0, 0);
    for (number, semantics) in (0..84).flat_map(|i| [(i, Semantics::Float), (i, Semantics::Uint8)]) {
        let (width, height) = SIZES[number as usize % SIZES.len()];
        let channels = if number % 4 == 3 { 1 } else { 3 };
        let source = procedural::build((width, height, channels), |x, y, c| procedural::value(number, x, y, c));
        let case = case(&mut dice, number, semantics);
        let (w, h) = (dice.between(1, width), dice.between(1, height));
        let (left, top) = (dice.between(0, width - w), dice.between(0, height - h));
        let ops = [case.op.clone(), Op::Crop { top, left, height: h, width: w }];
        let (values, region) = run(semantics, &source, &ops);
        let displacement = field(case.key, case.alpha, case.sigma, (height as usize, width as usize));
        let kind = match semantics {
            Semantics::Uint8 => reference::Semantics::Uint8,
            Semantics::Float => reference::Semantics::Float,
        };
        let fill = case.fill.map(|fill| fill.map(f64::from));
        let fill = fill.as_ref().map(|fill| &fill[..channels as usize]);
        let moved = elastic(&source.picture(kind), &displacement, case.filter, fill);
        let unit = kind.bound();
        for (i, &value) in values.iter().enumerate() {
            let (c, pixel) = (i / (w * h) as usize, i % (w * h) as usize);
            let (x, y) = (left as usize + pixel % w as usize, top as usize + pixel / w as usize);
            let expected = moved.at(c, y, x);
            let [dx, dy] = displacement[y * width as usize + x];
            let at = [x as f64 + dx * f64::from(width) / 2.0, y as f64 + dy * f64::from(height) / 2.0];
            let difference = (f64::from(value) * unit - expected).abs();
            all += 1;
            let tie = at.iter().any(|at| ((at - at.floor()) - 0.5).abs() < 1e-3);
            let bar = match (case.filter, semantics) {
                (Filter::Nearest, _) if tie => f64::INFINITY,
                (Filter::Nearest, _) => 1e-4,
                (Filter::Bilinear, Semantics::Float) => 1e-4,
                // A value between two levels is rounded to either of them.
                (Filter::Bilinear, Semantics::Uint8) => 1.01,
            };
            assert!(difference <= bar, "image {number}, {x},{y}: {difference}: {ops:?}");
            doubtful += usize::from(difference > 1e-4);
        }
        let mut changed = source.clone();
        for (i, byte) in changed.bytes.iter_mut().enumerate() {
            let pixel = i as u32 / channels;
            let inside = (region.left..region.left + region.width).contains(&(pixel % width))
                && (region.top..region.top + region.height).contains(&(pixel / width));
            *byte = if inside { *byte } else { byte.wrapping_add(97) };
        }
        assert!(run(semantics, &changed, &ops).0 == values, "image {number}: {ops:?}");
        smaller += usize::from((region.width, region.height) != (width, height));
    }
    assert!(1000 * doubtful < all, "{doubtful} of {all} values are another level");
    assert!(smaller > 40, "{smaller} regions are smaller than the image");
}

#[test]
fn numbers_that_are_no_deformation_are_refused() {
    for (transform, key) in [
        (ElasticTransform::new(f64::NAN, 5.0), "alpha"),
        (ElasticTransform::new(2e6, 5.0), "alpha"),
        (ElasticTransform::new(50.0, -1.0), "sigma"),
        (ElasticTransform::default().sigma(0.0, 5.0), "sigma"),
        (ElasticTransform::default().sigma(5.0, f64::INFINITY), "sigma"),
        (ElasticTransform::default().interpolation(Interpolation::Bicubic), "interpolation"),
        (ElasticTransform::default().fill(f32::NAN), "fill"),
    ] {
        let error = Plan::compile(&[transform.clone().into()], &Output::default()).unwrap_err().to_string();
        assert!(error.contains(key) && error.contains("work"), "{transform:?}: {error}");
    }
    let plan = Plan::compile(&[ElasticTransform::default().into()], &Output::default()).unwrap();
    let params = plan.make_params(9, 9, &Key::default()).unwrap();
    assert!(plan.source_region(&params).is_ok());
    for (alpha, sigma) in [([f64::NAN; 2], [5.0; 2]), ([50.0; 2], [0.0, 1.0]), ([f64::INFINITY; 2], [5.0; 2])] {
        let mut params = params.clone();
        let Op::Elastic { key, interpolation, fill, .. } = params.ops[0].op else { panic!("{params:?}") };
        params.ops[0].op = Op::Elastic { alpha, sigma, key, interpolation, fill };
        assert!(plan.source_region(&params).is_err(), "{alpha:?}, {sigma:?}");
    }
}
