//! Seek indexes in a loader: batches are the same with and without them, in every epoch; files are replaced or cut;
//! indexes are damaged, belong to another file or cannot be written.

use gpufeed::decode::{self, DecodeOptions, Rect, Scratch, SeekIndex, SeekIndexes};
use gpufeed::transforms::{RandomHorizontalFlip, RandomResizedCrop};
use gpufeed::{Backend, DataLoader, Dataset, ErrorKind, ImageFolder, InMemory, Label, Sample, Stats};
use gpufeed_testing::dice::Dice;
use gpufeed_testing::encoded;
use image::ImageFormat as Codec;
use std::fs;
use std::path::Path;
use tempfile::TempDir;

/// Name of the seek index file beside a data set.
const INDEX: &str = ".gpufeed-seek-index";
const JPEGS: usize = 24;

/// Returns a JPEG with detail everywhere, so that an error in any MCU shows.
fn jpeg(number: u32) -> Vec<u8> {
    let mut picture = encoded::picture(60 + 13 * number, 180 - 5 * number);
    for (x, y, pixel) in picture.enumerate_pixels_mut() {
        pixel.0[(x % 3) as usize] ^= ((x * 7919 + y * 104_729 + number * 31) >> 3) as u8 & 63;
    }
    encoded::encode(picture, Codec::Jpeg)
}

/// Returns a folder of JPEGs, one of them with an EXIF rotation, and a PNG, which has no seek index.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("class")).unwrap();
    for number in 0..JPEGS as u32 {
        let bytes = if number == 3 { encoded::with_exif(&jpeg(number), 6) } else { jpeg(number) };
        fs::write(folder.path().join(format!("class/{number:02}.jpg")), bytes).unwrap();
    }
    let png = encoded::encode(encoded::picture(50, 40), Codec::Png);
    fs::write(folder.path().join("class/zz.png"), png).unwrap();
    folder
}

fn loader(data: impl Dataset + 'static, indexes: SeekIndexes) -> DataLoader {
    DataLoader::builder(data)
        // The crop never shows the whole image, which would be decoded without an index.
        .transform(RandomResizedCrop::new(24).scale(0.05, 0.6))
        .transform(RandomHorizontalFlip::new(0.5))
        .batch_size(8)
        .workers(2)
        .shuffle(true)
        .seed(7)
        .seek_indexes(indexes)
        .build(&Backend::Cpu)
        .unwrap()
}

fn open(folder: &Path, indexes: SeekIndexes) -> DataLoader {
    loader(ImageFolder::open(folder).unwrap(), indexes)
}

/// Returns the bytes of an epoch's batches, and the epoch's statistics.
fn epoch(loader: &DataLoader, number: u64) -> (Vec<u8>, Stats) {
    let before = loader.stats();
    let batches = loader.epoch(number).unwrap().map(|batch| batch.unwrap().to_host().unwrap());
    let bytes = batches.flat_map(|host| host.to_vec()).collect();
    (bytes, loader.stats().since(&before))
}

#[test]
fn batches_are_the_same_and_files_are_decoded_from_inside() {
    let folder = folder();
    let [plain, indexed] = [SeekIndexes::Off, SeekIndexes::Beside].map(|indexes| open(folder.path(), indexes));
    for number in 0..3 {
        let ((expected, without), (bytes, stats)) = (epoch(&plain, number), epoch(&indexed, number));
        assert!(bytes == expected, "epoch {number} differs");
        let hits = if number == 0 { 0 } else { JPEGS as u64 };
        assert_eq!((stats.index_hits, stats.other_decoders), (hits, 1), "epoch {number}");
        assert_eq!((without.index_hits, without.other_decoders), (0, 1));
        assert!(folder.path().join(INDEX).exists());
    }
    assert!(epoch(&plain, 1).0 != epoch(&plain, 2).0, "the comparison cannot fail");
    assert!(indexed.explain().contains(INDEX) && plain.explain().contains("seek indexes: none"));
    // Another loader, as in another process, uses the index file from its first epoch on.
    let again = open(folder.path(), SeekIndexes::Beside);
    let (bytes, stats) = epoch(&again, 0);
    assert_eq!((bytes == epoch(&plain, 0).0, stats.index_hits), (true, JPEGS as u64));
}

