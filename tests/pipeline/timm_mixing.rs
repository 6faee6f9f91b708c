//! Batches mixed as timm's `Mixup` and `FastCollateMixup` do, for a batch, a pair or a sample: the formula's images on every
//! executor, whatever the workers and restarts; labels are smooth; a replay gives the bits.

use crate::mixing::{SAMPLES, difference, each_place, of_type};
use gpufeed::transforms::{BatchTransform, CenterCrop, Identity, Mix, MixupMode, Params, TimmMixup};
use gpufeed::{Backend, DType, DataLoader, InMemory, Label, Layout, PixelFormat, Recipe, recipe};
use gpufeed_testing::pipeline::{Seen, assert_same, is_full, seen};
use std::collections::BTreeSet;

const MODES: [MixupMode; 3] = [MixupMode::Batch, MixupMode::Pair, MixupMode::Elem];

/// Blends, cuts, and leaves some as they are.
fn both() -> TimmMixup {
    TimmMixup::new(0.8, 1.0).prob(0.75)
}

/// How the samples of batches were mixed, as text: one view has what the others have.
fn ways(batches: &[Seen]) -> BTreeSet<String> {
    let ways = batches.iter().flat_map(|batch| &batch.params).map(|params| match params.mixed.as_ref() {
        None => "as it is".to_owned(),
        Some(with) => format!("{:?}", with.mix).chars().take(5).collect(),
    });
    ways.collect()
}

#[test]
fn batches_are_the_formula_of_the_others_in_every_mode() {
    each_place(300, |place| {
        for (layout, dtype) in [
            (Layout::Nchw, DType::F32),
            (Layout::Nhwc, DType::F16),
            (Layout::Nchw, DType::U8),
            (Layout::Nhwc, DType::U8),
        ] {
            for (views, size) in [(1, 4), (3, 5)] {
                let builder = || of_type(dtype).output(layout, dtype).views(views).batch_size(size);
                let others = seen(place.build(builder()).epochs(0..8).unwrap());
                for mode in MODES {
                    let what = format!("{}: {mode:?}, {layout:?} {dtype:?}, {views} views", place.name);
                    let loader = place.build(builder().batch_transform(both().mode(mode)));
                    let mixed = seen(loader.epochs(0..8).unwrap());
                    assert_eq!(ways(&mixed).len(), 3, "{what}: {:?}", ways(&mixed));
                    let mut changed = false;
                    for (mixed, others) in mixed.iter().zip(&others) {
                        let allowed = match dtype {
                            DType::F16 => 2f32.powi(-9),
                            DType::F32 if place.is_shaders() => 1e-6,
                            // Bytes have the formula's rounding on every executor.
                            _ => 0.0,
                        };
                        let difference = difference(mixed, others, (layout, dtype), views, 0).unwrap_or(0.0);
                        assert!(difference <= allowed, "{what}: {difference}");
                        changed |= mixed.bytes != others.bytes;
                        partners_are_reversed(mixed, mode, views);
                    }
                    assert!(changed, "{what}");
                }
            }
        }
    });
}

fn partners_are_reversed(batch: &Seen, mode: MixupMode, views: usize) {
    let samples = batch.ids.len() / views;
    let of = |sample: usize| batch.params[sample * views].mixed.as_ref().map(|with| (with.id, with.mix));
    for sample in 0..samples {
        let partner = samples - 1 - sample;
        if let Some((id, _)) = of(sample) {
            assert_eq!(id, batch.ids[partner * views]);
        }
        if mode != MixupMode::Elem {
            assert_eq!(of(sample).map(|(_, mix)| mix), of(partner).map(|(_, mix)| mix));
        }
        if mode == MixupMode::Batch {
            assert_eq!(of(sample).map(|(_, mix)| mix), of(0).map(|(_, mix)| mix));
        }
    }
}

#[test]
fn workers_and_restarts_change_nothing_and_replays_have_the_bits() {
    each_place(300, |place| {
        for (dtype, mode) in
            [(DType::F32, MixupMode::Elem), (DType::U8, MixupMode::Pair), (DType::U8, MixupMode::Batch)]
        {
            let builder = || of_type(dtype).views(2).batch_transform(both().mode(mode));
            let expected = seen(place.build(builder().workers(1)).epochs(1..3).unwrap());
            let loader = place.build(builder().workers(4));
            let what = format!("{}: {mode:?} {dtype:?}", place.name);
            assert_same(&expected, &seen(loader.epochs(1..3).unwrap()), &what);
            let mut run = loader.epochs(1..3).unwrap();
            run.next().unwrap().unwrap();
            let state = run.state();
            drop(run);
            assert_same(&expected[1..], &seen(loader.resume_until(&state, 3).unwrap()), &format!("{what}, resumed"));
            let mut replayed = 0;
            for batch in &expected {
                for (image, params) in batch.params.iter().enumerate().step_by(if is_full() { 1 } else { 3 }) {
                    let json = serde_json::to_string(params).unwrap();
                    let params: Params = serde_json::from_str(&json).unwrap();
                    let again = loader.replay(batch.ids[image] as usize, &params).unwrap();
                    assert!(again == batch.image(image), "{what}, image {image}");
                    replayed += usize::from(params.mixed.is_some());
                }
            }
            assert!(replayed > 3, "{what}: {replayed}");
        }
    });
}

