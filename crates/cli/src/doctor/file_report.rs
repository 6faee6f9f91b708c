//! The facts about a file, and the verdict and findings that follow from them.

use crate::error_text;
use gpufeed::decode::jpeg_has_end;
use gpufeed::targets::TargetsOrientation;
use gpufeed::{Error, ErrorKind};
use serde::Serialize;

use super::entry::Entry;
use super::finding::{Finding, Verdict};
use super::jpeg::{self, Coding};
use super::objects::{self, ObjectReport, ReadFields};
use crate::file_identity::Identity;

/// The facts about a file.
#[derive(Debug, Default, Serialize)]
pub(super) struct FileReport {
    /// The path below the folder, with `/` between its parts. Bytes that are not UTF-8 are replaced.
    pub(super) path: String,
    /// The class under which `ImageFolder` takes it; `None` for files that `ImageFolder` ignores.
    pub(super) class: Option<String>,
    pub(super) bytes: u64,
    pub(super) verdict: Verdict,
    /// The decoder's or the system's reason, if the verdict is not [`Verdict::Ok`].
    pub(super) reason: Option<String>,
    /// The format by content.
    pub(super) format: Option<&'static str>,
    /// Columns after the turn by EXIF. If the image cannot be decoded, the number that its header declares.
    pub(super) width: Option<u64>,
    /// Rows, like `width`.
    pub(super) height: Option<u64>,
    /// The orientation by EXIF, 1 to 8.
    pub(super) orientation: Option<u8>,
    /// The stored pixel format, like `rgb8` or `l16`; `jpeg` has that of a JPEG.
    pub(super) pixels: Option<String>,
    pub(super) jpeg: Option<jpeg::Frame>,
    /// True if `Truncated::Fill` makes an image of a file that cannot be decoded whole. Not tried above 16 million
    /// pixels, because a forged header would cost seconds and a gigabyte.
    pub(super) fill_keeps: Option<bool>,
    /// The decoder's error with `Truncated::Fill`.
    pub(super) fill_error: Option<String>,
    /// The objects of a sample whose data set has a field of objects.
    pub(super) objects: Option<ObjectReport>,
    /// The sample's fields of images that have not the size of its own image: `mask has 40x30`.
    pub(super) other_sizes: Vec<String>,
    /// Problems.
    pub(super) findings: Vec<Finding>,
    /// Facts that are not a problem.
    pub(super) notes: Vec<Finding>,
    /// The xxh3-128 hash of the bytes, in hexadecimal digits; `None` for a file that is not an image.
    pub(super) xxh3: Option<String>,
    /// The file's identity on this machine, whatever path leads to it.
    #[serde(skip)]
    pub(super) identity: Identity,
    /// The fields of the sample, until its image is known.
    #[serde(skip)]
    pub(super) read: ReadFields,
}

impl FileReport {
    pub(super) fn new(entry: &Entry) -> FileReport {
        FileReport { path: entry.name.clone(), class: entry.class.clone(), ..FileReport::default() }
    }

    pub(super) fn refuse(&mut self, verdict: Verdict, reason: impl Into<String>) {
        self.verdict = verdict;
        self.reason = Some(reason.into());
    }

    /// Sets the verdict for an error of the decoder.
    pub(super) fn refuse_with(&mut self, error: &Error, bytes: &[u8]) {
        let (verdict, reason) = match error.kind() {
            ErrorKind::TooManyPixels { width, height, max_pixels } => {
                (self.width, self.height) = (Some(*width), Some(*height));
                (Verdict::TooLarge, format!("declares {width}x{height} pixels, more than {max_pixels}"))
            }
            ErrorKind::TooMuchMemory { width, height, .. } => {
                (self.width, self.height) = (Some((*width).into()), Some((*height).into()));
                (Verdict::TooLarge, error_text::describe(error))
            }
            ErrorKind::NoMemory { .. } => (Verdict::TooLarge, error_text::describe(error)),
            // The end marker is present, so the data before it are damaged, not cut.
            ErrorKind::TruncatedImage { reason, .. } if self.jpeg.is_some() && jpeg_has_end(bytes) => {
                (Verdict::Corrupt, reason.clone())
            }
            ErrorKind::TruncatedImage { reason, .. } => (Verdict::Truncated, reason.clone()),
            ErrorKind::Decode { reason, .. } if reason.starts_with("the decoder panicked") => {
                (Verdict::Panicked, reason.clone())
            }
            // These are the words of the JPEG engine and of the `image` crate for unsupported features.
            ErrorKind::Decode { reason, .. }
                if ["does not support", "not supported"].iter().any(|text| reason.contains(text)) =>
            {
                (Verdict::Unsupported, reason.clone())
            }
            ErrorKind::Decode { reason, .. } => (Verdict::Corrupt, reason.clone()),
            _ => (Verdict::Corrupt, error_text::describe(error)),
        };
        self.refuse(verdict, reason);
    }

