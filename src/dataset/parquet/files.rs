//! Finds the files that a path names, and the split of each, as the repositories of Hugging Face's Hub have them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::dataset::shards::FileList;
use crate::error::{Error, ErrorKind, Result};
use crate::storage::file::UnopenedFile;
use crate::storage::{Address, Location, RemoteOptions};

/// The names of splits, and the beginnings of the names of their files and folders.
const SPLITS: [(&str, &[&str]); 3] =
    [("train", &["train", "training"]), ("validation", &["validation", "valid", "val", "dev"]), ("test", &["test"])];

/// Files by the names of their splits. Files that name no split are under "".
type Splits = BTreeMap<&'static str, Vec<PathBuf>>;

/// Returns true if the folder holds Parquet files, directly or where the Hub's repositories have them.
pub(in crate::dataset) fn is_in(folder: &Path) -> bool {
    folder.is_dir() && in_folder(folder).is_ok_and(|splits| !splits.is_empty())
}

/// Returns the files that a path or an address names. For a folder, these are the files of the split.
///
/// # Errors
/// A folder with several splits if none is chosen, and a folder without the chosen split.
pub(super) fn of_split(location: &Location, split: Option<&str>, options: &RemoteOptions) -> Result<FileList> {
    let mut splits = match everything(location, options)? {
        Everything::Files(files) => return Ok(files),
        Everything::Splits(splits) => splits,
    };
    let known = splits.keys().copied().collect::<Vec<_>>().join(", ");
    let Some(split) = split else {
        return match splits.len() {
            1 => splits.pop_first().map(|(_, files)| files).ok_or_else(|| nothing(location)),
            _ => Err(Error::argument("split", format!("{location} has the splits {known}: choose one of them"))),
        };
    };
    let files = splits.remove(split);
    files.ok_or_else(|| Error::argument("split", format!("{location} has no {split}; it has {known}")))
}

/// The files of a set, by what they are for.
#[derive(Debug)]
pub(super) struct SetFiles {
    pub(super) train: FileList,
    pub(super) test: Option<FileList>,
    /// The names of the splits that are neither for training nor for testing.
    pub(super) others: Vec<&'static str>,
}

/// Returns the files to train on, and the files to test with.
pub(super) fn parts(location: &Location, options: &RemoteOptions) -> Result<SetFiles> {
    let mut splits = match everything(location, options)? {
        Everything::Files(files) => return Ok(SetFiles { train: files, test: None, others: Vec::new() }),
        Everything::Splits(splits) => splits,
    };
    // A data set may have both. `validation` comes first, because the labels of `test` are often not published.
    let test = splits.remove("validation").or_else(|| splits.remove("test"));
    let train = splits.remove("train").or_else(|| splits.remove(""));
    let others = splits.keys().copied().collect();
    match (train, test) {
        (Some(train), test) => Ok(SetFiles { train, test, others }),
        (None, Some(alone)) => Ok(SetFiles { train: alone, test: None, others }),
        (None, None) => Err(nothing(location)),
    }
}

