//! A sample in an index, and the segments of an index.

use bytemuck::{Pod, Zeroable};

use super::member::Member;
use crate::dataset::Label;

/// The samples of a segment. The last segment of a file may have fewer.
///
/// An index is read a segment at a time. An epoch in random order reads a segment for nearly every sample, if the index
/// is larger than the memory for it; so segments are small. Each costs 40 bytes of memory while the set is open.
pub(super) const SEGMENT: usize = 512;

/// The value of a [`SampleEntry`]'s `targets` if its label is a class.
pub(super) const CLASS: u32 = u32::MAX;
pub(super) const UNLABELLED: u32 = u32::MAX - 1;
/// The value if the label is a number in a text that may be a caption. The whole set decides whether such numbers are
/// classes.
pub(super) const TEXT: u32 = u32::MAX - 2;

/// The label of a sample, as a scan finds it.
#[derive(Clone, Debug)]
pub(in crate::dataset) enum Labelled {
    /// A label, or no label.
    As(Label),
    /// A number in a text. It is a class, unless the texts of the set are captions.
    Text(u32),
    /// A text that is no number.
    Caption,
}

impl From<&Label> for Labelled {
    fn from(label: &Label) -> Labelled {
        Labelled::As(label.clone())
    }
}

/// Where a sample is in its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(in crate::dataset) struct SampleEntry {
    /// The offset of the image in the file, or in the unpacked page if the image is in one.
    pub(in crate::dataset) offset: u64,
    /// The image's length in bytes.
    pub(in crate::dataset) length: u32,
    /// The hash of bytes that are read with the image, which shows whether the file has changed.
    pub(in crate::dataset) check: u32,
    /// The end of the sample's key among the keys of the segment. The key begins where the previous one ends.
    pub(super) key_end: u32,
    /// The number of values if the label is a list; else [`CLASS`], [`TEXT`] or [`UNLABELLED`].
    pub(super) targets: u32,
    /// The class, or the index of the list's first value.
    pub(super) label: u32,
    /// The number of the sample's page in the segment, from 1; 0 if the image lies in the file as it is.
    pub(super) page: u32,
}

/// A compressed part of a file that has images.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(in crate::dataset) struct Page {
    /// Offset of the compressed bytes in the file.
    pub(in crate::dataset) offset: u64,
    /// Hash of the compressed bytes.
    pub(in crate::dataset) hash: u64,
    /// The number of compressed bytes.
    pub(in crate::dataset) compressed: u32,
    /// The number of bytes after unpacking.
    pub(in crate::dataset) length: u32,
    /// The number of the compression, which the format chooses.
    pub(in crate::dataset) codec: u32,
    pub(in crate::dataset) zero: u32,
}

/// Up to [`SEGMENT`] samples that follow each other.
#[derive(Debug, Default)]
pub(in crate::dataset) struct Segment {
    pub(super) entries: Box<[SampleEntry]>,
    pub(super) targets: Box<[f32]>,
    pub(super) pages: Box<[Page]>,
    /// The members of all samples, and the end of each sample's members; none if no field asks for any.
    pub(super) members: Box<[Member]>,
    pub(super) ends: Box<[u32]>,
}

impl Segment {
    /// Returns the sample's page; `None` for an image that lies in the file as it is.
    pub(in crate::dataset) fn page(&self, entry: &SampleEntry) -> Option<&Page> {
        self.pages.get((entry.page as usize).checked_sub(1)?)
    }

    /// Returns the sample's label; `texts` says whether numbers in texts are labels.
    pub(super) fn label(&self, entry: &SampleEntry, texts: bool) -> Label {
        match entry.targets {
            CLASS => Label::Class(entry.label),
            TEXT if texts => Label::Class(entry.label),
            TEXT | UNLABELLED => Label::None,
            count => {
                let values = self.targets.get(entry.label as usize..).and_then(|from| from.get(..count as usize));
                Label::Multi(values.unwrap_or_default().into())
            }
        }
    }

    /// Returns the members of a sample that a field asks for.
    pub(super) fn members(&self, at: usize) -> &[Member] {
        let begin = at.checked_sub(1).map_or(0, |before| self.ends.get(before).copied().unwrap_or_default());
        let end = self.ends.get(at).copied().unwrap_or_default();
        self.members.get(begin as usize..end as usize).unwrap_or_default()
    }

    /// Returns true if every member has an ending of the table and belongs to one sample.
    pub(super) fn has_members(&self, endings: usize) -> bool {
        let ends = self.ends.len() == self.entries.len() && self.ends.is_sorted();
        let all = self.ends.last().copied().unwrap_or_default() as usize == self.members.len();
        ends && all && self.members.iter().all(|member| (member.ending as usize) < endings)
    }

    /// Returns the memory that the segment takes.
    pub(super) fn bytes(&self) -> usize {
        let members = size_of_val(&*self.members) + size_of_val(&*self.ends);
        let parts = size_of_val(&*self.entries) + size_of_val(&*self.targets) + size_of_val(&*self.pages);
        size_of::<Segment>() + parts + members
    }

    /// Returns true if every entry points into the data, and the data has nothing else, because a forged file can have
    /// right checksums. Lists must follow one another: if samples shared a list, a small file would cost memory for a
    /// copy of the list for each sample.
    pub(super) fn is_consistent(&self, keys: &str, mut fits: impl FnMut(&SampleEntry, Option<&Page>) -> bool) -> bool {
        let (mut key_begin, mut targets) = (0, 0);
        let each = self.entries.iter().all(|entry| {
            let key = keys.get(key_begin as usize..entry.key_end as usize).is_some();
            key_begin = entry.key_end;
            let page = self.page(entry);
            let image = (page.is_some() || entry.page == 0) && fits(entry, page);
            let label = entry.targets >= TEXT || u64::from(entry.label) == targets;
            targets += if entry.targets >= TEXT { 0 } else { u64::from(entry.targets) };
            key && image && label
        });
        each && key_begin as usize == keys.len() && targets == self.targets.len() as u64
    }
}
