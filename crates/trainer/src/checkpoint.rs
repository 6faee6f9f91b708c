//! Saves and loads checkpoints: one file with everything that a run needs to continue. A new checkpoint replaces the
//! old one in one step, so a complete checkpoint always exists.
//!
//! The file has one line of JSON, then the records of Burn's model and optimiser.

use crate::history::{EpochResults, Partial};
use crate::model::Model;
use crate::options::Identity;
use burn::module::Module;
use burn::optim::{ModuleOptimizer, OptimizerRecord};
use burn::store::ModuleRecord;
use burn::tensor::Bytes;
use gpufeed::State;
use serde::{Deserialize, Serialize};
use std::error::Error;
use std::fs::File;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

/// The progress of a run, without the weights.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Progress {
    /// The options and data that a run must have to continue from this checkpoint.
    pub(crate) identity: Identity,
    /// The loader's position: the next batch to train on.
    pub(crate) loader: State,
    /// The results of the finished epochs.
    pub(crate) rows: Vec<EpochResults>,
    /// The sums of the unfinished epoch.
    pub(crate) partial: Partial,
}

/// The first line of a checkpoint file, as JSON.
#[derive(Serialize, Deserialize)]
struct Header {
    format: u32,
    progress: Progress,
    model: usize,
    optimizer: usize,
}

const FORMAT: u32 = 1;

/// Returns the path of the checkpoint in the folder of `--out`.
pub fn path(out: &Path) -> PathBuf {
    out.join("checkpoint.bin")
}

pub(crate) fn save(
    path: &Path,
    progress: &Progress,
    model: &Model,
    optimizer: &ModuleOptimizer,
) -> Result<(), Box<dyn Error>> {
    // Calls `valid` first, because in a model that is being trained the running means lag one step behind.
    let model = model.valid().into_record().into_bytes()?;
    let optimizer = optimizer.to_record().into_bytes()?;
    let progress = progress.clone();
    let header = Header { format: FORMAT, progress, model: model.len(), optimizer: optimizer.len() };
    let mut bytes = serde_json::to_vec(&header)?;
    bytes.push(b'\n');
    bytes.extend_from_slice(&model);
    bytes.extend_from_slice(&optimizer);
    let unfinished = path.with_extension("new");
    let write = || {
        let mut file = File::create(&unfinished)?;
        file.write_all(&bytes)?;
        // Writes the content to the disk before the file replaces the old checkpoint.
        file.sync_all()?;
        std::fs::rename(&unfinished, path)
    };
    write().map_err(|error| format!("cannot write {}: {error}; --out names another folder", path.display()).into())
}

/// Returns an error if a new run would overwrite the checkpoint of an unfinished run.
pub(crate) fn spare_unfinished(out: &Path) -> Result<(), Box<dyn Error>> {
    let path = path(out);
    match Loaded::read(&path) {
        Ok(Loaded { progress: Progress { identity, loader, .. }, .. }) if loader.epoch() < identity.epochs() => {
            let (path, epoch) = (path.display(), loader.epoch() + 1);
            Err(format!(
                "{path} is of a run that stands in epoch {epoch}: --resume goes on with it, --out names another \
                 folder; or delete it"
            )
            .into())
        }
        // There is no checkpoint, or its run is finished, or the file is not usable.
        _ => Ok(()),
    }
}

/// A checkpoint in memory, whose options have not been compared with those of the run yet.
pub(crate) struct Loaded {
    pub(crate) progress: Progress,
    model: ModuleRecord,
    optimizer: OptimizerRecord,
    path: PathBuf,
}

impl Loaded {
    pub(crate) fn read(path: &Path) -> Result<Loaded, Box<dyn Error>> {
        let bytes = std::fs::read(path).map_err(|error| match error.kind() {
            ErrorKind::NotFound => format!(
                "--resume: there is no checkpoint at {}; start without --resume, or name the folder of the run with --out",
                path.display()
            ),
            _ => format!("cannot read {}: {error}", path.display()),
        })?;
        Loaded::parse(&bytes, path).map_err(|reason| {
            format!("{} is no whole checkpoint ({reason}); delete it and start without --resume", path.display()).into()
        })
    }

    fn parse(bytes: &[u8], path: &Path) -> Result<Loaded, Box<dyn Error>> {
        let end = bytes.iter().position(|byte| *byte == b'\n').ok_or("its first line has no end")?;
        let Header { format, progress, model, optimizer } = serde_json::from_slice(&bytes[..end])?;
        if format != FORMAT {
            return Err(format!("format {format}, this program reads {FORMAT}").into());
        }
        let rest = &bytes[end + 1..];
        if model.checked_add(optimizer) != Some(rest.len()) {
            return Err(format!("{} bytes of {}", rest.len(), model.saturating_add(optimizer)).into());
        }
        let (model, optimizer) = rest.split_at(model);
        Ok(Loaded {
            progress,
            model: ModuleRecord::from_bytes(Bytes::from_bytes_vec(model.to_vec()))?,
            optimizer: OptimizerRecord::from_bytes(Bytes::from_bytes_vec(optimizer.to_vec()))?,
            path: path.to_owned(),
        })
    }

    /// Loads the weights into the model and the state into the optimiser, if the checkpoint's options equal those of
    /// the run.
    pub(crate) fn restore(
        self,
        now: &Identity,
        model: Model,
        optimizer: ModuleOptimizer,
    ) -> Result<(Progress, Model, ModuleOptimizer), Box<dyn Error>> {
        let differences = self.progress.identity.differences(now)?;
        if !differences.is_empty() {
            let (path, differences) = (self.path.display(), differences.join("; "));
            return Err(format!("--resume: {path} is of a run with other options: {differences}").into());
        }
        Ok((self.progress, model.try_load_record(self.model)?, optimizer.load_record(self.optimizer)))
    }
}
