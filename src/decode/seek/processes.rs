//! Processes that save to one file at the same time. A child process runs this test program again; environment
//! variables give it its task.

use super::{SeekIndexes, SeekStore};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::{sleep, yield_now};
use std::time::{Duration, Instant};

const PROCESSES: u64 = 8;
const TRIALS: u64 = 20;
const RECORDS: u64 = 125;
/// The environment variables with the number of a child, and the folder.
const RANK: &str = "GPUFEED_TEST_RANK";
const FOLDER: &str = "GPUFEED_TEST_FOLDER";
/// The timeout of the tests, far more than any of them takes.
const LONG: Duration = Duration::from_secs(60);

fn task() -> Option<(u64, PathBuf)> {
    Some((std::env::var(RANK).ok()?.parse().ok()?, std::env::var_os(FOLDER)?.into()))
}

fn child(test: &str, rank: u64, folder: &Path) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([&format!("decode::seek::processes::{test}"), "--exact"]).stdout(Stdio::null());
    command.env(RANK, rank.to_string()).env(FOLDER, folder).spawn().unwrap()
}

fn store(path: &Path) -> SeekStore {
    SeekStore::open(&SeekIndexes::File(path.to_owned()), None, 1 << 24).unwrap()
}

/// Returns a record and its key.
fn record(rank: u64, number: u64) -> (u128, Vec<u8>) {
    let content = [rank.to_le_bytes(), number.to_le_bytes()].concat();
    (SeekStore::key(&content), content.repeat(30))
}

fn wait_for(what: impl Fn() -> bool) {
    let start = Instant::now();
    while !what() {
        assert!(start.elapsed() < LONG, "it never comes");
        yield_now();
    }
}

/// Each of eight processes has its own records for twenty files, and all save at the same moment, twenty times.
#[test]
fn all_records_of_all_processes_are_there() {
    if let Some((rank, folder)) = task() {
        for trial in 0..TRIALS {
            let store = store(&folder.join(format!("index-{trial}")));
            for number in 0..RECORDS {
                let (key, content) = record(rank, number);
                store.put(key, content);
            }
            fs::write(folder.join(format!("ready-{trial}-{rank}")), "").unwrap();
            wait_for(|| (0..PROCESSES).all(|rank| folder.join(format!("ready-{trial}-{rank}")).exists()));
            assert!(store.save(LONG).unwrap());
        }
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let children = (0..PROCESSES).map(|rank| child("all_records_of_all_processes_are_there", rank, folder.path()));
    for mut child in children.collect::<Vec<_>>() {
        assert!(child.wait().unwrap().success());
    }
    let mut lost = Vec::new();
    for trial in 0..TRIALS {
        let store = store(&folder.path().join(format!("index-{trial}")));
        let mut buffer = Vec::new();
        let all = (0..PROCESSES).flat_map(|rank| (0..RECORDS).map(move |number| record(rank, number)));
        lost.push(all.filter(|(key, content)| !store.get(*key, &mut buffer) || buffer != *content).count());
    }
    assert_eq!(lost, [0; TRIALS as usize]);
}

/// A data set that is so slow to read that its index is saved before the end.
#[test]
fn what_a_killed_process_has_saved_stays() {
    if let Some((_, folder)) = task() {
        let mut data = crate::InMemory::new();
        for number in 0..200 {
            data.push_encoded(jpeg(number), crate::Label::None).unwrap();
        }
        let index = SeekIndexes::File(folder.join("index"));
        let slowly = |_| {
            sleep(Duration::from_millis(250));
            true
        };
        index.build(&data, 1, slowly).unwrap();
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index");
    let mut child = child("what_a_killed_process_has_saved_stays", 0, folder.path());
    wait_for(|| path.exists());
    child.kill().unwrap();
    assert!(!child.wait().unwrap().success(), "it was killed while it built");
    let store = store(&path);
    let mut buffer = Vec::new();
    let found = (0..200).take_while(|number| store.get(SeekStore::key(&jpeg(*number)), &mut buffer)).count();
    assert!((1..200).contains(&found), "{found}");
}

fn jpeg(number: u8) -> Vec<u8> {
    let picture = image::RgbImage::from_fn(40, 30, |x, y| image::Rgb([x as u8 * 5, y as u8 * 7, number]));
    let mut file = std::io::Cursor::new(Vec::new());
    picture.write_to(&mut file, image::ImageFormat::Jpeg).unwrap();
    file.into_inner()
}

/// The loader's end saves the records that an epoch's end could not save.
#[test]
fn what_an_epochs_end_could_not_save_is_saved_at_the_loaders() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index");
    let saver = super::Saver::new(store(&path));
    let (key, content) = record(0, 0);
    saver.store().put(key, content);
    let lock = super::lock::take(&path, Duration::ZERO).unwrap();
    let start = Instant::now();
    saver.after_run();
    // The background thread may wait longer than the end of the run.
    assert!(start.elapsed() < Duration::from_secs(5) && !path.exists());
    drop(lock);
    drop(saver);
    assert!(store(&path).get(key, &mut Vec::new()));
}
