//! The variables of each launcher, of one within another, and contradictions.

use super::*;

/// The advice at the end of each error.
const BY_HAND: &str = ".shard(rank, world) names both by hand";
use std::collections::HashMap;

fn lookup(variables: &[(&str, &str)]) -> impl Fn(&str) -> Option<String> {
    let variables: HashMap<_, _> =
        variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    move |name| variables.get(name).cloned()
}

fn shard(variables: &[&[(&str, &str)]]) -> String {
    let found = Shard::of_variables(lookup(&variables.concat()));
    found.map_or_else(|error| error.to_string(), |shard| shard.to_string())
}

// The variables that each launcher sets for rank 1 of 4, and others that are there and could mislead.
const TORCHRUN: &[(&str, &str)] = &[
    ("RANK", "1"),
    ("WORLD_SIZE", "4"),
    ("LOCAL_RANK", "1"),
    ("LOCAL_WORLD_SIZE", "2"),
    ("GROUP_RANK", "0"),
    ("TORCHELASTIC_RESTART_COUNT", "1"),
    ("OMP_NUM_THREADS", "1"),
];
const OPEN_MPI: &[(&str, &str)] = &[
    ("OMPI_COMM_WORLD_RANK", "1"),
    ("OMPI_COMM_WORLD_SIZE", "4"),
    ("OMPI_COMM_WORLD_LOCAL_RANK", "1"),
    ("OMPI_COMM_WORLD_LOCAL_SIZE", "2"),
    ("PMIX_RANK", "1"),
];
const MPICH: &[(&str, &str)] =
    &[("PMI_RANK", "1"), ("PMI_SIZE", "4"), ("MPI_LOCALRANKID", "1"), ("MPI_LOCALNRANKS", "2")];
const BATCH_SCRIPT: &[(&str, &str)] = &[("SLURM_JOB_ID", "7"), ("SLURM_PROCID", "0"), ("SLURM_NTASKS", "4")];
const SRUN: &[(&str, &str)] = &[
    ("SLURM_JOB_ID", "7"),
    ("SLURM_STEP_ID", "0"),
    ("SLURM_PROCID", "1"),
    ("SLURM_STEP_NUM_TASKS", "4"),
    ("SLURM_NTASKS", "8"),
    ("SLURM_NODEID", "0"),
    ("SLURM_STEP_TASKS_PER_NODE", "2(x2)"),
];

#[test]
fn each_launcher_says_which_rank_this_is() {
    assert_eq!(shard(&[]), "rank 0 of 1 by no launcher");
    assert_eq!(shard(&[TORCHRUN]), "rank 1 of 4 by RANK and WORLD_SIZE");
    assert_eq!(shard(&[OPEN_MPI]), "rank 1 of 4 by OMPI_COMM_WORLD_RANK and OMPI_COMM_WORLD_SIZE");
    assert_eq!(shard(&[MPICH]), "rank 1 of 4 by PMI_RANK and PMI_SIZE");
    assert_eq!(shard(&[SRUN]), "rank 1 of 4 by SLURM_PROCID and SLURM_STEP_NUM_TASKS");
    // Ray Train's torch backend sets torchrun's; plain tasks of Ray have none. Kubeflow's PyTorchJob sets the pod's.
    let ray = [("RANK", "1"), ("WORLD_SIZE", "4"), ("LOCAL_RANK", "0"), ("NODE_RANK", "1")];
    assert_eq!(shard(&[&ray]), "rank 1 of 4 by RANK and WORLD_SIZE");
    // Slurm with `--mpi=pmi2` and `--mpi=pmix`.
    let pmi2 = [("PMI_RANK", "1"), ("PMI_SIZE", "4")];
    assert_eq!(shard(&[SRUN, &pmi2]), "rank 1 of 4 by PMI_RANK and PMI_SIZE");
    let pmix = [("PMIX_RANK", "1")];
    assert_eq!(shard(&[SRUN, &pmix]), "rank 1 of 4 by SLURM_PROCID and SLURM_STEP_NUM_TASKS");
}

