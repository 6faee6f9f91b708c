"""The example's program, and training under torchrun."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

EXAMPLE = Path(__file__).parent.parent / "examples" / "train_torch.py"


def train(out: Path, *arguments: str) -> list[str]:
    command = [sys.executable, str(EXAMPLE), "--out", str(out), "--epochs", "2", "--images", "160", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_a_run_that_was_stopped_has_the_losses_of_one_that_was_not(tmp_path: Path) -> None:
    whole = train(tmp_path / "whole")
    assert len(whole) == 10
    first = train(tmp_path / "parts", "--stop-after", "3")
    rest = train(tmp_path / "parts", "--resume")
    assert [*first, *rest] == whole


# One with its targets moved, and one with those of its twin.
@pytest.mark.parametrize("name, measure, twin", [("train_detection.py", "AP50", []), ("train_segmentation.py", "IoU", ["--unmoved"])])
def test_targets_are_trained_on(tmp_path: Path, name: str, measure: str, twin: list[str]) -> None:
    pytest.importorskip("torchvision", reason="torchvision is not installed")
    command = [sys.executable, str(EXAMPLE.with_name(name)), "--out", str(tmp_path), "--images", "64", "--epochs", "1", *twin]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    # What a whole run reaches is in benches/results/targets-training.md.
    assert done.stdout.splitlines()[-1].startswith(measure), done.stdout


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_training_on_cuda_says_that_there_is_none() -> None:
    done = subprocess.run([sys.executable, str(EXAMPLE.with_name("train_cuda.py"))], capture_output=True, text=True, timeout=120)
    assert done.returncode == 1 and done.stderr == "torch has no CUDA device here; examples/train_torch.py trains on any\n"


RANK = """
import sys
import torch
import torch.distributed as distributed
import gpufeed
sys.path.insert(0, {tests!r})
from pictures import NUMBERED, Numbered

distributed.init_process_group("gloo")
rank = distributed.get_rank()
made = gpufeed.DataLoader(Numbered(41), recipe=NUMBERED, batch_size=4, shuffle=True, seed=1)
assert f"rank {{rank}} of 2 by torch.distributed" in made.explain(), made.explain()
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(3 * 6 * 6, 1))
orders = []
for epoch in range(2):
    made.set_epoch(epoch)
    ids, lengths = [], 0
    for batch in made.batches():
        images = torch.from_dlpack(batch.images).float().flatten(1)
        model(images).mean().backward()
        ids += batch.ids[: batch.valid]
        lengths += 1
    found = [None, None]
    distributed.all_gather_object(found, (ids, lengths))
    every = [each for part, _ in found for each in part]
    assert sorted(every) == list(range(41)), every
    assert found[0][1] == found[1][1] == len(made)
    orders.append(every)
assert orders[0] != orders[1]
print("disjoint, complete, of equal length")
distributed.destroy_process_group()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="torchrun needs libuv, which Windows builds of torch lack")
def test_two_ranks_under_torchrun(tmp_path: Path) -> None:
    script = tmp_path / "rank.py"
    script.write_text(RANK.format(tests=str(Path(__file__).parent)))
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", str(script)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.stdout.count("disjoint, complete, of equal length") == 2, done.stderr