/// The formula of timm's labels, in f64.
fn smooth(own: u32, partner: u32, lambda: f64, smoothing: f64) -> Vec<f64> {
    let off = smoothing / f64::from(SAMPLES);
    let label = |class: u32, at: u32| if at == class { 1.0 - smoothing + off } else { off };
    (0..SAMPLES).map(|at| label(own, at) * lambda + label(partner, at) * (1.0 - lambda)).collect()
}

#[test]
fn labels_are_smooth_where_batches_are_mixed_and_where_not() {
    for (mode, prob) in MODES.into_iter().flat_map(|mode| [(mode, 1.0), (mode, 0.5), (mode, 0.0)]) {
        let transform = TimmMixup::new(0.8, 1.0).mode(mode).prob(prob).label_smoothing(0.1);
        let loader = of_type(DType::F32).views(2).batch_transform(transform).build(&Backend::Cpu).unwrap();
        for batch in loader.epoch(0).unwrap() {
            let batch = batch.unwrap();
            let (classes, mixed) = (batch.classes().unwrap(), batch.mixed().unwrap());
            let soft = batch.soft_labels(SAMPLES as usize).unwrap();
            let rows = soft.chunks_exact(SAMPLES as usize);
            for (image, ((own, partner, lambda), row)) in mixed.into_iter().zip(rows).enumerate() {
                let other = batch.len() - 2 - image / 2 * 2 + image % 2;
                let with = batch.params()[image].mixed.as_ref().map(|mixed| mixed.mix.lambda());
                let expected_partner = if with.is_some() { classes[other] } else { own };
                assert_eq!((own, partner, lambda), (classes[image], expected_partner, with.unwrap_or(1.0)));
                for (found, expected) in row.iter().zip(smooth(own, partner, lambda, 0.1)) {
                    assert!((f64::from(*found) - expected).abs() < 1e-6, "{mode:?}: {found} for {expected}");
                }
            }
            assert_eq!(batch.label_smoothing(), 0.1);
        }
    }
}

#[test]
fn an_uncorrected_lambda_is_the_one_that_was_drawn() {
    let cuts = |correct| {
        let transform = TimmMixup::new(0.0, 1.0).mode(MixupMode::Elem).correct_lam(correct);
        let batches =
            seen(of_type(DType::U8).batch_transform(transform).build(&Backend::Cpu).unwrap().epoch(0).unwrap());
        let params = batches.into_iter().flat_map(|batch| batch.params);
        params.map(|params| params.mixed.expect("it is mixed").mix).collect::<Vec<_>>()
    };
    let mut differ = 0;
    for (corrected, drawn) in cuts(true).into_iter().zip(cuts(false)) {
        let (Mix::CutMix { lambda: share, width, height, .. }, Mix::CutMix { lambda, .. }) = (corrected, drawn) else {
            panic!("{corrected:?} {drawn:?}")
        };
        assert_eq!(share, 1.0 - f64::from(width * height) / 400.0);
        assert!(lambda <= share + 1e-12, "a rectangle is cut at the edges: {lambda} and {share}");
        differ += usize::from(lambda != share);
    }
    assert!(differ > 0);
}

#[test]
fn arguments_out_of_range_are_refused_and_recipes_keep_the_others() {
    for (transform, words) in [
        (TimmMixup::new(-0.1, 1.0), "mixup_alpha: -0.1; a finite number >= 0 works"),
        (TimmMixup::new(1.0, f64::NAN), "cutmix_alpha: NaN; a finite number >= 0 works"),
        (TimmMixup::new(0.0, 0.0), "mixup_alpha: 0, and so is cutmix_alpha"),
        (both().prob(1.5), "prob: 1.5 is not a probability"),
        (both().switch_prob(-1.0), "switch_prob: -1 is not a probability"),
        (both().cutmix_minmax(0.5, 0.5), "cutmix_minmax: (0.5, 0.5); 0 <= least < greatest <= 1 works"),
        (both().label_smoothing(1.0), "label_smoothing: 1; 0 to below 1 work"),
    ] {
        let error = of_type(DType::F32).batch_transform(transform).build(&Backend::Cpu).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
    let mut data = InMemory::new();
    data.push_pixels(8, 8, PixelFormat::Rgb8, vec![0; 192], Label::from(vec![0.5, 0.5])).unwrap();
    let builder = || DataLoader::builder(data.clone()).transform(CenterCrop::new(8)).batch_size(1);
    assert!(builder().batch_transform(both()).build(&Backend::Cpu).is_ok());
    let smooth = BatchTransform::choice([both().label_smoothing(0.1).into(), Identity {}.into()]);
    let error = builder().batch_transform(smooth).build(&Backend::Cpu).unwrap_err().to_string();
    assert!(error.contains("label_smoothing works on classes"), "{error}");
    for transform in [both(), both().cutmix_minmax(0.2, 0.8).mode(MixupMode::Pair).correct_lam(false).switch_prob(0.1)]
    {
        let given = Recipe {
            transforms: vec![CenterCrop::new(8).into()],
            batch_transform: Some(transform.into()),
            ..Recipe::default()
        };
        assert_eq!(recipe::from_toml(&given.to_toml().unwrap()).unwrap(), given);
    }
    let text =
        "transform = [{ type = 'CenterCrop', size = 8 }]\nbatch_transform = [{ type = 'TimmMixup', mode = 'half' }]\n";
    let error = recipe::from_toml(text).unwrap_err().to_string();
    assert!(error.contains("elem"), "{error}");
}
