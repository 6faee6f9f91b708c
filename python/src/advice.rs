//! Advice in the library's errors as keywords of Python.

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
        // The steps of a pack have several keywords, or a value that nobody sees in advance.
        match (setting, value) {
            (Setting::PackPlan, Some(_)) => return Some("plan=True, parts=N".into()),
            (Setting::PackPart, Some(Value::Number(parts))) => return Some(format!("part=(I, {parts})").into()),
            _ => {}
        }
        let keyword = match keyword(setting) {
            Some(keyword) => keyword,
            None => return words(setting).map(Cow::from),
        };
        let value = match value {
            // The loader takes no semantics beside transforms=, whose ToDtype says as much.
            Some(Value::Word { word: "uint8", .. }) if setting == Setting::Semantics => {
                return Some(
                    "semantics=\"uint8\" with a recipe, or ToDtype(scale=True) after it in transforms=".into(),
                );
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

/// The keyword for a setting.
fn keyword(setting: Setting) -> Option<&'static str> {
    Some(match setting {
        Setting::BatchSize => "batch_size",
        Setting::QueueDepth => "queue_depth",
        Setting::Views => "views",
        Setting::Workers => "workers",
        Setting::SlotBytes => "slot_bytes",
        Setting::MemoryBudget => "memory_budget",
        Setting::Order => "order",
        Setting::Lanes => "lanes",
        Setting::LastBatch => "last_batch",
        Setting::Backend => "backend",
        Setting::Execute => "execute",
        Setting::DType => "dtype",
        Setting::Semantics => "semantics",
        Setting::CacheBytes => "cache",
        Setting::ScaledDecode => "scaled_decode",
        Setting::Truncated => "truncated",
        Setting::OnError => "on_error",
        Setting::MaxPixels => "max_pixels",
        Setting::MaxDecodeBytes => "max_decode_bytes",
        Setting::MaxFileBytes => "max_file_bytes",
        Setting::SeekIndexes => "seek_indexes",
        Setting::NumClasses => "num_classes",
        Setting::TarExtensions => "extensions",
        Setting::TarTextLabels => "text_labels",
        Setting::TarAllowUnlabelled | Setting::ParquetAllowUnlabelled | Setting::LmdbAllowUnlabelled => {
            "allow_unlabelled"
        }
        Setting::TarClasses | Setting::ParquetClasses | Setting::ListClassNames => "class_names",
        Setting::ParquetSplit => "split",
        Setting::ParquetLabelColumn | Setting::ListLabelColumns => "label_column",
        Setting::ParquetMaxPageBytes => "max_page_bytes",
        Setting::LmdbLayout | Setting::ArraysLayout => "data_layout",
        Setting::FolderUnlabelled => "unlabelled",
        Setting::FolderAllowEmpty => "allow_empty",
        Setting::ListDelimiter => "delimiter",
        Setting::ListHeader => "header",
        Setting::EmnistPart => "part",
        Setting::RemoteTimeout => "remote_timeout",
        Setting::RemoteRetries => "remote_retries",
        Setting::RemoteMinRate => "remote_min_rate",
        Setting::RemoteCertificates => "remote_certificates",
        Setting::RemoteStore => "remote_store",
        Setting::PackVerify => "verify",
        Setting::PackScratch => "scratch",
        Setting::PackMaxSide => "max_side",
        _ => return None,
    })
}

/// The words for settings that have no keyword.
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

/// All advice in Python's words, for tests.
#[pyfunction]
pub(crate) fn every_advice() -> Vec<String> {
    every_piece().iter().filter_map(|advice| advice.in_words_of(&Keywords)).collect()
}
