#!/usr/bin/env python3
"""Compares the first epochs of gpufeed's loader, which builds its seek indexes meanwhile, and of torch's loader.

    python benches/first_epoch.py FOLDER [--rounds N] [--workers N]

FOLDER has class folders of JPEG files. Both loaders read four copies of each file, each with a different last byte, so
that no two copies share a seek index. Each round makes both loaders anew, and they take turns to go first. Prints the
images/s of each first epoch, in which making the loader counts, too, and the ratios of gpufeed's rate to torch's.
Needs the wheel of gpufeed, torch and torchvision.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch
from torchvision.datasets import ImageFolder
from torchvision.transforms import v2

import gpufeed

COPIES = 4
TRANSFORMS = [
    v2.PILToTensor(),
    v2.RandomResizedCrop(224, antialias=True),
    v2.RandomHorizontalFlip(),
    v2.ToDtype(torch.float32, scale=True),
    v2.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]),
]


def copy(source: Path, target: Path) -> None:
    for file in sorted(path for path in source.rglob("*") if path.suffix.lower() in (".jpg", ".jpeg")):
        (target / file.parent.name).mkdir(exist_ok=True)
        for number in range(COPIES):
            (target / file.parent.name / f"{file.stem}-{number}.jpg").write_bytes(file.read_bytes() + bytes([number]))


def rate(make: Any) -> float:
    begin = time.perf_counter()
    loader: Iterable[Any] = make()
    images = sum(len(labels) for _, labels in loader)
    return images / (time.perf_counter() - begin)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("folder", type=Path)
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument("--workers", type=int, default=2)
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        copy(given.folder, Path(folder))
        settings: dict[str, Any] = {"batch_size": 64, "shuffle": True}

        def own() -> Any:
            return gpufeed.DataLoader(folder, TRANSFORMS, workers=given.workers, seek_indexes="memory", **settings)

        def other() -> Any:
            data = ImageFolder(folder, v2.Compose(TRANSFORMS))
            return torch.utils.data.DataLoader(data, num_workers=given.workers, **settings)

        rate(own)  # reads the files into the page cache
        ratios = []
        for number in range(given.rounds):
            turns = [(make, rate(make)) for make in ((own, other) if number % 2 == 0 else (other, own))]
            rates = dict(turns)
            ratios.append(rates[own] / rates[other])
            print(f"round {number + 1}: gpufeed {rates[own]:,.0f}, torch {rates[other]:,.0f} images/s, {ratios[-1]:.2f} x", flush=True)
    print(f"median {statistics.median(ratios):.2f} x ({min(ratios):.2f} to {max(ratios):.2f})")


main()
