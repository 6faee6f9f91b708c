//! Scans the headers of a shard: the members of each sample, the offset of its image, its label.

use std::cell::Cell;
use std::collections::HashSet;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use tar::{Archive, Entry};
use xxhash_rust::xxh3::{xxh3_64, xxh3_128};

use super::label;
use crate::dataset::data_file::{DataFile, DataReader};
use crate::dataset::shards::{self, Fault, Faulty, IndexBuilder, Location, Page, ShardFormat};
use crate::dataset::{Label, class_names};
use crate::error::{Error, Result};
use crate::quote::shown;

/// Block size of tar: headers have this size, and members are padded to a multiple of it.
pub(super) const BLOCK: u64 = 512;
/// Limit of a label's bytes: a label is short, so a larger member with such a name is something else.
const LARGEST_LABEL: u64 = 1 << 20;
/// Limit of the headers of a member: its name and attributes take some hundred bytes, rarely some KiB.
const LARGEST_HEADERS: u64 = 4 << 20;
/// First bytes of compressed archives.
const COMPRESSED: [(&[u8], &str); 4] =
    [(b"\x1f\x8b", "gzip"), (b"\x28\xb5\x2f\xfd", "zstd"), (b"\xfd7zXZ", "xz"), (b"BZh", "bzip2")];

/// Returns an error at an offset in a shard.
pub(super) fn refused(path: &Path, offset: u64, reason: impl std::fmt::Display) -> Error {
    Error::io(path, io::Error::new(io::ErrorKind::InvalidData, format!("at byte {offset}: {reason}")))
}

/// Returns the hash of a member's header, which is read with the image.
pub(super) fn header_hash(header: &[u8]) -> u32 {
    xxh3_64(header) as u32
}

/// Tar shards whose images have these endings.
#[derive(Debug)]
pub(super) struct TarFormat {
    pub(super) extensions: Vec<String>,
}

impl ShardFormat for TarFormat {
    fn settings(&self) -> u64 {
        xxh3_64(self.extensions.join("/").as_bytes())
    }

    fn scan(&self, file: &DataFile) -> Result<IndexBuilder> {
        scan(file, &self.extensions)
    }

    fn fits(&self, entry: &shards::Entry, page: Option<&Page>, length: u64) -> bool {
        let end = entry.offset.checked_add(u64::from(entry.length));
        page.is_none() && entry.offset >= BLOCK && end.is_some_and(|end| end <= length)
    }

    fn refuse(&self, sample: &Faulty<'_>) -> Error {
        let key = shown(sample.key.as_bytes());
        let reason = match sample.fault {
            Fault::Class(class, named) => {
                format!("sample {key} is of class {class}, but only {named} classes have names")
            }
            Fault::Unlabelled => format!(
                "sample {key} has no label (.cls, .json or .txt); TarShardsBuilder::allow_unlabelled accepts that"
            ),
        };
        refused(sample.file, sample.offset.saturating_sub(BLOCK), reason)
    }
}

/// Scans the samples of a shard. Reads the data of label members alone.
///
/// # Errors
/// Names shard and offset: files that are not tar archives, compressed or cut short; members that claim more bytes than
/// there are, sparse ones, links instead of images; repeated keys, samples without an image or with two; invalid
/// labels.
fn scan(file: &DataFile, extensions: &[String]) -> Result<IndexBuilder> {
    let path = file.name();
    let failed = |source| Error::io(path, source);
    let length = file.stamp().map_err(failed)?.length;
    check_start(file, length)?;
    let read = Cell::new(0);
    let mut archive = Archive::new(Headers { reader: file.reader(length), read: &read });
    let mut scan = Scan {
        path,
        file,
        extensions,
        length,
        index: IndexBuilder::default(),
        keys: HashSet::new(),
        open: None,
        buffer: Vec::new(),
    };
    let mut end = 0;
    for member in archive.entries_with_seek().map_err(failed)? {
        let member = member.map_err(|error| refused(path, end, damaged(&error)))?;
        end = scan.member(member)?;
        read.set(0);
    }
    scan.finish()?;
    // The crate takes the end of the file for the end of the archive. But a file cut between two members has lost
    // samples.
    let mut mark = [0; BLOCK as usize];
    if file.read_exact(&mut mark, end).is_err() || mark != [0; BLOCK as usize] {
        return Err(refused(
            path,
            end,
            "the archive ends without the blocks of zeros that end every tar file: it is cut short",
        ));
    }
    Ok(scan.index)
}

