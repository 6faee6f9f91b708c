#!/usr/bin/env python3
"""Writes visibility.json: the boxes that Albumentations' min_visibility leaves after lists of crops, borders, flips and resizes.

    python tests/golden/visibility.py        needs albumentations

With check_each_transform=False a box is cut once, at the end of the list, and its area is compared with that of the uncut box. So
no border follows a crop here: what the crop has cut off would count as visible in the border, which shows nothing of it.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import albumentations
import cv2
import numpy

# Height and width.
CANVAS = (60, 80)
ROWS = 60
# Shares that are nearer to the least one may be decided by the last bits of floats.
MARGIN = 1e-4


def ops(chance: random.Random) -> list[dict[str, Any]]:
    height, width = CANVAS
    found: list[dict[str, Any]] = []
    for _ in range(chance.randint(1, 4)):
        borders = [] if any(each["op"] == "crop" for each in found) else ["pad"]
        kind = chance.choice(["crop", "crop", "flip", "resize", *borders])
        if kind == "crop":
            top, left = chance.randint(0, height // 2), chance.randint(0, width // 2)
            size = [chance.randint(height // 3, height - top), chance.randint(width // 3, width - left)]
            found.append({"op": "crop", "top": top, "left": left, "height": size[0], "width": size[1]})
            height, width = size
        elif kind == "resize":
            height, width = chance.randint(30, 90), chance.randint(30, 90)
            found.append({"op": "resize", "height": height, "width": width})
        elif kind == "pad":
            top, left, bottom, right = (chance.randint(0, 9) for _ in range(4))
            found.append({"op": "pad", "top": top, "left": left, "bottom": bottom, "right": right})
            height, width = height + top + bottom, width + left + right
        else:
            found.append({"op": "flip"})
    return found


def transform(op: dict[str, Any]) -> Any:
    if op["op"] == "crop":
        return albumentations.Crop(op["left"], op["top"], op["left"] + op["width"], op["top"] + op["height"])
    if op["op"] == "resize":
        return albumentations.Resize(op["height"], op["width"])
    if op["op"] == "pad":
        return albumentations.Pad((op["left"], op["top"], op["right"], op["bottom"]), border_mode=cv2.BORDER_CONSTANT)
    return albumentations.HorizontalFlip(p=1.0)


def kept(boxes: list[list[float]], made: list[dict[str, Any]], least: float) -> list[int]:
    params = albumentations.BboxParams(
        "pascal_voc", label_fields=["labels"], min_visibility=least, min_width=0, min_height=0, check_each_transform=False
    )
    image = numpy.zeros((*CANVAS, 3), numpy.uint8)
    done = albumentations.Compose([transform(op) for op in made], bbox_params=params)(image=image, bboxes=boxes, labels=range(len(boxes)))
    return [int(label) for label in done["labels"]]


def main() -> None:
    chance, rows = random.Random(5), []
    while len(rows) < ROWS:
        made, least = ops(chance), round(chance.uniform(0.05, 0.95), 2)
        boxes = []
        for _ in range(6):
            left, top = chance.randint(0, 60), chance.randint(0, 45)
            boxes.append([left, top, chance.randint(left + 8, 80), chance.randint(top + 8, 60)])
        found = kept(boxes, made, least)
        if kept(boxes, made, least - MARGIN) == kept(boxes, made, least + MARGIN) == found:
            rows.append({"ops": made, "boxes": boxes, "min_visibility": least, "kept": found})
    table = {"albumentations": albumentations.__version__, "canvas_size": CANVAS, "rows": rows}
    Path(__file__).with_suffix(".json").write_text(json.dumps(table) + "\n")


if __name__ == "__main__":
    main()
