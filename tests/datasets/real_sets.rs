//! Data sets as img2dataset, COCO and Hugging Face's `datasets` write them, and a stereo rig: every field of every sample, and every
//! column and image of every batch, is what WebDataset or `datasets` reads. `tests/real_sets` has a few samples of each; those that
//! `scripts/test-real-sets.sh` draws are compared instead where GPUFEED_REAL_SETS names their folder.

use crate::parquet_fields_datasets::{array, hash};
use gpufeed::dataset::{FieldChoice, NumberType, Numbers, OpenOptions, open_with};
use gpufeed::decode::ReadMode;
use gpufeed::transforms::{CenterCrop, RandomHorizontalFlip};
use gpufeed::{
    Backend, Batch, BatchGroup, ColumnValues, DType, DataLoader, Dataset, FieldValue, Label, LastBatch, Layout,
    OnError, SampleData, Semantics, Views,
};
use serde_json::{Map, Value};
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// The sets, by their paths below the folder.
const SETS: [&str; 6] = ["img2dataset", "rig", "coco/train2017", "coco/captions.tsv", "captions", "pairs"];

/// The folder of the sets. Those of the repository are copied, as indexes are written beside them.
struct Folder {
    path: PathBuf,
    _copy: Option<TempDir>,
}

impl Folder {
    fn find() -> Folder {
        if let Some(path) = std::env::var_os("GPUFEED_REAL_SETS") {
            return Folder { path: path.into(), _copy: None };
        }
        let copy = tempfile::tempdir().unwrap();
        copy_into(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/real_sets"), copy.path());
        Folder { path: copy.path().to_owned(), _copy: Some(copy) }
    }

    fn sets(&self) -> Vec<RealSet> {
        let truth: Value = serde_json::from_slice(&fs::read(self.path.join("truth.json")).unwrap()).unwrap();
        let [width, height] = [0, 1].map(|side| truth["size"][side].as_u64().unwrap() as u32);
        let set = |of: &Value| RealSet {
            path: self.path.join(of["name"].as_str().unwrap()),
            fields: serde_json::from_value(of["fields"].clone()).unwrap(),
            kinds: of["kinds"].as_object().unwrap().clone(),
            samples: of["samples"].as_array().unwrap().clone(),
            size: (height, width),
        };
        let names: Vec<_> = truth["sets"].as_array().unwrap().iter().map(|of| of["name"].as_str().unwrap()).collect();
        assert_eq!(names, SETS);
        truth["sets"].as_array().unwrap().iter().map(set).collect()
    }
}

fn copy_into(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            fs::create_dir(&to).unwrap();
            copy_into(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).unwrap();
        }
    }
}

/// A set: where it is, how its fields are asked for, and what they are.
struct RealSet {
    path: PathBuf,
    fields: FieldChoice,
    /// The kind of each field by its name; the type in the place of numbers.
    kinds: Map<String, Value>,
    /// The values of each sample, by the names of the fields.
    samples: Vec<Value>,
    /// Height and width of all images.
    size: (u32, u32),
}

impl RealSet {
    fn open(&self) -> Box<dyn Dataset> {
        let opened = open_with(&self.path, OpenOptions::new().fields(self.fields.clone()));
        opened.unwrap_or_else(|error| panic!("{}: {error}", self.path.display())).train
    }

    fn kind(&self, name: &str) -> &str {
        self.kinds[name].as_str().unwrap()
    }

