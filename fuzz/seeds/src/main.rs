//! Writes the seeds of a fuzz target, small files that its reader accepts: `seeds TARGET GOLDEN CORPUS`, where GOLDEN
//! is the folder tests/golden and CORPUS is the folder for the seeds. Beside that of recipes it writes their dictionary,
//! CORPUS.dict. This is a package of its own, because a program built with the compiler flags for fuzzing would need
//! libFuzzer.

mod arrays;
mod jpeg;
mod keyed;
mod objects;
mod packed;
mod parquet;
mod pickle;
mod tar;
mod texts;

use std::error::Error;
use std::path::Path;

/// A seed: the end of its file's name, and the input for the target.
pub type Seed = (String, Vec<u8>);

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, target, golden, corpus] = arguments.as_slice() else { return Err("seeds TARGET GOLDEN CORPUS".into()) };
    let seeds = match target.as_str() {
        "cifar" => arrays::cifar(),
        "coco" => objects::coco(),
        "idx" => arrays::idx(),
        "jpeg" | "decode" => jpeg::seeds(Path::new(golden))?,
        "list" => texts::lists(),
        "lmdb" => keyed::lmdb(),
        "numpy" => arrays::numpy(),
        "objects" => objects::documents(),
        "parquet" => parquet::seeds(Path::new(golden))?,
        "pickle" => pickle::seeds(),
        "recipe" => texts::recipes(),
        "seek_file" => keyed::seek_file(),
        "tar" => tar::seeds(),
        "tar_index" => tar::indexes(),
        "voc" => objects::voc(),
        "yolo" => objects::yolo(),
        other => return Err(format!("no target {other}").into()),
    };
    std::fs::create_dir_all(corpus)?;
    if target == "recipe" {
        std::fs::write(format!("{corpus}.dict"), [include_str!("../../recipe.dict"), &texts::words()].concat())?;
    }
    for (name, input) in seeds {
        std::fs::write(Path::new(corpus).join(format!("seed-{name}")), input)?;
    }
    Ok(())
}

/// Joins two files as the targets expect them: the length of the first in two bytes, the first file, the second file.
pub fn two(first: &[u8], second: &[u8]) -> Vec<u8> {
    [&(first.len() as u16).to_le_bytes()[..], first, second].concat()
}
