//! The objects of a sample: made ready once the size of its image is known, and moved as each of its images is.

use super::group::Group;
use super::source::Source;
use crate::dataset::{Field, FieldKind, FieldValue};
use crate::error::{Error, Result};
use crate::objects::{Objects, settle};
use crate::targets::{Moves, make_params};
use crate::transforms::{BatchTransform, Key, Op, Params};
use std::sync::Arc;

/// The field of objects of a data set: its number, and the source of the images that show them.
#[derive(Clone, Debug)]
pub(super) struct ObjectField {
    field: usize,
    name: Arc<str>,
    source: usize,
}

impl ObjectField {
    /// Finds the field of objects; `None` where the data set has none.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`](crate::ErrorKind::Argument) for two such fields, where no group shows the samples' own images, and
    /// for operators that move pixels and no objects.
    pub(super) fn of(
        fields: &[Field],
        sources: &[Source],
        groups: &[Group],
        batch_transform: Option<&BatchTransform>,
    ) -> Result<Option<ObjectField>> {
        let mut found = fields.iter().enumerate().filter(|(_, field)| field.values() == Some(FieldKind::Objects));
        let Some((field, first)) = found.next() else {
            let looks = groups.iter().flat_map(|group| group.plan().transforms()).find(|each| each.looks_at_objects());
            return match looks {
                None => Ok(None),
                Some(transform) => {
                    let reason =
                        format!("{} looks at boxes, but the data set has no field of objects", transform.name());
                    Err(Error::argument("transforms", reason))
                }
            };
        };
        if let Some((_, second)) = found.next() {
            let reason = format!(
                "{:?} and {:?} are objects of the samples' own images; one field of objects works",
                first.name(),
                second.name()
            );
            return Err(Error::argument("fields", reason));
        }
        let Some(source) = sources.iter().position(|source| source.field().is_none()) else {
            let reason = format!("{:?} has the objects of the samples' own images, which no group shows", first.name());
            return Err(Error::argument("fields", reason));
        };
        if let Some(transform) = batch_transform {
            let reason = format!(
                "{} shows a second image, to which the objects of {:?} do not belong; leave one of the two out",
                transform.name(),
                first.name()
            );
            return Err(Error::argument("batch_transform", reason));
        }
        for group in groups.iter().filter(|group| group.plan().looks_at_objects()) {
            let followed = group.follows.map_or(group, |followed| &groups[followed]);
            if followed.source != source {
                let reason = format!(
                    "group {:?} looks at the boxes of {:?}, which are those of the samples' own images, and shows others",
                    group.name,
                    first.name()
                );
                return Err(Error::argument("transforms", reason));
            }
        }
        for group in groups.iter().filter(|group| group.source == source) {
            if let Some((transform, reason)) = group.plan().without_moves() {
                let reason = format!("{transform} cannot move the objects of {:?}: {reason}", first.name());
                return Err(Error::argument("transforms", reason));
            }
        }
        Ok(Some(ObjectField { field, name: first.name().into(), source }))
    }

    /// True if the images of a group show the objects.
    pub(super) fn is_shown_by(&self, group: &Group) -> bool {
        group.source == self.source
    }

    /// The name of the field.
    pub(super) fn name(&self) -> Arc<str> {
        Arc::clone(&self.name)
    }

    /// The source of the images that show the objects.
    pub(super) fn source(&self) -> usize {
        self.source
    }

    /// Checks the objects of a sample and gives them places in its image as it is decoded, of this size, turned by this EXIF
    /// orientation.
    ///
    /// # Errors
    /// Numbers that are none, and an image whose size is not the one that the annotation says.
    pub(super) fn settle(&self, fields: &mut [FieldValue<'static>], shown: (u32, u32), orientation: u8) -> Result<()> {
        let Some(FieldValue::Objects(objects)) = fields.get_mut(self.field) else { return Ok(()) };
        let settled = settle(objects.to_mut(), shown, orientation);
        settled.map(drop).map_err(|reason| Error::argument("fields", reason))
    }

    /// The objects of a sample, led elsewhere by ops on its image of `size`; none without ops.
    ///
    /// # Errors
    /// Those of [`Moves`].
    pub(super) fn led(&self, fields: &[FieldValue<'static>], ops: &[Op], size: (u32, u32)) -> Result<Objects> {
        let Some(FieldValue::Objects(objects)) = fields.get(self.field) else { return Ok(Objects::default()) };
        if ops.is_empty() {
            return Ok(Objects::default());
        }
        let mut objects = objects.clone().into_owned();
        Moves::new(ops, size)?.objects(&mut objects)?;
        Ok(objects)
    }

    /// Gives a sample other objects.
    pub(super) fn replace(&self, fields: &mut [FieldValue<'static>], objects: Objects) {
        if let Some(field) = fields.get_mut(self.field) {
            *field = FieldValue::from(objects);
        }
    }

    /// Makes the parameters of an image of a group by its plan, which looks at the objects.
    ///
    /// # Errors
    /// Those of the plan and of moving the objects.
    pub(super) fn make_params(
        &self,
        group: &Group,
        size: (u32, u32),
        key: &Key,
        fields: &[FieldValue<'static>],
    ) -> Result<Params> {
        match fields.get(self.field) {
            Some(FieldValue::Objects(objects)) => make_params(group.plan(), size, key, objects),
            _ => group.plan().make_params(size.0, size.1, key),
        }
    }

    /// The objects in each image of a sample that shows them, group by group.
    ///
    /// # Errors
    /// Those of [`Moves`].
    pub(super) fn moved(
        &self,
        groups: &[Group],
        fields: &mut [FieldValue<'static>],
        params: &[Params],
    ) -> Result<Vec<Objects>> {
        let of_sample = match fields.get_mut(self.field).map(std::mem::take) {
            Some(FieldValue::Objects(objects)) => objects.into_owned(),
            // A sample that lacks an optional field.
            _ => Objects::default(),
        };
        let shown = groups
            .iter()
            .filter(|group| self.is_shown_by(group))
            .flat_map(|group| params.get(group.images()).unwrap_or_default());
        let moved = |params: &Params| {
            let mut objects = of_sample.clone();
            Moves::of(params)?.objects(&mut objects)?;
            Ok(objects)
        };
        shown.map(moved).collect()
    }
}
