//! Draws a small data set to try things with: a folder of JPEGs for each of four shapes.
//!
//! `cargo run --release --example draw FOLDER [FILES_OF_EACH_CLASS]`

#![allow(clippy::print_stdout, clippy::print_stderr)]

mod procedural;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (folder, count) = match arguments.as_slice() {
        [folder] => (folder, Ok(64)),
        [folder, count] => (folder, count.parse()),
        _ => {
            eprintln!("usage: draw FOLDER [FILES_OF_EACH_CLASS]");
            std::process::exit(2);
        }
    };
    let drawn = count.map_err(|_| "the number of files is not a number".into());
    if let Err(error) = drawn.and_then(|count| procedural::write(folder.as_ref(), count)) {
        eprintln!("draw: {error}");
        std::process::exit(1);
    }
    println!("drawn into {folder}");
}
