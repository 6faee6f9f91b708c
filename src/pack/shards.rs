//! Writes samples into tar shards, which are tar files of a limited size.

use super::endings::JSON;
use super::errors::{failed_to_write, permitted};
use crate::dataset::{Label, label_of_json};
use crate::error::{Error, Result};
use crate::storage::Folder;
use std::fs;
use std::io;
use std::path::PathBuf;
use tar::{Builder, Header};

use super::hashed::Hashed;
use super::journal::{Record, Shard, Skipped};
use super::members::Member;

/// The size in bytes of a block of a tar archive.
const BLOCK: u64 = 512;
/// The size in bytes of the end of a tar archive: two blocks of zeros.
const END: u64 = 2 * BLOCK;

/// Writes samples into one shard after another. A shard has a temporary name until it is complete and on the disk.
pub(super) struct ShardWriter<'a> {
    folder: &'a Folder,
    prefix: &'a str,
    limit: u64,
    journal: &'a mut dyn Record,
    /// The complete shards, including those of earlier runs.
    shards: Vec<Shard>,
    open: Option<Open>,
}

struct Open {
    name: String,
    part: PathBuf,
    archive: Builder<Hashed>,
    first: usize,
    samples: usize,
    bytes: u64,
}

/// The most bytes of a member that a reader takes for a label.
const LARGEST_LABEL: usize = 1 << 20;
/// The longest name in bytes that a member's own header has room for.
const LONGEST_NAME: usize = 100;

/// Returns how many bytes a member with `content` bytes of content takes in the archive: its header, and its content
/// rounded up to whole blocks. A longer name takes a member of its own.
fn size(name: usize, content: usize) -> u64 {
    let rounded = |content: usize| BLOCK + (content as u64).next_multiple_of(BLOCK);
    rounded(content) + if name > LONGEST_NAME { rounded(name + 1) } else { 0 }
}

