//! Writes a file of seek indexes: adds a segment, or rewrites the whole file.

use super::file::{HEADER, IndexFile, header};
use super::record::{CHECKSUM, ENTRY, LONGEST, RecordEntry, checksum};
use super::segment;
use crate::storage::local::atomic_file;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::Path;
use std::time::Duration;

/// Age at which a temporary file counts as left by a killed process.
const ABANDONED: Duration = Duration::from_secs(60 * 60);

/// Adds a segment at `end`, the end of the file. No other process may write at the same time; readers still find the
/// older records.
///
/// # Errors
/// Returns the system's error; the file is then as before, if it can still be shortened.
pub(super) fn append(path: &Path, end: u64, records: &[(u128, &[u8])]) -> io::Result<()> {
    let file = OpenOptions::new().write(true).open(path)?;
    atomic_file::take_from_others(&file);
    let write = || {
        let mut out = BufWriter::with_capacity(1 << 20, &file);
        out.seek(SeekFrom::Start(end))?;
        segment::write(&mut out, end, records)?;
        out.flush()
    };
    write().inspect_err(|_| {
        // If this fails, the next save rewrites the file.
        let _ = file.set_len(end);
    })
}

/// Writes the new records, and those of `old` for which `stays` returns true, to a temporary file, then renames it to
/// `path`. Readers see the old file or the new one, and a killed process leaves no file that looks whole.
///
/// # Errors
/// Returns the system's error, for example for a folder that cannot be written to, or a full disk. The old file stays
/// unchanged.
pub(super) fn rewrite(
    path: &Path,
    old: Option<&IndexFile>,
    stays: impl Fn(u128) -> bool,
    new: &[(u128, &[u8])],
) -> io::Result<()> {
    remove_abandoned(atomic_file::folder_of(path));
    let mut table = RecordTable::new(old.map_or(0, IndexFile::len) + new.len() as u64);
    let mut offset = HEADER as u64 + table.bytes();
    atomic_file::replace(path, |out| {
        out.seek(SeekFrom::Start(offset))?;
        let mut add = |key: u128, record: &[u8]| {
            let length = u32::try_from(record.len()).unwrap_or(u32::MAX);
            if length <= LONGEST && table.put(RecordEntry { key, offset, length }) {
                out.write_all(&checksum(key, record).to_le_bytes())?;
                out.write_all(record)?;
                offset += (CHECKSUM + record.len()) as u64;
            }
            Ok(())
        };
        // New records come first, because the first of two records with the same key stays.
        for &(key, record) in new {
            add(key, record)?;
        }
        if let Some(old) = old {
            old.each(|key, record| if stays(key) { add(key, record) } else { Ok(()) })?;
        }
        let records = table.taken;
        out.seek(SeekFrom::Start(0))?;
        out.write_all(&header(records, table.entries.len() as u64, offset))?;
        for entry in &table.entries {
            out.write_all(&entry.write())?;
        }
        Ok(())
    })
}

/// Removes the temporary files of killed processes.
fn remove_abandoned(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let old = || entry.metadata().ok()?.modified().ok()?.elapsed().ok().map(|age| age > ABANDONED);
        if name.starts_with(atomic_file::PREFIX) && name.ends_with(atomic_file::SUFFIX) && old() == Some(true) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Checks that files can be created in `folder`.
///
/// # Errors
/// Returns the system's error if it does not.
pub(super) fn can_write_in(folder: &Path) -> io::Result<()> {
    let probe = tempfile::Builder::new().prefix(atomic_file::PREFIX).suffix(atomic_file::SUFFIX).tempfile_in(folder)?;
    let file: &File = probe.as_file();
    file.metadata().map(|_| ())
}

/// The hash table of a new file, while records are added.
struct RecordTable {
    entries: Vec<RecordEntry>,
    taken: u64,
}

impl RecordTable {
    /// Makes a table that is at most three quarters full, so that a free entry is near.
    fn new(records: u64) -> RecordTable {
        let entries = (records * 4 / 3 + 1).next_power_of_two();
        RecordTable { entries: (0..entries).map(|_| RecordEntry { key: 0, offset: 0, length: 0 }).collect(), taken: 0 }
    }

    fn bytes(&self) -> u64 {
        (self.entries.len() * ENTRY) as u64
    }

    /// Inserts an entry. Returns `false` if the key is there already, or the table is as full as it may be: a forged
    /// file can hold more records than its header says, and a search in a full table would never end.
    fn put(&mut self, entry: RecordEntry) -> bool {
        if 4 * (self.taken + 1) >= 3 * self.entries.len() as u64 {
            return false;
        }
        let mask = self.entries.len() - 1;
        let mut at = entry.key as usize & mask;
        while !self.entries[at].is_free() {
            if self.entries[at].key == entry.key {
                return false;
            }
            at = (at + 1) & mask;
        }
        self.entries[at] = entry;
        self.taken += 1;
        true
    }
}
