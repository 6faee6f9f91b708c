//! Chooses the columns of a file that are the images, their names and their labels.

use serde_json::Value;

use super::footer::{Footer, Leaf, Physical};
use crate::error::{Error, Result};
use crate::storage::file::DataFile;

/// The names of columns that are taken for images, or for labels, if nothing else says which they are.
const IMAGES: [&str; 2] = ["image", "img"];
const LABELS: [&str; 4] = ["label", "labels", "target", "class"];

/// The numbers of the columns that are read.
#[derive(Debug)]
pub(super) struct ParquetColumns {
    pub(super) images: usize,
    /// The column with the name of each image's file.
    pub(super) names: Option<usize>,
    pub(super) labels: Option<(usize, Physical)>,
    /// The names of the classes.
    pub(super) classes: Vec<String>,
    /// The name of the labels' column, and the names of the columns that are not read.
    pub(super) label: Option<String>,
    pub(super) unread: Vec<String>,
    /// The reason for which the key `huggingface` cannot be read.
    pub(super) broken_key: Option<String>,
}

impl ParquetColumns {
    /// Chooses the columns: those that the settings name, or else those that the description of Hugging Face's features
    /// names, or else those that look like images and labels.
    ///
    /// # Errors
    /// No such column, or several; columns that are nested or hold something else.
    pub(super) fn choose(
        file: &DataFile,
        footer: &Footer,
        image: Option<&str>,
        label: Option<&str>,
    ) -> Result<ParquetColumns> {
        let (features, broken_key) = match Features::read(footer.huggingface()) {
            Ok(features) => (features, None),
            Err(reason) => (Features(serde_json::Map::new()), Some(reason)),
        };
        let chooser = Chooser { file, footer, features: &features };
        let image = chooser.image(image)?;
        let (images, names) = chooser.parts(image)?;
        let label = chooser.label(label, image)?;
        let labels = label.map(|label| chooser.integers(label)).transpose()?;
        let classes = label.map_or(Ok(None), |label| features.classes(footer.top_name(label)));
        let (classes, broken_key) = match classes {
            Ok(classes) => (classes.unwrap_or_default(), broken_key),
            Err(reason) => (Vec::new(), Some(broken_key.unwrap_or(reason))),
        };
        let others = chooser.tops(|top| top != image && Some(top) != label);
        let unread = others.into_iter().map(|top| footer.top_name(top).to_owned()).collect();
        let label = label.map(|label| footer.top_name(label).to_owned());
        Ok(ParquetColumns { images, names, labels, classes, label, unread, broken_key })
    }
}

/// The description of the columns in the key `huggingface`.
#[derive(Default)]
pub(super) struct Features(serde_json::Map<String, Value>);

impl Features {
    /// Reads the key. The result is empty if the file has no such key.
    ///
    /// # Errors
    /// The reason if it cannot be read.
    pub(super) fn read(text: Option<&str>) -> Result<Features, String> {
        let Some(text) = text else { return Ok(Features(serde_json::Map::new())) };
        let mut value = serde_json::from_str::<Value>(text).map_err(|error| format!("no JSON: {error}"))?;
        match value.pointer_mut("/info/features").map(Value::take) {
            Some(Value::Object(features)) => Ok(Features(features)),
            // Data sets without declared columns have the key without a description.
            None | Some(Value::Null) if value.get("info").is_none_or(Value::is_object) && value.is_object() => {
                Ok(Features(serde_json::Map::new()))
            }
            _ => Err("info.features is no object".to_owned()),
        }
    }

    pub(super) fn is(&self, column: &str, kind: &str) -> bool {
        self.0.get(column).is_some_and(|feature| feature["_type"] == kind)
    }

    /// Returns true if a column is an image, or a list of images.
    pub(super) fn has_image(&self, column: &str) -> bool {
        // Lists have been written as `{"feature": ..}` and as `[..]`.
        let listed =
            |feature: &Value| feature.get("feature").or_else(|| feature.get(0)).map(|of| of["_type"] == "Image");
        self.is(column, "Image") || self.0.get(column).and_then(listed).unwrap_or(false)
    }

    /// Returns the names of the classes of a column, if it has any.
    ///
    /// # Errors
    /// The reason if the names are something else than a list of names.
    fn classes(&self, column: &str) -> Result<Option<Vec<String>>, String> {
        let names = self.0.get(column).and_then(|feature| feature.get("names"));
        names.map_or(Ok(None), |names| class_names(names, column))
    }

