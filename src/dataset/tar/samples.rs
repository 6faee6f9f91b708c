//! Makes the samples of a shard from groups of members: images, labels, and what is not read.

mod member_labels;

use crate::advice;
use std::collections::HashSet;
use std::path::Path;

use xxhash_rust::xxh3::xxh3_128;

use super::first_failure::FirstFailure;
use super::group::{self, Further, Group, Member, Part};
use super::header::{BLOCK, header_hash, refused};
use super::label;
use super::names::{self, Kind};
use super::rules::ScanRules;
use crate::dataset::shards::{FoundMember, IndexBuilder, Labelled, StoredImage};
use crate::error::{Error, Result};
use crate::quote::shown;
use crate::storage::file::DataFile;
use member_labels::FoundLabel;

/// The most bytes of a label. A larger member with such a name is something else.
pub(super) const LARGEST_LABEL: u64 = 1 << 20;

/// The samples of a shard so far.
pub(super) struct Samples<'a> {
    pub(super) path: &'a Path,
    pub(super) file: &'a DataFile,
    pub(super) extensions: &'a [String],
    pub(super) rules: &'a ScanRules,
    pub(super) index: IndexBuilder,
    /// The hashes of all keys so far, and those of keys with dots that have labels but no image.
    keys: HashSet<u128>,
    alone: HashSet<u128>,
    /// True once a sample had a label or a text.
    labelled: bool,
    /// The samples since the first image that has dots in its name and nothing beside it. Only when another sample has
    /// a label is it known whether that image is a sample.
    held: Vec<NewSample>,
    buffer: Vec<u8>,
    failed: &'a FirstFailure,
}

/// A sample that is not in the index yet.
struct NewSample {
    key: String,
    /// The offset of the header of the sample's first member.
    at: u64,
    location: StoredImage,
    label: Labelled,
    /// From where the label comes.
    from: Option<usize>,
    /// The name of the image, if the sample's key has dots.
    dotted: Option<Vec<u8>>,
    /// True if another member could have the label of this sample.
    paired: bool,
    /// True if the sample has a caption beside its label.
    caption: bool,
    /// The sample's members beside its image, if the index lists them.
    members: Vec<FoundMember>,
}

