//! Finds the files beside images: those of an image's stem, with another ending.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;

use super::super::encoded_field::{kind_of_ending, type_of_texts};
use super::super::file_fields::FieldSource;
use super::super::side_cars::SideCars;
use super::choice::BesideChoice;
use super::endings::{has_extension, longest, of_other_image};
use super::noticed::{Noticed, count};
use super::order::python_order;
use crate::dataset::{Field, FieldKind, Notice};
use crate::error::{Error, Result};

/// The most endings that are told apart; files with others are counted together.
const MOST: usize = 256;

/// The endings that an error lists.
const LISTED: usize = 20;

/// A search through the folders of a set, one after the other.
#[derive(Debug, Default)]
pub(super) struct BesideSearch {
    pub(super) choice: BesideChoice,
    /// Files of images' stems, by their endings in small letters.
    found: BTreeMap<String, FoundEnding>,
    /// Files in endings of fields without an image of their stem: the number, and the name of the first.
    alone: BTreeMap<String, (u64, String)>,
    /// Files of images' stems in further endings.
    further: (u64, String),
}

#[derive(Debug)]
struct FoundEnding {
    files: SideCars,
    counted: (u64, String),
}

/// An image of a folder: its stem, its sample and the number of parts of its ending.
type Stem<'a> = (&'a [u8], usize, u16);

impl BesideSearch {
    /// A search for what the choice asks for.
    pub(super) fn new(choice: BesideChoice) -> BesideSearch {
        BesideSearch { choice, ..BesideSearch::default() }
    }

