//! Concatenates several data sets, one after the other.

use std::fmt;
use std::path::Path;

use super::ids::shift;
use crate::dataset::{Access, Dataset, Field, Label, Notice, ObjectStamp, Sample, Stored, out_of_range};
use crate::error::{Error, Result};
use crate::quote::Shown;
use crate::storage::Remote;

/// Data sets one after the other: torch's `ConcatDataset`.
///
/// The samples of a part keep their ids, unless an earlier part has one of them. Then a number that depends on the ids
/// alone is added to all ids of the part. So adding parts does not change the random numbers of the first one.
///
/// If only some parts have [weights](Dataset::weights), samples of the other parts weigh 1.
///
/// ```
/// use gpufeed::dataset::Concat;
/// use gpufeed::{Dataset, InMemory, Label};
///
/// let part = |class| -> Box<dyn Dataset> { Box::new(InMemory::from_iter([(vec![0xff], Label::Class(class))])) };
/// let three = Concat::new((0..3).map(part))?;
/// assert_eq!(three.read(2, &mut Vec::new())?.label, Label::Class(2));
/// # Ok::<(), gpufeed::Error>(())
/// ```
pub struct Concat {
    parts: Vec<Part>,
    len: usize,
    weights: Option<Vec<f64>>,
}

struct Part {
    data: Box<dyn Dataset>,
    /// The index of the part's first sample in the whole data set.
    first: usize,
    /// The number that is added to the ids of the part's samples.
    shift: u64,
}

impl Concat {
    /// Joins `parts` in their order. Takes 8 bytes a sample while it compares ids, and no memory per sample afterwards.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Argument`](crate::ErrorKind::Argument) if there is no part, or if parts differ in
    /// [`channels`](Dataset::channels), [`fields`](Dataset::fields) or [`classes`](Dataset::classes).
    pub fn new(parts: impl IntoIterator<Item = Box<dyn Dataset>>) -> Result<Self> {
        let (mut found, mut len, mut taken) = (Vec::<Part>::new(), 0usize, Vec::new());
        for data in parts {
            if let Some(first) = found.first() {
                same(&*first.data, &*data, found.len())?;
            }
            let shift = shift((0..data.len()).map(|index| data.id(index)), &mut taken)
                .ok_or_else(|| Error::argument("concat", format!("part {} has no ids left", found.len())))?;
            let first = len;
            len = len
                .checked_add(data.len())
                .ok_or_else(|| Error::argument("concat", "more samples than can be counted"))?;
            found.push(Part { data, first, shift });
        }
        if found.is_empty() {
            return Err(Error::argument("concat", "no data set; give at least one"));
        }
        let weights = found.iter().any(|part| part.data.weights().is_some()).then(|| {
            let mut all = Vec::with_capacity(len);
            for part in &found {
                match part.data.weights() {
                    Some(weights) => all.extend_from_slice(weights),
                    None => all.resize(all.len() + part.data.len(), 1.0),
                }
            }
            all
        });
        Ok(Concat { parts: found, len, weights })
    }

    /// The part that has sample `index`, and the sample's index in it.
    fn part(&self, index: usize) -> Option<(&Part, usize)> {
        if index >= self.len {
            return None;
        }
        // Empty parts begin where the next part does, so this takes the last part that begins at or before the sample.
        let part = self.parts.partition_point(|part| part.first <= index).checked_sub(1)?;
        let part = &self.parts[part];
        Some((part, index - part.first))
    }

    /// What is known of the files of the part that has sample `index`, and the sample's index there.
    fn stored_of(&self, index: usize) -> Option<(&dyn Stored, usize)> {
        let (part, index) = self.part(index)?;
        Some((part.data.stored()?, index))
    }

    /// The parts that have an access, with it.
    fn accesses(&self) -> impl Iterator<Item = (&Part, &dyn Access)> {
        self.parts.iter().filter_map(|part| Some((part, part.data.access()?)))
    }

    /// Announces to the parts that want it which of `indices` they have, by their own indices.
    fn announce_to_parts(
        &self,
        indices: &[usize],
        wants: fn(&dyn Access) -> bool,
        announce: fn(&dyn Access, &[usize]),
    ) {
        for (part, access) in self.accesses().filter(|(_, access)| wants(*access)) {
            let own = indices.iter().filter_map(|&index| self.part(index));
            let own: Vec<_> = own.filter(|(other, _)| std::ptr::eq(*other, part)).map(|(_, index)| index).collect();
            if !own.is_empty() {
                announce(access, &own);
            }
        }
    }
}

