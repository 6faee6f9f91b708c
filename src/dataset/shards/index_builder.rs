//! Makes the index of a file from its samples.

use xxhash_rust::xxh3::xxh3_64;

use super::binding::Binding;
use super::described::Described;
use super::entry::{CLASS, Labelled, Page, SEGMENT, SampleEntry, TEXT, UNLABELLED};
use super::index::{IndexBytes, MEMBERS_VERSION, SegmentEnd, SegmentHead, VERSION, head};
use super::label_facts::LabelFacts;
use super::member::{FoundMember, MemberLists};
use super::noticed::Noticed;
use crate::dataset::Label;

/// Where an image is: in the file, or in a page of the file.
#[derive(Clone, Copy, Debug)]
pub(in crate::dataset) struct StoredImage {
    pub(in crate::dataset) offset: u64,
    pub(in crate::dataset) length: u32,
    pub(in crate::dataset) check: u32,
    pub(in crate::dataset) page: Option<Page>,
}

/// Collects the samples of a file for its index.
#[derive(Debug, Default)]
pub(in crate::dataset) struct IndexBuilder {
    samples: u64,
    facts: LabelFacts,
    /// The file's own class names.
    pub(in crate::dataset) classes: Vec<String>,
    pub(in crate::dataset) noticed: Noticed,
    rows: Vec<SegmentEnd>,
    data: Vec<u8>,
    entries: Vec<SampleEntry>,
    targets: Vec<f32>,
    pages: Vec<Page>,
    keys: String,
    /// The members of samples, if the index lists them.
    lists: Option<MemberLists>,
}

impl IndexBuilder {
    /// Makes the builder of an index that lists the members of its samples.
    pub(in crate::dataset) fn listing_members() -> IndexBuilder {
        IndexBuilder { lists: Some(MemberLists::default()), ..IndexBuilder::default() }
    }

    /// Returns true if the index lists the members of its samples.
    pub(in crate::dataset) fn lists_members(&self) -> bool {
        self.lists.is_some()
    }

    /// Adds members of the sample that is pushed next.
    pub(in crate::dataset) fn members(&mut self, found: Vec<FoundMember>) {
        if let Some(lists) = &mut self.lists {
            lists.add(found);
        }
    }

    /// Counts a member that is no label, though a set without fields would refuse it for that.
    pub(in crate::dataset) fn no_label(&mut self) {
        if let Some(lists) = &mut self.lists {
            lists.table.no_labels += 1;
        }
    }

    /// Adds a sample. Images of the same page have to follow each other.
    ///
    /// # Errors
    /// The reason if the index is full.
    pub(in crate::dataset) fn push(
        &mut self,
        key: &str,
        location: StoredImage,
        label: impl Into<Labelled>,
    ) -> Result<(), String> {
        let label = label.into();
        const FULL: &str = "the keys, labels or members of 512 samples are more than 4 GiB: make them shorter";
        let full = |_| FULL.to_owned();
        self.facts.add(self.samples, &label);
        let (label, targets) = match label {
            Labelled::As(Label::None) | Labelled::Caption => (0, UNLABELLED),
            Labelled::As(Label::Class(class)) => (class, CLASS),
            Labelled::Text(class) => (class, TEXT),
            Labelled::As(Label::Multi(values)) => {
                let begin = u32::try_from(self.targets.len()).map_err(full)?;
                self.targets.extend_from_slice(&values);
                u32::try_from(self.targets.len()).map_err(full)?;
                (begin, values.len() as u32)
            }
        };
        self.keys.push_str(key);
        let key_end = u32::try_from(self.keys.len()).map_err(full)?;
        let page = match location.page {
            None => 0,
            Some(page) => match self.pages.iter().rposition(|known| *known == page) {
                Some(known) => known as u32 + 1,
                None => {
                    self.pages.push(page);
                    self.pages.len() as u32
                }
            },
        };
        let StoredImage { offset, length, check, .. } = location;
        self.entries.push(SampleEntry { offset, length, check, key_end, targets, label, page });
        if let Some(lists) = &mut self.lists {
            lists.end_sample().ok_or(FULL)?;
        }
        self.samples += 1;
        if self.entries.len() == SEGMENT {
            self.end_segment();
        }
        Ok(())
    }

    /// Counts a text that is a caption. The next sample has another label beside it.
    pub(in crate::dataset) fn caption(&mut self) {
        self.facts.add_caption(self.samples);
    }

    #[cfg(feature = "parquet")]
    pub(in crate::dataset) fn len(&self) -> usize {
        self.samples as usize
    }

    fn end_segment(&mut self) {
        let begin = self.data.len();
        let [targets, pages, keys] = [self.targets.len(), self.pages.len(), self.keys.len()].map(|n| n as u32);
        let members = self.lists.as_ref().map_or(0, |lists| lists.members.len() as u32);
        self.data.extend_from_slice(bytemuck::bytes_of(&SegmentHead { targets, pages, keys, members }));
        self.data.extend_from_slice(bytemuck::cast_slice(&self.entries));
        self.data.extend_from_slice(bytemuck::cast_slice(&self.targets));
        self.data.extend_from_slice(bytemuck::cast_slice(&self.pages));
        if let Some(lists) = &mut self.lists {
            self.data.extend_from_slice(bytemuck::cast_slice(&lists.ends));
            self.data.extend_from_slice(bytemuck::cast_slice(&lists.members));
            lists.ends.clear();
            lists.members.clear();
        }
        self.data.extend_from_slice(self.keys.as_bytes());
        self.rows.push(SegmentEnd { end: self.data.len() as u64, checksum: xxh3_64(&self.data[begin..]) });
        self.entries.clear();
        self.targets.clear();
        self.pages.clear();
        self.keys.clear();
    }

    /// Returns the bytes of the index file.
    pub(super) fn finish(mut self, binding: &Binding) -> IndexBytes {
        if !self.entries.is_empty() {
            self.end_segment();
        }
        let table = self.lists.map(|lists| lists.table);
        let version = if table.is_some() { MEMBERS_VERSION } else { VERSION };
        let classes = Described::new(self.classes, self.noticed, table).to_bytes();
        let head = head(version, binding, self.samples, &self.facts, &self.rows, &classes, self.data.len() as u64);
        IndexBytes { head, data: self.data }
    }
}
