//! Data sets in memory, in one file or in a list, and adaptors: they give what torchvision's readers give for the same
//! files, and loaders work over weighted, repeated and concatenated sets.

use gpufeed::dataset::{Concat, Emnist};
use gpufeed::transforms::{ColorJitter, RandomResizedCrop, Transform};
use gpufeed::{
    Arrays, Backend, Cifar, DataLoader, DataLoaderBuilder, Dataset, ErrorKind, Idx, Label, LastBatch, Layout, Numpy,
    Result, Split, State,
};
use gpufeed_testing::golden;
use gpufeed_testing::pipeline::{self, assert_same, seen, small_files, within};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::collections::{HashMap, HashSet};
use std::io::Cursor;
use std::path::PathBuf;
use std::sync::LazyLock;
use tempfile::TempDir;

/// The results of torchvision's readers, which `tests/golden/dataset_arrays.py` has written.
static GOLDEN: LazyLock<Value> =
    LazyLock::new(|| serde_json::from_str(include_str!("../golden/dataset_arrays.json")).unwrap());

/// A folder with the files that torchvision's readers have read.
static FILES: LazyLock<TempDir> = LazyLock::new(|| {
    let folder = tempfile::tempdir().unwrap();
    let archive = Cursor::new(include_bytes!("../golden/dataset_arrays.zip"));
    zip::ZipArchive::new(archive).unwrap().extract(folder.path()).unwrap();
    folder
});

fn files(path: &str) -> PathBuf {
    FILES.path().join(path)
}

fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns in which of shape, images, labels and classes `data` differs from torchvision's result for `name`.
fn differences(name: &str, data: &Arrays) -> Vec<&'static str> {
    let golden = &GOLDEN["sets"][name];
    let shape: Vec<u64> = serde_json::from_value(golden["shape"].clone()).unwrap();
    let classes: Vec<String> = serde_json::from_value(golden["classes"].clone()).unwrap();
    let labels: Vec<u8> = data.targets().unwrap().iter().flat_map(|label| label.to_le_bytes()).collect();
    let mut found = vec![data.len() as u64, data.height().into(), data.width().into()];
    if shape.len() == 4 {
        found.push(data.channels().into());
    }
    let same = [
        ("shape", found == shape),
        ("images", hash(data.pixels()) == golden["images"]),
        ("labels", hash(&labels) == golden["labels"]),
        ("classes", data.classes() == classes),
    ];
    same.into_iter().filter(|(_, same)| !same).map(|(what, _)| what).collect()
}

fn assert_golden(name: &str, data: Result<Arrays>) {
    let found = differences(name, &data.unwrap_or_else(|error| panic!("{name}: {error}")));
    assert!(found.is_empty(), "{name}: not torchvision's {found:?}");
}

#[test]
fn idx_files_read_as_torchvision_reads_them() {
    for (split, name) in [(Split::Train, "train"), (Split::Test, "test")] {
        assert_golden(&format!("MNIST/{name}"), Idx::mnist(files("MNIST"), split));
        assert_golden(&format!("MNIST/{name}"), Idx::mnist(files("MNIST/raw"), split));
        assert_golden(&format!("FashionMNIST/{name}"), Idx::fashion_mnist(files("FashionMNIST"), split));
        assert_golden(&format!("KMNIST/{name}"), Idx::kmnist(files("KMNIST"), split));
    }
    let parts = [Emnist::ByClass, Emnist::ByMerge, Emnist::Balanced, Emnist::Letters, Emnist::Digits, Emnist::Mnist];
    for part in parts {
        assert_golden(&format!("EMNIST/{}", part.name()), Idx::emnist(files("EMNIST"), part, Split::Train));
    }
}

#[test]
fn cifar_files_of_both_layouts_read_as_torchvision_reads_them() {
    for (split, name) in [(Split::Train, "train"), (Split::Test, "test")] {
        for folder in ["cifar-10-batches-py", "cifar-10-batches-bin", ""] {
            assert_golden(&format!("cifar-10/{name}"), Cifar::open(files(folder), split));
        }
        for folder in ["cifar-100-python", "cifar-100-binary"] {
            assert_golden(&format!("cifar-100/{name}"), Cifar::open(files(folder), split));
        }
        // torchvision has no coarse labels, so the two file layouts are compared with each other.
        let [python, binary] =
            ["cifar-100-python", "cifar-100-binary"].map(|folder| Cifar::coarse(files(folder), split).unwrap());
        assert_eq!(python.targets(), Some(&[19, 0, if name == "train" { 0 } else { 1 }][..]));
        assert_eq!((python.targets(), python.classes()), (binary.targets(), binary.classes()));
        assert_eq!((python.pixels() == binary.pixels(), python.classes()[19].as_str()), (true, "coarse 19"));
    }
}

