//! Reads and writes the index of a file with samples.
//!
//! | section | bytes |
//! |---|---|
//! | header | 176: magic, version, checksum of the rest of the head, the file it belongs to ([`Binding`]), lengths, facts |
//! | segments | 16 a segment of 512 samples: where it ends, and its checksum |
//! | classes | the file's own class names as a JSON list, or nothing; an object of these and of what was noticed ([`Described`]) |
//! | for each segment | 16: lengths; 32 a sample ([`SampleEntry`]); 4 a number of the labels that are lists; 32 a page ([`Page`]); with members 4 a sample and 24 a member ([`Member`]); keys |
//!
//! Version 5 has no members. It is what sets without fields write, and what they read beside version 6, which lists the
//! members of samples for sets with fields, and has the table of their endings in the object of [`Described`].
//!
//! The first three are the head. It is read when a set is opened; a segment is read when one of its samples is. Numbers
//! are in the machine's byte order. An index of another byte order has another magic number, and is made again, as is
//! an index that is damaged or belongs to another file. Every check has to succeed before a part of an index is used.

use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::Arc;

use bytemuck::allocation::pod_collect_to_vec;
use bytemuck::{Pod, Zeroable};
use xxhash_rust::xxh3::xxh3_64;

use super::binding::Binding;
use super::described::{Described, hash};
use super::entry::{CLASS, Page, SEGMENT, SampleEntry, Segment, TEXT, UNLABELLED};
use super::label_facts::LabelFacts;
use super::member::{Member, MemberTable};
use super::noticed::Noticed;
use super::spool::Spool;
use crate::storage::local::{atomic_file, read_at, regular_file};

/// The first bytes of the file, as a number of this machine.
const MAGIC: u64 = u64::from_ne_bytes(*b"gpufeed\x02");
/// The version of the layout, and of the way in which a scan reads a file.
pub(super) const VERSION: u64 = 5;
/// The version of indexes that list the members of samples.
pub(super) const MEMBERS_VERSION: u64 = 6;

/// The kind of the error for a file that is not an index, and therefore must not be overwritten.
pub(super) const FOREIGN: io::ErrorKind = io::ErrorKind::AlreadyExists;

/// The bytes of an index file that are read at first. Most heads are shorter.
const FIRST: usize = 4 << 10;

#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
struct IndexHeader {
    magic: u64,
    version: u64,
    /// The hash of all bytes of the head after this field.
    checksum: u64,
    binding: Binding,
    /// The numbers of samples and of segments, and the bytes of the classes and of all segments.
    samples: u64,
    segments: u64,
    classes: u64,
    data: u64,
    facts: LabelFacts,
}

impl IndexHeader {
    const SIZE: usize = size_of::<IndexHeader>();
    /// The first byte that the checksum covers.
    const CHECKED: usize = 24;

    /// Returns true if this is an index of this machine's byte order in a version that is read.
    fn is_known(&self) -> bool {
        self.magic == MAGIC && [VERSION, MEMBERS_VERSION].contains(&self.version)
    }

    /// Returns the length of the head.
    fn head(&self) -> Option<u64> {
        let table = self.segments.checked_mul(size_of::<SegmentEnd>() as u64)?;
        table.checked_add(self.classes)?.checked_add(IndexHeader::SIZE as u64)
    }
}

#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(super) struct SegmentEnd {
    /// The end of the segment, counted from the end of the head.
    pub(super) end: u64,
    pub(super) checksum: u64,
}

#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(super) struct SegmentHead {
    pub(super) targets: u32,
    pub(super) pages: u32,
    pub(super) keys: u32,
    /// The number of members; 0 in an index without members.
    pub(super) members: u32,
}

/// Returns the head of an index file.
pub(super) fn head(
    version: u64,
    binding: &Binding,
    samples: u64,
    facts: &LabelFacts,
    rows: &[SegmentEnd],
    classes: &[u8],
    data: u64,
) -> Vec<u8> {
    let (segments, classes_length) = (rows.len() as u64, classes.len() as u64);
    let mut header = IndexHeader {
        magic: MAGIC,
        version,
        checksum: 0,
        binding: *binding,
        samples,
        segments,
        classes: classes_length,
        data,
        facts: *facts,
    };
    let mut head = [bytemuck::bytes_of(&header), bytemuck::cast_slice(rows), classes].concat();
    header.checksum = xxh3_64(&head[IndexHeader::CHECKED..]);
    head[..IndexHeader::SIZE].copy_from_slice(bytemuck::bytes_of(&header));
    head
}

/// The bytes of an index: its head, and its segments.
#[derive(Debug)]
pub(super) struct IndexBytes {
    pub(super) head: Vec<u8>,
    pub(super) data: Vec<u8>,
}

