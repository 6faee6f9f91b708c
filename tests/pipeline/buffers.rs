//! Tests that output buffers are not recycled while the caller holds them, not lost when it drops them, and not waited
//! for in vain.

use gpufeed::transforms::{ColorJitter, RandomResizedCrop};
use gpufeed::{Batch, DataLoader, DataLoaderBuilder, ErrorKind, Images, InMemory};
use gpufeed_testing::pipeline::{Place, Seen, assert_same, places, seen, small_files, within};
use std::sync::LazyLock;
use std::sync::mpsc::sync_channel;
use std::time::{Duration, Instant};

static FILES: LazyLock<InMemory> = LazyLock::new(|| small_files(40));

/// Returns the settings of a loader with 20 batches of two images; a batch takes 96 KiB.
fn builder() -> DataLoaderBuilder {
    let builder = DataLoader::builder(FILES.clone()).transform(RandomResizedCrop::new(64));
    builder.transform(ColorJitter::new(0.4, 0.4, 0.4, 0.1)).batch_size(2).workers(2).slot_bytes(16 << 20)
}

const BATCH: u64 = 2 * 3 * 64 * 64 * 4;

fn each_place(test: fn(&Place)) {
    within(120, "all places", move || places().iter().for_each(test));
}

fn read(held: &[Batch]) -> Vec<Seen> {
    held.iter().map(Seen::from).collect()
}

#[test]
fn a_caller_may_collect_an_epoch() {
    each_place(|place| {
        let loader = place.build(builder());
        let expected = seen(loader.epoch(0).unwrap());
        let held: Vec<Batch> = loader.epoch(0).unwrap().map(Result::unwrap).collect();
        assert_same(&expected, &read(&held), &format!("{}, held", place.name));
        // A second epoch does not change the batches that are held.
        let second = seen(loader.epoch(1).unwrap());
        assert!(second[0].bytes != expected[0].bytes);
        assert_same(&expected, &read(&held), &format!("{}, held through another epoch", place.name));
        drop(held);
        assert_same(&second, &seen(loader.epoch(1).unwrap()), &format!("{}, recycled", place.name));
    });
}

#[test]
fn holding_more_than_the_budget_is_an_error_that_names_the_settings() {
    each_place(|place| {
        // The budget has room for 9 batches besides slots and workspace, so at most 9 can be held.
        let fixed = match place.try_build(builder().memory_budget(0)).unwrap_err().into_kind() {
            ErrorKind::DoesNotFit { needed, .. } => needed - 4 * BATCH,
            kind => panic!("{}: {kind}", place.name),
        };
        let loader = place.build(builder().memory_budget(fixed + 9 * BATCH));
        let expected = seen(loader.epoch(0).unwrap());
        let mut run = loader.epoch(0).unwrap();
        let (mut held, mut error) = (Vec::new(), None);
        let started = Instant::now();
        for batch in run.by_ref() {
            match batch {
                Ok(batch) => held.push(batch),
                Err(found) => error = Some(found),
            }
        }
        assert!(started.elapsed() < Duration::from_secs(10));
        let error = error.unwrap_or_else(|| panic!("{}: {} batches held", place.name, held.len()));
        let ErrorKind::OutputsHeld { held: count, budget } = error.kind() else { panic!("{}: {error}", place.name) };
        assert_eq!((*count, *budget, held.len()), (9, fixed + 9 * BATCH, 9), "{}", place.name);
        let text = error.to_string();
        assert!(text.contains("memory_budget") && text.contains("queue_depth"), "{text}");
        assert!(run.next().is_none(), "nothing follows an error");
        assert_same(&expected[..9], &read(&held), &place.name);
        // The loader still works once the batches and the run are dropped.
        drop((held, run));
        assert_same(&expected, &seen(loader.epoch(0).unwrap()), &place.name);
    });
}

#[test]
fn a_slow_caller_with_full_hands_is_no_error() {
    each_place(|place| {
        let loader = place.build(builder());
        let mut held = Vec::new();
        for batch in loader.epoch(0).unwrap().take(7) {
            held.push(batch.unwrap());
        }
        std::thread::sleep(Duration::from_millis(1500));
        let mut run = loader.epoch(1).unwrap();
        held.push(run.next().unwrap().unwrap());
        std::thread::sleep(Duration::from_millis(1500));
        assert!(run.all(|batch| batch.is_ok()), "{}", place.name);
    });
}

#[test]
fn dropping_each_batch_at_once_needs_no_more_than_the_first_buffers() {
    each_place(|place| {
        let needed = match place.try_build(builder().memory_budget(0)).unwrap_err().into_kind() {
            ErrorKind::DoesNotFit { needed, .. } => needed,
            kind => panic!("{}: {kind}", place.name),
        };
        let loader = place.build(builder().memory_budget(needed));
        let expected = seen(place.build(builder()).epochs(0..3).unwrap());
        assert_same(&expected, &seen(loader.epochs(0..3).unwrap()), &place.name);
    });
}

