//! The fields of an open set of tar shards: which members have their values, and where these members are read.

use std::borrow::Cow;
use std::ops::Range;

use super::choice::MemberChoice;
use super::header::BLOCK;
use super::label;
use crate::advice::Setting;
use crate::dataset::encoded_field::{kind_of_ending, type_of_texts, value};
use crate::dataset::shards::{Ending, Member, SampleEntry, SeenEndings};
use crate::dataset::{Absent, Field, FieldKind, FieldValue, NumberType};
use crate::error::{Error, Result};

/// The most bytes between two members that are read together, as they cost less than another read.
const GAP: u64 = 64 << 10;
/// The endings that an error lists.
const LISTED: usize = 20;

/// The fields of a set, and the endings of their members.
#[derive(Debug, Default)]
pub(super) struct MemberFields {
    pub(super) fields: Vec<Field>,
    /// The endings that fields ask for. Members in memory have the numbers of these.
    pub(super) wanted: Vec<String>,
    /// The numbers of each field's endings, of which the first that a sample has counts.
    sources: Vec<Vec<u32>>,
    /// The type of each field's numbers that are texts.
    texts: Vec<Option<NumberType>>,
    /// The most bytes of a value, and of an image.
    max_field_bytes: u64,
    max_file_bytes: u64,
}

/// A member that cannot be the value of a field.
#[derive(Debug)]
pub(super) struct Unusable<'a> {
    pub(super) member: &'a Member,
    pub(super) reason: String,
    /// The limit to raise, if it is too large.
    pub(super) setting: Option<Setting>,
}

impl MemberFields {
    /// Takes the endings that are known before the shards are open: all but those of `FieldChoice::All`.
    pub(super) fn wanting(choice: &MemberChoice) -> MemberFields {
        MemberFields { wanted: choice.wanted(), ..MemberFields::default() }
    }

    /// Decides which fields the set has. `text_labels` is false if no text is a label.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`](crate::ErrorKind::Argument) for a field that no sample has, and for fields that no loader
    /// takes.
    pub(super) fn decide(
        choice: &MemberChoice,
        seen: &SeenEndings,
        text_labels: bool,
        limits: (u64, u64),
    ) -> Result<MemberFields> {
        let named = match &choice.fields {
            Some(named) => named.clone(),
            None => all(seen, text_labels),
        };
        let (max_field_bytes, max_file_bytes) = limits;
        let mut decided = MemberFields { max_field_bytes, max_file_bytes, ..MemberFields::default() };
        for (endings, field) in named {
            let there = endings.iter().any(|ending| seen.endings.iter().any(|known| known.name == *ending));
            // Files that are opened late may have what the first one lacks.
            if !there && !choice.of_pack && (seen.whole || *field.absent() == Absent::Fail) {
                return Err(no_sample_has(&endings, &field, seen));
            }
            let kind = field.values().unwrap_or_else(|| kind_of_ending(&endings[0]));
            let texts = type_of_texts(&endings).filter(|_| kind == FieldKind::Numbers);
            decided.fields.push(match texts {
                Some(number_type) => field.kind(kind).with_numbers_of(number_type, Some(&[]))?,
                None => field.kind(kind),
            });
            decided.texts.push(texts);
            let numbers = endings.iter().map(|ending| decided.number(ending)).collect();
            decided.sources.push(numbers);
        }
        Field::check(&decided.fields)?;
        Ok(decided)
    }

    /// Returns the number of an ending that a field asks for.
    fn number(&mut self, ending: &str) -> u32 {
        let known = self.wanted.iter().position(|wanted| wanted == ending);
        known.unwrap_or_else(|| {
            self.wanted.push(ending.to_owned());
            self.wanted.len() - 1
        }) as u32
    }

