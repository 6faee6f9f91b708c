//! Records outlive their process: several writers, budgets, damaged files, folders without locks.

use super::*;

const SOON: Duration = Duration::from_secs(10);

fn store(path: &Path, budget: u64) -> SeekStore {
    SeekStore::open(&SeekIndexes::File(path.to_owned()), None, budget).unwrap()
}

fn all_found(store: &SeekStore, count: u8) -> bool {
    let mut buffer = Vec::new();
    (0..count).all(|i| store.get(SeekStore::key(&[i]), &mut buffer) && buffer == [i; 100])
}

#[test]
fn records_outlive_the_process_and_the_budget() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index");
    // The budget of 1,000 bytes is enough for six records.
    let first = store(&path, 1000);
    (0..50).for_each(|i| first.put(SeekStore::key(&[i]), vec![i; 100]));
    assert!(all_found(&first, 50));
    assert!(path.exists(), "the budget was exceeded");
    assert!(first.fresh.lock().unwrap().bytes <= 1000);
    assert!(first.save(SOON).unwrap());
    assert!(!first.is_due());
    assert!(all_found(&store(&path, 0), 50));
}

#[test]
fn without_a_file_memory_holds_what_it_may() {
    let store = SeekStore::open(&SeekIndexes::Beside, None, 1000).unwrap();
    (0..50).for_each(|i| store.put(SeekStore::key(&[i]), vec![i; 100]));
    let mut buffer = Vec::new();
    let found = (0..50).filter(|i| store.get(SeekStore::key(&[*i]), &mut buffer)).count();
    assert_eq!(found, 6);
    assert!(!store.is_due());
    assert!(store.save(SOON).unwrap());
    assert!(SeekStore::open(&SeekIndexes::Off, None, 1000).is_none());
}

#[test]
fn what_cannot_be_written_stays_in_memory() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("no such folder").join("index");
    let store = store(&path, 1 << 20);
    (0..50).for_each(|i| store.put(SeekStore::key(&[i]), vec![i; 100]));
    assert!(store.is_due());
    let error = store.save(SOON).unwrap_err();
    assert!(error.to_string().contains("no such folder"), "{error}");
    assert!(!store.is_due(), "it would fail again");
    assert!(all_found(&store, 50));
}

#[test]
fn two_processes_keep_each_others_records() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index");
    let [a, b] = [store(&path, 1 << 20), store(&path, 1 << 20)];
    (0..30).for_each(|i| a.put(SeekStore::key(&[i]), vec![i; 100]));
    (20..50).for_each(|i| b.put(SeekStore::key(&[i]), vec![i; 100]));
    assert!(a.save(SOON).unwrap() && b.save(SOON).unwrap());
    assert!(all_found(&b, 50));
    // A loader calls `refresh` at the start of an epoch.
    assert!(a.refresh() && !a.refresh());
    assert!(all_found(&a, 50));
}

#[test]
fn a_damaged_file_is_replaced_and_a_foreign_one_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index");
    let first = store(&path, 1 << 20);
    first.put(SeekStore::key(&[1]), vec![1; 100]);
    assert!(first.save(SOON).unwrap());
    let whole = std::fs::read(&path).unwrap();
    for (content, ours) in
        [(&whole[..70], true), (&whole[..20], true), (&whole[..0], true), (b"my thesis", false), (b"my", false)]
    {
        std::fs::write(&path, content).unwrap();
        let store = store(&path, 1 << 20);
        (0..50).for_each(|i| store.put(SeekStore::key(&[i]), vec![i; 100]));
        assert_eq!(store.is_due(), ours);
        store.put(SeekStore::key(&[50]), vec![50; 100]);
        assert_eq!(store.save(SOON).is_ok(), ours, "{content:?}");
        assert!(all_found(&store, 50));
        assert_eq!(std::fs::read(&path).unwrap() == content, !ours);
    }
}

#[test]
fn who_does_not_get_the_lock_keeps_its_records_and_tries_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index");
    let store = store(&path, 1 << 20);
    (0..50).for_each(|i| store.put(SeekStore::key(&[i]), vec![i; 100]));
    let lock = lock::take(&path, Duration::ZERO).unwrap();
    assert!(!store.save(Duration::from_millis(20)).unwrap());
    assert!(store.is_due() && all_found(&store, 50) && !path.exists());
    drop(lock);
    assert!(store.save(Duration::ZERO).unwrap());
    assert!(!store.is_due() && all_found(&store, 50) && path.exists());
}

#[test]
fn without_locks_files_are_written_anew() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index");
    let some = |range: std::ops::Range<u8>| range.map(|i| (SeekStore::key(&[i]), vec![i; 100].into())).collect();
    let first = add(&path, false, &some(0..30)).unwrap().unwrap();
    let second = add(&path, false, &some(30..50)).unwrap().unwrap();
    assert_eq!((first.len(), second.len()), (30, 50));
    let known = first.stamp();
    assert!(known != second.stamp());
    // The first file is not extended, because another process might be doing that.
    assert!(all_found(&store(&path, 0), 50));
    let mut buffer = Vec::new();
    assert!((0..30).all(|i| first.get(SeekStore::key(&[i]), &mut buffer)));
}

#[test]
fn records_of_files_that_are_gone_are_pruned() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index");
    let first = store(&path, 1 << 20);
    (0..50).for_each(|i| first.put(SeekStore::key(&[i]), vec![i; 100]));
    assert!(first.save(SOON).unwrap());
    (50..60).for_each(|i| first.put(SeekStore::key(&[i]), vec![i; 100]));
    assert!(first.save(SOON).unwrap());
    let size = std::fs::metadata(&path).unwrap().len();
    let keys = (0..20).chain(55..60).map(|i| SeekStore::key(&[i])).collect();
    assert_eq!(first.prune(&keys, SOON).unwrap(), Some(35));
    assert!(std::fs::metadata(&path).unwrap().len() < size * 3 / 4);
    let mut buffer = Vec::new();
    let found: Vec<u8> = (0..60).filter(|i| first.get(SeekStore::key(&[*i]), &mut buffer)).collect();
    assert_eq!(found, (0..20).chain(55..60).collect::<Vec<u8>>());
    assert_eq!(first.prune(&keys, SOON).unwrap(), Some(0));
}
