//! Lists what is to be inspected: the files of a folder, or the samples of another data set.

use crate::error_text;
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use gpufeed::dataset::Notice;
use gpufeed::internals::{BEHIND_LINKS, LINKS_TO_A_FOLDER};
use gpufeed::{Dataset, ImageFolder};
use indicatif::ProgressBar;
use serde::Serialize;
use walkdir::WalkDir;

use super::entry::{Entry, below};
use super::finding::Finding;
use crate::dataset::NamedDataset;

/// A folder or link with a finding.
#[derive(Debug, Serialize)]
pub(super) struct FolderOrLink {
    pub(super) path: String,
    pub(super) kind: Finding,
    pub(super) reason: String,
}

/// The entries to inspect, and findings about folders and links.
pub(super) struct Listing {
    pub(super) entries: Vec<Entry>,
    pub(super) places: Vec<FolderOrLink>,
    /// Class folders in `ImageFolder`'s order, or in the listing's order if `ImageFolder` refuses the folder.
    pub(super) classes: Vec<String>,
    /// The reason for which `ImageFolder::open` refuses the folder.
    pub(super) refused: Option<String>,
    /// The data set, if it is not a folder of images. Each of its samples is an entry.
    pub(super) data: Option<Arc<dyn Dataset>>,
    /// What the data set noticed when it was opened.
    pub(super) notices: Vec<Notice>,
}

/// Lists the samples of a data set.
pub(super) fn of_samples(source: &NamedDataset) -> Listing {
    let entry = |index: usize| {
        let name = source.full_name(index);
        let path = source.file(index).map_or_else(|| PathBuf::from(&name), Path::to_owned);
        Entry { path, name, class: None, error: None, sample: Some(index) }
    };
    Listing {
        entries: (0..source.data.len()).map(entry).collect(),
        places: Vec::new(),
        classes: source.data.classes().to_vec(),
        refused: None,
        data: Some(source.data.clone()),
        notices: source.data.notices(),
    }
}

/// Lists every file below `root`, through links, as `ImageFolder` does.
pub(super) fn of_files(root: &Path) -> Result<Listing, Box<dyn std::error::Error>> {
    list_files(root, BEHIND_LINKS)
}

/// The links of a walk, which have the bounds of `ImageFolder`'s walk.
struct Links {
    /// The real path of the data set's folder.
    real: PathBuf,
    /// The links on the way from the root to the current folder: their depth, and whether they lead out of the data set's folder.
    behind: Vec<(usize, bool)>,
    /// How many folders were listed below links that lead out.
    outside: u64,
    /// How many links of the current class folder lead to each folder.
    to: HashMap<PathBuf, u32>,
}

impl Links {
    /// Counts a folder that is listed.
    ///
    /// # Errors
    /// More than `most` folders below links that lead out; too many links to one folder.
    fn enter(&mut self, entry: &walkdir::DirEntry, root: &Path, most: u64) -> Result<(), String> {
        self.behind.retain(|(depth, _)| *depth < entry.depth());
        if entry.depth() == 1 {
            self.to.clear();
        }
        if entry.depth() > 0 && entry.path_is_symlink() {
            let target = fs::canonicalize(entry.path()).unwrap_or_default();
            self.behind.push((entry.depth(), !target.starts_with(&self.real)));
            // A class folder may be a link.
            let links = self.to.entry(target.clone()).or_default();
            *links += u32::from(entry.depth() > 1);
            if *links > LINKS_TO_A_FOLDER {
                let (link, target) = (entry.path().display(), target.display());
                return Err(format!(
                    "{link}: more than {LINKS_TO_A_FOLDER} links lead to {target}: do folders link to each other? Remove such links"
                ));
            }
        }
        self.outside += u64::from(self.behind.last().is_some_and(|(_, outside)| *outside));
        if self.outside > most {
            let (folder, reason) =
                (root.display(), "do they lead to a whole disk? Remove such links, or name the folder itself");
            return Err(format!("{folder}: more than {most} folders lie behind links that lead out: {reason}"));
        }
        Ok(())
    }
}

/// Lists at most `most` folders through links to places outside of `root`; more are an error.
fn list_files(root: &Path, most: u64) -> Result<Listing, Box<dyn std::error::Error>> {
    fs::read_dir(root).map_err(|error| format!("{}: {error}; name a folder that can be listed", root.display()))?;
    let spinner = ProgressBar::new_spinner().with_message("listing");
    spinner.enable_steady_tick(Duration::from_millis(100));

    let (mut entries, mut places, mut classes) = (Vec::new(), Vec::new(), Vec::new());
    let real = fs::canonicalize(root)?;
    let linked = |entry: &walkdir::DirEntry| {
        let link = entry.depth() > 0 && entry.path_is_symlink() && entry.file_type().is_dir();
        link.then(|| fs::canonicalize(entry.path()).unwrap_or_default())
    };
    // A link to a folder above `root` is not followed, as walking that folder could take longer than anybody waits.
    // gpufeed's `ImageFolder` does not follow it either. Links to `root` and into it are found as loops below.
    let leads_above =
        |entry: &walkdir::DirEntry| linked(entry).is_some_and(|target| target != real && real.starts_with(&target));
    let mut links = Links { real: real.clone(), behind: Vec::new(), outside: 0, to: HashMap::new() };
    let walk = WalkDir::new(root).follow_links(true).sort_by_file_name().into_iter();
    for found in walk.filter_entry(|entry| !leads_above(entry)) {
        spinner.inc(1);
        match found {
            Ok(entry) if entry.file_type().is_dir() => {
                links.enter(&entry, root, most)?;
                if entry.depth() == 1 {
                    classes.push(entry.file_name().to_string_lossy().into_owned());
                }
            }
            Ok(entry) => entries.push(Entry::new(root, entry.into_path(), None)),
            Err(error) => match error.path() {
                Some(path) if error.loop_ancestor().is_some() => {
                    let ancestor = error.loop_ancestor().map_or_else(String::new, |to| below(root, to));
                    let to = if ancestor.is_empty() { "the folder itself" } else { &ancestor };
                    let reason = format!("leads back to {to}, in which it lies");
                    places.push(FolderOrLink { path: below(root, path), kind: Finding::LinkLoop, reason });
                }
                Some(path) if path.is_dir() => {
                    let reason = system_reason(&error);
                    places.push(FolderOrLink { path: below(root, path), kind: Finding::UnreadableFolder, reason });
                }
                Some(path) => entries.push(Entry::new(root, path.to_owned(), Some(system_reason(&error)))),
                None => return Err(error.into()),
            },
        }
    }
    let mut notices = Vec::new();
    let refused = classify(root, &mut entries, &mut classes, &mut notices)?;
    // Every file is looked at, and those that are not taken are findings of their own.
    notices.retain(|notice| !matches!(notice, Notice::NotRead { .. }));
    spinner.finish_and_clear();
    Ok(Listing { entries, places, classes, refused, data: None, notices })
}

