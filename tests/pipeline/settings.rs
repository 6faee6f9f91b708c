//! Tests that mistakes in settings are found early, and reported with the setting to change.

use gpufeed::transforms::{CenterCrop, ColorJitter, Grayscale, Normalize, RandomResizedCrop, Resize, Transform};
use gpufeed::{
    Backend, DType, DataLoader, DataLoaderBuilder, Dataset, Error, ErrorKind, Execute, Gpu, ImageFolder, InMemory,
    LastBatch, Layout, OnError, Result, Sample,
};
use gpufeed_testing::pipeline::{self, places, small_files, within};
use std::fs;

fn builder() -> DataLoaderBuilder {
    DataLoader::builder(small_files(10)).transform(CenterCrop::new(16)).batch_size(4)
}

fn list(transforms: impl IntoIterator<Item = Transform>) -> DataLoaderBuilder {
    DataLoader::builder(small_files(10)).recipe(Vec::from_iter(transforms)).batch_size(4)
}

#[test]
fn every_wrong_argument_is_named_by_build() {
    within(60, "settings", || {
        let cases: Vec<(&str, DataLoaderBuilder)> = vec![
            ("batch_size", builder().batch_size(0)),
            ("batch_size", builder().batch_size(usize::MAX)),
            ("workers", builder().workers(0)),
            ("workers", builder().workers(1 << 20)),
            ("queue_depth", builder().queue_depth(0)),
            ("queue_depth", builder().queue_depth(usize::MAX)),
            ("shard", builder().shard(2, 2)),
            ("shard", builder().shard(0, 0)),
            ("last_batch", builder().batch_size(11).last_batch(LastBatch::Drop)),
            ("slot_bytes", builder().slot_bytes(1 << 20)),
            ("max_pixels", builder().max_pixels(0)),
            ("max_decode_bytes", builder().max_decode_bytes(0)),
            ("on_error", builder().on_error(OnError::Skip { max_share: 1.5 })),
            ("on_error", builder().on_error(OnError::Skip { max_share: f64::NAN })),
            ("transforms", DataLoader::builder(small_files(3))),
            ("transforms", list([Resize::new(20).into()])),
            ("brightness", list([CenterCrop::new(8).into(), ColorJitter::new(-0.4, 0.4, 0.4, 0.1).into()])),
            ("hue", list([CenterCrop::new(8).into(), ColorJitter::new(0.0, 0.0, 0.0, 0.7).into()])),
            ("size", list([Resize::new(0).into(), CenterCrop::new(8).into()])),
            ("size", list([CenterCrop::new(0).into()])),
            ("num_output_channels", list([CenterCrop::new(8).into(), Grayscale::new(2).into()])),
            ("scale", list([RandomResizedCrop::new(8).scale(0.9, 0.1).into()])),
            ("std", list([CenterCrop::new(8).into(), Normalize::new([0.5; 3], [0.0; 3]).into()])),
        ];
        for (setting, builder) in cases {
            for place in places() {
                let shown = format!("{builder:?}");
                let error = place.try_build(builder.clone()).expect_err(&shown);
                let ErrorKind::Argument { setting: named, reason } = error.kind() else {
                    panic!("{}: {setting}: {error}", place.name)
                };
                assert_eq!(*named, setting, "{}: {error}", place.name);
                assert!(!reason.is_empty());
            }
        }
        let u8_after_normalize = list([CenterCrop::new(8).into(), Normalize::IMAGENET.into()]);
        let error = u8_after_normalize.output(Layout::Nchw, DType::U8).build(&Backend::Cpu).unwrap_err();
        assert!(
            matches!(error.kind(), ErrorKind::Argument { .. }) && error.to_string().contains("Normalize"),
            "{error}"
        );
        let error = builder().execute(Execute::Gpu).build(&Backend::Cpu).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Argument { setting: "execute", .. }), "{error}");
        let text = error.to_string();
        assert!(text.contains("the backend is the CPU; Execute::Auto works"), "names both: {text}");
        builder().execute(Execute::Auto).build(&Backend::Cpu).expect("what the message says works");
    });
}

