//! Fields through `pack`: the members that shards have, read by the crate `tar` alone, in one run and in parts.

use gpufeed::dataset::{Field, FieldChoice, FieldKind, FieldValue, Lmdb, NumberType, Numbers, TarShards};
use gpufeed::pack::{Event, PackFormat, PackSettings, Packed, Packer};
use gpufeed::{Dataset, InMemory, Label, PixelFormat, Pixels, Result, Sample, SampleData};
use gpufeed_testing::encoded::{encode, picture};
use image::ImageFormat as Codec;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::ops::ControlFlow;
use std::path::Path;

const SAMPLES: usize = 12;

/// Samples with fields of every kind, which say their number; images are read beside those in memory.
#[derive(Clone)]
struct Rich {
    data: InMemory,
    fields: Vec<Field>,
    depth: Vec<u8>,
    mask: Vec<u8>,
}

impl Rich {
    fn new() -> Rich {
        let fields = vec![
            Field::new("caption").kind(FieldKind::Text),
            Field::new("meta").kind(FieldKind::Json).optional(),
            Field::new("features").kind(FieldKind::Bytes),
            Field::new("pair").kind(FieldKind::Numbers),
            Field::new("score").kind(FieldKind::Numbers).default_value(FieldValue::from(-1.0)),
            Field::new("depth").kind(FieldKind::Image),
            Field::new("mask").kind(FieldKind::Image).optional(),
        ];
        let mut data = InMemory::new().with_classes(["a", "b", "c"]);
        for number in 0..SAMPLES {
            let label = Label::Class(number as u32 % 3);
            data.push_encoded(encode(picture(20, 10 + number as u32), Codec::Jpeg), label).unwrap();
        }
        Rich { data, fields, depth: encode(picture(9, 7), Codec::Png), mask: (0..6).collect() }
    }
}

impl Dataset for Rich {
    fn len(&self) -> usize {
        self.data.len()
    }

    fn read<'a>(&'a self, index: usize, buffer: &'a mut Vec<u8>) -> Result<Sample<'a>> {
        let even = index.is_multiple_of(2);
        let pair = [index as i32, -(index as i32)].map(i32::to_ne_bytes).concat();
        let mask = SampleData::Pixels(Pixels::new(3, 2, PixelFormat::R8, &self.mask)?);
        let fields = vec![
            FieldValue::from(format!("caption {index}: zwölf\n")),
            if even { FieldValue::Json(format!("{{\"at\":  {index}}}").into()) } else { FieldValue::Absent },
            FieldValue::Bytes(vec![index as u8; 3].into()),
            FieldValue::from(Numbers::new(NumberType::I32, [2], pair)?),
            if even { FieldValue::from(index as f64) } else { FieldValue::Absent },
            FieldValue::Image(SampleData::Encoded(&self.depth)),
            if even { FieldValue::Image(mask) } else { FieldValue::Absent },
        ];
        Ok(self.data.read(index, buffer)?.with_fields(fields))
    }

    fn name(&self, index: usize) -> String {
        self.data.name(index)
    }

    fn inner(&self) -> Option<&dyn Dataset> {
        Some(&self.data)
    }

    fn fields(&self) -> &[Field] {
        &self.fields
    }
}

/// The content of each member of each key, by the members' endings.
type Members = BTreeMap<String, BTreeMap<String, Vec<u8>>>;

/// Reads all shards of a folder, as any program reads tar files. The members of a sample must follow each other.
fn members(folder: &Path) -> Members {
    let mut shards: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    shards.retain(|path| path.extension().is_some_and(|end| end == "tar"));
    shards.sort();
    let (mut found, mut last) = (Members::new(), String::new());
    for shard in shards {
        let mut archive = tar::Archive::new(fs::File::open(shard).unwrap());
        for member in archive.entries().unwrap() {
            let mut member = member.unwrap();
            let name = member.path().unwrap().to_str().unwrap().to_owned();
            let (key, ending) = name.split_once('.').unwrap();
            assert!(key == last || !found.contains_key(key), "{name} comes apart from its sample");
            let mut content = Vec::new();
            member.read_to_end(&mut content).unwrap();
            let before = found.entry(key.to_owned()).or_default().insert(ending.to_owned(), content);
            assert_eq!(before, None, "{name} is there twice");
            last = key.to_owned();
        }
    }
    found
}

