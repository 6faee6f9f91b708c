//! Decodes the JPEGs of a folder on one core, whole and a crop of each, with this crate and with zune-jpeg, in turns, and prints
//! the seconds of each turn as JSON. `benches/peers/jpeg.py` calls it, and adds libjpeg-turbo.
//!
//!     cargo run --release -p gpufeed-jpeg --example speed -- FOLDER [ROUNDS]

#![allow(clippy::print_stdout)] // the measurement

use std::time::Instant;

use gpufeed_jpeg::{Decoder, Header, Rect, Request};
use zune_core::bytestream::ZCursor;
use zune_core::colorspace::ColorSpace;
use zune_core::options::DecoderOptions;
use zune_jpeg::JpegDecoder;

type Failed = Box<dyn std::error::Error>;

fn main() -> Result<(), Failed> {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().ok_or("usage: speed FOLDER [ROUNDS]")?;
    let rounds: usize = arguments.next().map_or(Ok(5), |rounds| rounds.parse())?;
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        paths.push(entry?.path());
    }
    paths.sort();
    let files = paths.iter().map(std::fs::read).collect::<Result<Vec<_>, _>>()?;
    for round in 0..rounds {
        let mut decoder = Decoder::default();
        let whole = seconds(&files, |bytes| ours(&mut decoder, bytes, None))?;
        let crop = seconds(&files, |bytes| ours(&mut decoder, bytes, Some(round)))?;
        let zune = seconds(&files, zune)?;
        println!("{{\"whole\": {whole}, \"crop\": {crop}, \"zune\": {zune}}}");
    }
    Ok(())
}

/// Decodes every file. Returns the seconds of all.
fn seconds(files: &[Vec<u8>], mut decode: impl FnMut(&[u8]) -> Result<(), Failed>) -> Result<f64, Failed> {
    let start = Instant::now();
    for bytes in files {
        decode(bytes)?;
    }
    Ok(start.elapsed().as_secs_f64())
}

/// Decodes the whole image, or a crop of a size and at a place as RandomResizedCrop has them: 0.08 to 1 of the area.
fn ours(decoder: &mut Decoder, bytes: &[u8], crop: Option<usize>) -> Result<(), Failed> {
    let (width, height) = Header::read(bytes)?.size();
    let mut request = Request::new((width, height));
    if let Some(round) = crop {
        // A hash of the file's length and the round, as four numbers from 0 to 1.
        let hash = (bytes.len() as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(round as u64);
        let hash = (hash ^ hash >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let number = |place: u32| f64::from((hash >> (16 * place)) as u16) / 65536.0;
        let (area, ratio) = (0.08 + 0.92 * number(0), 0.75 + 0.58 * number(1));
        let pixels = area * f64::from(width) * f64::from(height);
        let (across, down) = ((pixels * ratio).sqrt(), (pixels / ratio).sqrt());
        let (across, down) = ((across as u32).clamp(1, width), (down as u32).clamp(1, height));
        let (left, top) = (number(2) * f64::from(width - across), number(3) * f64::from(height - down));
        request = request.region(Rect { left: left as u32, top: top as u32, width: across, height: down });
    }
    decoder.decode(bytes, &request)?;
    Ok(())
}

fn zune(bytes: &[u8]) -> Result<(), Failed> {
    let options = DecoderOptions::default().jpeg_set_out_colorspace(ColorSpace::RGBA);
    JpegDecoder::new_with_options(ZCursor::new(bytes), options).decode()?;
    Ok(())
}
