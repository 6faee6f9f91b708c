//! The fields of a data set as members of shards: which fields are packed, how their members end, and what is in them.
//!
//! A member ends in the field's name, and in the ending that tells its kind where the name does not: `caption.txt`,
//! `meta.json`, `score.npy`, `depth.png`, `features.bin`. The manifest of a pack lists the endings with the fields, in
//! the form of a [`FieldChoice`], so that a reader knows the names and kinds of all of them.
//!
//! In an LMDB a value has a key instead, which begins as the member would end: `caption.txt-000000001`. The keys of images
//! lack the ending of their format, which their bytes tell, so that a reader searches for one key.

use crate::advice::Reason;
use crate::dataset::{Absent, Field, FieldChoice, FieldKind, FieldValue, LONGEST_SOURCE, SampleData, TarShards};
use crate::error::{Error, Result};
use crate::objects::to_json;
use crate::quote::Shown;

use super::endings::{FORMATS, JSON, TXT, ending};
use super::npy;

/// The fields that are packed of a data set.
#[derive(Clone, Debug, Default)]
pub(super) struct MemberFields(Vec<MemberField>);

/// A field that is packed.
#[derive(Clone, Debug)]
struct MemberField {
    /// The field's place among the fields of the data set.
    place: usize,
    /// The field as the manifest has it: with its kind, and with a default only if JSON holds the default.
    field: Field,
    /// What a sample's member has if the sample has no value; `None` if it has no member then.
    filled: Option<FieldValue<'static>>,
    /// The ending of its members. That of an image lacks the format, which each image has for itself.
    ending: String,
    by_format: bool,
}

/// A member of a sample: its ending and its content.
pub(super) type Member = (String, Vec<u8>);

impl MemberFields {
    /// Chooses fields of a data set by their names.
    ///
    /// # Errors
    /// Names a field that the data set does not have, and fields that no members can have.
    pub(super) fn of(fields: &[Field], choice: &FieldChoice) -> Result<MemberFields> {
        let chosen = match choice {
            FieldChoice::None => Vec::new(),
            FieldChoice::All => fields.iter().cloned().enumerate().collect(),
            FieldChoice::Named(named) => {
                named.iter().map(|(source, field)| chosen(fields, source, field)).collect::<Result<_>>()?
            }
        };
        let plain: Vec<_> = chosen.iter().map(|(_, field)| field.clone()).collect();
        Field::check(&plain)?;
        let members = MemberFields(chosen.into_iter().map(|(place, field)| MemberField::new(place, field)).collect());
        members.check_endings()?;
        Ok(members)
    }

