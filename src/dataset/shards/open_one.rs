//! Opens one file of a set: finds its index, or makes the index.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use super::ShardIndexes;
use super::binding::Binding;
use super::index::{FOREIGN, Index, IndexBytes};
use super::spool::Spool;
use super::{ShardFormat, Shards};
use crate::error::{Error, Result};
use crate::quote::Shown;
use crate::storage::file::DataFile;

impl<F: ShardFormat> Shards<F> {
    pub(super) fn open_one(&self, mut file: DataFile, held: bool) -> Result<(DataFile, Index)> {
        let binding = self.binding(&file)?;
        let stored = self.stored(&file);
        let index = stored.as_deref().and_then(|stored| {
            Index::load(stored, &binding).unwrap_or_else(|error| {
                tracing::warn!(path = %Shown(stored.display()), %error, "the index of a file of samples is made again");
                None
            })
        });
        let index = index.filter(|index| self.can_use(index));
        let index = match (index, file.object()) {
            (Some(index), Some(object)) if self.settings.put_indexes => {
                let beside = super::beside::Beside::of(object);
                if !beside.is_there(&binding, |index| self.can_use(index))? {
                    let bytes = stored.as_deref().map(crate::storage::local::regular_file::read).transpose();
                    let bytes = bytes.map_err(|source| Error::io(file.name(), source))?;
                    beside.put(bytes.unwrap_or_default())?;
                }
                Some(index)
            }
            (None, Some(object)) if self.settings.indexes != ShardIndexes::Memory => {
                match super::beside::Beside::of(object).get(&binding, |index| self.can_use(index))? {
                    Some(bytes) => self.kept(&file, &binding, bytes),
                    None => None,
                }
            }
            (index, _) => index,
        };
        let index = match index {
            Some(index) => index,
            None => self.scan(&file, binding)?,
        };
        if !held {
            file.close();
        }
        Ok((file, index))
    }

    fn binding(&self, file: &DataFile) -> Result<Binding> {
        Binding::of(file, self.format.settings()).map_err(|source| Error::io(file.name(), source))
    }

    /// Returns the path at which the index of a file is stored on this machine.
    fn stored(&self, file: &DataFile) -> Option<PathBuf> {
        let Some(object) = file.object() else { return self.settings.indexes.of_file(file.name()) };
        let cache = object.remote().cache().map(|(folder, _)| folder);
        self.settings.indexes.of_object(file.name(), cache.as_deref())
    }

    /// Scans a file, and stores its index if that is possible.
    fn scan(&self, file: &DataFile, binding: Binding) -> Result<Index> {
        let for_a_scan = file.for_a_scan();
        let bytes = self.format.scan(for_a_scan.as_ref().unwrap_or(file))?.finish(&binding);
        if self.binding(file)? != binding {
            return Err(Error::io(file.name(), io::Error::other("it was changed while it was indexed")));
        }
        if let Some(object) = file.object().filter(|_| self.settings.put_indexes) {
            super::beside::Beside::of(object).put(bytes.whole())?;
        }
        let index = self.kept(file, &binding, bytes);
        index.ok_or_else(|| Error::io(file.name(), io::Error::other("its index cannot be read back")))
    }

    /// Stores an index on this machine if that is possible. Otherwise holds it in memory.
    fn kept(&self, file: &DataFile, binding: &Binding, bytes: IndexBytes) -> Option<Index> {
        if let Some(stored) = self.stored(file) {
            // If the file is no index, it stays as it is.
            let ours = !matches!(Index::load(&stored, binding), Err(error) if error.kind() == FOREIGN);
            if file.for_a_scan().is_some() {
                // Makes the folder of a cache if it is missing. A folder of other files has to exist.
                let _ = stored.parent().map(std::fs::create_dir_all);
            }
            let saved = if ours { bytes.save(&stored) } else { Err(FOREIGN.into()) };
            match saved.and_then(|()| Index::load(&stored, binding)) {
                Ok(Some(index)) if self.can_use(&index) => return Some(index),
                Ok(_) => {}
                Err(error) => {
                    let then = "the index of a file of samples stays in memory; give a folder for indexes";
                    tracing::warn!(path = %Shown(stored.display()), %error, "{then}");
                }
            }
        }
        if file.object().is_some()
            && self.settings.indexes != ShardIndexes::Memory
            && let Some(index) = self.spooled(&bytes)
        {
            return Some(index);
        }
        Index::in_memory(bytes)
    }

    /// Appends an index to the file without a name; `None` if that is not possible.
    fn spooled(&self, bytes: &IndexBytes) -> Option<Index> {
        let warn = |error: &io::Error| {
            let folder = Spool::folder();
            let then = "indexes of objects stay in memory; give a folder for indexes";
            tracing::warn!(path = %Shown(folder.display()), %error, "{then}");
        };
        let spool = self.spool.get_or_init(|| Spool::new().inspect_err(warn).ok().map(Arc::new)).as_ref()?;
        Index::spooled(bytes, spool).inspect_err(warn).ok().flatten()
    }

    /// Reads the stored index of a file, whose segments were not those of the index `before`. `None` if it is of no use.
    pub(super) fn stored_again(&self, file: &DataFile, before: &Index) -> Option<Index> {
        let binding = self.binding(file).ok()?;
        let mut index = Index::load(&self.stored(file)?, &binding).ok().flatten()?;
        (index.classes, index.noticed) = Default::default();
        let same = index.samples == before.samples && index.length == before.length;
        (same && self.can_use(&index)).then_some(index)
    }

    /// Makes the index of a file again. It has to have as many samples as before.
    pub(super) fn scan_again(&self, file: &DataFile, before: &Index) -> Result<Index> {
        tracing::warn!(path = %Shown(file.name().display()), "a damaged index of a file of samples is made again");
        let binding = self.binding(file)?;
        let mut index = self.scan(file, binding)?;
        (index.classes, index.noticed) = Default::default();
        match index.samples == before.samples && index.length == before.length {
            true => Ok(index),
            false => Err(super::changed(file.name())),
        }
    }
}
