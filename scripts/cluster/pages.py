"""The programs of docs/guide/machines.md, as they are printed: run, killed, requeued, with losses to compare."""

from __future__ import annotations

import re
from pathlib import Path

from launchers import OPEN_MPI, mpirun, seen
from slurm import free_ports
from tools import ROOT, Tools, kill, say, wait

PAGE = ROOT / "docs" / "guide" / "machines.md"
# The programs that the page prints are these files.
# python/tests/test_ray_train.py runs the last one.
PRINTED = ("examples/cluster/train.py", "examples/cluster/train.sbatch", "examples/ranks.rs", "examples/cluster/train_ray.py")
STEPS = 5
# Two ranks add two gradients, in whatever order; of four the sums depend on it, and torchrun may count its nodes anew.
ROUNDING = 1e-4


def fences(language: str = "") -> list[str]:
    """The page's code in a language, or all of it."""
    found = re.findall(r"^```([^\n`]+)\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    return [code for name, code in found if name.startswith(language)]


def printed() -> None:
    """Each program on the page is its file, word for word."""
    for name in PRINTED:
        assert (ROOT / name).read_text() in fences(), f"{name} is not on {PAGE.relative_to(ROOT)} as it is"
    say(f"{PAGE.relative_to(ROOT)} prints {', '.join(PRINTED)} as they are")


Losses = dict[tuple[int, int], float]


def losses(text: str, within: float) -> Losses:
    """Losses by epoch and step. One that was computed twice was the same both times, up to `within`."""
    found: Losses = {}
    for epoch, step, loss in re.findall(r"^epoch (\d+) step (\d+) loss (\S+)$", text, re.MULTILINE):
        place = (int(epoch), int(step))
        before = found.setdefault(place, float(loss))
        assert abs(float(loss) - before) <= within, f"{place}: {loss}, but {before} before"
    return found


def compare(found: Losses, expected: Losses, within: float) -> None:
    """The same epochs and steps, with losses that differ by `within` at most."""
    assert found.keys() == expected.keys(), f"{sorted(found)}, but {sorted(expected)} were expected"
    for place, loss in found.items():
        assert abs(loss - expected[place]) <= within, f"{place}: {loss}, but {expected[place]} was expected"


def own(tools: Tools, name: str) -> tuple[Path, dict[str, str]]:
    """A folder with the program, and the variables under which it runs."""
    folder = tools.folder / name
    folder.mkdir()
    for file in PRINTED[:2]:
        (folder / Path(file).name).write_text((ROOT / file).read_text())
    (folder / "imagenet").mkdir()
    (folder / "imagenet" / "train").symlink_to(tools.data)
    assert tools.torch is not None
    path = f"{tools.torch.parent}:{tools.environment()['PATH']}"
    return folder, {"PATH": path, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": "", "PAGE_RUN": name}


def process(name: str, rank: int) -> int:
    """The number of the process of `rank` among those of a run, by its environment; 0 without one."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            variables = (folder / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        if f"PAGE_RUN={name}".encode() in variables and f"RANK={rank}".encode() in variables:
            return int(folder.name)
    return 0


def commands() -> str:
    """The page's commands that start the training, as they are printed."""
    (found,) = [code for code in fences("sh") if "\ntorchrun " in code]
    return found


def torchrun(tools: Tools) -> Losses:
    """The program by the page's commands: alone, then with a rank killed in mid-epoch."""
    folder, variables = own(tools, "torchrun-alone")
    alone = losses(tools.run(["bash", "-ec", f"cd {folder}\n{commands()}"], **variables), 0)
    assert len(alone) == 2 * (tools.length // 16), alone
    folder, variables = own(tools, "torchrun-killed")
    with tools.start(["bash", "-ec", f"cd {folder}\n{commands()}"], **variables) as running:
        wait("some steps", lambda: len(losses(running.said(), 0)) >= STEPS or running.poll() is not None)
        kill(process("torchrun-killed", 1))
        running.finish()
        said = running.said()
    again = len(re.findall(r"^epoch \d+ step ", said, re.MULTILINE)) - len(alone)
    compare(losses(said, 0), alone, 0)
    assert "exitcode: -9" in said, said
    say(f"torchrun, rank 1 killed after step {STEPS}: {len(alone)} losses as without it, {again} of them computed twice")
    return alone


def slurm(tools: Tools, alone: Losses) -> None:
    """The batch script: left alone, and requeued in mid-epoch."""
    for name in ("slurm-alone", "slurm-requeued"):
        folder, variables = own(tools, name)
        [port] = free_ports(1)
        number = tools.run(
            ["sbatch", "--parsable", f"--chdir={folder}", folder / "train.sbatch", "imagenet/train", "checkpoint.pt"],
            PORT=str(port),
            **variables,
        ).strip()
        output = folder / f"train-{number}.out"
        text = lambda output=output: output.read_text() if output.exists() else ""  # noqa: E731
        if name == "slurm-requeued":
            wait("some steps", lambda: len(losses(text(), ROUNDING)) >= STEPS)
            tools.run(["scontrol", "requeue", number])
        wait("the job", lambda: tools.ended(number, text))
        found = losses(text(), ROUNDING)
        if name == "slurm-alone":
            whole = found
            # The same global batches by four ranks instead of two.
            compare(found, alone, ROUNDING)
    again = len(re.findall(r"^epoch \d+ step ", text(), re.MULTILINE)) - len(whole)
    assert tools.slurm is not None and tools.slurm.shown(number, "Restarts") == "1"
    compare(found, whole, ROUNDING)
    say(f"Slurm, four ranks of two torchruns, requeued: {len(whole)} losses as without it, {again} of them computed twice")


def pages(tools: Tools) -> None:
    printed()
    seen(tools, "the page's program for MPI", mpirun(tools, 2), 2, OPEN_MPI)
    slurm(tools, torchrun(tools))
