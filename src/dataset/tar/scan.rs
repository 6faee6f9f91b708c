//! Reading the headers of a shard: which members make a sample, where its image lies, what its label is.

use std::collections::HashSet;
use std::fs::File;
use std::io;
use std::path::Path;

use tar::{Archive, Entry};
use xxhash_rust::xxh3::xxh3_128;

use super::index::{ShardIndex, header_hash};
use super::label;
use crate::dataset::Label;
use crate::dataset::shown::shown;
use crate::error::{Error, Result};
use crate::{positioned, regular_file};

/// Of an archive: headers, and what members are filled up to.
pub(super) const BLOCK: u64 = 512;
/// A label is a few bytes; a member of this name that is larger is something else.
const LARGEST_LABEL: u64 = 1 << 20;
/// What compressed archives begin with.
const COMPRESSED: [(&[u8], &str); 4] =
    [(b"\x1f\x8b", "gzip"), (b"\x28\xb5\x2f\xfd", "zstd"), (b"\xfd7zXZ", "xz"), (b"BZh", "bzip2")];

/// An error at a place in a shard.
pub(super) fn refused(path: &Path, offset: u64, reason: impl std::fmt::Display) -> Error {
    Error::io(path, io::Error::new(io::ErrorKind::InvalidData, format!("at byte {offset}: {reason}")))
}

/// The samples of the shard at `path`, of which `file` is open, too. No member's data is read but that of labels.
///
/// # Errors
/// Names shard and offset: what is no tar archive, compressed or cut short; members that claim more than there is, sparse ones, links
/// instead of images; two samples of one key, one without an image or with two; labels that are none.
pub(super) fn scan(path: &Path, file: &File, extensions: &[String]) -> Result<ShardIndex> {
    let failed = |source| Error::io(path, source);
    let length = file.metadata().map_err(failed)?.len();
    check_start(path, file, length)?;
    // The archive moves its file's position, on Windows positioned reads do as well.
    let mut archive = Archive::new(regular_file::open(path).map_err(failed)?.0);
    let mut scan = Scan {
        path,
        file,
        extensions,
        length,
        index: ShardIndex::default(),
        keys: HashSet::new(),
        open: None,
        buffer: Vec::new(),
    };
    let mut end = 0;
    for member in archive.entries_with_seek().map_err(failed)? {
        let member = member.map_err(|error| refused(path, end, damaged(&error)))?;
        end = scan.member(member)?;
    }
    scan.finish()?;
    // The crate takes the end of the file for that of the archive, but what is cut between two members has lost samples.
    let mut mark = [0; BLOCK as usize];
    if positioned::read_exact(file, &mut mark, end).is_err() || mark != [0; BLOCK as usize] {
        return Err(refused(
            path,
            end,
            "the archive ends without the blocks of zeros that end every tar file: it is cut short",
        ));
    }
    scan.index.shrink();
    Ok(scan.index)
}

fn damaged(error: &io::Error) -> String {
    format!("no header of a tar archive, or a damaged one ({error})")
}

fn check_start(path: &Path, file: &File, length: u64) -> Result<()> {
    let mut start = vec![0; length.min(6) as usize];
    positioned::read_exact(file, &mut start, 0).map_err(|source| Error::io(path, source))?;
    for (magic, name) in COMPRESSED {
        if start.starts_with(magic) {
            let reason =
                format!("compressed with {name}: samples can be reached in plain tar files alone, so unpack it");
            return Err(refused(path, 0, reason));
        }
    }
    Ok(())
}

/// One shard's.
struct Scan<'a> {
    path: &'a Path,
    file: &'a File,
    extensions: &'a [String],
    length: u64,
    index: ShardIndex,
    /// Hashes of the keys so far.
    keys: HashSet<u128>,
    open: Option<Group>,
    buffer: Vec<u8>,
}

/// The members of a sample so far.
struct Group {
    key: Vec<u8>,
    /// Of the first member's header.
    at: u64,
    /// Where the image begins, and its bytes.
    image: Option<(u64, u64)>,
    /// The same of each kind of label.
    labels: [Option<(u64, u64)>; label::KINDS.len()],
}

/// What a member is to a sample.
enum Role {
    Image,
    /// An index into [`label::KINDS`].
    Label(usize),
    Classes,
}

