//! The files of a folder: listing them, looking at each in parallel, finding those that are the same.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use gpufeed::internals::regular_file::open;
use gpufeed::{Dataset, ImageFolder, SampleData};
use indicatif::{ProgressBar, ProgressStyle};
use rayon::prelude::*;
use serde::Serialize;
use walkdir::WalkDir;

use super::entry::{Entry, below};
use super::inspect::{Inspector, Worker};
use super::kind::Kind;
use super::report::Report;
use crate::dataset::NamedDataset;

/// A folder or link in which something is wrong.
#[derive(Debug, Serialize)]
pub(super) struct Place {
    pub(super) path: String,
    pub(super) kind: Kind,
    pub(super) reason: String,
}

/// What there is to look at.
pub(super) struct Listing {
    pub(super) entries: Vec<Entry>,
    pub(super) places: Vec<Place>,
    /// Class folders in `ImageFolder`'s order; by our own listing if it refuses the folder.
    pub(super) classes: Vec<String>,
    /// Why `ImageFolder::open` refuses the folder.
    pub(super) refused: Option<String>,
    /// A data set that is not a folder of images; each of its samples is an entry.
    pub(super) data: Option<Arc<dyn Dataset>>,
}

/// Lists the samples of a data set.
pub(super) fn samples(source: &NamedDataset) -> Listing {
    let entry = |index: usize| {
        let name = source.own_name(index).unwrap_or_else(|| source.data.name(index));
        let path = source.file(index).map_or_else(|| PathBuf::from(&name), Path::to_owned);
        Entry { path, name, class: None, error: None, sample: Some(index) }
    };
    Listing {
        entries: (0..source.data.len()).map(entry).collect(),
        places: Vec::new(),
        classes: source.data.classes().to_vec(),
        refused: None,
        data: Some(source.data.clone()),
    }
}

/// Files of the same bytes, confirmed byte by byte.
#[derive(Debug, Serialize)]
pub(super) struct Duplicate {
    /// Of one of them.
    pub(super) bytes: u64,
    pub(super) files: Vec<String>,
    /// Whether all are links to one file.
    pub(super) one_file: bool,
    /// Whether they are samples of more than one class.
    pub(super) across_classes: bool,
}

/// Lists every file below `root`, through links, as `ImageFolder` does.
pub(super) fn list(root: &Path) -> Result<Listing, Box<dyn std::error::Error>> {
    fs::read_dir(root).map_err(|error| format!("{}: {error}; name a folder that can be listed", root.display()))?;
    let spinner = ProgressBar::new_spinner().with_message("listing");
    spinner.enable_steady_tick(Duration::from_millis(100));

    let (mut entries, mut places, mut classes) = (Vec::new(), Vec::new(), Vec::new());
    for found in WalkDir::new(root).follow_links(true).sort_by_file_name() {
        spinner.inc(1);
        match found {
            Ok(entry) if entry.file_type().is_dir() => {
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
                    places.push(Place { path: below(root, path), kind: Kind::LinkLoop, reason });
                }
                Some(path) if path.is_dir() => {
                    let reason = system_reason(&error);
                    places.push(Place { path: below(root, path), kind: Kind::UnreadableFolder, reason });
                }
                Some(path) => entries.push(Entry::new(root, path.to_owned(), Some(system_reason(&error)))),
                None => return Err(error.into()),
            },
        }
    }
    let refused = classify(root, &mut entries, &mut classes)?;
    spinner.finish_and_clear();
    Ok(Listing { entries, places, classes, refused, data: None })
}

/// Notes whose sample each file is. `ImageFolder` itself tells; where it refuses the folder, its rule: an image's name, at
/// any depth below a folder.
fn classify(
    root: &Path,
    entries: &mut Vec<Entry>,
    classes: &mut Vec<String>,
) -> Result<Option<String>, Box<dyn std::error::Error>> {
    // Empty classes are findings of their own.
    match ImageFolder::builder().allow_empty(true).open(root) {
        Ok(data) => {
            *classes = data.classes().to_vec();
            let class = |index: usize| classes[data.targets()[index] as usize].clone();
            let mut samples: HashMap<&Path, usize> =
                (0..data.len()).filter_map(|index| data.path(index).map(|path| (path, index))).collect();
            for entry in entries.iter_mut() {
                entry.class = samples.remove(entry.path.as_path()).map(class);
            }
            // A class folder that is a link to the folder itself: walkdir stops there, `ImageFolder` one turn later.
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
            Ok(Some(error.to_string()))
        }
    }
}

/// The system's reason alone; walkdir repeats the path.
fn system_reason(error: &walkdir::Error) -> String {
    error.io_error().map_or_else(|| error.to_string(), ToString::to_string)
}