#[test]
fn numpy_files_read_as_numpy_reads_them() {
    for name in ["packed.npz", "plain.npz"] {
        assert_golden(&format!("numpy/{name}"), Numpy::open(files("numpy").join(name)));
    }
    let at = |name: &str| files("numpy").join(name);
    assert_golden("numpy/floats.npy", Numpy::new().npy(at("floats.npy"), Some(at("labels.npy"))));
    assert_golden("numpy/floats.npy", Numpy::new().layout(Layout::Nchw).npy(at("floats.npy"), Some(at("labels.npy"))));
    for (name, advice) in [("fortran.npy", "numpy.ascontiguousarray"), ("double.npy", "images.astype(numpy.float32)")] {
        let error = Numpy::open(at(name)).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::DataFile { path, .. } if path.ends_with(name)), "{error}");
        assert!(error.to_string().contains(advice), "{error}");
    }
}

#[test]
fn the_comparison_with_torchvision_rejects() {
    let train = Idx::mnist(files("MNIST"), Split::Train).unwrap();
    assert_eq!(differences("MNIST/train", &train), [""; 0]);
    assert_eq!(differences("MNIST/train", &train.clone().transposed()), ["images"]);
    assert_eq!(differences("MNIST/train", &train.clone().with_classes(["one"])), ["classes"]);
    assert_eq!(differences("MNIST/train", &train.clone().with_labels([0; 9]).unwrap()), ["labels"]);
    assert!(differences("KMNIST/test", &train).starts_with(&["shape", "images"]));
}

#[test]
fn the_real_mnist_reads_as_torchvision_reads_it() {
    let Some(shared) = golden::folder("GPUFEED_SHARED_DATA") else { return };
    let folder = shared.join("mnist");
    assert_golden("mnist/train", Idx::mnist(&folder, Split::Train));
    assert_golden("mnist/test", Idx::mnist(&folder, Split::Test));
    // The golden file has the SHA-256 of the 60,000 training images.
    assert!(GOLDEN["sets"]["mnist/train"]["images"].as_str().unwrap().starts_with("7736206c53fdf364"));
}

/// Transforms with continuous random parameters, so that two samples have equal parameters only if they share their
/// key.
fn training() -> Vec<Transform> {
    vec![RandomResizedCrop::new(8).into(), ColorJitter::new(0.4, 0.4, 0.4, 0.1).into()]
}

fn builder(data: impl Dataset + 'static) -> DataLoaderBuilder {
    DataLoader::builder(data).recipe(training()).batch_size(8).seed(5).workers(2)
}

fn weights() -> Vec<f64> {
    (0..30).map(|sample| f64::from(sample % 4)).collect()
}

fn weighted() -> impl Dataset + 'static {
    small_files(30).with_weights(weights()).unwrap()
}

fn build(builder: DataLoaderBuilder) -> DataLoader {
    builder.build(&Backend::Cpu).unwrap()
}

/// Returns the id and the parameters of every sample of an epoch.
fn draws(loader: &DataLoader, epoch: u64) -> Vec<(u64, String)> {
    let batches = seen(loader.epoch(epoch).unwrap());
    let of_batch = |batch: pipeline::Seen| {
        let params = batch.params.iter().map(|params| serde_json::to_string(&params.ops).unwrap()).collect::<Vec<_>>();
        batch.ids.into_iter().zip(params).collect::<Vec<_>>()
    };
    batches.into_iter().flat_map(of_batch).collect()
}

fn distinct<T: std::hash::Hash + Eq>(values: impl Iterator<Item = T>) -> usize {
    values.collect::<HashSet<_>>().len()
}

#[test]
fn weighted_epochs_do_not_depend_on_workers_and_resume_anywhere() {
    within(120, "weighted epochs", || {
        let loader = build(builder(weighted()));
        let expected = seen(loader.epoch(3).unwrap());
        assert_eq!(expected.iter().map(|batch| batch.ids.len()).sum::<usize>(), 30);
        for workers in [1, 5] {
            let other = build(builder(weighted()).workers(workers).shuffle(true));
            assert_same(&expected, &seen(other.epoch(3).unwrap()), &format!("{workers} workers"));
        }
        for batch in 0..4 {
            let rest = seen(loader.resume(&State::at(5, 3, batch)).unwrap());
            assert_same(&expected[batch as usize..], &rest, &format!("from batch {batch}"));
        }
        assert_ne!(expected[0].ids, seen(loader.epoch(4).unwrap())[0].ids);
        // The loader's own sampler gives the same order, and samples of weight 0 never come.
        let order = loader.sampler().epoch(3);
        let ids: Vec<u64> =
            (0..4).flat_map(|batch| order.batch(batch).map(|slot| slot.index as u64).collect::<Vec<_>>()).collect();
        assert_eq!(ids, expected.iter().flat_map(|batch| batch.ids.clone()).collect::<Vec<_>>());
        assert!(ids.iter().all(|id| id % 4 != 0), "{ids:?}");
    });
}