/// Returns an error unless part `number` can follow `first`.
fn same(first: &dyn Dataset, part: &dyn Dataset, number: usize) -> Result<()> {
    let (a, b) = (first.channels(), part.channels());
    if a != b {
        let reason = format!(
            "part 0 has {a} channels and part {number} has {b}; a batch has one number of channels: make them alike, \
             or a loader of each"
        );
        return Err(Error::argument("concat", reason));
    }
    let (a, b) = (first.fields(), part.fields());
    if a != b {
        let names = |fields: &[Field]| match fields {
            [] => "none".to_owned(),
            fields => fields.iter().map(Field::to_string).collect::<Vec<_>>().join(", "),
        };
        let reason = match a.iter().zip(b).find(|(a, b)| a != b && a.to_string() == b.to_string()) {
            // A default has the type of the part's numbers.
            Some((a, b)) => {
                let of =
                    |field: &Field| field.default_numbers().map_or("another", |numbers| numbers.number_type().name());
                let (name, a, b) = (Shown(a.name()), of(a), of(b));
                format!(
                    "the default value of {name} is {a} in part 0 and {b} in part {number}; it has to be equal in both"
                )
            }
            None => format!("the fields of part 0 are {}, and those of part {number} {}", names(a), names(b)),
        };
        return Err(Error::argument("concat", reason));
    }
    let (a, b) = (first.classes(), part.classes());
    if a != b {
        let at = a.iter().zip(b).position(|(a, b)| a != b).unwrap_or(a.len().min(b.len()));
        let name = |classes: &[String]| classes.get(at).map_or("nothing".to_owned(), |class| format!("{class:?}"));
        let reason = format!(
            "part 0 has {} classes and part {number} has {}; class {at} is {} in one and {} in the other, so that \
             labels would mean different things; give both one list of classes",
            a.len(),
            b.len(),
            name(a),
            name(b),
        );
        return Err(Error::argument("concat", reason));
    }
    Ok(())
}

impl Dataset for Concat {
    fn len(&self) -> usize {
        self.len
    }

    fn read<'a>(&'a self, index: usize, buffer: &'a mut Vec<u8>) -> Result<Sample<'a>> {
        let (part, index) = self.part(index).ok_or_else(|| out_of_range(index, self.len))?;
        part.data.read(index, buffer)
    }

    fn label(&self, index: usize) -> Option<Label> {
        let (part, index) = self.part(index)?;
        part.data.label(index)
    }

    fn name(&self, index: usize) -> String {
        match self.part(index) {
            Some((part, index)) => part.data.name(index),
            None => format!("sample {index}"),
        }
    }

    fn id(&self, index: usize) -> u64 {
        match self.part(index) {
            Some((part, index)) => part.data.id(index).wrapping_add(part.shift),
            None => index as u64,
        }
    }

    fn channels(&self) -> u32 {
        self.parts.first().map_or(3, |part| part.data.channels())
    }

    fn fields(&self) -> &[Field] {
        self.parts.first().map_or(&[], |part| part.data.fields())
    }

    fn classes(&self) -> &[String] {
        self.parts.first().map_or(&[], |part| part.data.classes())
    }

    fn is_in_memory(&self) -> bool {
        self.parts.iter().all(|part| part.data.is_in_memory())
    }

    fn inner(&self) -> Option<&dyn Dataset> {
        None
    }

    fn access(&self) -> Option<&dyn Access> {
        self.accesses().next().map(|_| self as &dyn Access)
    }

    fn stored(&self) -> Option<&dyn Stored> {
        self.parts.iter().any(|part| part.data.stored().is_some()).then_some(self as &dyn Stored)
    }

    /// Returns the folder of the first part that has one: seek indexes are stored in one folder.
    fn folder(&self) -> Option<&Path> {
        self.parts.iter().find_map(|part| part.data.folder())
    }

    /// Returns those of all parts, each once.
    fn notices(&self) -> Vec<Notice> {
        let mut all = Vec::new();
        for notice in self.parts.iter().flat_map(|part| part.data.notices()) {
            if !all.contains(&notice) {
                all.push(notice);
            }
        }
        all
    }

    fn weights(&self) -> Option<&[f64]> {
        self.weights.as_deref()
    }
}

impl Access for Concat {
    fn is_remote(&self) -> bool {
        self.accesses().any(|(_, access)| access.is_remote())
    }

    fn job_samples(&self) -> usize {
        self.accesses().map(|(_, access)| access.job_samples()).max().unwrap_or(1)
    }

    fn begin_job(&self, indices: &[usize]) {
        self.announce_to_parts(indices, |access| access.job_samples() > 1, |access, inner| access.begin_job(inner));
    }

    fn prefetch_samples(&self) -> usize {
        self.accesses().map(|(_, access)| access.prefetch_samples()).max().unwrap_or(0)
    }

    fn prefetch(&self, indices: &[usize]) {
        self.announce_to_parts(indices, |access| access.prefetch_samples() > 0, |access, inner| access.prefetch(inner));
    }

    fn remotes(&self) -> Vec<Remote> {
        self.accesses().flat_map(|(_, access)| access.remotes()).collect()
    }
}

impl Stored for Concat {
    fn own_name(&self, index: usize) -> Option<String> {
        let (stored, index) = self.stored_of(index)?;
        stored.own_name(index)
    }

    fn has_ending(&self, index: usize) -> bool {
        self.stored_of(index).is_none_or(|(stored, index)| stored.has_ending(index))
    }

