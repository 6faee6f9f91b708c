//! The members of a group, divided into those of each of its samples.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use super::label;
use super::names::{Kind, Role, ending_of, kind};
use crate::dataset::shards::FoundMember;

/// The members of a sample by WebDataset's rule, which follow each other.
pub(super) struct Group {
    pub(super) key: Vec<u8>,
    /// The offset of the first member's header.
    pub(super) at: u64,
    pub(super) members: Vec<Member>,
}

pub(super) struct Member {
    pub(super) name: Vec<u8>,
    pub(super) role: Role,
    /// The offset of the member's header; the offset of its data, and their bytes.
    pub(super) header: u64,
    pub(super) begin: u64,
    pub(super) size: u64,
    /// The hash of the header, if the index lists members.
    pub(super) check: u32,
}

/// Members that share a key.
#[derive(Default)]
pub(super) struct Part {
    /// The name of the first member, and the offset of its header.
    pub(super) first: Vec<u8>,
    pub(super) at: u64,
    pub(super) image: Option<Member>,
    /// The label of each kind, if there is one.
    pub(super) labels: [Option<Member>; label::KINDS.len()],
    /// Second images, and second labels of the same kind.
    pub(super) doubles: Vec<Member>,
}

impl Part {
    fn add(&mut self, member: Member) {
        if self.first.is_empty() {
            self.first.clone_from(&member.name);
            self.at = member.header;
        }
        let place = match member.role.kind() {
            Some(Kind::Label(kind)) => &mut self.labels[kind],
            _ => &mut self.image,
        };
        if place.is_some() {
            self.doubles.push(member);
        } else {
            *place = Some(member);
        }
    }

    /// Chooses the image whose ending is the first of `extensions`, and returns the images in other endings.
    pub(super) fn choose_image(&mut self, key: &[u8], extensions: &[String]) -> Vec<Member> {
        let rank = |member: &Member| {
            let ending = ending_of(&member.name, key);
            extensions.iter().position(|known| Some(known) == ending.as_ref()).unwrap_or(extensions.len())
        };
        let is_image = |member: &mut Member| member.role.kind() == Some(Kind::Image);
        let mut images: Vec<_> = self.image.take().into_iter().chain(self.doubles.extract_if(.., is_image)).collect();
        let Some(first) = images.iter().map(rank).min() else { return Vec::new() };
        let mut chosen = images.extract_if(.., |member| rank(member) == first);
        self.image = chosen.next();
        // A second image in the same ending is an error of the sample.
        self.doubles.extend(chosen);
        images
    }
}

impl Member {
    /// Returns the member as an index lists it.
    pub(super) fn found(&self, ending: String, unread: Option<String>, label: bool) -> FoundMember {
        FoundMember { ending, offset: self.begin, length: self.size, check: self.check, unread, label }
    }
}

/// A group, divided into the members that WebDataset's rule knows, and the members with further dots by the lengths of
/// their keys.
pub(super) struct Divided {
    pub(super) whole: Option<Part>,
    pub(super) parts: Vec<(usize, Part)>,
    pub(super) further: Vec<Member>,
}

pub(super) fn divide(members: Vec<Member>) -> Divided {
    let mut divided = Divided { whole: None, parts: Vec::new(), further: Vec::new() };
    let mut known: HashMap<Vec<u8>, usize> = HashMap::new();
    for member in members {
        match member.role {
            Role::Dotted(length, _) => {
                let key = member.name.get(..length).unwrap_or_default().to_vec();
                let at = *known.entry(key).or_insert(divided.parts.len());
                if at == divided.parts.len() {
                    divided.parts.push((length, Part::default()));
                }
                divided.parts[at].1.add(member);
            }
            Role::Further => divided.further.push(member),
            Role::Part(_) | Role::Classes => divided.whole.get_or_insert_default().add(member),
        }
    }
    divided
}

/// The members of samples beside images and labels, by the keys of the samples.
pub(super) type Further = HashMap<Vec<u8>, Vec<FoundMember>>;

impl Divided {
    /// Returns by the keys of the group's samples the members that are neither their images nor their labels. A member
    /// belongs to the sample with the longest key. `key` is that of the whole part, and `are_samples` says which of the
    /// other parts are samples.
    pub(super) fn further(&self, key: &[u8], are_samples: &[bool]) -> Further {
        let mut found = Further::new();
        let has_image = self.whole.as_ref().is_some_and(|whole| whole.image.is_some());
        let (mut keys, mut members): (HashSet<&[u8]>, Vec<&Member>) = (HashSet::new(), self.further.iter().collect());
        keys.extend(has_image.then_some(key));
        for ((length, part), is_sample) in self.parts.iter().zip(are_samples) {
            if *is_sample {
                keys.insert(&part.first[..*length]);
            } else {
                members.extend(part.image.iter().chain(part.labels.iter().flatten()).chain(&part.doubles));
            }
        }
        // A whole shard can be one group, so that its members are not compared with each of its keys.
        let mut lengths: Vec<usize> = keys.iter().map(|key| key.len()).collect();
        lengths.sort_unstable_by_key(|length| Reverse(*length));
        lengths.dedup();
        for member in members {
            let name = &member.name;
            let of = |length: &usize| {
                let is_end = name.get(*length) == Some(&b'.');
                let key = name.get(..*length).filter(|key| is_end && keys.contains(key))?;
                Some((key.to_vec(), ending_of(name, key)?))
            };
            if let Some((key, ending)) = lengths.iter().find_map(of) {
                found.entry(key).or_default().push(member.found(ending, Some(kind(&member.name)), false));
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_belongs_to_the_sample_with_the_longest_key() {
        let member = |(name, role): (&str, Role)| {
            let name = name.as_bytes().to_vec();
            Member { name, role, header: 0, begin: 512, size: 1, check: 0 }
        };
        let members = [
            ("a.jpg", Role::Part(Kind::Image)),
            ("a.1.jpg", Role::Dotted(3, Kind::Image)),
            ("a.12.jpg", Role::Dotted(4, Kind::Image)),
            ("a.1.npy", Role::Further),
            ("a.1.2.npy", Role::Further),
            ("a.12.npy", Role::Further),
            ("a.npy", Role::Further),
            ("ab.npy", Role::Further),
        ];
        let divided = divide(members.map(member).into());
        // The image a.12.jpg, which has no label of its own, is a further image of the sample a.
        let mut found: Vec<_> = divided.further(b"a", &[true, false]).into_iter().collect();
        found.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        let found = found.into_iter().map(|(key, members)| {
            let endings = members.into_iter().map(|member| member.ending).collect::<Vec<_>>();
            (String::from_utf8(key).unwrap(), endings)
        });
        let expected = [("a", vec!["12.npy", "npy", "12.jpg"]), ("a.1", vec!["npy", "2.npy"])];
        let owned = |endings: Vec<&str>| endings.into_iter().map(str::to_owned).collect::<Vec<_>>();
        assert!(found.eq(expected.map(|(key, endings)| (key.to_owned(), owned(endings)))));
    }
}
