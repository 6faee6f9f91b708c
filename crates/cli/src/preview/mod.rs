//! `gpufeed preview`: a contact sheet of originals and of the images that a recipe makes of them.
//!
//! `mod.rs` has the options and the order of the work. `draws.rs` draws samples through a loader of one sample
//! (`single_sample.rs`), `picture.rs` turns batches into pictures, `picture_size.rs` scales them, `objects.rs`
//! draws boxes and keypoints on them, and `fields.rs` has the samples' fields as text. `sheet.rs` lays out the sheet with
//! `text.rs` and `output_sizes.rs`. The parameters come from the library; nothing here draws random numbers.

mod draws;
mod fields;
mod objects;
mod output_sizes;
mod picture;
mod picture_size;
mod sheet;
mod single_sample;
mod text;

use crate::backend::BackendChoice;
use crate::dataset::{self, FieldArguments};
use crate::output::{self, Output};
use crate::{DONE, Outcome};
use clap::builder::{ArgPredicate, RangedU64ValueParser};
use draws::{Drawn, Rows};
use gpufeed::internals::Shown;
use gpufeed::{Dataset, Execute, LoaderSettings};
use image::ImageFormat;
use std::error::Error;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Writes a contact sheet: each original beside what a recipe makes of it.
///
/// Each draw is what a loader with this seed gives in another epoch, from --epoch on. Under it stand the parameters
/// that were drawn. Normalize is undone, so that there is something to see; nothing else is. A transform of batches (MixUp, CutMix) is
/// left out. Of a recipe with groups each line has the views of all of them in one epoch. Under each original stand the
/// fields of --fields. Boxes and visible keypoints of a field of objects are drawn on the originals and, as they have moved,
/// on the draws, in a colour for each label. In a picture of 16-bit gray its own least value is black and its greatest white, as stands under it.
#[derive(clap::Args)]
pub(crate) struct PreviewArguments {
    /// A data set in any format, or the address of one in a store or on a web server; of one that comes in two parts, that to train on
    data: PathBuf,
    #[command(flatten)]
    fields: FieldArguments,
    /// A recipe by its name, or a TOML file
    #[arg(long, value_name = "NAME|FILE.toml", default_value = "imagenet-train")]
    recipe: String,
    /// The sheet, a PNG or a JPEG by its name; `-` is standard output, as PNG [default: sheet.png, and none with --json]
    #[arg(long, value_name = "FILE.png")]
    out: Option<PathBuf>,
    /// Shows the sheet when it is written
    #[arg(long, conflicts_with = "json")]
    open: bool,
    /// Draws of each sample, each in another epoch, 1 to 64 [default: 4; 1 with --sample and --epoch]
    #[arg(long, value_name = "N", value_parser = RangedU64ValueParser::<u64>::new().range(1..=64))]
    draws: Option<u64>,
    /// Draws beside each other; the others of a sample are below them [default: all, or those of an epoch where the recipe
    /// has groups]
    #[arg(long, value_name = "N", value_parser = RangedU64ValueParser::<usize>::new().range(1..=64))]
    columns: Option<usize>,
    /// Samples, spread evenly over the data set
    #[arg(long, value_name = "N", default_value = "6", value_parser = RangedU64ValueParser::<usize>::new().range(1..=256))]
    samples: usize,
    /// This sample alone, by the id that `Batch::ids` and errors name
    #[arg(long, value_name = "ID", conflicts_with = "samples")]
    sample: Option<u64>,
    /// The first draw's epoch [default: 0]
    #[arg(long, value_name = "N")]
    epoch: Option<u64>,
    /// The loader's seed
    #[arg(long, value_name = "S", default_value = "0")]
    seed: u64,
    /// A TOML or JSON file of a loader's settings: its seed, its output, how it decodes
    #[arg(long, value_name = "FILE", conflicts_with_all = ["seed", "shaders"])]
    settings: Option<PathBuf>,
    /// Who augments; `auto` with --shaders
    #[arg(long, value_enum, default_value = "cpu", default_value_if("shaders", ArgPredicate::IsPresent, "auto"))]
    backend: BackendChoice,
    /// The adapter with this number, UUID or PCI address, or the first with this in its name (`gpufeed doctor` lists
    /// them); instead of --backend
    #[arg(long, value_name = "N|NAME", conflicts_with = "backend")]
    adapter: Option<String>,
    /// Runs the shaders even on a software adapter, where the CPU executor is faster
    #[arg(long)]
    shaders: bool,
    /// Draws no boxes and keypoints
    #[arg(long)]
    no_objects: bool,
    /// Prints the drawn parameters as JSON
    #[arg(long)]
    json: bool,
    /// Also writes the bytes of the draws of --sample, as the loader gives them: layout and type of the recipe; `-` is
    /// standard output
    #[arg(long, value_name = "FILE", requires = "sample")]
    raw: Option<PathBuf>,
}

/// The most pictures of a sheet. Nobody looks at thousands, and they take gigabytes.
const MOST_PICTURES: u64 = 2048;