/// Looks at every file, on the threads of the current pool, in the order of the listing.
pub(super) fn inspect(listing: &Listing, max_pixels: u64) -> Vec<Report> {
    let inspector = Inspector::new(max_pixels, listing.data.clone());
    let what = if listing.data.is_some() { "samples" } else { "files" };
    let bar = progress(listing.entries.len(), what);
    // Panics are findings here; the hook would print each between the lines of the progress bar.
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let reports = listing
        .entries
        .par_iter()
        .map_init(Worker::default, |worker, entry| inspector.inspect(entry, worker))
        .inspect(|_| bar.inc(1))
        .collect();
    std::panic::set_hook(hook);
    bar.finish_and_clear();
    reports
}

fn progress(length: usize, what: &'static str) -> ProgressBar {
    let bar = ProgressBar::new(length as u64).with_message(what);
    let style = ProgressStyle::with_template("{wide_bar} {pos}/{len} {msg}, {per_sec}, {eta} left");
    // The template is a constant; indicatif's own style is no worse.
    style.map_or(bar.clone(), |style| bar.with_style(style))
}

/// Groups the images of equal bytes and adds the finding to their reports.
pub(super) fn duplicates(listing: &Listing, reports: &mut [Report]) -> Vec<Duplicate> {
    let mut same_hash: BTreeMap<(&str, u64), Vec<usize>> = BTreeMap::new();
    for (index, report) in reports.iter().enumerate() {
        if let Some(hash) = &report.xxh3 {
            same_hash.entry((hash, report.bytes)).or_default().push(index);
        }
    }
    let candidates: Vec<Vec<usize>> = same_hash.into_values().filter(|group| group.len() > 1).collect();
    let bar = progress(candidates.len(), "groups compared");
    let mut groups: Vec<Vec<usize>> = candidates
        .into_par_iter()
        .inspect(|_| bar.inc(1))
        .flat_map_iter(|group| equal_bytes(group, listing, reports))
        .collect();
    bar.finish_and_clear();
    groups.sort_unstable();
    groups.into_iter().map(|group| note(&group, reports)).collect()
}

/// Splits files of one hash into groups of one content. A hash is no proof; a file that cannot be read again is left out.
fn equal_bytes(files: Vec<usize>, listing: &Listing, reports: &[Report]) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for file in files {
        let equal = |group: &&mut Vec<usize>| {
            let first = group[0];
            let linked = reports[first].identity.is_some() && reports[first].identity == reports[file].identity;
            linked || listing.same(first, file).unwrap_or(false)
        };
        match groups.iter_mut().find(equal) {
            Some(group) => group.push(file),
            None => groups.push(vec![file]),
        }
    }
    groups.retain(|group| group.len() > 1);
    groups
}

impl Listing {
    /// Returns true if two entries hold the same bytes.
    fn same(&self, a: usize, b: usize) -> io::Result<bool> {
        let [a, b] = [a, b].map(|entry| &self.entries[entry]);
        match (&self.data, a.sample, b.sample) {
            (Some(data), Some(a), Some(b)) => Ok(bytes(&**data, a).is_some_and(|a| Some(a) == bytes(&**data, b))),
            _ => same(&a.path, &b.path),
        }
    }
}

/// A sample's file or pixels.
fn bytes(data: &dyn Dataset, index: usize) -> Option<Vec<u8>> {
    let mut buffer = Vec::new();
    Some(match data.read(index, &mut buffer).ok()?.data {
        SampleData::Encoded(file) => file.to_vec(),
        SampleData::Pixels(pixels) => pixels.bytes().to_vec(),
    })
}

/// Whether two files hold the same bytes.
fn same(a: &Path, b: &Path) -> io::Result<bool> {
    const BLOCK: usize = 1 << 16;
    let (mut a, mut b) = (BufReader::new(open(a)?.0), BufReader::new(open(b)?.0));
    let (mut block_a, mut block_b) = (Vec::with_capacity(BLOCK), Vec::with_capacity(BLOCK));
    loop {
        block_a.clear();
        block_b.clear();
        a.by_ref().take(BLOCK as u64).read_to_end(&mut block_a)?;
        b.by_ref().take(BLOCK as u64).read_to_end(&mut block_b)?;
        if block_a != block_b {
            return Ok(false);
        }
        if block_a.is_empty() {
            return Ok(true);
        }
    }
}

fn note(group: &[usize], reports: &mut [Report]) -> Duplicate {
    let classes: HashSet<&str> = group.iter().filter_map(|&index| reports[index].class.as_deref()).collect();
    let across_classes = classes.len() > 1;
    let first = &reports[group[0]];
    let one_file = first.identity.is_some() && group.iter().all(|&index| reports[index].identity == first.identity);
    let bytes = first.bytes;
    let mut files = Vec::with_capacity(group.len());
    for &index in group {
        files.push(reports[index].path.clone());
        reports[index].findings.push(Kind::Duplicate);
        if across_classes && reports[index].class.is_some() {
            reports[index].findings.push(Kind::AcrossClasses);
        }
    }
    Duplicate { bytes, files, one_file, across_classes }
}
