//! Inspects files: recognises each by its first bytes and decodes all of it.

use crate::error_text;
use std::io::Read;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use gpufeed::dataset::MAX_FILE_BYTES;
use gpufeed::decode::{DecodeOptions, ImageFormat, Orientation, Probe, Rect, Scratch, Truncated, decode, probe};
use gpufeed::internals::{InOrder, caught};
use gpufeed::storage::is_network_failure;
use gpufeed::{Dataset, Error, ErrorKind, FieldValue, Label, SampleData};
use rayon::prelude::*;
use xxhash_rust::xxh3::xxh3_128;

use super::entry::Entry;
use super::file_report::FileReport;
use super::finding::Verdict;
use super::listing::Listing;
use super::progress::progress;
use super::unknown_file::identify;
use super::{jpeg, pixel_format};
use crate::file_identity::identity;

/// Images with more pixels than this are decoded one at a time, so that memory does not grow with the threads.
const LARGE_PIXELS: u64 = 1 << 24;

/// The buffers that one thread reuses.
#[derive(Default)]
pub(super) struct Worker {
    bytes: Vec<u8>,
    scratch: Scratch,
}

/// The settings of all threads, and the lock that serialises large images.
pub(super) struct Inspector {
    options: DecodeOptions,
    large: Mutex<()>,
    /// The data set, if its entries are samples instead of files of a folder.
    data: Option<Arc<dyn Dataset>>,
    /// Why a store or web server could not be read: no sample is at fault, and others would fail alike.
    unreachable: OnceLock<String>,
}

impl Inspector {
    pub(super) fn new(max_pixels: u64, data: Option<Arc<dyn Dataset>>) -> Inspector {
        let mut options = DecodeOptions::default();
        options.max_pixels = max_pixels;
        // A raised `max_pixels` means that such images are to be decoded, so it raises the memory limit, too.
        options.max_decode_bytes = options.max_decode_bytes.max(max_pixels.saturating_mul(12));
        Inspector { options, large: Mutex::new(()), data, unreachable: OnceLock::new() }
    }

    /// Inspects one entry. A panic, which no known file causes, becomes the file's finding.
    pub(super) fn inspect(&self, entry: &Entry, worker: &mut Worker) -> FileReport {
        let mut report = FileReport::new(entry);
        // Not printed, as that would go across the progress bar.
        if let Err(text) = caught(|| self.look(entry, worker, &mut report)) {
            report.refuse(Verdict::Panicked, text);
            *worker = Worker::default();
        }
        report.judge_fields(self.data.as_ref().map_or(&[], |data| data.classes()));
        report.judge(entry);
        report
    }

    fn look(&self, entry: &Entry, worker: &mut Worker, report: &mut FileReport) {
        if let Some(error) = &entry.error {
            return report.refuse(Verdict::Unreadable, error.as_str());
        }
        let read = match (&self.data, entry.sample) {
            _ if self.unreachable.get().is_some() => return,
            (Some(data), Some(index)) => self.read_sample(&**data, index, &mut worker.bytes, report).map_err(|error| {
                if is_network_failure(&error) {
                    let _ = self.unreachable.set(error_text::describe(&error));
                }
                unread(&**data, index, &error)
            }),
            _ => self
                .read(&entry.path, &mut worker.bytes, report)
                .map_err(|error| (Verdict::Unreadable, error.to_string())),
        };
        match read {
            Ok(Some(format)) => {
                report.format = Some(format.name());
                report.xxh3 = Some(format!("{:032x}", xxh3_128(&worker.bytes)));
                self.image(format, worker, report);
            }
            Ok(None) => {}
            Err((verdict, reason)) => report.refuse(verdict, reason),
        }
    }