fn manifest(folder: &Path) -> Value {
    serde_json::from_slice(&fs::read(folder.join("gpufeed-pack.json")).unwrap()).unwrap()
}

fn settings(change: impl FnOnce(&mut PackSettings)) -> PackSettings {
    let mut settings = PackSettings::default();
    settings.shard_bytes = 20 << 10;
    settings.workers = Some(2);
    change(&mut settings);
    settings
}

fn pack(data: impl Dataset + 'static, out: &Path, change: impl FnOnce(&mut PackSettings)) -> Result<Packed> {
    Packer::of(data, out).settings(settings(change)).pack()
}

/// Returns the values of an `.npy`, after its header, and the header's dictionary.
fn array(file: &[u8]) -> (&str, &[u8]) {
    let length = usize::from(u16::from_le_bytes([file[8], file[9]]));
    assert!(file.starts_with(b"\x93NUMPY\x01\x00") && (10 + length).is_multiple_of(64));
    let (header, values) = file.split_at(10 + length);
    (std::str::from_utf8(&header[10..]).unwrap().trim_end(), values)
}

#[test]
fn fields_of_every_kind_are_members_of_shards() {
    let out = tempfile::tempdir().unwrap();
    let (rich, out) = (Rich::new(), out.path().join("pack"));
    let packed = pack(rich.clone(), &out, |_| {}).unwrap();
    assert_eq!(packed.fields, ["caption", "meta", "features", "pair", "score", "depth", "mask"]);
    assert!(packed.shards > 1 && packed.skipped.is_empty());
    let found = members(&out);
    assert_eq!(found.len(), SAMPLES);
    for (index, (key, members)) in found.iter().enumerate() {
        assert_eq!(key, &format!("{index:09}"));
        let even = index.is_multiple_of(2);
        let always = ["caption.txt", "cls", "depth.png", "features.bin", "jpg", "pair.npy"];
        let some = ["mask.png", "meta.json", "score.npy"].into_iter().filter(|_| even);
        let mut endings: Vec<_> = always.into_iter().chain(some).collect();
        endings.sort_unstable();
        assert!(members.keys().eq(endings), "{index}: {:?}", members.keys());
        assert_eq!(members["caption.txt"], format!("caption {index}: zwölf\n").into_bytes());
        assert_eq!(members["features.bin"], [index as u8; 3]);
        assert_eq!(members["depth.png"], rich.depth, "files stay as they are");
        let pair = [index as i32, -(index as i32)].map(i32::to_ne_bytes).concat();
        let expected = ("{'descr': '<i4', 'fortran_order': False, 'shape': (2,), }", &*pair);
        assert_eq!(array(&members["pair.npy"]), expected);
        if even {
            assert_eq!(members["meta.json"], format!("{{\"at\":  {index}}}").into_bytes(), "JSON stays as it is");
            let score = (index as f64).to_ne_bytes();
            let expected = ("{'descr': '<f8', 'fortran_order': False, 'shape': (), }", &score[..]);
            assert_eq!(array(&members["score.npy"]), expected);
            let mask = image::load_from_memory(&members["mask.png"]).unwrap();
            assert_eq!((mask.color(), mask.as_bytes()), (image::ColorType::L8, &*rich.mask));
        }
    }
    // The pack is a data set as before, which has the samples' own images and labels.
    let data = TarShards::open(&out).unwrap();
    let mut buffer = Vec::new();
    let labels = (0..SAMPLES).map(|index| data.read(index, &mut buffer).unwrap().label);
    assert!(labels.eq((0..SAMPLES as u32).map(|number| Label::Class(number % 3))));
}

