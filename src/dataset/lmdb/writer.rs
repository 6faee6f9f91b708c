//! Writing an [`Lmdb`](super::Lmdb).

use std::fs;
use std::path::{Path, PathBuf};

use heed::types::Bytes;
use heed::{Database, Env, MdbError, WithoutTls};

use super::FILE;
use super::environment::{failed, grow, map_to_write};
use super::layout::{CLASSES, COUNT, IMAGE, LABEL, LONGEST_SOURCE, WRITTEN, numbered_key, to_text};
use super::reader::broken;
use crate::dataset::Label;
use crate::error::{Error, Result};

/// The bytes that are collected in memory before they are committed to the file.
const WAITING: usize = 32 << 20;

/// Writes samples into an LMDB, in the layout [`Numbered`](super::LmdbLayout::Numbered).
///
/// Until [`finish`](Self::finish) the file is `.data.mdb.part` in the folder, which is not a data set yet. Opening the
/// folder for writing again continues after the last committed sample.
///
/// ```
/// use gpufeed::dataset::{Lmdb, LmdbWriter};
/// use gpufeed::{Dataset, Label};
///
/// let folder = tempfile::tempdir()?;
/// let mut writer = LmdbWriter::open(folder.path())?;
/// writer.put(b"\xff\xd8\xff the file", &Label::Class(1))?;
/// writer.finish(&["cat".into(), "dog".into()])?;
///
/// let data = Lmdb::open(folder.path())?;
/// assert_eq!((data.len(), data.classes()), (1, &["cat".to_owned(), "dog".to_owned()][..]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct LmdbWriter {
    env: Env<WithoutTls>,
    database: Database<Bytes, Bytes>,
    folder: PathBuf,
    part: PathBuf,
    written: u64,
    waiting: Vec<Waiting>,
    bytes: usize,
}

/// A sample that is not committed yet.
#[derive(Debug)]
struct Waiting {
    image: Vec<u8>,
    label: Option<String>,
    /// The values of its fields, each with what stands before the number in its key.
    values: Vec<(String, Vec<u8>)>,
}

