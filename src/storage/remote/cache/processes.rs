//! Tests of processes that share the cache on disk, and of processes that are killed. A child process runs this test
//! program again, with the name of one test; an environment variable tells that test that it is the child.

use super::tests::{SMALL, content, get, identity};
use super::*;
use gpufeed_testing::dice::Dice;
use gpufeed_testing::pipeline::is_full;
use std::collections::HashSet;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;

/// The environment variable that gives a child process the folder to work in.
const FOLDER: &str = "GPUFEED_TEST_FOLDER";
const BLOCKS: u64 = 300;
/// The bound of the cache in bytes. It is more than the objects of any of these tests take, so nothing is evicted: a
/// block that was whole stays whole.
const BOUND: u64 = 16 << 30;
/// The timeout of the tests, far more than any of them takes.
const LONG: Duration = Duration::from_secs(120);

fn folder_of_child() -> Option<PathBuf> {
    std::env::var_os(FOLDER).map(PathBuf::from)
}

/// A child process that is killed when this is dropped.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn child(test: &str, folder: &Path) -> Killed {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([&format!("storage::remote::cache::processes::{test}"), "--exact"]).stdout(Stdio::null());
    Killed(command.env(FOLDER, folder).spawn().unwrap())
}

fn wait_for(what: impl Fn() -> bool) {
    let start = Instant::now();
    while !what() {
        assert!(start.elapsed() < LONG, "it never comes");
        sleep(Duration::from_millis(1));
    }
}

/// Reads all blocks of an object through the cache, and compares their bytes. Appends the number of each block that it
/// has to fetch to the file `fetched`; `pause` is how long a fetch takes.
fn read_all(folder: &Path, object: u64, pause: Duration) {
    let cache = BlockCache::open(&folder.join("cache"), BOUND, SMALL);
    let cached = cache.object(&identity(&object.to_string(), BLOCKS * SMALL));
    let mut log = OpenOptions::new().append(true).create(true).open(folder.join("fetched")).unwrap();
    for block in 0..BLOCKS {
        let bytes = get(&cached, block, || {
            log.write_all(&(object * BLOCKS + block).to_le_bytes()).unwrap();
            sleep(pause);
            content(object, block, SMALL)
        });
        assert!(bytes == content(object, block, SMALL), "block {block} has other bytes");
    }
}

fn fetched(folder: &Path) -> Vec<u64> {
    let log = fs::read(folder.join("fetched")).unwrap_or_default();
    log.chunks_exact(8).map(|number| u64::from_le_bytes(number.try_into().unwrap())).collect()
}

/// Reads every block that the cache has of the first `objects` objects, compares the block's bytes, and returns the
/// numbers of all these blocks.
fn whole(folder: &Path, objects: u64) -> HashSet<u64> {
    let cache = BlockCache::open(&folder.join("cache"), BOUND, SMALL);
    let mut whole = HashSet::new();
    let mut buffer = vec![0; SMALL as usize];
    for object in 0..objects {
        let cached = cache.object(&identity(&object.to_string(), BLOCKS * SMALL));
        for block in (0..BLOCKS).filter(|block| cached.has(*block)) {
            assert!(cached.read(block, 0, &mut buffer), "the table says that block {block} is whole");
            assert!(buffer == content(object, block, SMALL), "block {block} has other bytes");
            whole.insert(object * BLOCKS + block);
        }
    }
    assert_eq!(cache.counts().damaged, 0);
    whole
}

