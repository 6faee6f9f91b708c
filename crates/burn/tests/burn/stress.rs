//! Tests that tensors stay correct if each batch is dropped at once and its buffer is reused while Burn still computes.

use crate::places::{Place, gpus};
use burn::tensor::Tensor;
use gpufeed::transforms::CenterCrop;
use gpufeed::{DataLoader, InMemory, Label, PixelFormat};
use gpufeed_burn::BatchExt;
use std::collections::VecDeque;

const SIDE: u32 = 16;
const SAMPLES: u32 = 200;
const BATCH: usize = 4;
const BATCHES: usize = 1000;
/// The number of tensors alive at a time; more than the loader has output buffers.
const ALIVE: usize = 12;

/// Returns the value of channel `c` at (`x`, `y`) of sample `id`.
fn byte(id: u64, x: u32, y: u32, c: u32) -> u8 {
    let place = (id as u32 * SIDE + y) * SIDE + x;
    ((place * 3 + c).wrapping_mul(0x9e37_79b1) >> 24) as u8
}

fn expected(ids: &[u64]) -> Vec<f32> {
    let image = |&id: &u64| {
        let planes = (0..3).flat_map(move |c| (0..SIDE).flat_map(move |y| (0..SIDE).map(move |x| (x, y, c))));
        planes.map(move |(x, y, c)| f32::from(byte(id, x, y, c)) * (1.0 / 255.0))
    };
    ids.iter().flat_map(image).collect()
}

/// The ids of a batch, its tensor (`None` if only Burn still uses it), and the sum that Burn computes from the tensor.
type Pending = (Vec<u64>, Option<Tensor<4>>, Tensor<4>);

fn check(name: &str, (ids, images, sums): Pending) {
    let values = expected(&ids);
    let doubled: Vec<f32> = values.iter().map(|v| v + v).collect();
    if let Some(images) = images {
        assert!(images.into_data().try_to_vec::<f32>().unwrap() == values, "{name}: {ids:?}");
    }
    assert!(sums.into_data().try_to_vec::<f32>().unwrap() == doubled, "{name}: sums of {ids:?}");
}

fn run(place: &Place) {
    let mut data = InMemory::new();
    for id in 0..u64::from(SAMPLES) {
        let pixels: Vec<u8> = (0..SIDE * SIDE * 3).map(|i| byte(id, i / 3 % SIDE, i / 3 / SIDE, i % 3)).collect();
        data.push_pixels(SIDE, SIDE, PixelFormat::Rgb8, pixels, Label::Class(id as u32)).unwrap();
    }
    let builder = DataLoader::builder(data).transform(CenterCrop::new(SIDE)).batch_size(BATCH).shuffle(true);
    let loader = place.build(builder.queue_depth(2));
    let epochs = (BATCHES * BATCH) as u64 / u64::from(SAMPLES);
    let mut pending: VecDeque<Pending> = VecDeque::new();
    let mut seen = 0;
    std::thread::scope(|scope| {
        for batch in loader.epochs(0..epochs).unwrap() {
            let batch = batch.unwrap();
            let ids = batch.ids().to_vec();
            let images = batch.to_tensor(&place.device).unwrap();
            drop(batch);
            let sums = images.clone() + images.clone();
            // If the test does not keep the tensor, its memory is free as soon as the sum is recorded, and the next
            // batch may get that memory before the sum is computed.
            let kept = (seen % 4 == 0).then_some(images);
            pending.push_back((ids, kept, sums));
            seen += 1;
            if pending.len() > ALIVE {
                let oldest = pending.pop_front().unwrap();
                if seen % 10 == 0 {
                    // Burn uses another stream on another thread.
                    scope.spawn(|| check(&place.name, oldest));
                } else {
                    check(&place.name, oldest);
                }
            }
        }
    });
    pending.into_iter().for_each(|pending| check(&place.name, pending));
    assert_eq!(seen, BATCHES);
}

#[test]
fn a_thousand_batches() {
    for (place, _) in gpus() {
        gpufeed_testing::pipeline::within(600, &place.name, || run(place));
    }
}
