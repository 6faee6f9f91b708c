//! The contact sheet: a row per sample, with the original on the left, the draws next to it, in lines of `--columns`, and
//! text under each picture.

use super::draws::{Draw, Drawn};
use super::picture_size::{ENLARGED, GAP, resize};
use super::text::{self, LINE, letter};
use super::{objects, output_sizes};
use gpufeed::Recipe;
use gpufeed::decode::Rect;
use gpufeed::targets::Objects;
use gpufeed::transforms::Op;
use image::imageops;
use image::{Rgb, RgbImage};
use serde_json::{Value, json};
use std::error::Error;
use std::path::Path;

/// Pixels between a picture and its text.
const UNDER: u32 = 4;
/// Letters that fit under the smallest picture.
const LETTERS: u32 = 21;

const PAPER: Rgb<u8> = Rgb([250, 250, 250]);
const INK: Rgb<u8> = Rgb([30, 30, 30]);
const PALE: Rgb<u8> = Rgb([115, 115, 115]);
const ALARM: Rgb<u8> = Rgb([180, 30, 30]);

pub(super) struct Sheet {
    pub(super) image: RgbImage,
    /// The places of each row's draws, in pixels of the sheet.
    places: Vec<Vec<Rect>>,
    conditions: Conditions,
}

/// What else decides how the draws look.
pub(super) struct Conditions {
    pub(super) seed: u64,
    pub(super) backend: String,
    /// The executor that augmented: a software adapter has both.
    pub(super) executor: &'static str,
    /// If false, boxes and keypoints are not drawn on the originals, and not in colours under them.
    pub(super) draw_objects: bool,
}

/// A picture in its final size, and the lines of text under it.
struct Cell {
    picture: Option<RgbImage>,
    lines: Vec<(String, Rgb<u8>)>,
}

impl Cell {
    fn height(&self) -> u32 {
        self.picture.as_ref().map_or(0, |picture| picture.height() + UNDER) + LINE * self.lines.len() as u32
    }
}

impl Sheet {
    /// With `most` draws beside each other; the others of a sample are in lines below.
    pub(super) fn new(
        name: &str,
        recipe: &Recipe,
        conditions: Conditions,
        rows: &[Drawn],
        most: Option<usize>,
    ) -> Sheet {
        // The draws of groups may differ in size.
        let sizes = rows.iter().flat_map(|row| &row.draws).map(|draw| draw.picture.dimensions());
        let (width, height) =
            sizes.reduce(|(width, height), (w, h)| (width.max(w), height.max(h))).unwrap_or((ENLARGED, ENLARGED));
        let cell = width.max(LETTERS * letter());
        // Originals are as high as the draws, and landscapes are wider.
        let room = ((height.max(ENLARGED) * 3 / 2).max(LETTERS * letter()), height.max(ENLARGED));
        let columns =
            rows.iter().map(|row| row.draws.len()).max().unwrap_or(0).min(most.unwrap_or(usize::MAX)).max(1) as u32;
        let several = output_sizes::groups_with_several(rows);
        let line = Line { room, cell, columns, draw_objects: conditions.draw_objects, several: &several };
        let grids: Vec<Vec<Cell>> = rows.iter().map(|row| cells(row, &line)).collect();
        let originals = grids.iter().filter_map(|cells| cells.first()?.picture.as_ref());
        let original = originals.map(RgbImage::width).max().unwrap_or(0).max(LETTERS * letter());
        let sheet_width = GAP + original + columns * (GAP + cell) + GAP;
        let mut head = head(name, recipe, &conditions, rows, ((sheet_width - 2 * GAP) / letter()) as usize);
        // The cells of a line, the original as the first of the first line.
        let line_of = |cell: usize| cell.saturating_sub(1) / columns as usize;
        let line_heights = |cells: &Vec<Cell>| {
            let mut heights = vec![0; line_of(cells.len().saturating_sub(1)) + 1];
            for (i, cell) in cells.iter().enumerate() {
                heights[line_of(i)] = cell.height().max(heights[line_of(i)]);
            }
            heights.into_iter().map(|height| height + GAP).collect::<Vec<u32>>()
        };
        let head_height = 2 * GAP + LINE * head.len() as u32;
        let sheet_height = head_height + grids.iter().flat_map(line_heights).sum::<u32>();

        let mut image = RgbImage::from_pixel(sheet_width, sheet_height, PAPER);
        for (i, (line, color)) in (0..).zip(head.drain(..)) {
            text::write(&mut image, &line, (GAP, GAP + LINE * i), color);
        }
        let mut top = head_height;
        let mut places = Vec::with_capacity(rows.len());
        for cells in grids {
            let heights = line_heights(&cells);
            let mut of_row = Vec::new();
            for (i, cell_of) in cells.into_iter().enumerate() {
                let column = i.saturating_sub(1) as u32 % columns;
                let left = if i == 0 { GAP } else { GAP + original + GAP + column * (GAP + cell) };
                let line_top = top + heights[..line_of(i)].iter().sum::<u32>();
                let mut below = line_top;
                if let Some(picture) = cell_of.picture {
                    imageops::replace(&mut image, &picture, i64::from(left), i64::from(line_top));
                    below += picture.height() + UNDER;
                    if i > 0 {
                        let (width, height) = picture.dimensions();
                        of_row.push(Rect { left, top: line_top, width, height });
                    }
                }
                for (line, color) in cell_of.lines {
                    text::write(&mut image, &line, (left, below), color);
                    below += LINE;
                }
            }
            places.push(of_row);
            top += heights.iter().sum::<u32>();
        }
        Sheet { image, places, conditions }
    }

