//! Forged seek indexes: the decoder detects them by the entries that it passes.

use super::{BUILD, File, Seek, files, part, size_of};
use gpufeed_jpeg::internals::{IndexEntry, MCUS_PER_ENTRY, first_scan};
use gpufeed_jpeg::{Decoder, Rect, Request, SeekIndex};

/// A file with several entries in each row of MCUs.
struct WideFile {
    name: String,
    bytes: Vec<u8>,
    pixels: Vec<u8>,
    index: SeekIndex,
    /// MCUs in a row, and rows of MCUs.
    mcus: (usize, usize),
    /// Columns and rows of pixels in an MCU.
    mcu_size: (u32, u32),
}

/// Decodes a region. Returns its pixels, whether the index was used, and the index that was built.
fn read(bytes: &[u8], requested: Rect, seek: Seek<'_>) -> (Vec<u8>, bool, Option<SeekIndex>) {
    let request = Request::new(size_of(bytes)).region(requested).index(seek.index).build_index(seek.build);
    let mut decoder = Decoder::default();
    let decoded = decoder.decode(bytes, &request).unwrap();
    (decoded.pixels.to_vec(), decoded.outcome.by_index, decoded.outcome.index)
}

/// Encodes an image with detail everywhere.
fn synthetic(width: u32, height: u32) -> (String, Vec<u8>) {
    let level = |x: u32, y: u32| (((x * 7919 + y * 104_729) >> 3) as u8 & 63) | ((x + y) as u8 & 192);
    let picture = image::RgbImage::from_fn(width, height, |x, y| image::Rgb([level(x, y), level(y, x), x as u8]));
    let mut file = std::io::Cursor::new(Vec::new());
    picture.write_to(&mut file, image::ImageFormat::Jpeg).unwrap();
    (format!("synthetic {width}x{height} restart None"), file.into_inner())
}

fn wide_files() -> Vec<WideFile> {
    let golden = files().into_iter().map(|File { name, bytes, .. }| (name, bytes));
    let wide = golden.chain([synthetic(300, 90), synthetic(260, 50)]).filter_map(|(name, bytes)| {
        let (width, height) = size_of(&bytes);
        let mcus = first_scan(&bytes).unwrap().mcus;
        let side = |all: u32, mcus: usize| all.div_ceil(mcus as u32).next_multiple_of(8);
        let mcu_size = (side(width, mcus.0), side(height, mcus.1));
        let everything = Rect { left: 0, top: 0, width, height };
        let (pixels, _, index) = read(&bytes, everything, BUILD);
        let index = index?; // files with several scans have none
        (mcus.0 > MCUS_PER_ENTRY && mcus.1 > 2).then_some(WideFile { name, bytes, pixels, index, mcus, mcu_size })
    });
    wide.collect()
}

impl WideFile {
    /// Regions narrower and wider than the distance between entries, at many positions. All of them start above the
    /// last two rows of MCUs, because no entry follows the last MCUs of the scan.
    fn regions(&self) -> Vec<Rect> {
        let (width, height) = size_of(&self.bytes);
        let mut regions = Vec::new();
        for left in (0..width - 1).step_by(17).chain([width - 1]) {
            for (columns, rows) in [(1, 1), (9, 20), (40, 9), (width, height)] {
                for top in (0..height.saturating_sub(2 * self.mcu_size.1)).step_by(29) {
                    regions.push(Rect { left, top, width: columns.min(width - left), height: rows.min(height - top) });
                }
            }
        }
        regions
    }

    /// Decodes regions with a forged index and checks their pixels. Returns how many regions the decoder read by the
    /// index.
    fn read_with(&self, forged: &SeekIndex, regions: &[Rect], forgery: &str) -> usize {
        // A stored index is serialized.
        let forged = SeekIndex::from_bytes(&forged.to_bytes()).unwrap();
        assert!(forged != self.index, "{}: {forgery} changes nothing", self.name);
        let (width, _) = size_of(&self.bytes);
        let by_index = regions.iter().filter(|&&requested| {
            let (pixels, indexed, _) = read(&self.bytes, requested, Seek { index: Some(&forged), build: false });
            assert!(pixels == part(&self.pixels, width, requested), "{}: {requested:?}, {forgery}", self.name);
            indexed
        });
        by_index.count()
    }
}

