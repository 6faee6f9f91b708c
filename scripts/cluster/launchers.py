"""Ranks under real launchers: shares that are disjoint and complete, with equally many batches, by the right variables."""

from __future__ import annotations

from ranks import Launch, check, check_workers
from slurm import free_ports
from tools import Tools, say

TORCHRUN = "RANK and WORLD_SIZE"
OPEN_MPI = "OMPI_COMM_WORLD_RANK and OMPI_COMM_WORLD_SIZE"
MPICH = "PMI_RANK and PMI_SIZE"
SRUN = "SLURM_PROCID and SLURM_STEP_NUM_TASKS"
NOBODY = "no launcher"


def launch(tools: Tools, name: str, *arguments: object) -> Launch:
    return Launch(tools.folder / name.replace(" ", "-"), tools.ranks, tools.data, *arguments)


def seen(tools: Tools, name: str, command: list[object], world: int, source: str, **variables: str) -> None:
    """One command, whose words end with the script of the ranks."""
    of = launch(tools, f"{name}-{world}")
    tools.run([*command, of.script], **variables)
    processes = of.processes()
    check(processes, world, tools.length, source)
    workers = ""
    # Two nodes of Slurm are one machine here, and neither knows of the other's ranks.
    if "-N2" not in command:
        workers = f", {check_workers(processes)} workers in all"
    say(f"{name}, {world} ranks: each of {tools.length} ids once an epoch, by {source}{workers}")


def mpirun(tools: Tools, world: int) -> list[object]:
    return [tools.open_mpi / "mpirun", "--oversubscribe", "-n", world]


def quick(tools: Tools) -> None:
    """One launcher with two ranks."""
    seen(tools, "Open MPI", mpirun(tools, 2), 2, OPEN_MPI)


def alone(tools: Tools) -> None:
    """Launchers without a scheduler."""
    for world in (2, 4):
        seen(tools, "Open MPI", mpirun(tools, world), world, OPEN_MPI)
        seen(tools, "MPICH", [tools.mpich / "mpiexec", "-n", world], world, MPICH)
        seen(
            tools, "torchrun", tools.torchrun("--standalone", "--no-python", "--nproc-per-node", world), world, TORCHRUN
        )
    # PMIx's own launcher says which rank a process is, and not of how many.
    of = launch(tools, "prterun")
    said = tools.refused([tools.open_mpi / "prterun", "-n", "2", of.script])
    assert "PMIX_RANK is set, but none with the number of processes" in said and not of.processes(), said
    say("prterun: refused, as PMIX_RANK has no size beside it")


def slurm(tools: Tools) -> None:
    """Slurm's tasks, and launchers within its allocations."""
    for world in (2, 4):
        seen(tools, "srun", ["srun", "-N2", "-n", world], world, SRUN)
        each = ["--nnodes", 2, "--nproc-per-node", world // 2, "--rdzv-backend", "c10d"]
        [port] = free_ports(1)
        each += ["--rdzv-endpoint", f"127.0.0.1:{port}", "--rdzv-id", "ranks", "--no-python"]
        seen(tools, "srun and torchrun", ["srun", "-N2", "-n2", *tools.torchrun(*each)], world, TORCHRUN)
        allocation = ["salloc", "--quiet", "-N2", "-n4"]
        seen(tools, "Open MPI in an allocation", [*allocation, *mpirun(tools, world)], world, OPEN_MPI)
        seen(tools, "MPICH in an allocation", [*allocation, tools.mpich / "mpiexec", "-n", world], world, MPICH)
    seen(tools, "srun on one node", ["srun", "-N1", "-n2"], 2, SRUN)
    # A batch script is one process, whatever the job's number of tasks.
    seen(tools, "sbatch", ["sbatch", "--wait", "--output=/dev/null", "-N2", "-n4"], 1, NOBODY)
    array(tools)
    half(tools)


def array(tools: Tools) -> None:
    """Each task of an array is one process, too."""
    of = launch(tools, "array")
    tools.run(["sbatch", "--wait", "--output=/dev/null", "--array=0-2", "-n1", of.script])
    processes = of.processes()
    assert len(processes) == 3, processes
    for process in processes:
        check([process], 1, tools.length, NOBODY)
    say("sbatch --array=0-2: three processes with all ids each")


def half(tools: Tools) -> None:
    """Batch scripts that follow PyTorch's manual export WORLD_SIZE, and nobody sets RANK."""
    of = launch(tools, "half")
    said = tools.refused(["srun", "-N2", "-n4", of.script], WORLD_SIZE="4")
    assert said.count("the variable WORLD_SIZE is set, but RANK is not") == 4 and not of.processes(), said
    say("srun with WORLD_SIZE exported: refused by name")