    /// Returns the member of each field in a sample: the first of its endings that is there.
    ///
    /// # Errors
    /// A member that is there twice or is too large.
    pub(super) fn of_sample<'a>(
        &self,
        members: &'a [Member],
    ) -> std::result::Result<Vec<Option<&'a Member>>, Unusable<'a>> {
        let member = |(field, numbers): (&Field, &Vec<u32>)| {
            let of = |number: &u32| {
                let number = *number;
                members.iter().filter(move |member| member.ending == number)
            };
            let Some(mut found) = numbers.iter().map(of).find(|found| found.clone().next().is_some()) else {
                return Ok(None);
            };
            let Some(member) = found.next() else { return Ok(None) };
            let ending = &self.wanted[member.ending as usize];
            let unusable = |what: String, setting: Option<Setting>| {
                let reason = format!("{:?} (.{ending}) {what}", field.name());
                Err(Unusable { member, reason, setting })
            };
            if found.next().is_some() {
                return unusable("is there twice".to_owned(), None);
            }
            let (most, setting) = self.limit(field);
            if member.length > most {
                let length = member.length;
                return unusable(format!("has {length} bytes, but at most {most} are read"), Some(setting));
            }
            Ok(Some(member))
        };
        self.fields.iter().zip(&self.sources).map(member).collect()
    }

    /// Returns the numbers of the endings of all fields, if one has several.
    pub(super) fn alternatives(&self) -> Vec<Vec<u32>> {
        let has_several = self.sources.iter().any(|numbers| numbers.len() > 1);
        if has_several { self.sources.clone() } else { Vec::new() }
    }

    /// Returns the numbers of the fields with a default whose type only their arrays say.
    pub(super) fn untyped_defaults(&self) -> Vec<usize> {
        let fields = self.fields.iter().zip(&self.texts).enumerate();
        let untyped = fields.filter(|(_, (field, texts))| texts.is_none() && field.default_numbers().is_some());
        untyped.map(|(number, _)| number).collect()
    }

    /// Gives the default of a field the type of the numbers in a sample.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`](crate::ErrorKind::Argument) for a default that this type does not hold.
    pub(super) fn type_default(&mut self, number: usize, (number_type, shape): (NumberType, Vec<usize>)) -> Result<()> {
        self.fields[number] = self.fields[number].clone().with_numbers_of(number_type, Some(&shape))?;
        Ok(())
    }

    /// Returns the most bytes of a field's value, and the setting that says so.
    fn limit(&self, field: &Field) -> (u64, Setting) {
        match field.values() {
            Some(FieldKind::Image) => (self.max_file_bytes, Setting::MaxFileBytes),
            _ => (self.max_field_bytes, Setting::MaxFieldBytes),
        }
    }

    /// Makes the value of field `number` of the bytes of its member.
    ///
    /// # Errors
    /// The reason for which the bytes are no such value.
    pub(super) fn value<'a>(
        &self,
        number: usize,
        member: &Member,
        bytes: &'a [u8],
    ) -> std::result::Result<FieldValue<'a>, String> {
        let (field, ending) = (&self.fields[number], &self.wanted[member.ending as usize]);
        let kind = field.values().unwrap_or(FieldKind::Bytes);
        let texts = self.texts.get(number).copied().flatten();
        value((kind, texts), ending, Cow::Borrowed(bytes))
            .map_err(|reason| format!("{:?} (.{ending}) {reason}", field.name()))
    }
}

/// Returns all fields that a set has: its members by their endings, but those that are labels. What some samples lack may
/// be absent.
fn all(seen: &SeenEndings, text_labels: bool) -> Vec<(Vec<String>, Field)> {
    let is_label = |ending: &&Ending| {
        let is_text = ending.name == label::KINDS[label::TEXT];
        ending.labels == ending.samples && (!is_text || text_labels)
    };
    let field = |ending: &Ending| {
        let (field, kind) = (Field::new(&ending.name), kind_of_ending(&ending.name));
        let always = seen.whole && ending.samples == seen.samples || kind == FieldKind::Numbers;
        (vec![ending.name.clone()], if always { field } else { field.optional() })
    };
    seen.endings.iter().filter(|ending| !is_label(ending)).map(field).collect()
}

fn no_sample_has(endings: &[String], field: &Field, seen: &SeenEndings) -> Error {
    let listed = |endings: &[String]| {
        let first: Vec<_> = endings.iter().take(LISTED).map(|ending| format!(".{ending}")).collect();
        let more = endings.len().saturating_sub(LISTED);
        if more > 0 { format!("{} and {more} more", first.join(" ")) } else { first.join(" ") }
    };
    let has = if seen.first.is_empty() { "no members".to_owned() } else { listed(&seen.first) };
    let set = if seen.whole { "" } else { " of the first shard" };
    let left_out = match seen.left_out {
        0 => "",
        _ => "; members in very many or very long endings are not listed",
    };
    let (name, endings) = (field.name(), listed(endings));
    let reason = format!(
        "no sample{set} has a member {endings} for {name:?}; beside their images, samples of the first shard have \
         {has}{left_out}"
    );
    Error::argument("fields", reason)
}