    /// Adds what is found in the fields that were read with an image that decodes. `classes` are those of the data set.
    pub(super) fn judge_fields(&mut self, classes: &[String]) {
        let ReadFields { objects, images } = std::mem::take(&mut self.read);
        let side = |side: Option<u64>| side.and_then(|side| u32::try_from(side).ok());
        let (Some(width), Some(height), Verdict::Ok) = (side(self.width), side(self.height), self.verdict) else {
            return;
        };
        let others = images.into_iter().filter(|(_, size)| *size != (width, height));
        self.other_sizes = others.map(|(field, (width, height))| format!("{field} has {width}x{height}")).collect();
        if !self.other_sizes.is_empty() {
            self.notes.push(Finding::OtherSize);
        }
        let Some(objects) = objects else { return };
        match objects::check(objects, (width, height), self.orientation.unwrap_or(1), classes) {
            Ok(found) => {
                self.findings.extend(found.faults().iter().filter(|(_, count, _)| *count > 0).map(|(kind, ..)| *kind));
                self.notes.extend((found.count == 0).then_some(Finding::NoObjects));
                self.notes.extend(found.places.map(|places| match places {
                    TargetsOrientation::Stored => Finding::PlacesStored,
                    TargetsOrientation::Displayed => Finding::PlacesDisplayed,
                }));
                self.objects = Some(found);
            }
            Err(reason) => self.refuse(Verdict::WrongObjects, reason),
        }
    }

    /// Adds findings and notes after the inspection.
    pub(super) fn judge(&mut self, entry: &Entry) {
        let claimed = entry.claimed_format();
        // Texts may also begin with "BM" or "P5".
        let weak = self.format.is_some_and(|format| ["BMP", "PNM"].contains(&format)) && self.width.is_none();
        if claimed.is_none() && weak {
            (self.format, self.xxh3) = (None, None);
            self.refuse(Verdict::NoImage, "begins like an image and has no header of one");
        }
        let image = self.format.is_some();
        // A file beside the class folders, such as a preview, does not belong to the set.
        let beside = entry.sample.is_none() && !entry.name.contains('/');
        let other = !beside && (entry.claims_other_format() || self.verdict == Verdict::Unsupported);
        let concerns = self.class.is_some() || claimed.is_some() || other || image || entry.sample.is_some();
        match self.verdict.finding() {
            Some(kind) if concerns => self.findings.push(kind),
            _ => {}
        }
        if let (Some(claimed), Some(format)) = (claimed, self.format)
            && claimed != format
        {
            self.findings.push(Finding::WrongExtension);
        }
        if image && self.class.is_none() && entry.sample.is_none() {
            self.findings.push(Finding::PassedOver);
        }
        if self.verdict != Verdict::Ok {
            // Notes from a broken header say nothing new.
            self.notes.clear();
            return;
        }
        if self.orientation.is_some_and(|orientation| orientation != 1) {
            self.notes.push(Finding::Turned);
        }
        if let Some(frame) = &self.jpeg {
            let odd = [
                (frame.components == 1, Finding::Gray),
                (frame.components == 4, Finding::Cmyk),
                (frame.coding == Coding::Progressive, Finding::Progressive),
            ];
            self.notes.extend(odd.iter().filter(|(is, _)| *is).map(|(_, kind)| *kind));
        }
    }
}
