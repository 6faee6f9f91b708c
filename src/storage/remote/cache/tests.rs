//! Tests of the cache in one process. `room_tests.rs` tests that the cache keeps within its bound.

use super::*;
use bytes::Bytes;
use gpufeed_testing::dice::Dice;
use gpufeed_testing::pipeline::is_full;
use std::fs;
use std::io::{Read as _, Seek, SeekFrom, Write};
use std::sync::atomic::AtomicUsize;

/// Bytes of a block in these tests: seven leaves, of which the last is short.
pub(super) const SMALL: u64 = 100_000;
/// Bytes of an object in these tests: seven blocks, of which the last is short.
pub(super) const SIZE: u64 = 6 * SMALL + 70_000;

pub(super) fn identity(address: &str, size: u64) -> Identity<'_> {
    Identity { address, etag: Some("\"abc\""), size, modified: 1_700_000_000_000, query: 0 }
}

/// Returns the bytes of a block of the object with this number: random ones, the same in each call.
pub(super) fn content(object: u64, block: u64, length: u64) -> Bytes {
    let mut dice = Dice(object << 32 | block);
    let mut bytes: Vec<u8> = (0..length.div_ceil(8)).flat_map(|_| dice.bits().to_le_bytes()).collect();
    bytes.truncate(length as usize);
    bytes.into()
}

/// Reads a block as the reader of a remote data set does: looks the block up, and calls `fetch` if the cache does not
/// have it.
pub(super) fn get(object: &CachedObject, block: u64, fetch: impl FnOnce() -> Bytes) -> Bytes {
    let start = Instant::now();
    loop {
        match object.look_up(block, start.elapsed()) {
            Lookup::Hit(bytes) => return bytes.into(),
            Lookup::Fetch(claim) => {
                let bytes = fetch();
                claim.insert(bytes.clone());
                return bytes;
            }
            Lookup::Stream => return fetch(),
            Lookup::Busy => std::thread::sleep(Duration::from_millis(2)),
        }
    }
}

/// Reads all blocks of the object with this number, compares their bytes, and returns how many blocks were fetched.
pub(super) fn read_all(object: &CachedObject, number: u64) -> usize {
    let fetched = AtomicUsize::new(0);
    for block in 0..object.blocks() {
        let expected = content(number, block, object.0.length(block));
        let bytes = get(object, block, || {
            fetched.fetch_add(1, Relaxed);
            expected.clone()
        });
        assert!(bytes == expected, "block {block} has other bytes");
    }
    fetched.into_inner()
}

pub(super) fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

pub(super) fn open(folder: &Path, bytes: u64) -> BlockCache {
    BlockCache::open(folder, bytes, SMALL)
}

/// Puts all blocks of an object with this number into the cache.
pub(super) fn fill(cache: &BlockCache, number: u64) -> CachedObject {
    let object = cache.object(&identity(&number.to_string(), SIZE));
    read_all(&object, number);
    cache.flush();
    object
}

#[test]
fn what_was_inserted_comes_back_whole_and_in_parts() {
    let folder = folder();
    let cache = open(folder.path(), 1 << 30);
    let object = cache.object(&identity("s3://b/1.tar", SIZE));
    assert_eq!((object.blocks(), object.has(3)), (7, false));
    assert_eq!(read_all(&object, 1), 7);
    cache.flush();
    assert!(object.has(3));
    // Opens the cache a second time, as another process would, which has not read the object's table.
    let other = open(folder.path(), 1 << 30);
    let again = other.object(&identity("s3://b/1.tar", SIZE));
    assert!(again.has(3));
    assert_eq!(read_all(&again, 1), 0);
    let (mut dice, mut buffer) = (Dice(5), Vec::new());
    for _ in 0..200 {
        let block = dice.below(7) as u64;
        let length = object.0.length(block) as usize;
        let (a, b) = (dice.below(length + 1), dice.below(length + 1));
        let range = a.min(b)..a.max(b);
        buffer.resize(range.len(), 0);
        assert!(again.read(block, range.start as u64, &mut buffer));
        assert!(buffer == content(1, block, length as u64)[range.clone()], "{block} {range:?}");
    }
    assert!(!again.read(6, 0, &mut [0; 70_001]), "the block is shorter");
    assert_eq!(other.counts().hits, 207);
    assert_eq!((cache.counts().inserted, cache.counts().left_out), (7, 0));
}