#[test]
fn an_index_with_every_entry_changed_is_not_used() {
    let files = wide_files();
    assert!(files.len() >= 7, "{}", files.len());
    for wide in files {
        let regions = wide.regions();
        type Forgery = (&'static str, fn(usize, &mut IndexEntry));
        let forgeries: [Forgery; 3] = [
            ("every predictor is 100 more", |_, entry| entry.predictors.iter_mut().for_each(|one| *one += 100)),
            ("every predictor is different", |i, entry| entry.predictors[0] += 3 * i as i16 + 1),
            ("every offset is one bit later", |i, entry| entry.bit_offset += u64::from(i > 0)),
        ];
        for (name, forge) in forgeries {
            let mut forged = wide.index.clone();
            // The last entry is not changed.
            let last = forged.entries_mut().len() - 1;
            forged.entries_mut()[..last].iter_mut().enumerate().for_each(|(i, entry)| forge(i, entry));
            let used = wide.read_with(&forged, &regions, name);
            assert_eq!(used, 0, "{}: {name}", wide.name);
        }
        let uses_true_index =
            |&&requested: &&Rect| read(&wide.bytes, requested, Seek { index: Some(&wide.index), build: false }).1;
        assert_eq!(regions.iter().filter(uses_true_index).count(), regions.len());
    }
}

#[test]
fn a_single_changed_entry_is_not_used() {
    // Files with restart markers are left out: after a marker the data do not depend on the predictors before it.
    let files: Vec<_> = wide_files().into_iter().filter(|wide| wide.name.ends_with("restart None")).collect();
    assert!(files.len() >= 5, "{}", files.len());
    for wide in files {
        let regions = wide.regions();
        let count = wide.index.clone().entries_mut().len();
        for entry in (0..count - 1).step_by(7) {
            let mut forged = wide.index.clone();
            forged.entries_mut()[entry].predictors[0] += 40;
            let used = wide.read_with(&forged, &regions, "one entry was changed");
            assert!(used < regions.len(), "{}: entry {entry} is not checked", wide.name);
        }
    }
}

/// docs/guide/jpeg.md says about an index that others can write: if its entries were changed from some place on, the decoder
/// detects this in regions that cross the place, and in no others.
#[test]
fn a_changed_chain_is_detected_where_it_breaks() {
    let mut wrong = 0;
    for wide in wide_files() {
        let (width, height) = size_of(&wide.bytes);
        let entries_per_row = wide.mcus.0.div_ceil(MCUS_PER_ENTRY);
        let row = wide.mcus.1 / 2;
        let mut forged = wide.index.clone();
        forged.entries_mut()[row * entries_per_row + 1..].iter_mut().for_each(|entry| entry.predictors[0] += 40);
        let top = row as u32 * wide.mcu_size.1;
        let border = MCUS_PER_ENTRY as u32 * wide.mcu_size.0;
        // A region across the first changed entry, and one with all rows of the image.
        let across = Rect { left: border - 9, top, width: (width - border).min(9) + 9, height: 1 };
        let down = Rect { left: 3, top: 0, width: 5, height };
        assert_eq!(wide.read_with(&forged, &[across, down], "entries were changed from the middle on"), 0);
        let after = Rect { left: border + 1, top, width: 3.min(width - border - 1).max(1), height: 1 };
        let (pixels, ..) = read(&wide.bytes, after, Seek { index: Some(&forged), build: false });
        wrong += usize::from(pixels != part(&wide.pixels, width, after));
    }
    assert!(wrong > 0, "docs/guide/jpeg.md can promise more");
}
