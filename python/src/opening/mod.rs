//! Opens a data set by its path or address, with the keywords that the caller gave to Python's `gpufeed.open`.
//! `keywords.rs` says which keywords each format takes, and `formats.rs` opens each format; `positions.rs` has the fields
//! that every format has.

/// Calls the builder's method for each value that is `Some`, which is a setting that the caller gave.
macro_rules! set {
    ($builder:ident, $($method:ident = $value:expr),+ $(,)?) => {
        $(
            if let Some(value) = $value {
                $builder = $builder.$method(value);
            }
        )+
    };
}

mod formats;
mod keywords;
mod positions;

use gpufeed::dataset::{Field, FieldChoice, Format, Opened, RemoteOptions, Split};
use gpufeed::storage::Location;
use gpufeed::{Dataset, Error, ErrorKind, Result};
use keywords::{FORMATS, Remote};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The arguments of `gpufeed.open`, as the caller gave them.
#[derive(Clone)]
pub(crate) struct Opening {
    pub(crate) path: PathBuf,
    /// The keywords with their values, as a JSON object. The Python package has checked the values.
    pub(crate) keywords: String,
}

/// The prefix of the names of the keywords for remote data, which every format takes.
const REMOTE: &str = "remote_";

/// The keyword of fields.
const FIELDS: &str = "fields";

impl Opening {
    /// Opens the data set at the path. A keyword that the data set's format does not take is an error.
    pub(crate) fn open(&self) -> Result<Opened> {
        let mut given: Map<String, Value> = read(self.keywords.parse().map_err(|error| unread(&error))?)?;
        let fields = given
            .remove(FIELDS)
            .map(|fields| serde_json::from_value(fields).map_err(|error| refuse(FIELDS, error.to_string())));
        let (positions, own) = positions::divide(fields.transpose()?.unwrap_or_default());
        // The sample's own image and label, which may be chosen alone, are none of the data set's fields.
        let is_own = |field: &Field| matches!(field.name(), "image" | "label");
        let named = matches!(&own, FieldChoice::Named(named) if named.iter().any(|(_, field)| !is_own(field)));
        if own != FieldChoice::None {
            let written = in_order(own).map_err(|error| refuse(FIELDS, error.to_string()))?;
            given.insert(FIELDS.to_owned(), written);
        }
        let Opened { train, test, .. } = self.open_with(given)?;
        if named && train.fields().is_empty() {
            return Err(refuse(
                FIELDS,
                "data of this format have none beside image and label but \"index\" and \"path\"",
            ));
        }
        let test = test.map(|test| positions::add(test, &positions));
        Ok(Opened { train: positions::add(train, &positions), test })
    }

    fn open_with(&self, given: Map<String, Value>) -> Result<Opened> {
        let (remote, of_format): (Map<_, _>, Map<_, _>) =
            given.into_iter().partition(|(keyword, _)| keyword.starts_with(REMOTE));
        let remote = read::<Remote>(remote.into())?.options()?;
        if of_format.is_empty() {
            return gpufeed::dataset::open_with(&self.path, remote);
        }
        let format = Format::detect_with(&self.path, &remote)?;
        if format != Format::List && of_format.get("label_column").is_some_and(Value::is_array) {
            return Err(refuse("label_column", "several columns, which a list of files takes; one name works here"));
        }
        of_format.keys().try_for_each(|keyword| check(format, keyword))?;
        // Only tar shards and Parquet files can be read from an address. For any other format, this call returns the
        // library's error, which says so.
        if Location::from(&self.path).is_address() && !matches!(format, Format::Tar | Format::Parquet) {
            return gpufeed::dataset::open_with(&self.path, remote);
        }
        let (path, keywords) = (&*self.path, Value::from(of_format));
        match format {
            Format::Folder => read::<keywords::Folder>(keywords)?.open(path),
            Format::Images => read::<keywords::Images>(keywords)?.open(path),
            Format::List => read::<keywords::List>(keywords)?.open(path),
            Format::Numpy => read::<keywords::Numpy>(keywords)?.open(path),
            Format::Tar => read::<keywords::Tar>(keywords)?.open(path, remote),
            Format::Lmdb => read::<keywords::Lmdb>(keywords)?.open(path),
            Format::Idx => read::<keywords::Idx>(keywords)?.open(path),
            Format::Cifar => read::<keywords::Cifar>(keywords)?.open(path),
            Format::Parquet => read::<keywords::Parquet>(keywords)?.open(path, remote),
            Format::Coco => read::<keywords::Coco>(keywords)?.open(path),
            Format::Voc => read::<keywords::Voc>(keywords)?.open(path),
            Format::Yolo => read::<keywords::Yolo>(keywords)?.open(path),
            Format::Masks => read::<keywords::Masks>(keywords)?.open(path),
            _ => format.open(path),
        }
    }
}

