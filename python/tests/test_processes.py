"""Forks, spawned processes, signals, threads, and the interpreter's end. Whatever could hang runs in a process of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

HERE = Path(__file__).parent
HEAD = """
import gc, os, signal, sys, threading, time
import gpufeed
from gpufeed import _gpufeed
from pictures import NUMBERED, Numbered, numbers

class Slow(Numbered):
    def __getitem__(self, index):
        time.sleep(SLEEP)
        return super().__getitem__(index)

# Of a shell's background jobs, which ignore SIGINT, Python would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)
SLEEP = 0.0
def loader(data, **settings):
    given = dict(recipe=NUMBERED, batch_size=4, workers=2)
    return gpufeed.DataLoader(data, **(given | settings))
"""


def run(code: str, timeout: float = 60) -> str:
    """The output of a process, which has to end by itself without a word on stderr."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", HEAD + code], cwd=HERE, timeout=timeout, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    return done.stdout


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_forked_child_is_told_instead_of_hanging() -> None:
    out = run("""
made = loader(Numbered(400))
batches = made.batches()
kept = next(batches)
child = os.fork()
if child == 0:
    for what in (lambda: next(batches), lambda: made.batches(), lambda: len(made), lambda: len(batches)):
        try:
            what()
            print("no error")
        except gpufeed.RunError as error:
            print(error.kind, error)
    made.close()
    del kept, batches, made
    gc.collect()
    # A loader of the child's own works.
    print(len([*loader(Numbered(8)).batches()]))
    sys.exit(0)
assert os.waitpid(child, 0)[1] == 0
print(sum(1 for _ in batches))
""")
    lines = out.splitlines()
    assert sum("Fork this loader belongs to process" in line and "spawn" in line for line in lines) == 4, out
    assert lines[-2:] == ["2", "99"]


@pytest.mark.parametrize("method", ["fork", "forkserver", "spawn"])
def test_pickled_loaders_in_other_processes(method: str, tmp_path: Path) -> None:
    import multiprocessing

    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"{method} does not exist on this system")
    script = tmp_path / "main.py"
    script.write_text(f"""
import sys
sys.path.insert(0, {str(HERE)!r})
import multiprocessing, pickle
import gpufeed
from pictures import NUMBERED, Numbered

def work(made, queue):
    made = pickle.loads(made)
    queue.put([batch.ids for batch in made.batches()])

if __name__ == "__main__":
    context = multiprocessing.get_context({method!r})
    made = gpufeed.DataLoader(Numbered(40), recipe=NUMBERED, batch_size=4, shuffle=True)
    batches = made.batches()
    next(batches)
    queue = context.Queue()
    process = context.Process(target=work, args=(pickle.dumps(made), queue))
    process.start()
    found = queue.get(timeout=60)
    process.join(60)
    assert process.exitcode == 0
    assert found == [batch.ids for batch in batches], found
    print("same")
""")
    done = subprocess.run([sys.executable, "-W", "ignore", str(script)], timeout=120, capture_output=True, text=True)
    assert done.stdout.strip() == "same", done.stderr


def test_a_worker_of_torchs_loader_is_refused() -> None:
    pytest.importorskip("torch")
    out = run("""
import torch.utils.data
made = loader(Numbered(8))
class Inside(torch.utils.data.IterableDataset):
    def __iter__(self):
        return iter(loader(Numbered(8)).batches())
try:
    next(iter(torch.utils.data.DataLoader(Inside(), num_workers=1, batch_size=None, collate_fn=lambda batch: batch.ids)))
except Exception as error:
    print(error)
""")
    assert "use num_workers=0 there" in out


def interrupted(code: str, signals: int = 1) -> tuple[str, float]:
    """The output of a process that gets SIGINT as soon as it has said "ready", and the seconds until its end."""
    process = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-u", "-c", HEAD + code],
        cwd=HERE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.3)
    began = time.monotonic()
    for _ in range(signals):
        process.send_signal(signal.SIGINT)
        time.sleep(0.3)
    try:
        out, error = process.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        process.kill()
        raise
    assert error == "" and process.returncode == 0, error
    return out, time.monotonic() - began


@pytest.mark.skipif(sys.platform == "win32", reason="SIGINT is another thing on Windows")
def test_ctrl_c_ends_a_wait_at_once() -> None:
    out, _ = interrupted("""
SLEEP = 2.0
batches = loader(Slow(40)).batches()
print("ready")
try:
    next(batches)
except KeyboardInterrupt:
    began = time.monotonic()
    print("interrupted")
""")
    assert out == "interrupted\n"


