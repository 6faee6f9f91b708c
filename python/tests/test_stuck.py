"""Reads that never return, that end the run, or that use their own loader. What could hang runs in a process of its own."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
import warnings
from typing import Any

import numpy
import pytest

import gpufeed
from gpufeed.decoder import Decoder
from pictures import NUMBERED, Numbered
from test_processes import HEAD, HERE, interrupted

# Of two workers, one could be stuck at sample 9 while the other has still to read one of the first batch: each of these loaders
# has one, or no batch is waited for.
STUCK = """
class Stuck(Numbered):
    def __getitem__(self, index):
        if index == 9:
            HOW
        return super().__getitem__(index)
"""
HOWS = {
    "sleeps": "time.sleep(1e6)",
    "spins": "\n            while True: pass",
    "polls": "\n            while True: time.sleep(0.01)",
    "waits": "threading.Event().wait()",
}


def ended(code: str, timeout: float = 60) -> tuple[int, str, str, float]:
    """Status, output, errors and seconds of a process."""
    began = time.monotonic()
    done = subprocess.run([sys.executable, "-c", HEAD + code], cwd=HERE, timeout=timeout, capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr, time.monotonic() - began


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("thread_safe", [False, True])
def test_the_interpreters_exit_is_bounded(how: str, thread_safe: bool) -> None:
    status, out, error, seconds = ended(
        STUCK.replace("HOW", HOWS[how])
        + f"""
made = loader(Stuck(40), exit_timeout=0.5, thread_safe={thread_safe}, workers=1)
for batch in made.batches():
    print(batch.ids)
    if batch.ids[-1] == 3:
        break
time.sleep(0.5)
# An end that takes its time, so that threads come back while the interpreter ends.
class Late:
    def __del__(self, sleep=time.sleep):
        sleep(0.5)
import builtins
builtins.late = Late()
"""
    )
    assert (status, out) == (0, "[0, 1, 2, 3]\n"), error
    assert "1 run is left at the interpreter's exit" in error and "exit_timeout=" in error
    assert seconds < 20


# Before CPython 3.14 such a thread is ended by unwinding its stack, which aborts a process whose stack has frames of Rust.
def test_a_read_that_returns_while_the_interpreter_ends() -> None:
    status, out, error, _ = ended("""
class Wakes(Numbered):
    def __getitem__(self, index):
        time.sleep(1.5 if index else 0.0)
        return super().__getitem__(index)
made = loader(Wakes(40), exit_timeout=0.3, thread_safe=True, workers=8, batch_size=1)
next(made.batches())
class Late:
    def __del__(self, sleep=time.sleep):
        sleep(3)
import builtins
builtins.late = Late()
print("end")
""")
    assert (status, out) == (0, "end\n"), error


@pytest.mark.skipif(sys.platform == "win32", reason="SIGINT is another thing on Windows")
def test_ctrl_c_leaves_a_stuck_read() -> None:
    out, seconds = interrupted(
        STUCK.replace("HOW", HOWS["sleeps"])
        + """
def train():
    # The iterator goes with this function's frame.
    for batch in loader(Stuck(40), exit_timeout=1, workers=1).batches():
        if batch.ids[0] == 4:
            print("ready")
try:
    train()
except KeyboardInterrupt:
    print("interrupted")
"""
    )
    assert out == "interrupted\n" and seconds < 15


@pytest.mark.skipif(sys.platform == "win32", reason="SIGINT is another thing on Windows")
def test_ctrl_c_ends_the_main_threads_wait_for_a_turn() -> None:
    out, seconds = interrupted(
        STUCK.replace("HOW", HOWS["sleeps"])
        + """
made = loader(Stuck(40), exit_timeout=0.5, workers=1)
params = next(made.batches()).params[0]
time.sleep(0.3)
print("ready")
try:
    made.replay(0, params)
except KeyboardInterrupt:
    print("interrupted")
"""
    )
    assert out == "interrupted\n" and seconds < 15


def test_closing_is_bounded() -> None:
    status, out, error, seconds = ended(
        STUCK.replace("HOW", HOWS["sleeps"])
        + """
