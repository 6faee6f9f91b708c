//! Opening a path with the keywords of `gpufeed.open`, each of which one format or another knows.

use gpufeed::dataset::{
    Cifar, Emnist, Format, Idx, Lmdb, LmdbLayout, Numpy, Opened, Parquet, RemoteOptions, ShardIndexes, Split,
};
use gpufeed::{Dataset, Error, ErrorKind, ImageFolder, ImageList, Layout, Result, TarShards};
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};

/// The arguments of `gpufeed.open`, as they were given.
#[derive(Clone)]
pub(crate) struct Opening {
    pub(crate) path: PathBuf,
    /// A folder and its bytes.
    pub(crate) remote_cache: Option<(PathBuf, u64)>,
    /// A JSON of the samples that each file has.
    pub(crate) counts: Option<PathBuf>,
    /// The keywords of formats as JSON, which `gpufeed/opening.py` has checked; empty without any.
    pub(crate) keywords: String,
}

/// Each format, in words, and the keywords that it knows.
static FORMATS: [(Format, &str, &[&str]); 9] = [
    (Format::Folder, "a folder of class folders", &["extensions", "allow_empty", "unlabelled", "max_file_bytes"]),
    (Format::Images, "a folder of images", &["extensions", "unlabelled", "max_file_bytes"]),
    (
        Format::List,
        "a list of files",
        &["image_column", "label_column", "class_names", "root", "header", "delimiter", "max_file_bytes"],
    ),
    (Format::Numpy, "a NumPy file", &["split", "image_column", "label_column", "data_layout"]),
    (
        Format::Tar,
        "tar shards",
        &[
            "extensions",
            "allow_unlabelled",
            "text_labels",
            "class_names",
            "indexes",
            "index_memory",
            "put_indexes",
            "max_file_bytes",
            "counts",
        ],
    ),
    (Format::Lmdb, "an LMDB", &["allow_unlabelled", "class_names", "data_layout", "max_file_bytes"]),
    (Format::Idx, "MNIST's files", &["split", "part"]),
    (Format::Cifar, "CIFAR's files", &["split", "label_column"]),
    (
        Format::Parquet,
        "Parquet files",
        &[
            "split",
            "image_column",
            "label_column",
            "allow_unlabelled",
            "class_names",
            "indexes",
            "index_memory",
            "put_indexes",
            "max_file_bytes",
            "max_page_bytes",
            "counts",
        ],
    ),
];

impl Opening {
    /// Opens the path. A keyword that its format does not know is an error.
    pub(crate) fn open(&self) -> Result<Opened> {
        let remote = match &self.remote_cache {
            Some((folder, bytes)) => RemoteOptions::new().cache(folder, *bytes),
            None => RemoteOptions::new(),
        };
        if self.keywords.is_empty() && self.counts.is_none() {
            return gpufeed::dataset::open_with(&self.path, remote);
        }
        let format = Format::detect(&self.path);
        let keywords = Keywords::read(&self.keywords)?;
        if format != Format::List && keywords.texts("label_column").is_some() {
            return Err(refuse("label_column", "several columns, which a list of files takes; one name works here"));
        }
        let counts = self.counts.as_ref().map(|_| "counts");
        keywords.names().chain(counts).try_for_each(|name| check(format, name))?;
        // Formats that are read from this machine alone: the library says so.
        let remote_path = gpufeed::storage::Location::from(&self.path).is_address();
        if remote_path && !matches!(format, Format::Tar | Format::Parquet) {
            return gpufeed::dataset::open_with(&self.path, remote);
        }
        keywords.open(format, &self.path, remote, self.counts.as_deref())
    }
}

/// Refuses a keyword that a format does not know.
fn check(format: Format, name: &str) -> Result<()> {
    let of_format = FORMATS.iter().find(|(each, ..)| *each == format);
    let words = match of_format {
        Some((.., known)) if known.contains(&name) => return Ok(()),
        Some((_, words, _)) => words,
        None => "of another format",
    };
    let knowing: Vec<_> =
        FORMATS.iter().filter(|(.., known)| known.contains(&name)).map(|(_, words, _)| *words).collect();
    let setting = FORMATS.iter().flat_map(|(.., known)| *known).find(|known| **known == name).unwrap_or(&"open");
    let knowing = match &knowing[..] {
        [one] => format!("a keyword of {one}"),
        several => format!("a keyword of {}", several.join(", ")),
    };
    Err(refuse(setting, format!("{knowing}, but the path is {words}; leave it out")))
}

