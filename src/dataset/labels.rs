//! The labels of a whole data set.

use std::sync::Arc;

use super::Label;
use crate::error::{Error, Result};

/// One label for each sample, of one kind.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) enum Labels {
    #[default]
    None,
    Classes(Vec<u32>),
    /// Shared, so that returning one allocates nothing.
    Multi(Vec<Arc<[f32]>>),
}

impl Labels {
    /// Takes one label of each sample.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`](crate::ErrorKind::Argument) for labels of several kinds.
    pub(super) fn of(labels: Vec<Label>) -> Result<Labels> {
        let first = labels.first().map(std::mem::discriminant);
        if labels.iter().any(|label| Some(std::mem::discriminant(label)) != first) {
            return Err(Error::argument("samples", "labels of several kinds; classes, vectors or none are one kind"));
        }
        let length = |label: &Label| if let Label::Multi(values) = label { values.len() } else { 0 };
        if let Some(other) = labels.iter().map(length).find(|found| *found != length(&labels[0])) {
            let reason = format!("vectors of {} and of {other} numbers; one length works", length(&labels[0]));
            return Err(Error::argument("samples", reason));
        }
        let mut of = Labels::None;
        for label in labels {
            match (&mut of, label) {
                (Labels::Classes(classes), Label::Class(class)) => classes.push(class),
                (Labels::Multi(all), Label::Multi(values)) => all.push(values),
                (_, Label::Class(class)) => of = Labels::Classes(vec![class]),
                (_, Label::Multi(values)) => of = Labels::Multi(vec![values]),
                (_, Label::None) => {}
            }
        }
        Ok(of)
    }

    /// Returns the label of sample `index`.
    pub(super) fn get(&self, index: usize) -> Label {
        let label = match self {
            Labels::None => None,
            Labels::Classes(classes) => classes.get(index).copied().map(Label::Class),
            Labels::Multi(values) => values.get(index).cloned().map(Label::Multi),
        };
        label.unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_label() {
        assert_eq!(Labels::default().get(3), Label::None);
        let labels = [Label::Class(4), Label::Class(7)];
        assert_eq!(Labels::of(labels.to_vec()).unwrap(), Labels::Classes(vec![4, 7]));
        assert_eq!(Labels::of(vec![Label::None; 2]).unwrap(), Labels::None);
        assert_eq!(Labels::of(vec![Label::from(vec![0.5]); 2]).unwrap().get(1), Label::from(vec![0.5]));
        let lengths = vec![Label::from(vec![0.5]), Label::from(vec![0.5, 1.0])];
        assert!(Labels::of(lengths).unwrap_err().to_string().contains("vectors of 1 and of 2 numbers"));
        for mixed in [[Label::None, Label::Class(1)], [Label::Class(1), Label::from(vec![1.0])]] {
            assert!(Labels::of(mixed.to_vec()).unwrap_err().to_string().contains("labels of several kinds"));
        }
        assert_eq!(Labels::Classes(vec![4, 7]).get(1), Label::Class(7));
        assert_eq!(Labels::Multi(vec![[0.5].into()]).get(0), Label::from(vec![0.5]));
        assert_eq!(Labels::Classes(vec![4, 7]).get(2), Label::None);
    }
}