    /// Looks through a folder, whose images are `images`, in the order of their samples, and whose other files are
    /// `others`. The first image is sample `first`. With all files as fields, images beside images are taken out of
    /// `images`, too.
    ///
    /// # Errors
    /// Two files of one ending beside one image.
    pub(super) fn folder(
        &mut self,
        folder: &Path,
        first: usize,
        images: &mut Vec<OsString>,
        mut others: Vec<OsString>,
        extensions: &[String],
        noticed: &mut Noticed,
    ) -> Result<()> {
        if matches!(self.choice, BesideChoice::All) {
            let beside = images_beside(images, extensions);
            others.extend(beside.iter().map(|at| images[*at].clone()));
            let mut at = 0_usize;
            images.retain(|_| {
                at += 1;
                beside.binary_search(&(at - 1)).is_err()
            });
        }
        if others.is_empty() {
            return Ok(());
        }
        others.sort_unstable_by(|a, b| python_order(a, b));
        // The files of one ending have to come in the order of their samples.
        let mut taken: Vec<(usize, u16, &OsString, &str)> = Vec::new();
        let stems = stems(images, first, extensions);
        for other in &others {
            let name = other.as_encoded_bytes();
            let mut own: &[Stem<'_>] = &[];
            let mut behind: &[u8] = &[];
            for dot in (1..name.len()).rev().filter(|at| name[*at] == b'.') {
                let begin = stems.partition_point(|(stem, ..)| *stem < &name[..dot]);
                let end = begin + stems[begin..].partition_point(|(stem, ..)| *stem == &name[..dot]);
                if begin < end {
                    (own, behind) = (&stems[begin..end], &name[dot + 1..]);
                    break;
                }
            }
            match std::str::from_utf8(behind) {
                Ok(ending) if !own.is_empty() && !ending.is_empty() => {
                    if self.counts(other, ending) {
                        taken.extend(own.iter().map(|(_, sample, parts)| (*sample, *parts, other, ending)));
                    }
                }
                _ => self.alone(other, noticed),
            }
        }
        taken.sort_by_key(|(sample, ..)| *sample);
        taken.into_iter().try_for_each(|(sample, parts, name, ending)| self.take(folder, sample, parts, name, ending))
    }

    /// Notes a file that has no image of its stem.
    fn alone(&mut self, name: &OsString, noticed: &mut Noticed) {
        match &self.choice {
            BesideChoice::None => {}
            BesideChoice::All => noticed.other(name),
            BesideChoice::Named(named) => {
                let endings = named.iter().flat_map(|(endings, _)| endings);
                let has = |ending: &&String| has_extension(name, &[format!(".{ending}")]);
                if let Some(ending) = endings.filter(has).max_by_key(|ending| ending.len()) {
                    count(self.alone.entry(ending.clone()).or_default(), || name.to_string_lossy().into_owned());
                }
            }
        }
    }

    /// Counts a file beside an image. Returns true if it is a value of a field.
    fn counts(&mut self, name: &OsString, spelling: &str) -> bool {
        let ending = spelling.to_ascii_lowercase();
        let is_field = self.choice.takes(&ending);
        if !is_field && of_other_image(name).is_some() {
            // It is counted among the images that are not taken.
            return false;
        }
        let first = || name.to_string_lossy().into_owned();
        let is_named = is_field && matches!(self.choice, BesideChoice::Named(_));
        if !is_named && self.found.len() >= MOST && !self.found.contains_key(&ending) {
            count(&mut self.further, first);
            return false;
        }
        let found = self.found.entry(ending).or_insert_with_key(|ending| FoundEnding {
            files: SideCars::new(ending.clone()),
            counted: (0, String::new()),
        });
        count(&mut found.counted, first);
        is_field
    }

    /// Takes a file beside the image of a sample as a value.
    fn take(&mut self, folder: &Path, sample: usize, parts: u16, name: &OsString, spelling: &str) -> Result<()> {
        let found = self.found.get_mut(&spelling.to_ascii_lowercase());
        if found.is_none_or(|found| found.files.push(sample, spelling, parts)) {
            return Ok(());
        }
        let reason = "its image has another file of this ending, in other letters; remove one of them";
        Err(Error::data_file(folder.join(name), "beside its image", reason))
    }

    /// Returns the fields of a set of this many samples.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`](crate::ErrorKind::Argument) for a field that no sample has.
    pub(super) fn fields(&mut self, samples: usize) -> Result<Vec<(Field, FieldSource)>> {
        match std::mem::take(&mut self.choice) {
            BesideChoice::None => Ok(Vec::new()),
            BesideChoice::All => {
                let found = std::mem::take(&mut self.found);
                let field = |(ending, found): (String, FoundEnding)| {
                    let kind = kind_of_ending(&ending);
                    let field = Field::new(ending).kind(kind);
                    // The numbers of a batch are one array, so that a sample without any has to fail.
                    let always = found.files.samples() == samples || kind == FieldKind::Numbers;
                    let texts = type_of_texts(&[found.files.ending()]);
                    (if always { field } else { field.optional() }, FieldSource::Beside(vec![found.files], texts))
                };
                Ok(found.into_iter().map(field).collect())
            }
            BesideChoice::Named(named) => {
                let fields: Result<Vec<_>> = named.iter().map(|(endings, field)| self.named(endings, field)).collect();
                self.found.retain(|ending, _| !named.iter().any(|(endings, _)| endings.contains(ending)));
                fields
            }
        }
    }

    fn named(&self, endings: &[String], field: &Field) -> Result<(Field, FieldSource)> {
        let found: Vec<_> = endings.iter().filter_map(|ending| self.found.get(ending)).collect();
        let kind = field.values().or_else(|| endings.first().map(|ending| kind_of_ending(ending)));
        match (found.is_empty(), kind) {
            (false, Some(kind)) => {
                let files = found.into_iter().map(|found| found.files.clone()).collect();
                let (field, texts) = (field.clone().kind(kind), type_of_texts(endings));
                let field = match texts {
                    Some(number_type) if kind == FieldKind::Numbers => field.with_numbers_of(number_type, Some(&[]))?,
                    _ => field,
                };
                Ok((field, FieldSource::Beside(files, texts)))
            }
            _ => {
                let listed = |endings: &mut dyn Iterator<Item = &String>| {
                    endings.take(LISTED).map(|ending| format!(".{ending}")).collect::<Vec<_>>().join(" ")
                };
                let there = match self.found.len() {
                    0 => "no file has the stem of an image".to_owned(),
                    _ => format!("files beside images end in {}", listed(&mut self.found.keys())),
                };
                let reason = format!(
                    "no image has a file {} beside it for {:?}; {there}",
                    listed(&mut endings.iter()),
                    field.name()
                );
                Err(Error::argument("fields", reason))
            }
        }
    }

    /// Returns the notices of files that are not read. The fields are known.
    pub(super) fn notices(&self) -> Vec<Notice> {
        let beside =
            self.found.iter().map(|(ending, found)| (format!("files in .{ending} beside images"), &found.counted));
        let alone =
            self.alone.iter().map(|(ending, counted)| (format!("files in .{ending} without an image"), counted));
        let further = std::iter::once(("files in further endings beside images".to_owned(), &self.further));
        let all = beside.chain(alone).chain(further);
        all.filter_map(|(what, (count, first))| Notice::not_read(what, *count, first.as_str())).collect()
    }
}

/// Returns the stems of images, sorted. Images without one are left out.
fn stems<'a>(images: &'a [OsString], first: usize, extensions: &[String]) -> Vec<Stem<'a>> {
    let stem = |(sample, image): (usize, &'a OsString)| {
        let (name, ending) = (image.as_encoded_bytes(), longest(image, extensions)?);
        let parts = name[name.len() - ending..].iter().filter(|byte| **byte == b'.').count();
        let stem = &name[..name.len() - ending];
        (!stem.is_empty()).then(|| (stem, sample, u16::try_from(parts).unwrap_or(u16::MAX)))
    };
    let mut stems: Vec<_> = (first..).zip(images).filter_map(stem).collect();
    stems.sort_unstable();
    stems
}

/// Returns the places of the images that lie beside another image, as `cat.depth.png` does beside `cat.jpg`. Numbers make no
/// such ending: `cat.1.jpg` is an image of its own.
fn images_beside(images: &[OsString], extensions: &[String]) -> Vec<usize> {
    let all = stems(images, 0, extensions);
    let has_stem = |stem: &[u8]| all.binary_search_by(|(own, ..)| (*own).cmp(stem)).is_ok();
    let is_beside = |stem: &[u8]| {
        let mut dots = (1..stem.len()).rev().filter(|at| stem[*at] == b'.');
        dots.any(|dot| has_stem(&stem[..dot]) && stem[dot + 1..].iter().any(|byte| !byte.is_ascii_digit()))
    };
    let mut beside: Vec<_> = all.iter().filter(|(stem, ..)| is_beside(stem)).map(|(_, sample, _)| *sample).collect();
    beside.sort_unstable();
    beside
}
