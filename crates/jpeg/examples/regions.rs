//! Prints which MCUs of a JPEG are decoded, skipped or never read for three crops, as JSON: `scripts/pictures.sh` draws it.
//!
//! `cargo run --release -p gpufeed-jpeg --features trace --example regions FILE.jpg`

#![allow(clippy::print_stdout)]

use gpufeed_jpeg::internals::{Read, first_scan, take_reads};
use gpufeed_jpeg::{Decoder, Header, Rect, Request};
use serde_json::{Value, json};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("usage: regions FILE.jpg")?;
    let bytes = std::fs::read(&path)?;
    let (width, height) = Header::read(&bytes)?.size();
    let mcus = first_scan(&bytes).ok_or("no scan")?.mcus;
    let mut decoder = Decoder::default();
    let whole = Request::new((width, height)).build_index(true);
    let index = decoder.decode(&bytes, &whole)?.outcome.index.ok_or("no index: the file has several scans")?;
    take_reads();

    // A small, a middle and a large crop, as RandomResizedCrop draws them: shares of width and height.
    let crops = [(0.62, 0.55, 0.26, 0.30), (0.20, 0.35, 0.50, 0.50), (0.10, 0.06, 0.86, 0.84)];
    let mut found = Vec::new();
    for (left, top, share_x, share_y) in crops {
        let of = |share: f64, length: u32| (share * f64::from(length)) as u32;
        let region = Rect {
            left: of(left, width),
            top: of(top, height),
            width: of(share_x, width),
            height: of(share_y, height),
        };
        let crop = Request::new((width, height)).region(region);
        let mut ways = Vec::new();
        for (way, request) in
            [("no index", crop), ("first epoch", crop.build_index(true)), ("later epochs", crop.index(Some(&index)))]
        {
            decoder.decode(&bytes, &request)?;
            ways.push(json!({ "way": way, "read": ranges(&take_reads()) }));
        }
        found.push(json!({
            "crop": [region.left, region.top, region.width, region.height],
            "ways": ways,
        }));
    }
    println!("{}", json!({ "file": path, "size": [width, height], "mcus": [mcus.0, mcus.1], "crops": found }));
    Ok(())
}

/// `[row, start, end, decoded]` of each range; neighbours of one kind are one.
fn ranges(read: &[Read]) -> Value {
    let mut joined: Vec<Read> = Vec::new();
    for &next in read.iter().filter(|read| read.end > read.start) {
        match joined.last_mut() {
            Some(last) if last.row == next.row && last.end == next.start && last.decoded == next.decoded => {
                last.end = next.end;
            }
            _ => joined.push(next),
        }
    }
    joined.iter().map(|read| json!([read.row, read.start, read.end, u8::from(read.decoded)])).collect()
}