impl IndexBytes {
    /// Takes the bytes of an index file. `None` if they are damaged, do not belong to the file of this binding, or are
    /// refused by `can_use`.
    pub(super) fn parse(
        mut bytes: Vec<u8>,
        binding: &Binding,
        can_use: impl FnOnce(&Index) -> bool,
    ) -> Option<IndexBytes> {
        let header = bytemuck::pod_read_unaligned::<IndexHeader>(bytes.get(..IndexHeader::SIZE)?);
        let length = header.head().filter(|head| head.checked_add(header.data) == Some(bytes.len() as u64))?;
        let ours = header.is_known() && header.binding == *binding;
        let data = bytes.split_off(usize::try_from(length).ok()?);
        let parsed = IndexBytes { head: bytes, data };
        let whole =
            Index::of(&header, &parsed.head, Segments::Memory(Box::default())).is_some_and(|index| can_use(&index));
        (ours && whole).then_some(parsed)
    }

    /// Returns the bytes of the index file.
    pub(super) fn whole(&self) -> Vec<u8> {
        [&*self.head, &*self.data].concat()
    }

    /// Writes the file atomically. It replaces an older file.
    pub(super) fn save(&self, path: &Path) -> io::Result<()> {
        atomic_file::replace(path, |out| {
            out.write_all(&self.head)?;
            out.write_all(&self.data)
        })
    }
}

/// Where the segments of an index are.
#[derive(Debug)]
enum Segments {
    File { path: Box<Path>, begin: u64 },
    Spool { spool: Arc<Spool>, begin: u64 },
    Memory(Box<[u8]>),
}

/// The head of an index in memory, and where its segments are.
#[derive(Debug)]
pub(super) struct Index {
    pub(super) samples: usize,
    pub(super) facts: LabelFacts,
    /// The file's own class names, and their hash. The hash stays when the names move to the set.
    pub(super) classes: Vec<String>,
    pub(super) names: Option<u128>,
    pub(super) noticed: Noticed,
    /// The endings of the members, if the index lists them.
    pub(super) members: Option<MemberTable>,
    /// The length of the file that the index belongs to.
    pub(super) length: u64,
    rows: Box<[SegmentEnd]>,
    segments: Segments,
}