#[test]
fn what_is_one_process_gets_all_samples() {
    // A batch script would train on a quarter; so would a task of an array of jobs, and a pod of an Indexed Job.
    assert_eq!(shard(&[BATCH_SCRIPT]), "rank 0 of 1 by no launcher");
    let array = [("SLURM_ARRAY_TASK_ID", "3"), ("SLURM_ARRAY_TASK_COUNT", "4")];
    let one_task = [("SLURM_JOB_ID", "9"), ("SLURM_PROCID", "0"), ("SLURM_NTASKS", "1")];
    assert_eq!(shard(&[&array, &one_task]), "rank 0 of 1 by no launcher");
    assert_eq!(shard(&[&[("JOB_COMPLETION_INDEX", "3")]]), "rank 0 of 1 by no launcher");
    // A step of one task in a job of four, and the shell of `salloc`, a step with a number of its own.
    let step = [("SLURM_STEP_ID", "2"), ("SLURM_STEP_NUM_TASKS", "1")];
    assert_eq!(shard(&[BATCH_SCRIPT, &step]), "rank 0 of 1 by SLURM_PROCID and SLURM_STEP_NUM_TASKS");
    let shell = [("SLURM_STEP_ID", "4294967290"), ("SLURM_STEP_NUM_TASKS", "1")];
    assert_eq!(shard(&[BATCH_SCRIPT, &shell]), "rank 0 of 1 by SLURM_PROCID and SLURM_STEP_NUM_TASKS");
}

#[test]
fn the_innermost_launcher_wins() {
    // As seen under srun → torchrun with two ranks each: the ranks 2 and 3 had SLURM_PROCID=0.
    let torchrun = [("RANK", "2"), ("WORLD_SIZE", "4")];
    let outer = [("SLURM_STEP_ID", "0"), ("SLURM_PROCID", "0"), ("SLURM_STEP_NUM_TASKS", "2")];
    assert_eq!(shard(&[&outer, &torchrun]), "rank 2 of 4 by RANK and WORLD_SIZE");
    for outer in [OPEN_MPI, MPICH, SRUN] {
        assert_eq!(shard(&[outer, &torchrun]), "rank 2 of 4 by RANK and WORLD_SIZE");
    }
    // mpirun in an allocation starts its daemons by srun: one on each node.
    let daemon = [("SLURM_STEP_ID", "0"), ("SLURM_PROCID", "0"), ("SLURM_STEP_NUM_TASKS", "2")];
    let open_mpi = "rank 1 of 4 by OMPI_COMM_WORLD_RANK and OMPI_COMM_WORLD_SIZE";
    assert_eq!(shard(&[OPEN_MPI, &daemon]), open_mpi);
    assert_eq!(shard(&[MPICH, &daemon]), "rank 1 of 4 by PMI_RANK and PMI_SIZE");
    assert_eq!(shard(&[OPEN_MPI, BATCH_SCRIPT]), open_mpi);
    assert_eq!(shard(&[MPICH, OPEN_MPI]), open_mpi);
}

#[test]
fn half_a_pair_is_an_error_that_names_both() {
    let refused = |there, missing| format!("shard: the variable {there} is set, but {missing} is not; {BY_HAND}");
    for pair in &PAIRS {
        let step = [("SLURM_STEP_ID", "0")];
        assert_eq!(shard(&[&step, &[(pair.rank, "0")]]), refused(pair.rank, pair.world));
        assert_eq!(shard(&[&step, &[(pair.world, "2")]]), refused(pair.world, pair.rank));
    }
    // Lightning's own launcher sets WORLD_SIZE alone; so do batch scripts that follow PyTorch's manual. The rank is not
    // taken from another launcher.
    for outer in [OPEN_MPI, MPICH, SRUN] {
        assert_eq!(shard(&[outer, &[("WORLD_SIZE", "4")]]), refused("WORLD_SIZE", "RANK"));
    }
    assert_eq!(
        shard(&[MPICH, &[("OMPI_COMM_WORLD_SIZE", "2")]]),
        refused("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK")
    );
    assert!(
        shard(&[&[("PMIX_RANK", "1")]]).starts_with("shard: the variable PMIX_RANK is set, but none with the number")
    );
}