#[test]
fn the_manifest_lists_the_fields() {
    let out = tempfile::tempdir().unwrap();
    let out = out.path().join("pack");
    pack(Rich::new(), &out, |_| {}).unwrap();
    // An image has the ending of its format.
    let images =
        |name: &str| ["jpg", "png", "webp", "gif", "bmp", "tif", "pnm"].map(|end| format!("{name}.{end}")).join(";");
    let expected = serde_json::json!({
        "caption.txt": {"name": "caption", "kind": "text"},
        "meta.json": {"name": "meta", "kind": "json", "optional": true},
        "features.bin": {"name": "features", "kind": "bytes"},
        "pair.npy": {"name": "pair", "kind": "numbers"},
        "score.npy": {"name": "score", "kind": "numbers", "default": -1.0},
        (images("depth")): {"name": "depth", "kind": "image"},
        (images("mask")): {"name": "mask", "kind": "image", "optional": true},
    });
    let listed = &manifest(&out)["job"]["fields"];
    assert_eq!(*listed, expected);
    // It is a choice of fields, as a reader takes it.
    let FieldChoice::Named(named) = serde_json::from_value(listed.clone()).unwrap() else { panic!("no names") };
    assert_eq!(named.len(), 7);
    // Packs without fields have a manifest as before.
    let plain = out.with_file_name("plain");
    pack(Rich::new().data, &plain, |_| {}).unwrap();
    assert!(manifest(&plain)["job"].get("fields").is_none());
}

/// Returns the values of a sample's fields: bytes of images, and others as they are.
fn values(data: &dyn Dataset, index: usize) -> Vec<FieldValue<'static>> {
    let mut buffer = Vec::new();
    let value = |value: FieldValue<'_>| match value {
        FieldValue::Absent => FieldValue::Absent,
        FieldValue::Image(SampleData::Encoded(bytes)) => FieldValue::Bytes(bytes.to_vec().into()),
        FieldValue::Image(_) => panic!("pixels"),
        FieldValue::Text(text) => FieldValue::Text(text.into_owned().into()),
        FieldValue::Json(text) => FieldValue::Json(text.into_owned().into()),
        FieldValue::Bytes(bytes) => FieldValue::Bytes(bytes.into_owned().into()),
        FieldValue::Numbers(numbers) => {
            let (kind, shape) = (numbers.number_type(), numbers.shape().to_vec());
            FieldValue::Numbers(Numbers::new(kind, shape, numbers.bytes().to_vec()).unwrap())
        }
        other => panic!("{other:?}"),
    };
    data.read(index, &mut buffer).unwrap().fields.into_iter().map(value).collect()
}

#[test]
fn a_pack_is_read_and_packed_again_with_all_its_fields() {
    let root = tempfile::tempdir().unwrap();
    let [out, again, chosen] = ["pack", "again", "chosen"].map(|name| root.path().join(name));
    let rich = Rich::new();
    let packed = pack(rich.clone(), &out, |settings| settings.verify = true).unwrap();
    assert_eq!(packed.verified.unwrap().different, []);
    // The manifest has names, kinds and defaults; without it members are known by their endings alone.
    let read = TarShards::builder().fields(FieldChoice::All).open(&out).unwrap();
    assert_eq!(read.fields(), rich.fields());
    for index in 0..SAMPLES {
        let (found, mut expected) = (values(&read, index), Vec::new());
        let mut buffer = Vec::new();
        for value in rich.read(index, &mut buffer).unwrap().fields {
            expected.push(match value {
                FieldValue::Image(SampleData::Encoded(bytes)) => FieldValue::Bytes(bytes.to_vec().into()),
                FieldValue::Image(_) => {
                    FieldValue::Bytes(members(&out)[&format!("{index:09}")]["mask.png"].clone().into())
                }
                value => value,
            });
        }
        assert_eq!(found, expected, "{index}");
    }
    let all = settings(|settings| (settings.fields, settings.verify) = (Some(FieldChoice::All), true));
    let packed = Packer::new(&out, &again).settings(all).pack().unwrap();
    assert_eq!((packed.fields.len(), packed.verified.unwrap().different), (7, vec![]));
    assert!(members(&again) == members(&out), "other members");
    let named = FieldChoice::from([("caption.txt", "text"), ("meta.json", "json")]);
    let named = FieldChoice::Named(match named {
        FieldChoice::Named(named) => named.into_iter().map(|(source, field)| (source, field.optional())).collect(),
        _ => unreachable!(),
    });
    let packed = Packer::new(&out, &chosen).settings(settings(|settings| settings.fields = Some(named))).pack();
    assert_eq!(packed.unwrap().fields, ["text", "json"]);
    assert!(members(&chosen)["000000000"].keys().eq(["cls", "jpg", "json", "text.txt"]));
}

