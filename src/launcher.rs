//! The launcher that has started this process, by the variables that it sets: which rank of how many this is, and which of
//! how many on this machine.
//!
//! Launchers nest, and each leaves its variables to what it starts: under `srun` → torchrun, Slurm's rank is that of a
//! torchrun, not of a process that trains. So the innermost launcher is asked first. All functions take a lookup of
//! variables, so that tests need no process.

use crate::advice::{self, Reason};
use crate::error::{Error, Result};

/// The source of a [`Shard`] where no launcher has set a variable.
const NO_LAUNCHER: &str = "no launcher";

/// The pairs of variables, the innermost launcher first, and how errors and `explain` name each.
const PAIRS: [Pair; 4] = [
    // torchrun, and whoever speaks its language: Ray Train, accelerate, Kubeflow's PyTorchJob.
    Pair { rank: "RANK", world: "WORLD_SIZE", only_with: None, source: "RANK and WORLD_SIZE" },
    // Open MPI. Its `PMIX_RANK` has no size beside it.
    Pair {
        rank: "OMPI_COMM_WORLD_RANK",
        world: "OMPI_COMM_WORLD_SIZE",
        only_with: None,
        source: "OMPI_COMM_WORLD_RANK and OMPI_COMM_WORLD_SIZE",
    },
    // MPICH, Intel MPI, and Slurm's `--mpi=pmi2`.
    Pair { rank: "PMI_RANK", world: "PMI_SIZE", only_with: None, source: "PMI_RANK and PMI_SIZE" },
    // Slurm's `srun`. A batch script is one process, although it has SLURM_PROCID=0 and SLURM_NTASKS=4: only a step has
    // tasks. So is a task of an array.
    Pair {
        rank: "SLURM_PROCID",
        world: "SLURM_STEP_NUM_TASKS",
        only_with: Some("SLURM_STEP_ID"),
        source: "SLURM_PROCID and SLURM_STEP_NUM_TASKS",
    },
];

/// The two variables by which a launcher says which of its processes this is.
struct Pair {
    rank: &'static str,
    world: &'static str,
    /// A variable without which the pair says nothing.
    only_with: Option<&'static str>,
    source: &'static str,
}

/// A process's share of each epoch: which rank of how many, and who says so.
///
/// [`Shard::auto`] finds it in the variables of the launcher that has started the process;
/// [`DataLoaderBuilder::shard_auto`](crate::DataLoaderBuilder::shard_auto) makes a loader do so.
///
/// ```
/// use gpufeed::Shard;
///
/// // What torchrun sets under Slurm's srun: the innermost launcher knows the rank.
/// let variables = |name: &str| match name {
///     "RANK" => Some("3".to_owned()),
///     "WORLD_SIZE" => Some("4".to_owned()),
///     "SLURM_STEP_ID" => Some("0".to_owned()),
///     "SLURM_PROCID" => Some("1".to_owned()),
///     "SLURM_STEP_NUM_TASKS" => Some("2".to_owned()),
///     _ => None,
/// };
/// let shard = Shard::of_variables(variables)?;
/// assert_eq!(shard.to_string(), "rank 3 of 4 by RANK and WORLD_SIZE");
/// assert_eq!(Shard::of_variables(|_| None)?.to_string(), "rank 0 of 1 by no launcher");
/// # Ok::<(), gpufeed::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Shard {
    /// This process among those that share the epoch: from 0, below `world`.
    pub rank: usize,
    /// The processes that share the epoch: 1 or more.
    pub world: usize,
    /// The source of these numbers: the names of two variables, or `no launcher`. Of a loader also
    /// `hand` where [`shard`](crate::DataLoaderBuilder::shard) was called, or `default` where neither was.
    pub source: &'static str,
}

impl Shard {
    /// All samples, where nobody has asked for less.
    pub(crate) const WHOLE: Shard = Shard { rank: 0, world: 1, source: "default" };

    /// The share that was set by hand.
    pub(crate) fn by_hand(rank: usize, world: usize) -> Shard {
        Shard { rank, world, source: "hand" }
    }

