//! What data sets say of what they do not read, and of what they decide for a whole set.

use crate::shard::archive;
use gpufeed::dataset::{Notice, ShardIndexes, TarShards, TarShardsBuilder};
use gpufeed::pack::{PackSettings, Packer};
use gpufeed::transforms::CenterCrop;
use gpufeed::{Backend, DataLoader, Dataset, Field, FieldKind, ImageList, InMemory, Label};
use gpufeed_testing::encoded::{encode, picture};
use image::ImageFormat as Codec;
use std::fmt::Debug;
use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use tempfile::TempDir;

/// Writes shards of these members: names, and texts of those that are no images.
pub(crate) fn shards(files: &[&[(&str, &str)]]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (number, members) in files.iter().enumerate() {
        let members: Vec<_> = members.iter().map(|(name, text)| (*name, text.as_bytes())).collect();
        fs::write(folder.path().join(format!("{number}.tar")), archive(&members)).unwrap();
    }
    folder
}

pub(crate) fn keys(data: &TarShards) -> Vec<String> {
    (0..data.len()).map(|index| data.key(index).unwrap().1).collect()
}

pub(crate) fn labels(data: &dyn Dataset) -> Vec<Label> {
    let mut buffer = Vec::new();
    (0..data.len()).map(|index| data.read(index, &mut buffer).unwrap().label).collect()
}

pub(crate) fn said(data: &dyn Dataset) -> Vec<String> {
    data.notices().iter().map(Notice::to_string).collect()
}

pub(crate) fn refused<D: Debug>(opened: gpufeed::Result<D>) -> String {
    opened.unwrap_err().to_string()
}

#[test]
fn stems_with_dots_are_samples() {
    let members = [
        ("a.png", "1"),
        ("a.cls", "0"),
        ("photo 12.05.2021.png", "2"),
        ("photo 12.05.2021.cls", "1"),
        ("photo 12.06.2021.cls", "2"),
        ("photo 12.06.2021.png", "3"),
        ("v1.0/b.png", "4"),
        ("v1.0/b.cls", "3"),
    ];
    let folder = shards(&[&members]);
    for _ in 0..2 {
        // The second time by the index.
        let data = TarShards::open(folder.path()).unwrap();
        assert_eq!(keys(&data), ["a", "photo 12.05.2021", "photo 12.06.2021", "v1.0/b"]);
        assert_eq!(labels(&data), [0, 1, 2, 3].map(Label::Class));
        let expected = Notice::DottedNames { samples: 2, first: "photo 12.05.2021".into() };
        assert_eq!(data.notices()[1..], [expected]);
        assert_eq!(said(&data)[0], "labels are class numbers, or vectors, from members in .cls");
    }
    // All stems have dots, and nothing has a label.
    let folder = shards(&[&[("x.1.jpg", "1"), ("x.2.jpg", "2"), ("y.1.jpg", "3")]]);
    let data = TarShards::builder().allow_unlabelled(true).open(folder.path()).unwrap();
    assert_eq!(keys(&data), ["x.1", "x.2", "y.1"]);
    assert!(refused(TarShards::open(folder.path())).contains("sample x.1 has no label"));
}

#[test]
fn further_images_of_a_sample_are_counted() {
    let first = [
        ("000.jpg", "1"),
        ("000.seg.png", "mask"),
        ("000.cls", "4"),
        ("001.depth.png", "mask"),
        ("001.jpg", "2"),
        ("001.cls", "5"),
        ("masks/001.seg.png", "mask"),
        ("002.jpg", "3"),
        ("002.cls", "6"),
        ("002.xyz", "?"),
        ("._002.jpg", "junk"),
        ("__meta__.json", "{}"),
    ];
    let second = [("masks/003.seg.png", "mask"), ("003.jpg", "1"), ("003.cls", "7")];
    let data_of = shards(&[&first, &second]);
    let data = TarShards::builder().indexes(ShardIndexes::Memory).open(data_of.path()).unwrap();
    assert_eq!(keys(&data), ["000", "001", "002", "003"]);
    assert_eq!(
        said(&data)[1..],
        [
            "1 hidden member is not read: ._002.jpg",
            "1 member in .depth.png is not read: 001.depth.png",
            "3 members in .seg.png are not read; the first is 000.seg.png",
            "1 member in .xyz is not read: 002.xyz",
        ]
    );
    let error = refused(TarShards::open(shards(&[&[("0.left.png", "1"), ("0.cls", "4")]]).path()));
    assert!(
        error.contains("sample 0 has a label but no image") && error.contains("0.left.png may be its image"),
        "{error}"
    );
    fs::write(data_of.path().join("4.tar.gz"), "").unwrap();
    let data = TarShards::open(data_of.path()).unwrap();
    assert_eq!(said(&data).last().unwrap(), "1 compressed archive of the folder is not read: 4.tar.gz");
    let nothing = refused(TarShards::open(shards(&[&[("0.avif", "1"), ("1.avif", "4")]]).path()));
    assert!(nothing.contains("2 members in .avif are not read"), "{nothing}");
}