    /// Returns these fields with the names that their values have in the keys of an LMDB.
    ///
    /// # Errors
    /// A field whose values would have the keys of the samples' own images or labels, or keys longer than an LMDB's.
    pub(super) fn under_keys(mut self) -> Result<MemberFields> {
        for member in &mut self.0 {
            member.by_format = false;
            let (name, ending) = (member.field.name(), &*member.ending);
            if ["image", "label"].contains(&ending) {
                let reason = format!(
                    "{name:?} would have the keys of the samples' own {ending} in an LMDB; give the field another name"
                );
                return Err(Error::argument("fields", reason));
            }
            if ending.len() > LONGEST_SOURCE {
                let reason =
                    format!("the name {name:?} is too long for a key of an LMDB: the most are {LONGEST_SOURCE} bytes");
                return Err(Error::argument("fields", reason));
            }
        }
        self.check_endings()?;
        Ok(self)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the names of the fields, joined by commas.
    pub(super) fn names(&self) -> String {
        self.0.iter().map(|member| Shown(member.field.name()).to_string()).collect::<Vec<_>>().join(", ")
    }

    /// Returns the names of fields of a kind, joined by commas; `None` if there are none.
    pub(super) fn of_kind(&self, kind: FieldKind) -> Option<String> {
        let fields = self.0.iter().filter(|member| member.field.values() == Some(kind));
        let names: Vec<_> = fields.map(|member| Shown(member.field.name()).to_string()).collect();
        (!names.is_empty()).then(|| names.join(", "))
    }

    /// Returns the fields in the form of the manifest: the endings of members, each with its field.
    pub(super) fn listed(&self) -> FieldChoice {
        let listed = |member: &MemberField| (member.source(), member.field.clone());
        match self.is_empty() {
            true => FieldChoice::None,
            false => FieldChoice::Named(self.0.iter().map(listed).collect()),
        }
    }

    /// Compares the values that a reader has found, which are bytes, with the members that a sample should have. Returns
    /// the names of the fields that differ.
    pub(super) fn differing(&self, expected: &[Member], found: &[FieldValue<'_>]) -> Vec<&str> {
        let mut expected = expected.iter().peekable();
        let mut differing = Vec::new();
        for (number, member) in self.0.iter().enumerate() {
            let content = expected.next_if(|(ending, _)| member.has(ending)).map(|(_, content)| &**content);
            let same = match (found.get(number), content) {
                (Some(FieldValue::Bytes(bytes)), Some(content)) => **bytes == *content,
                (Some(FieldValue::Absent), None) => true,
                _ => false,
            };
            if !same {
                differing.push(member.field.name());
            }
        }
        differing
    }

    /// Fails if two fields would have members with the same ending.
    fn check_endings(&self) -> Result<()> {
        for (number, member) in self.0.iter().enumerate() {
            let same = self.0[..number].iter().find(|other| other.may_end_as(member) || member.may_end_as(other));
            if let Some(other) = same {
                let [one, two] = [other, member].map(|member| member.field.name());
                let reason =
                    format!("{one:?} and {two:?} would both be members in .{}; rename one of them", member.ending);
                return Err(Error::argument("fields", reason));
            }
        }
        for (image, text) in self.0.iter().flat_map(|one| self.0.iter().map(move |other| (one, other))) {
            // With such a text beside it, an image is a sample for a reader, if the sample's own text ends so, too.
            let Some(stem) = image.stem() else { continue };
            let Some(last) = text.ending.strip_prefix(stem).and_then(|ending| ending.strip_prefix('.')) else {
                continue;
            };
            if [TXT, JSON].contains(&last) && self.0.iter().any(|own| own.ending == last) {
                let [one, two] = [image, text].map(|member| member.field.name());
                let reason = format!(
                    "a reader would take {one:?} and {two:?}, members in .{stem}, for a sample of their own beside a field in \
                     .{last}; rename one of them"
                );
                return Err(Error::argument("fields", reason));
            }
        }
        Ok(())
    }

    /// Makes the members of a sample's values. `image` makes the file of an image, and says its format's ending.
    ///
    /// # Errors
    /// The reason for which the values are not those of the data set's fields. The reason of `image` is inside.
    pub(super) fn members(
        &self,
        values: &[FieldValue<'_>],
        mut image: impl FnMut(&SampleData<'_>) -> Result<(Vec<u8>, &'static str), Reason>,
    ) -> Result<Result<Vec<Member>, Reason>, String> {
        let mut members = Vec::new();
        for MemberField { place, field, filled, ending, by_format } in &self.0 {
            let name = field.name();
            let Some(value) = values.get(*place) else {
                return Err(format!("it has {} values of fields, and none of {name:?}", values.len()));
            };
            let value = match (value, filled) {
                (FieldValue::Absent, Some(filled)) => filled,
                (value, _) => value,
            };
            if let (Some(is), Some(expected)) = (value.kind(), field.values())
                && is != expected
            {
                return Err(format!("{name:?} is {is}, but of the data set {expected}"));
            }
            let content = match value {
                FieldValue::Absent => continue,
                FieldValue::Text(text) | FieldValue::Json(text) => text.as_bytes().to_vec(),
                FieldValue::Bytes(bytes) => bytes.to_vec(),
                FieldValue::Objects(objects) => {
                    to_json(objects).map_err(|reason| format!("{name:?}: {reason}"))?.into_bytes()
                }
                FieldValue::Numbers(numbers) => npy::file(numbers).map_err(|reason| format!("{name:?}: {reason}"))?,
                FieldValue::Image(data) => match image(data) {
                    Ok((file, format)) => {
                        let ending = if *by_format { format!("{ending}.{format}") } else { ending.clone() };
                        members.push((ending, file));
                        continue;
                    }
                    Err(error) => return Ok(Err(error)),
                },
            };
            members.push((ending.clone(), content));
        }
        Ok(Ok(members))
    }
}

impl MemberFields {
    /// Returns true if these are values of the data set's fields, so that their sample is not skipped.
    pub(super) fn are_packed(&self, values: &[FieldValue<'_>]) -> bool {
        self.members(values, |_| Ok((Vec::new(), FORMATS[0]))).is_ok()
    }
}

/// Returns the field that a choice names, with its place among the data set's.
fn chosen(fields: &[Field], source: &str, asked: &Field) -> Result<(usize, Field)> {
    let Some(place) = fields.iter().position(|field| field.name() == source) else {
        let names: Vec<_> = fields.iter().map(|field| Shown(field.name()).to_string()).collect();
        let known = if names.is_empty() { "it has none".to_owned() } else { format!("it has {}", names.join(", ")) };
        return Err(Error::argument("fields", format!("the data set has no field {source:?}; {known}")));
    };
    let own = &fields[place];
    if let (Some(asked), Some(own)) = (asked.values(), own.values())
        && asked != own
    {
        return Err(Error::argument("fields", format!("{source:?} is {own} in the data set, and not {asked}")));
    }
    let absent = if *asked.absent() == Absent::Fail { own.absent() } else { asked.absent() };
    let mut field = Field::new(asked.name());
    if let Some(kind) = own.values().or(asked.values()) {
        field = field.kind(kind);
    }
    Ok((place, with_absent(field, absent)))
}

fn with_absent(field: Field, absent: &Absent) -> Field {
    match absent {
        Absent::Fail => field,
        Absent::None => field.optional(),
        Absent::Value(value) => field.default_value(value.clone()),
    }
}

impl MemberField {
    fn new(place: usize, field: Field) -> MemberField {
        let kind = field.values().unwrap_or(FieldKind::Bytes);
        let (ending, by_format) = ending(field.name(), kind);
        let plain = Field::new(field.name()).kind(kind);
        let (field, filled) = match field.absent() {
            // The manifest is JSON. A default that JSON does not hold becomes a member of each sample that lacks it.
            Absent::Value(value) if !is_written(&field) => (plain, Some(value.clone())),
            absent => (with_absent(plain, absent), None),
        };
        MemberField { place, field, filled, ending, by_format }
    }

    /// Returns true if a member with this ending is one of the field.
    fn has(&self, ending: &str) -> bool {
        match ending.strip_prefix(&self.ending) {
            Some("") => !self.by_format,
            Some(format) => self.by_format && format.strip_prefix('.').is_some_and(|format| FORMATS.contains(&format)),
            None => false,
        }
    }

    /// Returns the endings of its members as the setting of fields names them: those of several formats between
    /// semicolons.
    fn source(&self) -> String {
        let formats = || FORMATS.map(|format| format!("{}.{format}", self.ending)).join(";");
        if self.by_format { formats() } else { self.ending.clone() }
    }

    /// Returns the ending of an image without its format; `None` for other fields.
    fn stem(&self) -> Option<&str> {
        let stem = if self.by_format { Some(&*self.ending) } else { Some(self.ending.rsplit_once('.')?.0) };
        stem.filter(|_| self.field.values() == Some(FieldKind::Image))
    }

    /// Returns true if a member of this field may have the same ending as one of `other`.
    fn may_end_as(&self, other: &MemberField) -> bool {
        let formats = || TarShards::EXTENSIONS.iter().any(|format| other.ending == format!("{}{format}", self.ending));
        self.ending == other.ending || (self.by_format && !other.by_format && formats())
    }
}

/// Returns true if JSON holds the field's default value, so that it is equal when it is read again.
fn is_written(field: &Field) -> bool {
    let choice = FieldChoice::Named(vec![(String::new(), field.clone())]);
    let text = serde_json::to_string(&choice);
    text.is_ok_and(|text| serde_json::from_str::<FieldChoice>(&text).is_ok_and(|read| read == choice))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::{NumberType, Numbers};

    fn refused(fields: &[Field], choice: &FieldChoice) -> String {
        MemberFields::of(fields, choice).unwrap_err().to_string()
    }

    #[test]
    fn fields_that_no_members_can_have_are_refused() {
        let text = |name: &str| Field::new(name).kind(FieldKind::Text);
        let image = |name: &str| Field::new(name).kind(FieldKind::Image);
        let all = &FieldChoice::All;
        assert!(refused(&[text("a"), text("A")], all).contains("\"a\" and \"A\" would both be members in .a.txt"));
        assert!(refused(&[text("a"), text("a.txt")], all).contains("rename one of them"));
        for two in [[image("left"), image("left.png")], [image("left.png"), image("left")]] {
            assert!(refused(&two, all).contains("would both be members in .left"));
        }
        assert!(MemberFields::of(&[image("left.jpg"), image("left.png"), text("left")], all).is_ok());
        let own = refused(&[text("txt"), image("left"), text("left.txt")], all);
        assert!(own.contains("\"left\" and \"left.txt\", members in .left, for a sample of their own"), "{own}");
        assert!(MemberFields::of(&[text("caption"), image("left"), text("left.txt")], all).is_ok());
        assert!(refused(&[text("label")], all).contains("the sample's own label"));
        let named = |source, field| FieldChoice::Named(vec![(String::from(source), field)]);
        let unknown = refused(&[text("a"), text("b")], &named("c", Field::new("c")));
        assert!(unknown.contains("no field \"c\"; it has a, b"), "{unknown}");
        let other = refused(&[text("a")], &named("a", Field::new("a").kind(FieldKind::Json)));
        assert!(other.contains("\"a\" is text in the data set, and not JSON"), "{other}");
    }

    #[test]
    fn the_manifest_lists_fields_by_their_endings() {
        let pair = Numbers::new(NumberType::U8, [2], vec![1, 2]).unwrap();
        let fields = [
            Field::new("caption").kind(FieldKind::Text).optional(),
            Field::new("score").kind(FieldKind::Numbers).default_value(FieldValue::from(-1.0)),
            Field::new("nan").kind(FieldKind::Numbers).default_value(FieldValue::from(f64::NAN)),
            Field::new("pair").kind(FieldKind::Numbers).default_value(FieldValue::from(pair.clone())),
        ];
        let members = MemberFields::of(&fields, &FieldChoice::All).unwrap();
        let text = serde_json::to_string(&members.listed()).unwrap();
        let expected = r#"{"caption.txt":{"name":"caption","kind":"text","optional":true},"score.npy":{"name":"score","kind":"numbers","default":-1.0},"nan.npy":{"name":"nan","kind":"numbers"},"pair.npy":{"name":"pair","kind":"numbers"}}"#;
        assert_eq!(text, expected);
        // Defaults that JSON does not hold are members.
        let found = members.members(&[const { FieldValue::Absent }; 4], |_| panic!("no image")).unwrap().unwrap();
        let endings: Vec<_> = found.iter().map(|(ending, _)| &**ending).collect();
        assert_eq!(endings, ["nan.npy", "pair.npy"]);
        assert_eq!(found[1].1, npy::file(&pair).unwrap());
        // Fields that are chosen by name have the names and the defaults that are asked for.
        let choice = FieldChoice::Named(vec![("score".to_owned(), Field::new("value"))]);
        let chosen = MemberFields::of(&fields, &choice).unwrap();
        let expected = r#"{"value.npy":{"name":"value","kind":"numbers","default":-1.0}}"#;
        assert_eq!(serde_json::to_string(&chosen.listed()).unwrap(), expected);
    }

    #[test]
    fn values_of_another_kind_are_named() {
        let fields = [Field::new("caption").kind(FieldKind::Text)];
        let members = MemberFields::of(&fields, &FieldChoice::All).unwrap();
        let reason = |values: &[FieldValue<'_>]| members.members(values, |_| panic!("no image")).unwrap_err();
        assert_eq!(reason(&[FieldValue::from(1.0)]), "\"caption\" is numbers, but of the data set text");
        assert_eq!(reason(&[]), "it has 0 values of fields, and none of \"caption\"");
    }
}
