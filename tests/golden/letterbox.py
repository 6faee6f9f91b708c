#!/usr/bin/env python3
"""Writes letterbox.json: where Ultralytics' LetterBox puts images of many sizes, by its formula, which is written out here.

    python tests/golden/letterbox.py        needs nothing but Python

Source: class LetterBox of ultralytics/data/augment.py (Ultralytics 8.3), whose roundings are Python's. A side that it rounds to 0
is 1 here: OpenCV raises an error there.
"""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

# Height and width.
TARGETS = [(640, 640), (320, 416), (416, 320), (1, 1), (7, 1000), (33, 33)]
SIDES = [1, 3, 32, 107, 319, 320, 427, 480, 500, 639, 641, 1079, 4001]
EXTREMES = [(1, 100_000), (100_000, 1), (2, 65_535), (1, 1), (4_194_304, 1), (1, 4_194_304)]


def letterbox(shape: tuple[int, int], target: tuple[int, int], scaleup: bool, center: bool) -> tuple[float, list[int], list[int]]:
    """Returns the ratio, the resized (width, height), and the borders left, top, right and bottom."""
    r = min(target[0] / shape[0], target[1] / shape[1])
    if not scaleup:
        r = min(r, 1.0)
    unpadded = max(round(shape[1] * r), 1), max(round(shape[0] * r), 1)
    dw: float = target[1] - unpadded[0]
    dh: float = target[0] - unpadded[1]
    if center:
        dw /= 2
        dh /= 2
    top, bottom = round(dh - 0.1) if center else 0, round(dh + 0.1)
    left, right = round(dw - 0.1) if center else 0, round(dw + 0.1)
    return r, list(unpadded), [left, top, right, bottom]


def boxes(shape: tuple[int, int], target: tuple[int, int]) -> list[list[float]]:
    """Returns a box in each corner, of half of the sides, as Ultralytics scales and moves them with its defaults."""
    ratio, _, border = letterbox(shape, target, True, True)
    height, width = shape
    corners = [[x * width / 2, y * height / 2, (x + 1) * width / 2, (y + 1) * height / 2] for x, y in itertools.product((0, 1), repeat=2)]
    return [[edge * ratio + border[axis % 2] for axis, edge in enumerate(corner)] for corner in corners]


def main() -> None:
    shapes = [*itertools.product(SIDES, SIDES), *EXTREMES]
    layouts: list[list[Any]] = []
    for number, (shape, target) in enumerate(itertools.product(shapes, TARGETS)):
        # All four with the first target, one in turn with the others.
        both = itertools.product((True, False), repeat=2)
        for scaleup, center in both if target == TARGETS[0] else [(number % 2 == 0, number % 4 < 2)]:
            _, resized, border = letterbox(shape, target, scaleup, center)
            assert resized[0] + border[0] + border[2] == target[1] and resized[1] + border[1] + border[3] == target[0]
            layouts.append([shape, target, scaleup, center, resized, border])
    corners = [[shape, target, boxes(shape, target)] for shape in shapes[7::5] for target in TARGETS[:3]]
    text = ",\n".join(json.dumps(each, separators=(",", ":")) for each in layouts)
    text = f'{{"layouts":[\n{text}\n],"boxes":[\n' + ",\n".join(json.dumps(each, separators=(",", ":")) for each in corners)
    Path(__file__).with_suffix(".json").write_text(text + "\n]}\n")


if __name__ == "__main__":
    main()
