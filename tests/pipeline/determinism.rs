//! Tests that batches depend on seed and epoch alone: not on workers, queues, slots, restarts, shards or chance.

#![expect(clippy::print_stdout, reason = "tests print what an adapter cannot do")]

use gpufeed::transforms::{
    ColorJitter, ErasingValue, Normalize, Op, RandomErasing, RandomGrayscale, RandomHorizontalFlip, RandomResizedCrop,
    Resize, Transform,
};
use gpufeed::wgpu::{DeviceType, Features};
use gpufeed::{
    Backend, DType, DataLoader, DataLoaderBuilder, Execute, Gpu, InMemory, Label, LastBatch, Layout, PixelFormat, State,
};
use gpufeed_testing::device::devices;
use gpufeed_testing::pipeline::{Place, Seen, assert_same, places, seen, small_files, within};
use std::collections::BTreeMap;
use std::sync::LazyLock;

const SAMPLES: u32 = 37;

static FILES: LazyLock<InMemory> = LazyLock::new(|| small_files(SAMPLES));

fn training() -> Vec<Transform> {
    vec![
        RandomResizedCrop::new(20).into(),
        RandomHorizontalFlip::new(0.5).into(),
        ColorJitter::new(0.4, 0.4, 0.4, 0.1).into(),
        RandomGrayscale::new(0.2).into(),
        Normalize::IMAGENET.into(),
        RandomErasing::new(0.5).value(ErasingValue::Random).into(),
    ]
}

/// Returns the settings of a loader with 37 samples in batches of 8, so that the last batch is incomplete.
fn builder() -> DataLoaderBuilder {
    DataLoader::builder(FILES.clone()).recipe(training()).batch_size(8).shuffle(true).seed(7).workers(2)
}

fn each_place(seconds: u64, test: fn(&Place)) {
    within(seconds, "all places", move || places().iter().for_each(test));
}

#[test]
fn workers_and_queue_change_nothing() {
    each_place(120, |place| {
        let expected = seen(place.build(builder().workers(1)).epoch(3).unwrap());
        assert_eq!(expected.len(), 5);
        assert_eq!(expected[4].shape, [5, 3, 20, 20]);
        for (workers, depth) in [(1, 4), (2, 1), (2, 4), (8, 1), (8, 4)] {
            let loader = place.build(builder().workers(workers).queue_depth(depth));
            let what = format!("{}, {workers} workers, queue of {depth}", place.name);
            assert_same(&expected, &seen(loader.epoch(3).unwrap()), &what);
            // The output buffers have held other batches by now.
            assert_same(&expected, &seen(loader.epoch(3).unwrap()), &format!("{what}, again"));
        }
    });
}

#[test]
fn another_seed_or_epoch_changes_the_batches() {
    each_place(120, |place| {
        let expected = seen(place.build(builder()).epoch(0).unwrap());
        let other_seed = seen(place.build(builder().seed(8)).epoch(0).unwrap());
        let other_epoch = seen(place.build(builder()).epoch(1).unwrap());
        for other in [&other_seed, &other_epoch] {
            assert!(expected.iter().zip(other.iter()).all(|(a, b)| a.ids != b.ids && a.bytes != b.bytes));
        }
        // The parameters differ too, not only the order.
        let unshuffled = |seed| seen(place.build(builder().shuffle(false).seed(seed)).epoch(0).unwrap());
        for (a, b) in unshuffled(7).iter().zip(&unshuffled(8)) {
            assert_eq!(a.ids, b.ids);
            assert!(a.params != b.params && a.bytes != b.bytes);
        }
    });
}

#[test]
fn batches_that_are_no_whole_words_are_right_too() {
    each_place(120, |place| {
        let odd = |dtype: DType| {
            let builder = DataLoader::builder(FILES.clone()).transform(RandomResizedCrop::new((5, 7)));
            builder.transform(ColorJitter::new(0.4, 0.4, 0.4, 0.1)).output(Layout::Nhwc, dtype).batch_size(3).workers(2)
        };
        let floats = seen(place.build(odd(DType::F32)).epoch(0).unwrap());
        for (dtype, tolerance) in [(DType::F16, 6e-4), (DType::BF16, 4.8e-3), (DType::U8, 1.0001 / 255.0)] {
            let loader = place.build(odd(dtype));
            for (batch, floats) in loader.epoch(0).unwrap().zip(&floats) {
                let batch = batch.unwrap();
                assert_eq!(batch.to_host().unwrap().len(), batch.len() * 5 * 7 * 3 * dtype.bytes());
                for (a, b) in batch.to_host_f32().unwrap().iter().zip(floats.floats()) {
                    assert!((a - b).abs() <= tolerance, "{}, {dtype:?}: {a} and {b}", place.name);
                }
            }
        }
    });
}

