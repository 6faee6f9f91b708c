//! Tests that bad samples neither end a run nor leave a hole in a batch, and that replacements do not depend on the
//! machine.

use gpufeed::transforms::{CenterCrop, Normalize, RandomCrop, RandomHorizontalFlip, Resize};
use gpufeed::{
    DataLoader, DataLoaderBuilder, Dataset, ErrorKind, ImageFolder, InMemory, Label, LastBatch, Layout, OnError,
    PixelFormat,
};
use gpufeed_testing::pipeline::{Place, Seen, assert_same, encoded, file, picture, places, seen, within};
use image::ImageFormat;
use std::collections::BTreeMap;
use std::fs;
use tempfile::TempDir;

fn each_place(test: fn(&Place)) {
    within(120, "all places", move || places().iter().for_each(test));
}

/// Returns a folder of 40 files in two classes; four are bad, each in another way, and `open` removes a fifth.
fn folder() -> TempDir {
    let root = tempfile::tempdir().unwrap();
    for number in 0..40 {
        let class = root.path().join(["ape", "bee"][number % 2]);
        fs::create_dir_all(&class).unwrap();
        let whole = encoded(picture(number as u32, 40, 30 + number as u32), ImageFormat::Jpeg);
        let bytes = match number {
            6 => whole[..whole.len() / 2].to_vec(),
            13 => Vec::new(),
            20 => b"This is a text, not an image, whatever the name says.\n".to_vec(),
            33 => encoded(picture(33, 12, 15), ImageFormat::Jpeg),
            _ => whole,
        };
        fs::write(class.join(format!("{number:02}.jpg")), bytes).unwrap();
    }
    root
}

/// Opens the folder, then removes a file.
fn open(root: &TempDir) -> ImageFolder {
    let data = ImageFolder::open(root.path()).unwrap();
    let vanishing = root.path().join("bee/27.jpg");
    if vanishing.exists() {
        fs::remove_file(&vanishing).unwrap();
    }
    data
}

fn builder(data: ImageFolder) -> DataLoaderBuilder {
    let builder = DataLoader::builder(data).transform(RandomCrop::new(24)).transform(RandomHorizontalFlip::new(0.5));
    builder.batch_size(8).shuffle(true).seed(3).workers(2).on_error(OnError::Skip { max_share: 1.0 })
}

#[test]
fn bad_samples_are_replaced_and_reported() {
    each_place(|place| {
        let root = folder();
        let data = open(&root);
        let loader = place.build(builder(data.clone()));
        let batches = seen(loader.epoch(0).unwrap());
        assert!(batches.len() == 5 && batches.iter().all(|batch| batch.shape == [8, 3, 24, 24]));
        let mut reasons = BTreeMap::new();
        for batch in &batches {
            for (place, id, name, reason) in &batch.failures {
                assert_eq!(*name, data.name(*id as usize));
                assert_ne!(batch.ids[*place], *id, "a replacement has its own id");
                // A replacement that fails is reported too, at the same batch index.
                reasons.entry(name.rsplit('/').next().unwrap().to_owned()).or_insert(reason.clone());
            }
            for (id, label) in batch.ids.iter().zip(&batch.labels) {
                assert_eq!(*label, Label::Class(data.targets()[*id as usize]), "the replacement's own label");
            }
        }
        let expected = [
            ("06.jpg", "truncated JPEG"),
            ("13.jpg", "cannot decode"),
            ("20.jpg", "cannot decode"),
            ("27.jpg", "bee/27.jpg"),
            ("33.jpg", "RandomCrop on an image of 12x15"),
        ];
        assert_eq!(reasons.len(), expected.len(), "{}: {reasons:?}", place.name);
        for (name, part) in expected {
            assert!(reasons[name].contains(part), "{}: {name}: {}", place.name, reasons[name]);
        }
        let failed: usize = batches.iter().map(|batch| batch.failures.len()).sum();
        assert_eq!(loader.stats().failed, failed as u64);
        // A replay of a replacement gives its image in the batch.
        let (batch, at) = batches.iter().find_map(|b| b.failures.first().map(|f| (b, f.0))).unwrap();
        assert!(loader.replay(batch.ids[at] as usize, &batch.params[at]).unwrap() == batch.image(at));
    });
}

