#!/usr/bin/env python3
"""What it costs that one call at a time is inside a data set in Python. Needs the wheel, NumPy and Pillow.

    python benches/turns.py [--rounds N] [--workers N]

Images/s of epochs with and without turns, round by round in one process, and the median of the rounds' ratios: arrays in
memory (all Python, under the interpreter's lock), files of JPEG (gpufeed decodes), files that Pillow decodes in
``__getitem__``, without the interpreter's lock, and a server that answers after 5 ms.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from PIL import Image  # noqa: E402

import gpufeed  # noqa: E402
from pictures import Numbered, jpeg  # noqa: E402

CROP = {"transform": [{"type": "CenterCrop", "size": 224}]}
SMALL = {"transform": [{"type": "CenterCrop", "size": 6}]}


class Files:
    """JPEG files of a folder, as bytes or as Pillow decodes them."""

    def __init__(self, paths: list[Path], decodes: bool) -> None:
        self.paths, self.decodes = paths, decodes

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, index: int) -> tuple[Any, int]:
        path = self.paths[index]
        return (Image.open(path).convert("RGB") if self.decodes else path.read_bytes()), index


class Server(Files):
    """Files that arrive after 5 ms."""

    def __getitem__(self, index: int) -> tuple[bytes, int]:
        time.sleep(0.005)
        return super().__getitem__(index)


def rate(loader: gpufeed.DataLoader) -> float:
    began = time.perf_counter()
    images = sum(len(batch) for batch in loader.batches())
    return images / (time.perf_counter() - began)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--workers", type=int)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    workers = {} if arguments.workers is None else {"workers": arguments.workers}
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / f"{number}.jpg" for number in range(200)]
        for number, path in enumerate(paths):
            path.write_bytes(jpeg(number, 500, 375))
        for name, data, recipe in [
            ("arrays in memory", Numbered(20000), SMALL),
            ("files of JPEG", Files(paths, False), CROP),
            ("decoded by Pillow", Files(paths, True), CROP),
            ("from a server", Server(paths, False), CROP),
        ]:
            turns, free = [
                gpufeed.DataLoader(data, recipe=recipe, batch_size=32, shuffle=True, thread_safe=safe, **workers)
                for safe in (False, True)
            ]
            rate(turns), rate(free)
            rounds = [(rate(turns), rate(free)) for _ in range(arguments.rounds)]
            with_turns, without = (statistics.median(each) for each in zip(*rounds))
            ratio = statistics.median(one / other for one, other in rounds)
            print(f"{name}: {with_turns:,.0f} images/s with turns, {without:,.0f} without; ratio {ratio:.2f}")


if __name__ == "__main__":
    main()