impl<'a> Samples<'a> {
    pub(super) fn new(file: &'a DataFile, rules: &'a ScanRules, failed: &'a FirstFailure) -> Samples<'a> {
        let lists = rules.lists_members;
        let index = if lists { IndexBuilder::listing_members() } else { IndexBuilder::default() };
        Samples {
            path: file.name(),
            file,
            extensions: &rules.extensions,
            rules,
            index,
            keys: HashSet::new(),
            alone: HashSet::new(),
            labelled: false,
            held: Vec::new(),
            buffer: Vec::new(),
            failed,
        }
    }

    /// Returns true if the index lists the members of samples.
    pub(super) fn lists_members(&self) -> bool {
        self.index.lists_members()
    }

    /// Returns the hash of the header at this offset.
    pub(super) fn check_of(&self, header: u64) -> Result<u32> {
        let mut bytes = [0; BLOCK as usize];
        self.file.read_exact(&mut bytes, header).map_err(|source| Error::io(self.path, source))?;
        Ok(header_hash(&bytes))
    }

    /// Inserts the samples of a group into the index.
    pub(super) fn add(&mut self, group: Group) -> Result<()> {
        let Group { key, at, members } = group;
        let is_image = |member: &Member| member.role.kind() == Some(Kind::Image);
        if names::is_metadata(&key) && !members.iter().any(is_image) {
            return Ok(());
        }
        let divided = group::divide(members);
        if let Some(whole) = &divided.whole {
            self.new_key(&key, at, &whole.first)?;
        }
        let (mut has_image, mut beside) = (false, [false; label::KINDS.len()]);
        if let Some(whole) = &divided.whole {
            beside = whole.labels.each_ref().map(Option::is_some);
            has_image = whole.image.is_some();
        }
        // Beside another image a part is a further image (`000.seg.png`), unless it has a label of its own.
        let is_sample = |samples: &mut Self, (_, part): &(usize, Part)| {
            part.image.is_some() && (!has_image || samples.has_own_label(part, beside))
        };
        let are_samples: Vec<_> = divided.parts.iter().map(|part| is_sample(self, part)).collect();
        let lists = self.lists_members();
        let mut further = if lists { divided.further(&key, &are_samples) } else { Further::new() };
        if let Some(whole) = divided.whole {
            let candidate = divided.parts.iter().find_map(|(_, part)| part.image.as_ref());
            self.whole(&key, at, whole, candidate.map(|image| &*image.name), further.remove(&key).unwrap_or_default())?;
        }
        for ((length, part), is_sample) in divided.parts.into_iter().zip(are_samples) {
            let own_key = part.first[..length].to_vec();
            if !is_sample {
                if part.image.is_none() {
                    self.label_alone(&own_key, part.at, &part.first)?;
                }
                let labels = part.labels.into_iter().flatten();
                for member in part.image.into_iter().chain(labels).chain(part.doubles) {
                    self.index.noticed.unread(&names::kind(&member.name), &member.name);
                }
                continue;
            }
            self.new_key(&own_key, part.at, &part.first)?;
            let image = part.image.as_ref().map(|image| image.name.clone());
            let members = further.remove(&own_key).unwrap_or_default();
            self.sample(&own_key, part.at, part, image, members)?;
        }
        Ok(())
    }

    /// Takes the members whose names WebDataset's rule divides. `candidate` is an image that the rule does not know.
    fn whole(
        &mut self,
        key: &[u8],
        at: u64,
        whole: Part,
        candidate: Option<&[u8]>,
        members: Vec<FoundMember>,
    ) -> Result<()> {
        if whole.image.is_some() {
            return self.sample(key, at, whole, None, members);
        }
        // A text or JSON file alone is not a sample without its image, but for example a README.
        if whole.labels[label::CLS].is_none() && !self.has_json_label(&whole) {
            for member in whole.labels.into_iter().flatten() {
                self.index.noticed.unread(&names::kind(&member.name), &member.name);
            }
            return Ok(());
        }
        let (named, extensions) = (shown(key), self.extensions.join(" ."));
        let may_be = candidate.map_or_else(String::new, |name| format!("; {} may be its image", shown(name)));
        let error = self.at(at, format!("sample {named} has a label but no image (.{extensions}){may_be}"));
        Err(if candidate.is_some() { error.advise(advice::CHOOSE_ENDING) } else { error })
    }

    /// Refuses a key that an earlier sample has.
    fn new_key(&mut self, key: &[u8], at: u64, name: &[u8]) -> Result<()> {
        let hash = xxh3_128(key);
        let new = self.keys.insert(hash) && !self.alone.contains(&hash);
        if new { Ok(()) } else { Err(self.came_before(at, name)) }
    }

    /// Refuses labels whose image came before, and notes that it must not come later either.
    fn label_alone(&mut self, key: &[u8], at: u64, name: &[u8]) -> Result<()> {
        let hash = xxh3_128(key);
        self.alone.insert(hash);
        if self.keys.contains(&hash) { Err(self.came_before(at, name)) } else { Ok(()) }
    }

    fn came_before(&self, at: u64, name: &[u8]) -> Error {
        let reason = format!(
            "member {}: its key came before; members of a sample must follow each other (tar --sort=name), and keys be unique",
            shown(name)
        );
        self.at(at, reason)
    }

    /// Reads the label of a sample, and inserts the sample. `dotted` is the image's name if the key has dots, and
    /// `members` are those that are neither image nor label.
    fn sample(
        &mut self,
        key: &[u8],
        at: u64,
        mut part: Part,
        dotted: Option<Vec<u8>>,
        mut members: Vec<FoundMember>,
    ) -> Result<()> {
        let named = shown(key);
        if self.rules.first_image {
            for other in part.choose_image(key, self.extensions) {
                let ending = names::ending_of(&other.name, key).unwrap_or_default();
                members.push(other.found(ending, self.unread(&other), false));
            }
        }
        if let Some(double) = part.doubles.first() {
            let is_label = matches!(double.role.kind(), Some(Kind::Label(_)));
            let what = if is_label { "one" } else { "an image" };
            let name = shown(&double.name);
            let error = self.at(double.header, format!("member {name}: the sample has {what} already"));
            return Err(if is_label { error } else { error.advise(advice::CHOOSE_IMAGE) });
        }
        let Some(image) = part.image else { return Ok(()) };
        let Ok(length) = u32::try_from(image.size) else {
            let reason = format!("sample {named}: an image of {} bytes, but at most 4 GiB are read", image.size);
            return Err(self.at(at, reason));
        };
        let check = if self.lists_members() { image.check } else { self.check_of(image.header)? };
        let paired = part.labels.iter().any(Option::is_some);
        let FoundLabel { label, from, caption } = self.label(&named, part.labels, &mut members)?;
        let location = StoredImage { offset: image.begin, length, check, page: None };
        let key = String::from_utf8_lossy(key).into_owned();
        let found = NewSample { key, at, location, label, from, dotted, paired, caption, members };
        if found.paired && !self.labelled {
            self.labelled = true;
            for held in std::mem::take(&mut self.held) {
                self.insert(held)?;
            }
        }
        let alone = found.dotted.is_some() && !found.paired;
        if (alone || !self.held.is_empty()) && !self.labelled {
            self.held.push(found);
            return Ok(());
        }
        self.insert(found)
    }

    /// Counts a member as not read, and returns the words for its kind.
    pub(super) fn unread(&mut self, member: &Member) -> Option<String> {
        let kind = names::kind(&member.name);
        self.index.noticed.unread(&kind, &member.name);
        Some(kind)
    }

    /// Inserts a sample into the index. If other samples have labels, an image with dots in its name and nothing beside
    /// it is not a sample but a further image, such as a mask in a folder of its own.
    fn insert(&mut self, found: NewSample) -> Result<()> {
        if let Some(name) = &found.dotted {
            if !found.paired && self.labelled {
                self.index.noticed.unread(&names::kind(name), name);
                return Ok(());
            }
            self.index.noticed.dotted(&found.key);
        }
        if found.caption {
            self.index.caption();
        }
        if let Some(from) = found.from {
            self.index.noticed.label(&format!("members in .{}", label::KINDS[from]));
        }
        self.index.members(found.members);
        self.index.push(&found.key, found.location, found.label).map_err(|reason| self.at(found.at, reason))
    }

    /// Inserts the samples that are left at the end of the shard.
    pub(super) fn end(&mut self) -> Result<()> {
        for held in std::mem::take(&mut self.held) {
            self.insert(held)?;
        }
        Ok(())
    }

    /// Reads the content of a small member.
    pub(super) fn small(&mut self, begin: u64, size: u64) -> std::result::Result<&[u8], String> {
        if size > LARGEST_LABEL {
            return Err(format!("{size} bytes, but labels and class names may have at most 1 MiB"));
        }
        self.buffer.resize(size as usize, 0);
        let read = self.file.read_exact(&mut self.buffer, begin);
        read.map_err(|error| self.failed.note(error).to_string())?;
        Ok(&self.buffer)
    }

    pub(super) fn at(&self, offset: u64, reason: impl std::fmt::Display) -> Error {
        refused(self.path, offset, reason)
    }
}
