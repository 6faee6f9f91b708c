//! Reads a recipe from TOML. Errors name the line, the operator, the key and the values that work. serde alone reports
//! neither lines nor keys inside a list of operators.

use super::Recipe;
use super::read_groups::{self, GroupTable};
use super::read_list::{field, line, list, on_one_line, views};
use crate::advice::{self, Reason};
use crate::plan::{Arrangement, DType, Output, Semantics};
use crate::transforms::{BatchTransform, Mosaic};
use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The file with its operators as unread tables.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RecipeFile {
    #[serde(default)]
    name: String,
    #[serde(default)]
    description: String,
    views: Option<Spanned<toml::Value>>,
    output: Option<Output>,
    semantics: Option<Semantics>,
    arrangement: Option<Arrangement>,
    transform: Option<Vec<toml::Table>>,
    mosaic: Option<Spanned<toml::Table>>,
    #[serde(default)]
    batch_transform: Vec<toml::Table>,
    #[serde(default)]
    group: Vec<GroupTable>,
}

/// # Errors
/// The reason, with the line.
pub(super) fn read(text: &str) -> Result<Recipe, Reason> {
    let syntax = |error: toml::de::Error| {
        let position = error.span().map_or(1, |span| line(text, span.start));
        Reason::new(format!("line {position}: {}", on_one_line(error.message())))
    };
    let file: RecipeFile = toml::from_str(text).map_err(syntax)?;
    let positions = DeTable::parse(text).map_err(syntax)?;
    let positions = positions.get_ref();
    let groups = match (&file.transform, &file.group[..]) {
        (Some(_), []) => Vec::new(),
        (_, groups) if field(positions, "group").is_some() => {
            check_groups_alone(text, &file, positions)?;
            read_groups::read(text, groups, field(positions, "group"), file.semantics)?
        }
        _ => {
            return Err(Reason::new(
                "line 1: missing field `transform`; a recipe has a list, or groups with a list each",
            ));
        }
    };
    let views = views(text, file.views.as_ref())?;
    let uint8 = file.semantics == Some(Semantics::Uint8);
    let transforms = list(text, uint8, file.transform.as_deref().unwrap_or_default(), field(positions, "transform"))?;
    let batch_transform = batch_transform(text, &file, field(positions, "batch_transform"))?;
    let mosaic = file.mosaic.as_ref().map(|table| mosaic(text, table)).transpose()?;
    let RecipeFile { name, description, output, semantics, arrangement, .. } = file;
    Ok(Recipe { name, description, transforms, output, semantics, arrangement, views, batch_transform, mosaic, groups })
}

/// Reads the mosaic.
fn mosaic(text: &str, table: &Spanned<toml::Table>) -> Result<Mosaic, Reason> {
    let refused =
        |reason: &str| Reason::new(format!("line {}: mosaic: {}", line(text, table.span().start), on_one_line(reason)));
    let read: Mosaic = table.get_ref().clone().try_into().map_err(|error: toml::de::Error| refused(error.message()))?;
    read.validate().map_err(|error| refused(&error.to_string()))?;
    Ok(read)
}

/// Refuses beside groups what is for one list alone, and groups that are none.
fn check_groups_alone(text: &str, file: &RecipeFile, positions: &DeTable<'_>) -> Result<(), Reason> {
    let refused = |key: &str, reason: &str| {
        let line = field(positions, key).map_or(1, |value| line(text, start(value)));
        Err(Reason::new(format!("line {line}: {key}: {reason}")))
    };
    if file.group.is_empty() {
        return refused("group", "there is no group; 1 and more work");
    }
    if file.transform.is_some() {
        return refused("transform", "the recipe has groups, too; give the list to a group, as [[group.transform]]");
    }
    if file.views.is_some() {
        return refused("views", "the recipe has groups; give each its views");
    }
    if file.mosaic.is_some() {
        return refused("mosaic", "the recipe has groups, and a mosaic is made for one list");
    }
    if !file.batch_transform.is_empty() {
        return refused("batch_transform", "the recipe has groups, and only the images of one list are mixed");
    }
    Ok(())
}

/// Reads the one transform of batches.
fn batch_transform(
    text: &str,
    file: &RecipeFile,
    position: Option<&Spanned<DeValue<'_>>>,
) -> Result<Option<BatchTransform>, Reason> {
    let mut list: Vec<BatchTransform> = list(text, false, &file.batch_transform, position)?;
    let refused = |number: usize, reason: &str| {
        let positions = position.and_then(|list| list.get_ref().as_array());
        let line = positions.and_then(|list| list.get(number)).map_or(1, |entry| line(text, entry.span().start));
        Reason::new(format!("line {line}: batch_transform: {reason}"))
    };
    if list.len() > 1 {
        return Err(refused(1, "one works; a RandomChoice has several, and applies one of them to each batch"));
    }
    let blends = list.iter().any(BatchTransform::needs_floats);
    if blends && file.output.is_some_and(|output| output.dtype == DType::U8) {
        let reason = refused(0, "MixUp blends floats, but the output has 8-bit numbers");
        return Err(reason.advise(advice::FLOAT_OUTPUT));
    }
    Ok(list.pop())
}

/// The first byte of a value; of a list of tables that of the first one.
fn start(value: &Spanned<DeValue<'_>>) -> usize {
    let first = value.get_ref().as_array().and_then(|tables| tables.first());
    first.map_or(value.span().start, |first| first.span().start)
}
