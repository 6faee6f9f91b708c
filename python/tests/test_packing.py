"""Tests ``gpufeed.pack``: its results, resuming, Ctrl-C, packing in parts, and the texts of errors."""

from __future__ import annotations

import inspect
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import gpufeed
from gpufeed import keywords
from pictures import Jpegs, folder


def samples(data: Any) -> list[tuple[bytes, Any]]:
    opened = gpufeed.open(data) if isinstance(data, Path) else data
    return [(bytes(opened[index][0]), opened[index][1]) for index in range(len(opened))]


def test_the_result_has_what_was_done(tmp_path: Path) -> None:
    data = folder(tmp_path / "data", count=12)
    calls: list[tuple[int, int]] = []
    packed = gpufeed.pack(data, tmp_path / "out", shard_bytes="16K", verify=True, progress=lambda done, all: calls.append((done, all)))
    assert (packed.samples, packed.kept, packed.encoded, packed.resumed, packed.to) == (12, 12, 0, 0, "tar")
    assert packed.out == str(tmp_path / "out") and packed.shards == len(list((tmp_path / "out").glob("*.tar"))) > 1
    assert packed.verified is not None and (packed.verified.samples, packed.verified.different) == (12, [])
    assert packed.bytes_read == packed.bytes_packed > 0 and packed.skipped == packed.undecodable == []
    assert calls[-1] == (12, 12) and {all for _, all in calls} == {12}
    assert samples(tmp_path / "out") == samples(data)
    again = gpufeed.pack(data, tmp_path / "out", shard_bytes="16K")
    assert (again.resumed, again.kept, again.verified) == (12, 0, None)


def test_every_keyword_is_in_the_signature_and_documented() -> None:
    parameters = inspect.signature(gpufeed.pack).parameters
    named = [name for name, each in parameters.items() if each.kind is inspect.Parameter.KEYWORD_ONLY]
    assert named == [*keywords.PACK, "progress"]
    said = inspect.getdoc(gpufeed.pack) or ""
    assert [name for name in named if f"    {name}: " not in said] == []


def test_whatever_a_loader_takes_is_packed(tmp_path: Path) -> None:
    data = folder(tmp_path / "data", count=9)
    opened = gpufeed.open(data, unlabelled=True)
    assert gpufeed.pack(opened, tmp_path / "open").kept == 9
    assert [label for _, label in samples(gpufeed.open(tmp_path / "open", allow_unlabelled=True))] == [None] * 9
    # A member of the tar shard has the name of the file that was packed: here "class 0/000.jpg", without its ending.
    assert gpufeed.open(tmp_path / "open", allow_unlabelled=True).name(0).endswith("class 0/000")
    some = gpufeed.open(data).subset([8, 0])
    assert gpufeed.pack(some, tmp_path / "some").samples == 2 and samples(tmp_path / "some") == samples(some)
    packed = gpufeed.pack(Jpegs(7), tmp_path / "object")
    assert (packed.samples, len(gpufeed.open(tmp_path / "object"))) == (7, 7)
    assert gpufeed.open(tmp_path / "object").name(0).endswith("000000000")


def test_the_lines_of_the_guide(tmp_path: Path) -> None:
    page = Path(__file__).parents[2] / "docs" / "guide" / "command.md"
    (code,) = re.findall(r"^```python\n(.*?)^```$", page.read_text(), re.DOTALL | re.MULTILINE)
    folder(tmp_path / "imagenet" / "train", count=9)
    command = [sys.executable, "-c", f"import gpufeed\n{code}"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout) == (0, "9 1 []\n"), done.stderr


def test_images_are_reduced_and_an_lmdb_is_written(tmp_path: Path) -> None:
    data = folder(tmp_path / "data", count=5)
    packed = gpufeed.pack(data, tmp_path / "out", to="lmdb", max_side=20, quality=80, workers=1, shuffle=3)
    assert (packed.encoded, packed.to, packed.shards) == (5, "lmdb", 0)
    assert sorted(label for _, label in samples(tmp_path / "out")) == sorted(label for _, label in samples(data))


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Lets the tests be interrupted, also where they run in the background: a shell starts such processes with the signal
    ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_stops_within_a_second_and_the_same_call_goes_on(tmp_path: Path) -> None:
    class Slow(Jpegs):
        def __getitem__(self, index: int) -> Any:
            time.sleep(0.02)
            return super().__getitem__(index)

    data, out = Slow(400), tmp_path / "out"
    reached = threading.Event()
    times: list[float] = []

    def interrupt() -> None:
        reached.wait(30)
        times.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    def progress(done: int, all: int) -> None:
        if list(out.glob("*.tar")):
            reached.set()

    killer = threading.Thread(target=interrupt)
    killer.start()
    with pytest.raises(KeyboardInterrupt):
        gpufeed.pack(data, out, shard_bytes="4K", workers=2, progress=progress)
    took = time.monotonic() - times[0]
    killer.join()
    assert took < 1.0
    with pytest.raises(gpufeed.Error, match="has not finished"):
        gpufeed.open(out)
    whole = list(out.glob("*.tar"))
    before = {path: path.stat().st_mtime_ns for path in whole}
    done = gpufeed.pack(data, out, shard_bytes="4K", workers=2)
    assert 0 < done.resumed < 400 and done.resumed + done.kept == 400
    assert {path: path.stat().st_mtime_ns for path in whole} == before
    assert not list(out.glob(".*.part")) and samples(out) == [(image, index % 5) for index, image in enumerate(data.files)]