    /// Reads the whole file if its first bytes are those of an image. Otherwise the report gets a verdict.
    fn read(&self, path: &Path, bytes: &mut Vec<u8>, report: &mut FileReport) -> std::io::Result<Option<ImageFormat>> {
        // `open` refuses pipes and devices.
        let (mut file, metadata) = gpufeed::internals::regular_file::open(path)?;
        report.bytes = metadata.len();
        report.identity = identity(&metadata);
        if metadata.len() == 0 {
            report.refuse(Verdict::Empty, "0 bytes");
            return Ok(None);
        }
        bytes.clear();
        file.by_ref().take(64).read_to_end(bytes)?;
        let Some(format) = ImageFormat::recognise(bytes) else {
            report.refuse(identify(bytes).0, identify(bytes).1);
            return Ok(None);
        };
        if metadata.len() > MAX_FILE_BYTES {
            report.format = Some(format.name());
            let reason = format!("{} bytes; doctor reads files of up to {MAX_FILE_BYTES}", metadata.len());
            report.refuse(Verdict::TooLarge, reason);
            return Ok(None);
        }
        file.take(MAX_FILE_BYTES).read_to_end(bytes)?;
        report.bytes = bytes.len() as u64;
        Ok(Some(format))
    }

    fn image(&self, format: ImageFormat, worker: &mut Worker, report: &mut FileReport) {
        let bytes = &worker.bytes;
        match format {
            ImageFormat::Jpeg => report.jpeg = jpeg::frame(bytes),
            _ => pixel_format::inspect(bytes, format, report),
        }
        let found = match probe(bytes, &self.options) {
            Ok(found) => found,
            Err(error) => return report.refuse_with(&error, bytes),
        };
        report.width = Some(found.width.into());
        report.height = Some(found.height.into());
        report.orientation = Some(found.orientation());
        // Ignoring the orientation saves memory, and turning pixels cannot fail.
        let mut options = self.options;
        options.exif = Orientation::Ignore;
        if let Err(error) = self.decode_whole(bytes, &found, &options, &mut worker.scratch) {
            report.refuse_with(&error, bytes);
            if pixels(&found) > LARGE_PIXELS {
                return;
            }
            options.truncated = Truncated::Fill;
            let filled = self.decode_whole(bytes, &found, &options, &mut worker.scratch);
            report.fill_keeps = Some(filled.is_ok());
            report.fill_error = filled.err().map(|error| error_text::describe(&error));
        }
    }

    /// Decodes every pixel.
    fn decode_whole(
        &self,
        bytes: &[u8],
        found: &Probe,
        options: &DecodeOptions,
        scratch: &mut Scratch,
    ) -> Result<(), Error> {
        let as_stored = probe(bytes, options)?;
        let region = Rect { left: 0, top: 0, width: as_stored.width, height: as_stored.height };
        if pixels(found) <= LARGE_PIXELS {
            return decode(bytes, &as_stored, region, options, scratch).map(drop);
        }
        let _turn = self.large.lock().unwrap_or_else(PoisonError::into_inner);
        decode(bytes, &as_stored, region, options, &mut Scratch::default()).map(drop)
    }