/// Reads the headers of an archive. The crate reads long names and extended headers whole, whatever length they claim, so
/// the bytes before a member have a limit.
struct Headers<'a> {
    reader: DataReader<'a>,
    /// Bytes that were read since the last member.
    read: &'a Cell<u64>,
}

impl Read for Headers<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(buffer)?;
        self.read.set(self.read.get() + count as u64);
        if self.read.get() > LARGEST_HEADERS {
            return Err(io::Error::other(format!("a member's headers have more than {} MiB", LARGEST_HEADERS >> 20)));
        }
        Ok(count)
    }
}

impl Seek for Headers<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.reader.seek(to)
    }
}

fn damaged(error: &io::Error) -> String {
    format!("not a header of a tar archive, or a damaged one ({error})")
}

fn check_start(file: &DataFile, length: u64) -> Result<()> {
    let path = file.name();
    let start = file.bytes(0, length.min(6) as usize).map_err(|source| Error::io(path, source))?;
    for (magic, name) in COMPRESSED {
        if start.starts_with(magic) {
            let reason =
                format!("compressed with {name}: samples can be reached only in plain tar files, so unpack it");
            return Err(refused(path, 0, reason));
        }
    }
    Ok(())
}

/// The scan of one shard.
struct Scan<'a> {
    path: &'a Path,
    file: &'a DataFile,
    extensions: &'a [String],
    length: u64,
    index: IndexBuilder,
    /// Hashes of the keys so far.
    keys: HashSet<u128>,
    open: Option<Group>,
    buffer: Vec<u8>,
}

/// The members of a sample so far.
struct Group {
    key: Vec<u8>,
    /// Offset of the first member's header.
    at: u64,
    /// Offset and length of the image.
    image: Option<(u64, u64)>,
    /// Offset and length of the label of each kind.
    labels: [Option<(u64, u64)>; label::KINDS.len()],
}

/// The role of a member in its sample.
enum Role {
    Image,
    /// A label, by index into [`label::KINDS`].
    Label(usize),
    Classes,
}

