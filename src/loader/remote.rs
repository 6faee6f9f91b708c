//! A loader's part in remote reads: the settings of its data set's connections, and their counters.

use crate::dataset::Dataset;
use crate::quote::Shown;
use crate::storage::{Remote, RemoteRun, RemoteStats};
use std::path::PathBuf;

/// The connections of a loader's data set.
pub(super) struct RemoteParts {
    remotes: Vec<Remote>,
    /// The counters when the loader was built.
    before: RemoteStats,
}

impl RemoteParts {
    /// Finds the connections, and gives each its part of `read_ahead` bytes and the cache on disk.
    pub(super) fn new(dataset: &dyn Dataset, read_ahead: Option<u64>, cache: Option<&(PathBuf, u64)>) -> Self {
        let mut remotes: Vec<Remote> = Vec::new();
        for remote in dataset.access().map_or(Vec::new(), |access| access.remotes()) {
            if !remotes.iter().any(|known| known.is(&remote)) {
                remotes.push(remote);
            }
        }
        if let Some(bytes) = read_ahead {
            remotes.iter().for_each(|remote| remote.set_read_ahead(bytes / remotes.len() as u64));
        }
        if let Some((folder, bytes)) = cache {
            remotes.iter().for_each(|remote| remote.set_cache(folder, *bytes));
        }
        let mut parts = RemoteParts { remotes, before: RemoteStats::default() };
        parts.before = parts.stats().unwrap_or_default();
        parts
    }

    /// Begins a run of each connection, which lasts as long as the result: blocks that an earlier run announced are not
    /// read any more.
    pub(super) fn begin_run(&self) -> Vec<RemoteRun> {
        self.remotes.iter().map(Remote::begin_run).collect()
    }

    /// The line that describes what is read ahead; nothing if the data set has no connection.
    pub(super) fn describe(&self) -> String {
        if self.remotes.is_empty() {
            return String::new();
        }
        let bytes: u64 = self.remotes.iter().map(Remote::read_ahead).sum();
        let cache = match self.remotes.iter().find_map(Remote::cache) {
            Some((folder, bytes)) => format!("up to {} MiB kept in {}", bytes >> 20, Shown(folder.display())),
            None => "nothing kept on disk".to_owned(),
        };
        format!("remote: {} MiB read ahead, {cache}\n", bytes >> 20)
    }

    /// The counters since the loader was built; `None` if the data set has no connection.
    pub(super) fn stats(&self) -> Option<RemoteStats> {
        let mut all = RemoteStats::default();
        self.remotes.iter().for_each(|remote| all.add(&remote.stats()));
        (!self.remotes.is_empty()).then(|| all.since(&self.before))
    }
}
