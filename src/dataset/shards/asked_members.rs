//! The members of samples that the fields of a set ask for. In memory a segment has these alone.

use std::collections::HashMap;

use super::entry::{Page, SampleEntry, Segment};
use super::index::Index;
use super::member::{Ending, Member, MemberTable};
use super::noticed::Noticed;
use super::{ShardFormat, Shards};
use crate::error::Result;

impl Segment {
    /// Keeps the members with endings that the set asks for, and gives their endings the set's numbers.
    fn keep(&mut self, endings: &[Ending], wanted: &[String]) {
        if self.members.is_empty() || wanted.is_empty() {
            (self.members, self.ends) = Default::default();
            return;
        }
        let number = |ending: &Ending| wanted.iter().position(|wanted| *wanted == ending.name);
        let numbers: Vec<_> = endings.iter().map(number).collect();
        let (mut kept, mut ends) = (Vec::new(), Vec::with_capacity(self.entries.len()));
        for at in 0..self.entries.len() {
            for member in self.members(at) {
                if let Some(ending) = numbers.get(member.ending as usize).copied().flatten() {
                    kept.push(Member { ending: ending as u32, ..*member });
                }
            }
            ends.push(kept.len() as u32);
        }
        (self.members, self.ends) = (kept.into(), ends.into());
    }
}

/// The endings of the files of a set that are open.
#[derive(Debug, Default)]
pub(in crate::dataset) struct SeenEndings {
    /// All of them, in the order in which they come; and how many samples have each.
    pub(in crate::dataset) endings: Vec<Ending>,
    /// Those of the first file.
    pub(in crate::dataset) first: Vec<String>,
    /// The number of samples of these files.
    pub(in crate::dataset) samples: u64,
    /// The number of members whose endings are not listed.
    pub(in crate::dataset) left_out: u64,
    /// True if all files of the set are open.
    pub(in crate::dataset) whole: bool,
}

impl<F: ShardFormat> Shards<F> {
    /// Returns the endings of the open files. If none is open, opens the first one.
    ///
    /// # Errors
    /// Those of opening the first file.
    pub(in crate::dataset) fn seen_endings(&self) -> Result<SeenEndings> {
        let first = self.opened(0)?.1;
        let table = |index: &Index| index.members.clone().unwrap_or_default();
        let first = table(&first).endings.into_iter().map(|ending| ending.name).collect();
        let mut seen = SeenEndings { first, whole: true, ..SeenEndings::default() };
        let mut numbers: HashMap<String, usize> = HashMap::new();
        for shard in &self.files {
            let Some(index) = shard.index.lock().clone() else {
                seen.whole = false;
                continue;
            };
            seen.samples += index.samples as u64;
            let MemberTable { endings, left_out, .. } = table(&index);
            seen.left_out += left_out;
            for ending in endings {
                match numbers.get(&ending.name) {
                    Some(number) => {
                        let known = &mut seen.endings[*number];
                        known.samples += ending.samples;
                        known.labels += ending.labels;
                    }
                    None => {
                        numbers.insert(ending.name.clone(), seen.endings.len());
                        seen.endings.push(ending);
                    }
                }
            }
        }
        Ok(seen)
    }

    /// Returns true if this set can use an index. A set with fields needs one that lists the members, and other sets
    /// can use it as well, unless its scan has passed over labels that they refuse.
    pub(super) fn can_use(&self, index: &Index) -> bool {
        match (&index.members, self.format.lists_members()) {
            (None, lists) => !lists,
            (Some(_), true) => true,
            (Some(table), false) => table.no_labels == 0,
        }
    }

    /// Returns a segment of an index with those members that the set asks for. `None` if the segment cannot be used.
    pub(super) fn usable_segment(&self, index: &Index, number: usize) -> Option<Segment> {
        let length = index.length;
        let fits = |entry: &SampleEntry, page: Option<&Page>| self.format.fits(entry, page, length);
        let mut segment = index.segment(number, fits).ok().flatten()?;
        if let Some(table) = &index.members {
            segment.keep(&table.endings, self.format.wanted());
            if !segment.members.iter().all(|member| self.format.member_fits(member, length)) {
                return None;
            }
        }
        Some(segment)
    }

    /// Returns what a scan noticed, without the members that the set's fields read.
    pub(super) fn without_fields(&self, noticed: &Noticed, table: Option<&MemberTable>) -> Noticed {
        let mut noticed = noticed.clone();
        let wanted = self.format.wanted();
        let endings = table.map_or(&[][..], |table| &table.endings);
        for ending in endings.iter().filter(|ending| wanted.contains(&ending.name)) {
            noticed.read(&ending.unread.0, ending.unread.1);
        }
        if wanted.iter().any(|ending| ending == "json") {
            noticed.keys.clear();
        }
        noticed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytemuck::Zeroable as _;

    #[test]
    fn only_what_is_asked_for_stays_in_memory() {
        let entry = SampleEntry::zeroed();
        let member = |ending: u32| Member { offset: 512, length: 1, check: 0, ending };
        let segment = || Segment {
            entries: vec![entry; 3].into(),
            members: [0, 1, 2, 1].map(member).into(),
            ends: [2, 2, 4].into(),
            ..Segment::default()
        };
        let ending = |name: &str| Ending { name: name.into(), samples: 1, labels: 0, unread: (String::new(), 0) };
        let endings = ["txt", "json", "npy"].map(ending);
        assert!(segment().has_members(3) && !segment().has_members(2));
        let mut kept = segment();
        kept.keep(&endings, &["npy".to_owned(), "json".to_owned()]);
        let numbers = |at| kept.members(at).iter().map(|member| member.ending).collect::<Vec<_>>();
        assert_eq!([numbers(0), numbers(1), numbers(2), numbers(3)], [vec![1], vec![], vec![0, 1], vec![]]);
        let mut none = segment();
        none.keep(&endings, &[]);
        assert!((0..3).all(|at| none.members(at).is_empty()));
        for ends in [vec![2, 4], vec![2, 1, 4], vec![2, 2, 3], vec![2, 2, 5]] {
            assert!(!Segment { ends: ends.into(), ..segment() }.has_members(3));
        }
    }
}
