//! Draws every operator of the library over one image, as a contact sheet with labels.
//!
//! `cargo run --release --example contact_sheet [-- [SHEET.png [PICTURE [ROWS]]]]`: without a picture the example draws one;
//! with a number of rows it writes several sheets, SHEET-1.png and so on.
//! Random operators are shown where they apply, each as its first draw with seed 3. Lists run in 8-bit numbers, as most
//! recipes train (`Semantics::Uint8`).

#![allow(clippy::print_stdout, clippy::print_stderr)]

mod operators;

use gpufeed::transforms::Op;
use gpufeed::{Backend, DType, DataLoader, InMemory, Label, Layout, PixelFormat, Recipe, Semantics};
use image::imageops::{self, FilterType};
use image::{Rgb, RgbImage};
use noto_sans_mono_bitmap::{FontWeight, RasterHeight, get_raster, get_raster_width};
use operators::Shown;
use std::error::Error;
use std::path::{Path, PathBuf};

/// Width and height of the image that operators get, and of a cell's picture.
const PICTURE: (u32, u32) = (176, 132);
/// Pixels between cells.
const GAP: u32 = 10;
/// Pixels of a line of text.
const LINE: u32 = 16;
const COLUMNS: u32 = 5;

fn main() {
    if let Err(error) = run(std::env::args_os().skip(1).map(PathBuf::from)) {
        eprintln!("contact_sheet: {error}");
        std::process::exit(1);
    }
}

fn run(mut arguments: impl Iterator<Item = PathBuf>) -> Result<(), Box<dyn Error>> {
    let sheet = arguments.next().unwrap_or_else(|| "contact_sheet.png".into());
    let pictures = match arguments.next() {
        Some(path) => {
            let picture = image::open(path)?.to_rgb8();
            [imageops::rotate180(&picture), picture]
        }
        None => [drawn(1), drawn(0)],
    };
    let rows = arguments.next().map(|rows| rows.to_string_lossy().parse()).transpose()?;
    let count = draw(&pictures.map(fit), &sheet, rows)?;
    println!("{}: {count} pictures", sheet.display());
    Ok(())
}

/// Scales the middle of a picture to the size of the cells.
fn fit(picture: RgbImage) -> RgbImage {
    let (width, height) = picture.dimensions();
    let scale = f64::min(f64::from(width) / f64::from(PICTURE.0), f64::from(height) / f64::from(PICTURE.1));
    let side = |side: u32| ((f64::from(side) * scale) as u32).max(1);
    let (w, h) = (side(PICTURE.0), side(PICTURE.1));
    let middle = imageops::crop_imm(&picture, (width - w) / 2, (height - h) / 2, w, h).to_image();
    imageops::resize(&middle, PICTURE.0, PICTURE.1, FilterType::Triangle)
}

/// Draws a disc or a square before a checked ground and a bright sky.
fn drawn(number: u32) -> RgbImage {
    let (width, height) = (2 * PICTURE.0, 2 * PICTURE.1);
    RgbImage::from_fn(width, height, |px, py| {
        let (x, y) = (px as f32 / height as f32, py as f32 / height as f32);
        let (dx, dy) = (x - 0.7, y - 0.5);
        let inside = if number == 0 { dx * dx + dy * dy < 0.09 } else { dx.abs().max(dy.abs()) < 0.27 };
        let tiles = ((px / 22) ^ (py / 22)) & 1;
        let color = match (inside, y < 0.55) {
            (true, _) => [0.95 - 0.9 * (dx + 0.3), 0.45 + 0.6 * dy, 0.15 + 0.4 * number as f32],
            (false, true) => [0.25 + 0.9 * y, 0.5 + 0.6 * y, 0.95 - 0.2 * y],
            (false, false) => [0.15 + 0.25 * tiles as f32, 0.45 - 0.2 * x * tiles as f32, 0.2],
        };
        Rgb(color.map(|value| (value.clamp(0.0, 1.0) * 255.0) as u8))
    })
}

/// A picture and the lines under it.
type Cell = (Vec<String>, RgbImage);

/// Makes the cells of all operators. The second picture is the one that operators get; transforms of batches mix it with
/// the first.
fn cells(pictures: &[RgbImage; 2]) -> Result<Vec<Cell>, Box<dyn Error>> {
    let mut cells: Vec<Cell> = vec![(vec!["the image".to_owned()], pictures[1].clone())];
    for shown in operators::all() {
        let name = shown.name;
        for (number, (words, picture)) in (1..).zip(apply(shown, pictures)?) {
            let title = if number == 1 { name.to_owned() } else { format!("{name}, {number}") };
            cells.push((std::iter::once(title).chain(wrapped(&words)).collect(), picture));
        }
    }
    Ok(cells)
}