made = loader(Stuck(40), exit_timeout=0.5, workers=1)
batches = made.batches()
print(next(batches).ids)
time.sleep(0.3)
began = time.monotonic()
made.close()
print(time.monotonic() - began < 3)
"""
    )
    assert (status, out) == (0, "[0, 1, 2, 3]\nTrue\n"), error
    assert "after their run was closed, threads are still inside the data set" in error


@pytest.mark.parametrize("together", [False, True])
def test_a_run_over_a_stuck_object_ends(together: bool) -> None:
    status, out, error, _ = ended(
        STUCK.replace("HOW", HOWS["sleeps"])
        + ("    def __getitems__(self, indices):\n        return [self[index] for index in indices]\n" if together else "")
        + """
import warnings
warnings.simplefilter("ignore")
data = Stuck(40)
made = loader(data, exit_timeout=1, workers=1)
params = next(made.batches()).params[0]
time.sleep(0.3)
for use in (
    lambda: next(made.batches()),
    lambda: made.replay(0, params),
    lambda: next(loader(data, exit_timeout=1.5, batch_size=1).batches()),
    lambda: loader(data)._native_data[1],
):
    began = time.monotonic()
    try:
        use()
        print("no error")
    except gpufeed.RunError as error:
        # After 5 s, and not once more for the job's samples.
        print(error.kind, "exit_timeout= says how long" in str(error), 4 < time.monotonic() - began < 9)
""",
        timeout=90,
    )
    assert (status, out) == (0, "Stuck True True\n" * 4), (out, error)


def test_a_slow_read_that_was_left_ends_no_later_epoch() -> None:
    class Slow(Numbered):
        slept = False

        def __getitem__(self, index: int) -> Any:
            if index == 9 and not self.slept:
                self.slept = True
                time.sleep(2)
            return super().__getitem__(index)

    data = Slow(12)
    made = gpufeed.DataLoader(data, recipe=NUMBERED, batch_size=4, workers=1, exit_timeout=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for batch in made.batches():
            while not data.slept:
                time.sleep(0.01)
            break
        assert sum(len(batch) for batch in made.batches()) == 12


def test_a_run_waits_for_another_loader_that_reads_slowly() -> None:
    """Only a read whose run has ended is given up: this one has its turn for longer than `exit_timeout`."""
    entered, leave = threading.Event(), threading.Event()

    class Slow(Numbered):
        def __getitem__(self, index: int) -> Any:
            if index == 9 and not leave.is_set():
                entered.set()
                leave.wait(60)
            return super().__getitem__(index)

    data = Slow(12)
    slow = gpufeed.DataLoader(data, recipe=NUMBERED, batch_size=4, workers=1).batches()
    assert len(next(slow)) == 4 and entered.wait(60)
    threading.Timer(3, leave.set).start()
    other = gpufeed.DataLoader(data, recipe=NUMBERED, batch_size=4, workers=2, exit_timeout=1)
    assert sum(len(batch) for batch in other.batches()) == 12
    assert leave.is_set() and sum(len(batch) for batch in slow) == 8


def test_an_error_does_not_wait_for_a_stuck_read() -> None:
    status, out, error, seconds = ended("""
class Stuck(Numbered):
    thread_safe = True
    def __getitem__(self, index):
        if index == 2:
            time.sleep(1e6)
        if index == 3:
            time.sleep(0.3)
            raise KeyError("lost")
        return super().__getitem__(index)
made = loader(Stuck(40), exit_timeout=0.5, on_error="fail", batch_size=1)
began = time.monotonic()
try:
    print(len([*made.batches()]))
except gpufeed.DataError as error:
    print(type(error.__cause__).__name__, time.monotonic() - began < 3)