@pytest.mark.skipif(sys.platform == "win32", reason="SIGINT is another thing on Windows")
def test_ctrl_c_in_close_and_twice() -> None:
    out, _ = interrupted(
        """
SLEEP = 3.0
made = loader(Slow(40))
batches = made.batches()
time.sleep(0.2)
print("ready")
for wait in (lambda: next(batches), made.close):
    began = time.monotonic()
    try:
        wait()
    except KeyboardInterrupt:
        print("interrupted")
""",
        signals=2,
    )
    assert out == "interrupted\ninterrupted\n"


def test_nothing_waits_for_the_interpreters_lock_for_ever() -> None:
    # Dropped, collected with a cycle, left to the interpreter's end: each with a data set of Python's in mid-read.
    out = run("""
SLEEP = 0.05
made = loader(Slow(400))
batches = made.batches()
next(batches)
del made, batches
print(_gpufeed.open_runs(), sum(thread.name.startswith("gpufeed") for thread in threading.enumerate()))
data = Slow(400)
data.loader = loader(data)
data.batches = data.loader.batches()
next(data.batches)
del data
# Threads that read hold the data set: it is garbage once the queue is full.
for _ in range(100):
    time.sleep(0.1)
    gc.collect()
    if _gpufeed.open_runs() == 0:
        break
print(_gpufeed.open_runs())
last = loader(Slow(400)).batches()
next(last)
""")
    assert out == "0 0\n0\n"


def test_threads_share_a_loader_and_end_with_it() -> None:
    out = run("""
made = loader(Numbered(400))
batches, found = made.batches(), []
def take():
    for batch in batches:
        found.extend(numbers(batch.images))
threads = [threading.Thread(target=take) for _ in range(3)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print(sorted(found) == list(range(400)))
batches = made.batches()
next(batches)
made.close()
if sys.platform == "linux":
    print(sum("gpufeed" in open(f"/proc/self/task/{task}/comm").read() for task in os.listdir("/proc/self/task")))
""")
    assert out in ("True\n0\n", "True\n")


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL on Windows")
def test_a_killed_process_leaves_no_lock(tmp_path: Path) -> None:
    code = f"""
from pathlib import Path
from pictures import folder
root = folder(Path({str(tmp_path / "train")!r}))
crop = {{"transform": [{{"type": "RandomResizedCrop", "size": 16}}]}}
made = gpufeed.DataLoader(root, recipe=crop, batch_size=4)
"""
    for kill in (True, False):
        end = "os.kill(os.getpid(), signal.SIGKILL)" if kill else "print(len([*batches]))"
        body = f"{code}\nfor _ in range(2): seen = [*map(len, made.batches())]\nbatches = made.batches()\nnext(batches)\n{end}"
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", HEAD + body], cwd=HERE, timeout=60, capture_output=True, text=True
        )
        assert done.returncode == (-signal.SIGKILL if kill else 0), done.stderr
    assert done.stdout == "5\n"


def test_the_import_is_light() -> None:
    clean = subprocess.run(
        [sys.executable, "-c", "import sys, gpufeed; print([n for n in ('torch', 'torchvision', 'numpy') if n in sys.modules])"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert clean.stdout == "[]\n"


def test_the_command() -> None:
    done = subprocess.run([sys.executable, "-m", "gpufeed", "--version"], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.startswith("gpufeed")


@pytest.mark.parametrize(("variables", "silenced"), [({}, True), ({"XDG_RUNTIME_DIR": "/run/user/0"}, False), ({"DRI_PRIME": "1"}, False)])
def test_the_command_switches_mesas_layer_off_where_no_desktop_is(variables: dict[str, str], silenced: bool) -> None:
    names = ("NODEVICE_SELECT", "MESA_VK_DEVICE_SELECT", "DRI_PRIME", "XDG_RUNTIME_DIR")
    environment = {name: value for name, value in os.environ.items() if name not in names} | variables
    done = subprocess.run([sys.executable, "-m", "gpufeed", "doctor"], capture_output=True, text=True, timeout=60, check=True, env=environment)
    assert ("NODEVICE_SELECT=1" in done.stdout) is silenced
    # Mesa's drivers, where they are here, say it.
    assert not silenced or "XDG_RUNTIME_DIR is invalid" not in done.stderr
