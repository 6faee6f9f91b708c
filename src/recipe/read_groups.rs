//! Reads the groups of a recipe.

use super::ViewGroup;
use super::group;
use super::read_list::{field, line, list, views};
use crate::advice::Reason;
use crate::decode::ReadMode;
use crate::error::ErrorKind;
use crate::plan::{Arrangement, Output, Semantics};
use crate::transforms::{Interpolation, Transform};
use serde::Deserialize;
use toml::Spanned;
use toml::de::DeValue;

/// A table `[[group]]` with its operators as unread tables.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct GroupTable {
    name: String,
    views: Option<Spanned<toml::Value>>,
    source: Option<String>,
    #[serde(default)]
    read_mode: ReadMode,
    follows: Option<String>,
    interpolation: Option<Interpolation>,
    fill: Option<f32>,
    output: Option<Output>,
    semantics: Option<Semantics>,
    arrangement: Option<Arrangement>,
    /// Only a group that follows another one may have none.
    transform: Option<Vec<toml::Table>>,
}

/// Reads the groups whose tables are at `position`; `semantics` is the recipe's.
///
/// # Errors
/// The reason, with the line.
pub(super) fn read(
    text: &str,
    tables: &[GroupTable],
    position: Option<&Spanned<DeValue<'_>>>,
    semantics: Option<Semantics>,
) -> Result<Vec<ViewGroup>, Reason> {
    let positions = position.and_then(|list| list.get_ref().as_array());
    let position = |number: usize| positions.and_then(|list| list.get(number));
    let at = |number: usize| position(number).map_or(1, |table| line(text, table.span().start));
    let read = |(number, table): (usize, &GroupTable)| -> Result<ViewGroup, Reason> {
        let GroupTable { name, source, read_mode, follows, interpolation, fill, output, arrangement, .. } = table;
        let own = &table.semantics;
        let transform = match (&table.transform, follows) {
            (Some(list), _) => &list[..],
            (None, Some(_)) => &[],
            (None, None) => {
                let reason = format!("line {}: group {name:?}: missing field `transform`", at(number));
                return Err(Reason::new(reason));
            }
        };
        let keys = position(number).and_then(|table| table.get_ref().as_table());
        let uint8 = own.or(semantics) == Some(Semantics::Uint8);
        let transforms: Vec<Transform> = list(text, uint8, transform, keys.and_then(|keys| field(keys, "transform")))?;
        let mut group = ViewGroup::new(name, views(text, table.views.as_ref())?, transforms);
        (group.source, group.follows) = (source.clone(), follows.clone());
        (group.read_mode, group.interpolation, group.fill) = (*read_mode, *interpolation, *fill);
        (group.output, group.semantics, group.arrangement) = (*output, *own, *arrangement);
        Ok(group)
    };
    let groups = tables.iter().enumerate().map(read).collect::<Result<Vec<_>, Reason>>()?;
    match group::check(&groups) {
        Ok(()) => Ok(groups),
        Err((number, error)) => {
            let reason = match error.kind() {
                ErrorKind::Argument { reason, .. } => reason.clone(),
                _ => error.to_string(),
            };
            Err(Reason::new(format!("line {}: group: {reason}", at(number))))
        }
    }
}
