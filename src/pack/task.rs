//! What a step of a pack works on.

use crate::error::Result;
use crate::storage::Folder;
use std::path::PathBuf;

use super::errors;
use super::settings::{PackFormat, PackSettings};
use super::source::PackSource;

/// What a step's thread has of the packer.
#[derive(Clone)]
pub(super) struct Task {
    pub(super) source: PackSource,
    pub(super) out: PathBuf,
    pub(super) settings: PackSettings,
}

impl Task {
    pub(super) fn open_out(&self) -> Result<Folder> {
        errors::open_folder(&self.out, self.settings.scratch.as_deref())
    }

    /// Refuses an LMDB in a store, as its file is written at any place of it, and makes the folder of files on their way.
    pub(super) fn prepare(&self, out: &Folder) -> Result<()> {
        if out.is_in_store() {
            if self.settings.to == PackFormat::Lmdb {
                let reason = "an LMDB is written into a folder; pack into shards, or into a folder and copy it";
                return Err(errors::there(out, reason));
            }
            out.create().map_err(errors::permitted)?;
        }
        Ok(())
    }
}
