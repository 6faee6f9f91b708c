//! Scans the headers of a shard: finds the members of each sample, the offset of its image, and its label.

use crate::advice::{self, Advice};
use std::cell::Cell;
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;

use tar::{Archive, Entry};

use super::fields::{self, MemberFields};
use super::first_failure::FirstFailure;
use super::group::{Group, Member};
use super::header::{BLOCK, refused};
use super::names::{self, Kind, Role};
use super::rules::ScanRules;
use super::samples::Samples;
use crate::dataset::class_names;
use crate::dataset::shards::{self, Fault, Faulty, IndexBuilder, Page, ShardFormat};
use crate::error::{Error, Result};
use crate::quote::shown;
use crate::storage::file::{DataFile, DataReader};

/// The most bytes of a member's headers. Name and attributes take some hundred bytes, rarely some KiB.
const LARGEST_HEADERS: u64 = 4 << 20;
/// The first bytes of compressed archives.
const COMPRESSED: [(&[u8], &str); 4] =
    [(b"\x1f\x8b", "gzip"), (b"\x28\xb5\x2f\xfd", "zstd"), (b"\xfd7zXZ", "xz"), (b"BZh", "bzip2")];

/// The format of tar shards.
#[derive(Debug, Default)]
pub(super) struct TarFormat {
    pub(super) rules: ScanRules,
    pub(super) fields: MemberFields,
}

impl ShardFormat for TarFormat {
    const CLASSES: Advice = advice::TAR_CLASSES;

    fn settings(&self) -> u64 {
        self.rules.hash()
    }

    fn scan(&self, file: &DataFile) -> Result<IndexBuilder> {
        scan(file, &self.rules)
    }

    fn fits(&self, entry: &shards::SampleEntry, page: Option<&Page>, length: u64) -> bool {
        let end = entry.offset.checked_add(u64::from(entry.length));
        page.is_none() && entry.offset >= BLOCK && end.is_some_and(|end| end <= length)
    }

    fn bytes_read(entry: &shards::SampleEntry, _: Option<&Page>) -> Range<u64> {
        entry.offset - BLOCK..entry.offset + u64::from(entry.length)
    }

    fn lists_members(&self) -> bool {
        self.rules.lists_members
    }

    fn wanted(&self) -> &[String] {
        &self.fields.wanted
    }

    fn alternatives(&self) -> Vec<Vec<u32>> {
        self.fields.alternatives()
    }

    fn member_fits(&self, member: &shards::Member, length: u64) -> bool {
        member.offset >= BLOCK && member.offset.checked_add(member.length).is_some_and(|end| end <= length)
    }

    fn reads_with(&self, entry: &shards::SampleEntry, members: &[shards::Member]) -> Vec<Range<u64>> {
        let chosen = self.fields.of_sample(members);
        chosen.map_or(Vec::new(), |chosen| fields::reads(entry, chosen.into_iter().flatten()))
    }

    fn refuse(&self, sample: &Faulty<'_>) -> Error {
        let key = shown(sample.key.as_bytes());
        let (reason, advice) = match sample.fault {
            Fault::Class(class, named) => {
                (format!("sample {key} is of class {class}, but only {named} classes have names"), None)
            }
            Fault::Caption => {
                let reason = format!(
                    "the .txt of sample {key} is no number, but in the first shard no .txt is a caption, so that those of \
                     numbers are labels"
                );
                (reason, Some(advice::TEXT_LABELS))
            }
            Fault::Number => {
                let reason = format!(
                    "the .txt of sample {key} is a number, as all in this shard, but those of the first shard are captions"
                );
                (reason, Some(advice::TEXT_LABELS))
            }
            Fault::Unlabelled => {
                let reason = format!("sample {key} has no label (.cls, .json, or a .txt if all of them are numbers)");
                (reason, Some(advice::TAR_UNLABELLED))
            }
        };
        let error = refused(sample.file, sample.offset.saturating_sub(BLOCK), reason);
        advice.into_iter().fold(error, Error::advise)
    }
}

/// Scans the samples of a shard. Reads only the data of members with labels.
///
/// # Errors
/// Names shard and offset: files that are not tar archives, compressed or cut short; members that claim more bytes than
/// there are, sparse ones, links instead of images; repeated keys, samples without an image or with two; invalid
/// labels.
fn scan(file: &DataFile, rules: &ScanRules) -> Result<IndexBuilder> {
    let failed = FirstFailure::default();
    let found = members(file, rules, &failed);
    // If a read has failed, it is the reason, whatever the scan took it for.
    failed.take().map_or(found, |source| Err(Error::io(file.name(), source)))
}

fn members(file: &DataFile, rules: &ScanRules, first_failure: &FirstFailure) -> Result<IndexBuilder> {
    let path = file.name();
    let failed = |source| Error::io(path, source);
    let length = file.stamp().map_err(failed)?.length;
    check_start(file, length)?;
    let read = Cell::new(0);
    let mut archive = Archive::new(Headers { reader: file.reader(length), read: &read, failed: first_failure });
    let mut scan = Scan { length, samples: Samples::new(file, rules, first_failure), open: None, waiting: None };
    let mut end = 0;
    for member in archive.entries_with_seek().map_err(failed)? {
        let member = member.map_err(|error| refused(path, end, damaged(&error)))?;
        end = scan.member(member)?;
        read.set(0);
    }
    scan.finish()?;
    scan.samples.end()?;
    // The crate takes the end of the file for the end of the archive. But a file that was cut between two members has
    // lost samples.
    let mut mark = [0; BLOCK as usize];
    if file.read_exact(&mut mark, end).map_err(|error| first_failure.note(error)).is_err()
        || mark != [0; BLOCK as usize]
    {
        return Err(refused(
            path,
            end,
            "the archive ends without the blocks of zeros that end every tar file: it is cut short",
        ));
    }
    Ok(scan.samples.index)
}

