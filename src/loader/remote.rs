//! A loader's part in reading from afar: the settings of its data set's connections, and their counters.

use crate::dataset::{Dataset, RemoteStats};
use std::path::PathBuf;

/// The connections of a loader's data set.
pub(super) struct RemoteParts {
    #[cfg(feature = "remote")]
    remotes: Vec<crate::dataset::Remote>,
    /// The counters when the loader was built.
    #[cfg(feature = "remote")]
    before: RemoteStats,
}

/// A run, for each connection.
pub(super) struct RemoteRuns {
    #[cfg(feature = "remote")]
    _runs: Vec<crate::dataset::RemoteRun>,
}

#[cfg(feature = "remote")]
impl RemoteParts {
    /// Finds the connections, and gives each its part of `read_ahead` bytes and the cache on disk.
    pub(super) fn new(dataset: &dyn Dataset, read_ahead: Option<u64>, cache: Option<&(PathBuf, u64)>) -> Self {
        let mut remotes: Vec<crate::dataset::Remote> = Vec::new();
        for remote in dataset.remotes() {
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

    /// Begins a run, which lasts as long as the result: blocks that an earlier run expected are not read any more.
    pub(super) fn begin_run(&self) -> RemoteRuns {
        RemoteRuns { _runs: self.remotes.iter().map(crate::dataset::Remote::begin_run).collect() }
    }

    /// The line that describes what is read ahead; nothing if nothing is read from afar.
    pub(super) fn describe(&self) -> String {
        if self.remotes.is_empty() {
            return String::new();
        }
        let bytes: u64 = self.remotes.iter().map(crate::dataset::Remote::read_ahead).sum();
        let kept = match self.remotes.iter().find_map(crate::dataset::Remote::cache) {
            Some((folder, bytes)) => {
                format!("up to {} MiB kept in {}", bytes >> 20, crate::quote::Shown(folder.display()))
            }
            None => "nothing kept on disk".to_owned(),
        };
        format!("from afar: {} MiB read ahead, {kept}\n", bytes >> 20)
    }

    /// The counters since the loader was built; `None` if nothing is read from afar.
    pub(super) fn stats(&self) -> Option<RemoteStats> {
        let mut all = RemoteStats::default();
        self.remotes.iter().for_each(|remote| all.add(&remote.stats()));
        (!self.remotes.is_empty()).then(|| all.since(&self.before))
    }
}

#[cfg(not(feature = "remote"))]
impl RemoteParts {
    pub(super) fn new(_: &dyn Dataset, _: Option<u64>, _: Option<&(PathBuf, u64)>) -> Self {
        RemoteParts {}
    }

    pub(super) fn begin_run(&self) -> RemoteRuns {
        RemoteRuns {}
    }

    pub(super) fn describe(&self) -> String {
        String::new()
    }

    pub(super) fn stats(&self) -> Option<RemoteStats> {
        None
    }
}