impl Scan<'_> {
    /// Returns where the next header begins.
    fn member(&mut self, mut member: Entry<'_, File>) -> Result<u64> {
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
                return refuse(format!("claims {size} bytes, of which {there} are there: the archive is cut short"));
            }
        };
        let Some((key, extension)) = split(&name) else { return Ok(end.next_multiple_of(BLOCK)) };
        let Some(role) = self.role(key, &extension) else { return Ok(end.next_multiple_of(BLOCK)) };
        if !kind.is_file() && !kind.is_contiguous() {
            if kind.is_dir() {
                return Ok(end.next_multiple_of(BLOCK));
            }
            let what = if kind.is_symlink() || kind.is_hard_link() { "a link" } else { "no regular file" };
            return refuse(format!("{what}: pack the file itself, as with tar --dereference --hard-dereference"));
        }
        if let Role::Classes = role {
            if self.index.classes.is_empty() {
                let names = self.small(begin, size).and_then(|bytes| label::class_names(&extension, bytes));
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
                    "its sample was met before; members of a sample must follow each other (tar --sort=name), and keys be used once".into(),
                );
            }
            self.open = Some(Group { key: key.to_vec(), at: header, image: None, labels: Default::default() });
        }
        if let Some(open) = &mut self.open {
            let place = match role {
                Role::Label(kind) => &mut open.labels[kind],
                _ => &mut open.image,
            };
            if place.is_some() {
                return refuse(match role {
                    Role::Label(_) => "the sample has one already".into(),
                    _ => "the sample has an image already; TarShardsBuilder::extensions says which to take".into(),
                });
            }
            *place = Some((begin, size));
        }
        Ok(end.next_multiple_of(BLOCK))
    }

    fn role(&self, key: &[u8], extension: &str) -> Option<Role> {
        let base = key.rsplit(|&byte| byte == b'/').next().unwrap_or(key);
        if base == b"classes" && matches!(extension, "txt" | "json") {
            return Some(Role::Classes);
        }
        // WebDataset's own members.
        if base.starts_with(b"__") && base.ends_with(b"__") {
            return None;
        }
        if self.extensions.iter().any(|known| known == extension) {
            return Some(Role::Image);
        }
        label::KINDS.iter().position(|kind| *kind == extension).map(Role::Label)
    }

    /// Puts the open sample into the index.
    fn finish(&mut self) -> Result<()> {
        let Some(Group { key, at, image, labels }) = self.open.take() else { return Ok(()) };
        let (key, named) = (String::from_utf8_lossy(&key).into_owned(), shown(&key));
        let Some((offset, size)) = image else {
            // A text or facts alone are no sample that lacks its image, but a README.
            let [cls, json, _] = labels;
            let json = json.map(|(begin, size)| self.small(begin, size).and_then(|bytes| label::parse(1, bytes)));
            if cls.is_none() && !matches!(json, Some(Ok(Some(_)))) {
                return Ok(());
            }
            let extensions = self.extensions.join(" .");
            return Err(self.at(at, format!("sample {named} has a label but no image (.{extensions})")));
        };
        let Ok(length) = u32::try_from(size) else {
            return Err(self.at(at, format!("sample {named}: an image of {size} bytes; 4 GiB are the most")));
        };
        let mut header = [0; BLOCK as usize];
        positioned::read_exact(self.file, &mut header, offset - BLOCK)
            .map_err(|source| Error::io(self.path, source))?;
        let mut label = Label::None;
        for (kind, place) in labels.into_iter().enumerate() {
            let Some((begin, size)) = place else { continue };
            let parsed = self.small(begin, size).and_then(|bytes| label::parse(kind, bytes));
            let parsed = parsed.map_err(|reason| {
                self.at(begin - BLOCK, format!("label of sample {named}, .{}: {reason}", label::KINDS[kind]))
            })?;
            if let Some(parsed) = parsed {
                label = parsed;
                break;
            }
        }
        let place = (offset, length, header_hash(&header));
        self.index.push(&key, place, &label).map_err(|reason| self.at(at, reason))
    }

    /// A small member's content.
    fn small(&mut self, begin: u64, size: u64) -> std::result::Result<&[u8], String> {
        if size > LARGEST_LABEL {
            return Err(format!("{size} bytes; labels and class names have 1 MiB at the most"));
        }
        self.buffer.resize(size as usize, 0);
        positioned::read_exact(self.file, &mut self.buffer, begin).map_err(|error| error.to_string())?;
        Ok(&self.buffer)
    }

    fn at(&self, offset: u64, reason: impl std::fmt::Display) -> Error {
        refused(self.path, offset, reason)
    }
}

/// WebDataset's rule: the key goes up to the first dot of the file's name, its folders included; the extension is the
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
