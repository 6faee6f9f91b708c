//! Seek indexes that somebody has changed: what is looked at on the way tells them from true ones.

use super::{BUILD, File, Seek, files, part, size_of};
use gpufeed_jpeg::internals::{Entry, GROUP, first_scan};
use gpufeed_jpeg::{Decoder, Rect, Request, SeekIndex};

/// A file with several entries in each row of MCUs.
struct Wide {
    name: String,
    bytes: Vec<u8>,
    pixels: Vec<u8>,
    index: SeekIndex,
    /// MCUs across and down, and their pixels.
    mcus: (usize, usize),
    mcu: (u32, u32),
}

/// The pixels of a region, whether by the index, and the index that was built.
fn read(bytes: &[u8], wanted: Rect, seek: Seek<'_>) -> (Vec<u8>, bool, Option<SeekIndex>) {
    let request = Request::new(size_of(bytes)).region(wanted).index(seek.index).build_index(seek.build);
    let mut decoder = Decoder::default();
    let decoded = decoder.decode(bytes, &request).unwrap();
    (decoded.pixels.to_vec(), decoded.outcome.by_index, decoded.outcome.index)
}

/// A picture with detail everywhere.
fn drawn(width: u32, height: u32) -> (String, Vec<u8>) {
    let level = |x: u32, y: u32| (((x * 7919 + y * 104_729) >> 3) as u8 & 63) | ((x + y) as u8 & 192);
    let picture = image::RgbImage::from_fn(width, height, |x, y| image::Rgb([level(x, y), level(y, x), x as u8]));
    let mut file = std::io::Cursor::new(Vec::new());
    picture.write_to(&mut file, image::ImageFormat::Jpeg).unwrap();
    (format!("drawn {width}x{height} restart None"), file.into_inner())
}

fn wide() -> Vec<Wide> {
    let golden = files().into_iter().map(|File { name, bytes, .. }| (name, bytes));
    let wide = golden.chain([drawn(300, 90), drawn(260, 50)]).filter_map(|(name, bytes)| {
        let (width, height) = size_of(&bytes);
        let mcus = first_scan(&bytes).unwrap().mcus;
        let side = |all: u32, mcus: usize| all.div_ceil(mcus as u32).next_multiple_of(8);
        let mcu = (side(width, mcus.0), side(height, mcus.1));
        let everything = Rect { left: 0, top: 0, width, height };
        let (pixels, _, index) = read(&bytes, everything, BUILD);
        let index = index?; // files of several scans have none
        (mcus.0 > GROUP && mcus.1 > 2).then_some(Wide { name, bytes, pixels, index, mcus, mcu })
    });
    wide.collect()
}

impl Wide {
    /// Regions of all kinds: narrower than the entries are apart, beside each other, across; none of them in the last
    /// MCUs of the scan alone, after which there is no entry.
    fn regions(&self) -> Vec<Rect> {
        let (width, height) = size_of(&self.bytes);
        let mut regions = Vec::new();
        for left in (0..width - 1).step_by(17).chain([width - 1]) {
            for (across, down) in [(1, 1), (9, 20), (40, 9), (width, height)] {
                for top in (0..height.saturating_sub(2 * self.mcu.1)).step_by(29) {
                    regions.push(Rect { left, top, width: across.min(width - left), height: down.min(height - top) });
                }
            }
        }
        regions
    }

    /// Decodes by a forged index; how many regions were decoded by it.
    fn by(&self, forged: &SeekIndex, regions: &[Rect], forgery: &str) -> usize {
        // As a file holds it.
        let forged = SeekIndex::from_bytes(&forged.to_bytes()).unwrap();
        assert!(forged != self.index, "{}: {forgery} changes nothing", self.name);
        let (width, _) = size_of(&self.bytes);
        let by_it = regions.iter().filter(|&&wanted| {
            let (pixels, indexed, _) = read(&self.bytes, wanted, Seek { index: Some(&forged), build: false });
            assert!(pixels == part(&self.pixels, width, wanted), "{}: {wanted:?}, {forgery}", self.name);
            indexed
        });
        by_it.count()
    }
}

#[test]
fn an_index_of_which_every_entry_was_changed_is_not_used() {
    let files = wide();
    assert!(files.len() >= 7, "{}", files.len());
    for wide in files {
        let regions = wide.regions();
        type Forgery = (&'static str, fn(usize, &mut Entry));
        let forgeries: [Forgery; 3] = [
            ("every predictor is 100 more", |_, entry| entry.predictors.iter_mut().for_each(|one| *one += 100)),
            ("every predictor is another", |i, entry| entry.predictors[0] += 3 * i as i16 + 1),
            ("every place is a bit later", |i, entry| entry.at += u64::from(i > 0)),
        ];
        for (name, forge) in forgeries {
            let mut forged = wide.index.clone();
            // The end stays where it is.
            let last = forged.entries_mut().len() - 1;
            forged.entries_mut()[..last].iter_mut().enumerate().for_each(|(i, entry)| forge(i, entry));
            let used = wide.by(&forged, &regions, name);
            assert_eq!(used, 0, "{}: {name}", wide.name);
        }
        let by_the_true_one =
            |&&wanted: &&Rect| read(&wide.bytes, wanted, Seek { index: Some(&wide.index), build: false }).1;
        assert_eq!(regions.iter().filter(by_the_true_one).count(), regions.len());
    }
}

#[test]
fn one_entry_that_was_changed_is_not_used() {
    // After a restart marker nothing tells what the predictors before it were.
    let files: Vec<_> = wide().into_iter().filter(|wide| wide.name.ends_with("restart None")).collect();
    assert!(files.len() >= 5, "{}", files.len());
    for wide in files {
        let regions = wide.regions();
        let count = wide.index.clone().entries_mut().len();
        for entry in (0..count - 1).step_by(7) {
            let mut forged = wide.index.clone();
            forged.entries_mut()[entry].predictors[0] += 40;
            let used = wide.by(&forged, &regions, "one entry was changed");
            assert!(used < regions.len(), "{}: entry {entry} is not looked at", wide.name);
        }
    }
}

/// README.md says of an index that others may write: if its chain of entries was changed from some place on, this is
/// found where a region crosses that place, and not elsewhere.
#[test]
fn a_changed_chain_is_found_where_it_breaks() {
    let mut wrong = 0;
    for wide in wide() {
        let (width, height) = size_of(&wide.bytes);
        let across = wide.mcus.0.div_ceil(GROUP);
        let row = wide.mcus.1 / 2;
        let mut forged = wide.index.clone();
        forged.entries_mut()[row * across + 1..].iter_mut().for_each(|entry| entry.predictors[0] += 40);
        let top = row as u32 * wide.mcu.1;
        let border = GROUP as u32 * wide.mcu.0;
        // From the left of the first changed entry to its right, and all of the image's rows.
        let across = Rect { left: border - 9, top, width: (width - border).min(9) + 9, height: 1 };
        let down = Rect { left: 3, top: 0, width: 5, height };
        assert_eq!(wide.by(&forged, &[across, down], "the chain was changed from the middle on"), 0);
        let behind = Rect { left: border + 1, top, width: 3.min(width - border - 1).max(1), height: 1 };
        let (pixels, ..) = read(&wide.bytes, behind, Seek { index: Some(&forged), build: false });
        wrong += usize::from(pixels != part(&wide.pixels, width, behind));
    }
    assert!(wrong > 0, "README.md can promise more");
}
