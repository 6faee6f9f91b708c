//! Looks at one file: recognises it by its bytes and decodes all of it.

use std::io::Read;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use gpufeed::dataset::MAX_FILE_BYTES;
use gpufeed::decode::{DecodeOptions, ImageFormat, Orientation, Probe, Rect, Scratch, Truncated, decode, probe};
use gpufeed::{Dataset, Error, Label, SampleData};
use xxhash_rust::xxh3::xxh3_128;

use super::content::{content, samples};
use super::entry::Entry;
use super::jpeg;
use super::kind::{Kind, Verdict};
use super::report::Report;
use crate::file_identity::identity;

/// Images with more pixels than this are decoded one at a time, so that memory does not grow with the threads.
const LARGE_PIXELS: u64 = 1 << 24;

/// One thread's memory.
#[derive(Default)]
pub(super) struct Worker {
    bytes: Vec<u8>,
    scratch: Scratch,
}

/// Settings, and the turn of those that decode a large image.
pub(super) struct Inspector {
    options: DecodeOptions,
    large: Mutex<()>,
    /// The data set of the entries that are not files of a folder.
    data: Option<Arc<dyn Dataset>>,
}

impl Inspector {
    pub(super) fn new(max_pixels: u64, data: Option<Arc<dyn Dataset>>) -> Inspector {
        let mut options = DecodeOptions::default();
        options.max_pixels = max_pixels;
        // Whoever raises the one means to have such images decoded.
        options.max_decode_bytes = options.max_decode_bytes.max(max_pixels.saturating_mul(12));
        Inspector { options, large: Mutex::new(()), data }
    }

    /// Looks at a file. A panic, which none is known to cause, is the file's finding.
    pub(super) fn inspect(&self, entry: &Entry, worker: &mut Worker) -> Report {
        let mut report = Report::of(entry);
        let work = || self.look(entry, worker, &mut report);
        if let Err(panic) = catch_unwind(AssertUnwindSafe(work)) {
            let text =
                panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
            report.refuse(Verdict::Panicked, text.unwrap_or("no message"));
            *worker = Worker::default();
        }
        report.judge(entry);
        report
    }

    fn look(&self, entry: &Entry, worker: &mut Worker, report: &mut Report) {
        if let Some(error) = &entry.error {
            return report.refuse(Verdict::Unreadable, error.as_str());
        }
        let read = match (&self.data, entry.sample) {
            (Some(data), Some(index)) => sample(&**data, index, &mut worker.bytes, report),
            _ => self.read(&entry.path, &mut worker.bytes, report).map_err(|error| error.to_string()),
        };
        match read {
            Ok(Some(format)) => {
                report.format = Some(format.name());
                report.xxh3 = Some(format!("{:032x}", xxh3_128(&worker.bytes)));
                self.image(format, worker, report);
            }
            Ok(None) => {}
            Err(reason) => report.refuse(Verdict::Unreadable, reason),
        }
    }

    /// Reads the whole file if it is an image by its first bytes; otherwise the report says what it is.
    fn read(&self, path: &Path, bytes: &mut Vec<u8>, report: &mut Report) -> std::io::Result<Option<ImageFormat>> {
        // A pipe or a device is an error of this.
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
            report.refuse(content(bytes).0, content(bytes).1);
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

    fn image(&self, format: ImageFormat, worker: &mut Worker, report: &mut Report) {
        let bytes = &worker.bytes;
        match format {
            ImageFormat::Jpeg => report.jpeg = jpeg::frame(bytes),
            _ => samples(bytes, format, report),
        }
        let found = match probe(bytes, &self.options) {
            Ok(found) => found,
            Err(error) => return report.refuse_by(&error, bytes),
        };
        report.width = Some(found.width.into());
        report.height = Some(found.height.into());
        report.orientation = Some(found.orientation());
        // Turning the pixels cannot fail; leaving them saves memory.
        let mut options = self.options;
        options.exif = Orientation::Ignore;
        let stopped = report.jpeg.as_ref().and_then(|frame| jpeg::with_stop(frame, bytes));
        if let Some(stopped) = &stopped
            && self.whole(stopped, &found, &options, &mut worker.scratch).is_ok()
        {
            return;
        }
        let decoded = self.whole(bytes, &found, &options, &mut worker.scratch);
        if decoded.is_ok() && stopped.is_some() {
            report.findings.push(Kind::GrayRest);
        }
        if let Err(error) = decoded {
            report.refuse_by(&error, bytes);
            if pixels(&found) > LARGE_PIXELS {
                return;
            }
            options.truncated = Truncated::Fill;
            let filled = self.whole(bytes, &found, &options, &mut worker.scratch);
            report.fill_keeps = Some(filled.is_ok());
            report.fill_error = filled.err().map(|error| error.to_string());
        }
    }

    /// Decodes every pixel.
    fn whole(&self, bytes: &[u8], found: &Probe, options: &DecodeOptions, scratch: &mut Scratch) -> Result<(), Error> {
        let as_stored = probe(bytes, options)?;
        let region = Rect { left: 0, top: 0, width: as_stored.width, height: as_stored.height };
        if pixels(found) <= LARGE_PIXELS {
            return decode(bytes, &as_stored, region, options, scratch).map(drop);
        }
        let _turn = self.large.lock().unwrap_or_else(PoisonError::into_inner);
        decode(bytes, &as_stored, region, options, &mut Scratch::default()).map(drop)
    }
}

/// Reads a sample of a data set if it is an image by its first bytes; otherwise the report says what it is. Pixels are what
/// they are.
fn sample(
    data: &dyn Dataset,
    index: usize,
    bytes: &mut Vec<u8>,
    report: &mut Report,
) -> Result<Option<ImageFormat>, String> {
    let mut buffer = std::mem::take(bytes);
    let sample = data.read(index, &mut buffer).map_err(|error| error.to_string())?;
    report.class = match &sample.label {
        Label::Class(class) => Some(data.classes().get(*class as usize).cloned().unwrap_or_else(|| class.to_string())),
        _ => None,
    };
    match sample.data {
        SampleData::Encoded(file) => {
            report.bytes = file.len() as u64;
            // The data set may have it somewhere else than in the buffer.
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
        None => report.refuse(content(bytes).0, content(bytes).1),
        Some(_) => {}
    }
    Ok(recognised)
}

fn pixels(found: &Probe) -> u64 {
    u64::from(found.width) * u64::from(found.height)
}