/// Draws the sheet, or several of so many rows, and returns the number of pictures.
fn draw(pictures: &[RgbImage; 2], sheet: &Path, rows: Option<usize>) -> Result<usize, Box<dyn Error>> {
    let cells = cells(pictures)?;
    let Some(rows) = rows else {
        save(&cells, sheet)?;
        return Ok(cells.len());
    };
    for (number, cells) in (1..).zip(cells.chunks((rows * COLUMNS as usize).max(1))) {
        let stem = sheet.file_stem().unwrap_or_default().to_string_lossy();
        let extension = sheet.extension().unwrap_or_default().to_string_lossy();
        save(cells, &sheet.with_file_name(format!("{stem}-{number}.{extension}")))?;
    }
    Ok(cells.len())
}

/// Writes one sheet.
fn save(cells: &[Cell], sheet: &Path) -> Result<(), Box<dyn Error>> {
    let rows = cells.chunks(COLUMNS as usize);
    // A row has the lines of its longest text.
    let height = |row: &[Cell]| {
        let lines = row.iter().map(|(lines, _)| lines.len() as u32).max().unwrap_or(0);
        PICTURE.1 + LINE * lines + GAP
    };
    let size = (GAP + COLUMNS * (PICTURE.0 + GAP), GAP + rows.clone().map(height).sum::<u32>());
    let mut image = RgbImage::from_pixel(size.0, size.1, Rgb([250; 3]));
    let mut top = GAP;
    for row in rows {
        for (column, (lines, picture)) in (0..).zip(row) {
            let left = GAP + column * (PICTURE.0 + GAP);
            imageops::replace(&mut image, picture, left.into(), top.into());
            for (line, text) in (0..).zip(lines) {
                let shade = if line == 0 { 30 } else { 110 };
                write(&mut image, text, (left, top + PICTURE.1 + LINE * line), shade);
            }
        }
        top += height(row);
    }
    Ok(image.save(sheet)?)
}

/// The pictures that an operator makes, each with the words of what was drawn.
fn apply(shown: Shown, pictures: &[RgbImage; 2]) -> Result<Vec<(String, RgbImage)>, Box<dyn Error>> {
    let mut data = InMemory::new();
    for (class, picture) in (0..).zip(pictures) {
        let (width, height) = picture.dimensions();
        data.push_pixels(width, height, PixelFormat::Rgb8, picture.as_raw().clone(), Label::Class(class))?;
    }
    let batch_transform = shown.batch;
    let mixes = batch_transform.is_some();
    let recipe = Recipe { transforms: shown.transforms, batch_transform, ..Recipe::default() };
    let dtype = if mixes || shown.floats { DType::F32 } else { DType::U8 };
    let loader = DataLoader::builder(data)
        .recipe(recipe)
        .semantics(if shown.floats { Semantics::Float } else { Semantics::Uint8 })
        .output(Layout::Nhwc, dtype)
        .batch_size(2)
        .seed(3)
        .workers(1)
        .build(&Backend::Cpu)?;
    let batch = loader.epoch(0)?.next().ok_or("no batch")??;
    let ([images, height, width, channels], values) = (batch.shape(), batch.to_host_f32()?);
    // Those of the second sample: one, or five and ten.
    let mut found = Vec::new();
    for image in images / 2..images {
        let values = &values[image * height * width * channels..][..height * width * channels];
        let picture = RgbImage::from_fn(width as u32, height as u32, |x, y| {
            let pixel = &values[(y as usize * width + x as usize) * channels..][..channels];
            Rgb([0, 1, 2].map(|c| {
                let value = pixel[c.min(channels - 1)];
                // Normalize has numbers around 0.
                let value = if shown.name == "Normalize" { 0.5 + 0.2 * value } else { value };
                (value.clamp(0.0, 1.0) * 255.0).round() as u8
            }))
        });
        let params = &batch.params()[image];
        // What fixes the size changes nothing in most.
        let whole = Op::Crop { top: 0, left: 0, height: PICTURE.1, width: PICTURE.0 };
        let ops = params.ops.iter().filter(|op| op.op != whole).map(|op| op.op.to_string());
        let words = match &params.mixed {
            Some(mixed) => format!("own share {:.2}", mixed.mix.lambda()),
            None => ops.collect::<Vec<_>>().join("; "),
        };
        found.push((words, reduced(picture)));
    }
    Ok(found)
}

