//! Counts the reports of all files: findings, classes, histograms.

use std::collections::BTreeMap;

use serde::Serialize;

use super::duplicates::Duplicate;
use super::file_report::FileReport;
use super::finding::{Finding, Verdict};
use super::listing::{FolderOrLink, Listing};
use super::object_summary::ObjectSummary;

/// The result for a data set: the JSON object.
#[derive(Debug, Serialize)]
pub(super) struct Summary {
    pub(super) version: &'static str,
    pub(super) folder: String,
    /// `folder`, `images`, `list`, `numpy`, `tar`, `parquet`, `lmdb`, `idx`, `cifar`, `coco`, `voc` or `yolo`.
    pub(super) format: String,
    pub(super) image_folder: Accepted,
    pub(super) files_scanned: usize,
    pub(super) bytes: u64,
    pub(super) seconds: f64,
    pub(super) max_pixels: u64,
    /// Numbers of files by verdict.
    pub(super) verdicts: BTreeMap<Verdict, usize>,
    /// What the data set noticed when it was opened: its labels, and what is good to know.
    pub(super) data_notes: Vec<String>,
    /// Those notices that are warnings of a loader. One of them makes the exit code 3.
    pub(super) data_warnings: Vec<String>,
    /// Problems. With one the exit code is 3.
    pub(super) findings: Vec<Count>,
    /// Facts that are not a problem.
    pub(super) notes: Vec<Count>,
    pub(super) classes: Vec<Class>,
    /// The objects of all samples, if the data set has a field of objects.
    pub(super) objects: Option<ObjectSummary>,
    /// Samples of the largest class per sample of the smallest one that has any; objects, where only these have classes.
    pub(super) imbalance: Option<f64>,
    pub(super) histograms: Vec<Histogram>,
    pub(super) duplicates: Vec<Duplicate>,
    /// Folders and links with a finding.
    pub(super) places: Vec<FolderOrLink>,
    pub(super) files: Vec<FileReport>,
}

/// The result of `ImageFolder::open` for the folder, empty classes allowed; for another data set, its own samples.
#[derive(Debug, Serialize)]
pub(super) struct Accepted {
    pub(super) accepted: bool,
    pub(super) error: Option<String>,
    pub(super) samples: usize,
    /// The number of those samples that decode.
    pub(super) usable: usize,
}

/// A finding, and how often it occurs.
#[derive(Debug, Serialize)]
pub(super) struct Count {
    pub(super) kind: Finding,
    /// Files, folders or links.
    pub(super) count: usize,
    pub(super) advice: &'static str,
}

#[derive(Debug, Serialize)]
pub(super) struct Class {
    pub(super) name: String,
    pub(super) samples: usize,
    /// The number of samples that decode.
    pub(super) usable: usize,
    /// The number of objects.
    pub(super) objects: usize,
}

/// Numbers of images by one property, in the property's natural order. Only values that occur have a bar.
#[derive(Debug, Serialize)]
pub(super) struct Histogram {
    pub(super) name: &'static str,
    pub(super) bars: Vec<Bar>,
}

#[derive(Debug, Serialize)]
pub(super) struct Bar {
    pub(super) label: String,
    pub(super) images: usize,
}

impl Summary {
    pub(super) fn new(
        folder: String,
        format: String,
        mut listing: Listing,
        files: Vec<FileReport>,
        duplicates: Vec<Duplicate>,
        max_pixels: u64,
        seconds: f64,
    ) -> Summary {
        let is_folder = listing.data.is_none();
        let (data_warnings, data_notes): (Vec<_>, Vec<_>) =
            listing.notices.iter().partition(|notice| notice.is_warning());
        let fields = listing.data.as_ref().map_or(&[][..], |data| data.fields());
        let fields = fields.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        let fields = (!fields.is_empty()).then(|| format!("fields are {fields}"));
        if !is_folder {
            add_unnamed_classes(&mut listing.classes, &files);
        }
        let objects = ObjectSummary::of(&files, &listing.classes);
        let classes = classes(listing.classes, &files, objects.as_ref());
        let have_samples = classes.iter().any(|class| class.samples > 0);
        let size = |class: &Class| if have_samples { class.samples } else { class.objects };
        let counts = || classes.iter().map(size).filter(|size| *size > 0);
        let imbalance = counts().max().zip(counts().min()).map(|(most, least)| most as f64 / least as f64);
        let mut places = listing.places;
        places.extend(classes.iter().filter(|class| is_folder && class.samples == 0).map(|class| FolderOrLink {
            path: class.name.clone(),
            kind: Finding::EmptyClass,
            reason: "no file with an image's name".to_owned(),
        }));
        let mut verdicts = BTreeMap::new();
        files.iter().for_each(|file| *verdicts.entry(file.verdict).or_default() += 1);
        let accepted = accepted(is_folder, listing.refused, &files);
        let (findings, notes) = count(&files, &places, accepted.accepted);
        Summary {
            version: env!("CARGO_PKG_VERSION"),
            folder,
            format,
            image_folder: accepted,
            files_scanned: files.len(),
            bytes: files.iter().map(|file| file.bytes).sum(),
            seconds,
            max_pixels,
            verdicts,
            data_notes: fields.into_iter().chain(data_notes.iter().map(ToString::to_string)).collect(),
            data_warnings: data_warnings.iter().map(ToString::to_string).collect(),
            findings,
            notes,
            classes,
            objects,
            imbalance,
            histograms: histograms(&files),
            duplicates,
            places,
            files,
        }
    }
}