#[test]
fn slots_change_nothing() {
    each_place(120, |place| {
        // A batch has six images of 7.6 MiB each, as RGBA, and one image is too large for a slot, so batches span
        // several slots.
        let mut data = InMemory::new();
        for number in 0..12 {
            let (width, height) = if number == 4 { (2300, 2000) } else { (1480 + number, 1350 - number) };
            let bytes: Vec<u8> = (0..width * height * 3).map(|i| ((i * (number + 3)) >> 7) as u8).collect();
            data.push_pixels(width, height, PixelFormat::Rgb8, bytes, Label::Class(number)).unwrap();
        }
        let transforms: [Transform; 2] = [Resize::new((48, 48)).into(), ColorJitter::new(0.4, 0.4, 0.4, 0.1).into()];
        let large = |slot_bytes: u64, workers: usize| {
            let builder = DataLoader::builder(data.clone()).recipe(transforms.clone());
            place.build(builder.batch_size(6).slot_bytes(slot_bytes).workers(workers))
        };
        let loader = large(64 << 20, 1);
        let expected = seen(loader.epoch(0).unwrap());
        assert_eq!(loader.stats().cpu_fallback, u64::from(place.is_shaders()));
        for (slot_bytes, workers) in [(16 << 20, 1), (16 << 20, 3), (24 << 20, 2)] {
            let found = seen(large(slot_bytes, workers).epoch(0).unwrap());
            let what = format!("{}, slots of {slot_bytes}, {workers} workers", place.name);
            assert_same(&expected, &found, &what);
        }
    });
}

/// Returns the number of buffers to which staging slots are copied, as the driver's allocator lists them; `None` where
/// wgpu has no such list.
fn copies(gpu: &Gpu) -> Option<usize> {
    let report = gpu.device().generate_allocator_report()?;
    Some(report.allocations.iter().filter(|allocation| allocation.name == "gpufeed source").count())
}

/// Batches have the same bits in three cases: shaders read the staging slots in place (unified memory, a device with
/// `MAPPABLE_PRIMARY_BUFFERS`); the slots are copied (discrete GPUs, devices shared with an application); gpufeed opens
/// the device by itself, with the adapter's larger limits.
#[test]
fn both_ways_of_uploading_give_the_same_bits() {
    within(240, "upload", || {
        for device in devices() {
            let place = |gpu: Gpu| Place { name: device.name.clone(), backend: gpu.into(), execute: Execute::Gpu };
            let run = |place: &Place, in_place: bool, layout: Layout, dtype: DType| {
                let loader = place.build(builder().output(layout, dtype));
                let explained = loader.explain();
                let way = if in_place { "read in place" } else { "copied" };
                assert!(
                    explained.lines().any(|line| line.starts_with("runs on") && line.ends_with(way)),
                    "{explained}"
                );
                let mut epochs = loader.epochs(0..2).unwrap();
                let first = Seen::from(&epochs.next().unwrap().unwrap());
                // A run is under way, so the buffers for its copies are allocated.
                let Backend::Gpu(gpu) = &place.backend else { panic!("{}: no GPU", place.name) };
                match copies(gpu) {
                    Some(count) => assert_eq!(count, usize::from(!in_place), "{}", place.name),
                    None => println!("{}: wgpu does not list allocations", place.name),
                }
                let mut batches = vec![first];
                batches.extend(seen(epochs));
                batches
            };
            let (copied, as_it_comes) =
                (place(device.open(Features::empty())), place(Gpu::open(&device.adapter).unwrap()));
            let Backend::Gpu(gpu) = &as_it_comes.backend else { panic!("no GPU") };
            let kind = gpu.info().device_type;
            let unified = matches!(kind, DeviceType::IntegratedGpu | DeviceType::Cpu);
            let mappable = unified && device.features().contains(Features::MAPPABLE_PRIMARY_BUFFERS);
            for (layout, dtype) in [(Layout::Nchw, DType::F32), (Layout::Nhwc, DType::F16)] {
                let expected = run(&copied, false, layout, dtype);
                let what = format!("{}, {layout:?} {dtype:?}", device.name);
                assert_same(&expected, &run(&as_it_comes, mappable, layout, dtype), &format!("{what}, as it comes"));
                if mappable {
                    let in_place = place(device.open(device.features()));
                    assert_same(&expected, &run(&in_place, true, layout, dtype), &format!("{what}, in place"));
                    println!("{what}: copied and read in place, the same bits");
                } else {
                    println!("{what}: slots are always copied here ({kind:?}, {:?})", device.features());
                }
            }
        }
    });
}

