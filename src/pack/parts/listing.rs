//! Writes and reads the listings of a plan: the samples of each part, so that no part has to list the source again.
//!
//! Where samples are files, a part's listing has each file with its label, size and time. For any other source, one
//! listing has the files that hold the samples, and every part opens the whole source. If another sample has taken a
//! sample's own key, the listing also has the key to use instead: only a look at all samples finds such a case.

use crate::dataset::Label;
use crate::error::{Error, Result};
use crate::pack::errors::{failed_to_write, permitted};
use crate::pack::events::Watch;
use crate::pack::hashed::Hashed;
use crate::pack::journal::line;
use crate::pack::names::Names;
use crate::pack::source::{Facts, Fingerprint, OpenedSource};
use crate::pack::workers;
use crate::storage::Folder;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::io::Write as _;
use std::ops::Range;
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::xxh3_64;

use super::listed::Listed;

/// The path of a file relative to the source's folder, or its whole path if the file is elsewhere.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum FileName {
    Text(String),
    /// A name that is not Unicode, as bytes. Unix has such names.
    Bytes(Vec<u8>),
}

/// A line of a listing: a sample that is a file.
#[derive(Serialize, Deserialize)]
struct FileRow {
    file: FileName,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    class: Option<u32>,
    /// The numbers of a label that is a list, as the bits of each `f32`, because JSON has no NaN and no infinity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    values: Option<Vec<u32>>,
    facts: Facts,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    key: Option<String>,
}

/// A line of a listing, for a source whose samples are not files: a sample whose own key another sample has taken, and
/// the key to use instead.
#[derive(Serialize, Deserialize)]
struct KeyRow {
    index: usize,
    key: String,
}

/// A line of a listing: a file of the source that holds samples.
#[derive(Serialize, Deserialize)]
pub(super) struct SourceFile {
    pub(super) name: String,
    pub(super) facts: Facts,
}

/// Writes lines into a file of the plan, and returns the file's hash.
fn write(
    folder: &Folder,
    name: &str,
    lines: impl FnOnce(&mut dyn FnMut(Vec<u8>) -> Result<()>) -> Result<()>,
) -> Result<String> {
    let temporary = folder.temporary(name);
    let write = || {
        let mut file = Hashed::create(&temporary).map_err(failed_to_write(folder, name, &temporary))?;
        lines(&mut |line| file.write_all(&line).map_err(failed_to_write(folder, name, &temporary)))?;
        let (_, hash) = file.finish().map_err(failed_to_write(folder, name, &temporary))?;
        folder.finish(&temporary, name).map_err(permitted)?;
        Ok(hash)
    };
    // Removes the temporary file after an error: a full disk needs the space.
    write().inspect_err(|_: &Error| {
        let _ = std::fs::remove_file(&temporary);
    })
}

/// Reads the lines of a file of the plan, which must have the hash `hash`.
fn read<T: for<'a> Deserialize<'a>>(folder: &Folder, name: &str, hash: &str) -> Result<Vec<T>> {
    let wrong = |reason: &str| Error::pack(folder.path(name), reason);
    let text = folder.read(name).map_err(permitted)?.ok_or_else(|| wrong("the plan has lost it; plan again"))?;
    let damaged = || wrong("it is not what the plan wrote; plan again in another folder");
    if format!("{:016x}", xxh3_64(&text)) != hash {
        return Err(damaged());
    }
    let lines = text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    lines.map(|line| serde_json::from_slice(line).map_err(|_| damaged())).collect()
}

/// For up to this number of files, one thread looks up the files' sizes and times; for more files, several threads do.
const FEW: usize = 64;

/// Lists the samples in `range` of a source whose samples are files, and adds the files' sizes and times to the
/// fingerprint. Returns the hash of the listing.
pub(super) fn write_files(
    (source, root, names): (&OpenedSource, &Path, &Names),
    range: Range<usize>,
    (folder, name): (&Folder, &str),
    fingerprint: &mut Fingerprint,
    watch: &Watch,
) -> Result<String> {
    write(folder, name, |put| {
        let facts = |(): &mut (), index| Ok(source.file(index).map(Facts::of));
        let put = |index, facts: Option<Facts>| {
            let (Some(file), Some(facts)) = (source.file(index), facts) else {
                return Err(Error::pack(source.data.name(index), "it has no file"));
            };
            fingerprint.add(facts);
            let (class, values) = match source.label(index) {
                Label::None => (None, None),
                Label::Class(class) => (Some(class), None),
                Label::Multi(values) => (None, Some(values.iter().map(|value| value.to_bits()).collect())),
            };
            let file = file.strip_prefix(root).unwrap_or(file);
            let key = names.displaced(index).map(str::to_owned);
            put(line(&FileRow { file: file_name(file)?, class, values, facts, key })?)
        };
        let threads = if range.len() > FEW { watch.threads } else { 1 };
        workers::in_order(threads, range, watch, |_| {}, facts, put)
    })
}