/// Kills one process, or two at once, at a random moment while they read, again and again.
#[test]
fn a_killed_process_leaves_blocks_that_are_whole_or_absent() {
    const OBJECTS: u64 = 200;
    if let Some(folder) = folder_of_child() {
        for object in 0..OBJECTS {
            read_all(&folder, object, Duration::from_micros(300));
        }
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut dice = Dice(1);
    let (mut known, mut seen) = (HashSet::new(), 0);
    let kills = if is_full() { 200 } else { 20 };
    for kill in 0..kills {
        let test = "a_killed_process_leaves_blocks_that_are_whole_or_absent";
        let mut children: Vec<_> = (0..1 + kill % 2).map(|_| child(test, folder.path())).collect();
        wait_for(|| fetched(folder.path()).len() > seen);
        sleep(Duration::from_micros(dice.below(120_000) as u64));
        for child in &mut children {
            child.0.kill().unwrap();
            assert!(!child.0.wait().unwrap().success(), "it was killed while it read");
        }
        let log = fetched(folder.path());
        let again: Vec<_> = log[seen..].iter().filter(|number| known.contains(*number)).collect();
        assert!(again.is_empty(), "kill {kill}: {again:?} were whole, and were fetched again");
        seen = log.len();
        let objects = log.iter().max().unwrap() / BLOCKS + 1;
        let before = known.len();
        known = whole(folder.path(), objects);
        assert!(known.len() >= before, "a kill took blocks that were whole");
    }
    assert!(known.len() > kills, "{} blocks after {kills} kills", known.len());
}

#[test]
fn two_processes_fetch_each_block_once() {
    if let Some(folder) = folder_of_child() {
        fs::write(folder.join(format!("ready-{}", std::process::id())), "").unwrap();
        let ready = || {
            fs::read_dir(&folder)
                .unwrap()
                .flatten()
                .filter(|entry| entry.file_name().to_string_lossy().starts_with("ready"))
                .count()
        };
        wait_for(|| ready() >= 2);
        read_all(&folder, 0, Duration::from_millis(1));
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut children = [(); 2].map(|()| child("two_processes_fetch_each_block_once", folder.path()));
    for child in &mut children {
        assert!(child.0.wait().unwrap().success());
    }
    let mut fetched = fetched(folder.path());
    fetched.sort_unstable();
    assert_eq!(fetched, (0..BLOCKS).collect::<Vec<_>>());
    assert_eq!(whole(folder.path(), 1).len() as u64, BLOCKS);
}

#[test]
fn the_claim_of_a_killed_process_goes_to_the_next() {
    if let Some(folder) = folder_of_child() {
        let cache = BlockCache::open(&folder.join("cache"), BOUND, SMALL);
        let object = cache.object(&identity("0", BLOCKS * SMALL));
        let claim = object.look_up(0, Duration::ZERO);
        fs::write(folder.join("ready"), "").unwrap();
        sleep(LONG);
        drop(claim);
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let child = child("the_claim_of_a_killed_process_goes_to_the_next", folder.path());
    wait_for(|| folder.path().join("ready").exists());
    let cache = BlockCache::open(&folder.path().join("cache"), BOUND, SMALL);
    let object = cache.object(&identity("0", BLOCKS * SMALL));
    assert!(matches!(object.look_up(0, Duration::ZERO), Lookup::Busy));
    drop(child);
    wait_for(|| matches!(object.look_up(0, Duration::ZERO), Lookup::Fetch(_)));
}

#[test]
fn a_folder_deleted_under_two_processes_changes_no_byte() {
    if let Some(folder) = folder_of_child() {
        for _ in 0..6 {
            read_all(&folder, 0, Duration::ZERO);
        }
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut children = [(); 2].map(|()| child("a_folder_deleted_under_two_processes_changes_no_byte", folder.path()));
    let mut deleted = 0;
    let start = Instant::now();
    while children.iter_mut().any(|child| child.0.try_wait().unwrap().is_none()) {
        assert!(start.elapsed() < LONG, "a process hangs");
        deleted += usize::from(fs::remove_dir_all(folder.path().join("cache")).is_ok());
        sleep(Duration::from_millis(15));
    }
    for child in &mut children {
        assert!(child.0.wait().unwrap().success());
    }
    assert!(deleted > 3, "{deleted}");
}
