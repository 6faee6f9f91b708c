#!/usr/bin/env python3
"""What Python costs: the import, a batch's hand-over, a data set in Python, memory. Needs the wheel, torch and Pillow.

    python benches/overhead.py [--json FILE]

Prints one line a number; every figure is the median of several runs in this process or in fresh ones.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy
import torch
from PIL import Image

import gpufeed

ROUNDS = 7
READY = 64


def pictures(count: int, side: int) -> list[bytes]:
    """JPEG files of soft noise."""
    files = []
    for number in range(count):
        noise = numpy.random.default_rng(number).integers(0, 256, (side // 8, side // 8, 3), dtype=numpy.uint8)
        out = io.BytesIO()
        Image.fromarray(noise).resize((side, side)).save(out, "JPEG", quality=90)
        files.append(out.getvalue())
    return files


def seconds(work: Callable[[], Any]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def fresh(code: str) -> float:
    """Seconds of a new interpreter."""
    return seconds(lambda: subprocess.run([sys.executable, "-c", code], check=True))


def imports() -> float:
    """Seconds of `import gpufeed` beyond the interpreter's own."""
    return statistics.median(fresh("import gpufeed") - fresh("pass") for _ in range(ROUNDS))


def resident(side: int) -> numpy.ndarray[Any, Any]:
    return numpy.random.default_rng(0).integers(0, 256, (4096, side, side, 3), dtype=numpy.uint8)


def hand_over(folder: str, tensors: bool) -> float:
    """Microseconds a batch when batches are ready: as torch tensors, or as they come from the native module."""
    path = os.path.join(folder, "small.npy")
    numpy.save(path, resident(8))
    recipe = {"transform": [{"type": "CenterCrop", "size": 8}]}
    loader = gpufeed.DataLoader(path, recipe=recipe, batch_size=32, queue_depth=READY, workers=1)
    found = []
    for _ in range(ROUNDS):
        batches = iter(loader) if tensors else loader.batches()
        next(batches)
        time.sleep(0.5)  # until the queue is full
        found.append(seconds(lambda: [None for _, _ in zip(range(READY - 2), batches)]) / (READY - 2))
        loader.set_epoch(0)
    return 1e6 * statistics.median(found)


class Files:
    def __init__(self, paths: list[str]) -> None:
        self.paths = paths

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, index: int) -> tuple[bytes, int]:
        with open(self.paths[index], "rb") as file:
            return file.read(), index % 10


class Jobs(Files):
    def __getitems__(self, indices: list[int]) -> list[tuple[bytes, int]]:
        return [self[index] for index in indices]


def rates(folder: str) -> dict[str, float]:
    """Images/s of the same files: by path, by `__getitem__`, by `__getitems__`, taking turns."""
    root = os.path.join(folder, "class")
    os.makedirs(root)
    paths = []
    for number, data in enumerate(pictures(200, 256)):
        for copy in range(10):
            paths.append(os.path.join(root, f"{number:03}-{copy}.jpg"))
            with open(paths[-1], "wb") as file:
                file.write(data)
    settings: dict[str, Any] = {"recipe": "imagenet-train", "batch_size": 64, "shuffle": True}
    loaders = {
        "by path": gpufeed.DataLoader(folder, seek_indexes="memory", **settings),
        "__getitem__": gpufeed.DataLoader(Files(sorted(paths)), **settings),
        "__getitems__": gpufeed.DataLoader(Jobs(sorted(paths)), **settings),
    }
    found: dict[str, list[float]] = {name: [] for name in loaders}
    for turn in range(4):
        for name, loader in loaders.items():
            images = 0
            began = time.perf_counter()
            for batch, _ in loader:
                images += len(batch)
            if turn > 0:  # the first epoch warms the files and the indexes
                found[name].append(images / (time.perf_counter() - began))
    return {name: statistics.median(rate) for name, rate in found.items()}


def drift() -> float:
    """MiB by which the process grows over 50 epochs after the tenth."""

    def rss() -> float:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * resource.getpagesize() / 2**20

    class Memory:
        files = pictures(256, 64)

        def __len__(self) -> int:
            return len(self.files)

        def __getitem__(self, index: int) -> tuple[bytes, int]:
            return self.files[index], 0

    recipe = {"transform": [{"type": "RandomResizedCrop", "size": 32}]}
    loader = gpufeed.DataLoader(Memory(), recipe=recipe, batch_size=16, shuffle=True)
    before = 0.0
    for epoch in range(60):
        for images, _ in loader:
            assert images.shape[1:] == (3, 32, 32)
        if epoch == 9:
            before = rss()
    return rss() - before


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", metavar="FILE")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        measured = {
            "import gpufeed, s": imports(),
            "hand-over to torch, us a batch": hand_over(folder, True),
            "hand-over without torch, us a batch": hand_over(folder, False),
            "drift over 50 epochs, MiB": drift(),
            "native module, MB": os.path.getsize(gpufeed._gpufeed.__file__) / 1e6,
        }
    with tempfile.TemporaryDirectory() as folder:
        for name, rate in rates(folder).items():
            measured[f"224x224 from files {name}, images/s"] = rate
    for name, value in measured.items():
        print(f"{name}: {value:.3f}" if value < 1 else f"{name}: {value:.1f}")
    if given.json:
        with open(given.json, "w", encoding="utf-8") as file:
            json.dump({"gpufeed": gpufeed.__version__, "torch": torch.__version__, "measured": measured}, file, indent=1)


if __name__ == "__main__":
    main()
