//! The noise of `RandomErasing` has the documented numbers on every backend, and is normal and independent.
//!
//! Keys are fixed, so a test passes always or never. Thresholds are those of p = 0.001 or smaller.

#![expect(clippy::print_stdout, reason = "tests print what they measured and what they skipped")]

use gpufeed::transforms::{Erased, Key, Op};
use gpufeed::{Output, Plan, Semantics};
use gpufeed_testing::adapters::{Place, places};
use gpufeed_testing::images::Source;
use gpufeed_testing::{procedural, reference};

const SIDE: u32 = 256;
const PLANE: usize = (SIDE * SIDE) as usize;

fn source(width: u32, height: u32, channels: u32) -> Source {
    procedural::build((width, height, channels), |x, y, c| procedural::value(9, x, y, c))
}

fn run(place: &Place, source: &Source, ops: &[Op]) -> Vec<f32> {
    let plan = Plan::fixed(source.channels, ops, &Output::default()).expect("the ops compile");
    let params = plan.make_params(source.width, source.height, &Key::default()).expect("the ops fit the image");
    place.prepare(&plan).floats(source, &params)
}

fn noise(top: u32, left: u32, height: u32, width: u32, key: [u32; 2]) -> Op {
    Op::Erase { top, left, height, width, value: Erased::Noise { key } }
}

/// Returns three planes of noise.
fn whole(place: &Place, key: [u32; 2]) -> Vec<f32> {
    run(place, &source(SIDE, SIDE, 3), &[noise(0, 0, SIDE, SIDE, key)])
}

/// Returns the largest difference as a multiple of the tolerance, which is 1e-4 of the value, and 1e-5 near 0.
fn worst(expected: &[f64], actual: &[f32]) -> f64 {
    assert_eq!(expected.len(), actual.len());
    let off =
        |(expected, actual): (&f64, &f32)| (expected - f64::from(*actual)).abs() / (1e-4 * expected.abs()).max(1e-5);
    expected.iter().zip(actual).map(off).fold(0.0, f64::max)
}

#[test]
fn every_backend_has_the_documented_numbers() {
    let keys = [[0, 0], [1, 0], [0, 1], [u32::MAX, u32::MAX], [0x243f_6a88, 0x85a3_08d3]];
    for channels in [1, 3] {
        let source = source(83, 61, channels);
        for key in keys {
            let ops = [noise(5, 7, 50, 70, key)];
            let outcome = reference::run(&source.floats(), &ops);
            assert!(!outcome.on_a_jump && !outcome.doubtful.contains(&true), "noise has no steps");
            let expected = outcome.image.planes;
            for place in places() {
                let values = run(place, &source, &ops);
                let worst = worst(&expected, &values);
                assert!(worst < 1.0, "{}: {key:?}, {channels} channels: {worst} of the bar", place.name);
                println!("{}: {key:?}, {channels} channels: {worst:.1e} of the bar", place.name);
            }
        }
    }
}

fn gaussian(mean: f64, sigma: f64, clip: bool, key: [u32; 2]) -> Op {
    Op::GaussianNoise { mean, sigma, clip, key }
}

#[test]
fn every_backend_adds_the_documented_numbers() {
    for (channels, (mean, sigma, clip)) in [1, 3]
        .into_iter()
        .flat_map(|channels| [(0.0, 0.1, true), (-0.3, 1.5, false), (0.4, 0.0, true)].map(|noise| (channels, noise)))
    {
        let source = source(83, 61, channels);
        // A crop, so that the noise knows its place; a stage of its own, as it follows noise.
        let crop = Op::Crop { top: 3, left: 4, height: 50, width: 70 };
        let ops = |key: [u32; 2], sigma: f64| {
            [crop.clone(), noise(2, 1, 20, 30, [7, 8]), gaussian(mean, sigma, clip, key), Op::HorizontalFlip]
        };
        let expected = reference::run(&source.floats(), &ops([3, 4], sigma)).image.planes;
        for place in places() {
            let worst = |ops: &[Op]| worst(&expected, &run(place, &source, ops));
            assert!(worst(&ops([3, 4], sigma)) < 1.0, "{}: {channels} channels, {mean}, {sigma}", place.name);
            // The twins: another number is noticed.
            assert!(sigma == 0.0 || worst(&ops([3, 5], sigma)) > 1.0, "{}", place.name);
            assert!(worst(&ops([3, 4], sigma + 1e-3)) > 1.0, "{}", place.name);
        }
    }
}

