//! The index of a shard, with the offsets of its samples, and the index file.
//!
//! | section | bytes |
//! |---|---|
//! | header | 96: magic, version, checksum of the rest, the file it belongs to ([`Binding`]), lengths of the sections |
//! | entries | 32 a sample: [`Entry`] |
//! | targets | 4 a number of the labels that are lists |
//! | keys | UTF-8, one after the other |
//! | classes | the shard's own class names as a JSON list, or nothing |
//!
//! Numbers are in the machine's byte order; an index of another byte order has another magic number, and is rebuilt. So
//! is a damaged one, or one of another file: every check has to succeed before an index is used.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;
use std::time::UNIX_EPOCH;

use bytemuck::{Pod, Zeroable};
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use crate::dataset::Label;
use crate::{atomic_file, read_at, regular_file};

/// The first bytes of the file, as a number of this machine.
const MAGIC: u64 = u64::from_ne_bytes(*b"gpufeed\x02");
/// Changes with the layout, and with the way in which a scan reads an archive.
const VERSION: u64 = 1;
/// Bytes compared at a shard's start and at its end. tar pads an archive to 10 KiB, so the end has the last members'
/// headers too.
const START: u64 = 4 << 10;
const END: u64 = 64 << 10;

/// Kind of the error for a file that is not an index and must not be overwritten.
pub(super) const FOREIGN: io::ErrorKind = io::ErrorKind::AlreadyExists;

/// An [`Entry`]'s `targets` if its label is a class.
const CLASS: u32 = u32::MAX;
const UNLABELLED: u32 = u32::MAX - 1;

/// Identifies the file and the settings that an index was made with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Binding {
    /// The shard's length in bytes.
    pub(super) length: u64,
    /// Modification time: seconds and nanoseconds.
    seconds: u64,
    nanoseconds: u64,
    /// The hash of the shard's first and last bytes.
    ends: u64,
    /// Hash of the settings that decide which members are images.
    settings: u64,
}

impl Binding {
    pub(super) fn of(file: &File, extensions: &[String]) -> io::Result<Binding> {
        let metadata = file.metadata()?;
        let length = metadata.len();
        let written = metadata.modified()?.duration_since(UNIX_EPOCH).unwrap_or_default();
        let mut ends = vec![0; length.min(START) as usize];
        read_at::read_exact(file, &mut ends, 0)?;
        let mut hash = Xxh3::new();
        hash.update(&ends);
        ends.resize(length.min(END) as usize, 0);
        read_at::read_exact(file, &mut ends, length - length.min(END))?;
        hash.update(&ends);
        Ok(Binding {
            length,
            seconds: written.as_secs(),
            nanoseconds: u64::from(written.subsec_nanos()),
            ends: hash.digest(),
            settings: xxh3_64(extensions.join("/").as_bytes()),
        })
    }
}

/// A sample in the index file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Entry {
    /// Offset of its image in the shard; the block before it is the member's header.
    pub(super) offset: u64,
    /// The image's length in bytes.
    pub(super) length: u32,
    /// Hash of the member's header, which is read with the image: it detects a shard that has changed.
    pub(super) header: u32,
    /// End of its key; the key begins at the end of the previous one.
    key_end: u32,
    /// Number of values if the label is a list; [`CLASS`] or [`UNLABELLED`].
    targets: u32,
    /// The class, or the index of the list's first value.
    label: u32,
    zero: u32,
}

/// Returns the hash of a header for [`Entry::header`].
pub(super) fn header_hash(header: &[u8]) -> u32 {
    xxh3_64(header) as u32
}

/// The samples of a shard, in its order.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ShardIndex {
    pub(super) entries: Vec<Entry>,
    targets: Vec<f32>,
    keys: String,
    /// The shard's own class names.
    pub(super) classes: Vec<String>,
}

impl ShardIndex {
    /// # Errors
    /// Returns the reason if the index is full.
    pub(super) fn push(
        &mut self,
        key: &str,
        (offset, length, header): (u64, u32, u32),
        label: &Label,
    ) -> Result<(), String> {
        let full = |_| "the keys or labels of all samples are more than 4 GiB: make smaller shards".to_owned();
        let (label, targets) = match label {
            Label::None => (0, UNLABELLED),
            Label::Class(class) => (*class, CLASS),
            Label::Multi(values) => {
                let begin = u32::try_from(self.targets.len()).map_err(full)?;
                self.targets.extend_from_slice(values);
                (begin, values.len() as u32)
            }
        };
        self.keys.push_str(key);
        let key_end = u32::try_from(self.keys.len()).map_err(full)?;
        self.entries.push(Entry { offset, length, header, key_end, targets, label, zero: 0 });
        Ok(())
    }