#[test]
fn another_value_is_a_difference() {
    let root = tempfile::tempdir().unwrap();
    let out = root.path().join("pack");
    pack(Rich::new(), &out, |_| {}).unwrap();
    let shard = out.join("shard-000000.tar");
    let mut bytes = fs::read(&shard).unwrap();
    let at = bytes.windows(9).position(|window| window == b"caption 1").unwrap();
    bytes[at + 8] = b'7';
    fs::write(&shard, bytes).unwrap();
    let different = pack(Rich::new(), &out, |settings| settings.verify = true).unwrap().verified.unwrap().different;
    let [of_shard, of_sample] = &*different else { panic!("{different:?}") };
    assert!(of_shard.reason.starts_with("its content has changed"), "{of_shard:?}");
    assert_eq!(of_sample.reason, "another \"caption\"");
    assert!(of_sample.sample.ends_with("000000001"), "{of_sample:?}");
}

#[test]
fn parts_and_packs_that_go_on_have_the_same_members() {
    let root = tempfile::tempdir().unwrap();
    let [whole, joined, stopped] = ["whole", "joined", "stopped"].map(|name| root.path().join(name));
    pack(Rich::new(), &whole, |_| {}).unwrap();
    let expected = members(&whole);

    let packer = || Packer::of(Rich::new(), &joined).settings(settings(|_| {}));
    packer().plan(3).unwrap();
    for part in [2, 0, 1] {
        packer().part(part, 3).unwrap();
    }
    let done = packer().join().unwrap();
    assert_eq!((done.samples, done.fields.len()), (SAMPLES, 7));
    assert!(members(&joined) == expected, "other members");
    assert_eq!(manifest(&joined)["job"]["fields"], manifest(&whole)["job"]["fields"]);

    let stop = |event| match event {
        Event::Packed { done, .. } if done > 6 => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    };
    let _ = Packer::of(Rich::new(), &stopped).settings(settings(|_| {})).listen(stop).pack();
    pack(Rich::new(), &stopped, |_| {}).unwrap();
    assert!(members(&stopped) == expected, "other members");
}

#[test]
fn another_choice_of_fields_is_another_pack() {
    let root = tempfile::tempdir().unwrap();
    let out = root.path().join("pack");
    let named = FieldChoice::from([("caption", "text"), ("score", "score")]);
    let packed = pack(Rich::new(), &out, |settings| settings.fields = Some(named.clone())).unwrap();
    assert_eq!(packed.fields, ["text", "score"]);
    let found = members(&out);
    assert!(found["000000000"].keys().eq(["cls", "jpg", "score.npy", "text.txt"]), "{found:?}");
    let other = pack(Rich::new(), &out, |settings| settings.fields = Some(FieldChoice::None)).unwrap_err().to_string();
    let expected = "there is a pack of other fields: text (text), score (numbers, with a default value)";
    assert!(other.contains(expected), "{other}");
    let unknown = FieldChoice::from([("title", "title")]);
    let error = pack(Rich::new(), &out, |settings| settings.fields = Some(unknown)).unwrap_err().to_string();
    assert!(error.contains("no field \"title\"; it has caption, meta"), "{error}");
    // The plan has settled the choice.
    let planned = root.path().join("planned");
    let packer = |fields: Option<FieldChoice>| {
        Packer::of(Rich::new(), &planned).settings(settings(|settings| settings.fields = fields))
    };
    packer(Some(named.clone())).plan(2).unwrap();
    let error = packer(Some(FieldChoice::All)).part(0, 2).unwrap_err().to_string();
    assert!(error.contains("fields: the plan has settled it otherwise"), "{error}");
    packer(None).part(0, 2).unwrap();
    packer(Some(named)).part(1, 2).unwrap();
    packer(None).join().unwrap();
    assert!(members(&planned) == found, "other members");
}

