//! The samples and their draws: a loader makes them, so they are the pixels that training gets.

use super::{Cursor, fit, picture};
use crate::source::Source;
use crate::words;
use gpufeed::decode::{self, DecodeOptions};
use gpufeed::transforms::{Erased, Op, Params, Resize};
use gpufeed::{
    Backend, DType, DataLoader, Dataset as _, ErrorKind, Label, Layout, OnError, Plan, Recipe, Result, SampleData,
};
use image::RgbImage;
use std::ops::Range;
use std::sync::Arc;

/// The longest side of an original on the sheet.
const ORIGINAL: u32 = 320;

/// One sample.
pub(super) struct Row {
    pub(super) id: u64,
    /// The file, from the folder on, or what else the data set calls it.
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
    pub(super) params: Params,
    /// As the loader gives it; empty unless they are kept.
    pub(super) bytes: Vec<u8>,
    /// (width, height) of the same.
    pub(super) size: (u32, u32),
    /// The view as the sheet shows it.
    pub(super) picture: RgbImage,
}

/// Where rows come from.
pub(super) struct Rows {
    source: Arc<Source>,
    cursor: Arc<Cursor>,
    loader: DataLoader,
    keep_bytes: bool,
}

impl Rows {
    pub(super) fn new(source: Arc<Source>, recipe: &Recipe, seed: u64, backend: &Backend) -> Result<Rows> {
        let cursor = Arc::new(Cursor::new(Arc::clone(&source.data)));
        let loader = DataLoader::builder(Arc::clone(&cursor))
            .recipe(recipe)
            .seed(seed)
            .workers(1)
            .queue_depth(1)
            .on_error(OnError::Fail)
            .build(backend)?;
        Ok(Rows { source, cursor, loader, keep_bytes: false })
    }

    /// Keeps the bytes of draws beside their pictures, if `keep_bytes`.
    pub(super) fn keep_bytes(self, keep_bytes: bool) -> Self {
        Rows { keep_bytes, ..self }
    }

    /// One sample in each of `epochs`. A sample that fails is a row too, and says why; other errors end everything.
    pub(super) fn row(&self, index: usize, epochs: Range<u64>) -> Result<Row> {
        self.cursor.go_to(index);
        let data = &self.source.data;
        let mut row = Row {
            id: data.id(index),
            name: self.source.own_name(index).unwrap_or_else(|| data.name(index)),
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
                ErrorKind::Sample { source, .. } => words::said(&source),
                kind @ (ErrorKind::Device { .. } | ErrorKind::OutOfMemory { .. }) => return Err(kind.into()),
                kind => words::said(&kind.into()),
            });
        }
        Ok(row)
    }

    fn original(&self, index: usize, row: &mut Row) -> Result<()> {
        let mut file = Vec::new();
        let sample = self.source.data.read(index, &mut file)?;
        if let Label::Class(class) = sample.label {
            let named = self.source.data.classes().get(class as usize).cloned();
            row.class = Some(named.unwrap_or_else(|| class.to_string()));
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
            row.original = picture::pictures(&batch?)?.next();
        }
        Ok(())
    }

    fn draw(&self, epochs: Range<u64>, row: &mut Row) -> Result<()> {
        for batch in self.loader.epochs(epochs)? {
            let batch = batch?;
            let bytes = if self.keep_bytes { batch.to_host()? } else { Vec::new() };
            let mut images = bytes.chunks_exact((bytes.len() / batch.len()).max(1));
            for (view, (picture, params)) in picture::pictures(&batch)?.zip(batch.params()).enumerate() {
                let params = params.clone();
                let bytes = images.next().map_or_else(Vec::new, <[u8]>::to_vec);
                let (size, picture) = (picture.dimensions(), fit::reduced(picture));
                row.draws.push(Draw { epoch: batch.epoch(), view, params, bytes, size, picture });
            }
        }
        Ok(())
    }
}

/// Refuses pictures that do not fit into memory, before anything is allocated. `pictures` of them are drawn, a batch of one
/// sample at a time; with `keep_bytes` they are kept as they come.
pub(super) fn check_memory(
    source: &Source,
    recipe: &Recipe,
    pictures: u64,
    keep_bytes: bool,
) -> std::result::Result<(), String> {
    let output = recipe.output.unwrap_or_default();
    let plan = match Plan::compile_for(source.data.channels(), &recipe.transforms, &output) {
        Ok(plan) => plan,
        // The loader says it.
        Err(_) => return Ok(()),
    };
    let (width, height) = plan.output_size().unwrap_or_default();
    let area = u64::from(width) * u64::from(height);
    let values = area * u64::from(plan.channels());
    let image = values * output.dtype.bytes() as u64;
    let views = recipe.views as u64;
    // One batch is filled, one ready and one with the caller, who has it as bytes and as floats, too; the worker has an
    // intermediate of four floats a pixel.
    let batch = views * (4 * image + 4 * values) + 16 * area + 3 * area;
    let kept = if keep_bytes { pictures * image } else { 0 };
    let needed = batch + kept + pictures * fit::A_PICTURE;
    let what = format!("{pictures} pictures of {width}x{height} take");
    crate::room::check(&what, needed, 4, "`size` in the recipe, --samples or --draws")
}

/// A few words for what an op did; `None` for what the sheet's head says once.
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
        Op::AdjustGamma { gamma, gain: 1.0 } => format!("gamma {gamma:.2}"),
        Op::AdjustGamma { gamma, gain } => format!("gamma {gamma:.2}, gain {gain:.2}"),
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