#[test]
fn a_sample_that_is_drawn_again_has_numbers_of_its_own() {
    within(120, "draws", || {
        for last in [LastBatch::Partial, LastBatch::Pad] {
            let all = draws(&build(builder(weighted()).last_batch(last)), 0);
            assert!(distinct(all.iter().map(|(id, _)| id)) < 20, "no sample came again");
            assert_eq!(distinct(all.iter().map(|(_, params)| params)), all.len(), "{last:?}");
        }
        let files = || small_files(10);
        let sets: [Box<dyn Dataset>; 4] = [
            Box::new(files().repeat(4).unwrap()),
            Box::new(files().concat(files()).unwrap().concat(files()).unwrap()),
            Box::new(files().subset([3, 3, 3, 4, 3]).unwrap()),
            Box::new(files().concat(files()).unwrap().repeat(3).unwrap().with_weights(vec![1.0; 60]).unwrap()),
        ];
        for (number, data) in sets.into_iter().enumerate() {
            let all = draws(&build(builder(data).shuffle(true)), 0);
            assert_eq!(distinct(all.iter().map(|(_, params)| params)), all.len(), "set {number}");
        }
        // The comparison can fail: this data set has each file, with the same id, at two indices.
        struct Same(gpufeed::InMemory);
        impl Dataset for Same {
            fn len(&self) -> usize {
                20
            }

            fn inner(&self) -> Option<&dyn Dataset> {
                None
            }
            fn read<'a>(&'a self, index: usize, buffer: &'a mut Vec<u8>) -> Result<gpufeed::Sample<'a>> {
                self.0.read(index % 10, buffer)
            }
            fn name(&self, index: usize) -> String {
                self.0.name(index % 10)
            }
            fn id(&self, index: usize) -> u64 {
                self.0.id(index % 10)
            }
        }
        assert_eq!(distinct(draws(&build(builder(Same(files()))), 0).iter().map(|(_, params)| params)), 10);
    });
}

#[test]
fn weighted_shards_are_disjoint_by_position_and_make_up_the_epoch() {
    within(120, "weighted shards", || {
        let whole: Vec<(u64, String)> = draws(&build(builder(weighted())), 2);
        let mut by_draw: HashMap<&str, u64> = whole.iter().map(|(id, params)| (params.as_str(), *id)).collect();
        for rank in 0..3 {
            let shard = draws(&build(builder(weighted()).shard(rank, 3)), 2);
            assert_eq!(shard.len(), 10);
            for (place, (id, params)) in shard.iter().enumerate() {
                assert_eq!((*id, params), (whole[rank + 3 * place].0, &whole[rank + 3 * place].1), "{rank}, {place}");
                assert_eq!(by_draw.remove(params.as_str()), Some(*id), "a position of two shards");
            }
        }
        assert!(by_draw.is_empty());
    });
}

#[test]
fn parts_keep_the_draws_that_they_have_alone() {
    within(120, "parts", || {
        let alone: HashMap<u64, String> = draws(&build(builder(small_files(20))), 1).into_iter().collect();
        let (first, second) = small_files(20).split(0.7, 9).unwrap();
        for (part, len) in [(first, 14), (second, 6)] {
            let indices: Vec<u64> = part.indices().iter().map(|&index| index as u64).collect();
            let found = draws(&build(builder(part)), 1);
            assert_eq!((found.len(), found.iter().map(|(id, _)| *id).collect::<Vec<_>>()), (len, indices));
            assert!(found.iter().all(|(id, params)| alone[id] == *params));
        }
        let both = Concat::new([Box::new(small_files(20)) as Box<dyn Dataset>, Box::new(small_files(5))]).unwrap();
        let found = draws(&build(builder(both)), 1);
        assert!(found[..20].iter().all(|(id, params)| alone[id] == *params));
    });
}

#[test]
fn arrays_go_through_a_loader_as_they_are() {
    within(120, "arrays", || {
        let data = Cifar::open(files("cifar-10-batches-py"), Split::Test).unwrap();
        let bytes = data.pixels().to_vec();
        let loader = DataLoader::builder(data)
            .transform(gpufeed::transforms::CenterCrop::new(32))
            .output(Layout::Nhwc, gpufeed::DType::U8)
            .batch_size(2)
            .build(&Backend::Cpu)
            .unwrap();
        let batches = seen(loader.epoch(0).unwrap());
        assert_eq!(batches.len(), 1);
        assert!(batches[0].bytes == bytes, "not the bytes of the file");
        assert_eq!(batches[0].labels, [Label::Class(5), Label::Class(4)]);
        let weightless = small_files(3).with_weights([0.0; 3]).unwrap_err();
        assert!(matches!(weightless.kind(), ErrorKind::Argument { setting: "weights", .. }));
    });
}