#[test]
fn fields_of_every_kind_are_values_of_an_lmdb() {
    if !cfg!(feature = "lmdb") {
        return;
    }
    let root = tempfile::tempdir().unwrap();
    let (rich, out) = (Rich::new(), root.path().join("pack"));
    let lmdb = |settings: &mut PackSettings| (settings.to, settings.verify) = (PackFormat::Lmdb, true);
    let packed = pack(rich.clone(), &out, lmdb).unwrap();
    assert_eq!(packed.fields, ["caption", "meta", "features", "pair", "score", "depth", "mask"]);
    assert_eq!(packed.verified.unwrap().different.len(), 0);
    let expected = serde_json::json!({
        "caption.txt": {"name": "caption", "kind": "text"},
        "meta.json": {"name": "meta", "kind": "json", "optional": true},
        "features.bin": {"name": "features", "kind": "bytes"},
        "pair.npy": {"name": "pair", "kind": "numbers"},
        "score.npy": {"name": "score", "kind": "numbers", "default": -1.0},
        "depth": {"name": "depth", "kind": "image"},
        "mask": {"name": "mask", "kind": "image", "optional": true},
    });
    assert_eq!(manifest(&out)["job"]["fields"], expected);

    // All fields of a pack have the names, kinds and defaults that its manifest lists.
    let all = Lmdb::builder().fields(FieldChoice::All).open(&out).unwrap();
    assert_eq!(all.fields(), rich.fields());
    let tar = root.path().join("tar");
    pack(rich.clone(), &tar, |_| {}).unwrap();
    let shards = TarShards::builder().fields(FieldChoice::All).open(&tar).unwrap();
    for index in 0..SAMPLES {
        assert_eq!(values(&all, index), values(&shards, index), "{index}");
    }
    // Without the manifest, names of keys and first values say what fields are.
    fs::remove_file(out.join("gpufeed-pack.json")).unwrap();
    let alone = Lmdb::builder().fields(FieldChoice::All).open(&out).unwrap();
    let shown: Vec<_> = alone.fields().iter().map(Field::to_string).collect();
    let expected = [
        "caption.txt (text, may be absent)",
        "depth (images, may be absent)",
        "features.bin (bytes, may be absent)",
        "mask (images, may be absent)",
        "meta.json (JSON, may be absent)",
        "pair.npy (numbers)",
        "score.npy (numbers)",
    ];
    assert_eq!(shown, expected);

    // Packed again, it has the same values.
    let again = root.path().join("again");
    pack(all.clone(), &again, lmdb).unwrap();
    let again = Lmdb::builder().fields(FieldChoice::All).open(&again).unwrap();
    assert!((0..SAMPLES).all(|index| values(&again, index) == values(&all, index)));
    let packed = pack(rich, &root.path().join("none"), |settings| {
        lmdb(settings);
        settings.fields = Some(FieldChoice::None);
    });
    assert_eq!((packed.as_ref().unwrap().samples, packed.unwrap().fields.len()), (SAMPLES, 0));
}

#[test]
fn fields_with_the_keys_of_images_are_refused() {
    if !cfg!(feature = "lmdb") {
        return;
    }
    let root = tempfile::tempdir().unwrap();
    let mut data = InMemory::new().with_fields([Field::new("Image").kind(FieldKind::Image).optional()]);
    data.push_encoded(encode(picture(4, 4), Codec::Png), Label::None).unwrap();
    data.push_fields([const { FieldValue::Absent }]).unwrap();
    let error =
        pack(data, &root.path().join("pack"), |settings| settings.to = PackFormat::Lmdb).unwrap_err().to_string();
    assert!(error.contains("\"Image\" would have the keys of the samples' own image in an LMDB"), "{error}");
}