#[test]
fn replacements_depend_on_seed_epoch_and_position_alone() {
    each_place(|place| {
        let root = folder();
        let data = open(&root);
        let expected = seen(place.build(builder(data.clone()).workers(1)).epochs(0..2).unwrap());
        for (workers, depth) in [(2, 4), (8, 1)] {
            let loader = place.build(builder(data.clone()).workers(workers).queue_depth(depth));
            let what = format!("{}, {workers} workers", place.name);
            assert_same(&expected, &seen(loader.epochs(0..2).unwrap()), &what);
        }
        // Two shards with batches of 4 have the images of one loader with batches of 8, in turn.
        let shards: Vec<Vec<Seen>> = (0..2)
            .map(|rank| place.build(builder(data.clone()).batch_size(4).shard(rank, 2)))
            .map(|loader| seen(loader.epoch(0).unwrap()))
            .collect();
        for (batch, expected) in expected[..5].iter().enumerate() {
            for at in 0..8 {
                let shard = &shards[at % 2][batch];
                assert_eq!(shard.ids[at / 2], expected.ids[at], "{}", place.name);
                assert!(shard.image(at / 2) == expected.image(at), "{}: batch {batch}, place {at}", place.name);
            }
        }
    });
}

#[test]
fn fail_ends_the_run_with_the_sample() {
    each_place(|place| {
        let root = folder();
        let data = open(&root);
        for workers in [1, 3] {
            let loader = place.build(builder(data.clone()).on_error(OnError::Fail).shuffle(false).workers(workers));
            let mut run = loader.epoch(0).unwrap();
            let error = run.by_ref().find_map(Result::err).unwrap();
            let ErrorKind::Sample { id, name, source } = error.kind() else { panic!("{}: {error}", place.name) };
            assert_eq!(*name, data.name(*id as usize));
            assert!(workers > 1 || name.ends_with("ape/06.jpg"), "{name}");
            assert!(workers > 1 || matches!(source.kind(), ErrorKind::TruncatedImage { .. }), "{source}");
            assert!(run.next().is_none() && run.len() == 0, "nothing follows an error");
        }
    });
}

/// Returns `samples` files; those whose number is a multiple of `every` are bad.
fn broken(samples: u32, every: u32) -> InMemory {
    let bytes = |number: u32| if number.is_multiple_of(every) { vec![0xff, 0xd8, 0xff] } else { file(number % 9) };
    (0..samples).map(|number| (bytes(number), Label::Class(number))).collect()
}

#[test]
fn too_many_failures_end_the_run_at_the_same_batch() {
    each_place(|place| {
        let mut batches = Vec::new();
        for workers in [1, 4] {
            let loader = DataLoader::builder(broken(150, 3)).transform(CenterCrop::new(16)).batch_size(10);
            let loader = place.build(loader.workers(workers));
            let (mut good, mut error) = (0, None);
            for batch in loader.epoch(0).unwrap() {
                match batch {
                    Ok(_) => good += 1,
                    Err(found) => error = Some(found),
                }
            }
            let error = error.unwrap_or_else(|| panic!("{}: no error", place.name));
            let ErrorKind::TooManyFailures { failed, seen, last, .. } = error.kind() else { panic!("{error}") };
            assert_eq!((good, *seen), (9, 100), "judged from 100 samples on");
            assert!(*failed >= 34 && matches!(last.kind(), ErrorKind::Sample { .. }), "{error}");
            batches.push(error.to_string());
        }
        assert_eq!(batches[0], batches[1], "{}", place.name);
        let loader = DataLoader::builder(broken(150, 3)).transform(CenterCrop::new(16)).batch_size(10);
        let loader = place.build(loader.on_error(OnError::Skip { max_share: 0.9 }));
        assert_eq!(seen(loader.epoch(0).unwrap()).len(), 15);
    });
}

#[test]
fn nothing_but_bad_samples_is_an_error() {
    each_place(|place| {
        for workers in [1, 3] {
            let loader = DataLoader::builder(broken(30, 1)).transform(CenterCrop::new(16)).batch_size(4);
            let loader = place.build(loader.workers(workers).on_error(OnError::Skip { max_share: 1.0 }));
            let results: Vec<_> = loader.epoch(0).unwrap().collect();
            let [Err(error)] = &results[..] else { panic!("{}: {} results", place.name, results.len()) };
            assert!(matches!(error.kind(), ErrorKind::Sample { .. }), "{error}");
        }
    });
}

