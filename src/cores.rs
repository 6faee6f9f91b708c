//! The cores of this process: those on which it may run, divided by the processes that share them.
//!
//! Open MPI binds two ranks to a core each, and the affinity mask says so; torchrun and MPICH bind none, and every rank
//! sees all cores. Slurm does either. The number of ranks is in the launchers' variables (`launcher.rs`). Whether they are
//! bound shows in the masks: the launcher's own is wider then.

use crate::launcher::{Local, local};
use std::num::NonZero;

/// The threads that this process should compute with, at least 1.
pub(crate) fn of_this_process() -> usize {
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    let Some(Local { processes, variable }) = local(|name| std::env::var(name).ok()) else { return cores };
    let masks = own_mask().zip(launchers_mask(variable));
    (cores / sharing(processes, masks)).max(1)
}

/// The processes that share this one's cores, of `processes` on the machine, by the cores in the masks of this process
/// and of its launcher. A launcher that binds divides its own cores: two of four ranks share a half of them.
fn sharing(processes: usize, masks: Option<(usize, usize)>) -> usize {
    match masks {
        Some((own, launchers)) if own < launchers => (processes * own).div_ceil(launchers).max(1),
        _ => processes,
    }
}

/// The number of cores in the affinity mask of a process.
#[cfg(target_os = "linux")]
fn mask(process: &str) -> Option<usize> {
    status(process, "Cpus_allowed_list:").and_then(|list| cores_in(&list))
}

#[cfg(target_os = "linux")]
fn own_mask() -> Option<usize> {
    mask("self")
}

/// The mask of the nearest process above this one that does not have `variable`: the launcher.
#[cfg(target_os = "linux")]
fn launchers_mask(variable: &str) -> Option<usize> {
    let mut process = "self".to_owned();
    // Shells and wrappers lie between; a circle is impossible, but the processes change while they are read.
    for _ in 0..64 {
        process = status(&process, "PPid:").filter(|parent| parent != "0")?;
        let environment = std::fs::read(format!("/proc/{process}/environ"));
        let has = |environment: &[u8]| {
            environment
                .split(|byte| *byte == 0)
                .any(|entry| entry.strip_prefix(variable.as_bytes()).is_some_and(|rest| rest.starts_with(b"=")))
        };
        // That of another user cannot be read: Slurm's daemon is root's.
        if !environment.is_ok_and(|environment| has(&environment)) {
            return mask(&process);
        }
    }
    None
}

/// A line of `/proc/PROCESS/status`.
#[cfg(target_os = "linux")]
fn status(process: &str, key: &str) -> Option<String> {
    let text = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    text.lines().find_map(|line| Some(line.strip_prefix(key)?.trim().to_owned()))
}

/// The number of cores in a list such as `0-3,8`.
#[cfg(target_os = "linux")]
fn cores_in(list: &str) -> Option<usize> {
    let count = |range: &str| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        (last.parse::<usize>().ok()?.checked_sub(first.parse().ok()?)?).checked_add(1)
    };
    list.split(',').map(count).sum()
}

// Other systems have no launcher that binds: macOS knows no masks, and on Windows MPI's mpiexec binds only when asked to.
#[cfg(not(target_os = "linux"))]
fn own_mask() -> Option<usize> {
    None
}

#[cfg(not(target_os = "linux"))]
fn launchers_mask(_variable: &str) -> Option<usize> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_processes_that_are_not_bound_share_their_cores() {
        assert_eq!(sharing(4, Some((16, 16))), 4, "torchrun binds none");
        assert_eq!(sharing(2, Some((1, 16))), 1, "Open MPI binds two ranks to a core each");
        assert_eq!(sharing(4, Some((8, 16))), 2, "two sockets for four ranks");
        assert_eq!(sharing(3, Some((5, 16))), 1, "a third each");
        assert_eq!(sharing(4, None), 4, "a system without masks");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn masks_are_read() {
        for (list, cores) in [("0", Some(1)), ("0-3", Some(4)), ("0-3,8,10-11", Some(7)), ("", None), ("3-1", None)] {
            assert_eq!(cores_in(list), cores, "{list}");
        }
        assert!(own_mask().unwrap() >= 1);
        // A variable that no process has: the parent is the launcher.
        assert_eq!(launchers_mask("GPUFEED_NO_SUCH_VARIABLE"), mask(&status("self", "PPid:").unwrap()));
        assert!(of_this_process() >= 1);
    }
}
