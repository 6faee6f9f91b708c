//! All that a run needs to go on: one file, replaced in one step, so that there is always a whole one.
//!
//! A line of JSON, then the model and the optimiser as Burn's records.

use crate::history::{Partial, Row};
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

/// Where a run stands, beside the weights.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Progress {
    /// What the checkpoint is for.
    pub(crate) identity: Identity,
    /// The next batch that is due.
    pub(crate) loader: State,
    /// The epochs that are over.
    pub(crate) rows: Vec<Row>,
    /// What the epoch under way has summed up.
    pub(crate) partial: Partial,
}

/// The file's first line.
#[derive(Serialize, Deserialize)]
struct Header {
    format: u32,
    progress: Progress,
    model: usize,
    optimizer: usize,
}

const FORMAT: u32 = 1;

/// Its place in the folder of `--out`.
pub fn path(out: &Path) -> PathBuf {
    out.join("checkpoint.bin")
}

pub(crate) fn save(
    path: &Path,
    progress: &Progress,
    model: &Model,
    optimizer: &ModuleOptimizer,
) -> Result<(), Box<dyn Error>> {
    // `valid` first: the running means of a model in training lag one step behind.
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
        // On the disk before it takes the old one's name.
        file.sync_all()?;
        std::fs::rename(&unfinished, path)
    };
    write().map_err(|error| format!("cannot write {}: {error}; --out names another folder", path.display()).into())
}

/// An error where a run that starts anew would overwrite one that is not over.
pub(crate) fn spare_unfinished(out: &Path) -> Result<(), Box<dyn Error>> {
    let path = path(out);
    match Loaded::read(&path) {
        Ok(Loaded { progress: Progress { identity, loader, .. }, .. }) if loader.epoch < identity.epochs() => {
            let (path, epoch) = (path.display(), loader.epoch + 1);
            Err(format!(
                "{path} is of a run that stands in epoch {epoch}: --resume goes on with it, --out names another \
                 folder; or delete it"
            )
            .into())
        }
        // None, one that is over, or one that is of no use.
        _ => Ok(()),
    }
}

/// A checkpoint in memory, its options not compared yet.
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

    /// Puts the weights into the model and the state into the optimiser, if the options are those of the run.
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