#[test]
fn one_sample_fills_a_batch() {
    each_place(|place| {
        let data: InMemory = [(file(1), Label::Class(9))].into_iter().collect();
        let builder = DataLoader::builder(data).transform(RandomCrop::new(16)).batch_size(8).workers(5);
        let batches = seen(place.build(builder.last_batch(LastBatch::Pad)).epoch(0).unwrap());
        let [batch] = &batches[..] else { panic!("{} batches", batches.len()) };
        assert_eq!((batch.valid, &batch.ids[..]), (1, &[0; 8][..]));
        assert!((1..8).any(|at| batch.image(at) != batch.image(0)), "each occurrence draws for itself");
    });
}

#[test]
fn pixels_of_every_format() {
    each_place(|place| {
        let (width, height) = (10, 6);
        let gray: Vec<u8> = (0..60).map(|i| i * 4).collect();
        let channels = |n: usize| gray.iter().flat_map(|v| vec![*v; n]).collect::<Vec<u8>>();
        let floats = |n: usize| channels(n).iter().flat_map(|v| (f32::from(*v) / 255.0).to_ne_bytes()).collect();
        let expected: Vec<f32> = gray.iter().map(|v| f32::from(*v) * (1.0 / 255.0)).collect();
        for (format, bytes) in [
            (PixelFormat::R8, gray.clone()),
            (PixelFormat::Rgb8, channels(3)),
            (PixelFormat::Rgba8, channels(4)),
            (PixelFormat::F32 { channels: 1 }, floats(1)),
            (PixelFormat::F32 { channels: 3 }, floats(3)),
        ] {
            let mut data = InMemory::new();
            for number in 0..3 {
                data.push_pixels(width, height, format, bytes.clone(), Label::Class(number)).unwrap();
            }
            let builder = DataLoader::builder(data).transform(Resize::new((6, 10))).batch_size(2);
            let batches = seen(place.build(builder.output(Layout::Nchw, gpufeed::DType::F32)).epoch(0).unwrap());
            let planes = if matches!(format, PixelFormat::R8 | PixelFormat::F32 { channels: 1 }) { 1 } else { 3 };
            assert_eq!((batches[0].shape, batches[1].shape), ([2, planes, 6, 10], [1, planes, 6, 10]));
            for image in
                batches.iter().flat_map(|batch| batch.floats().chunks(60).map(<[f32]>::to_vec).collect::<Vec<_>>())
            {
                let off = image.iter().zip(&expected).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
                assert!(off < 1e-6, "{}, {format:?}: off by {off}", place.name);
            }
        }
    });
}

#[test]
fn fewer_samples_than_workers() {
    each_place(|place| {
        let data: InMemory = (0..3).map(|number| (file(number), Label::None)).collect();
        let builder = DataLoader::builder(data).transform(CenterCrop::new(16)).transform(Normalize::IMAGENET);
        let loader = place.build(builder.batch_size(2).workers(16).queue_depth(8));
        for epoch in 0..3 {
            let batches = seen(loader.epoch(epoch).unwrap());
            assert!(batches.len() == 2 && batches[0].labels[0] == Label::None);
        }
    });
}

/// The chain of replacements depends on seed, epoch and position; if it left out one of these, every bad sample would
/// have one and the same replacement, or the same in every epoch.
#[test]
fn replacements_differ_by_position_epoch_and_seed() {
    let mut data = gpufeed::InMemory::new();
    for number in 0..200u32 {
        if number % 20 == 7 {
            data.push_encoded(&b"no image"[..], gpufeed::Label::None).unwrap();
        } else {
            data.push_pixels(2, 2, gpufeed::PixelFormat::Rgb8, vec![0; 12], gpufeed::Label::None).unwrap();
        }
    }
    let stand_ins = |seed: u64, epoch: u64| -> Vec<u64> {
        let builder = gpufeed::DataLoader::builder(data.clone()).transform(gpufeed::transforms::CenterCrop::new(2));
        let loader = builder.batch_size(200).seed(seed).build(&gpufeed::Backend::Cpu).unwrap();
        let batch = loader.epoch(epoch).unwrap().next().unwrap().unwrap();
        batch.ids().iter().skip(7).step_by(20).copied().collect()
    };
    let found = stand_ins(1, 0);
    let different: std::collections::BTreeSet<_> = found.iter().collect();
    assert!(different.len() >= 8, "ten positions, stand-ins {found:?}");
    assert_eq!(found, stand_ins(1, 0));
    assert_ne!(found, stand_ins(1, 1));
    assert_ne!(found, stand_ins(2, 0));
}
