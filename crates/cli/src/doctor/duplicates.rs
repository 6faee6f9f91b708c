//! Finds images that occur several times in a data set.

use std::collections::{BTreeMap, HashSet};
use std::io::{self, BufReader, Read};
use std::path::Path;

use gpufeed::internals::regular_file::open;
use gpufeed::{Dataset, SampleData};
use rayon::prelude::*;
use serde::Serialize;

use super::file_report::FileReport;
use super::finding::Finding;
use super::listing::Listing;
use super::progress::progress;

/// Files of equal bytes, confirmed byte by byte; those in a store by their hashes and lengths.
#[derive(Debug, Serialize)]
pub(super) struct Duplicate {
    /// The bytes of one file.
    pub(super) bytes: u64,
    pub(super) files: Vec<String>,
    /// True if all are links to one file.
    pub(super) one_file: bool,
    /// True if they are samples of more than one class.
    pub(super) across_classes: bool,
}

/// Groups images of equal bytes and adds the finding to their reports.
pub(super) fn find(listing: &Listing, reports: &mut [FileReport]) -> Vec<Duplicate> {
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

/// Splits files of one hash into groups of equal bytes, because an equal hash does not prove equal bytes (`same_entries`
/// makes an exception of stores). Leaves out files that cannot be read again.
fn equal_bytes(files: Vec<usize>, listing: &Listing, reports: &[FileReport]) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for file in files {
        let equal = |group: &&mut Vec<usize>| {
            let first = group[0];
            let linked = reports[first].identity.is_some() && reports[first].identity == reports[file].identity;
            linked || same_entries(listing, first, file).unwrap_or(false)
        };
        match groups.iter_mut().find(equal) {
            Some(group) => group.push(file),
            None => groups.push(vec![file]),
        }
    }
    groups.retain(|group| group.len() > 1);
    groups
}

/// Returns true if two entries hold the same bytes.
fn same_entries(listing: &Listing, a: usize, b: usize) -> io::Result<bool> {
    let [a, b] = [a, b].map(|entry| &listing.entries[entry]);
    match (&listing.data, a.sample, b.sample) {
        // Each comparison would fetch two samples again, in no order. Equal hashes of 128 bits and equal lengths are enough here.
        (Some(data), Some(_), Some(_)) if crate::dataset::is_remote(&**data) => Ok(true),
        (Some(data), Some(a), Some(b)) => {
            Ok(sample_bytes(&**data, a).is_some_and(|a| Some(a) == sample_bytes(&**data, b)))
        }
        _ => same_bytes(&a.path, &b.path),
    }
}

/// Reads a sample's file or pixels.
fn sample_bytes(data: &dyn Dataset, index: usize) -> Option<Vec<u8>> {
    let mut buffer = Vec::new();
    Some(match data.read(index, &mut buffer).ok()?.data {
        SampleData::Encoded(file) => file.to_vec(),
        SampleData::Pixels(pixels) => pixels.bytes().to_vec(),
    })
}

/// Returns true if two files hold the same bytes.
fn same_bytes(a: &Path, b: &Path) -> io::Result<bool> {
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

/// Adds the findings of a group to its reports.
fn note(group: &[usize], reports: &mut [FileReport]) -> Duplicate {
    let classes: HashSet<&str> = group.iter().filter_map(|&index| reports[index].class.as_deref()).collect();
    let across_classes = classes.len() > 1;
    let first = &reports[group[0]];
    let one_file = first.identity.is_some() && group.iter().all(|&index| reports[index].identity == first.identity);
    let bytes = first.bytes;
    let mut files = Vec::with_capacity(group.len());
    for &index in group {
        files.push(reports[index].path.clone());
        reports[index].findings.push(Finding::Duplicate);
        if across_classes && reports[index].class.is_some() {
            reports[index].findings.push(Finding::AcrossClasses);
        }
    }
    Duplicate { bytes, files, one_file, across_classes }
}