#[test]
fn members_of_other_kinds_are_counted_by_kind() {
    let names: Vec<_> =
        (0..1000).flat_map(|i| [format!("{i:03}.jpg"), format!("{i:03}.txt"), format!("{i:03}.json")]).collect();
    let text = |name: &str| if name.ends_with("txt") { "a cat" } else { "{\"url\": 1}" };
    let members: Vec<_> = names.iter().map(|name| (name.as_str(), text(name))).collect();
    let folder = shards(&[&members]);
    let data = TarShards::builder().allow_unlabelled(true).open(folder.path()).unwrap();
    assert_eq!(
        said(&data),
        [
            "labels are none",
            "captions (.txt) of samples are not read (1,000, the first 000.txt): fields = {\"txt\": \"caption\"} reads them",
            "1,000 members in .json are not read; the first is 000.json",
        ]
    );
}

#[test]
fn numbers_in_texts_are_labels_only_if_all_texts_are_numbers() {
    let number = [("a.jpg", ""), ("a.txt", "7"), ("b.jpg", ""), ("b.txt", " 8\n")];
    let mixed = [("c.jpg", ""), ("c.txt", "a cat"), ("d.jpg", ""), ("d.txt", "1984")];
    let open = |files: &[&[(&str, &str)]], set: fn(TarShardsBuilder) -> TarShardsBuilder| {
        let folder = shards(files);
        set(TarShards::builder().indexes(ShardIndexes::Memory))
            .open(folder.path())
            .map(|data| (labels(&data), said(&data)))
    };
    let (found, text) = open(&[&number], |builder| builder).unwrap();
    assert_eq!(found, [7, 8].map(Label::Class));
    assert_eq!(text, ["labels are class numbers, or vectors, from members in .txt"]);

    let (found, text) = open(&[&number, &mixed], |builder| builder.allow_unlabelled(true)).unwrap();
    assert_eq!(found, vec![Label::None; 4]);
    assert!(
        text.iter().any(|text| text.starts_with("3 of 4 members in .txt are numbers and the others are not")),
        "{text:?}"
    );
    assert!(text.iter().any(|text| text.contains("not read (4, the first a.txt): fields = {\"txt\"")), "{text:?}");
    assert!(refused(open(&[&number, &mixed], |builder| builder)).contains("sample a has no label"));
    assert!(refused(open(&[&number], |builder| builder.text_labels(false))).contains("sample a has no label"));
    let (found, _) = open(&[&mixed], |builder| builder.allow_unlabelled(true).text_labels(true)).unwrap();
    assert_eq!(found, [Label::None, Label::Class(1984)]);
    let (_, text) =
        open(&[&[("a.jpg", ""), ("b.jpg", ""), ("b.cls", "3")]], |builder| builder.allow_unlabelled(true)).unwrap();
    assert!(text.contains(&"1 of 2 samples have no label".to_owned()), "{text:?}");
}

#[test]
fn shards_that_are_opened_late_agree_on_texts() {
    let folder = shards(&[&[("a.jpg", ""), ("a.txt", "7")], &[("b.jpg", ""), ("b.txt", "a cat")]]);
    let counts = folder.path().join("sizes.json");
    fs::write(&counts, "{\"0.tar\": 1, \"1.tar\": 1}").unwrap();
    let builder = || TarShards::builder().counts(&counts).allow_unlabelled(true);
    let data = builder().open(folder.path()).unwrap();
    assert_eq!(data.read(0, &mut Vec::new()).unwrap().label, Label::Class(7));
    let error = data.read(1, &mut Vec::new()).unwrap_err().to_string();
    assert!(error.contains("the .txt of sample b is no number") && error.contains("text_labels"), "{error}");
    let data = builder().text_labels(false).open(folder.path()).unwrap();
    assert_eq!(labels(&data), [Label::None, Label::None]);
}

/// Collects the library's warnings of this thread.
struct Collect(Arc<Mutex<Vec<String>>>);

impl tracing::Subscriber for Collect {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        metadata.is_event() && *metadata.level() <= tracing::Level::WARN
    }
    fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        tracing::span::Id::from_u64(1)
    }
    fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}
    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}
    fn event(&self, event: &tracing::Event<'_>) {
        struct Text(String);
        impl tracing::field::Visit for Text {
            fn record_debug(&mut self, field: &tracing::field::Field, value: &dyn Debug) {
                if field.name() == "message" {
                    self.0 = format!("{value:?}");
                }
            }
        }
        let mut text = Text(String::new());
        event.record(&mut text);
        self.0.lock().unwrap().push(text.0);
    }
    fn enter(&self, _: &tracing::span::Id) {}
    fn exit(&self, _: &tracing::span::Id) {}
}