    pub(super) fn key(&self, sample: usize) -> &str {
        let begin = sample.checked_sub(1).and_then(|before| self.entries.get(before)).map_or(0, |entry| entry.key_end);
        let end = self.entries.get(sample).map_or(begin, |entry| entry.key_end);
        self.keys.get(begin as usize..end as usize).unwrap_or_default()
    }

    pub(super) fn label(&self, entry: &Entry) -> Label {
        match entry.targets {
            CLASS => Label::Class(entry.label),
            UNLABELLED => Label::None,
            count => {
                let values = self.targets.get(entry.label as usize..).and_then(|from| from.get(..count as usize));
                Label::Multi(values.unwrap_or_default().into())
            }
        }
    }

    /// Returns the class, if the label is one.
    pub(super) fn class_of(&self, entry: &Entry) -> Option<u32> {
        (entry.targets == CLASS).then_some(entry.label)
    }

    pub(super) fn shrink(&mut self) {
        self.entries.shrink_to_fit();
        self.targets.shrink_to_fit();
        self.keys.shrink_to_fit();
    }

    /// Reads the index file at `path`; returns `None` if there is none, or if it is damaged or belongs to another
    /// shard.
    ///
    /// # Errors
    /// [`FOREIGN`] for another kind of file; the system's error if it cannot be read.
    pub(super) fn load(path: &Path, binding: &Binding) -> io::Result<Option<ShardIndex>> {
        let mut file = match regular_file::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) if regular_file::is_refused(&error) => return Err(io::Error::new(FOREIGN, error)),
            file => file?.0,
        };
        let mut bytes = Vec::new();
        (&mut file).take(Header::SIZE as u64).read_to_end(&mut bytes)?;
        let magic = MAGIC.to_ne_bytes();
        let other_order = MAGIC.swap_bytes().to_ne_bytes();
        let begin = &bytes[..bytes.len().min(8)];
        if !magic.starts_with(begin) && !other_order.starts_with(begin) {
            return Err(io::Error::new(FOREIGN, "not an index of a tar shard"));
        }
        let Some(header) = bytes.get(..Header::SIZE).map(bytemuck::pod_read_unaligned::<Header>) else {
            return Ok(None);
        };
        if header.magic != MAGIC || header.version != VERSION || header.binding != *binding {
            return Ok(None);
        }
        // Checked to be an index, so it may be read. The memory is that of the file's real length, not of lengths in
        // its header.
        file.read_to_end(&mut bytes)?;
        Ok(Self::from_bytes(&header, &bytes))
    }

    fn from_bytes(header: &Header, bytes: &[u8]) -> Option<ShardIndex> {
        if xxh3_64(bytes.get(Header::CHECKED..)?) != header.checksum {
            return None;
        }
        let mut rest = bytes.get(Header::SIZE..)?;
        let mut part = |length: u64| rest.split_off(..usize::try_from(length).ok()?);
        let [entries, targets, keys, classes] = header.lengths;
        let entries = bytemuck::allocation::pod_collect_to_vec(part(entries.checked_mul(size_of::<Entry>() as u64)?)?);
        let targets = bytemuck::allocation::pod_collect_to_vec(part(targets.checked_mul(4)?)?);
        let keys = String::from_utf8(part(keys)?.to_vec()).ok()?;
        let classes = part(classes)?;
        let classes = if classes.is_empty() { Vec::new() } else { serde_json::from_slice(classes).ok()? };
        let index = ShardIndex { entries, targets, keys, classes };
        (rest.is_empty() && index.is_consistent(header.binding.length)).then_some(index)
    }

    /// Returns true if every entry points into the data, and the data has nothing else: forged files can have right
    /// checksums. Lists must be one after the other, since shared lists would make a small file cost a copy per sample.
    fn is_consistent(&self, length: u64) -> bool {
        let (mut key_begin, mut targets) = (0, 0);
        let each = self.entries.iter().all(|entry| {
            let key = self.keys.get(key_begin as usize..entry.key_end as usize).is_some();
            key_begin = entry.key_end;
            let end = entry.offset.checked_add(u64::from(entry.length));
            let image = entry.offset >= 512 && end.is_some_and(|end| end <= length);
            let label = entry.targets >= UNLABELLED || u64::from(entry.label) == targets;
            targets += if entry.targets >= UNLABELLED { 0 } else { u64::from(entry.targets) };
            key && image && label
        });
        each && key_begin as usize == self.keys.len() && targets == self.targets.len() as u64
    }

    /// Writes the file atomically, replacing an old one.
    pub(super) fn save(&self, path: &Path, binding: &Binding) -> io::Result<()> {
        let classes = if self.classes.is_empty() { Vec::new() } else { serde_json::to_vec(&self.classes)? };
        let lengths = [self.entries.len(), self.targets.len(), self.keys.len(), classes.len()].map(|n| n as u64);
        let mut header = Header { magic: MAGIC, version: VERSION, checksum: 0, binding: *binding, lengths };
        let parts: [&[u8]; 4] =
            [bytemuck::cast_slice(&self.entries), bytemuck::cast_slice(&self.targets), self.keys.as_bytes(), &classes];
        let mut hash = Xxh3::new();
        hash.update(&bytemuck::bytes_of(&header)[Header::CHECKED..]);
        parts.iter().for_each(|part| hash.update(part));
        header.checksum = hash.digest();
        atomic_file::replace(path, |out| {
            out.write_all(bytemuck::bytes_of(&header))?;
            parts.iter().try_for_each(|part| out.write_all(part))
        })
    }
}

