//! Writes the advice in the library's errors as keywords of Python.

use gpufeed::advice::{Language, Setting, Value};
use gpufeed::internals::every_piece;
use pyo3::prelude::*;
use std::borrow::Cow;

/// The keywords of `gpufeed.DataLoader`, `gpufeed.open` and `gpufeed.pack`.
pub(crate) struct Keywords;

impl Language for Keywords {
    fn argument(&self, name: &'static str) -> Cow<'static, str> {
        match name {
            "output" => "dtype",
            "batch_transform" => "batch_transforms",
            name => match name.strip_prefix("RemoteOptions::") {
                Some(name) => return format!("remote_{name}").into(),
                None => name,
            },
        }
        .into()
    }

    fn setting(&self, setting: Setting, value: Option<Value>) -> Option<Cow<'static, str>> {
        // A step of a pack has several keywords, or a value that nobody knows in advance.
        match (setting, value) {
            (Setting::PackPlan, Some(_)) => return Some("plan=True, parts=N".into()),
            (Setting::PackPart, Some(Value::Number(parts))) => return Some(format!("part=(I, {parts})").into()),
            _ => {}
        }
        let keyword = match setting.keyword() {
            Some(keyword) => keyword,
            None => return words(setting).map(Cow::from),
        };
        let value = match value {
            // The loader takes no semantics together with transforms=, whose ToDtype says as much.
            Some(Value::Word { word: "uint8", .. }) if setting == Setting::Semantics => {
                return Some("semantics=\"uint8\" with a recipe, or a later ToDtype in transforms=".into());
            }
            None => String::new(),
            Some(Value::Flag(true)) => "True".to_owned(),
            Some(Value::Flag(false)) => "False".to_owned(),
            Some(Value::Number(number)) => number.to_string(),
            Some(Value::Word { word, .. }) => format!("\"{word}\""),
            Some(Value::Blocks { samples, window }) => format!("(\"blocks\", {samples}, {window})"),
            Some(Value::AnyBlocks) => "(\"blocks\", samples, window)".to_owned(),
            Some(_) => return None,
        };
        Some(format!("{keyword}={value}").into())
    }
}

/// Returns the words for settings that have no keyword.
fn words(setting: Setting) -> Option<&'static str> {
    Some(match setting {
        Setting::HeldBatches => "copy what you keep, images.clone() with torch, and let the batches go",
        Setting::OutputSize | Setting::ListSizes => setting.in_rust(),
        Setting::Shard => "shard=(rank, world)",
        Setting::Channels => "the attribute channels of a data set in Python",
        Setting::PackPlan => "plan=True",
        Setting::PackPart => "part=(I, N)",
        Setting::PackJoin => "join=True",
        Setting::PackAgain => setting.in_rust(),
        Setting::NumpyArrays => "image_column= and label_column=",
        _ => return None,
    })
}

/// Returns all advice in Python's words, for tests.
#[pyfunction]
pub(crate) fn every_advice() -> Vec<String> {
    every_piece().iter().filter_map(|advice| advice.in_words_of(&Keywords)).collect()
}