/// Returns the ranges of a file that are read for a sample's image and these members, with their headers. Those that lie
/// side by side are one read.
pub(super) fn reads<'a>(entry: &SampleEntry, members: impl Iterator<Item = &'a Member>) -> Vec<Range<u64>> {
    let image = (entry.offset, u64::from(entry.length));
    let parts = std::iter::once(image).chain(members.map(|member| (member.offset, member.length)));
    let mut ranges: Vec<_> = parts.map(|(offset, length)| offset - BLOCK..offset + length).collect();
    ranges.sort_unstable_by_key(|range| range.start);
    let mut reads: Vec<Range<u64>> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match reads.last_mut() {
            Some(last) if range.start <= last.end + GAP => last.end = last.end.max(range.end),
            _ => reads.push(range),
        }
    }
    reads
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytemuck::Zeroable as _;

    fn member(ending: u32, offset: u64, length: u64) -> Member {
        Member { offset, length, check: 0, ending }
    }

    #[test]
    fn what_lies_side_by_side_is_one_read() {
        let mut entry = SampleEntry::zeroed();
        (entry.offset, entry.length) = (10_240, 100);
        let at = |members: &[Member]| {
            let ranges = reads(&entry, members.iter());
            ranges.into_iter().map(|range| (range.start, range.end)).collect::<Vec<_>>()
        };
        assert_eq!(at(&[]), [(9728, 10_340)]);
        assert_eq!(at(&[member(0, 11_264, 7), member(1, 9216, 5)]), [(8704, 11_271)]);
        let far = 10_340 + GAP + BLOCK;
        assert_eq!(at(&[member(0, far, 7)]), [(9728, far + 7)]);
        assert_eq!(at(&[member(0, far + 1, 7)]), [(9728, 10_340), (far + 1 - BLOCK, far + 8)]);
    }

    fn ending(name: &str, samples: u64, labels: u64) -> Ending {
        Ending::of(name, samples, labels)
    }

    fn seen() -> SeenEndings {
        let endings = vec![ending("cls", 4, 4), ending("txt", 4, 4), ending("json", 3, 0), ending("npy", 3, 0)];
        let first = ["cls", "txt"].map(str::to_owned).into();
        SeenEndings { endings, first, samples: 4, left_out: 0, whole: true }
    }

    #[test]
    fn all_fields_are_those_that_are_no_labels() {
        let choice = MemberChoice::default();
        let fields = |text_labels, seen: &SeenEndings| {
            let decided = MemberFields::decide(&choice, seen, text_labels, (1, 1)).unwrap();
            decided.fields.iter().map(Field::to_string).collect::<Vec<_>>()
        };
        assert_eq!(fields(true, &seen()), ["json (JSON, may be absent)", "npy (numbers)"]);
        let late = SeenEndings { whole: false, ..seen() };
        assert_eq!(fields(false, &late)[0], "txt (text, may be absent)");
    }

    #[test]
    fn the_first_ending_that_is_there_counts() {
        let named = vec![(vec!["sci.txt".to_owned(), "txt".to_owned()], Field::new("caption"))];
        let choice = MemberChoice { fields: Some(named), ..MemberChoice::default() };
        let fields = MemberFields::decide(&choice, &seen(), true, (8, 100)).unwrap();
        let (text, special) = (member(1, 1024, 7), member(0, 2048, 8));
        let of = |members: &[Member]| {
            let found = fields.of_sample(members).map_err(|unusable| unusable.reason)?;
            Ok::<_, String>(found[0].copied())
        };
        assert_eq!(of(&[text, special]).unwrap(), Some(special));
        assert_eq!((of(&[text]).unwrap(), of(&[]).unwrap()), (Some(text), None));
        let reason = |members: &[Member]| of(members).unwrap_err();
        assert_eq!(reason(&[text, text]), "\"caption\" (.txt) is there twice");
        assert_eq!(reason(&[member(1, 1024, 9)]), "\"caption\" (.txt) has 9 bytes, but at most 8 are read");
    }

    #[test]
    fn a_field_that_no_sample_has_is_refused_with_what_is_there() {
        let choice = |field: Field| {
            let fields = Some(vec![(vec!["text".to_owned()], field)]);
            MemberChoice { fields, ..MemberChoice::default() }
        };
        let caption = || Field::new("caption").optional();
        let error = MemberFields::decide(&choice(caption()), &seen(), true, (1, 1)).unwrap_err().to_string();
        assert!(
            error.contains("no sample has a member .text for \"caption\"") && error.contains(".cls .txt"),
            "{error}"
        );
        let late = SeenEndings { whole: false, ..seen() };
        assert!(MemberFields::decide(&choice(caption()), &late, true, (1, 1)).is_ok());
        let error = MemberFields::decide(&choice("caption".into()), &late, true, (1, 1)).unwrap_err().to_string();
        assert!(error.contains("no sample of the first shard has"), "{error}");
    }
}
