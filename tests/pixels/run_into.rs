//! `Processor::run_into` writes the batch of `run` to the caller's memory.

use gpufeed::transforms::{Key, Normalize, Params, RandomHorizontalFlip, RandomResizedCrop};
use gpufeed::{DType, ErrorKind, Layout, Output, Plan, Processor};
use gpufeed_testing::adapters::places;
use gpufeed_testing::images::Source;
use gpufeed_testing::procedural;

fn plan() -> Plan {
    let list = [RandomResizedCrop::new(12).into(), RandomHorizontalFlip::new(0.5).into(), Normalize::IMAGENET.into()];
    Plan::compile(&list, &Output { layout: Layout::Nhwc, dtype: DType::F16 }).unwrap()
}

fn images(plan: &Plan) -> Vec<(Source, Params)> {
    let image = |sample: u64| {
        let source = procedural::build((40, 30, 3), |x, y, c| procedural::value(sample as u32, x, y, c));
        (source, plan.make_params(40, 30, &Key { sample, ..Key::default() }).unwrap())
    };
    (0..3).map(image).collect()
}

#[test]
fn the_batch_is_that_of_run() {
    let plan = plan();
    let images = images(&plan);
    let images: Vec<_> = images.iter().map(|(source, params)| (source.pixels(), params)).collect();
    for place in places() {
        let processor = Processor::new(&plan, &place.backend).unwrap();
        let mut out = vec![0xA5; 3 * 12 * 12 * 3 * 2];
        processor.run_into(&images, &mut out).unwrap();
        assert_eq!(out, processor.run(&images).unwrap(), "{}", place.name);
        processor.run_into(&images[1..2], &mut out[..12 * 12 * 3 * 2]).unwrap();
        assert_eq!(out[..12 * 12 * 3 * 2], processor.run(&images[1..2]).unwrap(), "{}", place.name);
    }
}

#[test]
fn memory_of_another_length_is_refused_and_left_alone() {
    let plan = plan();
    let images = images(&plan);
    let images: Vec<_> = images.iter().map(|(source, params)| (source.pixels(), params)).collect();
    for place in places() {
        let processor = Processor::new(&plan, &place.backend).unwrap();
        for length in [0, 2591, 2593] {
            let mut out = vec![0xA5; length];
            let error = processor.run_into(&images, &mut out).unwrap_err();
            assert!(matches!(error.kind(), ErrorKind::Argument { setting: "out", .. }), "{}: {error}", place.name);
            assert!(error.to_string().contains("2592") && out.iter().all(|byte| *byte == 0xA5), "{error}");
        }
        let error = processor.run_into(&[], &mut []).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Argument { setting: "images", .. }), "{}: {error}", place.name);
    }
}