fn refuse(setting: &'static str, reason: impl Into<String>) -> Error {
    ErrorKind::Argument { setting, reason: reason.into() }.into()
}

/// The keywords of formats that were given.
struct Keywords(Map<String, Value>);

impl Keywords {
    fn read(json: &str) -> Result<Keywords> {
        if json.is_empty() {
            return Ok(Keywords(Map::new()));
        }
        serde_json::from_str(json).map(Keywords).map_err(|error| refuse("open", error.to_string()))
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name)?.as_str()
    }

    fn flag(&self, name: &str) -> Option<bool> {
        self.0.get(name)?.as_bool()
    }

    fn number(&self, name: &str) -> Option<u64> {
        self.0.get(name)?.as_u64()
    }

    /// One name, or several.
    fn columns(&self, name: &str) -> Option<Vec<String>> {
        self.text(name).map(|one| vec![one.to_owned()]).or_else(|| self.texts(name))
    }

    fn texts(&self, name: &str) -> Option<Vec<String>> {
        Some(self.0.get(name)?.as_array()?.iter().filter_map(Value::as_str).map(String::from).collect())
    }

    fn open(&self, format: Format, path: &Path, remote: RemoteOptions, counts: Option<&Path>) -> Result<Opened> {
        match format {
            Format::Folder => self.folder(path, false).map(whole),
            Format::Images => self.folder(path, true).map(whole),
            Format::List => self.list(path).map(whole),
            Format::Numpy => self.numpy(path),
            Format::Tar => self.tar(path, remote, counts).map(whole),
            Format::Lmdb => self.lmdb(path).map(whole),
            Format::Idx => self.idx(path),
            Format::Cifar => self.cifar(path),
            Format::Parquet => self.parquet(path, remote, counts),
            _ => format.open(path),
        }
    }

    fn folder(&self, path: &Path, unlabelled: bool) -> Result<ImageFolder> {
        let mut builder = ImageFolder::builder().unlabelled(self.flag("unlabelled").unwrap_or(unlabelled));
        if let Some(extensions) = self.texts("extensions") {
            builder = builder.extensions(extensions);
        }
        if let Some(allow) = self.flag("allow_empty") {
            builder = builder.allow_empty(allow);
        }
        if let Some(bytes) = self.number("max_file_bytes") {
            builder = builder.max_file_bytes(bytes);
        }
        builder.open(path)
    }

    fn list(&self, path: &Path) -> Result<ImageList> {
        let mut builder = ImageList::builder();
        if self.texts("class_names").is_some() {
            return Err(refuse(
                "class_names",
                "names, but a list of files has its own; True reads its labels as names",
            ));
        }
        if let Some(names) = self.flag("class_names") {
            builder = builder.class_names(names);
        }
        if let Some(root) = self.text("root") {
            builder = builder.root(root);
        }
        if let Some(header) = self.flag("header") {
            builder = builder.header(header);
        }
        if let Some(column) = self.text("image_column") {
            builder = builder.path_column(column);
        }
        if let Some(columns) = self.columns("label_column") {
            builder = builder.label_columns(columns);
        }
        if let Some(delimiter) = self.text("delimiter").and_then(|text| text.bytes().next()) {
            builder = builder.delimiter(delimiter);
        }
        if let Some(bytes) = self.number("max_file_bytes") {
            builder = builder.max_file_bytes(bytes);
        }
        builder.open(path)
    }

    fn tar(&self, path: &Path, remote: RemoteOptions, counts: Option<&Path>) -> Result<TarShards> {
        let mut builder = TarShards::builder().remote(remote);
        if let Some(extensions) = self.texts("extensions") {
            builder = builder.extensions(extensions);
        }
        if let Some(allow) = self.flag("allow_unlabelled") {
            builder = builder.allow_unlabelled(allow);
        }
        if let Some(labels) = self.flag("text_labels") {
            builder = builder.text_labels(labels);
        }
        if let Some(names) = self.class_names()? {
            builder = builder.classes(names);
        }
        if let Some(bytes) = self.number("max_file_bytes") {
            builder = builder.max_file_bytes(bytes);
        }
        if let Some(bytes) = self.number("index_memory") {
            builder = builder.index_memory(usize::try_from(bytes).unwrap_or(usize::MAX));
        }
        if let Some(counts) = counts {
            builder = builder.counts(counts);
        }
        builder.indexes(self.indexes()).put_indexes(self.flag("put_indexes").unwrap_or(false)).open(path)
    }

    fn parquet(&self, path: &Path, remote: RemoteOptions, counts: Option<&Path>) -> Result<Opened> {
        let mut builder = Parquet::builder().remote(remote);
        if let Some(column) = self.text("image_column") {
            builder = builder.image_column(column);
        }
        if let Some(column) = self.text("label_column") {
            builder = builder.label_column(column);
        }
        if let Some(allow) = self.flag("allow_unlabelled") {
            builder = builder.allow_unlabelled(allow);
        }
        if let Some(names) = self.class_names()? {
            builder = builder.classes(names);
        }
        if let Some(bytes) = self.number("max_file_bytes") {
            builder = builder.max_file_bytes(bytes);
        }
        if let Some(bytes) = self.number("index_memory") {
            builder = builder.index_memory(usize::try_from(bytes).unwrap_or(usize::MAX));
        }
        if let Some(counts) = counts {
            builder = builder.counts(counts);
        }
        if let Some(bytes) = self.number("max_page_bytes") {
            builder = builder.max_page_bytes(bytes);
        }
        builder = builder.indexes(self.indexes()).put_indexes(self.flag("put_indexes").unwrap_or(false));
        if let Some(split) = self.text("split") {
            return builder.split(split).open(path).map(whole);
        }
        let (train, test) = builder.parts(path)?;
        Ok(Opened { train: Box::new(train), test: test.map(|test| Box::new(test) as Box<dyn Dataset>) })
    }

    fn lmdb(&self, path: &Path) -> Result<Lmdb> {
        let mut builder = Lmdb::builder();
        if let Some(layout) = self.text("data_layout") {
            builder = builder.layout(match layout {
                "numbered" => LmdbLayout::Numbered,
                "class_and_image" => LmdbLayout::ClassAndImage,
                "image" => LmdbLayout::Image,
                other => return Err(layout_of_another(other, "\"numbered\", \"class_and_image\" and \"image\" work")),
            });
        }
        if let Some(allow) = self.flag("allow_unlabelled") {
            builder = builder.allow_unlabelled(allow);
        }
        if let Some(names) = self.class_names()? {
            builder = builder.classes(names);
        }
        if let Some(bytes) = self.number("max_file_bytes") {
            builder = builder.max_file_bytes(bytes);
        }
        builder.open(path)
    }

    fn numpy(&self, path: &Path) -> Result<Opened> {
        let mut numpy = Numpy::new();
        if let Some(layout) = self.text("data_layout") {
            numpy = numpy.layout(match layout {
                "nhwc" => Layout::Nhwc,
                "nchw" => Layout::Nchw,
                other => return Err(layout_of_another(other, "\"nhwc\" and \"nchw\" work")),
            });
        }
        let archive = path.extension().is_some_and(|end| end.eq_ignore_ascii_case("npz"));
        match (self.text("image_column"), self.text("label_column")) {
            (Some(images), labels) if archive => {
                if self.text("split").is_some() {
                    return Err(refuse("split", "image_column names the array; leave one of the two out"));
                }
                numpy.npz(path, images, labels).map(whole)
            }
            (None, None) if !archive && self.text("split").is_none() => numpy.npy(path, None::<&Path>).map(whole),
            (None, None) if self.text("data_layout").is_some() => {
                Err(refuse("data_layout", "of an .npz it goes with image_column, the array's name"))
            }
            (None, None) => choose(Format::Numpy.open(path)?, self.split()?, path),
            (None, Some(_)) if archive => Err(refuse("label_column", "of an .npz it goes with image_column")),
            _ => Err(refuse(
                "image_column",
                "only an .npz has arrays with names; leave image_column and label_column out",
            )),
        }
    }

    fn idx(&self, path: &Path) -> Result<Opened> {
        let split = self.split()?;
        let Some(part) = self.text("part") else {
            return match (Format::Idx.open(path), split) {
                // Without the files of the other split, this one opens by itself.
                (Err(error), Some(split)) if is_missing(&error) => Idx::open(path, split).map(whole).map_err(|_| error),
                (opened, split) => choose(opened?, split, path),
            };
        };
        let parts =
            [Emnist::ByClass, Emnist::ByMerge, Emnist::Balanced, Emnist::Letters, Emnist::Digits, Emnist::Mnist];
        let Some(part) = parts.into_iter().find(|each| each.name() == part) else {
            return Err(refuse("part", format!("{part:?}; {} work", parts.map(Emnist::name).join(", "))));
        };
        let of = |split| Idx::emnist(path, part, split);
        match split {
            Some(split) => of(split).map(whole),
            None => Ok(Opened { train: Box::new(of(Split::Train)?), test: boxed(there(of(Split::Test))?) }),
        }
    }

    fn cifar(&self, path: &Path) -> Result<Opened> {
        let coarse = match self.text("label_column") {
            None | Some("fine_label" | "fine_labels") => false,
            Some("coarse_label" | "coarse_labels") => true,
            Some(other) => {
                let reason = format!("{other:?}; \"fine_label\" and, of CIFAR-100, \"coarse_label\" work");
                return Err(refuse("label_column", reason));
            }
        };
        let of = |split| if coarse { Cifar::coarse(path, split) } else { Cifar::open(path, split) };
        match self.split()? {
            Some(split) => of(split).map(whole),
            None if coarse => Ok(Opened { train: Box::new(of(Split::Train)?), test: boxed(there(of(Split::Test))?) }),
            None => Format::Cifar.open(path),
        }
    }

    /// The names of the classes.
    fn class_names(&self) -> Result<Option<Vec<String>>> {
        match self.0.get("class_names") {
            Some(Value::Bool(_)) => {
                Err(refuse("class_names", "True and False are for a list of files; here the names of the classes work"))
            }
            _ => Ok(self.texts("class_names")),
        }
    }

    fn indexes(&self) -> ShardIndexes {
        match self.text("indexes") {
            None | Some("beside") => ShardIndexes::Beside,
            Some("memory") => ShardIndexes::Memory,
            Some(folder) => ShardIndexes::Folder(folder.into()),
        }
    }

    /// The split of a set that comes in two.
    fn split(&self) -> Result<Option<Split>> {
        match self.text("split") {
            None => Ok(None),
            Some("train") => Ok(Some(Split::Train)),
            Some("test") => Ok(Some(Split::Test)),
            Some(other) => Err(refuse("split", format!("{other:?}; \"train\" and \"test\" work"))),
        }
    }
}

fn layout_of_another(layout: &str, works: &str) -> Error {
    refuse("data_layout", format!("{layout:?}; {works} there"))
}

fn whole(data: impl Dataset + 'static) -> Opened {
    Opened { train: Box::new(data), test: None }
}

fn boxed(data: Option<impl Dataset + 'static>) -> Option<Box<dyn Dataset>> {
    data.map(|data| Box::new(data) as Box<dyn Dataset>)
}

/// A split, or `None` if its files are not there.
fn there<D>(opened: Result<D>) -> Result<Option<D>> {
    match opened {
        Ok(data) => Ok(Some(data)),
        Err(error) if is_missing(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns true if a file is not there.
fn is_missing(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Io { source, .. } if source.kind() == std::io::ErrorKind::NotFound)
}

/// The split that was asked for, of both.
fn choose(opened: Opened, split: Option<Split>, path: &Path) -> Result<Opened> {
    match (split, opened) {
        (Some(Split::Test), Opened { test: Some(test), .. }) => Ok(Opened { train: test, test: None }),
        (Some(Split::Test), _) => Err(refuse("split", format!("{} has no test split", path.display()))),
        (_, opened) => Ok(opened),
    }
}
