//! Defines what a step of packing works on: the source, the folder to pack into, and the settings.

use crate::error::Result;
use crate::storage::Folder;
use std::path::PathBuf;

use super::errors;
use super::settings::{PackFormat, PackSettings};
use super::source::PackSource;

/// The fields of a packer that are moved to the thread in which a step runs.
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

    /// Prepares packing into a store; does nothing for a folder of this machine. Makes the local folder of files that
    /// wait for their upload. Refuses an LMDB, because its file is not written from front to back.
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