#[test]
fn noise_on_bytes_is_truncated() {
    for (channels, mean, sigma) in [(1, 0.0, 0.1), (3, 0.0, 0.1), (3, -0.1, 0.7), (3, 0.3, 0.0), (3, 0.0, 90.0)] {
        let (source, key) = (source(83, 61, channels), [9, 1]);
        let normals = reference::erase::normals(key, (channels as usize, 61, 83));
        let picture = source.picture(reference::Semantics::Uint8);
        let expected = reference::neighborhood::gaussian_noise(&picture, mean, sigma, true, &normals).image.planes;
        let plan = Plan::fixed_as(Semantics::Uint8, channels, &[gaussian(mean, sigma, false, key)], &Output::default());
        let plan = plan.expect("the op compiles");
        let params = plan.make_params(83, 61, &Key::default()).expect("the op fits the image");
        let values = places()[0].prepare(&plan).floats(&source, &params);
        let (mut near, mut changed) = (0, 0);
        for (i, (value, expected)) in values.iter().zip(&expected).enumerate() {
            let difference = (f64::from(*value) * 255.0 - expected).abs();
            // Where the noise is nearly a whole number, the last bits of the normal numbers decide.
            let noise = 255.0 * mean + normals[i] * 255.0 * sigma;
            let sure = (noise - noise.round()).abs() > 1e-4 * sigma.max(0.1) * 255.0;
            assert!(difference < if sure { 0.01 } else { 1.01 }, "{i}: {difference}, noise {noise}");
            near += usize::from(!sure);
            changed += usize::from((*expected - picture.image.planes[i]).abs() > 0.5);
        }
        assert!(20 * near < values.len() || sigma > 1.0, "{near} of {}", values.len());
        assert!(2 * changed > values.len(), "{changed} of {}", values.len());
    }
}

#[test]
fn the_comparison_rejects_other_keys_and_places() {
    let source = source(83, 61, 3);
    let expected = reference::run(&source.floats(), &[noise(5, 7, 50, 70, [3, 4])]).image.planes;
    for place in places() {
        let others = [
            noise(5, 7, 50, 70, [2, 4]),
            noise(5, 7, 50, 70, [3, 5]),
            noise(6, 7, 50, 70, [3, 4]),
            noise(5, 8, 50, 70, [3, 4]),
        ];
        for other in others {
            assert!(worst(&expected, &run(place, &source, &[other])) > 1.0);
        }
    }
    let mut values: Vec<f32> = expected.iter().map(|&value| value as f32).collect();
    assert!(worst(&expected, &values) < 1.0);
    values[4321] += 3e-4 * values[4321].abs().max(0.1);
    assert!(worst(&expected, &values) > 1.0);
}

/// The noise in a rectangle depends on the key alone: not on the rectangle's position, on the other ops, or on the
/// image.
#[test]
fn the_same_key_gives_the_same_bits_anywhere() {
    let cut = |values: &[f32], width: usize, (top, left): (usize, usize)| -> Vec<u32> {
        let rows = (top..top + 20).flat_map(|y| values[y * width + left..][..30].to_vec());
        rows.map(f32::to_bits).collect()
    };
    for place in places() {
        let here = run(place, &source(83, 61, 3), &[noise(5, 7, 20, 30, [3, 4])]);
        let there = run(place, &source(40, 90, 3), &[Op::Invert, noise(69, 0, 20, 30, [3, 4])]);
        assert_eq!(cut(&here, 83, (5, 7)), cut(&there, 40, (69, 0)), "{}", place.name);
        assert_ne!(cut(&here, 83, (5, 7)), cut(&there, 40, (68, 0)), "{}", place.name);
    }
}

fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len() as f64;
    values.sum::<f64>() / count
}