/// Reads the headers of an archive. The crate reads long names and extended headers whole, whatever length they claim.
/// So the number of bytes before a member is limited.
struct Headers<'a> {
    reader: DataReader<'a>,
    /// The number of bytes that were read since the last member.
    read: &'a Cell<u64>,
    failed: &'a FirstFailure,
}

impl Read for Headers<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(buffer).map_err(|error| self.failed.note(error))?;
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
    length: u64,
    samples: Samples<'a>,
    open: Option<Group>,
    /// The last members that are neither images nor labels, and that came before the others of their sample.
    waiting: Option<Group>,
}

impl Scan<'_> {
    /// Takes a member, and returns the offset of the next header.
    fn member(&mut self, mut member: Entry<'_, Headers<'_>>) -> Result<u64> {
        let (begin, size) = (member.raw_file_position(), member.size());
        let header = begin.saturating_sub(BLOCK);
        let name = member.path_bytes().into_owned();
        let path = self.samples.path;
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
        let next = end.next_multiple_of(BLOCK);
        let regular = kind.is_file() || kind.is_contiguous();
        // The crate changes a header by the extended one before it, so the bytes of the file are read.
        let lists = self.samples.lists_members() && regular;
        let check = if lists { self.samples.check_of(header)? } else { 0 };
        let parted = names::split(&name);
        let role = parted.as_ref().and_then(|(key, extension)| self.role(&name, key, extension));
        let (Some((key, extension)), Some(role)) = (&parted, role) else {
            let reserved = names::is_reserved(&name);
            let kind = if reserved { self.reserved(&name) } else { Some(names::kind(&name)) };
            if let Some(kind) = kind.filter(|_| regular) {
                self.samples.index.noticed.unread(&kind, &name);
            }
            if let (Some((key, _)), true) = (parted, lists && !reserved) {
                let key = key.to_vec();
                self.further(key, Member { name, role: Role::Further, header, begin, size, check });
            }
            return Ok(next);
        };
        if !regular {
            if kind.is_dir() {
                return Ok(next);
            }
            let what = if kind.is_symlink() || kind.is_hard_link() { "a link" } else { "not a regular file" };
            return refuse(format!("{what}: pack the file itself, as with tar --dereference --hard-dereference"));
        }
        if let Role::Classes = role {
            if self.samples.index.classes.is_empty() {
                let names = self.samples.small(begin, size).and_then(|bytes| class_names::parsed(extension, bytes));
                match names {
                    Ok(names) => self.samples.index.classes = names,
                    Err(reason) => return refuse(reason),
                }
            }
            return Ok(next);
        }
        if self.open.as_ref().is_none_or(|open| open.key != *key) {
            self.finish()?;
        }
        let waiting = &mut self.waiting;
        let open = self.open.get_or_insert_with(|| {
            let before = waiting.take().filter(|waiting| waiting.key == *key);
            let members = before.map(|before| before.members).unwrap_or_default();
            Group { key: key.to_vec(), at: header, members }
        });
        open.members.push(Member { name, role, header, begin, size, check });
        Ok(next)
    }

    /// Takes a member that is neither image nor label. It ends no group of members, as it may be of no sample at all.
    fn further(&mut self, key: Vec<u8>, member: Member) {
        if let Some(open) = self.open.as_mut().filter(|open| open.key == key) {
            return open.members.push(member);
        }
        match &mut self.waiting {
            Some(waiting) if waiting.key == key => waiting.members.push(member),
            waiting => *waiting = Some(Group { key, at: member.header, members: vec![member] }),
        }
    }

    /// Returns the kind of an image that WebDataset skips because it lies below a folder called `__..__`. Other members
    /// there are not missed by anybody.
    fn reserved(&self, name: &[u8]) -> Option<String> {
        let (_, extension) = names::split(name)?;
        let images = self.samples.extensions;
        let dotted = || names::longest_known(&extension, images).map(|(_, kind)| kind);
        let kind = Kind::of(&extension, images).or_else(dotted);
        (kind == Some(Kind::Image)).then(|| "images below folders called __..__, which WebDataset skips,".to_owned())
    }

    fn role(&self, name: &[u8], key: &[u8], extension: &str) -> Option<Role> {
        let base = key.rsplit(|&byte| byte == b'/').next().unwrap_or(key);
        if base == b"classes" && matches!(extension, "txt" | "json") {
            return Some(Role::Classes);
        }
        if names::is_reserved(name) {
            return None;
        }
        if let Some(kind) = Kind::of(extension, self.samples.extensions) {
            return Some(Role::Part(kind));
        }
        let (length, kind) = names::longest_known(extension, self.samples.extensions)?;
        Some(Role::Dotted(name.len().checked_sub(length)?, kind))
    }

    /// Ends the open group of members.
    fn finish(&mut self) -> Result<()> {
        self.open.take().map_or(Ok(()), |group| self.samples.add(group))
    }
}