    /// Returns the sheet's content as JSON.
    pub(super) fn json(&self, out: Option<&Path>, recipe: &Recipe, rows: &[Drawn]) -> Result<Value, Box<dyn Error>> {
        let mut samples = Vec::with_capacity(rows.len());
        for (row, places) in rows.iter().zip(&self.places) {
            let draw = |(draw, place): (&Draw, &Rect)| {
                let Draw { epoch, group, view, params, range, objects, size: (width, height), .. } = draw;
                let objects = objects.as_ref().map(objects::json);
                let place = out.map(|_| place);
                let words: Vec<String> = params.ops.iter().map(|op| op.op.to_string()).collect();
                json!({
                    "epoch": epoch, "group": group, "view": view, "ops": params.ops, "words": words, "place": place,
                    "range": range, "size": [width, height], "objects": objects
                })
            };
            let draws: Vec<Value> = row.draws.iter().zip(places).map(draw).collect();
            let Drawn { id, name, class, size, fields, error, objects, .. } = row;
            let objects = objects.as_ref().map(Objects::len);
            let (width, height) = size.unzip();
            let fields: serde_json::Map<String, Value> =
                fields.iter().map(|field| (field.name.clone(), field.value.clone())).collect();
            samples.push(json!({
                "id": id, "name": name, "class": class, "width": width, "height": height, "fields": fields,
                "objects": objects, "draws": draws, "error": error
            }));
        }
        let Conditions { seed, backend, executor, .. } = &self.conditions;
        Ok(json!({
            "recipe": recipe.name, "recipe_toml": recipe.to_toml()?, "seed": seed, "backend": backend,
            "executor": executor, "sheet": out, "samples": samples
        }))
    }
}

/// Returns the lines of text above the rows.
fn head(
    name: &str,
    recipe: &Recipe,
    Conditions { seed, backend, executor, .. }: &Conditions,
    rows: &[Drawn],
    letters: usize,
) -> Vec<(String, Rgb<u8>)> {
    let title = match recipe.description.as_str() {
        "" => name.to_owned(),
        description => format!("{name}: {description}"),
    };
    let all = || rows.iter().flat_map(|row| &row.draws);
    let mut facts = format!("gpufeed {}, seed {seed}, {backend}: {executor}", env!("CARGO_PKG_VERSION"));
    facts += &output_sizes::in_words(rows);
    if all().flat_map(|draw| &draw.params.ops).any(|op| matches!(op.op, Op::Normalize { .. })) {
        facts += "; Normalize is undone to look at them";
    }
    if recipe.batch_transform.is_some() {
        facts += "; what mixes the images of a batch is left out";
    }
    let lines = |text: &str, color| text::wrap(text, letters).into_iter().map(move |line| (line, color));
    lines(&title, INK).chain(lines(&facts, PALE)).collect()
}