#[test]
fn another_version_of_an_object_is_another_object() {
    let known = identity("a", SIZE);
    let others = [
        Identity { address: "b", ..known },
        Identity { etag: None, ..known },
        Identity { etag: Some("\"abd\""), ..known },
        Identity { size: SIZE + 1, ..known },
        Identity { modified: known.modified + 1, ..known },
        Identity { query: 1, ..known },
    ];
    let mut keys: Vec<_> = others.iter().map(|other| other.key(SMALL)).collect();
    keys.extend([known.key(SMALL), known.key(SMALL + 1)]);
    keys.sort_unstable();
    keys.dedup();
    assert_eq!(keys.len(), 8);
    // The key of an identity is the same in every process, so that processes can share the folder.
    assert_eq!(known.key(SMALL), identity("a", SIZE).key(SMALL));
}

fn flip_a_bit(path: &Path, at: u64, bit: usize) {
    let mut file = fs::File::options().read(true).write(true).open(path).unwrap();
    let mut byte = [0];
    file.seek(SeekFrom::Start(at)).unwrap();
    file.read_exact(&mut byte).unwrap();
    byte[0] ^= 1 << bit;
    file.seek(SeekFrom::Start(at)).unwrap();
    file.write_all(&byte).unwrap();
}

#[test]
fn a_flipped_bit_is_never_read_and_its_block_is_fetched_again() {
    let folder = folder();
    let cache = open(folder.path(), 1 << 30);
    let object = fill(&cache, 1);
    let path = object.0.folder.join("data");
    let mut dice = Dice(11);
    let trials = if is_full() { 200 } else { 20 };
    for trial in 0..trials {
        // The file has the object's bytes up to the end of the last leaf, and then the hashes of all leaves: seven for
        // each block, and five for the last block.
        let hashes = SIZE.next_multiple_of(data::LEAF);
        let in_hashes = trial % 10 == 9;
        let at = if in_hashes { hashes + dice.below((6 * 7 + 5) * 8) as u64 } else { dice.below(SIZE as usize) as u64 };
        flip_a_bit(&path, at, dice.below(8));
        // Half of the flipped bits are found through a cache that has read the table before, half through a new one.
        let fresh = open(folder.path(), 1 << 30);
        let (cache, object) = match trial % 2 {
            0 => (&cache, object.clone()),
            _ => (&fresh, fresh.object(&identity("1", SIZE))),
        };
        let before = cache.counts().damaged;
        assert_eq!(read_all(&object, 1), 1, "trial {trial}, byte {at}");
        assert_eq!(cache.counts().damaged - before, 1);
        cache.flush();
        assert_eq!(read_all(&object, 1), 0, "it is whole again");
    }
}

#[test]
fn a_damaged_table_is_no_table() {
    let folder = folder();
    let object = fill(&open(folder.path(), 1 << 30), 1);
    let path = object.0.folder.join("table");
    let whole = fs::read(&path).unwrap();
    let mut dice = Dice(3);
    for trial in 0..20 {
        fs::write(&path, &whole).unwrap();
        match trial {
            0 => fs::write(&path, b"").unwrap(),
            1 => fs::write(&path, &whole[..whole.len() - 8]).unwrap(),
            _ => flip_a_bit(&path, dice.below(whole.len()) as u64, dice.below(8)),
        }
        let cache = open(folder.path(), 1 << 30);
        let fetched = read_all(&cache.object(&identity("1", SIZE)), 1);
        // A damaged table counts as absent, so all seven blocks are fetched.
        assert_eq!(fetched, 7, "trial {trial}");
        cache.flush();
    }
}

#[test]
fn a_claimed_block_is_waited_for_and_goes_to_the_next_if_it_is_given_up() {
    let folder = folder();
    let [one, other] = [0; 2].map(|_| BlockCache::with_patience(folder.path(), 1 << 30, SMALL, Duration::from_secs(1)));
    let [one, other] = [&one, &other].map(|cache| cache.object(&identity("1", SIZE)));
    let Lookup::Fetch(claim) = one.look_up(2, Duration::ZERO) else { panic!("it is free") };
    assert!(matches!(other.look_up(2, Duration::ZERO), Lookup::Busy));
    assert!(matches!(one.look_up(2, Duration::ZERO), Lookup::Busy), "also within a process");
    assert!(matches!(other.look_up(2, Duration::from_secs(1)), Lookup::Stream), "no wait without an end");
    assert!(matches!(other.look_up(1, Duration::ZERO), Lookup::Fetch(_)), "another block");
    drop(claim);
    let Lookup::Fetch(claim) = other.look_up(2, Duration::ZERO) else { panic!("it was given up") };
    claim.insert(content(1, 2, SMALL));
    let bytes = get(&one, 2, || unreachable!("it comes from the other one"));
    assert!(bytes == content(1, 2, SMALL));
}