/// Reads the listing of a part that [`write_files`] has written. Returns the samples, the sizes and times of their
/// files, and the keys of samples whose own key another sample has taken.
pub(super) fn read_files(
    (folder, name, hash): (&Folder, &str, &str),
    root: &Path,
    (len, range): (usize, Range<usize>),
    classes: &[String],
) -> Result<(Listed, Vec<Facts>, Names)> {
    let (mut samples, mut facts, mut keys) = (Vec::new(), Vec::new(), HashMap::new());
    for (index, row) in range.clone().zip(read::<FileRow>(folder, name, hash)?) {
        let label = match (row.class, row.values) {
            (Some(class), _) => Label::Class(class),
            (None, Some(bits)) => bits.into_iter().map(f32::from_bits).collect::<Vec<_>>().into(),
            (None, None) => Label::None,
        };
        samples.push((root.join(path_of(row.file)?), label));
        facts.push(row.facts);
        keys.extend(row.key.map(|key| (index, key)));
    }
    if samples.len() != range.len() {
        let reason = format!("{} samples instead of {}", samples.len(), range.len());
        return Err(Error::pack(folder.path(name), reason));
    }
    let (root, classes) = (root.to_owned(), classes.to_vec());
    Ok((Listed { root, len, first: range.start, samples, classes }, facts, Names::planned(keys)))
}

/// Lists the samples in `range` whose own key another sample has taken, with the keys to use instead. Returns the hash
/// of the listing.
pub(super) fn write_keys(names: &Names, range: Range<usize>, (folder, name): (&Folder, &str)) -> Result<String> {
    write(folder, name, |put| {
        for index in range {
            if let Some(key) = names.displaced(index) {
                put(line(&KeyRow { index, key: key.to_owned() })?)?;
            }
        }
        Ok(())
    })
}

/// Reads the listing of a part that [`write_keys`] has written.
pub(super) fn read_keys(folder: &Folder, name: &str, hash: &str) -> Result<Names> {
    let rows = read::<KeyRow>(folder, name, hash)?;
    Ok(Names::planned(rows.into_iter().map(|row| (row.index, row.key)).collect()))
}

/// Lists the files that hold the samples, and adds the files' sizes and times to the fingerprint. Returns the hash of
/// the listing.
pub(super) fn write_source(
    source: &OpenedSource,
    (folder, name): (&Folder, &str),
    fingerprint: &mut Fingerprint,
) -> Result<String> {
    write(folder, name, |put| {
        source.each_file(&mut |file, facts| {
            fingerprint.add(facts);
            put(line(&SourceFile { name: file.display().to_string(), facts })?)
        })
    })
}

/// Reads the listing that [`write_source`] has written: the files that hold the samples.
pub(super) fn read_source(folder: &Folder, name: &str, hash: &str) -> Result<Vec<SourceFile>> {
    read(folder, name, hash)
}

fn file_name(file: &Path) -> Result<FileName> {
    if let Some(text) = file.to_str() {
        return Ok(FileName::Text(text.to_owned()));
    }
    #[cfg(unix)]
    {
        use std::os::unix::ffi::OsStrExt;
        Ok(FileName::Bytes(file.as_os_str().as_bytes().to_vec()))
    }
    #[cfg(not(unix))]
    Err(Error::pack(file, "its name is not Unicode; rename it, or pack without a plan"))
}

fn path_of(name: FileName) -> Result<PathBuf> {
    match name {
        FileName::Text(text) => Ok(text.into()),
        #[cfg(unix)]
        FileName::Bytes(bytes) => {
            use std::os::unix::ffi::OsStringExt;
            Ok(std::ffi::OsString::from_vec(bytes).into())
        }
        #[cfg(not(unix))]
        FileName::Bytes(_) => Err(Error::pack("a file", "its name in the plan is not Unicode, as only Unix has it")),
    }
}