/// Settings that the cells of all rows share.
struct Line<'a> {
    /// The (width, height) of originals.
    room: (u32, u32),
    /// The width of a draw's cell.
    cell: u32,
    columns: u32,
    draw_objects: bool,
    /// The groups whose draws have several sizes.
    several: &'a [Option<String>],
}

/// Makes the cells of a row: the original and the draws.
fn cells(row: &Drawn, line: &Line<'_>) -> Vec<Cell> {
    let Line { room: (width, height), cell, columns, .. } = *line;
    let lines = |text: &str, width: u32, color| {
        text::wrap(text, (width / letter()) as usize).into_iter().map(move |line| (line, color))
    };
    let mut original_text: Vec<(String, Rgb<u8>)> = Vec::new();
    let mut original = row.original.as_ref().map(|picture| resize(picture, width, height));
    if let (true, Some(shown), Some(picture), Some(objects)) =
        (line.draw_objects, &mut original, &row.original, &row.objects)
    {
        objects::draw(shown, objects, picture.dimensions());
    }
    let text_width = original.as_ref().map_or(0, RgbImage::width).max(LETTERS * letter());
    original_text.extend(row.class.iter().flat_map(|class| lines(class, text_width, INK)));
    let file = Path::new(&row.name).file_name().map_or(row.name.as_str().into(), |name| name.to_string_lossy());
    original_text.extend(lines(&file, text_width, PALE));
    let size = row.size.map_or(String::new(), |(width, height)| format!(", {width}x{height}"));
    original_text.extend(lines(&format!("sample {}{size}", row.id), text_width, PALE));
    for (words, label) in &row.objects_in_words {
        let color = label.filter(|_| line.draw_objects).map_or(INK, |label| objects::color(Some(label)));
        original_text.extend(lines(words, text_width, color));
    }
    original_text.extend(row.fields.iter().flat_map(|field| lines(&field.text(), text_width, INK)));
    let mut cells = vec![Cell { picture: original, lines: original_text }];
    if let Some(error) = &row.error {
        let room = columns * (cell + GAP) - GAP;
        cells.push(Cell { picture: None, lines: lines(error, room, ALARM).collect() });
    }
    let views = row.draws.iter().any(|draw| draw.view > 0);
    for draw in &row.draws {
        let view = match &draw.group {
            Some(group) => format!(", {group} {}", draw.view),
            None if views => format!(", view {}", draw.view),
            None => String::new(),
        };
        // The head of the sheet mentions Normalize, and names the output's size if there is one: neither is repeated here.
        let (width, height) = draw.size;
        let is_one_of_several = line.several.contains(&draw.group);
        let size = if is_one_of_several { format!(", {width}x{height}") } else { String::new() };
        let mut under: Vec<_> = lines(&format!("epoch {}{view}{size}", draw.epoch), cell, INK).collect();
        if let Some((least, greatest)) = draw.range {
            under.extend(lines(&format!("{least} is black, {greatest} white"), cell, PALE));
        }
        let in_head = |op: &Op| match *op {
            Op::Normalize { .. } => true,
            Op::Resize { width: w, height: h, .. } => (w, h) == (width, height),
            _ => false,
        };
        for op in draw.params.ops.iter().filter(|op| !in_head(&op.op)) {
            let words = op.op.to_string();
            // Each chain of a mixture has a line of its own.
            under.extend(words.split_inclusive(" + ").flat_map(|part| lines(part, cell, PALE)));
        }
        cells.push(Cell { picture: Some(draw.picture.clone()), lines: under });
    }
    cells
}