/// Counts the samples. `refused` is the reason for which `ImageFolder` refuses the folder.
fn accepted(is_folder: bool, refused: Option<String>, files: &[FileReport]) -> Accepted {
    let samples = || files.iter().filter(|file| !is_folder || file.class.is_some());
    Accepted {
        accepted: refused.is_none(),
        error: refused,
        samples: samples().count(),
        usable: samples().filter(|file| file.verdict == Verdict::Ok).count(),
    }
}

/// Counts each problem and each note of files, folders and links.
fn count(files: &[FileReport], places: &[FolderOrLink], accepted: bool) -> (Vec<Count>, Vec<Count>) {
    let mut counts: BTreeMap<Finding, usize> = BTreeMap::new();
    let of_files = files.iter().flat_map(|file| file.findings.iter().chain(&file.notes).copied());
    let of_folder = (!accepted).then_some(Finding::NotAnImageFolder);
    for finding in of_files.chain(places.iter().map(|place| place.kind)).chain(of_folder) {
        *counts.entry(finding).or_default() += 1;
    }
    let count = |(kind, count): (Finding, usize)| Count { kind, count, advice: kind.advice() };
    counts.into_iter().map(count).partition(|found| found.kind.is_problem())
}

/// Adds the classes without names, which are called by their numbers. Only those with samples are known.
fn add_unnamed_classes(classes: &mut Vec<String>, files: &[FileReport]) {
    let mut used: Vec<&String> = files.iter().filter_map(|file| file.class.as_ref()).collect();
    used.sort_by_key(|class| (class.len(), *class));
    used.dedup();
    let unnamed: Vec<String> = used.into_iter().filter(|class| !classes.contains(class)).cloned().collect();
    classes.extend(unnamed);
}

/// Counts the samples and the objects of each class. Numbers without a name are left out, as COCO's classes have gaps.
fn classes(names: Vec<String>, files: &[FileReport], objects: Option<&ObjectSummary>) -> Vec<Class> {
    let mut counted: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for file in files {
        if let Some(class) = &file.class {
            let (samples, usable) = counted.entry(class).or_default();
            *samples += 1;
            *usable += usize::from(file.verdict == Verdict::Ok);
        }
    }
    let class = |(number, name): (usize, String)| {
        let (samples, usable) = counted.get(name.as_str()).copied().unwrap_or_default();
        Class { name, samples, usable, objects: objects.map_or(0, |objects| objects.of_class(number)) }
    };
    let classes = names.into_iter().enumerate().map(class);
    classes.filter(|class| objects.is_none() || !class.name.is_empty()).collect()
}

/// Makes the histograms of images that decode. The formats are of all images.
fn histograms(files: &[FileReport]) -> Vec<Histogram> {
    let images = || files.iter().filter(|file| file.verdict == Verdict::Ok);
    let jpegs = || images().filter_map(|file| file.jpeg.as_ref());
    let formats = files.iter().filter_map(|file| file.format.map(|format| (0, format.to_owned())));
    let sides = images().filter_map(|file| Some(side(file.width?.min(file.height?))));
    let shapes = images().filter_map(|file| Some(shape(file.width?, file.height?)));
    let orientations = images().filter_map(|file| file.orientation.map(|value| (value.into(), turn(value).to_owned())));
    let samples = images().filter_map(|file| file.pixels.clone().map(|pixels| (0, pixels)));
    let subsamplings = jpegs().map(|frame| (0, frame.subsampling.clone()));
    let codings = jpegs().map(|frame| (0, frame.coding.name().to_owned()));
    let qualities = jpegs().filter_map(|frame| frame.quality.map(band));
    vec![
        histogram("format", formats),
        histogram("shorter side in pixels", sides),
        histogram("shape", shapes),
        histogram("EXIF orientation", orientations),
        histogram("JPEG subsampling", subsamplings),
        histogram("JPEG coding", codings),
        histogram("JPEG quality, estimated", qualities),
        histogram("samples of other formats", samples),
    ]
}

/// Counts labels, sorted by their keys, then alphabetically.
fn histogram(name: &'static str, labels: impl Iterator<Item = (u64, String)>) -> Histogram {
    let mut counted: BTreeMap<(u64, String), usize> = BTreeMap::new();
    labels.for_each(|label| *counted.entry(label).or_default() += 1);
    let bars = counted.into_iter().map(|((_, label), images)| Bar { label, images }).collect();
    Histogram { name, bars }
}

/// Returns the bin of a side between powers of two.
fn side(pixels: u64) -> (u64, String) {
    let from = if pixels < 32 { 0 } else { 1 << pixels.ilog2() };
    let to = if pixels < 32 { 31 } else { 2 * from - 1 };
    (from, format!("{from}-{to}"))
}

fn shape(width: u64, height: u64) -> (u64, String) {
    let (key, name) = match width.cmp(&height) {
        std::cmp::Ordering::Greater => (0, "landscape"),
        std::cmp::Ordering::Equal => (1, "square"),
        std::cmp::Ordering::Less => (2, "portrait"),
    };
    (key, name.to_owned())
}

fn turn(orientation: u8) -> &'static str {
    match orientation {
        2 => "2, to mirror",
        3 => "3, to turn by 180",
        4 => "4, to flip",
        5 => "5, to transpose",
        6 => "6, to turn right by 90",
        7 => "7, to transpose along the other diagonal",
        8 => "8, to turn left by 90",
        _ => "1, upright",
    }
}

/// Returns the bin of a quality between multiples of ten.
fn band(quality: u8) -> (u64, String) {
    let from = quality / 10 * 10;
    (from.into(), if from == 100 { "100".to_owned() } else { format!("{from}-{}", from + 9) })
}
