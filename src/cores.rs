//! The cores of this process: those on which it may run, divided by the processes that share them.
//!
//! Open MPI binds two ranks to a core each, and the affinity mask says so; torchrun and MPICH bind none, and every rank
//! sees all cores. Slurm does either. The number of ranks is in the launchers' variables. Whether they are bound shows
//! in the masks: the launcher's own is wider then.

use std::num::NonZero;

/// The threads that this process should compute with, at least 1.
pub(crate) fn of_this_process() -> usize {
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    let Some(Launched { processes, variable }) = launched(|name| std::env::var(name).ok()) else { return cores };
    let masks = own_mask().zip(launchers_mask(variable));
    (cores / sharing(processes, masks)).max(1)
}

/// What a launcher says of this process.
#[derive(Debug, PartialEq, Eq)]
struct Launched {
    /// The processes that it has started on this machine.
    processes: usize,
    /// The variable that says so; the launcher itself does not have it.
    variable: &'static str,
}

/// The innermost launcher by the variables of the environment. `None` without one, or if the number makes no sense.
fn launched(variable: impl Fn(&str) -> Option<String>) -> Option<Launched> {
    const COUNTS: [&str; 3] = [
        "LOCAL_WORLD_SIZE",           // torchrun
        "OMPI_COMM_WORLD_LOCAL_SIZE", // Open MPI
        "MPI_LOCALNRANKS",            // MPICH, Intel MPI
    ];
    let count = |name: &'static str| {
        let processes = variable(name)?.trim().parse().ok().filter(|&processes| processes > 0)?;
        Some(Launched { processes, variable: name })
    };
    COUNTS.into_iter().find_map(count).or_else(|| {
        // A batch script has the other variables, too; only `srun` starts a step.
        variable("SLURM_STEP_ID")?;
        let node = variable("SLURM_NODEID")?.trim().parse().ok()?;
        let processes = tasks_of_node(&variable("SLURM_STEP_TASKS_PER_NODE")?, node)?;
        Some(Launched { processes, variable: "SLURM_STEP_TASKS_PER_NODE" })
    })
}

/// The tasks of a node in Slurm's list: `2(x3),1` is two on each of three nodes, and one on a fourth.
fn tasks_of_node(list: &str, node: usize) -> Option<usize> {
    let mut nodes = 0;
    for entry in list.trim().split(',') {
        let (tasks, times) = match entry.split_once("(x") {
            Some((tasks, times)) => (tasks, times.strip_suffix(')')?.parse().ok()?),
            None => (entry, 1usize),
        };
        nodes += times;
        if node < nodes {
            return tasks.parse().ok().filter(|&tasks| tasks > 0);
        }
    }
    None
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
    use std::collections::HashMap;

    fn by(variables: &[(&str, &str)]) -> Option<(usize, &'static str)> {
        let variables: HashMap<_, _> = variables.iter().copied().collect();
        let found = launched(|name| variables.get(name).map(|value| (*value).to_owned()))?;
        Some((found.processes, found.variable))
    }

    #[test]
    fn launchers_say_how_many_processes_there_are() {
        assert_eq!(by(&[]), None);
        assert_eq!(by(&[("WORLD_SIZE", "8"), ("LOCAL_WORLD_SIZE", "4")]), Some((4, "LOCAL_WORLD_SIZE")));
        assert_eq!(by(&[("OMPI_COMM_WORLD_LOCAL_SIZE", "2")]), Some((2, "OMPI_COMM_WORLD_LOCAL_SIZE")));
        assert_eq!(by(&[("MPI_LOCALNRANKS", "3")]), Some((3, "MPI_LOCALNRANKS")));
        for nonsense in ["", "0", "-1", "many"] {
            assert_eq!(by(&[("LOCAL_WORLD_SIZE", nonsense)]), None, "{nonsense}");
        }
        let slurm = [("SLURM_STEP_ID", "0"), ("SLURM_NODEID", "3"), ("SLURM_STEP_TASKS_PER_NODE", "2(x3),1")];
        assert_eq!(by(&slurm), Some((1, "SLURM_STEP_TASKS_PER_NODE")));
        assert_eq!(by(&slurm[1..]), None, "a batch script without a step");
        // srun starts torchrun, which starts the ranks.
        assert_eq!(by(&[&slurm[..], &[("LOCAL_WORLD_SIZE", "4")]].concat()), Some((4, "LOCAL_WORLD_SIZE")));
    }

    #[test]
    fn slurm_lists_the_tasks_of_each_node() {
        for (list, counts) in [("4", &[4][..]), ("2(x3),1", &[2, 2, 2, 1]), ("1,2(x2)", &[1, 2, 2])] {
            for (node, count) in counts.iter().enumerate() {
                assert_eq!(tasks_of_node(list, node), Some(*count), "{list}, {node}");
            }
            assert_eq!(tasks_of_node(list, counts.len()), None);
        }
        for damaged in ["", "x", "2(x", "2(xa)", "0"] {
            assert_eq!(tasks_of_node(damaged, 0), None, "{damaged}");
        }
    }

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
