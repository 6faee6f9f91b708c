"""What the library logs becomes a warning of Python's: each once, in Python's words."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest

import gpufeed
from pictures import folder, jpeg, tar_shards
from test_opening import tar

CROP = {"transform": [{"type": "RandomResizedCrop", "size": 16}]}


def loader(path: Path, **given: Any) -> gpufeed.DataLoader:
    settings: dict[str, Any] = {"recipe": CROP, "batch_size": 2, "seek_indexes": "memory", "workers": 2, "indexes": "memory"}
    return gpufeed.DataLoader(path, **(settings | given))


def late(path: Path) -> tuple[Path, Path]:
    """Three shards, the last of which has more than is read; and a JSON of their samples, with which they open late."""
    path.mkdir()
    members = {number: {f"{number}.jpg": jpeg(number), f"{number}.cls": b"0"} for number in range(3)}
    for number, of_shard in members.items():
        more = {"2.xyz": b"?", "__x__/1.jpg": b"?"} if number == 2 else {}
        tar(path / f"{number}.tar", of_shard | more)
    counts = path / "sizes.json"
    counts.write_text(json.dumps({f"{number}.tar": 1 for number in range(3)}))
    return path, counts


def test_what_a_late_shard_does_not_read(tmp_path: Path) -> None:
    path, counts = late(tmp_path / "shards")
    made = loader(path, counts=counts)
    with pytest.warns(RuntimeWarning, match=r"^gpufeed: 1 .* is not read: .*; file: .*2\.tar$") as said:
        assert sum(len(batch) for batch in made.batches()) == 3
    assert len(said) == 1
    # Said once.
    assert sum(len(batch) for batch in made.batches()) == 3


def test_a_warning_that_is_an_error_loses_no_batch(tmp_path: Path) -> None:
    path, counts = late(tmp_path / "shards")
    batches, images, raised = loader(path, counts=counts).batches(), 0, 0
    while True:
        try:
            images += len(next(batches))
        except RuntimeWarning:
            raised += 1
        except StopIteration:
            break
    assert (images, raised) == (3, 1)


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege there")
def test_links_that_lead_back_and_indexes_that_are_not_written(tmp_path: Path) -> None:
    root = folder(tmp_path / "data", count=6)
    (root / "class 0" / "deep").mkdir()
    (root / "class 0" / "deep" / "up").symlink_to(root / "class 0")
    with pytest.warns(RuntimeWarning, match="^gpufeed: link not followed: it leads back .*class 0/deep/up"):
        assert len(gpufeed.open(root)) == 6
    shards = tar_shards(tmp_path / "shards")
    (shards / ".photos-0.tar.gpufeed-index").write_text("something else")
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        assert len(gpufeed.open(shards)) == 40
    (said,) = [str(each.message) for each in found if "give a folder for indexes" in str(each.message)]
    assert "the index of a file of samples stays in memory" in said and "::" not in said


def test_a_command_prints_them(tmp_path: Path) -> None:
    """The process of a script may run the command, too, which prints warnings, and has its own text of them."""
    root = folder(tmp_path / "data", count=6)
    (root / "class 0" / "a.heic").write_bytes(b"?")
    code = f"""
import gpufeed
from gpufeed import _gpufeed
path = {os.fspath(root)!r}
try:
    gpufeed.DataLoader(path, recipe={CROP!r}, seek_indexes="memory")
except UserWarning as warning:
    print(warning)
print(_gpufeed.command(["gpufeed", "explain", "--backend", "cpu", "--data", path]))
"""
    done = subprocess.run([sys.executable, "-W", "error::UserWarning", "-c", code], capture_output=True, text=True)
    assert done.stdout.splitlines()[0] == "1 file in .heic is not read: a.heic", done.stderr
    assert done.stdout.splitlines()[-1] == "0"
    assert done.stderr.count("warning: 1 file in .heic is not read: a.heic") == 1, done.stderr
