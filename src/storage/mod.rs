//! Reads and writes files, wherever they are: on this machine, in an object store, or on a web server.
//!
//! A [`Location`] is a path or an address, in every build. [`RemoteOptions`] are the settings of remote reads, and
//! [`RemoteStats`] their counters. A [`Folder`] is written to, on this machine or in a store; each of its files is
//! there whole or not at all. A [`Remote`] cannot be made in a build without the feature `remote`.

// location.rs            Location and Address
// options.rs, stats.rs   the settings and the counters of remote reads
// file.rs                a file or an object that many threads read at any offset
// folder.rs              Folder
// local/                 files of this machine: regular_file.rs opens them, read_at.rs reads at an offset,
//                        atomic_file.rs replaces them
// remote/                feature `remote`: stores and web servers
// disabled.rs            replaces remote/ in a build without the feature `remote`. It has the same API, and every
//                        function that takes an address fails.
//
// Only this file checks whether the feature `remote` is on. All other code calls the same API in every build.

#[cfg(not(feature = "remote"))]
mod disabled;
pub(crate) mod file;
mod folder;
pub(crate) mod local;
mod location;
mod options;
#[cfg(feature = "remote")]
mod remote;
mod stats;

#[cfg(not(feature = "remote"))]
use disabled as backend;
#[cfg(feature = "remote")]
use remote as backend;

pub use backend::Remote;
pub use backend::is_network_failure;
pub(crate) use backend::{ObjectMeta, RemoteObject, RemoteRun, check};
pub use folder::{Contents, Folder};
pub use location::{Address, Location};
pub use options::RemoteOptions;
pub use stats::RemoteStats;
