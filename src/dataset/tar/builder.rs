//! Opens [`TarShards`]: chooses the shards, the members and the fields, and how labels are checked.

use std::io;
use std::path::{Path, PathBuf};

use super::choice::MemberChoice;
use super::fields::MemberFields;
use super::of_pack;
use super::rules::ScanRules;
use super::scan::TarFormat;
use super::{TarShards, label};
use crate::dataset::field::FieldChoice;
use crate::dataset::shards::{FileList, Settings, Shards, setters};
use crate::dataset::{MAX_FIELD_BYTES, Notice};
use crate::error::{Error, Result};
use crate::storage::Location;

/// The name of a file that marks a folder in which `gpufeed pack` has not finished.
#[doc(hidden)]
pub const UNFINISHED: &str = ".gpufeed-pack-unfinished";

/// Settings of [`TarShards`], from [`TarShards::builder`].
///
/// ```no_run
/// use gpufeed::dataset::{ShardIndexes, TarShards};
///
/// let captions = TarShards::builder()
///     .fields([("jpg;webp", "image"), ("txt", "caption"), ("json", "meta")])
///     .indexes(ShardIndexes::Folder("/var/cache/laion".into()))
///     .open("/mnt/laion/{00000..00127}.tar")?;
/// # Ok::<(), gpufeed::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct TarShardsBuilder {
    extensions: Vec<String>,
    fields: FieldChoice,
    of_pack: bool,
    max_field_bytes: u64,
    settings: Settings,
}

impl TarShardsBuilder {
    pub(super) fn new() -> Self {
        let builder = TarShardsBuilder {
            extensions: Vec::new(),
            fields: FieldChoice::None,
            of_pack: false,
            max_field_bytes: MAX_FIELD_BYTES,
            settings: Settings::default(),
        };
        builder.extensions(TarShards::EXTENSIONS)
    }

    /// Sets the endings of images: the part of a member's name after its first dot, in upper or lower case (ASCII),
    /// with or without that dot: `jpg`, or `left.png` for one of several images. Default: [`TarShards::EXTENSIONS`].
    #[must_use]
    pub fn extensions<S: AsRef<str>>(mut self, extensions: impl IntoIterator<Item = S>) -> Self {
        let plain = |extension: S| extension.as_ref().trim_start_matches('.').to_ascii_lowercase();
        self.extensions = extensions.into_iter().map(plain).collect();
        self
    }

    /// Sets which members are [fields](crate::Dataset::fields) of the samples, by their endings: what follows the first
    /// dot of a name, in small letters, such as `txt` or `left.jpg`. `sci.txt;txt` takes the first that a sample has.
    /// Default: none.
    ///
    /// The name `image` chooses the sample's own image: `("jpg;png", "image")`. The name `label` chooses the member of its
    /// label, of `cls`, `json` and `txt`. Without it a label is read where one is, except from a `.txt` that is a field,
    /// and samples may have none. [`FieldChoice::All`] reads all members but the image and the label, each by its ending;
    /// those that some samples lack are [optional](crate::dataset::Field::optional). All fields of a [pack](crate::pack) are those that its
    /// manifest `gpufeed-pack.json`, beside the shards, lists with names, kinds and defaults.
    ///
    /// What a field is follows from its ending, unless its [`kind`](crate::dataset::Field::kind) is set: text (`txt`), JSON (`json`),
    /// numbers (`npy`, `cls`), images, or else bytes. A field that no sample has is an error of [`open`](Self::open); a
    /// value that is no text or no JSON is an error of its sample.
    ///
    /// ```
    /// use gpufeed::dataset::{Field, FieldValue, TarShards};
    ///
    /// let pairs = TarShards::builder().fields(vec![
    ///     ("left.jpg", Field::new("image")),
    ///     ("right.jpg", Field::new("right")),
    ///     ("txt", Field::new("caption").default_value(FieldValue::from(""))),
    /// ]);
    /// # let _ = pairs;
    /// ```
    #[must_use]
    pub fn fields(mut self, fields: impl Into<FieldChoice>) -> Self {
        self.fields = fields.into();
        self
    }

    /// Sets the fields that the manifest of a pack lists. Unlike other fields, one that no sample has is no error.
    pub(crate) fn fields_of_pack(self, fields: FieldChoice) -> Self {
        TarShardsBuilder { of_pack: true, ..self.fields(fields) }
    }

    /// Sets the most bytes that the value of a field may have; of a field of images
    /// [`max_file_bytes`](Self::max_file_bytes) does. A larger one is not read, and its sample is an error. Default:
    /// [`MAX_FIELD_BYTES`], 1 MiB.
    #[must_use]
    pub fn max_field_bytes(mut self, bytes: u64) -> Self {
        self.max_field_bytes = bytes;
        self
    }

    /// Says whether numbers in `.txt` members are labels. With `true` they are, and other texts are ignored. With
    /// `false` all texts are captions. Default: they are labels if every such text of the set is a number, also the
    /// texts beside a `.cls` or a `.json`. With [`counts`](Self::counts) the texts of the first shard decide, and a
    /// shard that differs is an error.
    #[must_use]
    pub fn text_labels(mut self, labels: bool) -> Self {
        self.settings.text_labels = Some(labels);
        self
    }

