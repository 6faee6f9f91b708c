//! Writes a line of JSON for each batch, so that two runs can be compared.

use gpufeed::Batch;
use gpufeed::transforms::Params;
use serde::Serialize;
use std::error::Error;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// The facts about a batch that are known before its loss.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct TracedBatch {
    epoch: u64,
    index: u64,
    ids: Vec<u64>,
    params: Vec<Params>,
}

impl TracedBatch {
    pub(crate) fn of(batch: &Batch) -> TracedBatch {
        TracedBatch {
            epoch: batch.epoch(),
            index: batch.index(),
            ids: batch.ids().to_vec(),
            params: batch.params().to_vec(),
        }
    }
}

/// A line of the trace: an entry and its loss.
#[derive(Serialize)]
struct Line {
    #[serde(flatten)]
    entry: TracedBatch,
    loss: f32,
}

/// The file that `--trace` names.
pub(crate) struct Trace {
    file: BufWriter<File>,
    path: PathBuf,
}

impl Trace {
    pub(crate) fn open(path: &Path) -> Result<Trace, Box<dyn Error>> {
        let file = File::options().create(true).append(true).open(path);
        let file = file.map_err(|error| format!("--trace: cannot open {}: {error}", path.display()))?;
        Ok(Trace { file: BufWriter::new(file), path: path.to_owned() })
    }

    pub(crate) fn write(&mut self, entry: TracedBatch, loss: f32) -> Result<(), Box<dyn Error>> {
        let line = serde_json::to_string(&Line { entry, loss })?;
        writeln!(self.file, "{line}").map_err(|error| self.failed(&error))
    }

    pub(crate) fn flush(&mut self) -> Result<(), Box<dyn Error>> {
        self.file.flush().map_err(|error| self.failed(&error))
    }

    fn failed(&self, error: &std::io::Error) -> Box<dyn Error> {
        format!("--trace: cannot write {}: {error}", self.path.display()).into()
    }
}