/// Sets the class of each file that is a sample. `ImageFolder` decides; if it refuses the folder, its rule is applied
/// here: a sample has an image's name, at any depth below a class folder.
fn classify(
    root: &Path,
    entries: &mut Vec<Entry>,
    classes: &mut Vec<String>,
    notices: &mut Vec<Notice>,
) -> Result<Option<String>, Box<dyn std::error::Error>> {
    // Empty classes become findings, so they are allowed here.
    match ImageFolder::builder().allow_empty(true).open(root) {
        Ok(data) => {
            *classes = data.classes().to_vec();
            *notices = data.notices();
            let class = |index: usize| classes[data.targets()[index] as usize].clone();
            let mut samples: HashMap<&Path, usize> =
                (0..data.len()).filter_map(|index| data.path(index).map(|path| (path, index))).collect();
            for entry in entries.iter_mut() {
                entry.class = samples.remove(entry.path.as_path()).map(class);
            }
            // A folder that walkdir refused to list.
            let mut missed: Vec<usize> = samples.into_values().collect();
            missed.sort_unstable();
            entries.extend(missed.into_iter().filter_map(|index| {
                let entry = Entry::new(root, data.path(index)?.to_owned(), None);
                Some(Entry { class: Some(class(index)), ..entry })
            }));
            Ok(None)
        }
        Err(error) => {
            for entry in entries {
                let inner = entry.path.strip_prefix(root)?;
                let (Some(class), Some(name)) = (inner.iter().next(), inner.file_name()) else { continue };
                let name = name.to_string_lossy().to_ascii_lowercase();
                if inner.iter().count() > 1 && ImageFolder::EXTENSIONS.iter().any(|extension| name.ends_with(extension))
                {
                    entry.class = Some(class.to_string_lossy().into_owned());
                }
            }
            Ok(Some(error_text::describe(&error)))
        }
    }
}

/// Returns only the system's reason, because walkdir's text repeats the path.
fn system_reason(error: &walkdir::Error) -> String {
    error.io_error().map_or_else(|| error.to_string(), ToString::to_string)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn folders_behind_links_have_a_bound() {
        let root = tempfile::tempdir().unwrap();
        let at = |path: &str| root.path().join(path);
        for folder in ["data/cat/deep/deeper", "out/1", "out/2/3"] {
            fs::create_dir_all(at(folder)).unwrap();
        }
        fs::write(at("out/2/3/1.jpg"), "").unwrap();
        std::os::unix::fs::symlink(at("out"), at("data/dog")).unwrap();
        assert_eq!(list_files(&at("data"), 4).unwrap().entries.len(), 1);
        let error = list_files(&at("data"), 3).err().unwrap().to_string();
        assert!(error.contains("more than 3 folders lie behind links that lead out"), "{error}");
        // A folder of the data set is not outside, even where the way to it leads out and back.
        fs::create_dir(at("data/cat/inside")).unwrap();
        std::os::unix::fs::symlink(at("data/cat/inside"), at("out/1/back")).unwrap();
        assert!(list_files(&at("data"), 4).is_ok());
    }

    /// 8 folders that link to each other have 13,700 paths, and 20 have more than anybody waits for: the loader's bound.
    #[test]
    fn links_to_one_folder_have_the_loaders_bound() {
        let root = tempfile::tempdir().unwrap();
        let folder = |number: usize| root.path().join(format!("folder{number:02}"));
        for from in 0..20 {
            fs::create_dir(folder(from)).unwrap();
            fs::write(folder(from).join("image.jpg"), "").unwrap();
        }
        for (from, to) in (0..20).flat_map(|from| (0..20).map(move |to| (from, to))) {
            std::os::unix::fs::symlink(folder(to), folder(from).join(format!("link{to:02}"))).unwrap();
        }
        let loader = ImageFolder::open(root.path()).unwrap_err().to_string();
        let error = list_files(root.path(), BEHIND_LINKS).err().unwrap().to_string();
        for text in [loader, error] {
            assert!(text.contains("more than 1000 links lead to ") && text.contains("Remove such links"), "{text}");
        }
    }
}