def test_other_threads_go_on_meanwhile(tmp_path: Path) -> None:
    data = folder(tmp_path / "data", count=30)
    counted, ended = [0], threading.Event()

    def count() -> None:
        while not ended.is_set():
            counted[0] += 1
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    seen: list[int] = []
    gpufeed.pack(data, tmp_path / "out", quality=95, workers=1, progress=lambda done, all: seen.append(counted[0]))
    ended.set()
    thread.join()
    assert seen[-1] > 0


def test_an_exception_of_progress_stops_and_reaches_the_caller(tmp_path: Path) -> None:
    class Enough(Exception):
        pass

    def enough(done: int, all: int) -> None:
        raise Enough(f"{done} of {all}")

    data = folder(tmp_path / "data", count=9)
    with pytest.raises(Enough, match="of 9"):
        gpufeed.pack(data, tmp_path / "out", progress=enough)
    assert gpufeed.pack(data, tmp_path / "out").samples == 9


def test_a_line_of_progress(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    gpufeed.pack(folder(tmp_path / "data", count=4), tmp_path / "out", progress=True)
    said = capsys.readouterr()
    assert said.out == "" and said.err.startswith("\r") and "\r4/4 packed" in said.err and said.err.endswith("\n")


def test_a_pack_by_parts_is_that_of_one_call(tmp_path: Path) -> None:
    data, out = folder(tmp_path / "data", count=10), tmp_path / "parts"
    plan = gpufeed.pack(data, out, plan=True, parts=3, shard_bytes="16K")
    assert (plan.samples, plan.parts, plan.part, len(plan.plan or "")) == (10, 3, None, 16)
    with pytest.raises(gpufeed.DataError, match=r"parts 0, 1, 2 of 3 are missing; part=\(I, 3\) does one$"):
        gpufeed.pack(data, out, join=True)
    with pytest.raises(gpufeed.DataError, match=r"not finished \(part=\(I, N\) does one of them, join=True makes the data set\)"):
        gpufeed.pack(data, out)
    with pytest.raises(gpufeed.ArgumentError, match="^part: 3/4, but the plan in .*parts has parts 0/3 to 2/3"):
        gpufeed.pack(data, out, part=(3, 4))
    with pytest.raises(gpufeed.ArgumentError, match="^max_side: the plan has settled it otherwise; leave it out"):
        gpufeed.pack(data, out, part=(0, 3), max_side=7)
    parts = [gpufeed.pack(data, out, part=(part, 3), verify=True) for part in (2, 0, 1)]
    assert [(part.part, part.parts) for part in parts] == [(2, 3), (0, 3), (1, 3)]
    assert sum(part.samples for part in parts) == 10
    joined = gpufeed.pack(data, out, join=True, verify=True)
    assert (joined.samples, joined.kept, joined.joined) == (10, 10, False)
    late = gpufeed.pack(data, out, part=(0, 3))
    assert (late.joined, late.samples, late.part) == (True, 0, 0)
    assert samples(out) == samples(data)


def test_what_cannot_be_used_is_a_warning_and_in_the_result(tmp_path: Path) -> None:
    data = folder(tmp_path / "data", count=5)
    (data / "class 0" / "bad.jpg").write_bytes(b"no image")
    with pytest.warns(UserWarning, match="packed as it was: .*bad.jpg: no image of a known format"):
        packed = gpufeed.pack(data, tmp_path / "out")
    assert [Path(sample).name for sample, _ in packed.undecodable] == ["bad.jpg"]


def test_the_other_part_of_a_source_is_counted(tmp_path: Path) -> None:
    numpy = pytest.importorskip("numpy")
    images, labels = numpy.zeros((3, 8, 8, 3), numpy.uint8), numpy.arange(3)
    numpy.savez(tmp_path / "set.npz", x_train=images, y_train=labels, x_test=images[:2], y_test=labels[:2])
    assert gpufeed.pack(tmp_path / "set.npz", tmp_path / "train").other_split == 2
    packed = gpufeed.pack(tmp_path / "set.npz", tmp_path / "test", split="test")
    assert (packed.samples, packed.other_split) == (2, 3)
    with pytest.raises(gpufeed.ArgumentError, match="^split: it chooses a part of a path"):
        gpufeed.pack(gpufeed.open(tmp_path / "set.npz"), tmp_path / "data", split="test")


def test_errors_are_in_pythons_words(tmp_path: Path) -> None:
    data, out = folder(tmp_path / "data", count=4), tmp_path / "out"
    refused: list[tuple[dict[str, Any], str]] = [
        ({"to": "zip"}, r"^to: 'zip'; \"tar\" and \"lmdb\" work"),
        ({"shard_bytes": 0}, "^shard_bytes: 0; a number of bytes works"),
        ({"shard_bytes": "many"}, "^shard_bytes: 'many'"),
        ({"prefix": "a/b"}, "^prefix: \"a/b\"; a file name's beginning works"),
        ({"quality": 101}, "^quality: 101; 1 to 100 work"),
        ({"quality": 256}, "^quality: 256; 1 to 100 work"),
        ({"max_side": 1 << 32}, "^max_side: 4294967296; 1 to 65535 work"),
        ({"max_side": 65536}, "^max_side: 65536; 1 to 65535 work"),
        ({"workers": 5000}, "^workers: 5000; 1 to 4096 work"),
        ({"scratch": tmp_path}, "^scratch: it is for packing into a store, which .*out is not"),
        ({"part": (3, 3)}, r"^part: \(3, 3\); parts are counted from 0"),
        ({"part": "3/7"}, r"^part: '3/7'; \(3, 7\) works"),
        ({"plan": True}, "^parts: the number of parts goes with plan=True"),
        ({"parts": 3}, "^parts: the number of parts goes with plan=True"),
        ({"part": (0, 3), "join": True}, "^join: it does not go with part"),
        ({"plan": True, "parts": 3, "verify": True}, "^verify: a plan packs nothing"),
        ({"plan": True, "parts": 3, "to": "lmdb"}, "^to: a plan is for tar shards"),
        ({"progress": 7}, "^progress: 7; True works"),
    ]
    for given, says in refused:
        with pytest.raises(gpufeed.ArgumentError, match=says):
            gpufeed.pack(data, out, **given)
        assert not out.exists(), given
    with pytest.raises(TypeError, match="max_size"):
        gpufeed.pack(data, out, max_size=5)  # type: ignore[call-arg]
    with pytest.raises(gpufeed.ArgumentError, match="3 is a int"):
        gpufeed.pack(3, out)
    with pytest.raises(gpufeed.FileError, match="no-such-folder"):
        gpufeed.pack(tmp_path / "no-such-folder", out)
    with pytest.raises(gpufeed.DataError, match="it lies in the source; pack elsewhere$"):
        gpufeed.pack(data, data / "out")
    gpufeed.pack(data, out, prefix="a")
    with pytest.raises(gpufeed.DataError, match="there is a pack of other settings: to=tar shard_bytes=1073741824 prefix=a; remove it"):
        gpufeed.pack(data, out)
    with pytest.raises(gpufeed.DataError, match=r"there is no plan; `plan=True, parts=N` makes one"):
        gpufeed.pack(data, tmp_path / "none", join=True)
    os.utime(next(data.glob("*/*")), (1, 1))
    with pytest.raises(gpufeed.DataError, match="before its files changed.*; verify=True says which samples differ$"):
        gpufeed.pack(data, out, prefix="a")


def test_an_object_that_raises_is_left_out_and_an_interrupt_inside_of_it_is_not(tmp_path: Path) -> None:
    class Bad(Jpegs):
        raises: BaseException = ValueError("no such picture")

        def __getitem__(self, index: int) -> Any:
            if index == 3:
                raise self.raises
            return super().__getitem__(index)

    data = Bad(40)
    with pytest.warns(UserWarning, match="left out: .*no such picture"):
        packed = gpufeed.pack(data, tmp_path / "out")
    assert [sample for sample, _ in packed.skipped] == ["sample 3"] and len(gpufeed.open(tmp_path / "out")) == 39
    data.raises = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        gpufeed.pack(data, tmp_path / "interrupted")