#[test]
fn a_resumed_epoch_goes_on_with_the_batches_that_were_due() {
    each_place(120, |place| {
        let loader = place.build(builder());
        let expected = seen(loader.epochs(2..4).unwrap());
        assert_eq!(expected.len(), 10);
        assert_same(&expected[..5], &seen(loader.epoch(2).unwrap()), "epoch 2 alone");
        assert_same(&expected[5..], &seen(loader.epoch(3).unwrap()), "epoch 3 alone");
        for taken in [0, 1, 4, 5, 7] {
            let mut run = loader.epochs(2..4).unwrap();
            run.by_ref().take(taken).for_each(|batch| drop(batch.unwrap()));
            let state = run.state();
            assert_eq!(
                (state.seed(), state.epoch(), state.position()),
                (7, 2 + taken as u64 / 5, Some(8 * (taken as u64 % 5)))
            );
            assert_eq!(run.len(), 10 - taken);
            drop(run);
            let other = place.build(builder().workers(3));
            assert_eq!(other.resume_until(&state, 4).unwrap().len(), 10 - taken);
            let rest = seen(other.resume_until(&state, 4).unwrap());
            assert_same(&expected[taken..], &rest, &format!("{}, after {taken}", place.name));
            let end = if taken < 5 { 5 } else { 10 };
            assert_same(&expected[taken..end], &seen(other.resume(&state).unwrap()), &place.name);
        }
    });
}

#[test]
fn another_world_goes_on_where_a_global_batch_begins() {
    within(60, "worlds", || {
        let build = |batch_size, (rank, world)| {
            builder().batch_size(batch_size).shard(rank, world).build(&Backend::Cpu).unwrap()
        };
        let by_id = |batches: &[Seen]| {
            let image = |batch: &Seen, i| (batch.ids[i], batch.image(i).to_vec());
            let mut images: Vec<_> =
                batches.iter().flat_map(|batch| (0..batch.valid).map(move |i| image(batch, i))).collect();
            images.sort();
            images
        };
        let one = build(8, (0, 1));
        let mut run = one.epoch(2).unwrap();
        run.by_ref().take(3).for_each(|batch| drop(batch.unwrap()));
        let state = run.state();
        assert_eq!(state.position(), Some(24));
        let expected = by_id(&seen(run));
        assert_eq!(expected.len(), 13);
        for (batch_size, world) in [(4, 2), (6, 2), (2, 3), (8, 3), (24, 1)] {
            let rest: Vec<Seen> =
                (0..world).flat_map(|rank| seen(build(batch_size, (rank, world)).resume(&state).unwrap())).collect();
            assert_eq!(expected, by_id(&rest), "batches of {batch_size} in world {world}");
        }
        let error = build(8, (0, 2)).resume(&state).unwrap_err().to_string();
        assert!(error.starts_with("batch_size: no batch of 8 samples in world 2 begins at position 24"), "{error}");
    });
}

#[test]
fn states_at_the_border_of_epochs() {
    within(60, "borders", || {
        let loader = builder().build(&Backend::Cpu).unwrap();
        let expected = seen(loader.epoch(1).unwrap());
        let state = State::at(7, 0, 5);
        assert_eq!(loader.resume(&state).unwrap().count(), 0);
        let mut run = loader.resume_until(&state, 2).unwrap();
        assert_eq!(run.len(), 5);
        drop(run.next().unwrap().unwrap());
        assert_eq!((run.state().epoch(), run.state().position()), (1, Some(8)));
        drop(run);
        assert_same(&expected, &seen(loader.resume_until(&state, 2).unwrap()), "behind the last batch of epoch 0");
        for (state, setting) in [(State::at(8, 0, 5), "seed"), (State::at(7, 0, 6), "state")] {
            let error = loader.resume(&state).unwrap_err().to_string();
            assert!(error.starts_with(setting), "{error}");
        }
        // An endless range of epochs works, too.
        let mut endless = loader.epochs(1..u64::MAX).unwrap();
        assert!(endless.len() > 1 << 60);
        let found: Vec<Seen> = endless.by_ref().take(5).map(|batch| Seen::from(&batch.unwrap())).collect();
        assert_same(&expected, &found, "endless");
        #[allow(clippy::reversed_empty_ranges)]
        let nothing = loader.epochs(5..3).unwrap();
        assert_eq!(nothing.count(), 0);
    });
}

