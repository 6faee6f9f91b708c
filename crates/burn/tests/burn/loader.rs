//! Tests that a `BurnLoader` gives the same batches in the same order as gpufeed's loader, whole and in slices.

use crate::places::{Place, places};
use burn::data::dataloader::DataLoader as _;
use burn::data::dataloader::split::split_dataloader;
use gpufeed::transforms::{MixUp, RandomCrop, RandomHorizontalFlip};
use gpufeed::{DataLoader, DataLoaderBuilder, InMemory, Label, LastBatch, OnError, PixelFormat, Views};
use gpufeed_burn::{BurnLoader, ImageBatch};
use std::sync::Arc;

fn data(samples: u32) -> InMemory {
    let mut data = InMemory::new();
    for class in 0..samples {
        let pixels: Vec<u8> = (0..10 * 10 * 3).map(|i| (i * 7 + class * 31) as u8).collect();
        data.push_pixels(10, 10, PixelFormat::Rgb8, pixels, Label::Class(class)).unwrap();
    }
    data
}

fn builder(samples: u32) -> DataLoaderBuilder {
    DataLoader::builder(data(samples))
        .transform(RandomCrop::new(8))
        .transform(RandomHorizontalFlip::new(0.5))
        .batch_size(4)
        .shuffle(true)
        .seed(3)
}

fn burn_loader(place: &Place, builder: DataLoaderBuilder) -> BurnLoader {
    BurnLoader::new(place.build(builder), place.device.clone())
}

/// The ids, classes and pixels of each batch.
type Items = Vec<(Vec<u64>, Vec<u32>, Vec<f32>)>;

fn plain(batch: ImageBatch) -> (Vec<u64>, Vec<u32>, Vec<f32>) {
    let classes = batch.classes.into_data().iter::<u32>().collect();
    (batch.ids, classes, batch.images.into_data().try_to_vec().unwrap())
}

fn items(loader: &dyn burn::data::dataloader::DataLoader<ImageBatch>) -> Items {
    loader.iter().map(|batch| plain(batch.unwrap())).collect()
}

/// Splits batches into single images.
fn images(items: Items) -> Items {
    let of_batch = |(ids, classes, pixels): (Vec<u64>, Vec<u32>, Vec<f32>)| {
        let size = pixels.len() / ids.len();
        let image = |i: usize| (vec![ids[i]], vec![classes[i]], pixels[i * size..(i + 1) * size].to_vec());
        (0..ids.len()).map(image).collect::<Vec<_>>()
    };
    items.into_iter().flat_map(of_batch).collect()
}

/// The soft labels of an item are those of the loader's batch, also where a slice has cut off an image's partner.
#[test]
fn mixed_batches_have_soft_labels() {
    for place in places() {
        let mixed = || builder(10).batch_transform(MixUp::new(1.0));
        let batches = place.build(mixed()).epoch(0).unwrap().map(Result::unwrap);
        let expected: Vec<f32> = batches.flat_map(|batch| batch.soft_labels(10).unwrap()).collect();
        assert!(expected.iter().any(|share| *share > 0.0 && *share < 1.0));
        let rows = |loader: &dyn burn::data::dataloader::DataLoader<ImageBatch>| -> Vec<f32> {
            let of = |batch: ImageBatch| {
                let labels = batch.soft_labels(10).unwrap();
                assert_eq!(labels.dims(), [batch.ids.len(), 10]);
                labels.into_data().iter::<f32>().collect::<Vec<_>>()
            };
            loader.iter().flat_map(|batch| of(batch.unwrap())).collect()
        };
        assert_eq!(rows(&burn_loader(place, mixed())), expected, "{}", place.name);
        let sliced = burn_loader(place, mixed()).slice(1, 6);
        assert_eq!(rows(&*sliced), expected[10..60], "{}", place.name);
        let too_few = burn_loader(place, mixed())
            .slice(1, 6)
            .iter()
            .map(|batch| batch.unwrap().soft_labels(5))
            .collect::<Vec<_>>();
        assert!(too_few.iter().any(Result::is_err), "{}", place.name);
    }
}