    /// A loader with a group for each image of a sample, which has all of its pixels.
    fn loader(&self, mirrored: bool) -> DataLoader {
        let whole = |views: Views| views.output(Layout::Nhwc, DType::U8).semantics(Semantics::Uint8);
        let flip = RandomHorizontalFlip::new(if mirrored { 1.0 } else { 0.0 });
        let own = whole(Views::new(1).transform(CenterCrop::new(self.size)).transform(flip));
        let mut builder = DataLoader::builder(self.open()).group("image", own);
        for (name, kind) in &self.kinds {
            let other = Views::new(1).source(name).follows("image");
            builder = match kind.as_str().unwrap() {
                "image" => builder.group(name, whole(other)),
                "depth" => builder.group(name, other.read_mode(ReadMode::Gray16)),
                _ => builder,
            };
        }
        builder
            .batch_size(32)
            .shuffle(true)
            .last_batch(LastBatch::Partial)
            .on_error(OnError::Fail)
            .build(&Backend::Cpu)
            .unwrap()
    }

    fn sample(&self, id: u64) -> &Value {
        &self.samples[id as usize]
    }
}

/// A value as the file of the truth has it, and the name of the type of numbers.
fn plain(value: &FieldValue<'_>) -> (Value, Option<&'static str>) {
    match value {
        FieldValue::Absent => (Value::Null, None),
        FieldValue::Text(text) => (Value::from(&**text), Some("text")),
        FieldValue::Json(text) => (serde_json::from_str(text).unwrap(), Some("json")),
        FieldValue::Bytes(bytes) => (hash(bytes), Some("bytes")),
        FieldValue::Image(SampleData::Encoded(bytes)) => (hash(bytes), Some("image")),
        FieldValue::Numbers(numbers) => (list(numbers), Some(numbers.number_type().name())),
        other => panic!("{other:?}"),
    }
}

fn list(numbers: &Numbers<'_>) -> Value {
    array(numbers, numbers.shape(), &mut numbers.bytes().chunks(numbers.number_type().bytes()))
}

fn class(label: &Label) -> Value {
    match label {
        Label::None => Value::Null,
        Label::Class(class) => Value::from(*class),
        other => panic!("{other:?}"),
    }
}

#[test]
fn samples_of_real_sets_are_those_that_other_libraries_read() {
    let folder = Folder::find();
    for set in folder.sets() {
        let (data, at) = (set.open(), set.path.display());
        assert_eq!((data.len(), data.fields().len()), (set.samples.len(), set.kinds.len()), "{at}");
        assert!(data.notices().iter().all(|notice| !notice.is_warning()), "{at}: {:?}", data.notices());
        let mut buffer = Vec::new();
        for (index, expected) in set.samples.iter().enumerate() {
            let sample = data.read(index, &mut buffer).unwrap_or_else(|error| panic!("{at}: {index}: {error}"));
            let SampleData::Encoded(image) = sample.data else { panic!("{at}: {index} is no file") };
            assert_eq!((hash(image), class(&sample.label)), (expected["image"].clone(), expected["label"].clone()));
            for (field, value) in data.fields().iter().zip(&sample.fields) {
                let (found, kind) = plain(value);
                assert_eq!(found, expected[field.name()], "{at}: {} of {index}", field.name());
                let wanted = set.kind(field.name()).replace("depth", "image");
                assert!(kind.is_none_or(|kind| kind == wanted), "{at}: {} is {kind:?}", field.name());
            }
            if let Some(key) = expected["key"].as_str() {
                assert!(data.name(index).contains(key), "{at}: {} is not {key}", data.name(index));
            }
        }
    }
}

#[test]
fn batches_of_real_sets_are_those_that_other_libraries_read() {
    let folder = Folder::find();
    for set in folder.sets() {
        let (loader, at) = (set.loader(false), set.path.display());
        let mut seen = Vec::new();
        for batch in loader.epoch(0).unwrap().map(Result::unwrap) {
            for (name, kind) in &set.kinds {
                if batch.group(name).is_none() {
                    check_column(&set, &batch, name, kind.as_str().unwrap());
                }
            }
            for group in batch.groups() {
                check_pixels(&set, group, false);
            }
            let labels = batch.ids().iter().map(|id| &set.sample(*id)["label"]);
            assert!(batch.labels().iter().map(class).eq(labels.cloned()), "{at}: labels");
            seen.extend_from_slice(batch.ids());
        }
        seen.sort_unstable();
        assert!(seen.iter().copied().eq(0..set.samples.len() as u64), "{at}: each sample once");
    }
}

