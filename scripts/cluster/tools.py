"""What the tests have at hand: programs, a data set, an empty folder, and running commands."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

from slurm import Slurm

ROOT = Path(__file__).resolve().parent.parent.parent
SECONDS = 120

# Variables of a launcher that has started this script would be taken for those of the tests.
OF_LAUNCHERS = ("RANK", "WORLD_SIZE", "LOCAL_", "OMPI_", "PMI_", "PMIX_", "MPI_", "SLURM_", "TORCHELASTIC_")
AS_ROOT = {
    name: "1"
    for name in (
        "OMPI_ALLOW_RUN_AS_ROOT",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM",
        "PRTE_ALLOW_RUN_AS_ROOT",
        "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM",
    )
}


@dataclass
class Tools:
    """Everything is there in a whole run; `--quick` has neither MPICH, torch nor Slurm."""

    folder: Path
    ranks: Path
    data: Path
    length: int
    open_mpi: Path
    mpich: Path | None = None
    torch: Path | None = None
    slurm: Slurm | None = None

    def environment(self, **more: str) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(OF_LAUNCHERS)}
        slurm = {} if self.slurm is None else {name: self.slurm.environment[name] for name in ("SLURM_CONF", "PATH")}
        return kept | AS_ROOT | slurm | more

    def run(self, command: list[object], **more: str) -> str:
        """Runs a command to its end, and returns its output; `more` are variables."""
        status, said, errors = self._done(command, more)
        assert status == 0, f"{command} ended with {status}:\n{said}\n{errors}"
        return said

    def refused(self, command: list[object], **more: str) -> str:
        """Runs a command that has to fail by itself, and returns what it says."""
        status, said, errors = self._done(command, more)
        assert status != 0, f"{command} has not failed:\n{said}\n{errors}"
        return said + errors

    def ended_anyhow(self, command: list[object], **more: str) -> None:
        """Runs a command to its end, whatever its exit status."""
        self._done(command, more)

    def _done(self, command: list[object], more: dict[str, str]) -> tuple[int, str, str]:
        with self._started(command, more, subprocess.PIPE, subprocess.PIPE) as process:
            try:
                said, errors = process.communicate(timeout=SECONDS)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                said, errors = process.communicate()
                raise AssertionError(f"{command} has not ended after {SECONDS} s:\n{said}\n{errors}") from None
        return process.returncode, said, errors

    def _started(self, command: list[object], more: dict[str, str], output: Any, errors: Any) -> subprocess.Popen[str]:
        # A session of its own, so that all that it has started can be ended with it.
        return subprocess.Popen(
            [str(word) for word in command],
            env=self.environment(**more),
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=errors,
            text=True,
            start_new_session=True,
        )

    @contextmanager
    def start(self, command: list[object], **more: str) -> Iterator[Running]:
        """A command in the background, with an end by itself or by a signal of this script."""
        with NamedTemporaryFile("w+b", dir=self.folder, suffix=".out", delete=False) as output:
            process = self._started(command, more, output, output)
            running = Running(process, Path(output.name))
            try:
                yield running
            finally:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGTERM)
                    process.wait(30)

    def ended(self, job: str, logs: Callable[[], str] = str) -> bool:
        """True once a job of Slurm has ended well; fails where it has ended otherwise."""
        assert self.slurm is not None
        state = self.slurm.shown(job, "JobState")
        assert state in ("PENDING", "CONFIGURING", "RUNNING", "COMPLETING", "COMPLETED", "REQUEUED"), f"{state}: {logs()}"
        return state == "COMPLETED"

    def torchrun(self, *arguments: object) -> list[object]:
        assert self.torch is not None
        return [self.torch, "-m", "torch.distributed.run", *arguments]


@dataclass
class Running:
    """A command in the background."""

    process: subprocess.Popen[str]
    output: Path

    def poll(self) -> int | None:
        return self.process.poll()

    def said(self) -> str:
        return self.output.read_text(errors="replace")

    def finish(self) -> None:
        """Waits for its end, which has to be a good one."""
        try:
            status = self.process.wait(SECONDS)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"{self.process.args} has not ended after {SECONDS} s:\n{self.said()}") from None
        assert status == 0, f"{self.process.args} ended with {status}:\n{self.said()}"


def wait(what: str, holds: Callable[[], object], seconds: float = SECONDS) -> None:
    """Waits until something holds; fails where it does not in time."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, f"not in {seconds} s: {what}"
        time.sleep(0.005)


def kill(number: int) -> None:
    """Kills one process by its number, without a chance to tidy up."""
    assert number > 1, f"{number} is no process of a rank"
    os.kill(number, signal.SIGKILL)


def say(text: str) -> None:
    print(text, flush=True)
    sys.stdout.flush()