#[test]
fn batches_of_groups_say_how_they_were_mixed() {
    for place in places() {
        let mixed = || builder(10).batch_transform(MixUp::new(1.0));
        let batches = place.build(mixed()).epoch(0).unwrap().map(Result::unwrap);
        let expected: Vec<_> = batches.flat_map(|batch| batch.mixed().unwrap()).collect();
        assert!(expected.iter().any(|(_, _, share)| *share < 1.0));
        let sliced = burn_loader(place, mixed()).grouped().slice(1, 6);
        let seen: Vec<_> = sliced.iter().flat_map(|batch| batch.unwrap().mixed).collect();
        assert_eq!(seen, expected[1..6], "{}", place.name);
        // Labels that are no classes are refused, as the item would have the own ones alone.
        let mut data = InMemory::new();
        for number in 0..4_u8 {
            data.push_pixels(10, 10, PixelFormat::Rgb8, vec![number; 300], Label::from(vec![0.5, 0.5])).unwrap();
        }
        let vectors =
            DataLoader::builder(data).transform(RandomCrop::new(8)).batch_size(4).batch_transform(MixUp::new(1.0));
        let error = burn_loader(place, vectors).grouped().iter().next().unwrap().unwrap_err();
        assert!(
            error.to_string().contains("batch_transform: a GroupBatch has mixed labels that are classes"),
            "{error}"
        );
    }
}

#[test]
fn every_iter_is_the_next_epoch() {
    for place in places() {
        let loader = place.build(builder(10));
        let expected: Vec<Items> = (0..3)
            .map(|epoch| {
                let batches = loader.epoch(epoch).unwrap().map(Result::unwrap);
                batches.map(|b| (b.ids().to_vec(), b.classes().unwrap(), b.to_host_f32().unwrap())).collect()
            })
            .collect();
        let burn = burn_loader(place, builder(10));
        assert_eq!(burn.num_items(), 10);
        for expected in &expected {
            assert!(items(&burn) == *expected, "{}", place.name);
        }
        let resumed = burn_loader(place, builder(10)).from_epoch(2);
        assert!(items(&resumed) == expected[2], "{}", place.name);
    }
}

#[test]
fn progress_counts_items() {
    let burn = burn_loader(&places()[0], builder(10));
    let mut iter = burn.iter();
    let mut progress = Vec::new();
    while iter.next().is_some() {
        let now = iter.progress();
        progress.push((now.items_processed, now.items_total));
    }
    assert_eq!(progress, [(4, 10), (8, 10), (10, 10)]);
}

/// The padding of a last batch repeats samples, so a validation that included it would count them twice.
#[test]
fn padding_is_cut_off() {
    for place in places() {
        let burn = burn_loader(place, builder(10).last_batch(LastBatch::Pad));
        let sizes: Vec<_> = items(&burn).iter().map(|(ids, ..)| ids.len()).collect();
        assert_eq!((burn.num_items(), sizes), (10, vec![4, 4, 2]), "{}", place.name);
    }
}

#[test]
fn padding_of_groups_is_cut_off() {
    for place in places() {
        let builder = DataLoader::builder(data(10))
            .group("global", Views::new(2).transform(RandomCrop::new(8)))
            .group("local", Views::new(3).transform(RandomCrop::new(4)))
            .batch_size(4)
            .last_batch(LastBatch::Pad);
        let items: Vec<_> = burn_loader(place, builder).grouped().iter().map(Result::unwrap).collect();
        assert_eq!(items.iter().map(|item| item.ids.len()).collect::<Vec<_>>(), [4, 4, 2], "{}", place.name);
        assert_eq!(items[2].images("global").unwrap().dims(), [4, 3, 8, 8], "{}", place.name);
        assert_eq!(items[2].images("local").unwrap().dims(), [6, 3, 4, 4], "{}", place.name);
        assert_eq!(items[2].labels, [Label::Class(8), Label::Class(9)], "{}", place.name);
    }
}

/// Slices that begin or end inside a batch of 4 are parts of the same epoch.
#[test]
fn slices_are_parts_of_the_same_epoch() {
    for place in places() {
        let whole: Arc<dyn burn::data::dataloader::DataLoader<_>> = Arc::new(burn_loader(place, builder(11)));
        let epoch = images(items(&*whole));
        let whole: Arc<dyn burn::data::dataloader::DataLoader<_>> = Arc::new(burn_loader(place, builder(11)));
        for (start, end) in [(0, 11), (0, 4), (3, 9), (5, 6), (8, 11), (7, 7), (9, 50), (6, 4)] {
            let slice = whole.slice(start, end);
            let expected = &epoch[start..end.clamp(start, 11)];
            assert!(images(items(&*slice)) == *expected, "{}: {start}..{end}", place.name);
            assert_eq!((slice.num_items(), slice.iter().progress().items_total), (expected.len(), expected.len()));
            // Slices a slice: its range is relative to the first slice.
            assert!(images(items(&*whole.slice(2, 11).slice(1, 3))) == epoch[3..5], "{}", place.name);
        }
        let devices = [place.device.clone(), place.device.clone(), place.device.clone()];
        let split = split_dataloader(whole, &devices);
        let parts: Items = split.iter().flat_map(|part| images(items(&**part))).collect();
        assert!(parts == epoch, "{}", place.name);
    }
}

