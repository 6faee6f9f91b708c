//! The tables of the guide's chapter on predicted rates.

use super::cards::{CARDS, COPIES, Card};
use super::{OF_ARITHMETIC, OF_COPY};
use crate::bench::kernels::plans::make_params;
use gpufeed::internals::{Work, work};
use gpufeed::transforms::Params;
use gpufeed::{Plan, recipe};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

/// Images whose mean work the tables have: draws of 500x375 pixels.
const IMAGES: u64 = 256;

/// A recipe with the work of `IMAGES` images, and the bytes of their regions.
struct Row {
    name: &'static str,
    works: Vec<Work>,
    upload: f64,
}

fn rows() -> Vec<Row> {
    let row = |&name: &&'static str| {
        let recipe = recipe::named(name).unwrap();
        let output = recipe.output.unwrap_or_default();
        let plan = Plan::compile_as(recipe.semantics.unwrap_or_default(), 3, &recipe.transforms, &output).unwrap();
        let params: Vec<Params> = make_params(&plan, IMAGES).unwrap();
        let area = |params: &Params| {
            let region = plan.source_region(params).unwrap();
            4.0 * f64::from(region.width) * f64::from(region.height)
        };
        Row { name, works: work(&plan, &params).unwrap(), upload: params.iter().map(area).sum::<f64>() / IMAGES as f64 }
    };
    recipe::NAMES.iter().map(row).collect()
}

/// Thousands of images a second, with two digits.
fn thousands(rate: f64) -> String {
    let thousands = rate / 1e3;
    let step = 10f64.powf(thousands.log10().floor() - 1.0);
    let rounded = (thousands / step).round() * step;
    if rounded < 10.0 { format!("{rounded:.1}") } else { format!("{rounded:.0}") }
}

fn cards() -> String {
    let mut text = "| GPU | memory, GB/s | lanes x GHz | TFLOP/s | bus, GB/s |\n|---|---|---|---|---|\n".to_owned();
    for card in &CARDS {
        let bus = card.bus.map_or("shares the host's memory".to_owned(), |bus| bus.to_string());
        let Card { name, memory, lanes, clock, .. } = card;
        writeln!(text, "| {name} | {memory} | {lanes} x {clock} | {:.1} | {bus} |", card.gflop_per_second() / 1e3)
            .unwrap();
    }
    text
}

fn work_table(rows: &[Row]) -> String {
    let mut text =
        "| recipe | passes | KB moved | Mflop | flop a byte | KB uploaded |\n|---|---|---|---|---|---|\n".to_owned();
    for Row { name, works, upload } in rows {
        let bytes = works.iter().map(|work| work.bytes).sum::<u64>() as f64;
        let operations: f64 = works.iter().map(|work| work.operations).sum();
        let an_image = |sum: f64| sum / IMAGES as f64;
        writeln!(
            text,
            "| `{name}` | {} | {:.0} | {:.1} | {:.1} | {:.0} |",
            works.len(),
            an_image(bytes) / 1e3,
            an_image(operations) / 1e6,
            operations / bytes,
            upload / 1e3
        )
        .unwrap();
    }
    text
}

fn predictions(rows: &[Row]) -> String {
    let names: Vec<&str> = CARDS.iter().map(|card| card.name).collect();
    let mut text = format!("| recipe | {} |\n|---{}|\n", names.join(" | "), "|---".repeat(names.len()));
    for Row { name, works, .. } in rows {
        let cell = |card: &Card| {
            let predicted = card.roofs().predict(works);
            let mark = if predicted.limit() == "memory" { "m" } else { "a" };
            format!("{} {mark}", thousands(IMAGES as f64 / predicted.seconds))
        };
        writeln!(text, "| `{name}` | {} |", CARDS.iter().map(cell).collect::<Vec<_>>().join(" | ")).unwrap();
    }
    let upload = |row: &Row, card: &Card| card.bus.map_or("–".to_owned(), |bus| thousands(1e9 * bus / row.upload));
    let cropped = rows.iter().find(|row| row.name == "imagenet-train").unwrap();
    let cells: Vec<String> = CARDS.iter().map(|card| upload(cropped, card)).collect();
    writeln!(text, "| *the bus, `imagenet-train`* | {} |", cells.join(" | ")).unwrap();
    text
}

/// The registers and waves of AMD's compiler, of the passes of each recipe: the pass with the fewest waves.
fn waves(rows: &[Row], results: &Path) -> String {
    let json: Value = serde_json::from_str(&fs::read_to_string(results.join("shader-stats.json")).unwrap()).unwrap();
    let mut fewest: BTreeMap<(&str, &str), (u64, u64)> = BTreeMap::new();
    for shader in json["shaders"].as_array().unwrap() {
        for pass in shader["passes"].as_array().unwrap() {
            let Some((recipe, _)) = pass.as_str().unwrap().split_once(", ") else { continue };
            for (card, row) in shader["cards"].as_object().unwrap() {
                let now = (row["waves_a_simd"].as_u64().unwrap(), row["vgprs"].as_u64().unwrap());
                let least = fewest.entry((recipe, card)).or_insert(now);
                *least = if now.0 < least.0 || now.0 == least.0 && now.1 > least.1 { now } else { *least };
            }
        }
    }
    let mut text = "| recipe | RDNA 2: waves, VGPRs | RDNA 3 | GCN 5 |\n|---|---|---|---|\n".to_owned();
    for Row { name, .. } in rows {
        let cell =
            |card| fewest.get(&(*name, card)).map_or("–".to_owned(), |(waves, vgprs)| format!("{waves}, {vgprs}"));
        writeln!(text, "| `{name}` | {} | {} | {} |", cell("navi21"), cell("navi31"), cell("vega10")).unwrap();
    }
    text
}

/// With GPUFEED_RENEW=1 the chapter gets today's tables.
#[test]
fn the_chapter_has_these_predictions() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let path = root.join("docs/guide/roofline.md");
    let mut chapter = fs::read_to_string(&path).unwrap();
    let found = chapter.clone();
    let rows = rows();
    let shares = format!("{COPIES}, {OF_COPY} and {OF_ARITHMETIC}");
    assert!(found.contains(&shares), "the chapter names the shares {shares}");
    let tables = [
        ("cards", cards()),
        ("work", work_table(&rows)),
        ("predictions", predictions(&rows)),
        ("waves", waves(&rows, &root.join("benches/results"))),
    ];
    for (name, table) in tables {
        let (begin, end) = (format!("<!-- {name}: begin -->\n"), format!("<!-- {name}: end -->"));
        let (before, rest) = chapter.split_once(&begin).unwrap_or_else(|| panic!("no mark of {name}"));
        let (_, after) = rest.split_once(&end).unwrap_or_else(|| panic!("no end of {name}"));
        chapter = format!("{before}{begin}\n{table}\n{end}{after}");
    }
    if std::env::var_os("GPUFEED_RENEW").is_some() {
        fs::write(&path, chapter).unwrap();
    } else {
        assert!(chapter == found, "GPUFEED_RENEW=1 cargo test -p gpufeed-cli the_chapter_has_these_predictions");
    }
}