/// Returns the largest distance of the values' distribution from the standard normal one, times √n.
fn kolmogorov_smirnov(values: &[f32]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f32::total_cmp);
    let n = sorted.len() as f64;
    let distance = |(i, value): (usize, &f32)| {
        let below = 0.5 * libm::erfc(-f64::from(*value) / std::f64::consts::SQRT_2);
        (below - i as f64 / n).abs().max((below - (i + 1) as f64 / n).abs())
    };
    sorted.iter().enumerate().map(distance).fold(0.0, f64::max) * n.sqrt()
}

/// Returns the mean of the products, times √n, which is standard normal if both are independent standard normal
/// numbers.
fn correlation(a: &[f32], b: &[f32]) -> f64 {
    mean(a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b))) * (a.len() as f64).sqrt()
}

/// The bound that a standard normal number exceeds, on either side, with probability 1e-4.
const FAR: f64 = 3.89;

#[test]
fn noise_is_standard_normal() {
    for place in places() {
        let values = whole(place, [17, 42]);
        let n = values.len() as f64;
        let moment = |power: i32| mean(values.iter().map(|value| f64::from(*value).powi(power)));
        // Variances of the first four powers of a standard normal number: 1, 2, 15, 96.
        for (power, expected, variance) in [(1, 0.0, 1.0f64), (2, 1.0, 2.0), (3, 0.0, 15.0), (4, 3.0, 96.0)] {
            let off = (moment(power) - expected) / (variance / n).sqrt();
            println!("{}: moment {power}: {off:.2} standard deviations off", place.name);
            assert!(off.abs() < FAR, "{}: moment {power}: {off}", place.name);
        }
        let distance = kolmogorov_smirnov(&values);
        println!("{}: Kolmogorov-Smirnov {distance:.2}", place.name);
        assert!(distance < 1.95, "{}: {distance}", place.name);
        assert!(values.iter().all(|value| value.abs() < 5.3) && values.iter().any(|value| value.abs() > 4.0));
    }
}

#[test]
fn noise_is_independent() {
    let place = &places()[0];
    let values = whole(place, [17, 42]);
    let planes: Vec<&[f32]> = values.chunks_exact(PLANE).collect();
    let check = |what: &str, a: &[f32], b: &[f32]| {
        let (plain, squares) = (correlation(a, b), correlation(&squares(a), &squares(b)));
        assert!(plain.abs() < FAR && squares.abs() < FAR, "{what}: {plain:.2}, of squares {squares:.2}");
    };
    for (a, b) in [(0, 1), (1, 2), (0, 2)] {
        check("channels", planes[a], planes[b]);
    }
    for distance in [1, 2, 3, 4, 8, 16, 32, SIDE as usize, 2 * SIDE as usize, SIDE as usize + 1] {
        for plane in &planes {
            check(&format!("pixels at {distance}"), &plane[distance..], &plane[..PLANE - distance]);
        }
        check(&format!("channels at {distance}"), &planes[0][distance..], &planes[1][..PLANE - distance]);
    }
    for bit in 0..32 {
        check(&format!("keys that differ in bit {bit}"), &values, &whole(place, [17 ^ (1 << bit), 42]));
        check(&format!("keys that differ in bit 32 + {bit}"), &values, &whole(place, [17, 42 ^ (1 << bit)]));
    }
    check("swapped keys", &values, &whole(place, [42, 17]));
}

/// Returns the squares, scaled to mean 0 and variance 1 as the values have.
fn squares(values: &[f32]) -> Vec<f32> {
    values.iter().map(|value| (value * value - 1.0) / std::f32::consts::SQRT_2).collect()
}

#[test]
fn the_statistics_reject_what_is_a_little_off() {
    let values = whole(&places()[0], [17, 42]);
    let scaled: Vec<f32> = values.iter().map(|value| value * 1.01).collect();
    assert!(
        mean(scaled.iter().map(|value| f64::from(*value).powi(2))) - 1.0 > FAR * (2.0 / scaled.len() as f64).sqrt()
    );
    let shifted: Vec<f32> = values.iter().map(|value| value + 0.01).collect();
    assert!(kolmogorov_smirnov(&shifted) > 1.95);
    let mixed: Vec<f32> = values.windows(2).map(|pair| pair[0] * 0.05 + pair[1]).collect();
    assert!(correlation(&mixed, &values[..mixed.len()]) > FAR);
    assert!(correlation(&squares(&values), &squares(&values)) > FAR);
}