    /// Returns the names of the classes of a part of a column, a struct of lists or a list of structs, if the part has any.
    ///
    /// # Errors
    /// The reason if the names are something else than a list of names.
    pub(super) fn classes_of_part(&self, column: &str, part: &str) -> Result<Option<Vec<String>>, String> {
        let of_part = self.0.get(column).and_then(|feature| element(feature).get(part)).map(element);
        let names = of_part.filter(|feature| feature["_type"] == "ClassLabel").and_then(|feature| feature.get("names"));
        names.map_or(Ok(None), |names| class_names(names, &format!("{column}.{part}")))
    }
}

/// Returns the feature of a list's elements, or the feature itself if it is no list. Lists have been written as
/// `{"feature": .., "_type": "Sequence"}`, as `"List"`, and as `[..]`.
fn element(mut feature: &Value) -> &Value {
    let is_list = |feature: &Value| {
        feature["_type"].as_str().is_some_and(|kind| ["Sequence", "List", "LargeList"].contains(&kind))
    };
    loop {
        feature = match (feature.get(0), feature.get("feature").filter(|_| is_list(feature))) {
            (Some(of), _) | (None, Some(of)) => of,
            (None, None) => return feature,
        };
    }
}

/// Returns the names of the classes of a column; `None` for null.
///
/// # Errors
/// The reason if they are something else than a list of names.
fn class_names(names: &Value, column: &str) -> Result<Option<Vec<String>>, String> {
    let list = names.as_array().and_then(|names| names.iter().map(|name| name.as_str().map(str::to_owned)).collect());
    match list {
        Some(list) => Ok(Some(list)),
        None if names.is_null() => Ok(None),
        None => Err(format!("the names of the classes of {} are no list of names", crate::quote::shortened(column))),
    }
}

struct Chooser<'a> {
    file: &'a DataFile,
    footer: &'a Footer,
    features: &'a Features,
}

