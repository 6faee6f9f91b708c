//! Identifies a plan to pack in parts, and keeps the settings with which all parts read the source.

use crate::dataset::{FieldChoice, Split};
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

use super::job::Job;
use super::settings::PackSettings;

/// Identifies a plan, in a manifest and in the records of parts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Planned {
    /// The hash of the plan, in hexadecimal digits.
    pub(super) plan: String,
    pub(super) parts: usize,
    /// The split of the source that is packed, train or test.
    pub(super) split: Split,
    /// How the source's fields are read; `None` if the plan's settings choose none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) reading: Option<Reading>,
}

/// The settings with which the fields of a source are read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Reading {
    fields: FieldChoice,
    max_field_bytes: u64,
}

impl Reading {
    pub(super) fn of(settings: &PackSettings) -> Option<Reading> {
        let fields = settings.fields.clone()?;
        Some(Reading { fields, max_field_bytes: settings.max_field_bytes })
    }
}

impl Planned {
    /// Refuses a setting of a part or a join that has neither the plan's value nor the default value. `job` is the
    /// plan's.
    ///
    /// # Errors
    /// Names the setting.
    pub(super) fn check_settled(&self, job: &Job, settings: &PackSettings) -> Result<()> {
        job.check_settled(self.split, settings)?;
        let asks_for_size = settings.max_field_bytes != PackSettings::default().max_field_bytes;
        let setting = if settings.fields.is_some() { "fields" } else { "max_field_bytes" };
        match Reading::of(settings) == self.reading || !(settings.fields.is_some() || asks_for_size) {
            true => Ok(()),
            false => Err(Error::argument(setting, "the plan has settled it otherwise; leave it out")),
        }
    }

    /// Returns the settings with which a part or a join opens the source: the caller's, with what the plan of `job` has
    /// settled.
    pub(super) fn opening(&self, job: &Job, settings: &PackSettings) -> PackSettings {
        let (split, shuffle) = (self.split, job.shuffle);
        let default = PackSettings::default();
        let (fields, max_field_bytes) = match self.reading.clone() {
            Some(Reading { fields, max_field_bytes }) => (Some(fields), max_field_bytes),
            None => (default.fields, default.max_field_bytes),
        };
        PackSettings { split, shuffle, fields, max_field_bytes, ..settings.clone() }
    }
}
