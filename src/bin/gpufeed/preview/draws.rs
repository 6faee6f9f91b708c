//! The samples and their draws: a loader makes them, so they are the pixels that training gets.

use super::{Cursor, picture};
use gpufeed::decode::{self, DecodeOptions};
use gpufeed::transforms::{Drawn, Erased, Op, Resize};
use gpufeed::{
    Backend, DType, DataLoader, Dataset, ErrorKind, ImageFolder, Label, Layout, OnError, Recipe, Result, SampleData,
};
use image::RgbImage;
use std::ops::Range;
use std::sync::Arc;

/// The longest side of an original on the sheet.
const ORIGINAL: u32 = 320;

/// One sample.
pub(super) struct Row {
    pub(super) id: u64,
    /// The file, from the folder on.
    pub(super) name: String,
    pub(super) class: Option<String>,
    /// (width, height) of the file, orientation applied.
    pub(super) size: Option<(u32, u32)>,
    pub(super) original: Option<RgbImage>,
    pub(super) draws: Vec<Draw>,
    /// Why there are no draws.
    pub(super) error: Option<String>,
}

/// One image of a batch.
pub(super) struct Draw {
    pub(super) epoch: u64,
    pub(super) view: usize,
    pub(super) drawn: Drawn,
    /// As the loader gives it; empty unless they are kept.
    pub(super) bytes: Vec<u8>,
    /// The same to look at.
    pub(super) picture: RgbImage,
}

/// Where rows come from.
pub(super) struct Rows {
    folder: Arc<ImageFolder>,
    cursor: Arc<Cursor>,
    loader: DataLoader,
    keep_bytes: bool,
}

impl Rows {
    pub(super) fn new(folder: Arc<ImageFolder>, recipe: &Recipe, seed: u64, backend: &Backend) -> Result<Rows> {
        let cursor = Arc::new(Cursor::new(Arc::clone(&folder)));
        let loader = DataLoader::builder(Arc::clone(&cursor))
            .recipe(recipe)
            .seed(seed)
            .workers(1)
            .queue_depth(1)
            .on_error(OnError::Fail)
            .build(backend)?;
        Ok(Rows { folder, cursor, loader, keep_bytes: false })
    }

    /// Whether draws have their bytes beside their pictures.
    pub(super) fn keep_bytes(self, keep_bytes: bool) -> Self {
        Rows { keep_bytes, ..self }
    }

    /// One sample in each of `epochs`. A sample that fails is a row too, and says why; other errors end everything.
    pub(super) fn row(&self, index: usize, epochs: Range<u64>) -> Result<Row> {
        self.cursor.go_to(index);
        let path = self.folder.path(index);
        let name = path.map(|path| path.strip_prefix(self.folder.root()).unwrap_or(path).display().to_string());
        let mut row = Row {
            id: self.folder.id(index),
            name: name.unwrap_or_else(|| self.folder.name(index)),
            class: None,
            size: None,
            original: None,
            draws: Vec::new(),
            error: None,
        };
        let done = self.original(index, &mut row).and_then(|()| self.draw(epochs, &mut row));
        if let Err(error) = done {
            row.error = Some(match error.into_kind() {
                // The row names the sample.
                ErrorKind::Sample { source, .. } => source.to_string(),
                kind @ (ErrorKind::Device { .. } | ErrorKind::OutOfMemory { .. }) => return Err(kind.into()),
                kind => kind.to_string(),
            });
        }
        Ok(row)
    }

    fn original(&self, index: usize, row: &mut Row) -> Result<()> {
        let mut file = Vec::new();
        let sample = self.folder.read(index, &mut file)?;
        if let Label::Class(class) = sample.label {
            row.class = self.folder.classes().get(class as usize).cloned();
        }
        let (width, height) = match sample.data {
            SampleData::Encoded(bytes) => {
                let probe = decode::probe(bytes, &DecodeOptions::default())?;
                (probe.width, probe.height)
            }
            SampleData::Pixels(pixels) => (pixels.width(), pixels.height()),
        };
        row.size = Some((width, height));
        let fit = f64::from(ORIGINAL) / f64::from(width.max(height));
        let scaled = |side: u32| if fit < 1.0 { ((f64::from(side) * fit).round() as u32).max(1) } else { side };
        let shown = DataLoader::builder(Arc::clone(&self.cursor))
            .transform(Resize::new((scaled(height), scaled(width))))
            .output(Layout::Nhwc, DType::U8)
            .workers(1)
            .on_error(OnError::Fail)
            .build(&Backend::Cpu)?;
        for batch in shown.epoch(0)? {
            row.original = picture::pictures(&batch?)?.pop();
        }
        Ok(())
    }

    fn draw(&self, epochs: Range<u64>, row: &mut Row) -> Result<()> {
        for batch in self.loader.epochs(epochs)? {
            let batch = batch?;
            let bytes = batch.to_host()?;
            let images = bytes.chunks_exact(bytes.len() / batch.len()).zip(picture::pictures(&batch)?);
            for (view, ((bytes, picture), drawn)) in images.zip(batch.drawn()).enumerate() {
                let drawn = drawn.clone();
                let bytes = if self.keep_bytes { bytes.to_vec() } else { Vec::new() };
                row.draws.push(Draw { epoch: batch.epoch(), view, drawn, bytes, picture });
            }
        }
        Ok(())
    }
}

/// What an op did, in a few words; `None` for what the sheet's head says once.
pub(super) fn words(op: &Op) -> Option<String> {
    let text = match op {
        Op::Normalize { .. } => return None,
        Op::Crop { top, left, height, width } => format!("crop {width}x{height} at {left},{top}"),
        Op::Pad { left, top, right, bottom, .. } => match [top, right, bottom].iter().all(|side| *side == left) {
            true => format!("pad {left}"),
            false => format!("pad left {left}, top {top}, right {right}, bottom {bottom}"),
        },
        Op::Resize { height, width, .. } => format!("resize {width}x{height}"),
        Op::HorizontalFlip => "flip left-right".to_owned(),
        Op::VerticalFlip => "flip top-bottom".to_owned(),
        Op::Brightness { factor } => format!("brightness {factor:.2}"),
        Op::Contrast { factor } => format!("contrast {factor:.2}"),
        Op::Saturation { factor } => format!("saturation {factor:.2}"),
        Op::Hue { factor } => format!("hue {factor:+.3}"),
        Op::Grayscale { .. } => "gray".to_owned(),
        Op::Invert => "invert".to_owned(),
        Op::Solarize { threshold } => format!("solarize {threshold:.2}"),
        Op::Posterize { bits } => format!("posterize {bits} bits"),
        Op::PermuteChannels { permutation } => {
            let names = permutation.map(|channel| ["R", "G", "B"].get(channel as usize).copied().unwrap_or("?"));
            format!("channels {}", names.concat())
        }
        Op::Erase { top, left, height, width, value } => {
            let noise = if matches!(value, Erased::Noise { .. }) { " (noise)" } else { "" };
            format!("erase {width}x{height} at {left},{top}{noise}")
        }
        // A step of the user's, or one that came after this program.
        other => format!("{other:?}"),
    };
    Some(text)
}
