//! Tests that the cache on disk stays within its bound, and which objects are evicted to make room.

use super::tests::{SIZE, SMALL, fill, folder, identity, open, read_all};
use super::*;
use gpufeed_testing::dice::Dice;
use std::fs;

/// Returns the bytes that the files in a folder take on the disk.
#[cfg(unix)]
fn on_disk(folder: &Path) -> u64 {
    use std::os::unix::fs::MetadataExt;
    // A folder or file that cannot be read counts as empty, because the cache may delete it meanwhile.
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let of = |path: PathBuf| {
        if path.is_dir() { on_disk(&path) } else { fs::metadata(path).map_or(0, |data| data.blocks() * 512) }
    };
    entries.map(|entry| of(entry.path())).sum()
}

#[test]
fn what_was_used_least_recently_makes_room() {
    let folder = folder();
    let cache = open(folder.path(), 4 * SIZE);
    let objects: Vec<_> = (0..3).map(|number| fill(&cache, number)).collect();
    let long = TOUCHED + Duration::from_millis(20);
    std::thread::sleep(long);
    read_all(&objects[0], 0);
    std::thread::sleep(long);
    let third = fill(&cache, 3);
    assert_eq!(cache.counts().evicted, 1);
    // Opens the cache a second time, as a process would that has not read any of the objects yet.
    let other = open(folder.path(), 4 * SIZE);
    let has = |number: u64| other.object(&identity(&number.to_string(), SIZE)).has(0);
    assert_eq!((0..4).map(has).collect::<Vec<_>>(), [true, false, true, true]);
    assert_eq!(read_all(&objects[1], 1), 7, "what was evicted is fetched again");
    assert_eq!((read_all(&third, 3), third.has(6)), (0, true));
}

/// The time of an object's last use is recorded again only after this time.
const TOUCHED: Duration = Duration::from_millis(100);

#[test]
fn what_is_in_use_makes_no_room() {
    let folder = folder();
    let cache = open(folder.path(), 3 * SIZE);
    let (old, newer) = (fill(&cache, 0), fill(&cache, 1));
    let in_use = cache.shared.locks.read(old.0.key);
    assert!(matches!(in_use, locks::Read::Held { .. }));
    fill(&cache, 2);
    assert!(open(folder.path(), 3 * SIZE).object(&identity("0", SIZE)).has(0));
    assert_eq!(read_all(&newer, 1), 7);
    drop(in_use);
}

#[cfg(unix)]
#[test]
fn the_bound_holds_to_one_block_for_each_that_writes() {
    let folder = folder();
    let bound = 3 * SIZE;
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for rank in 0..3 {
            let (folder, done) = (folder.path(), &done);
            scope.spawn(move || {
                let cache = open(folder, bound);
                let mut dice = Dice(rank);
                for _ in 0..30 {
                    fill(&cache, dice.below(12) as u64);
                }
                done.store(true, Relaxed);
            });
        }
        let mut most = 0;
        while !done.load(Relaxed) {
            // Files come and go while they are counted, so that one count may have an object and the one that took its room.
            let counts = [(); 3].map(|()| on_disk(&folder.path().join("objects")));
            most = most.max(counts.into_iter().min().unwrap_or(0));
        }
        // A block of 100,000 bytes takes up to 26 pages of 4 KiB; one more page is allowed for. Tables and folders take
        // a page each.
        let pages = 3 * (SMALL + 3 * 4096) + 12 * 4096 * 4;
        assert!(most <= bound + pages, "{most} of {bound}");
        assert!(most > bound / 2, "it is used");
    });
}

#[test]
fn an_object_larger_than_the_bound_stays_in_part() {
    let folder = folder();
    let cache = open(folder.path(), 3 * SIZE);
    let object = cache.object(&identity("9", 30 * SMALL));
    assert_eq!(read_all(&object, 9), 30);
    cache.flush();
    let fetched = read_all(&cache.object(&identity("9", 30 * SMALL)), 9);
    assert!((10..16).contains(&fetched), "{fetched}");
    assert!(cache.shared.warned.load(Relaxed));
}

/// If the stored sum of reserved bytes is wrong, the cache counts the bytes in its folder instead.
#[test]
fn a_sum_that_is_wrong_is_corrected() {
    let folder = folder();
    for sum in [&b"nonsense"[..], &[0xFF; 16], &[]] {
        let cache = open(folder.path(), 3 * SIZE);
        fill(&cache, 1);
        fs::write(folder.path().join("room"), sum).unwrap();
        for number in 2..6 {
            fill(&cache, number);
        }
        let other = open(folder.path(), 3 * SIZE);
        let there = (1..6).filter(|number| other.object(&identity(&number.to_string(), SIZE)).has(0)).count();
        assert!((2..=3).contains(&there), "{there}");
    }
}