    /// The share by the launcher's variables: the first pair of this list that is set.
    ///
    /// | variables | set by |
    /// |---|---|
    /// | `RANK`, `WORLD_SIZE` | torchrun, Ray Train, accelerate |
    /// | `OMPI_COMM_WORLD_RANK`, `OMPI_COMM_WORLD_SIZE` | Open MPI |
    /// | `PMI_RANK`, `PMI_SIZE` | MPICH, Intel MPI |
    /// | `SLURM_PROCID`, `SLURM_STEP_NUM_TASKS`, where there is a `SLURM_STEP_ID` | Slurm's `srun` |
    ///
    /// Without any of them: rank 0 of 1, all samples.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Argument`](crate::ErrorKind::Argument) if one variable of a pair is missing, is no whole number, or
    /// if the rank is not below the number of processes. No rank is made of two launchers' variables.
    pub fn auto() -> Result<Shard> {
        // A value that is not Unicode is there, and is no number.
        Shard::of_variables(|name| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned()))
    }

    /// The share as by [`auto`](Self::auto), with variables from `variable` instead of the process's environment.
    ///
    /// # Errors
    ///
    /// Those of [`auto`](Self::auto).
    pub fn of_variables(variable: impl Fn(&str) -> Option<String>) -> Result<Shard> {
        for pair in &PAIRS {
            if pair.only_with.is_some_and(|name| variable(name).is_none()) {
                continue;
            }
            match (variable(pair.rank), variable(pair.world)) {
                (None, None) => {}
                (Some(rank), Some(world)) => return pair.shard(&rank, &world),
                (rank, _) => {
                    let (there, missing) =
                        if rank.is_some() { (pair.rank, pair.world) } else { (pair.world, pair.rank) };
                    return Err(refused(format!("the variable {there} is set, but {missing} is not")));
                }
            }
        }
        // `prterun` starts ranks of which no variable knows how many there are.
        if variable("PMIX_RANK").is_some() {
            return Err(refused(
                "the variable PMIX_RANK is set, but none with the number of processes, such as OMPI_COMM_WORLD_SIZE"
                    .to_owned(),
            ));
        }
        Ok(Shard { rank: 0, world: 1, source: NO_LAUNCHER })
    }
}

impl std::fmt::Display for Shard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "rank {} of {} by {}", self.rank, self.world, self.source)
    }
}

impl Pair {
    fn shard(&self, rank: &str, world: &str) -> Result<Shard> {
        let numbers = rank.trim().parse::<usize>().ok().zip(world.trim().parse().ok());
        let shown = format!("{}={rank} and {}={world}", self.rank, self.world);
        match numbers {
            None => Err(refused(format!("{shown} are no whole numbers"))),
            Some((rank, world)) if rank >= world => {
                Err(refused(format!("{shown}, but ranks run from 0 to the number of processes - 1")))
            }
            Some((rank, world)) => Ok(Shard { rank, world, source: self.source }),
        }
    }
}

fn refused(reason: String) -> Error {
    Error::argument("shard", Reason::new(reason).advise(advice::SHARD_BY_HAND))
}

/// A launcher's processes on this machine.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Local {
    /// The processes that it has started on this machine.
    pub(crate) processes: usize,
    /// The variable that says so; the launcher itself does not have it.
    pub(crate) variable: &'static str,
}

/// The processes on this machine by the innermost launcher. `None` without one, or if the number makes no sense.
pub(crate) fn local(variable: impl Fn(&str) -> Option<String>) -> Option<Local> {
    const COUNTS: [&str; 3] = [
        "LOCAL_WORLD_SIZE",           // torchrun
        "OMPI_COMM_WORLD_LOCAL_SIZE", // Open MPI
        "MPI_LOCALNRANKS",            // MPICH, Intel MPI
    ];
    let count = |name: &'static str| {
        let processes = variable(name)?.trim().parse().ok().filter(|&processes| processes > 0)?;
        Some(Local { processes, variable: name })
    };
    COUNTS.into_iter().find_map(count).or_else(|| {
        // A batch script has the other variables, too; only `srun` starts a step.
        variable("SLURM_STEP_ID")?;
        let node = variable("SLURM_NODEID")?.trim().parse().ok()?;
        let processes = tasks_of_node(&variable("SLURM_STEP_TASKS_PER_NODE")?, node)?;
        Some(Local { processes, variable: "SLURM_STEP_TASKS_PER_NODE" })
    })
}

/// A process's rank among those that its launcher has started on this machine.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct LocalRank {
    pub(crate) rank: usize,
    /// The variable that says so.
    pub(crate) variable: &'static str,
}

/// The rank on this machine by the innermost launcher. `None` without one; scripts that need none set -1.
///
/// # Errors
/// The variable and its value, if that is no whole number.
pub(crate) fn local_rank(variable: impl Fn(&str) -> Option<String>) -> Result<Option<LocalRank>, String> {
    const RANKS: [(&str, Option<&str>); 4] = [
        ("LOCAL_RANK", None),                 // torchrun
        ("OMPI_COMM_WORLD_LOCAL_RANK", None), // Open MPI
        ("MPI_LOCALRANKID", None),            // MPICH, Intel MPI
        // A batch script has SLURM_LOCALID=0; only `srun` starts a step.
        ("SLURM_LOCALID", Some("SLURM_STEP_ID")),
    ];
    let set = |&(name, only_with): &(&'static str, Option<&str>)| {
        let value = variable(name).filter(|_| only_with.is_none_or(|other| variable(other).is_some()))?;
        (value.trim() != "-1").then_some((name, value))
    };
    let Some((name, value)) = RANKS.iter().find_map(set) else { return Ok(None) };
    match value.trim().parse() {
        Ok(rank) => Ok(Some(LocalRank { rank, variable: name })),
        Err(_) => {
            Err(format!("{name}={value} is no whole number, so no card is this rank's; GPUFEED_ADAPTER names one"))
        }
    }
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

#[cfg(test)]
mod tests;
