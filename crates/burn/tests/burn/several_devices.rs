//! Tests that `BurnLoader::on` gives each device of a learner the shard that was made for it.

use burn::data::dataloader::DataLoader as BurnDataLoader;
use burn::data::dataloader::split::split_dataloader;
use burn::tensor::Device;
use gpufeed::transforms::RandomCrop;
use gpufeed::{Backend, DataLoader, Execute, InMemory, Label, LastBatch, PixelFormat};
use gpufeed_burn::{BurnLoader, ImageBatch};
use std::sync::Arc;

/// The ids of each batch.
type Ids = Vec<Vec<u64>>;

fn shard(samples: u32, (rank, world): (usize, usize), last_batch: LastBatch) -> DataLoader {
    let mut data = InMemory::new();
    for class in 0..samples {
        let pixels: Vec<u8> = (0..8 * 8 * 3).map(|i| (i * 7 + class * 31) as u8).collect();
        data.push_pixels(8, 8, PixelFormat::Rgb8, pixels, Label::Class(class)).unwrap();
    }
    let loader = DataLoader::builder(data).transform(RandomCrop::new(4)).batch_size(3).shuffle(true).seed(5);
    loader.last_batch(last_batch).workers(1).shard(rank, world).build(&Backend::Cpu).unwrap()
}

fn on(samples: u32, world: usize, last_batch: LastBatch) -> BurnLoader {
    let loaders = (0..world).map(|rank| (shard(samples, (rank, world), last_batch), Device::flex()));
    BurnLoader::on(loaders).unwrap()
}

fn ids(loader: &dyn BurnDataLoader<ImageBatch>) -> Ids {
    loader.iter().map(|batch| batch.unwrap().ids).collect()
}

/// Split as Burn's learners do, each part is a shard's batches in every epoch, and all parts are of one length, also where
/// the samples do not divide.
#[test]
fn a_learner_gives_each_device_its_shard() {
    for (samples, world) in [(12, 2), (13, 2), (14, 3), (7, 1)] {
        for last_batch in [LastBatch::Partial, LastBatch::Pad, LastBatch::Drop] {
            let case = format!("{samples} samples, {world} devices, {last_batch:?}");
            let devices = vec![Device::flex(); world];
            let parts = split_dataloader(Arc::new(on(samples, world, last_batch)), &devices);
            for epoch in 0..2 {
                let found: Vec<Ids> = parts.iter().map(|part| ids(&**part)).collect();
                let batches = |rank| shard(samples, (rank, world), last_batch).epoch(epoch).unwrap();
                let expected: Vec<Ids> =
                    (0..world).map(|rank| batches(rank).map(|batch| batch.unwrap().ids().to_vec()).collect()).collect();
                assert_eq!(found, expected, "{case}, epoch {epoch}");
                assert!(found.iter().all(|part| part.len() == found[0].len()), "{case}");
            }
            assert!(parts.iter().all(|part| part.num_items() == parts[0].num_items()), "{case}");
        }
    }
}

/// Iterated as a whole, and in slices across the shards' ends, the items are the shards' laid end to end.
#[test]
fn slices_reach_across_shards() {
    let flat = |loader: &dyn BurnDataLoader<ImageBatch>| ids(loader).concat();
    let whole = flat(&on(13, 2, LastBatch::Partial));
    assert_eq!(whole.len(), 14, "one sample is repeated");
    for (start, end) in [(0, 14), (5, 9), (6, 7), (7, 14), (13, 20), (7, 7)] {
        let loader = on(13, 2, LastBatch::Partial);
        let slice = loader.slice(start, end);
        assert_eq!(flat(&*slice), whole[start..end.min(14)], "{start}..{end}");
        let progress = slice.iter().progress();
        assert_eq!((progress.items_processed, progress.items_total), (0, end.min(14) - start));
    }
    let mapped = on(13, 2, LastBatch::Partial).map(|batch| batch.ids.len()).from_epoch(1);
    assert_eq!(mapped.iter().map(Result::unwrap).sum::<usize>(), 14);
}

#[test]
fn to_device_picks_the_loader_of_the_device() {
    let places = crate::places::places();
    // Two devices need another than the CPU's; machines without any adapter have the first test alone.
    let Some(gpu) = places.iter().find(|place| place.device != Device::flex()) else { return };
    let build = |rank, backend: &Backend, execute| {
        let mut data = InMemory::new();
        for class in 0..10 {
            data.push_pixels(4, 4, PixelFormat::Rgb8, vec![9; 48], Label::Class(class)).unwrap();
        }
        let loader = DataLoader::builder(data).transform(RandomCrop::new(4)).batch_size(5).shard(rank, 2);
        loader.execute(execute).build(backend).unwrap()
    };
    let cpu = (build(0, &Backend::Cpu, Execute::Auto), Device::flex());
    let loader = BurnLoader::on([cpu, (build(1, &gpu.backend, gpu.execute), gpu.device.clone())]).unwrap();
    for (device, expected) in [(Device::flex(), [0, 2, 4, 6, 8]), (gpu.device.clone(), [1, 3, 5, 7, 9])] {
        let part = loader.to_device(&device);
        assert_eq!(ids(&*part), [expected]);
        assert_eq!(ids(&*loader.to_device(&device.clone().autodiff())), [expected]);
        assert!(part.iter().all(|batch| batch.unwrap().images.device() == device));
    }
    // Each batch is on the device of its own loader.
    let devices: Vec<Device> = loader.iter().map(|batch| batch.unwrap().images.device()).collect();
    assert_eq!(devices, [Device::flex(), gpu.device.clone()]);
}

#[test]
fn loaders_that_are_no_shards_of_one_data_set_are_refused() {
    let one = |samples, shard_of| (shard(samples, shard_of, LastBatch::Partial), Device::flex());
    for (loaders, says) in [
        (vec![], "none"),
        (vec![one(8, (0, 1)), one(8, (0, 1))], "shard(0, 2)"),
        (vec![one(8, (1, 2)), one(8, (0, 2))], "shard(0, 2)"),
        (vec![one(8, (0, 2))], "shard(0, 1)"),
        (vec![one(8, (0, 2)), one(9, (1, 2))], "loader 1 has another"),
    ] {
        let error = BurnLoader::on(loaders).err().unwrap().to_string();
        assert!(error.starts_with("loaders: ") && error.contains(says), "{error}");
    }
}
