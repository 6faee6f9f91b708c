//! Members that a field could take and does not, because another one of its endings counts first in their sample.

use std::collections::BTreeMap;

use super::entry::Segment;
use super::{ShardFormat, Shards};
use crate::dataset::Notice;

/// The most segments that are looked through, of all files.
const SEGMENTS: usize = 256;

impl<F: ShardFormat> Shards<F> {
    /// Returns a notice for each ending of such members, of the files that are open. Of a large set the first samples of
    /// each file are counted.
    pub(super) fn passed_over(&self) -> Vec<Notice> {
        let (alternatives, wanted) = (self.format.alternatives(), self.format.wanted());
        let mut found: BTreeMap<&str, (u64, String)> = BTreeMap::new();
        if alternatives.is_empty() {
            return Vec::new();
        }
        let mut left = SEGMENTS;
        for shard in &self.files {
            let Some(index) = shard.index.lock().clone() else { continue };
            let segments = index.samples.div_ceil(super::SEGMENT);
            // Every file has at least its first segment looked through, however many files come before it.
            for number in 0..segments.min(left.max(1)) {
                left = left.saturating_sub(1);
                let Some(segment) = self.usable_segment(&index, number) else { break };
                for (at, ending) in segment.passed_over(&alternatives) {
                    let Some(ending) = wanted.get(ending as usize) else { continue };
                    let key = || index.key(number * super::SEGMENT + at).unwrap_or_default();
                    let (count, _) = found.entry(ending.as_str()).or_insert_with(|| (0, format!("{}.{ending}", key())));
                    *count += 1;
                }
            }
        }
        let notice = |(ending, (count, first)): (&str, (u64, String))| {
            Notice::not_read(format!("members in .{ending} beside another one of their field"), count, first)
        };
        found.into_iter().filter_map(notice).collect()
    }
}

impl Segment {
    /// Returns the members that their field passes over, each as its sample and its ending: the field reads the first of its
    /// endings that the sample has.
    fn passed_over(&self, alternatives: &[Vec<u32>]) -> Vec<(usize, u32)> {
        let mut found = Vec::new();
        for at in 0..self.entries.len() {
            let members = self.members(at);
            let is_there = |ending: &&u32| members.iter().any(|member| member.ending == **ending);
            for endings in alternatives {
                let others = endings.iter().filter(is_there).skip(1);
                // Another field may read it.
                let unread = others.filter(|ending| !is_first(**ending, alternatives, &is_there));
                found.extend(unread.map(|ending| (at, *ending)));
            }
        }
        found
    }
}

fn is_first(ending: u32, alternatives: &[Vec<u32>], is_there: &impl Fn(&&u32) -> bool) -> bool {
    alternatives.iter().any(|endings| endings.iter().find(is_there) == Some(&ending))
}

#[cfg(test)]
mod tests {
    use super::super::{Member, SampleEntry};
    use super::*;
    use bytemuck::Zeroable as _;

    #[test]
    fn what_another_ending_of_the_field_hides_is_found() {
        let member = |ending: u32| Member { offset: 512, length: 1, check: 0, ending };
        let segment = Segment {
            entries: vec![SampleEntry::zeroed(); 3].into(),
            members: [0, 1, 1, 2, 0, 2].map(member).into(),
            ends: [2, 4, 6].into(),
            ..Segment::default()
        };
        assert_eq!(segment.passed_over(&[vec![0, 1], vec![2]]), [(0, 1)]);
        // The ending 2 is a field of its own.
        assert_eq!(segment.passed_over(&[vec![0, 1, 2], vec![2]]), [(0, 1)]);
        assert_eq!(segment.passed_over(&[vec![0, 1, 2]]), [(0, 1), (1, 2), (2, 2)]);
    }
}
