//! Counts the objects of all samples.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::file_report::FileReport;
use super::finding::Finding;
use super::objects::ObjectReport;

/// The objects of a data set.
#[derive(Debug, Default, Serialize)]
pub(super) struct ObjectSummary {
    pub(super) objects: usize,
    /// Samples whose objects were looked at: those that decode.
    pub(super) samples: usize,
    /// Samples among them without objects.
    pub(super) samples_without: usize,
    /// The faults, each with the number of objects and the first sample.
    pub(super) faults: Vec<Fault>,
    /// Labels that are the numbers of no class.
    pub(super) unknown_labels: BTreeSet<i64>,
    /// Classes that no object has. Background has none in any set.
    pub(super) classes_without: Vec<String>,
    /// The number of classes with a name.
    pub(super) classes: usize,
    /// Objects by their labels.
    #[serde(skip)]
    pub(super) by_label: BTreeMap<i64, usize>,
}

/// A finding of boxes, keypoints or labels.
#[derive(Debug, Serialize)]
pub(super) struct Fault {
    pub(super) kind: Finding,
    /// Boxes, keypoints or labels.
    pub(super) count: usize,
    /// The samples that have them.
    pub(super) samples: usize,
    /// The first sample's name.
    pub(super) first: String,
    #[serde(skip)]
    pub(super) words: &'static str,
}

impl ObjectSummary {
    /// Counts the objects of samples; `None` where the data set has no field of objects.
    pub(super) fn of(files: &[FileReport], classes: &[String]) -> Option<ObjectSummary> {
        let mut summary = ObjectSummary::default();
        for (file, objects) in files.iter().filter_map(|file| Some((file, file.objects.as_ref()?))) {
            summary.samples += 1;
            summary.samples_without += usize::from(objects.count == 0);
            summary.objects += objects.count;
            objects.labels.iter().for_each(|label| *summary.by_label.entry(*label).or_default() += 1);
            summary.add_faults(file, objects);
        }
        let names = || classes.iter().enumerate().filter(|(_, name)| !name.is_empty() && *name != "__background__");
        let has_objects = |class: usize| summary.by_label.contains_key(&(class as i64));
        summary.classes_without =
            names().filter(|(class, _)| !has_objects(*class)).map(|(_, name)| name.clone()).collect();
        summary.classes = names().count();
        let is_known = |label: &i64| {
            usize::try_from(*label).ok().and_then(|label| classes.get(label)).is_some_and(|name| !name.is_empty())
        };
        summary.unknown_labels =
            summary.by_label.keys().filter(|label| !classes.is_empty() && !is_known(label)).copied().collect();
        (summary.samples > 0).then_some(summary)
    }

    fn add_faults(&mut self, file: &FileReport, objects: &ObjectReport) {
        for (kind, count, words) in objects.faults().into_iter().filter(|(_, count, _)| *count > 0) {
            match self.faults.iter_mut().find(|fault| fault.kind == kind) {
                Some(fault) => {
                    fault.count += count;
                    fault.samples += 1;
                }
                None => self.faults.push(Fault { kind, count, samples: 1, first: file.path.clone(), words }),
            }
        }
    }

    /// The objects of the class with this number.
    pub(super) fn of_class(&self, class: usize) -> usize {
        self.by_label.get(&(class as i64)).copied().unwrap_or_default()
    }
}