impl<'a> ShardWriter<'a> {
    pub(super) fn new(
        folder: &'a Folder,
        (prefix, limit): (&'a str, u64),
        journal: &'a mut dyn Record,
        shards: Vec<Shard>,
    ) -> Self {
        ShardWriter { folder, prefix, limit, journal, shards, open: None }
    }

    /// Adds a sample. Begins a new shard if the sample does not fit into the open one. `label` comes from [`label_of`];
    /// the members of fields follow it.
    pub(super) fn put(
        &mut self,
        (key, extension): (&str, &str),
        file: &[u8],
        label: Option<(&'static str, String)>,
        fields: &[Member],
    ) -> Result<()> {
        let label = label.iter().map(|(kind, text)| (*kind, text.as_bytes()));
        let fields = fields.iter().map(|(ending, content)| (&**ending, &**content));
        let members: Vec<_> = std::iter::once((extension, file)).chain(label).chain(fields).collect();
        let name = |ending: &str| key.len() + 1 + ending.len();
        let bytes = members.iter().map(|(ending, content)| size(name(ending), content.len())).sum::<u64>();
        if self.open.as_ref().is_some_and(|open| open.bytes + bytes + END > self.limit) {
            self.close()?;
        }
        let mut open = match self.open.take() {
            Some(open) => open,
            None => self.begin()?,
        };
        let written = members
            .iter()
            .try_for_each(|(ending, content)| open.member(&format!("{key}.{ending}"), content))
            .map_err(failed_to_write(self.folder, &open.name, &open.part));
        open.samples += 1;
        open.bytes += bytes;
        self.open = Some(open);
        written
    }

    fn begin(&self) -> Result<Open> {
        let first = self.shards.last().map_or(0, |shard| shard.first + shard.samples);
        let name = format!("{}-{:06}.tar", self.prefix, self.shards.len());
        let part = self.folder.temporary(&name);
        let archive = Builder::new(Hashed::create(&part).map_err(failed_to_write(self.folder, &name, &part))?);
        Ok(Open { name, part, archive, first, samples: 0, bytes: 0 })
    }

    /// Completes the open shard: writes it to the disk, gives it its final name, and records it in the journal.
    fn close(&mut self) -> Result<()> {
        let Some(open) = self.open.take() else { return Ok(()) };
        let Open { name, part, archive, first, samples, .. } = open;
        let write = || {
            let written = archive.into_inner().and_then(Hashed::finish);
            let written = written.map_err(failed_to_write(self.folder, &name, &part))?;
            self.folder.finish(&part, &name).map_err(permitted)?;
            Ok(written)
        };
        let (bytes, xxh3) = write().inspect_err(|_: &Error| {
            let _ = fs::remove_file(&part);
        })?;
        let shard = Shard { file: name, first, samples, bytes, xxh3 };
        self.journal.add(&shard)?;
        self.shards.push(shard);
        Ok(())
    }

    /// Records a skipped sample in the journal.
    pub(super) fn skip(&mut self, skipped: &Skipped) -> Result<()> {
        self.journal.skip(skipped)
    }

    /// Completes the last shard, and returns all shards.
    pub(super) fn finish(mut self) -> Result<Vec<Shard>> {
        self.close()?;
        Ok(std::mem::take(&mut self.shards))
    }
}

/// Removes the file of an incomplete shard after an error. A later run packs the shard again, and a full disk needs the
/// space.
impl Drop for ShardWriter<'_> {
    fn drop(&mut self) {
        if let Some(Open { part, archive, .. }) = self.open.take() {
            drop(archive);
            let _ = fs::remove_file(part);
        }
    }
}

impl Open {
    /// Appends a member to the archive. Its header has neither owner nor time, so that packing again gives the same
    /// bytes.
    fn member(&mut self, name: &str, content: &[u8]) -> io::Result<()> {
        let mut header = Header::new_ustar();
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        header.set_mtime(0);
        self.archive.append_data(&mut header, name, content)
    }
}

/// Returns the archive member that holds a sample's label, as its extension and its content; `None` if the sample has
/// no label, or if the member of a field holds it.
///
/// # Errors
/// If JSON cannot hold the label, or if the member of a field would be read as another label.
pub(super) fn label_of(sample: &str, label: &Label, fields: &[Member]) -> Result<Option<(&'static str, String)>> {
    if label_is_in(fields, label).map_err(|reason| Error::pack(sample, reason))? {
        return Ok(None);
    }
    let lacks = || Error::pack(sample, "it has a label with numbers that JSON lacks (NaN, infinity)");
    label_member(label).ok_or_else(lacks)
}

/// Returns true if a reader finds the label in the member `.json` of a field, so that it needs no member of its own.
///
/// # Errors
/// The reason, if a reader would find another label there.
fn label_is_in(members: &[Member], label: &Label) -> Result<bool, String> {
    let Some((_, text)) = members.iter().find(|(ending, _)| ending == JSON) else { return Ok(false) };
    if matches!(label, Label::Class(_)) {
        // A reader prefers the member `.cls`.
        return Ok(false);
    }
    if text.len() > LARGEST_LABEL {
        return Err(format!(
            "its field \"json\" has {} bytes, and a reader looks there for a label of at most 1 MiB; rename the field",
            text.len()
        ));
    }
    match label_of_json(text) {
        Ok(found) if found.as_ref().unwrap_or(&Label::None) == label => Ok(true),
        Ok(found) => {
            let [found, own] = [&found.unwrap_or_default(), label].map(described);
            Err(format!("its field \"json\" would be read as {found}, and it has {own}; rename the field"))
        }
        Err(reason) => Err(format!("its field \"json\" would be read as a label: {reason}; rename the field")),
    }
}

fn described(label: &Label) -> String {
    match label {
        Label::None => "no label".to_owned(),
        Label::Class(class) => format!("the class {class}"),
        Label::Multi(values) => format!("a vector of {}", values.len()),
    }
}

fn label_member(label: &Label) -> Option<Option<(&'static str, String)>> {
    match label {
        Label::None => Some(None),
        Label::Class(class) => Some(Some(("cls", class.to_string()))),
        Label::Multi(values) => {
            // Writes the numbers as doubles: JSON readers parse doubles, and so get exactly the same numbers back.
            let values: Vec<_> = values.iter().map(|value| value.is_finite().then(|| f64::from(*value))).collect();
            let values = values.into_iter().collect::<Option<Vec<f64>>>()?;
            serde_json::to_string(&values).ok().map(|text| Some(("json", text)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::{Dataset, FieldChoice, InMemory, TarShards};
    use crate::pack::members::MemberFields;
    use crate::pack::recode::{Recoder, Recoding};
    use std::path::Path;

    /// A record of the progress that stores nothing.
    struct Forgets;

    impl Record for Forgets {
        fn add(&mut self, _: &Shard) -> Result<()> {
            Ok(())
        }

        fn skip(&mut self, _: &Skipped) -> Result<()> {
            Ok(())
        }
    }

    fn write(data: &InMemory, path: &Path) -> Result<Vec<Shard>> {
        let (folder, mut forgets) = (Folder::open(&path.into(), None)?, Forgets);
        let mut writer = ShardWriter::new(&folder, ("s", 4096), &mut forgets, Vec::new());
        for index in 0..data.len() {
            let fields = MemberFields::of(data.fields(), &FieldChoice::All)?;
            let sample = Recoder::default().pack((data, &fields), index, Recoding::default())?;
            let label = label_of(&data.name(index), &sample.label, &sample.members)?;
            writer.put((&index.to_string(), sample.extension), &sample.file, label, &sample.members)?;
        }
        writer.finish()
    }

    #[test]
    fn every_kind_of_label_comes_back() {
        let labels = [
            Label::Class(u32::MAX),
            Label::None,
            Label::from(vec![0.1, -1.0e-38, 16_777_217.0, f32::MAX]),
            Label::from(vec![]),
            Label::Class(0),
        ];
        let folder = tempfile::tempdir().unwrap();
        let data: InMemory = labels.iter().map(|label| (vec![0xFF, 0xD8, 0xFF, 0], label.clone())).collect();
        let shards = write(&data, folder.path()).unwrap();
        // A sample takes 2 KiB with a label and 1 KiB without one, and the end of a shard takes 1 KiB. So the first two
        // samples fill a shard of 4 KiB exactly.
        let firsts: Vec<_> = shards.iter().map(|shard| (shard.first, shard.samples)).collect();
        assert_eq!(firsts, [(0, 2), (2, 1), (3, 1), (4, 1)]);
        let paths = shards.iter().map(|shard| folder.path().join(&shard.file));
        let read = TarShards::builder().allow_unlabelled(true).open_list(paths).unwrap();
        let mut buffer = Vec::new();
        let found: Vec<_> = (0..read.len()).map(|index| read.read(index, &mut buffer).unwrap().label).collect();
        assert_eq!(found, labels);
    }

    #[test]
    fn what_json_lacks_is_refused_and_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let data: InMemory = [Label::Class(1), Label::from(vec![f32::NAN])]
            .into_iter()
            .map(|label| (vec![0xFF, 0xD8, 0xFF], label))
            .collect();
        let error = write(&data, folder.path()).unwrap_err().to_string();
        assert!(error.contains("sample 1: it has a label with numbers that JSON lacks"), "{error}");
        assert!(
            !fs::read_dir(folder.path()).unwrap().any(|entry| entry
                .unwrap()
                .path()
                .to_string_lossy()
                .ends_with(".part"))
        );
    }

    #[test]
    fn a_label_stands_in_json_once() {
        let members = |text: &str| vec![("json".to_owned(), text.as_bytes().to_vec())];
        let multi = Label::from(vec![0.5, 1.0]);
        assert_eq!(label_is_in(&[], &multi), Ok(false));
        assert_eq!(label_is_in(&members("{\"label\": 7}"), &Label::Class(3)), Ok(false));
        assert_eq!(label_is_in(&members("{\"caption\": \"a\"}"), &Label::None), Ok(true));
        assert_eq!(label_is_in(&members("{\"label\": [0.5, 1]}"), &multi), Ok(true));
        let refused = label_is_in(&members("{\"label\": 7}"), &Label::None).unwrap_err();
        assert_eq!(refused, "its field \"json\" would be read as the class 7, and it has no label; rename the field");
        assert!(label_is_in(&members("{\"label\": \"cat\"}"), &Label::None).unwrap_err().contains("rename the field"));
        let large = members(&format!("[\"{}\"]", "x".repeat(1 << 20)));
        assert!(label_is_in(&large, &Label::None).unwrap_err().contains("at most 1 MiB"));
        assert_eq!(label_is_in(&large, &Label::Class(3)), Ok(false));
    }
}
