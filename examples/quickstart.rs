//! The main use of gpufeed: turns a folder of class folders into augmented batches, and writes a contact sheet to look
//! at.
//!
//! `cargo run --release --example quickstart [FOLDER [SHEET.png]]`

#![allow(clippy::print_stdout, clippy::print_stderr)]

mod procedural;

use gpufeed::transforms::Normalize;
use gpufeed::{Backend, Batch, DataLoader, ImageFolder, recipe};
use std::{error::Error, path::Path, path::PathBuf};

fn main() {
    if let Err(error) = run(std::env::args_os().skip(1).map(PathBuf::from)) {
        eprintln!("quickstart: {error}");
        std::process::exit(1);
    }
}

fn run(mut arguments: impl Iterator<Item = PathBuf>) -> Result<(), Box<dyn Error>> {
    let temporary = tempfile::tempdir()?;
    let folder = match arguments.next() {
        Some(folder) => folder,
        None => procedural::write(temporary.path(), 64)?,
    };
    let sheet = arguments.next().unwrap_or_else(|| "contact_sheet.png".into());
    let backend = Backend::auto()?;
    let loader = DataLoader::builder(ImageFolder::open(folder)?)
        .recipe(recipe::imagenet_train_jitter())
        .batch_size(64)
        .shuffle(true)
        .seed(42)
        .build(&backend)?;
    println!("backend: {backend}\n{}", loader.explain());

    let progress = indicatif::ProgressBar::new(loader.len() as u64);
    for batch in progress.wrap_iter(loader.epoch(0)?) {
        let batch = batch?; // here a training step would use batch.images() and batch.labels()
        batch.failures().iter().for_each(|failure| println!("replaced {}: {}", failure.name, failure.error));
    }
    println!("{}\n{}", loader.stats(), loader.stats().bottleneck());

    contact_sheet(&loader.epoch(1)?.next().ok_or("no batch")??, &sheet)?;
    println!("contact sheet: {}", sheet.display());
    Ok(())
}

/// Writes up to 8 × 4 images of a batch as one picture, with `Normalize` undone.
fn contact_sheet(batch: &Batch, path: &Path) -> Result<(), Box<dyn Error>> {
    let ([images, _, height, width], floats) = (batch.shape(), batch.to_host_f32()?);
    let Normalize { mean, std } = Normalize::IMAGENET;
    let mut sheet = image::RgbImage::new(8 * width as u32, images.min(32).div_ceil(8) as u32 * height as u32);
    for (x, y, pixel) in sheet.enumerate_pixels_mut() {
        let (image, x, y) = (y as usize / height * 8 + x as usize / width, x as usize % width, y as usize % height);
        let float = |c: usize| floats.get(((image * 3 + c) * height + y) * width + x).unwrap_or(&0.0);
        pixel.0 = [0, 1, 2].map(|c| ((float(c) * std[c] + mean[c]) * 255.0).round() as u8);
    }
    Ok(sheet.save(path)?)
}
