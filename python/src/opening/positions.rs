//! The fields `index` and `path` of a data set: the number of each sample, and its name.

use gpufeed::dataset::{Field, FieldChoice, FieldKind, FieldValue, Stored};
use gpufeed::{Dataset, Label, Result, Sample};

/// The position that a field has as its value.
#[derive(Clone, Copy)]
enum Source {
    Index,
    Path,
}

/// A data set with fields of its samples' positions, after its own fields.
struct WithPositions {
    data: Box<dyn Dataset>,
    sources: Vec<Source>,
    fields: Vec<Field>,
}

/// Divides a choice into the fields of positions, and what the data set itself has to read.
pub(super) fn divide(choice: FieldChoice) -> (Vec<(String, Field)>, FieldChoice) {
    let FieldChoice::Named(named) = choice else { return (Vec::new(), choice) };
    let (positions, own): (Vec<_>, Vec<_>) =
        named.into_iter().partition(|(source, _)| matches!(source.as_str(), "index" | "path"));
    (positions, if own.is_empty() { FieldChoice::None } else { FieldChoice::Named(own) })
}

/// Adds the fields of positions to a data set.
pub(super) fn add(data: Box<dyn Dataset>, positions: &[(String, Field)]) -> Box<dyn Dataset> {
    if positions.is_empty() {
        return data;
    }
    let mut fields = data.fields().to_vec();
    let mut sources = Vec::with_capacity(positions.len());
    for (source, field) in positions {
        let (source, kind) = match source.as_str() {
            "index" => (Source::Index, FieldKind::Numbers),
            _ => (Source::Path, FieldKind::Text),
        };
        sources.push(source);
        fields.push(field.clone().kind(kind));
    }
    Box::new(WithPositions { data, sources, fields })
}

impl Dataset for WithPositions {
    fn len(&self) -> usize {
        self.data.len()
    }

    fn read<'a>(&'a self, index: usize, buffer: &'a mut Vec<u8>) -> Result<Sample<'a>> {
        let mut sample = self.data.read(index, buffer)?;
        sample.fields.extend(self.sources.iter().map(|source| match source {
            Source::Index => FieldValue::from(index as i64),
            Source::Path => FieldValue::from(self.data.name(index)),
        }));
        Ok(sample)
    }

    fn name(&self, index: usize) -> String {
        self.data.name(index)
    }

    fn inner(&self) -> Option<&dyn Dataset> {
        Some(&*self.data)
    }

    fn fields(&self) -> &[Field] {
        &self.fields
    }

    fn label(&self, index: usize) -> Option<Label> {
        self.data.label(index)
    }

    fn stored(&self) -> Option<&dyn Stored> {
        self.data.stored()
    }

    fn is_in_memory(&self) -> bool {
        // The pixels are those of the data set itself.
        self.data.is_in_memory()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpufeed::InMemory;

    #[test]
    fn positions_stand_after_the_data_sets_own_fields() {
        let choice = FieldChoice::from([("index", "number"), ("txt", "caption"), ("path", "path")]);
        let (positions, own) = divide(choice);
        assert_eq!(own, FieldChoice::from([("txt", "caption")]));
        let mut data = InMemory::new().with_fields([Field::new("caption").kind(FieldKind::Text)]);
        for text in ["a", "b"] {
            data.push_encoded(vec![1, 2], Label::Class(3)).unwrap();
            data.push_fields([FieldValue::from(text)]).unwrap();
        }
        let data = add(Box::new(data), &positions);
        let names: Vec<_> = data.fields().iter().map(|field| (field.name(), field.values())).collect();
        let (text, numbers) = (Some(FieldKind::Text), Some(FieldKind::Numbers));
        assert_eq!(names, [("caption", text), ("number", numbers), ("path", text)]);
        let mut buffer = Vec::new();
        let sample = data.read(1, &mut buffer).unwrap();
        let expected = [FieldValue::from("b"), FieldValue::from(1_i64), FieldValue::from(data.name(1))];
        assert_eq!(sample.fields, expected);
    }

    #[test]
    fn a_choice_without_positions_stays_as_it_is() {
        for choice in [FieldChoice::None, FieldChoice::All, FieldChoice::from([("txt", "caption")])] {
            assert_eq!(divide(choice.clone()), (Vec::new(), choice));
        }
        assert_eq!(divide(FieldChoice::from([("index", "index")])).1, FieldChoice::None);
    }
}