/// Returns the images and labels of each sample, in the order in which they came; images beyond `valid` are left out.
fn by_id(batches: &[Seen]) -> BTreeMap<u64, Vec<(Vec<u8>, Label)>> {
    let mut images = BTreeMap::<u64, Vec<_>>::new();
    for batch in batches {
        for place in 0..batch.valid {
            let image = (batch.image(place).to_vec(), batch.labels[place].clone());
            images.entry(batch.ids[place]).or_default().push(image);
        }
    }
    images
}

#[test]
fn shards_are_the_epoch_sample_by_sample() {
    each_place(180, |place| {
        for last in [LastBatch::Partial, LastBatch::Pad, LastBatch::Drop] {
            let whole = by_id(&seen(place.build(builder().last_batch(LastBatch::Partial)).epoch(1).unwrap()));
            assert!(whole.len() == SAMPLES as usize && whole.values().all(|images| images.len() == 1));
            for world in [1, 2, 3] {
                let shards: Vec<_> = (0..world)
                    .map(|rank| place.build(builder().shard(rank, world).last_batch(last).batch_size(5)))
                    .map(|loader| (loader.len(), seen(loader.epoch(1).unwrap())))
                    .collect();
                let what = format!("{}, {last:?}, world {world}", place.name);
                assert!(shards.iter().all(|(len, shard)| *len == shards[0].0 && shard.len() == *len), "{what}");
                let full = last != LastBatch::Partial;
                assert!(shards.iter().all(|(_, shard)| shard.iter().all(|batch| !full || batch.ids.len() == 5)));
                let all: Vec<Seen> = shards.into_iter().flat_map(|(_, shard)| shard).collect();
                let union = by_id(&all);
                assert!(union.iter().all(|(id, images)| whole[id] == *images), "{what}: other bits");
                let left_out = if last == LastBatch::Drop {
                    SAMPLES as usize - SAMPLES as usize / world / 5 * 5 * world
                } else {
                    0
                };
                assert_eq!(union.len(), SAMPLES as usize - left_out, "{what}");
            }
        }
    });
}

#[test]
fn padding_is_a_second_occurrence() {
    each_place(60, |place| {
        let batches = seen(place.build(builder().last_batch(LastBatch::Pad)).epoch(0).unwrap());
        let last = &batches[4];
        assert_eq!((last.ids.len(), last.valid), (8, 5));
        assert_eq!(last.ids[5..], batches[0].ids[..3], "padding wraps to the epoch's start");
        let (padding, first) = (&last.params[5..], &batches[0].params[..3]);
        assert!(padding.iter().zip(first).all(|(a, b)| a != b), "with draws of its own");
    });
}

#[test]
fn a_replayed_image_is_the_batchs_bit_for_bit() {
    each_place(180, |place| {
        for (layout, dtype) in [(Layout::Nchw, DType::F32), (Layout::Nhwc, DType::F16), (Layout::Nchw, DType::BF16)] {
            let loader = place.build(builder().output(layout, dtype));
            let batches = seen(loader.epoch(0).unwrap());
            let mut told = 0;
            for (batch, place_in_batch) in [(&batches[0], 0), (&batches[1], 5), (&batches[4], 4)] {
                let (index, params) = (batch.ids[place_in_batch] as usize, &batch.params[place_in_batch]);
                let replayed = loader.replay(index, params).unwrap();
                assert!(replayed == batch.image(place_in_batch), "{}, {dtype:?}, sample {index}", place.name);
                // The comparison can fail: a replay with another crop gives another image.
                let mut other = params.clone();
                let crop = other.ops.iter_mut().find_map(|params| match &mut params.op {
                    Op::Crop { width, .. } if *width > 1 => Some(width),
                    _ => None,
                });
                if let Some(width) = crop {
                    *width -= 1;
                    told += 1;
                    assert!(loader.replay(index, &other).unwrap() != batch.image(place_in_batch));
                }
            }
            assert!(told > 0, "no crop to change");
        }
    });
}