pub(crate) fn run(arguments: &PreviewArguments) -> Outcome {
    if arguments.shaders && arguments.adapter.is_none() && arguments.backend == BackendChoice::Cpu {
        return Err(crate::conflict("--shaders cannot be used with --backend cpu").into());
    }
    let out = match &arguments.out {
        Some(out) => Some(out.as_path()),
        None => (!arguments.json).then_some(Path::new("sheet.png")),
    };
    let json = arguments.json.then_some(Path::new("-"));
    let [json, picture, raw] = output::open([("--json", json), ("--out", out), ("--raw", arguments.raw.as_deref())])?;
    let format = picture.as_ref().zip(out).map_or(Ok(ImageFormat::Png), |(picture, path)| format_of(picture, path))?;
    let mut recipe = crate::recipe(&arguments.recipe)?;
    let mut settings = LoaderSettings::default();
    settings.seed = arguments.seed;
    settings.execute = if arguments.shaders { Execute::Gpu } else { Execute::Auto };
    if let Some(file) = &arguments.settings {
        settings = settings.updated(file)?;
    }
    crate::settings::move_into(&mut recipe, &mut settings);
    let seed = settings.seed;
    let source = dataset::open_with(&arguments.data, &arguments.fields)?;
    let data = &*source.data;
    let indices = match arguments.sample {
        Some(id) => vec![index_of(data, id)?],
        None => spread(data.len(), arguments.samples),
    };
    let epoch = arguments.epoch.unwrap_or(0);
    // A given sample and epoch ask for the replay of one image.
    let replay = arguments.sample.is_some() && arguments.epoch.is_some();
    let draws = arguments.draws.unwrap_or(if replay { 1 } else { 4 });
    let images = draws::outputs(&source, &recipe);
    let pictures = indices.len() as u64 * draws * images;
    if pictures > MOST_PICTURES {
        return Err(format!("{pictures} pictures; a sheet holds {MOST_PICTURES}: lower --samples or --draws").into());
    }
    draws::check_memory(&source, &recipe, indices.len() as u64 * draws, arguments.raw.is_some())?;
    let epochs =
        epoch..epoch.checked_add(draws).ok_or_else(|| format!("--epoch: {epoch}; up to {} works", u64::MAX - draws))?;
    let backend = arguments.backend.open(arguments.adapter.as_deref(), arguments.shaders)?.backend;
    let rows = Rows::new(Arc::new(source), &recipe, settings, &backend)?;
    let rows = rows.keep_bytes(arguments.raw.is_some()).draw_objects(!arguments.no_objects);
    let executor = rows.executor();
    let rows: Vec<Drawn> = indices.iter().map(|index| rows.row(*index, epochs.clone())).collect::<Result<_, _>>()?;
    let failed = rows.iter().filter_map(|row| row.error.as_ref().map(|error| format!("{}: {error}", row.name)));
    let failed: Vec<String> = failed.collect();
    if let (true, Some(error)) = (failed.len() == rows.len(), failed.first()) {
        return Err(format!("no sample can be shown; {error}").into());
    }
    if let Some(raw) = &raw {
        let mut draws = rows.iter().flat_map(|row| &row.draws);
        raw.write(|file| draws.try_for_each(|draw| file.write_all(&draw.bytes)))?;
    }
    let conditions =
        sheet::Conditions { seed, backend: backend.to_string(), executor, draw_objects: !arguments.no_objects };
    let columns = arguments.columns.or((!recipe.groups.is_empty()).then_some(images as usize));
    let sheet = sheet::Sheet::new(&arguments.recipe, &recipe, conditions, &rows, columns);
    if let Some(picture) = &picture {
        let mut file = io::Cursor::new(Vec::new());
        sheet.image.write_to(&mut file, format).map_err(|error| format!("--out: {error}"))?;
        picture.write_all(file.into_inner())?;
    }
    if let Some(json) = &json {
        let value = sheet.json(out, &recipe, &rows)?;
        json.write(|file| writeln!(file, "{value:#}"))?;
    }
    if let Some(picture) = &picture
        && ![json.as_ref(), Some(picture), raw.as_ref()].into_iter().flatten().any(Output::is_standard)
    {
        let (width, height) = sheet.image.dimensions();
        let pictures: usize = rows.iter().map(|row| row.draws.len()).sum();
        say!("{}: {} samples, {pictures} draws, {width}x{height} pixels", picture.name(), rows.len());
    }
    if let (true, Some(picture)) = (arguments.open, &picture) {
        crate::show::open(picture);
    }
    for error in failed {
        output::complain(console::style("warning:").yellow(), Shown(error));
    }
    Ok(DONE)
}

/// The format of the sheet: a file's name decides, because programs trust it. Devices and pipes get a PNG.
fn format_of(picture: &Output, path: &Path) -> Result<ImageFormat, String> {
    if picture.file().is_none() {
        return Ok(ImageFormat::Png);
    }
    match ImageFormat::from_path(path) {
        Ok(format @ (ImageFormat::Png | ImageFormat::Jpeg)) => Ok(format),
        _ => {
            Err(format!("--out: {}: the sheet is a PNG or a JPEG, so its name ends with .png or .jpg", picture.name()))
        }
    }
}

/// Finds the index of the sample with this id.
fn index_of(data: &dyn Dataset, id: u64) -> Result<usize, Box<dyn Error>> {
    let found = (0..data.len()).find(|index| data.id(*index) == id);
    found.ok_or_else(|| format!("--sample: {id}; the data set's samples are 0 to {}", data.len() - 1).into())
}

/// Returns `samples` indexes below `len` at equal distances, so that a sorted folder shows many classes.
fn spread(len: usize, samples: usize) -> Vec<usize> {
    let samples = samples.min(len);
    (0..samples).map(|i| i * len / samples).collect()
}