#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Header {
    magic: u64,
    version: u64,
    /// The hash of all bytes of the index after this field.
    checksum: u64,
    binding: Binding,
    /// Numbers of entries, of targets, of the keys' bytes and of the classes' bytes.
    lengths: [u64; 4],
}

impl Header {
    const SIZE: usize = size_of::<Header>();
    /// First byte that the checksum covers.
    const CHECKED: usize = 24;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn binding(length: u64) -> Binding {
        Binding { length, seconds: 1, nanoseconds: 2, ends: 3, settings: 4 }
    }

    fn sample() -> ShardIndex {
        let mut index = ShardIndex { classes: vec!["cat".into()], ..ShardIndex::default() };
        index.push("a/1", (512, 100, 7), &Label::Class(3)).unwrap();
        index.push("", (1536, 0, 8), &Label::None).unwrap();
        index.push("é", (2048, 9, 9), &Label::from(vec![0.5, 1.0])).unwrap();
        index.push("b", (4096, 9, 9), &Label::from(vec![])).unwrap();
        index
    }

    #[test]
    fn what_was_saved_is_loaded() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("index");
        assert!(ShardIndex::load(&path, &binding(1 << 20)).unwrap().is_none());
        for index in [ShardIndex::default(), sample()] {
            index.save(&path, &binding(1 << 20)).unwrap();
            assert_eq!(ShardIndex::load(&path, &binding(1 << 20)).unwrap().unwrap(), index);
        }
        let index = sample();
        assert_eq!((0..5).map(|i| index.key(i)).collect::<Vec<_>>(), ["a/1", "", "é", "b", ""]);
        let labels: Vec<_> = index.entries.iter().map(|entry| index.label(entry)).collect();
        assert_eq!(labels[..2], [Label::Class(3), Label::None]);
        assert_eq!(labels[2..], [Label::from(vec![0.5, 1.0]), Label::from(vec![])]);
        assert!(ShardIndex::load(&path, &Binding { ends: 5, ..binding(1 << 20) }).unwrap().is_none());
    }

    #[test]
    fn entries_that_point_outside_are_refused_even_with_a_right_checksum() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("index");
        let changes: [fn(&mut ShardIndex); 9] = [
            |index| index.entries[0].offset = 1 << 20,
            |index| index.entries[0].offset = u64::MAX,
            |index| index.entries[0].offset = 0,
            |index| index.entries[1].key_end = 1000,
            |index| index.entries[2].label = 1,
            |index| index.entries[2].key_end = 4, // inside a character
            |index| index.keys.push('x'),
            |index| index.targets.push(1.0),
            // Two samples refer to one list of values.
            |index| (index.entries[3].label, index.entries[3].targets) = (0, 2),
        ];
        for (number, change) in changes.into_iter().enumerate() {
            let mut index = sample();
            change(&mut index);
            index.save(&path, &binding(1 << 20)).unwrap();
            assert!(ShardIndex::load(&path, &binding(1 << 20)).unwrap().is_none(), "change {number}");
        }
    }

    #[test]
    fn damage_is_noticed_and_other_files_are_not_ours() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("index");
        sample().save(&path, &binding(1 << 20)).unwrap();
        let whole = std::fs::read(&path).unwrap();
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 1 << (at % 8);
            std::fs::write(&path, &bytes).unwrap();
            let loaded = ShardIndex::load(&path, &binding(1 << 20));
            assert!(!matches!(loaded, Ok(Some(_))), "byte {at}");
            assert_eq!(loaded.is_err(), at < 8, "byte {at}");
            std::fs::write(&path, &whole[..at]).unwrap();
            assert!(ShardIndex::load(&path, &binding(1 << 20)).unwrap().is_none(), "cut at {at}");
        }
        std::fs::write(&path, "my thesis").unwrap();
        assert_eq!(ShardIndex::load(&path, &binding(1 << 20)).unwrap_err().kind(), FOREIGN);
    }
}