    fn file(&self, index: usize) -> Option<&Path> {
        let (stored, index) = self.stored_of(index)?;
        stored.file(index)
    }

    fn label(&self, index: usize) -> Option<Label> {
        let (stored, index) = self.stored_of(index)?;
        stored.label(index)
    }

    /// Returns that of the first part that has one.
    fn whole_folder(&self) -> Option<&Path> {
        self.parts.iter().find_map(|part| part.data.stored()?.whole_folder())
    }

    fn each(&self, see: &mut dyn FnMut(&Path, Option<ObjectStamp>)) {
        self.parts.iter().filter_map(|part| part.data.stored()).for_each(|stored| stored.each(see));
    }
}

impl fmt::Debug for Concat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lengths: Vec<usize> = self.parts.iter().map(|part| part.data.len()).collect();
        f.debug_struct("Concat").field("lengths", &lengths).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::{FieldKind, FieldValue, InMemory, PixelFormat, SampleData};
    use std::collections::HashSet;

    fn files(bytes: std::ops::Range<u8>) -> InMemory {
        bytes.map(|byte| (vec![byte], Label::Class(byte.into()))).collect()
    }

    fn bytes(data: &dyn Dataset) -> Vec<u8> {
        let mut buffer = Vec::new();
        let mut byte = |index| match data.read(index, &mut buffer).unwrap().data {
            SampleData::Encoded(bytes) => bytes[0],
            SampleData::Pixels(_) => panic!("pixels"),
        };
        (0..data.len()).map(&mut byte).collect()
    }

    #[test]
    fn parts_follow_each_other_with_ids_of_their_own() {
        let all = files(0..3).concat(files(0..0)).unwrap().concat(files(3..5)).unwrap();
        assert_eq!(bytes(&all), [0, 1, 2, 3, 4]);
        assert_eq!((all.name(3), all.name(9)), ("sample 0".to_owned(), "sample 9".to_owned()));
        assert_eq!((0..3).map(|index| all.id(index)).collect::<Vec<_>>(), [0, 1, 2], "the first part keeps its ids");
        assert_eq!((0..5).map(|index| all.id(index)).collect::<HashSet<_>>().len(), 5);
        let refused = all.read(5, &mut Vec::new()).unwrap_err().to_string();
        assert_eq!(refused, "index: 5 is not below the data set's length, 5");
        assert_eq!(format!("{all:?}"), "Concat { lengths: [3, 2], .. }");
    }

    #[test]
    fn ids_that_do_not_meet_are_kept() {
        let whole = std::sync::Arc::new(files(0..10));
        let back = whole.clone().subset([7, 8]).unwrap().concat(whole.subset([0, 1]).unwrap()).unwrap();
        assert_eq!((0..4).map(|index| back.id(index)).collect::<Vec<_>>(), [7, 8, 0, 1]);
    }

    #[test]
    fn concats_of_concats_have_distinct_ids() {
        let two = || files(0..9).concat(files(0..9)).unwrap();
        let all = two().concat(two()).unwrap().concat(two()).unwrap();
        assert_eq!((0..54).map(|index| all.id(index)).collect::<HashSet<_>>().len(), 54);
    }

    #[test]
    fn parts_without_weights_weigh_1() {
        assert_eq!(files(0..2).concat(files(0..2)).unwrap().weights(), None);
        let all = files(0..2).concat(files(0..2).with_weights([0.5, 3.0]).unwrap()).unwrap();
        assert_eq!(all.weights(), Some(&[1.0, 1.0, 0.5, 3.0][..]));
    }

    #[test]
    fn refuses_parts_that_are_unlike() {
        let refused = |result: Result<Concat>| result.unwrap_err().to_string();
        assert_eq!(refused(Concat::new([])), "concat: no data set; give at least one");
        let mut gray = InMemory::new();
        gray.push_pixels(1, 1, PixelFormat::R8, vec![0], Label::None).unwrap();
        let message = refused(files(0..1).concat(gray));
        assert!(message.starts_with("concat: part 0 has 3 channels and part 1 has 1"), "{message}");

        let score = |default: FieldValue<'static>| {
            files(0..0).with_fields([Field::new("x").kind(FieldKind::Numbers).default_value(default)])
        };
        let message = refused(score(FieldValue::from(0.0)).concat(score(FieldValue::from(0_i64))));
        assert!(message.contains("the default value of x is float64 in part 0 and int64 in part 1"), "{message}");
        let named = |names: &[&str]| files(0..1).with_classes(names.iter().copied());
        let message = refused(named(&["a", "b"]).concat(named(&["a", "c"])));
        assert!(message.contains(r#"class 1 is "b" in one and "c" in the other"#), "{message}");
        let message = refused(named(&["a"]).concat(named(&[])));
        assert!(message.contains(r#"class 0 is "a" in one and nothing in the other"#), "{message}");
        let named = named(&["a"]).concat(named(&["a"])).unwrap();
        assert_eq!((named.classes(), named.channels()), (&["a".to_owned()][..], 3));
    }
}