/// A picture that fits a cell.
fn reduced(picture: RgbImage) -> RgbImage {
    let (width, height) = picture.dimensions();
    let fit = f64::min(f64::from(PICTURE.0) / f64::from(width), f64::from(PICTURE.1) / f64::from(height));
    if fit >= 1.0 {
        return picture;
    }
    let side = |side: u32| ((f64::from(side) * fit) as u32).max(1);
    imageops::resize(&picture, side(width), side(height), FilterType::Triangle)
}

/// The width of a letter.
const LETTER: u32 = get_raster_width(FontWeight::Regular, RasterHeight::Size16) as u32;
/// The letters of a line that fit below a picture.
const LETTERS: usize = (PICTURE.0 / LETTER) as usize;

/// Breaks a text between its words into lines that fit below a picture.
fn wrapped(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.len() + 1 + word.len() <= LETTERS => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// Writes a line of text.
fn write(image: &mut RgbImage, text: &str, (left, top): (u32, u32), shade: u8) {
    for (place, symbol) in (0..).zip(text.chars()) {
        let Some(raster) = get_raster(symbol, FontWeight::Regular, RasterHeight::Size16) else { continue };
        for (y, row) in (top..).zip(raster.rows()) {
            for (x, ink) in (left + place * LETTER..).zip(row) {
                if let Some(pixel) = image.get_pixel_mut_checked(x, y) {
                    let ink = u32::from(*ink);
                    *pixel = Rgb(pixel
                        .0
                        .map(|below| ((u32::from(below) * (255 - ink) + u32::from(shade) * ink) / 255) as u8));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn the_sheet_is_drawn_and_operators_change_the_image() {
        let folder = tempfile::tempdir().unwrap();
        let pictures = [drawn(1), drawn(0)].map(fit);
        let sheet = folder.path().join("sheet.png");
        let count = draw(&pictures, &sheet, None).unwrap();
        assert!(count > 50, "{count}");
        let size = image::open(&sheet).unwrap().to_rgb8().dimensions();
        assert_eq!(size.0, GAP + COLUMNS * (PICTURE.0 + GAP));
        draw(&pictures, &sheet, Some(3)).unwrap();
        let sheets = count.div_ceil(3 * COLUMNS as usize);
        assert!((1..=sheets).all(|number| folder.path().join(format!("sheet-{number}.png")).exists()));
        for shown in operators::all().into_iter().filter(|shown| shown.name != "ToDtype") {
            let name = shown.name;
            let made = apply(shown, &pictures).unwrap();
            assert!(
                made.iter().all(|(words, picture)| !words.is_empty() && *picture != pictures[1]),
                "{name}: unchanged"
            );
        }
    }

    #[test]
    fn captions_are_whole_and_fit_below_their_pictures() {
        let pictures = [drawn(1), drawn(0)].map(fit);
        let made = operators::all().into_iter().flat_map(|shown| apply(shown, &pictures).unwrap());
        let words: Vec<String> = made.map(|(words, _)| words).collect();
        let cells = cells(&pictures).unwrap();
        assert_eq!(cells.len(), 1 + words.len());
        for ((lines, _), words) in cells[1..].iter().zip(words) {
            assert_eq!(lines[1..].join(" "), words, "{}", lines[0]);
            assert!(lines.iter().all(|line| line.len() <= LETTERS), "{lines:?}");
        }
        assert!(cells.iter().any(|(lines, _)| lines.len() > 3), "some captions have several lines");
    }

    #[test]
    fn no_operator_is_missing() {
        let source = include_str!("../../src/transforms/mod.rs");
        let list = source.split_once("\ntransforms!(").unwrap().1.split_once(");").unwrap().0;
        let rows = list.split(',').filter_map(|row| row.split_once("::"));
        // Those of objects leave pictures as they are.
        let shows = |name: &&str| !gpufeed_testing::operators::OF_OBJECTS.contains(name);
        let mut expected: BTreeSet<&str> = rows.map(|(_, name)| name.trim()).filter(shows).collect();
        expected.extend(["MixUp", "CutMix", "TimmMixup"]);
        let shown: Vec<Shown> = operators::all();
        assert_eq!(shown.iter().map(|shown| shown.name).collect::<BTreeSet<_>>(), expected);
    }
}