#[test]
fn epochs_in_a_row_find_them_without_a_pause() {
    let folder = folder();
    let elsewhere = tempfile::tempdir().unwrap();
    let path = elsewhere.path().join("seek");
    for indexes in [SeekIndexes::Memory, SeekIndexes::File(path.clone())] {
        let loader = open(folder.path(), indexes);
        assert_eq!(loader.epochs(0..4).unwrap().map(Result::unwrap).count(), 4 * loader.len());
        // In epoch 1, some files may be decoded before their index from epoch 0 is finished.
        let hits = loader.stats().index_hits as usize;
        assert!((2 * JPEGS..=3 * JPEGS).contains(&hits), "{hits}");
    }
    assert!(path.exists() && !folder.path().join(INDEX).exists());
}

#[test]
fn data_sets_in_memory_have_them_too() {
    let mut data = InMemory::new();
    (0..JPEGS as u32).for_each(|number| data.push_encoded(jpeg(number), Label::None).unwrap());
    let loader = loader(data, SeekIndexes::Beside);
    let (first, second) = (epoch(&loader, 0), epoch(&loader, 0));
    assert_eq!((first.0 == second.0, second.1.index_hits), (true, JPEGS as u64));
}

#[test]
fn a_run_that_ends_early_keeps_what_it_has_built() {
    let folder = folder();
    let loader = open(folder.path(), SeekIndexes::Beside);
    assert_eq!(loader.epoch(0).unwrap().take(2).filter(Result::is_ok).count(), 2);
    assert!(folder.path().join(INDEX).exists());
    let (_, stats) = epoch(&open(folder.path(), SeekIndexes::Beside), 0);
    assert!(stats.index_hits >= 8, "{}", stats.index_hits);
}

#[test]
fn replaced_and_cut_files_are_decoded_as_they_are() {
    let folder = folder();
    epoch(&open(folder.path(), SeekIndexes::Beside), 0);
    let file = |number: u32| folder.path().join(format!("class/{number:02}.jpg"));
    // Files are replaced by another picture of the same size, one of another size, a cut file, and one with a damaged
    // byte in the scan; two more files change places.
    let mut other = encoded::picture(60, 180);
    other.pixels_mut().for_each(|pixel| pixel.0.reverse());
    fs::write(file(0), encoded::encode(other, Codec::Jpeg)).unwrap();
    fs::write(file(1), jpeg(20)).unwrap();
    let whole = fs::read(file(2)).unwrap();
    fs::write(file(2), &whole[..whole.len() / 2]).unwrap();
    let mut damaged = fs::read(file(4)).unwrap();
    let middle = damaged.len() / 2;
    damaged[middle] ^= 0x55;
    fs::write(file(4), damaged).unwrap();
    let pair = [fs::read(file(5)).unwrap(), fs::read(file(6)).unwrap()];
    fs::write(file(5), &pair[1]).unwrap();
    fs::write(file(6), &pair[0]).unwrap();
    let [plain, indexed] = [SeekIndexes::Off, SeekIndexes::Beside].map(|indexes| open(folder.path(), indexes));
    for number in 0..3 {
        let ((expected, _), (bytes, stats)) = (epoch(&plain, number), epoch(&indexed, number));
        assert!(bytes == expected, "epoch {number} differs");
        assert!(stats.index_hits >= JPEGS as u64 - 4, "{}", stats.index_hits);
    }
}

#[test]
fn a_damaged_index_gives_no_wrong_pixel() {
    let folder = folder();
    let expected = epoch(&open(folder.path(), SeekIndexes::Off), 0).0;
    epoch(&open(folder.path(), SeekIndexes::Beside), 0);
    let whole = fs::read(folder.path().join(INDEX)).unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    let path = elsewhere.path().join("seek");
    let mut dice = Dice(1);
    let (mut hits, turns) = (0, 1000);
    for turn in 0..turns {
        let mut bytes = whole.clone();
        match turn % 4 {
            0 => bytes.truncate(dice.below(bytes.len())),
            1 => bytes.extend((0..dice.below(99)).map(|_| 7)),
            _ => (0..1 + dice.below(64)).for_each(|_| {
                let at = dice.below(bytes.len());
                bytes[at] ^= 1 << (dice.below(8));
            }),
        }
        fs::write(&path, bytes).unwrap();
        let (bytes, stats) = epoch(&open(folder.path(), SeekIndexes::File(path.clone())), 0);
        assert!(bytes == expected, "turn {turn} differs");
        hits += stats.index_hits;
    }
    let share = hits as f64 / (turns * JPEGS as u64) as f64;
    assert!((0.05..0.9).contains(&share), "{share} of the files were still found: damage and use must both have been");
}