#[test]
fn a_loader_warns_once_and_explains_all() {
    let png = encode(picture(8, 8), Codec::Png);
    let folder = tempfile::tempdir().unwrap();
    let members: Vec<(&str, &[u8])> = vec![("0.png", &png), ("0.cls", b"1"), ("0.seg.png", &png)];
    fs::write(folder.path().join("0.tar"), archive(&members)).unwrap();
    let data = TarShards::open(folder.path()).unwrap();
    let texts = Arc::new(Mutex::new(Vec::new()));
    let loader = tracing::subscriber::with_default(Collect(Arc::clone(&texts)), || {
        DataLoader::builder(data.repeat(2).unwrap()).transform(CenterCrop::new(8)).build(&Backend::Cpu).unwrap()
    });
    assert_eq!(*texts.lock().unwrap(), ["1 member in .seg.png is not read: 0.seg.png"]);
    let explained = loader.explain();
    assert!(explained.contains("\ndata: labels are class numbers, or vectors, from members in .cls\n"), "{explained}");
    assert!(explained.contains("\ndata: 1 member in .seg.png is not read: 0.seg.png\n"), "{explained}");
}

#[test]
fn fields_that_nobody_gets_are_named() {
    let mut data = InMemory::new().with_fields([
        Field::new("caption").kind(FieldKind::Text).optional(),
        Field::new("depth").kind(FieldKind::Image).optional(),
    ]);
    data.push_encoded(encode(picture(8, 8), Codec::Png), Label::Class(0)).unwrap();
    let warnings = |work: &dyn Fn(InMemory)| {
        let texts = Arc::new(Mutex::new(Vec::new()));
        tracing::subscriber::with_default(Collect(Arc::clone(&texts)), || work(data.clone()));
        std::mem::take(&mut *texts.lock().unwrap())
    };
    let built = warnings(&|data| {
        drop(DataLoader::builder(data).transform(CenterCrop::new(8)).build(&Backend::Cpu).unwrap());
    });
    assert_eq!(built, ["a field of images is read, but no batch has it"]);
    // A pack has them, but its settings for images are for the samples' own.
    let folder = tempfile::tempdir().unwrap();
    let pack = |name: &str, quality| {
        let mut settings = PackSettings::default();
        settings.quality = quality;
        let packer = |data| Packer::of(data, folder.path().join(name)).settings(settings.clone());
        warnings(&|data| drop(packer(data).pack().unwrap()))
    };
    assert!(pack("as it is", None).is_empty());
    let encoded = pack("encoded", Some(90));
    assert_eq!(encoded, ["images of fields are packed as they are: only the samples' own are encoded anew"]);
}

fn list(name: &str, text: &str) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    fs::write(&path, text).unwrap();
    (folder, path)
}

#[test]
fn a_list_has_the_label_that_is_called_so() {
    for (name, text) in [
        ("a.csv", "path,label,width,height\na.jpg,3,640,480\nb.jpg,4,320,240\n"),
        ("a.csv", ",path,label,width,height\n0,a.jpg,3,640,480\n1,b.jpg,4,320,240\n"),
        ("a.tsv", "width\tTarget\theight\tfile_name\n1\t3\t2\ta.jpg\n1\t4\t2\tb.jpg\n"),
        (
            "a.jsonl",
            "{\"path\": \"a.jpg\", \"label\": 3, \"width\": 1}\n{\"path\": \"b.jpg\", \"label\": 4, \"height\": 1}\n",
        ),
    ] {
        let (_folder, path) = list(name, text);
        let data = ImageList::open(&path).unwrap();
        assert_eq!([data.label(0), data.label(1)], [3, 4].map(Label::Class), "{text}");
        assert!(data.path(1).unwrap().ends_with("b.jpg"), "{text}");
        let said = said(&data);
        assert!(said[0].starts_with("labels are class numbers from the ") && said[1].contains("height"), "{said:?}");
        assert!(!data.notices().iter().any(Notice::is_warning));
    }
    for (text, says) in [
        ("path,x,y\na.jpg,1,2\n", "line 1: several columns could be the label: x, y"),
        ("a.jpg,1,2\n", "line 1: 2 columns could be the label"),
        ("path;label\na.jpg;1\n", "line 1: the columns are separated by semicolons"),
        ("path\tlabel\na.jpg\t1\n", "line 1: the columns are separated by tabs"),
        ("a.jpg;1\n", "line 1: the columns are separated by semicolons"),
    ] {
        let (_folder, path) = list("a.csv", text);
        let error = refused(ImageList::open(&path));
        assert!(error.contains(says), "{error}");
    }
    let (_folder, path) = list("a.csv", "path;x;y\na.jpg;0.5;2\n");
    let data = ImageList::builder().delimiter(b';').label_columns(["y", "x"]).open(&path).unwrap();
    assert_eq!(data.label(0), Label::from(vec![2.0, 0.5]));
    assert_eq!(said(&data)[0], "labels are vectors of 2 from the columns y, x");
}

#[test]
fn names_of_samples_stand_once_in_errors() {
    let mut data = gpufeed::InMemory::new();
    data.push_encoded(b"no image".to_vec(), Label::None).unwrap();
    let loader = DataLoader::builder(data).transform(CenterCrop::new(8)).on_error(gpufeed::OnError::Fail);
    let loader = loader.build(&Backend::Cpu).unwrap();
    let error = loader.epoch(0).unwrap().next().unwrap().unwrap_err().to_string();
    assert!(error.starts_with("sample 0: "), "{error}");
}
