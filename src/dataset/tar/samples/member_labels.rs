//! Reads the label of a sample from its members, and says which further images have a label of their own.

use super::super::group::{Member, Part};
use super::super::label;
use super::super::rules::LabelRule;
use super::{LARGEST_LABEL, Samples};
use crate::dataset::Label;
use crate::dataset::shards::{FoundMember, Labelled};
use crate::error::Result;

/// The label of a sample.
pub(super) struct FoundLabel {
    pub(super) label: Labelled,
    /// The kind of member from which it comes.
    pub(super) from: Option<usize>,
    /// True if the sample has a caption beside it.
    pub(super) caption: bool,
}

impl Samples<'_> {
    /// Returns true if the JSON of these members has a label.
    pub(super) fn has_json_label(&mut self, part: &Part) -> bool {
        let Some((begin, size)) = part.labels[label::JSON].as_ref().map(|json| (json.begin, json.size)) else {
            return false;
        };
        matches!(self.small(begin, size).and_then(|bytes| label::parse(label::JSON, bytes)), Ok(Some(_)))
    }

    /// Returns true if a further image has a label of its own: a class, or a label of a kind that the sample with the
    /// key up to the first dot has, too. `beside` are the kinds that this sample has.
    pub(super) fn has_own_label(&mut self, part: &Part, beside: [bool; label::KINDS.len()]) -> bool {
        let text_alone = beside == [false, false, true];
        part.labels[label::CLS].is_some()
            || beside[label::JSON] && self.has_json_label(part)
            || text_alone && part.labels[label::TEXT].is_some()
    }

    /// Reads the label of the sample that errors call `named`. Its members are added to `members` if the index lists them.
    ///
    /// # Errors
    /// A member that should be a label and is none.
    pub(super) fn label(
        &mut self,
        named: &str,
        candidates: [Option<Member>; label::KINDS.len()],
        members: &mut Vec<FoundMember>,
    ) -> Result<FoundLabel> {
        let (mut label, mut from, mut caption) = (Labelled::As(Label::None), None, false);
        for (kind, member) in candidates.into_iter().enumerate() {
            let Some(member) = member else { continue };
            let lists = self.lists_members();
            let mut list = |unread: Option<String>, is_label: bool| {
                if lists {
                    members.push(member.found(label::KINDS[kind].to_owned(), unread, is_label));
                }
            };
            // A text beside another label is read, too, because it may show that the set's texts are captions.
            if !self.rules.labels.takes(kind) || from.is_some() && kind != label::TEXT {
                list(self.unread(&member), false);
                continue;
            }
            // A text that is too large for a label counts as a caption.
            let parsed = match kind == label::TEXT && member.size > LARGEST_LABEL {
                true => Ok(None),
                false => self.small(member.begin, member.size).and_then(|bytes| label::parse(kind, bytes)),
            };
            let parsed = match parsed {
                Err(_) if self.rules.labels == LabelRule::Lenient => {
                    self.index.no_label();
                    None
                }
                Err(reason) => {
                    let kind = label::KINDS[kind];
                    return Err(self.at(member.header, format!("label of sample {named}, .{kind}: {reason}")));
                }
                Ok(parsed) => parsed,
            };
            let (mut is_label, mut unread) = (from.is_none() && parsed.is_some(), None);
            if kind == label::JSON && is_label {
                let more = self.small(member.begin, member.size).map(label::other_keys).unwrap_or_default();
                // A document that is more than a label is a field where all are.
                is_label = more.is_empty();
                more.iter().for_each(|key| self.index.noticed.key(key));
            }
            match (kind, parsed) {
                (label::TEXT, None) if from.is_some() => {
                    self.index.noticed.text(&member.name);
                    caption = true;
                }
                (label::TEXT, parsed) if from.is_none() => {
                    self.index.noticed.text(&member.name);
                    label = match parsed {
                        Some(Label::Class(class)) => Labelled::Text(class),
                        _ => Labelled::Caption,
                    };
                }
                (_, Some(parsed)) if from.is_none() => (label, from) = (Labelled::As(parsed), Some(kind)),
                _ => unread = self.unread(&member),
            }
            list(unread, is_label);
        }
        Ok(FoundLabel { label, from, caption })
    }
}