""")
    assert (status, out) == (0, "KeyError True\n"), error


class Ends(Numbered):
    def __init__(self, count: int, error: BaseException) -> None:
        super().__init__(count)
        self.error = error

    def __getitem__(self, index: int) -> Any:
        if index == 5:
            raise self.error
        return super().__getitem__(index)


class EndsTogether(Ends):
    def __getitems__(self, indices: list[int]) -> list[Any]:
        return [self[index] for index in indices]


@pytest.mark.parametrize("kind", [Ends, EndsTogether])
@pytest.mark.parametrize("error", [KeyboardInterrupt("mine"), SystemExit(3), GeneratorExit("mine")])
@pytest.mark.parametrize("on_error", ["skip", "fail", 1.0])
def test_what_is_no_exception_ends_the_run_as_itself(kind: type[Ends], error: BaseException, on_error: Any) -> None:
    made = gpufeed.DataLoader(kind(40, error), recipe=NUMBERED, batch_size=4, workers=2, on_error=on_error)
    batches = made.batches()
    with pytest.raises(type(error)) as raised:
        list(batches)
    assert raised.value is error
    assert next(batches, None) is None, "the run has ended"
    # Tensors, too.
    pytest.importorskip("torch")
    with pytest.raises(type(error)):
        list(made)
    # An actor of a fleet does not end by it.
    decoder = Decoder({"data": kind(40, error), "recipe": NUMBERED, "batch_size": 4})
    with pytest.raises(gpufeed.RunError, match=f"the data set has ended the run in process .*{type(error).__name__}"):
        list(decoder.batches((0, 1), 0, 0, 1, 1))


def test_sys_exit_inside_is_the_programs_status() -> None:
    status, out, error, _ = ended("""
class Exits(Numbered):
    def __getitem__(self, index):
        if index == 7:
            sys.exit(7)
        return super().__getitem__(index)
for batch in loader(Exits(40)).batches():
    print(len(batch))
""")
    assert (status, error) == (7, "") and out in ("4\n", ""), out


@pytest.mark.parametrize("thread_safe", [False, True])
@pytest.mark.parametrize(
    "use",
    [
        "next(iter(self.loader.batches()))",
        "next(self.batches)",
        "self.batches.close()",
        "self.loader.close()",
        "self.loader.replay(0, next(self.params))",
        "self.loader._native_data[1]",
        "next(loader(self).batches())",
        "next(self.other.batches())",
    ],
)
def test_a_loader_inside_its_own_data_set_is_an_error_at_the_call(use: str, thread_safe: bool) -> None:
    status, out, error, _ = ended(f"""
class Inside(Numbered):
    thread_safe = {thread_safe}
    def __getitem__(self, index):
        # The last batch, which a run that ends after its first one does not reach.
        if index == 36:
            try:
                {use}
            except gpufeed.RunError as error:
                print(error.kind, error)
                raise
        return super().__getitem__(index)
data = Inside(40)
data.loader = loader(data)
data.other = gpufeed.DataLoader(data, recipe=NUMBERED)
data.params = iter(next(data.loader.batches()).params)
data.batches = data.loader.batches()
try:
    print(sum(len(batch) for batch in data.batches))
except gpufeed.RunError as error:
    print("ended", error.kind)
""")
    lines = out.splitlines()
    assert status == 0 and len(lines) == 2 and lines[1] == "ended Inside", (out, error)
    assert lines[0].startswith("Inside a data set's __getitem__ uses a loader of this very data set"), out


def test_a_loader_of_other_data_inside_works() -> None:
    class Outer(Numbered):
        def __getitem__(self, index: int) -> Any:
            inner = gpufeed.DataLoader(Numbered(8), recipe=NUMBERED, batch_size=4, workers=1)
            assert sum(len(batch) for batch in inner.batches()) == 8
            return super().__getitem__(index)

    made = gpufeed.DataLoader(Outer(6), recipe=NUMBERED, batch_size=2, workers=2, on_error="fail")
    assert sum(len(batch) for batch in made.batches()) == 6


def test_dropping_its_own_run_inside_is_no_deadlock() -> None:
    status, out, error, seconds = ended("""
class Drops(Numbered):
    def __getitem__(self, index):
        if index == 6:
            held.clear()
        return super().__getitem__(index)
held = []
held.append(loader(Drops(400), workers=1).batches())
end = time.monotonic() + 50
while _gpufeed.open_runs() and time.monotonic() < end:
    time.sleep(0.05)
print(_gpufeed.open_runs())
""")
    assert (status, out, error) == (0, "0\n", ""), seconds


def test_seconds_are_checked() -> None:
    for wrong in (-1, "5", None, True, float("nan")):
        with pytest.raises(gpufeed.ArgumentError, match="^exit_timeout: .*a number of seconds from 0 on works"):
            gpufeed.DataLoader(Numbered(4), recipe=NUMBERED, exit_timeout=wrong)
    for right in (float("inf"), numpy.int64(3), numpy.float32(2)):
        made = gpufeed.DataLoader(Numbered(4), recipe=NUMBERED, exit_timeout=right)
        assert len([*made.batches()]) == 4
