//! Writes a file of seek indexes: adds a segment, or rewrites the whole file.

use super::file::{HEADER, IndexFile, header};
use super::record::{CHECKSUM, LONGEST, PLACE, Place, checksum};
use super::segment;
use crate::replace;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::Path;
use std::time::Duration;

/// Age from which a temporary file is taken for one that a killed process has left: nothing has been written to it for
/// so long.
const ABANDONED: Duration = Duration::from_secs(60 * 60);

/// Adds a segment at `end`, where the file ends. No one else may write to it meanwhile; readers find the records that
/// were there before.
///
/// # Errors
/// Returns the system's error; the file is then as it was before, if it can still be shortened.
pub(super) fn append(path: &Path, end: u64, records: &[(u128, &[u8])]) -> io::Result<()> {
    let file = OpenOptions::new().write(true).open(path)?;
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

/// Writes a file of the new records and those of `old` that `stays` keeps beside `path`, then puts it in its place:
/// whoever reads sees the old file or the new one, and a process that is killed leaves no file that looks whole.
///
/// # Errors
/// Returns the system's error: a folder that cannot be written to, a full disk. The old file stays as it was.
pub(super) fn anew(
    path: &Path,
    old: Option<&IndexFile>,
    stays: impl Fn(u128) -> bool,
    new: &[(u128, &[u8])],
) -> io::Result<()> {
    remove_abandoned(replace::folder_of(path));
    let mut table = Table::new(old.map_or(0, IndexFile::len) + new.len() as u64);
    let mut offset = HEADER as u64 + table.bytes();
    replace::replace(path, |out| {
        out.seek(SeekFrom::Start(offset))?;
        let mut add = |key: u128, record: &[u8]| {
            let length = u32::try_from(record.len()).unwrap_or(u32::MAX);
            if length <= LONGEST && table.put(Place { key, offset, length }) {
                out.write_all(&checksum(key, record).to_le_bytes())?;
                out.write_all(record)?;
                offset += (CHECKSUM + record.len()) as u64;
            }
            Ok(())
        };
        // The new ones first: of two with the same key the first stays.
        for &(key, record) in new {
            add(key, record)?;
        }
        if let Some(old) = old {
            old.each(|key, record| if stays(key) { add(key, record) } else { Ok(()) })?;
        }
        let records = table.taken;
        out.seek(SeekFrom::Start(0))?;
        out.write_all(&header(records, table.places.len() as u64, offset))?;
        for place in &table.places {
            out.write_all(&place.write())?;
        }
        Ok(())
    })
}

/// Removes the temporary files of processes that were killed.
fn remove_abandoned(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let old = || entry.metadata().ok()?.modified().ok()?.elapsed().ok().map(|age| age > ABANDONED);
        if name.starts_with(replace::PREFIX) && name.ends_with(replace::SUFFIX) && old() == Some(true) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Checks that `folder` takes new files.
///
/// # Errors
/// Returns the system's error if it does not.
pub(super) fn can_write_in(folder: &Path) -> io::Result<()> {
    let probe = tempfile::Builder::new().prefix(replace::PREFIX).suffix(replace::SUFFIX).tempfile_in(folder)?;
    let file: &File = probe.as_file();
    file.metadata().map(|_| ())
}

/// A table while it is filled.
struct Table {
    places: Vec<Place>,
    taken: u64,
}

impl Table {
    /// At most three quarters full, so that a free place is near.
    fn new(records: u64) -> Table {
        let places = (records * 4 / 3 + 1).next_power_of_two();
        Table { places: (0..places).map(|_| Place { key: 0, offset: 0, length: 0 }).collect(), taken: 0 }
    }

    fn bytes(&self) -> u64 {
        (self.places.len() * PLACE) as u64
    }

    /// `false` if the key is there already, or the table is as full as it may be: a forged file can hold more records than
    /// its header says, and a search in a table without a free place has no end.
    fn put(&mut self, place: Place) -> bool {
        if 4 * (self.taken + 1) >= 3 * self.places.len() as u64 {
            return false;
        }
        let mask = self.places.len() - 1;
        let mut at = place.key as usize & mask;
        while !self.places[at].is_free() {
            if self.places[at].key == place.key {
                return false;
            }
            at = (at + 1) & mask;
        }
        self.places[at] = place;
        self.taken += 1;
        true
    }
}