impl Index {
    /// Reads the head of the index file at `path`. Returns `None` if there is no such file, or if it is damaged or
    /// belongs to another file.
    ///
    /// # Errors
    /// [`FOREIGN`] for another kind of file; the system's error if it cannot be read.
    pub(super) fn load(path: &Path, binding: &Binding) -> io::Result<Option<Index>> {
        let (mut file, metadata) = match regular_file::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) if regular_file::is_refused(&error) => return Err(io::Error::new(FOREIGN, error)),
            opened => opened?,
        };
        let mut head = Vec::new();
        (&mut file).take(FIRST as u64).read_to_end(&mut head)?;
        let magic = MAGIC.to_ne_bytes();
        let other_order = MAGIC.swap_bytes().to_ne_bytes();
        let begin = &head[..head.len().min(8)];
        if !magic.starts_with(begin) && !other_order.starts_with(begin) {
            return Err(io::Error::new(FOREIGN, "not an index of gpufeed's"));
        }
        let Some(header) = head.get(..IndexHeader::SIZE).map(bytemuck::pod_read_unaligned::<IndexHeader>) else {
            return Ok(None);
        };
        let length = header.head().filter(|head| head.checked_add(header.data) == Some(metadata.len()));
        let Some(length) = length.filter(|_| header.is_known()) else { return Ok(None) };
        // Takes memory by the file's real length, not by lengths in its header.
        file.take(length.saturating_sub(head.len() as u64)).read_to_end(&mut head)?;
        head.truncate(length as usize);
        let segments = Segments::File { path: path.into(), begin: length };
        Ok(Self::of(&header, &head, segments).filter(|_| header.binding == *binding))
    }

    /// Takes the index that a scan has made, without a file.
    pub(super) fn in_memory(bytes: IndexBytes) -> Option<Index> {
        let header = bytemuck::pod_read_unaligned::<IndexHeader>(bytes.head.get(..IndexHeader::SIZE)?);
        Self::of(&header, &bytes.head, Segments::Memory(bytes.data.into()))
    }

    /// Takes the index that a scan has made or a store has, and appends its segments to the file without a name.
    ///
    /// # Errors
    /// The system's, if they cannot be written.
    pub(super) fn spooled(bytes: &IndexBytes, spool: &Arc<Spool>) -> io::Result<Option<Index>> {
        let Some(header) = bytes.head.get(..IndexHeader::SIZE).map(bytemuck::pod_read_unaligned::<IndexHeader>) else {
            return Ok(None);
        };
        let begin = spool.append(&bytes.data)?;
        Ok(Self::of(&header, &bytes.head, Segments::Spool { spool: Arc::clone(spool), begin }))
    }

    fn of(header: &IndexHeader, head: &[u8], segments: Segments) -> Option<Index> {
        if xxh3_64(head.get(IndexHeader::CHECKED..)?) != header.checksum {
            return None;
        }
        let (table, classes) = head
            .get(IndexHeader::SIZE..)?
            .split_at_checked(head.len().checked_sub(IndexHeader::SIZE + usize::try_from(header.classes).ok()?)?)?;
        let rows: Vec<SegmentEnd> = pod_collect_to_vec(table);
        let samples = usize::try_from(header.samples).ok()?;
        let (classes, noticed, members) = Described::parse(classes)?;
        if members.is_some() != (header.version == MEMBERS_VERSION) {
            return None;
        }
        let ends = rows.windows(2).all(|rows| rows[0].end <= rows[1].end);
        let whole = rows.last().map_or(0, |row| row.end) == header.data && samples.div_ceil(SEGMENT) == rows.len();
        let (length, names) = (header.binding.length, hash(&classes));
        let facts = header.facts;
        let index = Index { samples, facts, classes, names, noticed, members, length, rows: rows.into(), segments };
        (ends && whole && facts.may_be_of(header.samples, length)).then_some(index)
    }

    /// Reads a segment. Returns `None` if the segment is damaged or forged, or if the index file has gone or was
    /// replaced.
    pub(super) fn segment(
        &self,
        number: usize,
        fits: impl FnMut(&SampleEntry, Option<&Page>) -> bool,
    ) -> io::Result<Option<Segment>> {
        Ok(self.parse(number, &self.bytes(number)?, fits).map(|(segment, _)| segment))
    }

    /// Reads the key of a sample; `None` if its segment cannot be read.
    pub(super) fn key(&self, sample: usize) -> Option<String> {
        let bytes = self.bytes(sample / SEGMENT).ok()?;
        let (segment, keys) = self.parse(sample / SEGMENT, &bytes, |_, _| true)?;
        let at = sample % SEGMENT;
        let begin = match at.checked_sub(1) {
            None => 0,
            Some(before) => segment.entries.get(before)?.key_end,
        };
        Some(keys.get(begin as usize..segment.entries.get(at)?.key_end as usize)?.to_owned())
    }

    fn bytes(&self, number: usize) -> io::Result<Vec<u8>> {
        let Some(row) = self.rows.get(number) else { return Ok(Vec::new()) };
        let begin = number.checked_sub(1).map_or(0, |before| self.rows[before].end);
        match &self.segments {
            Segments::Memory(data) => Ok(data.get(begin as usize..row.end as usize).unwrap_or_default().to_vec()),
            Segments::Spool { spool, begin: from } => spool.read(from + begin, (row.end - begin) as usize),
            Segments::File { path, begin: from } => {
                let (file, metadata) = regular_file::open(path)?;
                if from + row.end > metadata.len() {
                    return Ok(Vec::new());
                }
                let mut bytes = Vec::new();
                regular_file::lengthen(&mut bytes, (row.end - begin) as usize, 0)?;
                read_at::read_exact(&file, &mut bytes, from + begin)?;
                Ok(bytes)
            }
        }
    }

    fn parse<'a>(
        &self,
        number: usize,
        bytes: &'a [u8],
        fits: impl FnMut(&SampleEntry, Option<&Page>) -> bool,
    ) -> Option<(Segment, &'a str)> {
        if xxh3_64(bytes) != self.rows.get(number)?.checksum {
            return None;
        }
        let head = bytemuck::pod_read_unaligned::<SegmentHead>(bytes.get(..size_of::<SegmentHead>())?);
        let mut rest = bytes.get(size_of::<SegmentHead>()..)?;
        let mut part = |length: u64| rest.split_off(..usize::try_from(length).ok()?);
        let samples = (self.samples - number * SEGMENT).min(SEGMENT) as u64;
        let entries: Vec<SampleEntry> = pod_collect_to_vec(part(samples * size_of::<SampleEntry>() as u64)?);
        let targets: Vec<f32> = pod_collect_to_vec(part(u64::from(head.targets) * 4)?);
        let pages: Vec<Page> = pod_collect_to_vec(part(u64::from(head.pages) * size_of::<Page>() as u64)?);
        let (mut ends, mut members): (Vec<u32>, Vec<Member>) = Default::default();
        if self.members.is_some() {
            ends = pod_collect_to_vec(part(samples * 4)?);
            members = pod_collect_to_vec(part(u64::from(head.members) * size_of::<Member>() as u64)?);
        }
        let keys = std::str::from_utf8(part(head.keys.into())?).ok()?;
        let (entries, targets, pages) = (entries.into(), targets.into(), pages.into());
        let segment = Segment { entries, targets, pages, members: members.into(), ends: ends.into() };
        if self.members.as_ref().is_some_and(|table| !segment.has_members(table.endings.len())) {
            return None;
        }
        let facts = segment.entries.iter().all(|entry| match entry.targets {
            CLASS => u64::from(entry.label) < self.facts.classes,
            TEXT => u64::from(entry.label) < self.facts.text_classes,
            UNLABELLED => self.facts.unlabelled > 0,
            _ => true,
        });
        (rest.is_empty() && facts && segment.is_consistent(keys, fits)).then_some((segment, keys))
    }
}