#[test]
fn what_follows_an_image_in_a_real_set_is_mirrored_with_it() {
    let folder = Folder::find();
    let sets: Vec<_> = folder.sets().into_iter().filter(|set| set.path.ends_with("rig")).collect();
    let [rig] = &sets[..] else { panic!("{} rigs", sets.len()) };
    let mut groups = Vec::new();
    for batch in rig.loader(true).epoch(0).unwrap().map(Result::unwrap) {
        groups.extend(batch.groups().map(|group| group.name().to_owned()));
        batch.groups().for_each(|group| check_pixels(rig, group, true));
    }
    groups.sort_unstable();
    groups.dedup();
    assert_eq!(groups, ["depth", "image", "right"]);
}

fn check_column(set: &RealSet, batch: &Batch, name: &str, kind: &str) {
    let column = batch.column(name).unwrap_or_else(|| panic!("{}: no column {name}", set.path.display()));
    let texts = |texts: &[Option<String>]| texts.iter().cloned().map(Value::from).collect::<Vec<_>>();
    let (of, values) = match column.values() {
        ColumnValues::Text(all) => ("text", texts(all)),
        ColumnValues::Json(all) => {
            let parsed = |text: &Option<String>| text.as_ref().map(|text| serde_json::from_str::<Value>(text).unwrap());
            ("json", all.iter().map(|text| parsed(text).unwrap_or_default()).collect())
        }
        ColumnValues::Bytes(all) => {
            ("bytes", all.iter().map(|bytes| bytes.as_ref().map_or(Value::Null, |bytes| hash(bytes))).collect())
        }
        ColumnValues::Numbers { number_type, shape, bytes } => {
            (number_type.name(), rows(*number_type, shape, bytes, batch.samples()))
        }
        other => panic!("{other:?}"),
    };
    let expected: Vec<_> = batch.ids().iter().map(|id| set.sample(*id)[name].clone()).collect();
    assert_eq!((of, values), (kind, expected), "{}: {name}", set.path.display());
}

fn rows(number_type: NumberType, shape: &[usize], bytes: &[u8], samples: usize) -> Vec<Value> {
    let row = |bytes: &[u8]| list(&Numbers::new(number_type, shape, bytes.to_vec()).unwrap());
    bytes.chunks(bytes.len() / samples).map(row).collect()
}

/// Compares the pixels of a group with those of Pillow, which are of the image before it was mirrored.
fn check_pixels(set: &RealSet, group: BatchGroup<'_>, mirrored: bool) {
    let (rows, columns) = (set.size.0 as usize, set.size.1 as usize);
    let is_depth = set.kinds.get(group.name()).is_some_and(|kind| kind == "depth");
    // Two bytes a pixel of a depth, three of an image.
    let (of_pixel, bytes) = if is_depth {
        let depths = group.to_host_f32().unwrap();
        assert!(depths.iter().all(|depth| depth.fract() == 0.0 && (0.0..=65535.0).contains(depth)));
        (2, depths.iter().flat_map(|depth| (*depth as u16).to_le_bytes()).collect())
    } else {
        (3, group.to_host().unwrap())
    };
    assert_eq!(bytes.len(), group.ids().len() * rows * columns * of_pixel);
    for (id, image) in group.ids().iter().zip(bytes.chunks(rows * columns * of_pixel)) {
        let row = |row: &[u8]| match mirrored {
            true => row.chunks(of_pixel).rev().flatten().copied().collect::<Vec<_>>(),
            false => row.to_vec(),
        };
        let pixels: Vec<u8> = image.chunks(columns * of_pixel).flat_map(row).collect();
        let expected = &set.sample(*id)["pixels"][group.name()];
        assert_eq!(hash(&pixels), *expected, "{}: {} of {id}", set.path.display(), group.name());
    }
}