impl Scan<'_> {
    /// Returns the offset of the next header.
    fn member(&mut self, mut member: Entry<'_, Headers<'_>>) -> Result<u64> {
        let (begin, size) = (member.raw_file_position(), member.size());
        let header = begin.saturating_sub(BLOCK);
        let name = member.path_bytes().into_owned();
        let path = self.path;
        let refuse = |reason: String| Err(refused(path, header, format!("member {}: {reason}", shown(&name))));
        let kind = member.header().entry_type();
        let pax_sparse = match member.pax_extensions() {
            Ok(Some(mut fields)) => {
                fields.any(|field| field.is_ok_and(|field| field.key_bytes().starts_with(b"GNU.sparse")))
            }
            _ => false,
        };
        if kind.is_gnu_sparse() || pax_sparse {
            return refuse("sparse members cannot be read; pack without --sparse".into());
        }
        let end = match begin.checked_add(size) {
            Some(end) if end <= self.length => end,
            _ => {
                let there = self.length.saturating_sub(begin);
                return refuse(format!("claims {size} bytes, but only {there} are left: the archive is cut short"));
            }
        };
        let Some((key, extension)) = split(&name) else { return Ok(end.next_multiple_of(BLOCK)) };
        let Some(role) = self.role(key, &extension) else { return Ok(end.next_multiple_of(BLOCK)) };
        if !kind.is_file() && !kind.is_contiguous() {
            if kind.is_dir() {
                return Ok(end.next_multiple_of(BLOCK));
            }
            let what = if kind.is_symlink() || kind.is_hard_link() { "a link" } else { "not a regular file" };
            return refuse(format!("{what}: pack the file itself, as with tar --dereference --hard-dereference"));
        }
        if let Role::Classes = role {
            if self.index.classes.is_empty() {
                let names = self.small(begin, size).and_then(|bytes| class_names::parsed(&extension, bytes));
                match names {
                    Ok(names) => self.index.classes = names,
                    Err(reason) => return refuse(reason),
                }
            }
            return Ok(end.next_multiple_of(BLOCK));
        }
        if self.open.as_ref().is_none_or(|open| open.key != key) {
            self.finish()?;
            if !self.keys.insert(xxh3_128(key)) {
                return refuse(
                    "its key came before; members of a sample must follow each other (tar --sort=name), and keys be \
                    unique"
                        .into(),
                );
            }
            self.open = Some(Group { key: key.to_vec(), at: header, image: None, labels: Default::default() });
        }
        if let Some(open) = &mut self.open {
            let range = match role {
                Role::Label(kind) => &mut open.labels[kind],
                _ => &mut open.image,
            };
            if range.is_some() {
                return refuse(match role {
                    Role::Label(_) => "the sample has one already".into(),
                    _ => "the sample has an image already; choose one with TarShardsBuilder::extensions".into(),
                });
            }
            *range = Some((begin, size));
        }
        Ok(end.next_multiple_of(BLOCK))
    }

    fn role(&self, key: &[u8], extension: &str) -> Option<Role> {
        let base = key.rsplit(|&byte| byte == b'/').next().unwrap_or(key);
        if base == b"classes" && matches!(extension, "txt" | "json") {
            return Some(Role::Classes);
        }
        // Members that WebDataset reserves for itself.
        if base.starts_with(b"__") && base.ends_with(b"__") {
            return None;
        }
        if self.extensions.iter().any(|known| known == extension) {
            return Some(Role::Image);
        }
        label::KINDS.iter().position(|kind| *kind == extension).map(Role::Label)
    }

    /// Inserts the open sample into the index.
    fn finish(&mut self) -> Result<()> {
        let Some(Group { key, at, image, labels }) = self.open.take() else { return Ok(()) };
        let (key, named) = (String::from_utf8_lossy(&key).into_owned(), shown(&key));
        let Some((offset, size)) = image else {
            // A text or JSON file alone is not a sample that lacks its image, but for example a README.
            let [cls, json, _] = labels;
            let json = json.map(|(begin, size)| self.small(begin, size).and_then(|bytes| label::parse(1, bytes)));
            if cls.is_none() && !matches!(json, Some(Ok(Some(_)))) {
                return Ok(());
            }
            let extensions = self.extensions.join(" .");
            return Err(self.at(at, format!("sample {named} has a label but no image (.{extensions})")));
        };
        let Ok(length) = u32::try_from(size) else {
            return Err(self.at(at, format!("sample {named}: an image of {size} bytes, but at most 4 GiB are read")));
        };
        let mut header = [0; BLOCK as usize];
        self.file.read_exact(&mut header, offset - BLOCK).map_err(|source| Error::io(self.path, source))?;
        let mut label = Label::None;
        for (kind, range) in labels.into_iter().enumerate() {
            let Some((begin, size)) = range else { continue };
            let parsed = self.small(begin, size).and_then(|bytes| label::parse(kind, bytes));
            let parsed = parsed.map_err(|reason| {
                self.at(begin - BLOCK, format!("label of sample {named}, .{}: {reason}", label::KINDS[kind]))
            })?;
            if let Some(parsed) = parsed {
                label = parsed;
                break;
            }
        }
        let location = Location { offset, length, check: header_hash(&header), page: None };
        self.index.push(&key, location, &label).map_err(|reason| self.at(at, reason))
    }

    /// Reads a small member's content.
    fn small(&mut self, begin: u64, size: u64) -> std::result::Result<&[u8], String> {
        if size > LARGEST_LABEL {
            return Err(format!("{size} bytes, but labels and class names may have at most 1 MiB"));
        }
        self.buffer.resize(size as usize, 0);
        self.file.read_exact(&mut self.buffer, begin).map_err(|error| error.to_string())?;
        Ok(&self.buffer)
    }

    fn at(&self, offset: u64, reason: impl std::fmt::Display) -> Error {
        refused(self.path, offset, reason)
    }
}

/// Splits a name by WebDataset's rule: the key is the path up to the first dot of the file's name; the extension is the
/// rest, in small letters. `None` for hidden files and names without a dot.
fn split(name: &[u8]) -> Option<(&[u8], String)> {
    let base = name.iter().rposition(|&byte| byte == b'/').map_or(0, |slash| slash + 1);
    let dot = base + name[base..].iter().position(|&byte| byte == b'.')?;
    let extension = String::from_utf8_lossy(&name[dot + 1..]).to_ascii_lowercase();
    (dot > base && !extension.is_empty()).then(|| (&name[..dot], extension))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_split_as_webdataset_does() {
        for (name, expected) in [
            ("000.jpg", Some(("000", "jpg"))),
            ("a/b.c/000.left.JPG", Some(("a/b.c/000", "left.jpg"))),
            ("../../etc/1.png", Some(("../../etc/1", "png"))),
            ("/x/1.png", Some(("/x/1", "png"))),
            (".hidden.jpg", None),
            ("a/._1.jpg", None),
            ("README", None),
            ("folder.d/", None),
            ("dot.", None),
            ("", None),
        ] {
            let found =
                split(name.as_bytes()).map(|(key, extension)| (String::from_utf8_lossy(key).into_owned(), extension));
            assert_eq!(found, expected.map(|(key, extension)| (key.to_owned(), extension.to_owned())), "{name}");
        }
    }
}