#[test]
fn numbers_that_make_no_rank_are_errors() {
    for (rank, world) in
        [("", "2"), ("one", "2"), ("0", ""), ("-1", "2"), ("0", "1.0"), ("0", "99999999999999999999999")]
    {
        let numbers = [("RANK", rank), ("WORLD_SIZE", world)];
        let expected = format!("shard: RANK={rank} and WORLD_SIZE={world} are no whole numbers; {BY_HAND}");
        // A whole pair of an outer launcher does not help.
        assert_eq!(shard(&[SRUN, &numbers]), expected);
    }
    for (rank, world) in [("2", "2"), ("7", "4"), ("0", "0")] {
        for pair in &PAIRS {
            let found = shard(&[&[("SLURM_STEP_ID", "0"), (pair.rank, rank), (pair.world, world)]]);
            let expected = format!("shard: {}={rank} and {}={world}, but ranks run from 0", pair.rank, pair.world);
            assert!(found.starts_with(&expected) && found.ends_with(BY_HAND), "{found}");
        }
    }
    assert_eq!(shard(&[&[("RANK", " 1\n"), ("WORLD_SIZE", "2 ")]]), "rank 1 of 2 by RANK and WORLD_SIZE");
}

#[test]
fn launchers_say_how_many_processes_there_are() {
    let by = |variables: &[&[(&str, &str)]]| {
        local(lookup(&variables.concat())).map(|found| (found.processes, found.variable))
    };
    assert_eq!(by(&[]), None);
    assert_eq!(by(&[TORCHRUN]), Some((2, "LOCAL_WORLD_SIZE")));
    assert_eq!(by(&[OPEN_MPI]), Some((2, "OMPI_COMM_WORLD_LOCAL_SIZE")));
    assert_eq!(by(&[MPICH]), Some((2, "MPI_LOCALNRANKS")));
    for nonsense in ["", "0", "-1", "many"] {
        assert_eq!(by(&[&[("LOCAL_WORLD_SIZE", nonsense)]]), None, "{nonsense}");
    }
    assert_eq!(by(&[SRUN]), Some((2, "SLURM_STEP_TASKS_PER_NODE")));
    assert_eq!(by(&[BATCH_SCRIPT]), None);
    let without_a_step: Vec<_> = SRUN.iter().copied().filter(|(name, _)| *name != "SLURM_STEP_ID").collect();
    assert_eq!(by(&[&without_a_step]), None);
    // srun starts torchrun, which starts the ranks.
    assert_eq!(by(&[SRUN, &[("LOCAL_WORLD_SIZE", "4")]]), Some((4, "LOCAL_WORLD_SIZE")));
}

#[test]
fn launchers_say_which_process_of_the_machine_this_is() {
    let by = |variables: &[&[(&str, &str)]]| {
        let found = local_rank(lookup(&variables.concat()));
        found.map(|found| found.map(|local| (local.rank, local.variable)))
    };
    assert_eq!(by(&[]), Ok(None));
    assert_eq!(by(&[TORCHRUN]), Ok(Some((1, "LOCAL_RANK"))));
    assert_eq!(by(&[OPEN_MPI]), Ok(Some((1, "OMPI_COMM_WORLD_LOCAL_RANK"))));
    assert_eq!(by(&[MPICH]), Ok(Some((1, "MPI_LOCALRANKID"))));
    let of_slurm = [("SLURM_LOCALID", "3")];
    assert_eq!(by(&[SRUN, &of_slurm]), Ok(Some((3, "SLURM_LOCALID"))));
    // A batch script is one process, and has the variable, too.
    assert_eq!(by(&[BATCH_SCRIPT, &of_slurm]), Ok(None));
    // srun starts torchrun, or MPI's daemons, which start the ranks.
    assert_eq!(by(&[SRUN, &of_slurm, TORCHRUN]), Ok(Some((1, "LOCAL_RANK"))));
    assert_eq!(by(&[SRUN, &of_slurm, OPEN_MPI]), Ok(Some((1, "OMPI_COMM_WORLD_LOCAL_RANK"))));
    // Scripts that may run without a launcher set -1.
    assert_eq!(by(&[&[("LOCAL_RANK", "-1")]]), Ok(None));
    assert_eq!(by(&[&[("LOCAL_RANK", " 2\n")]]), Ok(Some((2, "LOCAL_RANK"))));
    for nonsense in ["", "one", "-2", "1.0"] {
        let refused = by(&[MPICH, &[("LOCAL_RANK", nonsense)]]).unwrap_err();
        assert!(refused.starts_with(&format!("LOCAL_RANK={nonsense} is no whole number")), "{refused}");
    }
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