impl Remote {
    fn options(self) -> Result<RemoteOptions> {
        let mut options = RemoteOptions::new();
        if let Some((folder, bytes)) = self.remote_cache {
            options = options.cache(folder, bytes);
        }
        if self.remote_timeout == Some(0.0) {
            return Err(refuse("remote_timeout", "0 leaves no time for any answer"));
        }
        // A number of seconds that is too large for a `Duration` becomes the longest `Duration`.
        let time = |seconds| Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
        set!(options, timeout = self.remote_timeout.map(time), retries = self.remote_retries);
        set!(options, requests = self.remote_requests, min_rate = self.remote_min_rate);
        set!(options, certificates = self.remote_certificates);
        let store = self.remote_store.into_iter().flatten();
        Ok(store.fold(options, |options, (name, value)| options.store(name, value)))
    }
}

/// Writes a choice of fields as a list of pairs, which keeps the order of the fields: `Map` sorts its keys.
fn in_order(choice: FieldChoice) -> serde_json::Result<Value> {
    let FieldChoice::Named(named) = choice else { return serde_json::to_value(choice) };
    let mut pairs = Vec::with_capacity(named.len());
    for pair in named {
        if let Value::Object(written) = serde_json::to_value(FieldChoice::Named(vec![pair]))? {
            pairs.extend(written.into_iter().map(|(source, field)| Value::from(vec![Value::from(source), field])));
        }
    }
    Ok(Value::from(pairs))
}

/// Deserializes keywords from JSON, for example into the struct of a format.
fn read<T: DeserializeOwned>(keywords: Value) -> Result<T> {
    serde_json::from_value(keywords).map_err(|error| unread(&error))
}

fn unread(error: &serde_json::Error) -> Error {
    refuse("open", error.to_string())
}

/// Returns an error if the format does not take the keyword `name`. The error says which formats take it.
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
    Err(refuse(setting, format!("a keyword of {}, but the path is {words}; leave it out", knowing.join(", "))))
}

fn refuse(setting: &'static str, reason: impl Into<String>) -> Error {
    ErrorKind::Argument { setting, reason: reason.into() }.into()
}

fn whole(data: impl Dataset + 'static) -> Opened {
    Opened { train: Box::new(data), test: None }
}

fn boxed(data: Option<impl Dataset + 'static>) -> Option<Box<dyn Dataset>> {
    data.map(|data| Box::new(data) as Box<dyn Dataset>)
}

/// Returns the opened split, or `None` if it could not be opened because a file is missing. Passes other errors on.
fn there<D>(opened: Result<D>) -> Result<Option<D>> {
    match opened {
        Ok(data) => Ok(Some(data)),
        Err(error) if is_missing(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns true if an error says that a file is missing.
fn is_missing(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Io { source, .. } if source.kind() == std::io::ErrorKind::NotFound)
}

/// Returns `opened` with the wanted split in `train`. Fails if the test split is wanted and does not exist.
fn choose(opened: Opened, split: Option<Split>, path: &Path) -> Result<Opened> {
    match (split, opened) {
        (Some(Split::Test), Opened { test: Some(test), .. }) => Ok(Opened { train: test, test: None }),
        (Some(Split::Test), _) => Err(refuse("split", format!("{} has no test split", path.display()))),
        (_, opened) => Ok(opened),
    }
}
