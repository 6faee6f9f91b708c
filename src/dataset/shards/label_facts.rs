//! Facts about the labels of a file's samples, which the head of its index has.

use bytemuck::{Pod, Zeroable};

use super::entry::Labelled;
use crate::dataset::Label;

/// Facts about the labels of all samples of a file, by which they are checked when a set is opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(super) struct LabelFacts {
    /// The number of samples without a label, and the first of them.
    pub(super) unlabelled: u64,
    pub(super) first_unlabelled: u64,
    /// One more than the largest class, or 0; and the first sample of that class.
    pub(super) classes: u64,
    pub(super) largest: u64,
    /// The same for classes in texts, and the number of such samples.
    pub(super) text_classes: u64,
    pub(super) largest_text: u64,
    pub(super) texts: u64,
    pub(super) first_text: u64,
    /// The number of texts that are no numbers, and the first of them. Their samples have another label or none.
    pub(super) captions: u64,
    pub(super) first_caption: u64,
}

impl LabelFacts {
    /// Returns true if a file with this many samples and bytes may have these facts. Whoever writes an index may write others,
    /// which no sum of several files would hold.
    pub(super) fn may_be_of(&self, samples: u64, bytes: u64) -> bool {
        let classes = u64::from(u32::MAX) + 1;
        self.unlabelled.max(self.texts) <= samples
            && self.captions <= bytes
            && self.classes.max(self.text_classes) <= classes
    }

    fn count(number: &mut u64, first: &mut u64, sample: u64) {
        if *number == 0 {
            *first = sample;
        }
        *number += 1;
    }

    pub(super) fn add_caption(&mut self, sample: u64) {
        Self::count(&mut self.captions, &mut self.first_caption, sample);
    }

    pub(super) fn add(&mut self, sample: u64, label: &Labelled) {
        let count = Self::count;
        match label {
            Labelled::As(Label::None) => count(&mut self.unlabelled, &mut self.first_unlabelled, sample),
            Labelled::As(Label::Class(class)) if u64::from(*class) >= self.classes => {
                (self.classes, self.largest) = (u64::from(*class) + 1, sample);
            }
            Labelled::As(_) => {}
            Labelled::Text(class) => {
                count(&mut self.texts, &mut self.first_text, sample);
                if u64::from(*class) >= self.text_classes {
                    (self.text_classes, self.largest_text) = (u64::from(*class) + 1, sample);
                }
            }
            Labelled::Caption => {
                self.add_caption(sample);
                count(&mut self.unlabelled, &mut self.first_unlabelled, sample);
            }
        }
    }
}