/// The files that a path names.
enum Everything {
    Files(FileList),
    /// The files of a folder, by their splits.
    Splits(BTreeMap<&'static str, FileList>),
}

fn everything(location: &Location, options: &RemoteOptions) -> Result<Everything> {
    match location {
        Location::Path(folder) if folder.is_dir() => {
            let splits = found(folder)?.into_iter().map(|(split, files)| (split, FileList::of_paths(files)));
            Ok(Everything::Splits(splits.collect()))
        }
        Location::Path(_) => FileList::listed(location, "parquet", options).map(Everything::Files),
        Location::Address(address) => in_store(address, FileList::listed(location, "parquet", options)?),
    }
}

/// Finds the splits of the files that an address names. In a folder, files may lie at any depth.
fn in_store(address: &Address, files: FileList) -> Result<Everything> {
    let mut splits: BTreeMap<&'static str, Vec<UnopenedFile>> = BTreeMap::new();
    let mut configurations = std::collections::BTreeSet::new();
    for file in &files.0 {
        let UnopenedFile::Listed(_, meta) = file else { return Ok(Everything::Files(files)) };
        let name = Path::new(&meta.address);
        let folder = name.parent().unwrap_or(name);
        let split = split_of(name).or_else(|| split_of(folder)).unwrap_or("");
        // A folder that is called like a split, or `data`, is no configuration's.
        let named = split_of(folder).is_some() || folder.ends_with("data");
        configurations.insert(if named { folder.parent().unwrap_or(folder) } else { folder }.to_owned());
        splits.entry(split).or_default().push(file.clone());
    }
    if configurations.len() > 1 {
        let names: Vec<_> = configurations.iter().map(|folder| folder.display().to_string()).collect();
        return Err(Error::argument("files", format!("several sets: {}; name one of them", names.join(", "))));
    }
    if splits.len() > 1 && splits.contains_key("") {
        let reason = format!("{address} has files whose split is not known; name the files of one with a brace list");
        return Err(Error::argument("split", reason));
    }
    Ok(Everything::Splits(splits.into_iter().map(|(split, files)| (split, FileList(files))).collect()))
}

fn nothing(location: &Location) -> Error {
    let hint = "looked for *.parquet in it, in data, and in folders of splits".to_owned();
    ErrorKind::EmptyDataset { what: location.to_string(), hint }.into()
}

fn found(folder: &Path) -> Result<Splits> {
    let splits = in_folder(folder)?;
    if splits.is_empty() {
        return Err(nothing(&folder.into()));
    }
    if let (Some(unknown), true) = (splits.get(""), splits.len() > 1) {
        let name = unknown.first().map(|file| file.display().to_string()).unwrap_or_default();
        let reason = format!("which split {name} belongs to is not known; name the files of one with a brace list");
        return Err(Error::argument("split", reason));
    }
    Ok(splits)
}

/// Finds files in the folder itself; or else in `data`; or else in folders of splits; or else in the same places of its
/// only other folder, which is that of a configuration.
fn in_folder(folder: &Path) -> Result<Splits> {
    let mut splits = Splits::new();
    for place in [folder.to_owned(), folder.join("data")] {
        let (files, _) = entries(&place)?;
        for file in files {
            splits.entry(split_of(&file).unwrap_or("")).or_default().push(file);
        }
        if !splits.is_empty() {
            return Ok(splits);
        }
    }
    let (_, folders) = entries(folder)?;
    let mut configurations = Vec::new();
    for inner in folders {
        let (files, _) = entries(&inner)?;
        match split_of(&inner) {
            Some(split) if !files.is_empty() => splits.entry(split).or_default().extend(files),
            _ => configurations.push(inner),
        }
    }
    if !splits.is_empty() {
        return Ok(splits);
    }
    let mut inner = Vec::new();
    for folder in configurations {
        let found = in_configuration(&folder)?;
        if !found.is_empty() {
            inner.push((folder, found));
        }
    }
    match inner.len() {
        0 | 1 => Ok(inner.pop().map(|(_, splits)| splits).unwrap_or_default()),
        _ => {
            let names: Vec<_> = inner.iter().map(|(folder, _)| folder.display().to_string()).collect();
            Err(Error::argument("files", format!("several sets: {}; name one of them", names.join(", "))))
        }
    }
}

fn in_configuration(folder: &Path) -> Result<Splits> {
    let mut splits = Splits::new();
    let (files, folders) = entries(folder)?;
    for file in files {
        splits.entry(split_of(&file).unwrap_or("")).or_default().push(file);
    }
    for inner in folders {
        if let Some(split) = split_of(&inner) {
            splits.entry(split).or_default().extend(entries(&inner)?.0);
        }
    }
    splits.retain(|_, files| !files.is_empty());
    Ok(splits)
}

/// Returns the Parquet files in a folder and its folders, each sorted by name. Both are empty if there is no such
/// folder. Hidden files and folders are left out.
fn entries(folder: &Path) -> Result<(Vec<PathBuf>, Vec<PathBuf>)> {
    let failed = |source| Error::io(folder, source);
    let (mut files, mut folders) = (Vec::new(), Vec::new());
    if !folder.is_dir() {
        return Ok((files, folders));
    }
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b".")) {
            continue;
        }
        if path.is_dir() {
            folders.push(path);
        } else if path.extension().is_some_and(|extension| extension == "parquet") {
            files.push(path);
        }
    }
    files.sort_unstable();
    folders.sort_unstable();
    Ok((files, folders))
}