    /// Names the classes, in the place of a `classes.txt` or `classes.json`. Without this setting, a shard is an error
    /// if its names differ from those of the first shard that has any; with [`counts`](Self::counts), if they differ
    /// from those of the first shard, if that has any.
    #[must_use]
    pub fn classes<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.settings.classes = names.into_iter().map(Into::into).collect();
        self
    }

    setters!();

    /// Opens a shard, a brace list of them, or a folder's `*.tar` sorted by name.
    ///
    /// # Errors
    ///
    /// The errors of [`TarShards::open`].
    pub fn open(self, shards: impl AsRef<Path>) -> Result<TarShards> {
        let location = Location::from(shards.as_ref());
        if let Location::Path(path) = &location
            && path.join(UNFINISHED).exists()
        {
            let reason = "`gpufeed pack` has not finished it; run it again, and it continues or names the obstacle";
            return Err(Error::io(path, io::Error::new(io::ErrorKind::InvalidData, reason)));
        }
        let files = FileList::listed(&location, "tar", &self.settings.remote)?;
        let mut shards = self.open_files(files)?;
        if let Location::Path(path) = &location {
            shards.beside = compressed_in(path);
        }
        Ok(shards)
    }

    /// Opens these shards, in this order. Braces are not expanded.
    ///
    /// # Errors
    ///
    /// The errors of [`TarShards::open`].
    pub fn open_list(self, shards: impl IntoIterator<Item = impl Into<PathBuf>>) -> Result<TarShards> {
        let files = FileList::of(shards.into_iter().map(|shard| shard.into().into()).collect(), &self.settings.remote)?;
        self.open_files(files)
    }

    /// Returns the members that are asked for. All those of a pack are those that its manifest lists.
    fn choice(&self, files: &FileList) -> Result<Option<MemberChoice>> {
        let listed = match self.fields {
            FieldChoice::All => of_pack::listed_fields(files)?,
            _ => None,
        };
        let of_pack = self.of_pack || listed.is_some();
        let choice = MemberChoice::of(listed.as_ref().unwrap_or(&self.fields))?;
        Ok(choice.map(|choice| MemberChoice { of_pack, ..choice }))
    }

    fn open_files(self, files: FileList) -> Result<TarShards> {
        let choice = self.choice(&files)?;
        let usual = self.extensions.clone();
        let mut rules = ScanRules { extensions: usual, ..ScanRules::default() };
        let (mut settings, mut fields) = (self.settings.clone(), MemberFields::default());
        if let Some(choice) = &choice {
            rules = choice.rules(rules.extensions);
            fields = MemberFields::wanting(choice);
            settings.allow_unlabelled |= choice.allows_unlabelled();
            match (settings.text_labels, choice.text_labels()) {
                (Some(set), Some(chosen)) if set != chosen => {
                    let reason = format!("{set}, but by the setting of fields the .txt of a sample is another thing");
                    return Err(Error::argument("text_labels", reason));
                }
                (set, chosen) => settings.text_labels = set.or(chosen),
            }
        }
        let extensions = &rules.extensions;
        if extensions.is_empty() || extensions.iter().any(|e| e.is_empty() || label::KINDS.contains(&&**e)) {
            let reason = format!("{extensions:?}, but each must name a format, like jpg, and none a label");
            return Err(Error::argument("extensions", reason));
        }
        let hint = format!("looked for members that end in .{}", extensions.join(" ."));
        let mut shards = Shards::open(TarFormat { rules, fields }, files, settings.clone(), hint)?;
        if shards.texts_may_be_labels() && of_pack::texts_are_fields(shards.listed()) {
            shards.take_captions();
            settings.text_labels = Some(false);
        }
        // Takes the names that the user has given, or else those of a file in the shards' folder, or else those of the
        // first shard that has any.
        let mut classes = settings.classes.clone();
        if classes.is_empty() {
            classes = shards.class_names_beside()?;
        }
        if classes.is_empty() {
            classes = shards.own_classes()?;
        }
        shards.check(settings.checks(classes.len()))?;
        if let Some(choice) = &choice {
            let text_labels = settings.text_labels != Some(false);
            let limits = (self.max_field_bytes, settings.max_file_bytes);
            shards.format_mut().fields = MemberFields::decide(choice, &shards.seen_endings()?, text_labels, limits)?;
        }
        let folder = shards.folder();
        let mut set = TarShards { shards, classes, folder, beside: None, max_file_bytes: settings.max_file_bytes };
        set.type_defaults()?;
        Ok(set)
    }
}

/// Counts the archives of a folder that are not read because they are compressed.
fn compressed_in(folder: &Path) -> Option<Notice> {
    const ENDINGS: [&str; 6] = [".tgz", ".tar.gz", ".tar.bz2", ".tar.xz", ".tar.zst", ".tar.lz4"];
    let names = std::fs::read_dir(folder).ok()?.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    let is_compressed = |name: &String| ENDINGS.iter().any(|ending| name.to_ascii_lowercase().ends_with(ending));
    let mut names: Vec<_> = names.filter(is_compressed).collect();
    names.sort_unstable();
    Notice::not_read(
        "compressed archives of the folder",
        names.len() as u64,
        names.first().cloned().unwrap_or_default(),
    )
}
