//! The members that samples have beside their images, as an index lists them for named fields: each by the number of its
//! ending in a table of the file.

use std::collections::HashMap;

use bytemuck::{Pod, Zeroable};
use serde::{Deserialize, Serialize};

/// The most endings that the table of a file has. Members of further endings are not listed.
const ENDINGS: usize = 1024;
/// The most bytes of an ending in the table.
const LONGEST: usize = 200;

/// Where a member is in its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(in crate::dataset) struct Member {
    /// The offset of the member's content in the file, and its bytes.
    pub(in crate::dataset) offset: u64,
    pub(in crate::dataset) length: u64,
    /// The hash of bytes that are read with the content, which shows whether the file has changed.
    pub(in crate::dataset) check: u32,
    /// The number of its ending in the file's table; in memory the number of the ending that the set asks for.
    pub(in crate::dataset) ending: u32,
}

/// A member of a sample, as a scan finds it.
#[derive(Clone, Debug)]
pub(in crate::dataset) struct FoundMember {
    pub(in crate::dataset) ending: String,
    pub(in crate::dataset) offset: u64,
    pub(in crate::dataset) length: u64,
    pub(in crate::dataset) check: u32,
    /// The words under which `Noticed` counts it as not read; `None` if it is read for the label.
    pub(in crate::dataset) unread: Option<String>,
    /// True if the sample's label is from this member.
    pub(in crate::dataset) label: bool,
}

/// An ending of a file's members, and what is true of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(in crate::dataset) struct Ending {
    /// The ending in small letters, without its first dot.
    pub(in crate::dataset) name: String,
    /// The number of samples that have such a member.
    pub(in crate::dataset) samples: u64,
    /// The number of samples whose label is from it.
    pub(in crate::dataset) labels: u64,
    /// The words under which they are counted as not read, and how many of them are.
    pub(super) unread: (String, u64),
}

#[cfg(test)]
impl Ending {
    pub(in crate::dataset) fn of(name: &str, samples: u64, labels: u64) -> Ending {
        Ending { name: name.to_owned(), samples, labels, unread: (String::new(), 0) }
    }
}

/// The endings of a file, in the order in which they come.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(in crate::dataset) struct MemberTable {
    pub(super) endings: Vec<Ending>,
    /// The number of members whose endings are not in the table.
    pub(super) left_out: u64,
    /// The number of members that a scan without fields would refuse as labels.
    pub(super) no_labels: u64,
}

/// Collects the members of a file's samples for its index.
#[derive(Debug, Default)]
pub(super) struct MemberLists {
    pub(super) table: MemberTable,
    numbers: HashMap<String, u32>,
    /// The members of the sample that is added next.
    next: Vec<Member>,
    /// Those of the segment, and where those of each sample end.
    pub(super) members: Vec<Member>,
    pub(super) ends: Vec<u32>,
}

impl MemberLists {
    pub(super) fn add(&mut self, mut found: Vec<FoundMember>) {
        found.sort_by_key(|member| member.offset);
        for FoundMember { ending, offset, length, check, unread, label } in found {
            let number = match self.numbers.get(&ending) {
                Some(number) => *number,
                None if self.table.endings.len() == ENDINGS || ending.len() > LONGEST => {
                    self.table.left_out += 1;
                    continue;
                }
                None => {
                    let number = self.table.endings.len() as u32;
                    let unread = (unread.clone().unwrap_or_default(), 0);
                    self.table.endings.push(Ending { name: ending.clone(), samples: 0, labels: 0, unread });
                    self.numbers.insert(ending, number);
                    number
                }
            };
            let known = &mut self.table.endings[number as usize];
            known.samples += u64::from(self.next.iter().all(|other| other.ending != number));
            known.labels += u64::from(label);
            if let Some(what) = unread {
                known.unread.1 += 1;
                if known.unread.0.is_empty() {
                    known.unread.0 = what;
                }
            }
            self.next.push(Member { offset, length, check, ending: number });
        }
    }

    /// Ends the sample that has the members that were added last.
    pub(super) fn end_sample(&mut self) -> Option<()> {
        self.members.append(&mut self.next);
        self.ends.push(u32::try_from(self.members.len()).ok()?);
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(ending: &str, offset: u64) -> FoundMember {
        let unread = Some(format!("members in .{ending}"));
        FoundMember { ending: ending.to_owned(), offset, length: 1, check: 7, unread, label: false }
    }

    #[test]
    fn endings_are_counted_once_a_sample() {
        let mut lists = MemberLists::default();
        for (offset, endings) in [(0, &["txt", "seg.png", "txt"][..]), (100, &[]), (200, &["json", "txt"])] {
            lists.add(endings.iter().map(|ending| found(ending, offset)).collect());
            lists.end_sample().unwrap();
        }
        let counts: Vec<_> =
            lists.table.endings.iter().map(|ending| (&*ending.name, ending.samples, ending.unread.1)).collect();
        assert_eq!(counts, [("txt", 2, 3), ("seg.png", 1, 1), ("json", 1, 1)]);
        assert_eq!((&lists.ends[..], lists.members.len(), lists.table.left_out), (&[3, 3, 5][..], 5, 0));
        for number in 0..2 * ENDINGS {
            lists.add(vec![found(&format!("e{number}"), 300)]);
        }
        lists.add(vec![found(&"x".repeat(LONGEST + 1), 300)]);
        assert_eq!((lists.table.endings.len(), lists.table.left_out), (ENDINGS, ENDINGS as u64 + 4));
    }
}