/// Returns the split with whose name a file's name begins: `train-00000-of-00004-8f3c.parquet`, `test`.
fn split_of(path: &Path) -> Option<&'static str> {
    let name = path.file_name()?.to_str()?;
    let first = name.split(['-', '_', '.']).next()?.to_ascii_lowercase();
    SPLITS.iter().find(|(_, names)| names.contains(&&*first)).map(|(split, _)| *split)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder_of(files: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for file in files {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, b"not read").unwrap();
        }
        folder
    }

    fn names(folder: &Path, files: &FileList) -> String {
        let names = files.0.iter().map(UnopenedFile::name);
        let names: Vec<_> = names.map(|file| file.strip_prefix(folder).unwrap().display().to_string()).collect();
        names.join(" ")
    }

    #[test]
    fn the_layouts_of_the_hub_are_known() {
        for (files, train, test) in [
            (&["b.parquet", "a.parquet", "README.md"][..], "a.parquet b.parquet", ""),
            (
                &[
                    "data/train-00001-of-00002-8f.parquet",
                    "data/train-00000-of-00002-1a.parquet",
                    "data/test-00000-of-00001.parquet",
                ],
                "data/train-00000-of-00002-1a.parquet data/train-00001-of-00002-8f.parquet",
                "data/test-00000-of-00001.parquet",
            ),
            (
                &["data/train-0.parquet", "data/validation-0.parquet", "data/test-0.parquet"],
                "data/train-0.parquet",
                "data/validation-0.parquet",
            ),
            (
                &["train/0000.parquet", "train/0001.parquet", "test/0000.parquet"],
                "train/0000.parquet train/0001.parquet",
                "test/0000.parquet",
            ),
            (
                &["plain_text/train-0.parquet", "plain_text/test-0.parquet"],
                "plain_text/train-0.parquet",
                "plain_text/test-0.parquet",
            ),
            (
                &["default/train/0000.parquet", "default/test/0000.parquet"],
                "default/train/0000.parquet",
                "default/test/0000.parquet",
            ),
            (&["test.parquet"], "test.parquet", ""),
            (&["trains.parquet", ".train.parquet"], "trains.parquet", ""),
        ] {
            let folder = folder_of(files);
            let found = parts(&folder.path().into(), &RemoteOptions::default()).unwrap();
            assert_eq!(names(folder.path(), &found.train), train);
            assert_eq!(found.test.map_or(String::new(), |test| names(folder.path(), &test)), test, "{train}");
            assert!(is_in(folder.path()));
        }
    }

    #[test]
    fn a_folder_with_several_splits_or_sets_says_which() {
        let folder = folder_of(&["data/train-0.parquet", "data/test-0.parquet"]);
        let says = |split| of_split(&folder.path().into(), split, &RemoteOptions::default()).unwrap_err().to_string();
        assert!(says(None).contains("has the splits test, train"), "{}", says(None));
        assert!(says(Some("dev")).contains("has no dev; it has test, train"), "{}", says(Some("dev")));
        assert_eq!(
            names(folder.path(), &of_split(&folder.path().into(), Some("test"), &RemoteOptions::default()).unwrap()),
            "data/test-0.parquet"
        );
        let one = folder.path().join("data/test-0.parquet");
        assert_eq!(
            names(folder.path(), &of_split(&one.into(), None, &RemoteOptions::default()).unwrap()),
            "data/test-0.parquet"
        );

        let mixed = folder_of(&["train-0.parquet", "more.parquet"]);
        assert!(
            parts(&mixed.path().into(), &RemoteOptions::default())
                .unwrap_err()
                .to_string()
                .contains("more.parquet belongs to is not known")
        );
        let two = folder_of(&["en/train-0.parquet", "de/train-0.parquet"]);
        let error = parts(&two.path().into(), &RemoteOptions::default()).unwrap_err().to_string();
        assert!(error.contains("several sets") && error.contains("de, "), "{error}");
        assert!(!is_in(two.path()) && !is_in(&two.path().join("no")));
        let none = folder_of(&["x.tar"]);
        assert!(
            parts(&none.path().into(), &RemoteOptions::default()).unwrap_err().to_string().contains("*.parquet")
                && !is_in(none.path())
        );
    }
}