#[test]
fn an_index_that_cannot_be_written_costs_nothing_else() {
    let folder = folder();
    let path = folder.path().join("no such folder/seek");
    let [plain, indexed] = [SeekIndexes::Off, SeekIndexes::File(path)].map(|indexes| open(folder.path(), indexes));
    for number in 0..2 {
        assert!(epoch(&plain, number).0 == epoch(&indexed, number).0);
    }
    assert_eq!(epoch(&indexed, 2).1.index_hits, JPEGS as u64, "they stay in memory");
    // A user's file at the index's path is not overwritten.
    let thesis = folder.path().join("thesis.txt");
    fs::write(&thesis, "years of work").unwrap();
    epoch(&open(folder.path(), SeekIndexes::File(thesis.clone())), 0);
    assert_eq!(fs::read_to_string(thesis).unwrap(), "years of work");
}

#[test]
fn indexes_are_built_ahead_of_the_first_epoch() {
    let folder = folder();
    let data = ImageFolder::open(folder.path()).unwrap();
    let summary = SeekIndexes::Beside.build(&data, 2, |_| true).unwrap();
    assert_eq!((summary.samples, summary.built, summary.present, summary.without), (JPEGS + 1, JPEGS, 0, 1));
    assert_eq!((summary.failed.len(), summary.bytes), (0, fs::metadata(folder.path().join(INDEX)).unwrap().len()));
    let expected = epoch(&open(folder.path(), SeekIndexes::Off), 0).0;
    let (bytes, stats) = epoch(&open(folder.path(), SeekIndexes::Beside), 0);
    assert_eq!((bytes == expected, stats.index_hits), (true, JPEGS as u64));
    // A build that was stopped early is continued by the next one.
    let elsewhere = SeekIndexes::File(folder.path().join("elsewhere"));
    let part = elsewhere.build(&data, 1, |done| done < 10).unwrap();
    assert_eq!(part.built, 10);
    let rest = elsewhere.build(&data, 2, |_| true).unwrap();
    assert_eq!((rest.built, rest.present), (JPEGS - 10, 10));
    for wrong in [SeekIndexes::Off, SeekIndexes::Memory] {
        let error = wrong.build(&data, 1, |_| true).unwrap_err();
        assert!(error.to_string().contains("seek_indexes"), "{error}");
    }
}

/// A data set that panics at one sample.
struct Broken(ImageFolder);

impl Dataset for Broken {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn inner(&self) -> Option<&dyn Dataset> {
        None
    }

    fn read<'a>(&'a self, index: usize, buffer: &'a mut Vec<u8>) -> gpufeed::Result<Sample<'a>> {
        assert!(index != 20, "a bug of the data set's");
        self.0.read(index, buffer)
    }

    fn name(&self, index: usize) -> String {
        self.0.name(index)
    }

    fn folder(&self) -> Option<&Path> {
        self.0.folder()
    }
}

#[test]
fn a_panic_while_indexes_are_built_is_an_error_and_loses_nothing() {
    let folder = folder();
    let data = Broken(ImageFolder::open(folder.path()).unwrap());
    let error = SeekIndexes::Beside.build(&data, 2, |_| true).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Panic { stage: "index", .. }), "{error}");
    assert!(error.to_string().contains("a bug of the data set's"), "{error}");
    // The other thread has built the indexes of all other samples.
    let rest = SeekIndexes::Beside.build(&data.0, 1, |_| true).unwrap();
    assert_eq!((rest.built, rest.present), (1, JPEGS - 1));
}

/// Ranks that end an epoch find each other's indexes in the next one, whichever of them saved first.
#[test]
fn ranks_see_each_others_indexes() {
    const RANKS: usize = 4;
    let folder = folder();
    let rank = |rank| {
        DataLoader::builder(ImageFolder::open(folder.path()).unwrap())
            .transform(RandomResizedCrop::new(24).scale(0.05, 0.6))
            .batch_size(4)
            .workers(1)
            .shuffle(true)
            .seed(7)
            .shard(rank, RANKS)
            .build(&Backend::Cpu)
            .unwrap()
    };
    let ranks: Vec<_> = (0..RANKS).map(rank).collect();
    let hits = |number| -> Vec<_> {
        let epochs = ranks.iter().map(|rank| epoch(rank, number).1);
        epochs.map(|stats| (stats.index_hits, stats.images - stats.other_decoders)).collect()
    };
    hits(0);
    for number in 1..3 {
        for (rank, (found, jpegs)) in hits(number).into_iter().enumerate() {
            assert_eq!(found, jpegs, "rank {rank}, epoch {number}");
        }
    }
}

