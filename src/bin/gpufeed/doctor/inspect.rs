//! One file: what it is by its bytes, whether it decodes whole, and what is odd about it.

use std::io::Read;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use gpufeed::dataset::MAX_FILE_BYTES;
use gpufeed::decode::{
    DecodeOptions, ImageFormat, Orientation, Probe, Rect, Scratch, Truncated, decode, jpeg_has_end, probe,
};
use gpufeed::{Dataset, Error, ErrorKind, Label, SampleData};
use serde::Serialize;
use xxhash_rust::xxh3::xxh3_128;

use super::content::{claimed, content, samples};
use super::jpeg::{self, Coding};
use super::kind::{Kind, Verdict};
use super::scan::Entry;
use crate::identity::{Identity, identity};

/// Images with more pixels than this are decoded one at a time, so that memory does not grow with the threads.
const LARGE_PIXELS: u64 = 1 << 24;

/// What was found out about a file.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    /// Below the folder, with `/` between its parts; bytes that are no UTF-8 are replaced.
    pub(super) path: String,
    /// The class under which `ImageFolder` takes it; `None` for what it passes over.
    pub(super) class: Option<String>,
    pub(super) bytes: u64,
    pub(super) verdict: Verdict,
    /// The decoder's or the system's reason, where it is not [`Verdict::Ok`].
    pub(super) reason: Option<String>,
    /// By content.
    pub(super) format: Option<&'static str>,
    /// Columns and rows as EXIF turns the image; declared, where it cannot be decoded.
    pub(super) width: Option<u64>,
    pub(super) height: Option<u64>,
    /// EXIF's, 1 to 8.
    pub(super) orientation: Option<u8>,
    /// Samples as stored, like `rgb8` or `l16`; for a JPEG see `jpeg`.
    pub(super) pixels: Option<String>,
    pub(super) jpeg: Option<jpeg::Frame>,
    /// Whether `Truncated::Fill` makes an image of what cannot be decoded whole; not tried above 16 million pixels, where a
    /// forged header would cost seconds and a gigabyte.
    pub(super) fill_keeps: Option<bool>,
    /// Why it does not.
    pub(super) fill_error: Option<String>,
    /// Problems.
    pub(super) findings: Vec<Kind>,
    /// What is good to know, and no problem.
    pub(super) notes: Vec<Kind>,
    /// xxh3-128 of the bytes, in hexadecimal digits; `None` for what is no image.
    pub(super) xxh3: Option<String>,
    /// Which file it is on this machine, whatever the path to it.
    #[serde(skip)]
    pub(super) identity: Identity,
}

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
        let (mut file, metadata) = gpufeed::command::regular_file::open(path)?;
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

impl Report {
    fn of(entry: &Entry) -> Report {
        Report {
            path: entry.name.clone(),
            class: entry.class.clone(),
            bytes: 0,
            verdict: Verdict::Ok,
            reason: None,
            format: None,
            width: None,
            height: None,
            orientation: None,
            pixels: None,
            jpeg: None,
            fill_keeps: None,
            fill_error: None,
            findings: Vec::new(),
            notes: Vec::new(),
            xxh3: None,
            identity: None,
        }
    }

    fn refuse(&mut self, verdict: Verdict, reason: impl Into<String>) {
        self.verdict = verdict;
        self.reason = Some(reason.into());
    }

    /// The verdict for an error of the decoder's.
    fn refuse_by(&mut self, error: &Error, bytes: &[u8]) {
        let unsupported = self.jpeg.as_ref().and_then(jpeg::Frame::unsupported);
        let (verdict, reason) = match error.kind() {
            ErrorKind::TooManyPixels { width, height, max_pixels } => {
                (self.width, self.height) = (Some(*width), Some(*height));
                (Verdict::TooLarge, format!("declares {width}x{height} pixels, more than max_pixels = {max_pixels}"))
            }
            ErrorKind::TooMuchMemory { width, height, .. } => {
                (self.width, self.height) = (Some((*width).into()), Some((*height).into()));
                (Verdict::TooLarge, error.to_string())
            }
            ErrorKind::NoMemory { .. } => (Verdict::TooLarge, error.to_string()),
            ErrorKind::Decode { .. } | ErrorKind::TruncatedImage { .. } if unsupported.is_some() => {
                (Verdict::Unsupported, unsupported.unwrap_or_default())
            }
            // With its end there, the data before it are damaged, not cut.
            ErrorKind::TruncatedImage { reason, .. } if self.jpeg.is_some() && jpeg_has_end(bytes) => {
                (Verdict::Corrupt, reason.clone())
            }
            ErrorKind::TruncatedImage { reason, .. } => (Verdict::Truncated, reason.clone()),
            ErrorKind::Decode { reason, .. } if reason.starts_with("the decoder panicked") => {
                (Verdict::Panicked, reason.clone())
            }
            // What the `image` crate says of features that it lacks.
            ErrorKind::Decode { reason, .. }
                if ["does not support", "not supported"].iter().any(|text| reason.contains(text)) =>
            {
                (Verdict::Unsupported, reason.clone())
            }
            ErrorKind::Decode { reason, .. } => (Verdict::Corrupt, reason.clone()),
            _ => (Verdict::Corrupt, error.to_string()),
        };
        self.refuse(verdict, reason);
    }

    /// Findings and notes, once all is known.
    fn judge(&mut self, entry: &Entry) {
        let claimed = claimed(&entry.path);
        // "BM" and "P5" are how texts begin, too.
        let weak = self.format.is_some_and(|format| ["BMP", "PNM"].contains(&format)) && self.width.is_none();
        if claimed.is_none() && weak {
            (self.format, self.xxh3) = (None, None);
            self.refuse(Verdict::NoImage, "begins like an image and has no header of one");
        }
        let image = self.format.is_some();
        let concerns = self.class.is_some() || claimed.is_some() || image || entry.sample.is_some();
        match self.verdict.kind() {
            Some(kind) if concerns || kind == Kind::Unsupported => self.findings.push(kind),
            _ => {}
        }
        if let (Some(claimed), Some(format)) = (claimed, self.format)
            && claimed != format
        {
            self.findings.push(Kind::WrongExtension);
        }
        if image && self.class.is_none() && entry.sample.is_none() {
            self.findings.push(Kind::PassedOver);
        }
        if self.verdict != Verdict::Ok {
            // What a broken header says is no news.
            self.notes.clear();
            return;
        }
        if self.orientation.is_some_and(|orientation| orientation != 1) {
            self.notes.push(Kind::Turned);
        }
        if let Some(frame) = &self.jpeg {
            let odd = [
                (frame.components == 1, Kind::Gray),
                (frame.components == 4, Kind::Cmyk),
                (frame.coding == Coding::Progressive, Kind::Progressive),
            ];
            self.notes.extend(odd.iter().filter(|(is, _)| *is).map(|(_, kind)| *kind));
        }
    }
}

fn pixels(found: &Probe) -> u64 {
    u64::from(found.width) * u64::from(found.height)
}