impl LmdbWriter {
    /// Begins an LMDB in `folder`, or continues one. Creates the folder if it does not exist.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Io`](crate::ErrorKind::Io) if the folder cannot be written to, or already has an LMDB.
    pub fn open(folder: impl AsRef<Path>) -> Result<LmdbWriter> {
        let folder = folder.as_ref().to_owned();
        fs::create_dir_all(&folder).map_err(|source| Error::io(&folder, source))?;
        let done = folder.join(FILE);
        if done.exists() {
            return Err(broken(&done, "it exists already; remove it, or write elsewhere"));
        }
        let part = folder.join(format!(".{FILE}.part"));
        let wrong = |error| failed(&part, error);
        let number = |digits| std::str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok());
        let env = map_to_write(&part).map_err(wrong)?;
        let mut transaction = env.write_txn().map_err(wrong)?;
        let database: Database<Bytes, Bytes> = env.create_database(&mut transaction, None).map_err(wrong)?;
        let written = match database.get(&transaction, WRITTEN).map_err(wrong)? {
            Some(count) => number(count),
            // A process that was killed in `finish` has left a complete file that only lacks its final name.
            None => match database.get(&transaction, COUNT).map_err(wrong)? {
                Some(count) => number(count),
                None => Some(0),
            },
        };
        transaction.commit().map_err(wrong)?;
        let written = written.ok_or_else(|| broken(&part, "it was not written by this program; remove it"))?;
        Ok(LmdbWriter { env, database, folder, part, written, waiting: Vec::new(), bytes: 0 })
    }

    /// Returns the number of samples, committed or not.
    pub fn len(&self) -> u64 {
        self.written + self.waiting.len() as u64
    }

    /// Returns true if there are no samples.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds an image file with its label.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Io`](crate::ErrorKind::Io), for example for a full disk.
    pub fn put(&mut self, image: &[u8], label: &Label) -> Result<()> {
        self.put_fields(image, label, &[])
    }

    /// Adds an image file with its label and values of fields. Each value has what stands before the number in its key:
    /// `caption` for `caption-000000001`. It tells the kind of the value as [`LmdbBuilder::fields`](super::LmdbBuilder::fields)
    /// describes.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Argument`](crate::ErrorKind::Argument) if two values have one name, or if a name is empty, that of
    /// images or labels, or longer than 490 bytes; the errors of [`put`](Self::put).
    ///
    /// ```
    /// use gpufeed::dataset::{FieldValue, Lmdb, LmdbWriter};
    /// use gpufeed::{Dataset, Label};
    ///
    /// let folder = tempfile::tempdir()?;
    /// let mut writer = LmdbWriter::open(folder.path())?;
    /// writer.put_fields(b"\xff\xd8\xff the file", &Label::Class(1), &[("caption", b"two dogs")])?;
    /// writer.finish(&[])?;
    ///
    /// let data = Lmdb::builder().fields([("caption", "caption")]).open(folder.path())?;
    /// assert_eq!(data.read(0, &mut Vec::new())?.fields, [FieldValue::from("two dogs")]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn put_fields(&mut self, image: &[u8], label: &Label, values: &[(&str, &[u8])]) -> Result<()> {
        for (at, (name, _)) in values.iter().enumerate() {
            let reason = match *name {
                "" => "the name of a value is empty".to_owned(),
                IMAGE | LABEL => format!("{name:?} is the name of the sample's own {name}"),
                _ if name.len() > LONGEST_SOURCE => {
                    format!("the name of a value has {} bytes, the most are {LONGEST_SOURCE}", name.len())
                }
                _ if values[..at].iter().any(|(other, _)| other == name) => {
                    format!("two values have the name {name:?}")
                }
                _ => continue,
            };
            return Err(Error::argument("values", reason));
        }
        let label = to_text(label);
        let values: Vec<_> = values.iter().map(|(name, value)| ((*name).to_owned(), value.to_vec())).collect();
        let bytes = values.iter().map(|(_, value)| value.len()).sum::<usize>();
        self.bytes += image.len() + label.as_ref().map_or(0, String::len) + bytes;
        self.waiting.push(Waiting { image: image.to_vec(), label, values });
        if self.bytes >= WAITING { self.commit() } else { Ok(()) }
    }

    /// Commits all samples so far to the disk. After an error they stay in memory, and another call tries again.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Io`](crate::ErrorKind::Io), for example for a full disk.
    pub fn commit(&mut self) -> Result<()> {
        let waiting = std::mem::take(&mut self.waiting);
        let written = self.written + waiting.len() as u64;
        let count = written.to_string();
        let mut numbered: Vec<(String, &[u8])> = Vec::with_capacity(2 * waiting.len());
        for (Waiting { image, label, values }, number) in waiting.iter().zip(self.written + 1..) {
            numbered.push((numbered_key(IMAGE, number), image));
            numbered.extend(label.as_ref().map(|label| (numbered_key(LABEL, number), label.as_bytes())));
            numbered.extend(values.iter().map(|(name, value)| (numbered_key(name, number), &**value)));
        }
        let mut pairs = vec![(WRITTEN, count.as_bytes())];
        pairs.extend(numbered.iter().map(|(key, value)| (key.as_bytes(), *value)));
        if let Err(error) = self.write(&pairs, &[]) {
            self.waiting = waiting;
            return Err(error);
        }
        (self.written, self.bytes) = (written, 0);
        Ok(())
    }

    /// Writes and removes in one transaction; grows the map until it fits.
    pub(super) fn write(&mut self, pairs: &[(&[u8], &[u8])], remove: &[&[u8]]) -> Result<()> {
        loop {
            match self.attempt(pairs, remove) {
                Err(heed::Error::Mdb(MdbError::MapFull)) => grow(&mut self.env).map_err(|e| failed(&self.part, e))?,
                done => return done.map_err(|error| failed(&self.part, error)),
            }
        }
    }

    /// Shrinks the memory map, so that a small file fills it as a large one would.
    #[cfg(test)]
    pub(super) fn shrink_map(&mut self, size: usize) {
        super::environment::resize(&mut self.env, size).unwrap();
    }

    /// Simulates a full disk, with an environment that accepts nothing.
    #[cfg(test)]
    pub(super) fn swap_env(&mut self, env: &mut Env<WithoutTls>) {
        std::mem::swap(&mut self.env, env);
    }

    fn attempt(&self, pairs: &[(&[u8], &[u8])], remove: &[&[u8]]) -> heed::Result<()> {
        let mut transaction = self.env.write_txn()?;
        for (key, value) in pairs {
            self.database.put(&mut transaction, key, value)?;
        }
        for key in remove {
            self.database.delete(&mut transaction, key)?;
        }
        transaction.commit()
    }

    /// Writes the remaining samples, the class names and the number of samples, then renames the file to its final
    /// name, which makes it a data set.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Io`](crate::ErrorKind::Io), for example for a full disk.
    pub fn finish(mut self, classes: &[String]) -> Result<()> {
        self.commit()?;
        let (count, names) = (self.written.to_string(), serde_json::to_vec(classes).unwrap_or_default());
        let mut pairs: Vec<(&[u8], &[u8])> = vec![(COUNT, count.as_bytes())];
        if !classes.is_empty() {
            pairs.push((CLASSES, &names));
        }
        self.write(&pairs, &[WRITTEN])?;
        self.close()
    }

    /// Closes the file and renames it to its final name.
    pub(super) fn close(self) -> Result<()> {
        self.env.force_sync().map_err(|error| failed(&self.part, error))?;
        let LmdbWriter { env, folder, part, .. } = self;
        // Windows cannot rename a mapped file.
        env.prepare_for_closing().wait();
        let done = folder.join(FILE);
        fs::rename(&part, &done).map_err(|source| Error::io(&done, source))?;
        // The lock file of a closed file is useless, and it may be missing.
        let _ = fs::remove_file(folder.join(format!(".{FILE}.part-lock")));
        Ok(())
    }
}
