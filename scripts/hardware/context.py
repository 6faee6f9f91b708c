"""What the steps of a run share: the folders, the time left, and what earlier steps have found."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import List, NamedTuple, Optional

import parts
from results import Results

HERE = Path(__file__).resolve().parent
# Seconds of a whole run, and those of them in which the results are written.
WHOLE, SHORT, WRITING = 540, 240, 3
# Seconds for a program that was asked to end, and again for one that was killed: a driver that hangs holds even that.
GRACE = 2
PASSED, FAILED, STOPPED, LEFT_OUT = "passed", "FAILED", "stopped", "left out"


class Outcome(NamedTuple):
    """What came of a step. A verdict that is none of the four above says what is not there: `no CUDA`."""

    verdict: str
    says: str
    data: dict = {}


class Finished(NamedTuple):
    """A program that has ended, or was stopped (`code` is None)."""

    code: Optional[int]
    output: str
    errors: str
    seconds: float

    @property
    def stopped(self) -> bool:
        return self.code is None


class Context:
    """What steps share: the packed folder, the folder of work, the time left, and what earlier steps have found."""

    def __init__(self, packed: Path, work: Path, results: Results, short: bool, python: str) -> None:
        self.packed, self.work, self.results, self.short, self.python = packed, work, results, short, python
        self.manifest = parts.load(packed)
        self.deadline = time.monotonic() + (SHORT if short else WHOLE) - WRITING
        self.until = self.deadline
        self.environment = {
            **os.environ,
            "NODEVICE_SELECT": "1",
            "NO_COLOR": "1",
            "PYTHONUNBUFFERED": "1",
            # No driver's cache of an earlier run, and none that stays in the user's folder.
            "XDG_CACHE_HOME": str(work / "cache"),
            "RUST_BACKTRACE": "0",
        }
        self.cores = len(os.sched_getaffinity(0))
        # Found by the steps.
        self.adapter: Optional[dict] = None
        self.torch: Optional[dict] = None
        self.no_torch = "no step has looked for it"

    def program(self, name: str) -> str:
        return str(self.work / "programs" / name)

    def left(self) -> float:
        """Seconds until this step has to end."""
        return max(0.0, self.until - time.monotonic())

    def call(self, command: List[str], seconds: Optional[float] = None, **variables: str) -> Finished:
        """Runs a program to its end, or until its time or the step's is over."""
        limit = min(self.left(), seconds if seconds is not None else self.left())
        if limit < 0.5:
            return self._log(command, Finished(None, "", "no time is left", 0.0))
        began = time.monotonic()
        output_file, errors_file = (tempfile.TemporaryFile() for _ in range(2))
        with output_file, errors_file:
            try:
                process = subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=output_file,
                    stderr=errors_file,
                    cwd=self.work,
                    env={**self.environment, **variables},
                    start_new_session=True,
                )
            except OSError as error:
                return self._log(command, Finished(127, "", f"cannot start {command[0]}: {error}", 0.0))
            code: Optional[int] = None
            try:
                code = process.wait(limit)
            except subprocess.TimeoutExpired:
                pass
            finally:
                end(process)
            texts = []
            for file in (output_file, errors_file):
                file.seek(0)
                texts.append(file.read().decode("utf-8", "replace"))
        return self._log(command, Finished(code, texts[0], texts[1], time.monotonic() - began))

    def _log(self, command: List[str], finished: Finished) -> Finished:
        how = "stopped" if finished.stopped else f"exit code {finished.code}"
        shown = " ".join(Path(command[0]).name if not index else word for index, word in enumerate(command))
        text = f"$ {shown}\n{finished.output}{finished.errors}[{how} after {finished.seconds:.1f} s]"
        self.results.add_log(text)
        return finished


def end(process: "subprocess.Popen[bytes]") -> None:
    """Ends a program and what it started: its whole session, also where it has ended itself."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
            process.wait(GRACE)
        except (ProcessLookupError, PermissionError):
            break
        except subprocess.TimeoutExpired:
            pass
    process.poll()
