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
        self.check_reading(settings)
    }

    /// Refuses a setting of fields that has neither the plan's value nor the default value.
    fn check_reading(&self, settings: &PackSettings) -> Result<()> {
        let refuse = |setting| Err(Error::argument(setting, "the plan has settled it otherwise; leave it out"));
        let default = PackSettings::default().max_field_bytes;
        let (fields, bytes) = match &self.reading {
            Some(Reading { fields, max_field_bytes }) => (Some(fields), *max_field_bytes),
            None => (None, default),
        };
        if settings.fields.is_some() && settings.fields.as_ref() != fields {
            return refuse("fields");
        }
        match [default, bytes].contains(&settings.max_field_bytes) {
            true => Ok(()),
            false => refuse("max_field_bytes"),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_may_leave_out_what_the_plan_has_settled_of_fields_or_say_the_same() {
        let captions = || Some(FieldChoice::from([("txt", "caption")]));
        let settings = |fields, max_field_bytes| PackSettings { fields, max_field_bytes, ..PackSettings::default() };
        let default = PackSettings::default().max_field_bytes;
        let plan = |settings: &PackSettings| Planned {
            plan: String::new(),
            parts: 2,
            split: Split::default(),
            reading: Reading::of(settings),
        };
        let captioned = plan(&settings(captions(), 99));
        for (fields, bytes, refused) in [
            (None, default, None),
            (captions(), default, None),
            (captions(), 99, None),
            (None, 99, None),
            (captions(), 98, Some("max_field_bytes")),
            (None, 98, Some("max_field_bytes")),
            (Some(FieldChoice::All), 99, Some("fields")),
        ] {
            let given = settings(fields, bytes);
            let found = captioned.check_reading(&given).map_err(|error| error.to_string());
            match refused {
                None => assert_eq!(found, Ok(()), "{given:?}"),
                Some(name) => assert!(found.unwrap_err().starts_with(&format!("{name}: ")), "{given:?}"),
            }
        }
        let plain = plan(&PackSettings::default());
        assert!(plain.check_reading(&PackSettings::default()).is_ok());
        assert!(plain.check_reading(&settings(captions(), default)).is_err());
        assert!(plain.check_reading(&settings(None, 99)).is_err());
    }
}