/// Samples whose field of JSON may be read as a label.
fn labelled(name: &str, samples: &[(Label, &'static str)]) -> InMemory {
    let mut data = InMemory::new().with_fields([Field::new(name).kind(FieldKind::Json)]);
    for (label, text) in samples {
        data.push_encoded(encode(picture(8, 8), Codec::Png), label.clone()).unwrap();
        data.push_fields([FieldValue::Json((*text).into())]).unwrap();
    }
    data
}

#[test]
fn labels_and_fields_in_json_do_not_collide() {
    let root = tempfile::tempdir().unwrap();
    let vector = Label::from(vec![0.5, 1.0]);
    let good = [
        (Label::Class(2), "{\"label\": 7}"),
        (vector.clone(), "{\"label\": [0.5, 1], \"more\": null}"),
        (Label::None, "{\"caption\": \"a\"}"),
    ];
    let out = root.path().join("json");
    pack(labelled("json", &good), &out, |_| {}).unwrap();
    let found: Vec<_> = members(&out).into_values().collect();
    assert!(found[0].keys().eq(["cls", "json", "png"]) && found[1].keys().eq(["json", "png"]), "{found:?}");
    let data = TarShards::builder().allow_unlabelled(true).open(&out).unwrap();
    for (index, (label, text)) in good.iter().enumerate() {
        assert_eq!(found[index]["json"], text.as_bytes());
        assert_eq!(data.read(index, &mut Vec::new()).unwrap().label, *label);
    }
    // With a name of its own, any JSON goes with any label.
    let bad = [(vector, "{\"label\": 3}"), (Label::None, "[\"cat\"]")];
    pack(labelled("meta", &bad), &root.path().join("meta"), |_| {}).unwrap();
    for (number, sample) in bad.into_iter().enumerate() {
        let out = root.path().join(format!("bad {number}"));
        let error = pack(labelled("json", &[sample]), &out, |_| {}).unwrap_err().to_string();
        assert!(error.contains("its field \"json\"") && error.contains("rename the field"), "{error}");
    }
}

#[test]
fn texts_of_numbers_are_fields_and_no_labels() {
    let out = tempfile::tempdir().unwrap();
    let out = out.path().join("pack");
    let mut data = InMemory::new().with_classes(["a"]).with_fields([Field::new("txt").kind(FieldKind::Text)]);
    for number in 7..9 {
        data.push_encoded(encode(picture(8, 8), Codec::Png), Label::None).unwrap();
        data.push_fields([FieldValue::from(number.to_string())]).unwrap();
    }
    let packed = pack(data, &out, |settings| settings.verify = true).unwrap();
    assert_eq!(packed.verified.unwrap().different, []);
    assert_eq!(members(&out)["000000001"]["txt"], b"8");
    // Without fields they are captions, which the manifest says.
    let open = || TarShards::builder().allow_unlabelled(true).open(&out);
    assert_eq!(open().unwrap().read(1, &mut Vec::new()).unwrap().label, Label::None);
    fs::remove_file(out.join("gpufeed-pack.json")).unwrap();
    let error = open().unwrap_err().to_string();
    assert!(error.contains("is of class 8, but only 1 classes have names"), "{error}");
}

#[test]
fn a_manifest_is_that_of_its_own_shards_alone() {
    let root = tempfile::tempdir().unwrap();
    for prefix in ["train", "x"] {
        let out = root.path().join(format!("a#b {prefix}"));
        pack(labelled("meta", &[(Label::Class(1), "{}")]), &out, |settings| settings.prefix = prefix.into()).unwrap();
        let names = |path: &Path| {
            let data = TarShards::builder().fields(FieldChoice::All).open(path).unwrap();
            data.fields().iter().map(|field| field.name().to_owned()).collect::<Vec<_>>()
        };
        let own = out.join(format!("{prefix}-000000.tar"));
        assert_eq!(names(&own), ["meta"], "{prefix}");
        // A shard whose name ends so is another one.
        let other = out.join(format!("other{prefix}-000000.tar"));
        fs::copy(own, &other).unwrap();
        assert_eq!(names(&other), ["meta.json"], "{prefix}");
    }
}

#[test]
fn a_sample_with_a_value_of_another_kind_is_left_out() {
    let out = tempfile::tempdir().unwrap();
    let mut data = InMemory::new().with_fields([Field::new("caption").kind(FieldKind::Text)]);
    for number in 0..3 {
        data.push_encoded(encode(picture(8, 8), Codec::Png), Label::Class(number)).unwrap();
        let value = if number == 1 { FieldValue::from(0.5) } else { FieldValue::from("text") };
        data.push_fields([value]).unwrap();
    }
    let packed = pack(data, &out.path().join("pack"), |_| {}).unwrap();
    let [left] = &*packed.skipped else { panic!("{:?}", packed.skipped) };
    let expected = ("sample 1", "\"caption\" is numbers, but of the data set text");
    assert_eq!((&*left.sample, &*left.reason), expected);
    assert!(packed.has_findings());
}
