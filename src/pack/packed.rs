//! The results of packing.

use super::settings::PackFormat;
use serde::{Serialize, Serializer};
use std::path::{Path, PathBuf};

/// The result of a pack, or of one of its parts.
///
/// ```
/// use gpufeed::pack::Packer;
/// use gpufeed::{InMemory, Label};
///
/// # let root = tempfile::tempdir()?;
/// let files: InMemory = [(vec![0xff, 0xd8, 0xff], Label::None)].into_iter().collect();
/// let packed = Packer::of(files, root.path().join("packed")).pack()?;
/// assert_eq!((packed.kept, packed.has_findings()), (1, false));
/// assert_eq!(serde_json::to_value(&packed)?["to"], "tar");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Packed {
    /// The folder that was packed into: its path, or its address without credentials.
    #[serde(serialize_with = "lossy")]
    pub out: PathBuf,
    /// The format of the written files.
    pub to: PackFormat,
    /// The number of samples in the source, or in the part.
    pub samples: usize,
    /// The number of the source's classes that have names.
    pub classes: usize,
    /// The names of the fields that the pack has beside images and labels.
    pub fields: Vec<String>,
    /// The number of tar shards.
    pub shards: usize,
    /// The number of samples that earlier calls had packed.
    pub resumed: usize,
    /// The number of samples whose files were copied unchanged.
    pub kept: usize,
    /// The number of samples that were encoded.
    pub encoded: usize,
    /// The samples that were copied unchanged because they could not be encoded, or because they are not images, each
    /// with the reason.
    pub undecodable: Vec<Unusable>,
    /// The samples that could not be read, and are left out of the pack, each with the reason.
    pub skipped: Vec<Unusable>,
    /// Bytes in the source of the samples that this call packed; for a join, of those that the calls of all parts
    /// packed.
    pub bytes_read: u64,
    /// Bytes in the pack of the samples that this call packed; for a join, of those that the calls of all parts packed.
    pub bytes_packed: u64,
    /// The result of the comparison with the source; `None` if no comparison was asked for.
    pub verified: Option<Compared>,
    /// The seconds that the call took.
    pub seconds: f64,
    /// The number of the packed part, from 0 on; `None` for a whole pack.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part: Option<usize>,
    /// The number of all parts; `None` for a whole pack.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parts: Option<usize>,
}

impl Packed {
    /// Returns true if the user should look at the result: samples were left out or are not images, or the pack differs
    /// from the source. For one part of several, only differences count, because the join reports the samples of all
    /// parts.
    pub fn has_findings(&self) -> bool {
        let unusable = !self.undecodable.is_empty() || !self.skipped.is_empty();
        let differs = self.verified.as_ref().is_some_and(|verified| !verified.different.is_empty());
        (unusable && self.part.is_none()) || differs
    }
}

/// A problem of a pack: the name of a sample or a file, and what is wrong with this sample or file.
///
/// ```
/// use gpufeed::pack::Unusable;
///
/// let gone = Unusable { sample: "cat/1.jpg".into(), reason: "it cannot be read".into() };
/// assert_eq!(serde_json::to_string(&gone)?, r#"{"sample":"cat/1.jpg","reason":"it cannot be read"}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Unusable {
    /// The name of the sample or the file.
    pub sample: String,
    /// What is wrong with the sample or the file.
    pub reason: String,
}

/// Writes a path that is not UTF-8 with replacement characters, where serde would fail.
fn lossy<S: Serializer>(path: &Path, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&path.to_string_lossy())
}

/// The result of comparing a pack with its source.
///
/// ```
/// use gpufeed::pack::Compared;
///
/// assert_eq!(Compared::default().lowest_psnr, None);
/// ```
#[derive(Clone, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct Compared {
    /// The number of samples that were compared.
    pub samples: usize,
    /// The shards and samples that differ from the source.
    pub different: Vec<Unusable>,
    /// The lowest peak signal-to-noise ratio of the samples that were encoded anew, in dB; `None` if no pixels
    /// were compared.
    pub lowest_psnr: Option<f64>,
}

/// A plan to pack a source in parts. [`Packer::plan`](super::Packer::plan) has made the plan, or has found it in the
/// folder.
///
/// ```
/// use gpufeed::pack::Packer;
/// use gpufeed::{InMemory, Label};
///
/// # let root = tempfile::tempdir()?;
/// # let out = root.path().join("packed");
/// let files: InMemory = (0..5).map(|_| (vec![0xff, 0xd8, 0xff], Label::None)).collect();
/// let plan = Packer::of(files.clone(), &out).plan(2)?;
/// assert_eq!((plan.samples, plan.new), (5, true));
/// for part in 0..plan.parts {
///     Packer::of(files.clone(), &out).part(part, plan.parts)?; // on any machine, at any time
/// }
/// assert_eq!(Packer::of(files, &out).join()?.samples, 5);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct PackPlan {
    /// The folder to pack into: its path, or its address without credentials.
    #[serde(serialize_with = "lossy")]
    pub out: PathBuf,
    /// The hash of the plan, in hexadecimal digits.
    pub plan: String,
    /// The number of parts.
    pub parts: usize,
    /// The number of samples in the source.
    pub samples: usize,
    /// The number of the source's classes that have names.
    pub classes: usize,
    /// True if this call has made the plan, false if the plan was there before.
    pub new: bool,
    /// The seconds that the call took.
    pub seconds: f64,
}

/// Turns pairs of a sample's name and a reason into a list of [`Unusable`].
pub(super) fn unusable(listed: Vec<(String, String)>) -> Vec<Unusable> {
    listed.into_iter().map(|(sample, reason)| Unusable { sample, reason }).collect()
}
