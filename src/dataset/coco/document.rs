//! The document as COCO defines it (<https://cocodataset.org/#format-data>), as far as it is read.

use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer};

#[derive(Debug, Deserialize)]
pub(super) struct Document {
    pub(super) images: Vec<Image>,
    pub(super) annotations: Vec<Annotation>,
    #[serde(default)]
    pub(super) categories: Vec<Category>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Image {
    pub(super) id: u64,
    pub(super) file_name: Box<str>,
    #[serde(default)]
    pub(super) width: u32,
    #[serde(default)]
    pub(super) height: u32,
}

#[derive(Debug, Deserialize)]
pub(super) struct Annotation {
    pub(super) id: i64,
    pub(super) image_id: u64,
    #[serde(default)]
    pub(super) category_id: Option<i64>,
    #[serde(default)]
    pub(super) bbox: Option<[f32; 4]>,
    #[serde(default)]
    pub(super) area: Option<f32>,
    #[serde(default, deserialize_with = "flag")]
    pub(super) iscrowd: bool,
    #[serde(default)]
    pub(super) keypoints: Option<Box<[f32]>>,
    /// Polygons or runs of pixels.
    #[serde(default)]
    pub(super) segmentation: Option<IgnoredAny>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Category {
    pub(super) id: i64,
    pub(super) name: String,
}

/// 0 or 1, or false or true as some tools write it.
fn flag<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Flag {
        Bool(bool),
        Number(u8),
    }
    Ok(match Flag::deserialize(deserializer)? {
        Flag::Bool(flag) => flag,
        Flag::Number(number) => number != 0,
    })
}