#[test]
fn batches_may_be_dropped_by_another_thread_in_any_order() {
    each_place(|place| {
        let loader = place.build(builder().memory_budget(256 << 20));
        let expected = seen(loader.epochs(0..2).unwrap());
        let (sender, receiver) = sync_channel::<Batch>(3);
        let reader = std::thread::spawn(move || {
            let (mut held, mut found) = (Vec::<Batch>::new(), Vec::new());
            for batch in receiver {
                held.push(batch);
                if held.len() == 4 {
                    // The second-newest batch is read and dropped first; those that stay are read much later.
                    found.push(Seen::from(&held.remove(2)));
                }
            }
            found.extend(read(&held));
            found.sort_by_key(|seen| (seen.epoch, seen.index));
            found
        });
        loader.epochs(0..2).unwrap().for_each(|batch| sender.send(batch.unwrap()).unwrap());
        drop(sender);
        assert_same(&expected, &reader.join().unwrap(), &place.name);
    });
}

#[test]
fn batches_outlive_the_run_and_the_loader() {
    each_place(|place| {
        let loader = place.build(builder());
        let expected = seen(loader.epoch(0).unwrap());
        let mut run = loader.epoch(0).unwrap();
        let held: Vec<Batch> = run.by_ref().take(3).map(Result::unwrap).collect();
        drop(loader);
        let more: Vec<Batch> = run.by_ref().take(3).map(Result::unwrap).collect();
        drop(run);
        assert_same(&expected[..3], &read(&held), &format!("{}, older than the loader's end", place.name));
        assert_same(&expected[3..6], &read(&more), &format!("{}, younger", place.name));
    });
}

#[test]
fn a_buffer_taken_out_stays_as_it_is() {
    each_place(|place| {
        let loader = place.build(builder());
        let expected = seen(loader.epochs(0..2).unwrap());
        let mut taken = Vec::new();
        for (batch, expected) in loader.epoch(0).unwrap().zip(&expected) {
            let batch = batch.unwrap();
            match batch.images() {
                Images::Gpu { buffer, offset } => assert!((offset, BATCH) == (0, buffer.size())),
                Images::Host(bytes) => assert!(bytes == expected.bytes && bytes.as_ptr().align_offset(64) == 0),
            }
            taken.extend(batch.into_buffer());
        }
        let gpufeed::Backend::Gpu(gpu) = &place.backend else {
            assert!(taken.is_empty());
            return;
        };
        assert_eq!(taken.len(), 20);
        // Another epoch would overwrite the buffers if they were recycled.
        assert_same(&expected[20..], &seen(loader.epoch(1).unwrap()), &place.name);
        for (number, (buffer, expected)) in taken.iter().zip(&expected).enumerate() {
            assert!(contents(gpu, buffer) == expected.bytes, "{}: batch {number}", place.name);
            assert!(taken[..number].iter().all(|other| other != buffer), "{}: twice the same", place.name);
        }
    });
}

#[test]
fn a_run_that_does_not_fit_beside_another_is_refused() {
    each_place(|place| {
        let needed = match place.try_build(builder().memory_budget(0)).unwrap_err().into_kind() {
            ErrorKind::DoesNotFit { needed, .. } => needed,
            kind => panic!("{}: {kind}", place.name),
        };
        let loader = place.build(builder().memory_budget(2 * needed - 1));
        let expected = seen(loader.epoch(0).unwrap());
        let mut first = loader.epoch(0).unwrap();
        assert!(first.next().unwrap().is_ok());
        let error = loader.epoch(1).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::DoesNotFit { .. }), "{}: {error}", place.name);
        assert!(error.to_string().contains("memory_budget"), "{error}");
        assert_eq!(first.count(), 19, "{}", place.name);
        assert_same(&expected, &seen(loader.epoch(0).unwrap()), &place.name);
    });
}

/// Reads a buffer by calls of wgpu alone.
fn contents(gpu: &gpufeed::Gpu, buffer: &gpufeed::wgpu::Buffer) -> Vec<u8> {
    use gpufeed::wgpu::{BufferDescriptor, BufferUsages, CommandEncoderDescriptor, MapMode, PollType};
    let usage = BufferUsages::COPY_DST | BufferUsages::MAP_READ;
    let descriptor = BufferDescriptor { label: None, size: buffer.size(), usage, mapped_at_creation: false };
    let copy = gpu.device().create_buffer(&descriptor);
    let mut encoder = gpu.device().create_command_encoder(&CommandEncoderDescriptor::default());
    encoder.copy_buffer_to_buffer(buffer, 0, &copy, 0, buffer.size());
    gpu.queue().submit([encoder.finish()]);
    copy.map_async(MapMode::Read, .., Result::unwrap);
    gpu.device().poll(PollType::wait_indefinitely()).unwrap();
    copy.get_mapped_range(..).unwrap().to_vec()
}
