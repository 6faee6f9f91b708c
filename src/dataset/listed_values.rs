//! Columns of a list in memory: texts one after the other, or numbers of one type and shape.

use super::{NumberType, Numbers};

/// Which samples have a value. The values of the others take no room.
#[derive(Clone, Debug, Default)]
struct Presence {
    samples: usize,
    /// The samples without a value, in ascending order.
    absent: Vec<usize>,
}

impl Presence {
    /// Adds a sample with a value.
    fn push(&mut self) {
        self.samples += 1;
    }

    /// Adds samples without a value until there are this many.
    fn pad(&mut self, samples: usize) {
        self.absent.extend(self.samples..samples);
        self.samples = self.samples.max(samples);
    }

    /// Returns the number of a sample among those that have a value; `None` if it has none.
    fn rank(&self, sample: usize) -> Option<usize> {
        let before = self.absent.binary_search(&sample).err()?;
        (sample < self.samples).then(|| sample - before)
    }
}

/// A column of texts.
#[derive(Clone, Debug, Default)]
pub(super) struct TextColumn {
    presence: Presence,
    text: String,
    /// Where each text ends.
    ends: Vec<usize>,
}

impl TextColumn {
    /// Adds a text as the value of `sample`. Samples before it that have not been added have none.
    pub(super) fn push(&mut self, sample: usize, text: &str) {
        self.pad(sample);
        self.presence.push();
        self.text.push_str(text);
        self.ends.push(self.text.len());
    }

    /// Adds samples without a text until there are `samples`.
    pub(super) fn pad(&mut self, samples: usize) {
        self.presence.pad(samples);
    }

    /// Returns the number of samples that have been added.
    pub(super) fn samples(&self) -> usize {
        self.presence.samples
    }

    /// Returns the number of samples with a text.
    pub(super) fn present(&self) -> usize {
        self.ends.len()
    }

    /// Returns the text of a sample; `None` if it has none.
    pub(super) fn get(&self, sample: usize) -> Option<&str> {
        let rank = self.presence.rank(sample)?;
        let start = rank.checked_sub(1).map_or(0, |before| self.ends[before]);
        Some(&self.text[start..self.ends[rank]])
    }

    /// Returns all texts, each with its sample.
    pub(super) fn texts(&self) -> impl Iterator<Item = (usize, &str)> {
        (0..self.samples()).filter_map(|sample| Some((sample, self.get(sample)?)))
    }
}

/// A column of numbers.
#[derive(Clone, Debug)]
pub(super) struct NumberColumn {
    presence: Presence,
    number_type: NumberType,
    shape: Vec<usize>,
    bytes: Vec<u8>,
}

impl NumberColumn {
    /// A column for numbers of this type and shape.
    pub(super) fn new(number_type: NumberType, shape: Vec<usize>) -> NumberColumn {
        NumberColumn { presence: Presence::default(), number_type, shape, bytes: Vec::new() }
    }

    /// Returns what the numbers of all samples are.
    pub(super) fn type_and_shape(&self) -> (NumberType, &[usize]) {
        (self.number_type, &self.shape)
    }

    /// Adds a sample. `bytes` are its numbers, in the machine's order of bytes, as many as the shape has. Samples before it
    /// that have not been added have none.
    pub(super) fn push(&mut self, sample: usize, bytes: impl IntoIterator<Item = u8>) {
        self.pad(sample);
        self.presence.push();
        self.bytes.extend(bytes);
    }

    /// Adds samples without numbers until there are `samples`.
    pub(super) fn pad(&mut self, samples: usize) {
        self.presence.pad(samples);
    }

    /// Returns the numbers of a sample; `None` if it has none.
    pub(super) fn get(&self, sample: usize) -> Option<Numbers<'_>> {
        let each = self.shape.iter().product::<usize>() * self.number_type.bytes();
        let start = self.presence.rank(sample)? * each;
        Numbers::new(self.number_type, self.shape.clone(), &self.bytes[start..start + each]).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_without_a_value_have_none() {
        let mut texts = TextColumn::default();
        texts.push(1, "é");
        texts.push(2, "");
        texts.push(5, "abc");
        texts.pad(7);
        let found: Vec<_> = (0..8).map(|sample| texts.get(sample)).collect();
        assert_eq!(found, [None, Some("é"), Some(""), None, None, Some("abc"), None, None]);
        assert_eq!((texts.samples(), texts.present()), (7, 3));
        assert_eq!(texts.texts().collect::<Vec<_>>(), [(1, "é"), (2, ""), (5, "abc")]);
    }

    #[test]
    fn numbers_have_the_shape_of_the_column() {
        let mut pairs = NumberColumn::new(NumberType::U8, vec![2]);
        pairs.push(0, [1, 2]);
        pairs.push(2, [3, 4]);
        let pair = |values: [u8; 2]| Numbers::new(NumberType::U8, [2], values.to_vec()).ok();
        assert_eq!([0, 1, 2, 3].map(|sample| pairs.get(sample)), [pair([1, 2]), None, pair([3, 4]), None]);
        let mut empty = NumberColumn::new(NumberType::F64, vec![0]);
        empty.push(0, []);
        assert_eq!(empty.get(0).unwrap().shape(), [0]);
    }
}