#[test]
fn what_is_in_the_way_is_found_before_the_work() {
    let folder = folder();
    let data = ImageFolder::open(folder.path()).unwrap();
    let thesis = folder.path().join("thesis.txt");
    fs::write(&thesis, "years of work").unwrap();
    for path in [thesis.clone(), folder.path().join("class"), folder.path().join("no such folder/seek")] {
        let error = SeekIndexes::File(path.clone()).build(&data, 1, |_| panic!("a sample was read")).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Io { path: named, .. } if *named == path), "{error}");
    }
    assert_eq!(fs::read_to_string(thesis).unwrap(), "years of work");
}

#[test]
fn indexes_of_files_that_are_gone_can_be_removed() {
    let folder = folder();
    let path = |number: u32| folder.path().join(format!("class/{number:02}.jpg"));
    let open = || ImageFolder::open(folder.path()).unwrap();
    SeekIndexes::Beside.build(&open(), 2, |_| true).unwrap();
    fs::remove_file(path(0)).unwrap();
    fs::write(path(1), jpeg(30)).unwrap();
    let built = SeekIndexes::Beside.build(&open(), 2, |_| true).unwrap();
    assert_eq!((built.built, built.present, built.pruned), (1, JPEGS - 2, None));
    // Nothing is pruned when the run ends early, or while a sample cannot be read.
    let stopped = SeekIndexes::Beside.prune(&open(), 1, |done| done < 5).unwrap();
    assert_eq!((stopped.stopped, stopped.pruned), (true, None));
    let data = open();
    let hidden = folder.path().join("hidden");
    fs::rename(path(2), &hidden).unwrap();
    let unread = SeekIndexes::Beside.prune(&data, 1, |_| true).unwrap();
    assert_eq!((unread.stopped, unread.failed.len(), unread.pruned), (false, 1, None));
    fs::rename(&hidden, path(2)).unwrap();
    let pruned = SeekIndexes::Beside.prune(&open(), 2, |_| true).unwrap();
    assert_eq!((pruned.built, pruned.present, pruned.pruned), (0, JPEGS - 1, Some(2)));
    assert!(pruned.bytes < built.bytes);
    let (_, stats) = epoch(&loader(open(), SeekIndexes::Beside), 0);
    assert_eq!(stats.index_hits, JPEGS as u64 - 1);
}

#[test]
fn one_file_is_decoded_by_its_own_index() {
    let (options, mut scratch) = (DecodeOptions::default(), Scratch::default());
    let open = |number| (jpeg(number), decode::probe(&jpeg(number), &DecodeOptions::default()).unwrap());
    let (file, probe) = open(5);
    let index = SeekIndex::build(&file, &probe, &options, &mut scratch).unwrap().unwrap();
    let bytes = index.to_bytes();
    assert!(SeekIndex::from_bytes(&bytes).unwrap() == index && bytes.len() < file.len() / 10);
    let region = Rect { left: 20, top: 90, width: 50, height: 40 };
    let mut packed = |file: &[u8], probe, index: Option<&SeekIndex>| -> Vec<u8> {
        let decoded = decode::decode_with(file, probe, region, &options, index, &mut scratch).unwrap();
        decoded.pixels.chunks(decoded.stride).flat_map(|row| row[..4 * 50].to_vec()).collect()
    };
    let expected = packed(&file, &probe, None);
    assert!(packed(&file, &probe, Some(&index)) == expected);
    // The index of another file changes nothing.
    let (other, of_other) = open(6);
    let plain = packed(&other, &of_other, None);
    assert!(packed(&other, &of_other, Some(&index)) == plain && plain != expected);
    for at in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 4;
        let error = SeekIndex::from_bytes(&damaged).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Argument { setting: "bytes", .. }), "{error}");
        assert!(SeekIndex::from_bytes(&bytes[..at]).is_err());
    }
    let png = encoded::encode(encoded::picture(50, 40), Codec::Png);
    let probe = decode::probe(&png, &options).unwrap();
    let mut scratch = Scratch::default();
    assert!(SeekIndex::build(&png, &probe, &options, &mut scratch).unwrap().is_none());
}
