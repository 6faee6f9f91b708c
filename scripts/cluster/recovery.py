"""Ranks that are killed and requeued in mid-epoch: their batches are those of a run that was left alone."""

from __future__ import annotations


from launchers import SRUN, TORCHRUN, launch, mpirun
from ranks import EPOCHS, Launch, Place, batches, check
from tools import Tools, kill, say, wait

# Long enough that a run is caught in the middle, short enough for the tests.
MILLISECONDS = 40
# The batches that a rank has made when it is killed: an epoch of 199 samples has 13 on each of two ranks.
SOME = 5

WORLD = 2


def left_alone(tools: Tools, name: str) -> dict[Place, tuple[list[int], str]]:
    """The batches of a run without a fault."""
    of = launch(tools, f"{name} left alone")
    tools.run([*mpirun(tools, WORLD), of.script])
    return batches(of.processes())


def begun(of: Launch, rank: int) -> int:
    """The number of the process of `rank`, once it has made some batches; 0 before."""
    return next((each.number for each in of.processes() if each.rank == rank and len(each.batches) >= SOME), 0)


def compare(tools: Tools, name: str, of: Launch, source: str) -> None:
    """After the restart: every batch as in the run that was left alone, by processes of which some were cut off."""
    processes = of.processes()
    found = check(processes, WORLD, tools.length, source, restarted=True)
    assert found == left_alone(tools, name)
    whole = EPOCHS * len({batch for _, _, batch in found})
    assert all(len(each.batches) < whole for each in processes), "nobody was killed in the middle"
    assert len(processes) >= WORLD + 1, processes
    again = sum(len(each.batches) for each in processes) - len(found)
    say(f"{name}: {len(processes)} processes, {len(found)} batches as without it, {again} of them made twice")


def rank_killed_under_torchrun(tools: Tools) -> None:
    """torchrun ends the others and starts all of them again, which go on at their states."""
    states = tools.folder / "states-torchrun"
    states.mkdir()
    of = launch(tools, "rank killed under torchrun", states, MILLISECONDS)
    command = tools.torchrun("--standalone", "--max-restarts", 2, "--no-python", "--nproc-per-node", WORLD, of.script)
    with tools.start(command) as running:
        wait("some batches of rank 1", lambda: begun(of, 1) or running.poll() is not None)
        kill(begun(of, 1))
        running.finish()
    compare(tools, "a rank killed under torchrun", of, TORCHRUN)


def job(tools: Tools, of: Launch, requeues: str) -> str:
    """A batch script that runs the ranks as a step, and `requeues` where it fails; returns the number of its job."""
    script = of.folder / "job.sh"
    # Without that option, Slurm leaves the other ranks to themselves.
    script.write_text(f"#!/bin/sh\nsrun --kill-on-bad-exit {of.script} || {requeues}\n")
    assert tools.slurm is not None
    said = tools.run(["sbatch", "--parsable", "--requeue", f"--output={of.folder}/job.out", "-N2", "-n2", script])
    return said.strip()


def job_requeued(tools: Tools) -> None:
    """`scontrol requeue`, as an operator or a preemption does it."""
    states = tools.folder / "states-requeued"
    states.mkdir()
    of = launch(tools, "Slurm job requeued", states, MILLISECONDS)
    number = job(tools, of, "exit 1")
    wait("some batches of both ranks", lambda: begun(of, 0) and begun(of, 1))
    tools.run(["scontrol", "requeue", number])
    wait("the requeued job", lambda: tools.ended(number))
    compare(tools, "a Slurm job requeued", of, SRUN)


def task_killed(tools: Tools) -> None:
    """A task is killed; the batch script puts its job back into the queue."""
    states = tools.folder / "states-killed"
    states.mkdir()
    of = launch(tools, "Slurm task killed", states, MILLISECONDS)
    number = job(tools, of, 'scontrol requeue "$SLURM_JOB_ID"')
    wait("some batches of rank 1", lambda: begun(of, 1))
    kill(begun(of, 1))
    wait("the requeued job", lambda: tools.ended(number))
    compare(tools, "a Slurm task killed, its job requeued", of, SRUN)


def recovery(tools: Tools) -> None:
    rank_killed_under_torchrun(tools)
    job_requeued(tools)
    task_killed(tools)