#[test]
fn errors_are_items() {
    let mut data = data(4);
    data.push_encoded(b"no image".to_vec(), Label::Class(9)).unwrap();
    let builder = DataLoader::builder(data).transform(RandomCrop::new(8)).batch_size(4).on_error(OnError::Fail);
    let burn = burn_loader(&places()[0], builder);
    let mut iter = burn.iter();
    // The error may come before the first batch, because another worker may still be working on that batch.
    let error = iter.find_map(Result::err).unwrap();
    assert!(error.to_string().contains("cannot decode"), "{error}");
    assert!(iter.next().is_none());

    let mapped = burn_loader(&places()[0], builder_of_four()).map(|batch| batch.ids.len());
    assert_eq!(mapped.iter().map(Result::unwrap).collect::<Vec<_>>(), [4]);
}

fn builder_of_four() -> DataLoaderBuilder {
    builder(4)
}

#[test]
fn groups_and_columns_are_items_whole_and_in_slices() {
    use gpufeed::ColumnValues;
    use gpufeed::dataset::{Field, FieldKind, FieldValue};
    let builder = || {
        let fields = ["caption", "score"].map(Field::new);
        let [caption, score] = fields;
        let mut data = InMemory::new().with_fields([caption.kind(FieldKind::Text), score.kind(FieldKind::Numbers)]);
        for number in 0..6_u8 {
            data.push_pixels(10, 10, PixelFormat::Rgb8, vec![number; 300], Label::Class(number.into())).unwrap();
            data.push_fields([FieldValue::from(format!("image {number}")), FieldValue::from(f64::from(number))])
                .unwrap();
        }
        DataLoader::builder(data)
            .group("global", Views::new(2).transform(RandomCrop::new(8)))
            .group("local", Views::new(3).transform(RandomCrop::new(4)))
            .batch_size(4)
    };
    let captions = |samples: std::ops::Range<usize>| {
        ColumnValues::Text(samples.map(|number| Some(format!("image {number}"))).collect())
    };
    for place in places() {
        let whole = || BurnLoader::new(place.build(builder()), place.device.clone()).grouped();
        let items: Vec<_> = whole().iter().map(Result::unwrap).collect();
        assert_eq!(items.len(), 2);
        for (item, samples) in items.iter().zip([0..4, 4..6]) {
            let count = samples.len();
            assert_eq!(item.images("global").unwrap().dims(), [2 * count, 3, 8, 8], "{}", place.name);
            assert_eq!(item.images("local").unwrap().dims(), [3 * count, 3, 4, 4], "{}", place.name);
            assert_eq!(item.column("caption"), Some(&captions(samples.clone())));
            assert_eq!((item.labels.len(), item.ids.len()), (count, count));
        }
        let sliced = whole().slice(1, 5);
        let items: Vec<_> = sliced.iter().map(Result::unwrap).collect();
        let [first, second] = &items[..] else { panic!("two batches") };
        assert_eq!((first.column("caption"), second.column("caption")), (Some(&captions(1..4)), Some(&captions(4..5))));
        let Some(ColumnValues::Numbers { bytes, .. }) = first.column("score") else { panic!("numbers") };
        assert_eq!(*bytes, [1.0_f64, 2.0, 3.0].map(f64::to_ne_bytes).concat());
        let local: Vec<f32> = first.images("local").unwrap().clone().into_data().try_to_vec().unwrap();
        assert_eq!(local.len(), 9 * 48);
        assert!((local[0] - 1.0 / 255.0).abs() < 1e-6 && (local[8 * 48] - 3.0 / 255.0).abs() < 1e-6, "{}", place.name);
        // An ImageBatch has no place for them.
        let error = BurnLoader::new(place.build(builder()), place.device.clone()).iter().next().unwrap().unwrap_err();
        assert!(error.to_string().contains("BurnLoader::grouped"), "{error}");
    }
}