    /// Reads a sample of a data set if its first bytes are those of an image. Otherwise the report gets a verdict. Pixels
    /// are described and need no decoding.
    fn read_sample(
        &self,
        data: &dyn Dataset,
        index: usize,
        bytes: &mut Vec<u8>,
        report: &mut FileReport,
    ) -> gpufeed::Result<Option<ImageFormat>> {
        let mut buffer = std::mem::take(bytes);
        let sample = data.read(index, &mut buffer)?;
        report.class = match &sample.label {
            Label::Class(class) => {
                Some(data.classes().get(*class as usize).cloned().unwrap_or_else(|| class.to_string()))
            }
            _ => None,
        };
        // A loader would replace the sample.
        let mut values = data.fields().iter().zip(&sample.fields);
        if let Some((field, _)) =
            values.find(|(field, value)| field.is_required() && matches!(value, FieldValue::Absent))
        {
            report.refuse(Verdict::Unreadable, format!("the sample has no {:?}", field.name()));
            return Ok(None);
        }
        for (field, value) in data.fields().iter().zip(&sample.fields) {
            match value {
                FieldValue::Objects(objects) => report.read.objects = Some(objects.clone().into_owned()),
                // An image that is broken has no size.
                FieldValue::Image(image) => {
                    let size = self.size_of(image);
                    report.read.images.extend(size.map(|size| (field.name().to_owned(), size)));
                }
                _ => {}
            }
        }
        match sample.data {
            SampleData::Encoded(file) => {
                report.bytes = file.len() as u64;
                // The data set may have returned memory other than the buffer.
                *bytes = file.to_vec();
            }
            SampleData::Pixels(pixels) => {
                report.bytes = pixels.bytes().len() as u64;
                (report.width, report.height) = (Some(pixels.width().into()), Some(pixels.height().into()));
                report.pixels = Some(format!("{:?}", pixels.format()).to_lowercase());
                report.xxh3 = Some(format!("{:032x}", xxh3_128(pixels.bytes())));
                return Ok(None);
            }
        }
        let recognised = ImageFormat::recognise(bytes);
        match recognised {
            None if bytes.is_empty() => report.refuse(Verdict::Empty, "0 bytes"),
            None => report.refuse(identify(bytes).0, identify(bytes).1),
            Some(_) => {}
        }
        Ok(recognised)
    }

    /// The (width, height) of an image as it is shown.
    fn size_of(&self, image: &SampleData<'_>) -> Option<(u32, u32)> {
        match image {
            SampleData::Encoded(file) => probe(file, &self.options).ok().map(|found| (found.width, found.height)),
            SampleData::Pixels(pixels) => Some((pixels.width(), pixels.height())),
        }
    }
}

/// Inspects every entry on the threads of the current pool. Reports are in the order of the listing.
///
/// # Errors
/// If the store or web server of a data set fails.
pub(super) fn inspect_all(listing: &Listing, max_pixels: u64) -> Result<Vec<FileReport>, String> {
    let inspector = Inspector::new(max_pixels, listing.data.clone());
    let what = if listing.data.is_some() { "samples" } else { "files" };
    let bar = progress(listing.entries.len(), what);
    let in_order = listing.data.as_deref().map(|data| InOrder::new(data, 0..data.len()));
    let announce = |entry: &Entry| {
        if let (Some(in_order), Some(sample)) = (&in_order, entry.sample) {
            in_order.before(sample);
        }
    };
    // A bridge gives the threads entries in their order, for which a remote data set reads ahead.
    let mut reports: Vec<(usize, FileReport)> = listing
        .entries
        .iter()
        .enumerate()
        .inspect(|(_, entry)| announce(entry))
        .par_bridge()
        .map_init(Worker::default, |worker, (number, entry)| (number, inspector.inspect(entry, worker)))
        .inspect(|_| bar.inc(1))
        .collect();
    reports.sort_unstable_by_key(|(number, _)| *number);
    bar.finish_and_clear();
    match inspector.unreachable.into_inner() {
        Some(reason) => Err(reason),
        None => Ok(reports.into_iter().map(|(_, report)| report).collect()),
    }
}

/// The verdict on a sample that cannot be read, and the reason. Annotations name images by numbers of their own, which are the ids
/// of samples.
fn unread(data: &dyn Dataset, index: usize, error: &Error) -> (Verdict, String) {
    let is_missing =
        matches!(error.kind(), ErrorKind::Io { source, .. } if source.kind() == std::io::ErrorKind::NotFound);
    let verdict = if is_missing { Verdict::Missing } else { Verdict::Unreadable };
    let (id, reason) = (data.id(index), error_text::describe(error));
    (verdict, if id == index as u64 { reason } else { format!("{reason} (id {id})") })
}

fn pixels(found: &Probe) -> u64 {
    u64::from(found.width) * u64::from(found.height)
}
