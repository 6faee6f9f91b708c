//! The labels of a whole data set.

use std::sync::Arc;

use super::Label;

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
        assert_eq!(Labels::Classes(vec![4, 7]).get(1), Label::Class(7));
        assert_eq!(Labels::Multi(vec![[0.5].into()]).get(0), Label::from(vec![0.5]));
        assert_eq!(Labels::Classes(vec![4, 7]).get(2), Label::None);
    }
}
