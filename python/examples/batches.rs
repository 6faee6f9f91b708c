//! The batches of a folder's first two epochs, as a program in Rust makes them: `tests/test_same_bits.py` compares them with
//! those of Python.
//!
//! `cargo run --example batches FOLDER RECIPE.toml VIEWS` writes, for each batch, its number of images and each image's id
//! as 8 bytes, then the images' bytes; numbers are little-endian.

use gpufeed::{Backend, DataLoader, ImageFolder, recipe};
use std::{error::Error, io::Write};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, recipe_file, views] = arguments.as_slice() else {
        return Err("usage: batches FOLDER RECIPE.toml VIEWS".into());
    };
    let loader = DataLoader::builder(ImageFolder::open(folder)?)
        .recipe(recipe::load(recipe_file)?)
        .batch_size(7)
        .views(views.parse()?)
        .shuffle(true)
        .seed(11)
        .build(&Backend::Cpu)?;
    let mut out = std::io::stdout().lock();
    for batch in loader.epochs(0..2)? {
        let batch = batch?;
        let ids = batch.ids();
        out.write_all(&(ids.len() as u64).to_le_bytes())?;
        for id in ids {
            out.write_all(&id.to_le_bytes())?;
        }
        out.write_all(&batch.to_host()?)?;
    }
    Ok(())
}