impl Chooser<'_> {
    fn refused(&self, reason: String) -> Error {
        Error::data_file(self.file.name(), "its columns", reason)
    }

    fn name(&self, top: usize) -> &str {
        self.footer.top_name(top)
    }

    /// Returns the columns at the top for which `wanted` returns true.
    fn tops(&self, wanted: impl Fn(usize) -> bool) -> Vec<usize> {
        let mut tops: Vec<_> = self.footer.leaves.iter().map(|leaf| leaf.top).collect();
        tops.dedup();
        tops.retain(|top| wanted(*top));
        tops
    }

    /// Returns the columns below `top`.
    fn below(&self, top: usize) -> impl Iterator<Item = (usize, &Leaf)> {
        self.footer.leaves.iter().enumerate().filter(move |(_, leaf)| leaf.top == top)
    }

    /// Returns the column at the top itself, if it is not a group.
    fn alone(&self, top: usize) -> Option<(usize, &Leaf)> {
        self.below(top).find(|(_, leaf)| leaf.depth == 1)
    }

    /// Returns the column of bytes called `name` in the group at the top.
    fn part(&self, top: usize, name: &str) -> Option<usize> {
        let wanted = |leaf: &Leaf| leaf.depth == 2 && leaf.physical == Physical::Bytes;
        let mut below = self.below(top).filter(|(_, leaf)| wanted(leaf)).map(|(number, _)| number);
        below.find(|number| self.footer.own_name(*number) == name)
    }

    fn list(&self, tops: &[usize]) -> String {
        let mut text = String::new();
        for (number, top) in tops.iter().enumerate() {
            if number == 20 {
                text.push_str(", ...");
                break;
            }
            text.push_str(if number == 0 { "" } else { ", " });
            text.push_str(&crate::quote::shortened(self.name(*top)));
        }
        text
    }

    /// Returns one of these columns. If there are several, it is the one with a usual name; `None` if there are none.
    fn one_of(&self, tops: &[usize], usual: &[&str], what: &str) -> Result<Option<usize>> {
        let named = usual.iter().find_map(|name| tops.iter().copied().find(|top| self.name(*top) == *name));
        match (tops, named) {
            ([], _) => Ok(None),
            (_, Some(top)) | (&[top], None) => Ok(Some(top)),
            _ => {
                let text = format!("several could be the {what}: {}; choose with {what}_column", self.list(tops));
                Err(self.refused(text))
            }
        }
    }

    fn called(&self, name: &str, what: &str) -> Result<usize> {
        self.tops(|top| self.name(top) == name).first().copied().ok_or_else(|| {
            let all = self.list(&self.tops(|_| true));
            self.refused(format!("there is no {what} column {name}; there are {all}"))
        })
    }

    fn image(&self, setting: Option<&str>) -> Result<usize> {
        if let Some(name) = setting {
            return self.called(name, "image");
        }
        let featured = self.tops(|top| self.features.is(self.name(top), "Image"));
        let groups = self.tops(|top| self.part(top, "bytes").is_some());
        let binary =
            self.tops(|top| self.alone(top).is_some_and(|(_, leaf)| leaf.physical == Physical::Bytes && !leaf.text));
        for tops in [featured, groups, binary] {
            if let Some(top) = self.one_of(&tops, &IMAGES, "image")? {
                return Ok(top);
            }
        }
        if let Some(list) = self.tops(|top| self.below(top).any(|(_, leaf)| leaf.repetition > 0)).first() {
            let name = crate::quote::shortened(self.name(*list));
            return Err(self.refused(format!(
                "there is no image column; {name} has lists, but a sample has one image: write a row for each"
            )));
        }
        let all = self.list(&self.tops(|_| true));
        Err(self.refused(format!(
            "there is no image column, which is a binary one or a struct of bytes and path; there are {all}"
        )))
    }

    /// Returns the columns of the images' bytes and names.
    fn parts(&self, top: usize) -> Result<(usize, Option<usize>)> {
        let name = crate::quote::shortened(self.name(top));
        let bytes = match self.alone(top) {
            Some((number, leaf)) => (leaf.physical == Physical::Bytes).then_some(number),
            None => self.part(top, "bytes"),
        };
        let lists = self.below(top).any(|(_, leaf)| leaf.repetition > 0);
        match bytes {
            _ if lists => Err(self.refused(format!(
                "the image column {name} has lists, but a sample has one image: write a row for each"
            ))),
            Some(bytes) => Ok((bytes, self.part(top, "path"))),
            None if self.part(top, "path").is_some() => Err(self.refused(path_alone(&name))),
            None => Err(self.refused(format!(
                "the image column {name} holds no files: it has to be binary, or a struct of bytes and path"
            ))),
        }
    }

    fn label(&self, setting: Option<&str>, image: usize) -> Result<Option<usize>> {
        if let Some(name) = setting {
            return self.called(name, "label").map(Some);
        }
        let is_usual = |top: usize| LABELS.contains(&self.name(top));
        let featured = self.tops(|top| self.features.is(self.name(top), "ClassLabel"));
        let usual = self.tops(|top| top != image && is_usual(top));
        if featured.is_empty() {
            return self.one_of(&usual, &LABELS, "label");
        }
        if !featured.iter().any(|top| is_usual(*top)) {
            // Two columns may be the label: one by its kind, another by its name. Columns of other types are no labels.
            let other = |top: usize| featured.contains(&top) || usual.contains(&top) && self.integers(top).is_ok();
            let either = self.tops(other);
            if either.len() > featured.len() {
                let text = format!(
                    "several could be the label: {}, by their names or as ClassLabel; choose with label_column",
                    self.list(&either)
                );
                return Err(self.refused(text));
            }
        }
        self.one_of(&featured, &LABELS, "label")
    }

    /// Returns the column of integers at `top`.
    fn integers(&self, top: usize) -> Result<(usize, Physical)> {
        let leaf = self.alone(top).filter(|(_, leaf)| leaf.repetition == 0);
        match leaf.map(|(number, leaf)| (number, leaf.physical)) {
            Some((number, physical @ (Physical::Int32 | Physical::Int64))) => Ok((number, physical)),
            _ => {
                let name = crate::quote::shortened(self.name(top));
                Err(self.refused(format!(
                    "the label column {name} holds no integers: make it a ClassLabel or an integer, or choose another \
                     with label_column"
                )))
            }
        }
    }
}

/// Returns the reason of an error for images of which the file has only the paths.
pub(super) fn path_alone(column: &str) -> String {
    format!(
        "{column} has paths alone: this set keeps its images in files of their own; list these in a CSV file, or write \
         the set again with the files in it, as datasets' push_to_hub does"
    )
}