#[test]
fn what_does_not_fit_names_what_would_change_it() {
    within(60, "sizes", || {
        for place in places() {
            for builder in [
                builder().memory_budget(1000),
                builder().batch_size(1 << 31),
                builder().queue_depth(4000).memory_budget(1 << 20),
            ] {
                let error = place.try_build(builder).unwrap_err();
                let ErrorKind::DoesNotFit { needed, limit, .. } = error.kind() else {
                    panic!("{}: {error}", place.name)
                };
                assert!(needed > limit, "{error}");
                assert!(error.to_string().contains("batch_size"), "{error}");
            }
            let error = place.try_build(builder().memory_budget(1000)).unwrap_err().to_string();
            for setting in ["memory_budget", "queue_depth", "batch_size", "output size"] {
                assert!(error.contains(setting), "{error}");
            }
            if place.is_shaders() {
                let error = place.try_build(builder().slot_bytes(1 << 50).memory_budget(u64::MAX)).unwrap_err();
                assert!(error.to_string().contains("slot_bytes"), "{error}");
            }
        }
    });
}

#[test]
fn the_last_epoch_of_all() {
    let loader = builder().build(&Backend::Cpu).unwrap();
    assert_eq!(loader.epoch(u64::MAX - 1).unwrap().filter(Result::is_ok).count(), loader.len());
    let error = loader.epoch(u64::MAX).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Argument { setting: "epoch", .. }), "{error}");
}

#[test]
fn data_sets_without_samples() {
    let root = tempfile::tempdir().unwrap();
    let missing = ImageFolder::open(root.path().join("nowhere")).unwrap_err();
    assert!(matches!(missing.kind(), ErrorKind::Io { path, .. } if path.ends_with("nowhere")), "{missing}");
    let empty = ImageFolder::open(root.path()).unwrap_err();
    assert!(matches!(empty.kind(), ErrorKind::EmptyDataset { .. }), "{empty}");
    fs::write(root.path().join("1.jpg"), pipeline::file(1)).unwrap();
    let flat = ImageFolder::open(root.path()).unwrap_err();
    assert!(matches!(flat.kind(), ErrorKind::EmptyDataset { .. }), "{flat}");
    fs::create_dir(root.path().join("cat")).unwrap();
    let hollow = ImageFolder::open(root.path()).unwrap_err();
    assert!(matches!(hollow.kind(), ErrorKind::EmptyDataset { .. }), "{hollow}");
    for place in places() {
        let error = place.try_build(DataLoader::builder(InMemory::new()).transform(CenterCrop::new(8))).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::EmptyDataset { .. }), "{error}");
    }
}

#[test]
fn an_adapter_that_is_not_there() {
    let error = Backend::gpu("no such adapter").unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::NoAdapter { .. }), "{error}");
    let text = error.to_string();
    assert!(text.contains("\"no such adapter\"") && text.contains("Backend::Cpu"), "{text}");
    assert!(Gpu::adapters().iter().all(|adapter| text.contains(adapter)), "{text}");
    assert!(Backend::gpu("4711").is_err());
}

/// A data set whose reads always fail, with a number of channels that no plan supports.
struct Odd(u32);

impl Dataset for Odd {
    fn len(&self) -> usize {
        4
    }

    fn inner(&self) -> Option<&dyn Dataset> {
        None
    }

    fn read<'a>(&'a self, index: usize, _buffer: &'a mut Vec<u8>) -> Result<Sample<'a>> {
        let source = std::io::Error::other(format!("no sample {index}"));
        Err(Error::from(ErrorKind::Io { path: "nowhere".into(), source }))
    }

    fn name(&self, index: usize) -> String {
        format!("odd {index}")
    }

    fn channels(&self) -> u32 {
        self.0
    }
}

#[test]
fn channels_that_no_plan_knows() {
    for channels in [0, 2, 4] {
        let error = DataLoader::builder(Odd(channels)).transform(CenterCrop::new(8)).build(&Backend::Cpu).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Argument { .. }), "{error}");
        assert!(error.to_string().contains("channels"), "{error}");
    }
}