#[test]
fn an_eviction_that_never_ends_is_not_waited_for() {
    let folder = folder();
    let cache = BlockCache::with_patience(folder.path(), 1 << 30, SMALL, Duration::from_secs(1));
    let object = fill(&cache, 1);
    // Holds the object's lock, as a process does that is suspended while it evicts the object.
    let held = cache.shared.locks.evict(object.0.key).unwrap();
    assert!(matches!(object.look_up(2, Duration::ZERO), Lookup::Busy));
    assert!(matches!(object.look_up(2, Duration::from_secs(1)), Lookup::Stream));
    drop(held);
    assert!(matches!(object.look_up(2, Duration::ZERO), Lookup::Hit(_)));
}

#[test]
fn an_insert_of_another_length_is_left_out() {
    let folder = folder();
    let cache = open(folder.path(), 1 << 30);
    let object = cache.object(&identity("1", SIZE));
    let Lookup::Fetch(claim) = object.look_up(0, Duration::ZERO) else { panic!() };
    claim.insert(content(1, 0, SMALL - 1));
    cache.flush();
    assert_eq!((cache.counts().inserted, cache.counts().left_out, object.has(0)), (0, 1, false));
}

/// A subscriber that counts the warnings of the cache.
struct Warnings(Arc<AtomicUsize>);

impl tracing::Subscriber for Warnings {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        metadata.target().contains("remote::cache")
    }
    fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        tracing::span::Id::from_u64(1)
    }
    fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}
    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}
    fn event(&self, _: &tracing::Event<'_>) {
        self.0.fetch_add(1, Relaxed);
    }
    fn enter(&self, _: &tracing::span::Id) {}
    fn exit(&self, _: &tracing::span::Id) {}
}

#[test]
fn a_bound_smaller_than_a_block_and_a_folder_that_cannot_be_stream_and_say_so_once() {
    let folder = folder();
    let file = folder.path().join("file");
    fs::write(&file, "this is no folder").unwrap();
    for (path, bytes) in [(folder.path(), SMALL - 1), (&file, 1 << 30), (&file.join("below"), 1 << 30)] {
        let count = Arc::new(AtomicUsize::new(0));
        tracing::subscriber::with_default(Warnings(Arc::clone(&count)), || {
            let cache = open(path, bytes);
            let object = cache.object(&identity("1", 3 * SMALL));
            assert_eq!((read_all(&object, 1), read_all(&object, 1)), (3, 3), "{}", path.display());
            assert_eq!(cache.counts(), CacheCounts::default());
        });
        assert_eq!(count.load(Relaxed), 1, "{}", path.display());
    }
    assert_eq!(fs::read(&file).unwrap(), b"this is no folder");
}

/// /dev/full fails every write as a full disk does.
#[cfg(target_os = "linux")]
#[test]
fn on_a_full_disk_blocks_are_streamed_and_what_is_there_is_read() {
    let folder = folder();
    let cache = open(folder.path(), 1 << 30);
    let there = fill(&cache, 1);
    let object = cache.object(&identity("2", SIZE));
    fs::create_dir_all(&object.0.folder).unwrap();
    std::os::unix::fs::symlink("/dev/full", object.0.folder.join("data")).unwrap();
    assert_eq!(read_all(&object, 2), 7);
    cache.flush();
    assert!(cache.shared.warned.load(Relaxed) && cache.shared.is_paused());
    assert_eq!((read_all(&object, 2), read_all(&there, 1)), (7, 0));
    let counts = cache.counts();
    // After the first write has failed, blocks are fetched without being queued for the disk, and are not counted.
    assert!(counts.inserted == 7 && (1..=7).contains(&counts.left_out), "{counts:?}");
}

#[test]
fn a_folder_that_is_deleted_is_made_again() {
    let folder = folder();
    let path = folder.path().join("cache");
    let cache = open(&path, 1 << 30);
    let object = fill(&cache, 1);
    for part in ["", "objects", "locks", "room"] {
        let doomed = path.join(part);
        if doomed.is_dir() { fs::remove_dir_all(&doomed) } else { fs::remove_file(&doomed) }.unwrap();
        let fetched = read_all(&object, 1);
        assert_eq!(fetched, if ["", "objects"].contains(&part) { 7 } else { 0 }, "{part}");
        cache.flush();
        assert_eq!(read_all(&object, 1), 0, "{part}");
    }
    assert!(!cache.shared.warned.load(Relaxed), "nothing is wrong");
}
